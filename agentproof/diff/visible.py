"""The first difference that a user can see between a recording and one of where it worked.

Looked at in this order, in each mode, as written first: what was printed, how the script ended, which tools
ran, final outputs, states, and what the model was asked. Two lines are the same where one may be the other
but for what varies from one run to the next. What differs only inside is told by `align`, and is no
difference here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from ..models.comparison import TraceDifference, VisibleAbout, VisibleDifference
from ..models.events import RunEnded, RunStarted, ScriptEnded, ScriptWrote, ToolStarted
from ..models.printed import VARIES, mask
from ..models.trace import Mode, Trace
from ..models.values import text_of
from ..models.wire import bounded

_MAX_SHOWN = 400
_NOTHING = "nothing"
_INSIDE = {"state": "state", "change": "state", "decision": "state", "input": "model"}
"""What a difference between traces is about, and what a user calls it."""


def first_visible(
    good: Mapping[Mode, Trace], other: Mapping[Mode, Trace], differences: Iterable[TraceDifference]
) -> VisibleDifference | None:
    """What a user sees first; `differences` are those of `align` between the same recordings."""
    modes: list[Mode] = [mode for mode in ("as-written", "streamed") if mode in good and mode in other]
    told = list(differences)
    for mode in modes:
        for about, before, after in _sides(good[mode], other[mode]):
            if before != after:
                return VisibleDifference(
                    mode=mode, about=about, before=before[:_MAX_SHOWN], after=after[:_MAX_SHOWN]
                )
    inside: tuple[VisibleAbout, VisibleAbout] = ("state", "model")
    for wanted in inside:
        for each in told:
            if _INSIDE.get(each.about) == wanted:
                return _inside(each, wanted)
    return None


def _inside(each: TraceDifference, about: VisibleAbout) -> VisibleDifference:
    sides = {"gone": ("there", "gone"), "new": ("absent", "there"), "moved": ("there", "at another place")}
    if each.what in sides:
        before, after = sides[each.what]
    else:
        before, after = _written(each.before), _written(each.after)
    where = f"{each.subject} {each.pointer}" if each.pointer else each.subject
    return VisibleDifference(mode=each.mode, about=about, where=bounded(where), before=before, after=after)


def _written(value: object) -> str:
    if value is None:
        return "absent"
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))[
        :_MAX_SHOWN
    ]


def _sides(good: Trace, other: Trace) -> Iterator[tuple[VisibleAbout, str, str]]:
    yield ("printed", *_printed(good, other))
    yield "ended", _ended(good), _ended(other)
    yield ("tools", *_first_other(_tools(good), _tools(other)))
    yield ("output", *_first_other(_outputs(good), _outputs(other)))


def _printed(good: Trace, other: Trace) -> tuple[str, str]:
    """The first lines that are not the same."""
    for mine, theirs in zip_longest(_lines(good), _lines(other)):
        if mine is None or theirs is None:
            return mine if mine is not None else _NOTHING, theirs if theirs is not None else _NOTHING
        varies = VARIES in mine or VARIES in theirs
        if mine != theirs and not (varies and mask(mine) == mask(theirs)):
            return mine, theirs
    return "", ""


def _lines(trace: Trace) -> list[str]:
    wrote = next((e for e in trace.events if isinstance(e, ScriptWrote) and e.stream == "stdout"), None)
    text = text_of(wrote.text).rstrip() if wrote is not None else ""
    return text.split("\n") if text else []


def _ended(trace: Trace) -> str:
    end = next((event for event in trace.events if isinstance(event, ScriptEnded)), None)
    if end is None:
        return "not seen"
    if end.error is not None:
        return f"raised {end.error.type.rpartition(':')[2]}"
    if end.outcome == "exited":
        return f"exited with {end.code}" if end.code else "came to its end"
    return end.outcome.replace("_", " ")


def _tools(trace: Trace) -> list[str]:
    return [
        f"{event.tool} {_written(event.arguments)}"
        for event in trace.events
        if isinstance(event, ToolStarted)
    ]


def _outputs(trace: Trace) -> list[str]:
    started = (event for event in trace.events if isinstance(event, RunStarted))
    inner = {event.run for event in started if event.parent is not None}
    return [
        _output(event) for event in trace.events if isinstance(event, RunEnded) and event.run not in inner
    ]


def _output(event: RunEnded) -> str:
    if event.error is not None:
        return f"raised {event.error.type.rpartition(':')[2]}"
    waiting = [item.tool or "a tool" for item in event.interruptions]
    return f"waits for a decision on {', '.join(waiting)}" if waiting else _written(event.final_output)


def _first_other(good: list[str], other: list[str]) -> tuple[str, str]:
    for mine, theirs in zip_longest(good, other):
        if mine != theirs:
            return mine if mine is not None else _NOTHING, theirs if theirs is not None else _NOTHING
    return "", ""
