"""What became of a reproduction's tests, in words: why none could begin, and how each of them ended."""

import ast
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .errors import AgentproofError, CannotDoError, UsageError
from .models.events import TestEnded, TestStarted
from .models.trace import Trace

_SHOWN: Final = 12
_ORDER: Final = ("passed", "failed", "error", "xfailed", "xpassed", "skipped")


def refusal(
    events: Iterable[Mapping[str, Any]],  # Any: JSON as the recorder wrote it
    *,
    root: Path,
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
            return UsageError(f"{_first_line(detail)}: pytest knows no such test", hint=_like(root, tests))
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
                f"{named}: pytest does not accept its configuration: {detail}",
                hint="a plugin may be missing: install it with --with, as in --with pytest-asyncio",
            )
        case _:
            return CannotDoError(f"{named}: pytest itself failed: {detail}")


def _first_line(detail: str) -> str:
    return detail.partition("\n")[0].removeprefix("not found: ")


def _like(root: Path, tests: Sequence[str]) -> str | None:
    """The tests that the files hold, those first whose names are like the ones that were asked for."""
    held: list[str] = []
    for file in dict.fromkeys(test.partition("::")[0] for test in tests):
        held += [f"{file}::{name}" for name in _defined(root / file)]
    wanted = [test.partition("[")[0] for test in tests]
    close = [match for test in wanted if test not in held for match in difflib.get_close_matches(test, held)]
    if not close and any("[" in test for test in tests):
        return "without the part in brackets all of its cases are run, and the recording names them"
    shown = list(dict.fromkeys(close or held))
    more = f" and {len(shown) - 6} more" if len(shown) > 6 else ""
    return f"there is {', '.join(shown[:6])}{more}" if shown else None


def _defined(path: Path) -> Iterator[str]:
    """The names of tests as far as the source tells them."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
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


def told(trace: Trace) -> Iterator[str]:
    """How many tests ended how, then each one that did not pass."""
    ended = [event for event in trace.events if isinstance(event, TestEnded)]
    names = {event.test for event in ended}
    open_ones = [e.test for e in trace.events if isinstance(e, TestStarted) and e.test not in names]
    counts = Counter(event.outcome for event in ended)
    parts = [f"{counts[outcome]} {outcome}" for outcome in _ORDER if counts[outcome]]
    if open_ones:
        parts.append(f"{len(open_ones)} did not end")
    yield ", ".join(parts) or "none was run"
    others = [event for event in ended if event.outcome != "passed"]
    lines = [f"{event.outcome:<8} {event.test}{_why(event)}" for event in others]
    lines += [f"{'no end':<8} {test}" for test in open_ones]
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"… and {len(lines) - _SHOWN} more"


def _why(event: TestEnded) -> str:
    if event.error is None:
        return f": {event.reason}" if event.reason else ""
    at = f" at {event.frames[-1].file}:{event.frames[-1].line}" if event.frames else ""
    name = event.error.type.rpartition(":")[2]
    message = event.error.message if isinstance(event.error.message, str) else ""
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f": {name}{at}: {first[:160]}" if first else f": {name}{at}"


__all__ = ["refusal", "told"]
