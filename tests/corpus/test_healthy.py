"""No rule speaks on scripts that do nothing wrong (`python -m tests.corpus --healthy`)."""

from pathlib import Path

import pytest

from tests.corpus.__main__ import HEALTHY_ON
from tests.corpus.recordings import Studio, healthy

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    """A place for recordings of this session."""
    return Studio(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("version", HEALTHY_ON)
@pytest.mark.parametrize("script", healthy(), ids=lambda script: script.stem)
def test_a_healthy_script_draws_no_violation(script: Path, version: str, studio: Studio) -> None:
    recording = studio.recording(script, version)
    assert recording.violated() == {}
    assert recording.faults() == []
    # Repeats that differ are the recorder's concern (`python -m tests.corpus --healthy` reports them).
    assert set(recording.judgement.reasons) <= {"repeats_differ"}
