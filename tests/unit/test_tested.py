"""Reproductions that pytest runs: in the evidence, in a check, in what people are told."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from agentproof.check.bundle import Reader, check_bundle
from agentproof.compare import matrix
from agentproof.compare.subjects import Subject, find_subjects
from agentproof.diff.align import compare_traces
from agentproof.errors import CannotDoError, UsageError
from agentproof.models.trace import Trace
from agentproof.record import output, test_results
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.reproduction import reproduction_in
from agentproof.record.target import parse_target
from agentproof.render import console
from agentproof.render.groups import Attachment, grouped
from agentproof.render.html import render_page
from agentproof.render.markdown import render_issue
from agentproof.render.story import tell
from agentproof.render.tests import command, excerpt, needed
from tests import forge
from tests.forge import Draft
from tests.hostile import EVIL

READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())


def traces_of(made: Draft) -> dict[Any, Trace]:  # Any: modes as a forge names them
    return {mode: Trace.from_shape(shape) for mode, shape in made.traces.items()}


def test_a_bundle_of_tests_is_checked_like_any_other() -> None:
    checked = check_bundle(forge.draft_of_tests().seal(), reader=READER)
    assert checked.status == "CURRENT"
    assert checked.report.verdict is not None
    violated = {claim.id for claim in checked.report.verdict.claims if claim.status == "violated"}
    assert "script-completed" in violated


def rename(draft: Draft) -> None:
    draft.manifest["reproduction"]["tests"] = ["tests/test_pay.py::test_else"]


def elsewhere(draft: Draft) -> None:
    draft.manifest["reproduction"]["tests"] = ["tests/test_other.py::test_pays"]


def with_arguments(draft: Draft) -> None:
    draft.manifest["reproduction"]["arguments"] = ["--x"]


def twice(draft: Draft) -> None:
    draft.manifest["reproduction"]["tests"] *= 2


def no_tests(draft: Draft) -> None:
    del draft.manifest["reproduction"]["tests"]


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (rename, "other_run"),
        (elsewhere, "malformed"),
        (with_arguments, "malformed"),
        (twice, "malformed"),
        (no_tests, "other_run"),
    ],
)
def test_the_tests_of_a_manifest_are_those_of_its_traces(
    break_it: Callable[[Draft], None], reason: str
) -> None:
    broken = forge.draft_of_tests()
    break_it(broken)
    checked = check_bundle(broken.judged().seal(), reader=READER)
    assert checked.status == "INVALID"
    assert [check.reason for check in checked.report.checks if check.status == "failed"] == [reason]


def test_the_evidence_tells_which_tests_and_how_they_ended() -> None:
    ids = {
        forge.draft_of_tests(outcome=outcome).manifest["evidence_id"]
        for outcome in ("passed", "failed", "xfailed")
    }
    other = forge.draft_of_tests()
    for trace in other.traces.values():
        trace["events"][0]["tests"] = other.manifest["reproduction"]["tests"] = ["tests/test_pay.py"]
    assert len({*ids, other.judged().manifest["evidence_id"]}) == 4


def test_the_message_of_a_failed_test_is_no_evidence() -> None:
    reworded = forge.draft_of_tests()
    for mode in reworded.traces:
        reworded.event("test.ended", mode=mode)["error"]["message"] = "assert ..."
    assert reworded.judged().manifest["evidence_id"] == forge.draft_of_tests().manifest["evidence_id"]


def test_a_test_that_ends_otherwise_is_a_difference_of_its_own() -> None:
    (before, after) = (traces_of(forge.draft_of_tests(outcome=o))["as-written"] for o in ("failed", "passed"))
    states: dict[str, object] = {digest: {} for digest in forge.draft_of_tests().states}
    found = [
        (each.subject, each.pointer, each.before, each.after)
        for each in compare_traces(before, states.__getitem__, after, states.__getitem__)
    ]
    assert (f"the end of test {forge.TEST_NAME}[100]", "/outcome", "failed", "passed") in found


# What people are told


def test_each_test_that_did_not_pass_is_told_with_its_first_line() -> None:
    lines = list(test_results.told(traces_of(forge.draft_of_tests())))
    assert lines == [
        "1 failed",
        f"failed   {forge.TEST_NAME}[100]: AssertionError at tests/test_pay.py:7: assert 'refused' == 'paid'",
    ]


def test_what_another_mode_ended_otherwise_is_told_with_the_mode() -> None:
    mixed = traces_of(forge.draft_of_tests(outcome="passed")) | {
        "streamed": traces_of(forge.draft_of_tests())["streamed"]
    }
    first, second = test_results.told(mixed)
    assert first == "1 passed"
    assert second.startswith("failed")
    assert second.endswith("(streamed)")


def test_a_test_that_never_ended_is_told() -> None:
    stopped = forge.draft_of_tests()
    stopped.traces["as-written"]["events"].remove(stopped.event("test.ended"))
    events = stopped.traces["as-written"]["events"]
    stopped.traces["as-written"]["events"] = [{**event, "seq": n} for n, event in enumerate(events, start=1)]
    assert list(test_results.told({"as-written": traces_of(stopped)["as-written"]})) == [
        "1 did not end",
        f"no end   {forge.TEST_NAME}[100]",
    ]


def test_a_script_is_told_without_a_word_on_tests() -> None:
    assert list(test_results.told(traces_of(forge.draft()))) == []


def test_the_verdict_names_what_of_the_sdk_was_changed() -> None:
    changing = forge.draft_of_tests()
    changing.manifest["conduct"] = {
        "changed": ["agents.run.Runner.run"],
        "private_writes": [{"name": "_x", "file": "tests/test_pay.py", "line": 7}],
    }
    checked = check_bundle(changing.judged().seal(), reader=READER)
    assert checked.manifest is not None
    lines = "\n".join(console.render_verdict(checked.manifest, traces=checked.traces))
    assert "replaced agents.run.Runner.run, set _x at tests/test_pay.py:7" in lines


@pytest.mark.parametrize(
    ("why", "detail", "tests", "kind", "message", "hint"),
    [
        (
            "not_found",
            "not found: t.py::test_a\n(no match in any of [<Module t.py>])",
            ["t.py::test_pay[1]"],
            UsageError,
            "t.py::test_pay[1]: pytest knows no such test",
            "there is t.py::test_pays",
        ),
        (
            "not_found",
            "not found: t.py::test_pays\n(no match)",
            ["t.py::test_pays[2]"],
            UsageError,
            "t.py::test_pays[2]: pytest knows no such test",
            "without the part in brackets all of its cases are run, and the recording names them",
        ),
        ("none", "", ["t.py"], UsageError, "t.py: pytest found no test there", None),
        ("deselected", "2", ["t.py"], UsageError, "deselects 2 of its tests", "look for -m or -k"),
        (
            "usage",
            "usage: pytest [x]\npytest: error: unrecognized arguments: --cov\n  inifile: p.ini\n  rootdir: .",
            ["t.py"],
            UsageError,
            "t.py: pytest does not accept its configuration: unrecognized arguments: --cov; inifile: p.ini",
            "--with pytest-asyncio",
        ),
        (
            "internal",
            "KeyError: 'x'",
            ["t.py"],
            CannotDoError,
            "t.py: pytest itself failed: KeyError: 'x'",
            None,
        ),
    ],
)
def test_why_no_test_could_begin_is_an_error_of_its_own(  # noqa: PLR0917  (pytest names them)
    why: str, detail: str, tests: list[str], kind: type, message: str, hint: str | None
) -> None:
    files = {"t.py": b"def test_pays(): ...\nclass TestB:\n    def test_z(self): ...\n"}
    events = [{"kind": "script.started"}, {"kind": "tests.refused", "why": why, "detail": detail}]
    error = test_results.refusal(events, files, tests=tests)
    assert isinstance(error, kind)
    assert message in str(error)
    if hint is not None:
        assert hint in (error.hint or "")  # type: ignore[union-attr]  # an AgentproofError by its kind


def test_a_recording_in_which_tests_began_is_not_refused() -> None:
    assert test_results.refusal([{"kind": "test.started"}], {}, tests=["t.py"]) is None


@pytest.mark.parametrize(
    ("tests", "name"),
    [
        (["tests/test_pay.py::test_pays"], "test-pay-test-pays"),
        (["tests/test_pay.py::TestA::test_b[1-x y]"], "test-pay-testa-test-b-1-x-y"),
        (["tests/test_pay.py"], "test-pay"),
        (["a/test_x.py::test_a", "b/test_x.py::test_a"], "test-x-test-a-6834b1ac"),
    ],
)
def test_a_bundle_of_tests_is_named_after_them(tests: list[str], name: str) -> None:
    assert output.case_name(None, Path("x.py"), root=Path("r"), tests=tests) == name
    assert output.case_name("A title", Path("x.py"), root=Path("r"), tests=tests) == "a-title"


def test_a_long_name_is_cut_and_still_its_own() -> None:
    names = {output.tests_name([f"tests/test_x.py::test_{'long' * 30}[{number}]"]) for number in range(3)}
    assert len(names) == 3
    assert {len(name) for name in names} == {60}


def test_a_directory_s_bundle_is_named_after_the_directory(tmp_path: Path) -> None:
    root = tmp_path / "My App"
    assert output.case_name(None, root / "__main__.py", root=root) == "my-app"
    assert output.case_name(None, root / "bin" / "tool.py", root=root) == "my-app-tool"


# Reports


def test_an_issue_tells_how_the_tests_are_run_and_ended() -> None:
    story = tell(check_bundle(forge.draft_of_tests().seal(), reader=READER))
    assert story.title == forge.TEST_NAME
    issue = render_issue(story, attachment="x.zip").text
    assert (
        "Run `python -m pytest tests/test_pay.py::test_pays` with `openai-agents==0.20.0` installed." in issue
    )
    assert "Of the tests 1 failed." in issue
    assert f"- `{forge.TEST_NAME}[100]` `fails at tests/test_pay.py:7: AssertionError:" in issue
    assert "def test_else" in issue


def test_of_a_long_file_an_issue_shows_the_tests_alone() -> None:
    long = forge.draft_of_tests()
    long.files["tests/test_pay.py"] += b"\n\n" + b"def helper():\n    return 1\n" * 2000
    issue = render_issue(tell(check_bundle(long.judged().seal(), reader=READER)), attachment="x.zip").text
    assert "async def test_pays(amount):" in issue
    assert '@pytest.mark.parametrize("amount", [100])' in issue
    assert "def test_else" not in issue
    assert "def helper" not in issue


def test_ids_are_quoted_for_a_shell() -> None:
    assert command(["t.py::test_x[a b]"]) == "python -m pytest 't.py::test_x[a b]'"


def test_what_must_be_installed_is_told_by_the_version_that_was() -> None:
    made = forge.draft_of_tests()
    made.manifest["reproduction"]["requires"] = ["Annotated_Types>=0.5", "gone"]
    checked = check_bundle(made.judged().seal(), reader=READER)
    assert checked.manifest is not None
    assert needed(checked.manifest) == ["annotated-types==0.7.0"]


SOURCE = """
class TestA:
    @pytest.mark.x(
        1,
    )
    async def test_b(
        self,
    ):
        if True:

            pass

    def test_c(self): ...
