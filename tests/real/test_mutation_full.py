"""Every byte of a bundle, changed in five ways: nothing is accepted and nothing is a traceback."""

import pytest

from agentproof.check.bundle import Reader, check_bundle
from tests import mutations

PARTS = list(mutations.parts())


def _name(part: mutations.Part) -> str:
    return f"{part.bundle} {part.what} {part.start}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["committed", "forged"])
def test_what_is_changed_is_sound_before(name: str) -> None:
    assert check_bundle(mutations.bundle_of(name), reader=Reader()).status == "INTACT"


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS, ids=_name)
def test_no_byte_can_be_changed(part: mutations.Part) -> None:
    tally = mutations.try_part(part)
    assert tally.accepted == []
    assert (
        tally.tried
        >= (min(part.stop, len(mutations.raw_of(part.bundle, part.what))) - part.start) // part.step
    )
