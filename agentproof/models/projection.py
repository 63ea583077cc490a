"""Evidence projections: what two recordings must share to count as the same evidence (1 is frozen).

From each trace, in canonical order, and nothing else:
1. how the script ended: outcome, exit code, the exception's type; where pytest ran its tests, how each
   of them ended: its node id, outcome, the exception's type;
2. how each run ended: outcome, the exception's type (and text, unless it is one of Python's own),
   the final output;
3. tool runs: name, arguments, call id, then output;
4. decisions: state, approve or reject, call id, tool, options;
5. interruptions of each run: tool, call id, arguments;
6. state changes, between the moments decision, restore, run_start, run_end and exit: pointer and
   both values, without `usage` details;
7. model input items.

Not in it, with the reasons in docs/format.md, section 6: usage details, stdout, stderr, messages of
Python's own exceptions, bodies, stream granularity, hooks, spans, timing, verdict. Runs and states carry
numbers by first appearance within the projection, and so do generated ids, so that a recorder that sees
more leaves it as it is. What looks like a number that this gives is escaped, so that two texts become one
only where they differ in generated ids alone.

The evidence id is the SHA-256 of the encoding of
{"projection": 1, "target": wheel SHA-256, "reproduction": {path: SHA-256}, "traces": {mode: facts}}, with
"tests": [node ids] where the reproduction is tests, and "exchanges": SHA-256 where a provider's answers were
recorded.

Projection 2 is that of a reproduction with expectations. It holds these too, as "expectations" (but the
sentence `should`), and in the traces what they read beyond the above, each behind the fact of its event:
8. what is printed or not: stdout, and whether it was cut;
9. what is raised: the classes of what ended the script, a test or a run, with those above them;
10. which tools run: the tools that the model was offered, sorted.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import FormatError
from ..limits import MAX_CHANGES_BYTES
from .diff import Absent, diff
from .events import (
    Event,
    Failure,
    ModelCalled,
    RunEnded,
    RunStarted,
    ScriptEnded,
    ScriptWrote,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    TestEnded,
    ToolEnded,
    ToolStarted,
)
from .expectations import NOTHING, Expectations
from .trace import Trace
from .values import from_state
from .wire import Sha256, encode

Fact = dict[str, Any]  # Any: values of the observed program

PROJECTED_MOMENTS = frozenset({"decision", "restore", "run_start", "run_end", "exit"})

GENERATED_ID = re.compile(
    r"(?<![0-9A-Za-z])(?:"
    r"(?P<prefix>trace_|span_|group_)0{8,}[0-9a-f]{1,16}"
    r"|(?P<uuid>00000000-0000-4000-8000-[0-9a-f]{12}|0{12}40008000[0-9a-f]{12})"
    r")(?![0-9A-Za-z])"
    r"|(?P<at> at 0x)0{4}[0-9a-f]{8}(?![0-9a-f])"
)
"""A generated id after numbering (see `agentproof.record.numbering`): zeros, then its number."""

_DETAILS = re.compile(r"[a-z_]+_details")


def evidence_id(
    *,
    target_sha256: Sha256,
    reproduction: Mapping[str, Sha256],
    tests: Sequence[str] = (),
    traces: Iterable[Trace],
    state: Callable[[Sha256], Any],  # Any: a state's JSON
    expectations: Expectations = NOTHING,
    exchanges: Sha256 | None = None,
) -> Sha256:
    """The evidence id of these traces; `state` gives the JSON of a state by its digest.

    `exchanges` is the SHA-256 of a provider's recorded answers, without their times (`Exchanges.timeless`).
    """
    document: Fact = {
        "projection": 2 if expectations.judged else 1,
        "target": target_sha256,
        "reproduction": dict(reproduction),
        "traces": {trace.mode: project(trace, state, expectations) for trace in traces},
    }
    if expectations.judged:
        document["expectations"] = expectations.to_judged()
    if tests:
        document["tests"] = list(tests)
    if exchanges is not None:
        document["exchanges"] = exchanges
    return hashlib.sha256(encode(document)).hexdigest()


# Any: a state's JSON
def project(trace: Trace, state: Callable[[Sha256], Any], expectations: Expectations = NOTHING) -> list[Fact]:
    """The facts of one trace, in canonical order."""
    return [fact for _, fact in placed(trace, state, expectations)]


def placed(  # noqa: PLR0912  (a table of kinds)
    trace: Trace, state: Callable[[Sha256], Any], expectations: Expectations = NOTHING
) -> list[tuple[Event, Fact]]:
    """The facts, each with the event that it comes from; with what the expectations read beside them."""
    numbers = _Numbers()
    changes = _Changes(state)
    facts: list[Fact] = []
    places: list[Event] = []
    for event in trace.events:
        match event:
            case ScriptEnded():
                facts.append(
                    {
                        "fact": "script",
                        "outcome": event.outcome,
                        "code": event.code,
                        "error": event.error and event.error.type,
                    }
                )
            case TestEnded():
                facts.append(
                    {
                        "fact": "test-end",
                        "test": event.test,
                        "outcome": event.outcome,
                        "error": event.error and event.error.type,
                    }
                )
            case RunStarted():
                facts.append({"fact": "run", "run": numbers.of(event.run), "agent": event.agent})
            case RunEnded():
                facts.append(
                    {
                        "fact": "run-end",
                        "run": numbers.of(event.run),
                        "outcome": event.outcome,
                        "error": _failure(event.error),
                        "final_output": event.final_output,
                        "interruptions": [
                            {"tool": item.tool, "call_id": item.call_id, "arguments": item.arguments}
                            for item in event.interruptions
                        ],
                    }
                )
            case ToolStarted():
                facts.append(
                    {
                        "fact": "tool",
                        "tool": event.tool,
                        "call_id": event.call_id,
                        "arguments": event.arguments,
                    }
                )
            case ToolEnded():
                facts.append(
                    {
                        "fact": "tool-end",
                        "tool": event.tool,
                        "call_id": event.call_id,
                        "output": event.output,
                    }
                )
            case ModelCalled():
                facts.append({"fact": "model-input", "input": event.input})
            case StateDecided():
                facts.append(
                    {
                        "fact": "decision",
                        "state": numbers.of(event.state),
                        "decision": event.decision,
                        "call_id": event.call_id,
                        "tool": event.tool,
                        "options": event.options,
                        "error": _failure(event.error),
                        "changes": changes.between(event.before, event.snapshot),
                    }
                )
            case StateMade() | StateRestored():
                facts.append({"fact": "state", "state": numbers.of(event.state)})
            case StateObserved() if event.moment in PROJECTED_MOMENTS:
                changed = changes.between(event.before, event.snapshot)
                if changed:
                    facts.append({"fact": "change", "state": numbers.of(event.state), "changes": changed})
            case _:
                pass
        facts += _expected_of(event, expectations)
        places += [event] * (len(facts) - len(places))
    return list(zip(places, _renumber_ids(facts), strict=True))


def _expected_of(event: Event, expectations: Expectations) -> Iterator[Fact]:
    """What expectations read of an event beyond the facts of projection 1."""
    match event:
        case ScriptWrote(stream="stdout") if expectations.should_print or expectations.should_not_print:
            yield {"fact": "printed", "text": event.text, "truncated": event.truncated}
        case ModelCalled() if expectations.should_run or expectations.should_not_run:
            yield {"fact": "offered", "tools": sorted(event.tools)}
        case ScriptEnded() | TestEnded() | RunEnded() if (
            expectations.should_raise and event.error is not None
        ):
            yield {"fact": "raised", "types": [event.error.type, *event.error.bases]}
        case _:
            pass


def _failure(error: Failure | None) -> object:
    if error is None:
        return None
    own = error.type.startswith("builtins:")
    return {"type": error.type} if own else {"type": error.type, "message": error.message}


class _Changes:
    """The changes between states, each pair compared once."""

    def __init__(self, state: Callable[[Sha256], Any]) -> None:  # Any: a state's JSON
        self._state = state
        self._known: dict[tuple[Sha256, Sha256], tuple[list[Fact], int]] = {}
        self._left = MAX_CHANGES_BYTES

    def between(self, before: Sha256, after: Sha256) -> list[Fact]:
        """What changed from one state to another.

        Raises:
            FormatError: it is too much, with all that was asked for before.
        """
        pair = (before, after)
        if pair not in self._known:
            changes = _changes(self._state(before), self._state(after))
            self._known[pair] = changes, len(encode(changes))
        changes, size = self._known[pair]
        self._left -= size
        if self._left < 0:
            raise FormatError(f"over {MAX_CHANGES_BYTES} bytes of changes of states", reason="too_large")
        return changes


def _changes(before: Any, after: Any) -> list[Fact]:  # Any: states' JSON
    changes: list[Fact] = []
    for change in diff(before, after):
        left_out, below = _is_left_out(change.pointer.removeprefix("/"), below=False)
        if left_out:
            continue
        fact: Fact = {"pointer": change.pointer}
        for side, part in (("before", change.before), ("after", change.after)):
            if not isinstance(part, Absent):
                fact[side] = from_state(_without_usage_details(part, below))
        changes.append(fact)
    return changes


def _is_left_out(place: str, *, below: bool) -> tuple[bool, bool]:
    """Whether a place is one of usage details, and whether it is below `usage`, where more may be.

    `/usage/(.*/)?[a-z_]+_details(/|$)`, searched for piece by piece: `place` comes behind one that is
    `below`. No dot matches a line feed, and a dollar matches before the last one.
    """
    *inner, last = place.split("/")
    for segment in inner:
        if below and _DETAILS.fullmatch(segment):
            return True, below
        below = segment == "usage" or (below and "\n" not in segment)
    if below and _DETAILS.fullmatch(last.removesuffix("\n")):
        return True, below
    return False, last == "usage" or (below and "\n" not in last)


def _without_usage_details(part: Any, below: bool) -> Any:  # Any: a part of a state's JSON
    if isinstance(part, list):
        return [_without_usage_details(item, below) for item in part]
    if isinstance(part, dict):
        kept = {}
        for key, item in part.items():
            left_out, inside = _is_left_out(key, below=below)
            if not left_out:
                kept[key] = _without_usage_details(item, inside)
        return kept
    return part


class _Numbers:
    """Numbers for labels, by first appearance in the projection."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._given: dict[str, int] = {}

    def of(self, label: str | None) -> str | None:
        if label is None:
            return None
        if label not in self._seen:
            self._seen[label] = self._given[label[0]] = self._given.get(label[0], 0) + 1
        return f"{label[0]}{self._seen[label]}"


