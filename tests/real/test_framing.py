"""Scripts that frame an innocent release, recorded on it: none of them is `violated`.

The table is docs/security/framing.md.
Each goes the whole way, `agentproof record` in its sandbox. A few are played always, the rest is slow.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.models.manifest import Manifest
from tests.command import agentproof

pytestmark = pytest.mark.real

SCRIPTS = Path(__file__).parents[1] / "scripts" / "framing"

FOUND = {
    "builtin_put_in": "RunContextWrapper.get_approval_status",
    "bases_changed": "ToolContext.__bases__",
    "closure_replaced": "__repr__",
    "code_put_back": "RunContextWrapper.get_approval_status",
    "code_replaced": "RunContextWrapper.get_approval_status",
    "defaults_replaced": "FunctionTool.__init__",
    "dependency_made_by_hand": "griffe (a module made by the script)",
    "descriptor_put_in": "RunState._current_turn",
    "dict_updated": "RunState._current_turn, written by the script",
    "entry_put_into_a_sum": "RequestUsage.input_tokens, written by the script",
    "event_by_the_journal": "the recorder's journal",
    "false_file_name": "code executed under the name agents/run.py",
    "false_file_name_of_code": "code made under the name agents/run.py",
    "import_hook": "sys.meta_path: Finder",
    "import_hook_taken_away": "RunContextWrapper.get_approval_status",
    "import_replaced": "RunContextWrapper.get_approval_status",
    "item_changed": "ResponseFunctionToolCall.arguments, written by the script",
    "killed_before_the_last_word": "RunContextWrapper.get_approval_status",
    "list_emptied": "new_items, written by the script",
    "module_made_first": "sys.modules[agents._debug]",
    "module_swapped": "sys.modules[agents.run_context]",
    "object_setattr": "RunState._current_turn, written by the script",
    "patched_and_put_back": "RunContextWrapper.get_approval_status",
    "recorder_made_to_forget": "RunContextWrapper.get_approval_status",
    "source_exchanged": "code executed under the name agents/run_context.py",
    "stdlib_patched": "copy.deepcopy",
    "usage_changed": "Usage.requests, written by the script",
    "vars_written": "RunState._current_turn, written by the script",
    "written_by_a_finalizer": "RunState._current_turn, written by the script",
}
"""What `conduct` names."""
REFUSED = {
    "event_by_descriptor": "not an event that the recorder writes",
    "event_taken_away": "not an event that the recorder writes",
    "forged_event": "not an event that the recorder writes",
    "patched_in_a_child": "is missing",
}
"""What the error says."""
BROKEN = ("comparison_broken", "killed_at_its_end")
"""The recorder does not come to say what was done to the SDK."""
INNOCENT = ("another_answer_streamed", "collected_in_the_sdk", "explicit_warning", "printed_warning")
"""Nothing was done to the SDK, and nothing is held against it."""
SHARED = "entry_of_a_sum"
"""What it writes to was handed to it by the SDK, which shares it."""
ALWAYS = {"code_replaced", "comparison_broken", "forged_event", "printed_warning"}


def _cases(names: Any) -> list[Any]:  # Any: parameters of pytest's
    return [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.slow) for name in names]


def _record(name: str, tmp_path: Path) -> Any:  # Any: a finished process
    # Nothing else lies beside the script, so that nothing else goes into the bundle.
    for file in ("scripted.py", f"{name}.py"):
        shutil.copy(SCRIPTS / file, tmp_path)
    return agentproof("record", tmp_path / f"{name}.py", "--output", tmp_path / "b.zip")


def _manifest(tmp_path: Path) -> Manifest:
    return Manifest.from_bytes(read_bundle(tmp_path / "b.zip").manifest)


@pytest.mark.parametrize("name", _cases(FOUND))
def test_what_the_script_did_to_the_sdk_is_named(name: str, tmp_path: Path) -> None:
    done = _record(name, tmp_path)
    assert done.returncode == 1, done.stderr
    manifest = _manifest(tmp_path)
    assert (manifest.judgement.verdict, manifest.judgement.reasons) == ("inconclusive", ("sdk_changed",))
    assert any(FOUND[name] in changed for changed in manifest.conduct.changed)


@pytest.mark.parametrize("name", _cases(REFUSED))
def test_events_that_the_recorder_did_not_write_are_an_error(name: str, tmp_path: Path) -> None:
    done = _record(name, tmp_path)
    assert done.returncode not in (0, 1)
    assert REFUSED[name] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", _cases(INNOCENT))
def test_what_is_no_evidence_violates_nothing(name: str, tmp_path: Path) -> None:
    done = _record(name, tmp_path)
    assert done.returncode in (0, 1), done.stderr
    manifest = _manifest(tmp_path)
    assert [claim.id for claim in manifest.judgement.claims if claim.status == "violated"] == []
    assert manifest.conduct.changed == ()


@pytest.mark.slow
def test_what_the_sdk_put_into_an_object_of_the_scripts_is_held_against_the_sdk(tmp_path: Path) -> None:
    done = _record(SHARED, tmp_path)
    assert done.returncode == 0, done.stderr
    manifest = _manifest(tmp_path)
    violated = [claim.id for claim in manifest.judgement.claims if claim.status == "violated"]
    assert violated == ["result-integrity"]
    assert manifest.conduct.changed == ()


@pytest.mark.parametrize("name", _cases(BROKEN))
def test_a_comparison_that_the_script_breaks_is_inconclusive(name: str, tmp_path: Path) -> None:
    done = _record(name, tmp_path)
    assert done.returncode == 1, done.stderr
    judgement = _manifest(tmp_path).judgement
    assert judgement.verdict == "inconclusive"
    assert judgement.reasons == ("recorder_failed",)


@pytest.mark.slow
def test_a_module_that_shadows_a_dependency_is_named(tmp_path: Path) -> None:
    place = shutil.copytree(SCRIPTS / "dependency_shadowed", tmp_path / "place")
    shutil.copy(SCRIPTS / "scripted.py", place)
    (place / "pyproject.toml").touch()  # outside of a project only what the script names goes along
    done = agentproof("record", place / "reproduction.py", "--output", tmp_path / "b.zip")
    assert done.returncode == 1, done.stderr
    manifest = _manifest(tmp_path)
    assert manifest.judgement.reasons == ("sdk_changed",)
    assert manifest.conduct.changed == ("griffe (shadowed by griffe.py)",)


def test_each_script_is_played() -> None:
    kept = {path.stem for path in SCRIPTS.glob("*.py")} - {"scripted"}
    assert kept == {*FOUND, *REFUSED, *INNOCENT, *BROKEN, SHARED}
