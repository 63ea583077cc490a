"""Every byte of a bundle, changed in five ways: nothing is accepted and nothing is a traceback."""

from dataclasses import replace
from pathlib import Path

import pytest

from agentproof.check import Reader, check_bundle
from agentproof.models.manifest import Manifest
from agentproof.store import Bundle, Shelf, read_bundle, zip_bytes
from tests import forge, mutations

BUNDLES = sorted(Path(__file__).parents[2].glob("bundles/sibling-approval/0.*"))[:1]
CASES = {path.name: read_bundle(path, wheels=Shelf(path.parents[1] / "wheels")) for path in BUNDLES}
CASES["forged"] = forge.draft().seal()
FILES = [(name, path) for name, bundle in CASES.items() for path in mutations.files_of(bundle)]


def _reader(bundle: Bundle) -> Reader:
    """Trusts nobody, so that a changed signature is not all that is noticed."""
    assert check_bundle(bundle, reader=Reader()).status == "INTACT"
    return Reader()


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(("name", "path"), FILES)
def test_no_byte_of_a_file_can_be_changed(name: str, path: str) -> None:
    bundle = CASES[name]
    assert mutations.accepted_in_a_directory(bundle, path, _reader(bundle), step=1) == []


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_byte_of_a_zip_can_be_changed(name: str) -> None:
    bundle = CASES[name]
    members = {path: data for path, data in bundle.members.items() if not path.startswith("wheels/")}
    detached = replace(bundle, members=members)
    assert mutations.accepted_in_a_zip(zip_bytes(detached), Reader(), step=7) == []


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_byte_of_an_attached_wheel_can_be_changed(name: str) -> None:
    bundle = CASES[name]
    target = Manifest.from_bytes(bundle.manifest).target
    wheel = bundle.wheel(target.wheel)
    assert wheel is not None
    whole = replace(bundle, members={**bundle.members, f"wheels/{target.wheel}": wheel})
    assert mutations.accepted_in_a_zip(zip_bytes(whole), Reader(), step=7 * 101) == []
