"""What became of a reproduction's tests, in words: why none could begin, and how each of them ended."""

import ast
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..errors import AgentproofError, CannotDoError, UsageError
from ..models.events import TestEnded, TestStarted
from ..models.trace import Mode, Trace

_SHOWN: Final = 12
_ORDER: Final = ("passed", "failed", "error", "xfailed", "xpassed", "skipped", "did not end")


def refusal(
    events: Iterable[Mapping[str, Any]],  # Any: JSON as the recorder wrote it
    files: Mapping[str, bytes],
    *,
    tests: Sequence[str],
) -> AgentproofError | None:
    """The error for a recording in which no test could begin, for a reason that is none of the SDK's."""
    event = next((event for event in events if event.get("kind") == "tests.refused"), None)
    if event is None:
        return None
    detail = str(event.get("detail"))
    named = ", ".join(tests)
    match event.get("why"):
        case "not_found":
            # pytest leaves out what is in brackets.
            name = tests[0] if len(tests) == 1 else detail.partition("\n")[0].removeprefix("not found: ")
            return UsageError(f"{name}: pytest knows no such test", hint=_like(files, tests))
        case "none":
            return UsageError(
                f"{named}: pytest found no test there",
                hint="a test's name begins with test, its class's with Test; or name one: FILE::TEST",
            )
        case "deselected":
            return UsageError(
                f"{named}: the project's configuration deselects {detail} of its tests, and leaves none",
                hint="look for -m or -k in pytest's `addopts`",
            )
        case "usage":
            return UsageError(
                f"{named}: pytest does not accept its configuration: {_complaint(detail)}",
                hint="a plugin may be missing: install it with --with, as in --with pytest-asyncio",
            )
        case _:
            return CannotDoError(f"{named}: pytest itself failed: {detail}")


def _complaint(detail: str) -> str:
    """What argparse says, without the usage and the places around it."""
    said = detail.partition(": error: ")[2] or detail
    lines = (line.strip() for line in said.splitlines())
    return "; ".join(line for line in lines if line and not line.startswith("rootdir:"))


def _like(files: Mapping[str, bytes], tests: Sequence[str]) -> str | None:
    """The tests that the files hold, those first whose names are like the ones that were asked for."""
    held: list[str] = []
    for file in dict.fromkeys(test.partition("::")[0] for test in tests):
        held += [f"{file}::{name}" for name in _defined(files.get(file, b""))]
    wanted = [test.partition("[")[0] for test in tests]
    names = [name.rpartition("::")[2] for name in held]
    like = {
        name
        for test in wanted
        if test not in held
        for name in difflib.get_close_matches(test.rpartition("::")[2], names, cutoff=0.75)
    }
    close = [name for name in held if name.rpartition("::")[2] in like]
    if not close and any("[" in test for test in tests):
        return "without the part in brackets all of its cases are run, and the recording names them"
    shown = list(dict.fromkeys(close or held))
    more = f" and {len(shown) - 6} more" if len(shown) > 6 else ""
    return f"there {'is' if len(shown) == 1 else 'are'} {', '.join(shown[:6])}{more}" if shown else None


def _defined(source: bytes) -> Iterator[str]:
    """The names of tests as far as the source tells them."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith(
                    "test"
                ):
                    yield f"{node.name}::{inner.name}"


def told(traces: Mapping[Mode, Trace]) -> Iterator[str]:
    """How many tests ended how, then each one that did not pass; then what another mode ended otherwise."""
    found = {mode: ended for mode, trace in traces.items() if (ended := _ended(trace))}
    first: Mapping[str, _Ended] = next(iter(found.values()), {})
    if not first:
        return
    counts = Counter(each.outcome for each in first.values())
    yield ", ".join(f"{counts[outcome]} {outcome}" for outcome in _ORDER if counts[outcome])
    lines = [each.line for each in first.values() if each.outcome != "passed"]
    for mode, others in found.items():
        lines += [
            f"{other.line} ({mode})"
            for test, other in others.items()
            if test not in first or other.outcome != first[test].outcome
        ]
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"… and {len(lines) - _SHOWN} more"


@dataclass(frozen=True)
class _Ended:
    outcome: str
    line: str


def _ended(trace: Trace) -> dict[str, _Ended]:
    """How each test ended, in order; one that began and did not end was stopped with the process."""
    found: dict[str, _Ended] = {}
    for event in trace.events:
        if isinstance(event, TestStarted):
            found[event.test] = _Ended("did not end", f"no end   {event.test}")
        elif isinstance(event, TestEnded):
            found[event.test] = _Ended(event.outcome, f"{event.outcome:<8} {event.test}{_why(event)}")
    return found


def _why(event: TestEnded) -> str:
    if event.error is None:
        return f": {event.reason}" if event.reason else ""
    at = f" at {event.frames[-1].file}:{event.frames[-1].line}" if event.frames else ""
    name = event.error.type.rpartition(":")[2]
    message = event.error.message if isinstance(event.error.message, str) else ""
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f": {name}{at}: {first[:160]}" if first else f": {name}{at}"


__all__ = ["refusal", "told"]
