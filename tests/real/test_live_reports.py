"""Public reports with a live model: each shown on its release, and what its fix makes of it."""

from pathlib import Path

import pytest

from tests.corpus.live import REPORTS, play
from tests.sandboxed import choice

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_shown_and_not_held_against_its_fix(name: str, tmp_path: Path) -> None:
    choice("namespace")
    row = play(name, tmp_path)
    assert (row.verdict, row.outcome) == ("violated", REPORTS[name].outcome), row.told
