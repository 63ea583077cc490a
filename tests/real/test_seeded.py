"""A fault that is seeded into a copy of a real release makes its rule speak (`python -m tests.seeded`)."""

from pathlib import Path

import pytest

from tests import seeded


def _marked(rule: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.real] if rule == seeded.QUICK else [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize(
    "fault", [pytest.param(each, id=rule, marks=_marked(rule)) for rule, each in seeded.faults().items()]
)
def test_a_seeded_fault_makes_its_rule_speak(fault: seeded.Fault, tmp_path: Path) -> None:
    judgement = seeded.judgement_with(fault, tmp_path)
    assert judgement.verdict == "violated"
    assert fault.rule in seeded.violated(judgement)