_PLACEHOLDER = re.compile(r"(trace_|span_|group_|uuid_| at 0x)#")
"""How the number of a generated id begins, which a text may hold by itself."""


def _renumber_ids(facts: list[Fact]) -> list[Fact]:
    seen: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        whole = match.group(0)
        if whole not in seen:
            seen[whole] = f"{match.group('prefix') or match.group('at') or 'uuid_'}#{len(seen) + 1}"
        return seen[whole]

    def renamed(text: str) -> str:
        if "#" not in text:
            return GENERATED_ID.sub(replace, text)
        parts: list[str] = []
        at = 0
        for match in GENERATED_ID.finditer(text):
            parts += [_PLACEHOLDER.sub(r"\1##", text[at : match.start()]), replace(match)]
            at = match.end()
        return "".join([*parts, _PLACEHOLDER.sub(r"\1##", text[at:])])

    def walk(part: Any) -> Any:  # Any: a value
        if isinstance(part, str):
            return renamed(part)
        if isinstance(part, list):
            return [walk(item) for item in part]
        if isinstance(part, dict):
            found = {renamed(key): walk(item) for key, item in sorted(part.items())}
            if len(found) < len(part):
                # No two texts become one while what looks like a number is escaped; were it otherwise, a
                # value would vanish from what is signed.
                raise FormatError("two keys of one object become the same")
            return found
        return part

    return [walk(fact) for fact in facts]
