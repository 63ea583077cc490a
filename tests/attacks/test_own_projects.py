"""The wheel of a reporter's own project is bound: forged, exchanged or unlisted, it is INVALID."""

import dataclasses
from collections.abc import Callable

import pytest

from agentproof.bundle.store import without_target_wheel, without_wheel
from agentproof.check.bundle import Reader, check_bundle
from agentproof.record.reproduction import check_wheels, reproduction_in
from tests import forge
from tests.wheels import make_wheel

NAME, DATA = make_wheel("shop", "0.1")
PLACE = f"wheels/{NAME}"


def draft(data: bytes = DATA) -> forge.Draft:
    """A bundle with a project of the reporter's own; nothing is wrong with it."""
    made = forge.draft()
    own = {"name": "shop", "version": "0.1", "wheel": NAME, "sha256": forge.sha256(data), "size": len(data)}
    made.manifest["environment"]["packages"].append({**own, "origin": "local"})
    made.extra[PLACE] = data
    return made


def status(made: forge.Draft) -> tuple[str, str]:
    """What a check makes of it, and all that it says."""
    report = check_bundle(made.seal(), reader=Reader(sources=forge.sources())).report
    return report.status, str(report)


def test_it_is_sound_with_its_wheel_and_without() -> None:
    bundle = draft().seal()
    for each in (bundle, without_target_wheel(bundle), without_wheel(bundle)):
        report = check_bundle(each, reader=Reader(sources=forge.sources())).report
        assert report.status in ("CURRENT", "INTACT"), report
    kept = reproduction_in(without_target_wheel(bundle))
    assert [(own.name, own.data) for own in kept.wheels] == [("shop", DATA)]
    thin = reproduction_in(without_wheel(bundle))
    assert thin.missing_wheels == (NAME,)
    with pytest.raises(Exception, match="asked of no index"):
        check_wheels(thin)
    # Given again, it is complete.
    check_wheels(thin.holding(kept.wheels))


def _unlisted(made: forge.Draft) -> None:
    del made.extra[PLACE]


def _of_the_index(made: forge.Draft) -> None:
    del made.manifest["environment"]["packages"][-1]["origin"]


def _other_digest(made: forge.Draft) -> None:
    made.manifest["environment"]["packages"][-1]["sha256"] = "ab" * 32


def _other_version(made: forge.Draft) -> None:
    _, other = make_wheel("shop", "0.2")
    made.extra[PLACE] = other
    made.manifest["environment"]["packages"][-1].update(sha256=forge.sha256(other), size=len(other))


def _the_target(made: forge.Draft) -> None:
    made.manifest["environment"]["packages"][1]["origin"] = "local"


def _not_a_wheel(made: forge.Draft) -> None:
    made.extra[PLACE] = b"PK"
    made.manifest["environment"]["packages"][-1].update(sha256=forge.sha256(b"PK"), size=2)


@pytest.mark.parametrize(
    "forgery", [_unlisted, _of_the_index, _other_digest, _other_version, _the_target, _not_a_wheel]
)
def test_a_forged_one_is_invalid(forgery: Callable[[forge.Draft], None]) -> None:
    made = draft()
    forgery(made)
    assert status(made)[0] == "INVALID", status(made)[1]


def test_bytes_that_are_not_the_listed_ones_are_invalid() -> None:
    bundle = draft().seal()
    forged = dataclasses.replace(bundle, members={**bundle.members, PLACE: DATA + b"\0"})
    assert check_bundle(forged, reader=Reader(sources=forge.sources())).status == "INVALID"
