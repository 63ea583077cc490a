"""Ten scripts do the same with the recorder and without it; `tests.corpus.same_program` runs all of them."""

from pathlib import Path

import pytest

from tests.corpus.same_program import compare, environment, scripts

pytestmark = [pytest.mark.real, pytest.mark.slow]

TEN = (
    *("h03_approvals", "h06_sessions", "h09_streams", "m05_concurrent", "m11_more_sessions"),
    *(
        "m41_other_hands",
        "m42_one_agent_many_threads",
        "m45_async_drivers",
        "m48_slow_sessions",
        "everything",
    ),
)


@pytest.mark.parametrize("name", TEN)
def test_a_script_does_the_same_when_it_is_recorded(name: str, tmp_path: Path) -> None:
    (script,) = (path for path in scripts() if path.stem == name)
    with environment("0.24.0", "3.12", script) as prepared:
        differences, is_race = compare(script, prepared, tmp_path)
    assert not differences or is_race, differences