"""


def test_the_source_of_a_test_has_its_decorators_and_ends_with_it() -> None:
    found = excerpt(SOURCE, ["t.py::TestA::test_b[1]", "t.py::TestA::test_b[2]"])
    assert found is not None
    assert found.startswith("    @pytest.mark.x(\n        1,\n    )\n    async def test_b(\n")
    assert found.endswith("            pass")
    assert excerpt(SOURCE, ["t.py::test_gone"]) is None


def test_names_and_messages_of_tests_stay_text() -> None:
    plain, evil = forge.draft_of_tests(), forge.draft_of_tests()
    evil.manifest["reproduction"]["tests"] = [f"tests/test_pay.py::{EVIL}"]
    for mode in evil.traces:
        evil.event("script.started", mode=mode)["tests"] = evil.manifest["reproduction"]["tests"]
        for kind in ("test.started", "test.ended"):
            evil.event(kind, mode=mode)["test"] = f"tests/test_pay.py::{EVIL}"
        evil.event("test.ended", mode=mode)["error"]["message"] = EVIL
        evil.event("test.ended", mode=mode)["reason"] = EVIL
    stories = [tell(check_bundle(each.judged().seal(), reader=READER)) for each in (plain, evil)]
    kinds = [
        [token.type for token in MarkdownIt("commonmark").parse(render_issue(story, attachment="x.zip").text)]
        for story in stories
    ]
    assert kinds[0] == kinds[1]
    elements = [
        set(re.findall(r"<[a-z]+", render_page(grouped([Attachment(story, "x.zip")])))) for story in stories
    ]
    assert elements[0] == elements[1]
    shown = [*console.render_judgement(stories[1].manifest, traces=traces_of(evil))]
    assert all(letter.isprintable() or letter in "\x1b\n" for line in shown for letter in line)
    assert "\x1b[31m\r" not in "".join(shown)


# Comparisons


def test_a_node_id_is_a_reproduction_to_compare_and_further_ones_belong_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_x.py").write_text("def test_a(): ...\ndef test_b(): ...\n")
    (subject,) = find_subjects(Path("test_x.py::test_a[x/y]"), ("test_x.py::test_b",))
    assert subject.name == "test_x.py::test_a[x/y] and 1 more"
    asked = subject.reproduction
    assert (asked.directory, asked.tests) == (tmp_path, ("test_x.py::test_a[x/y]", "test_x.py::test_b"))
    assert (asked.script, asked.entry) == (tmp_path / "test_x.py", "test_x.py")


def test_a_bundle_of_tests_is_recorded_again_with_what_it_was_recorded_with() -> None:
    asked = reproduction_in(forge.draft_of_tests().seal()).requiring(("pytest-asyncio", "pytest"))
    assert asked.tests == (forge.TEST_NAME,)
    assert asked.requires == ("pytest", "pytest-asyncio")
    assert asked.entry == "tests/test_pay.py"
    assert asked.files == {"tests/test_pay.py": forge.TEST_FILE}


def test_a_matrix_hands_out_tests_with_what_they_need(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_x.py").write_text("def test_a(): ...\n")
    (script,) = find_subjects(tmp_path / "test_x.py")
    sealed = forge.draft_of_tests().seal()
    bundle = Subject("bundle", reproduction_in(sealed), bundle=sealed)
    targets = [parse_target("0.20.0")]
    conditions = Conditions(requires=("pytest>=8",))
    jobs = matrix.jobs_of([bundle, script], targets, (None,), conditions=conditions, progress=Silent())
    asked = [(job.row, job.reproduction) for job in jobs]
    assert [(row, each.entry, each.tests, each.requires, sorted(each.files)) for row, each in asked] == [
        ("bundle", "tests/test_pay.py", (forge.TEST_NAME,), ("pytest",), ["tests/test_pay.py"]),
        ("test_x.py", "test_x.py", ("test_x.py",), (), ["pytest.ini", "test_x.py"]),
    ]
    assert {job.conditions.requires for job in jobs} == {("pytest>=8",)}
