"""The script, as it was written, reached its end: no assertion of its own failed.

Rule: an AssertionError that leaves the script with a frame in the reproduction's own files is a
violation, unless it was raised inside of the SDK, by an assertion of the SDK's or of what it uses, or is
about what the script takes for granted: a variable, a key, the Python, or something before its first use of
the SDK (as the recorder reads the script's text). Where
pytest ran the reproduction's tests, so is each test that failed by an assertion (or by `pytest.fail` or
`pytest.raises`). A clean exit holds. Any other end (another exception, a signal, a limit, a failure exit
code, an error in a test's set-up or tear-down) says nothing about the SDK by itself.

Sites: the one end; or the tests that passed or failed by an assertion.

Not observed: the script ended in another way, which the finding names; or its end was not seen.

From: reporters' own assertions, and openai/openai-agents-python#4414, whose regression test is one.

Shown by: `bundles/interruption-snapshot` on 0.20.0.
"""

from ...models.events import Failure, Frame, ScriptEnded, TestEnded
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import MAX_FINDINGS, NOT_OBSERVED, Outcome, Scope, make_finding

NAME = "script-completed"
VERSION = 2
SCOPE: Scope = "as-written"
NEEDS = frozenset({"tests"})

_ASSERTIONS = frozenset({"builtins:AssertionError", "builtins:Failed"})
"""The second one is pytest's, which gives its own exceptions that module."""


def evaluate(evidence: Evidence) -> Outcome:
    """Judge the end of the script, or of each of its tests."""
    view = evidence.view
    tests = view.of(TestEnded)
    if tests:
        return _of_tests(tests, view)
    end = view.script_end
    if end is None:
        return NOT_OBSERVED
    if is_clean(end):
        return Outcome("holds", 1)
    failed = end.outcome == "raised" and _is_own_assertion(end)
    finding = make_finding(
        code="assertion_failed" if failed else f"script_{end.outcome}",
        events=view.refs(end),
        subject=_told(end),
    )
    return Outcome("violated", 1, (finding,)) if failed else Outcome("not_observed", 0, (finding,))


def _of_tests(tests: list[TestEnded], view: View) -> Outcome:
    failed = [t for t in tests if t.outcome == "failed" and _is_own_assertion(t)]
    passed = [test for test in tests if test.outcome in ("passed", "xfailed")]
    found = tuple(
        make_finding(
            code="test_failed",
            events=view.refs(test),
            subject=test.test,
            after=_error(test.error, test.frames),
        )
        for test in failed[:MAX_FINDINGS]
    )
    if failed:
        return Outcome("violated", len(failed) + len(passed), found)
    return Outcome("holds" if passed else "not_observed", len(passed))


def is_clean(end: ScriptEnded) -> bool:
    """Whether the script came to its end by itself, and did not say that it failed."""
    return end.outcome == "exited" and not end.code


def _is_own_assertion(end: ScriptEnded | TestEnded) -> bool:
    if end.error is None or not end.frames or end.raised_in == "sdk" or end.premise is not None:
        return False
    return not _ASSERTIONS.isdisjoint((end.error.type, *end.error.bases))


def _told(end: ScriptEnded) -> str:
    if end.error is None:
        return f"exit code {end.code}" if end.code is not None else end.outcome
    return _error(end.error, end.frames)


def _error(error: Failure | None, frames: tuple[Frame, ...]) -> str:
    if error is None:
        return "failed"
    name = error.type.rpartition(":")[2]
    message = error.message if isinstance(error.message, str) else ""
    # pytest explains an assertion in further lines; they are in the event.
    first = message.partition("\n")[0][:200]
    place = f" at {frames[-1].file}:{frames[-1].line}" if frames else ""
    return f"{name}{place}: {first}" if first else f"{name}{place}"


def explain(finding: Finding) -> str:
    """How the script, or a test of it, ended."""
    match finding.code:
        case "assertion_failed":
            return f"the script's own assertion failed: {finding.subject}"
        case "test_failed":
            return f"test {finding.subject} failed: {finding.after}"
        case _:
            return f"the script did not come to its end: {finding.subject}"
