"""What two runs that were given the same, plain and streamed, come to: for every `stream-parity`."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...models.events import HandoffMade
from ...models.items import items_of, key_of, raw_of
from ...models.manifest import Finding
from ...models.projection import GENERATED_ID
from ...models.wire import encode
from .evidence import View
from .outcome import make_finding
from .runs import Run

Summary = dict[str, Any]  # Any: values of the observed program

_INPUT_TRIPWIRE = "InputGuardrailTripwireTriggered"


def comparable(plain: View, streamed: View) -> Iterator[tuple[Run, Run]]:
    """The top-level runs of both modes in their order, up to the first pair that cannot be compared.

    Left out are pairs of one mode, and what was given to several runs at the same time.
    """
    unclear = _unclear(plain) | _unclear(streamed)
    for one, other in zip(plain.top, streamed.top, strict=False):
        if _given(one) != _given(other):
            return
        if one.started.streamed == other.started.streamed or encode(_given(one)) in unclear:
            continue
        if not (_is_over(one) and _is_over(other)) or plain.overlaps(one) or streamed.overlaps(other):
            return
        yield one, other


def _given(run: Run) -> Any:  # Any: values of the observed program
    start = run.started
    return [
        start.agent,
        start.state is not None,
        [key_of(item) for item in items_of(start.input)],
        start.max_turns,
        start.session is not None,
    ]


def _unclear(view: View) -> set[bytes]:
    """What was given to several runs some of which went on at the same time: which of them is which in the
    other mode, nobody can say."""
    groups: dict[bytes, list[Run]] = {}
    for run in view.top:
        groups.setdefault(encode(_given(run)), []).append(run)
    return {
        given
        for given, runs in groups.items()
        if not all(
            one.ended is not None and view.happens_before(one.ended, other.started)
            for one, other in pairwise(runs)
        )
    }


def _is_over(run: Run) -> bool:
    return run.ended is not None and run.ended.outcome in ("returned", "raised")


def differences(one: Run, other: Run, plain: View, streamed: View) -> Iterator[Finding]:
    """In what two runs that were given the same, plain and streamed, come to something else."""
    first, second = _summary(one), _summary(other)
    if first["error"] == second["error"] and str(first["error"]).endswith(_INPUT_TRIPWIRE):
        for name in ("tools", "outputs", "model inputs"):
            del first[name], second[name]
    for name in first:
        if name in second and encode(first[name]) != encode(second[name]):
            before, after = _shortest_difference(first[name], second[name])
            yield make_finding(
                code="modes_differ",
                events=(*plain.refs(one.ended or one.started), *streamed.refs(other.ended or other.started)),
                run=one.label,
                subject=name,
                before=before,
                after=after,
            )


def _summary(run: Run) -> Summary:
    """What both modes must agree on; lists whose order may differ are sorted."""
    end = run.ended
    tree = list(run.tree())
    told = [[list(key_of(item)) for item in items_of(c.input)] for one in tree for c in one.model_calls()]
    starts = [[e.tool, e.call_id, e.arguments] for one in tree for e in one.tools_started()]
    outputs = [[e.tool, e.call_id, e.output] for one in tree for e in one.tools_ended()]
    summary: Summary = {
        "outcome": end.outcome if end else None,
        "error": end.error.type if end and end.error else None,
        "tools": sorted(map(masked, starts), key=encode),
        "outputs": sorted(map(masked, outputs), key=encode),
        "handoffs": [
            [e.from_agent, e.to_agent] for one in tree for e in one.events if isinstance(e, HandoffMade)
        ],
        "interruptions": sorted(
            ([e.tool, e.call_id, e.arguments] for e in (end.interruptions if end else ())), key=encode
        ),
        "final output": masked(end.final_output if end else None),
        "last agent": end.last_agent if end else None,
        "guardrails": _guardrails(end.guardrails if end else None),
        "new items": [_item(item) for item in items_of(end.items if end else None)],
        "model inputs": sorted(told, key=encode),
    }
    if end is not None and isinstance(end.session_after, list):
        summary["session"] = [list(key_of(item)) for item in items_of(end.session_after)]
    return {name: masked(value) for name, value in summary.items()}


def _guardrails(lists: Any) -> Any:  # Any: values
    """The lists by kind, each in one order: guardrails run in parallel."""
    if not isinstance(lists, dict):
        return lists
    return {
        kind: sorted(listed, key=encode) if isinstance(listed, list) else listed
        for kind, listed in lists.items()
    }


def _item(item: Any) -> Any:  # Any: an item of a result, which holds the model's raw item
    raw = raw_of(item)
    return [item.get("type"), list(key_of(raw)), item.get("output")]


def masked(value: Any) -> Any:  # Any: a value
    """The value with generated ids and addresses made equal: each mode numbers its own."""
    if isinstance(value, str):
        return GENERATED_ID.sub("#", value)
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items()}
    return value


def _shortest_difference(first: Any, second: Any) -> tuple[Any, Any]:  # Any: values
    """Of two lists only what one has beyond the other; anything else whole."""
    if not (isinstance(first, list) and isinstance(second, list)):
        return first, second
    known = [encode(item) for item in first], [encode(item) for item in second]
    only_first = [item for item, code in zip(first, known[0], strict=True) if code not in known[1]]
    only_second = [item for item, code in zip(second, known[1], strict=True) if code not in known[0]]
    return (only_first, only_second) if only_first or only_second else (first, second)
