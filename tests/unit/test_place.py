"""Where a recording is written, and what is refused before it is made."""

from pathlib import Path

import pytest

from agentproof.errors import UsageError
from agentproof.record.output import beside, check_writable


@pytest.mark.parametrize("name", ["x.tar", "file", "folder", "folder.zip"])
def test_an_output_that_is_no_place_for_a_bundle_is_refused_before_recording(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for folder in ("folder", "folder.zip"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.txt").write_text("")
    with pytest.raises(UsageError) as refused:
        check_writable(script=tmp_path / "script.py", output=tmp_path / name)
    assert str(tmp_path / name) in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize("name", ["new.zip", "new", "empty", "bundle"])
def test_a_new_or_empty_place_and_a_bundle_are_taken(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "manifest.json").write_text("")
    check_writable(script=tmp_path / "script.py", output=tmp_path / name)


def test_a_recording_whose_usual_name_is_taken_gets_its_id_into_the_name() -> None:
    usual = Path("out") / "pay-0.20.0.agentproof.zip"
    assert beside(usual, "4be17f2a" + "0" * 56) == Path("out") / "pay-0.20.0-4be17f2a.agentproof.zip"
