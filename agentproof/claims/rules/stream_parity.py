"""The same script, plain and streamed, comes to the same.

Rule: the top-level runs of both modes are compared in their order, where one was plain and the other
streamed and both were given the same: how they ended, tools with arguments and outputs, handoffs,
interruptions, final output, last agent, guardrail lists, new items, what the models were told, and the
session afterwards. The comparison stops at the first run that differs, or that was given something else, or
in which a model that was asked the same answered something else, or a model was not observed: that is the
model's doing. Left out: usage, generated ids, timing, cancelled runs and streams that the consumer left,
runs that share a session at the same time, runs that were given the same as others at the same time, and
after an input guardrail's tripwire what the model was asked (a race). It says that the modes differ, not
which of them is wrong.

Sites: pairs of runs that were compared.

Not observed: one mode alone was recorded, or no run was plain in one mode and streamed in the other.

From: openai/openai-agents-python#4184, #4160, #4097, #2426, #4070 and whatever nobody thought of.

Shown by: `tests/scripts/cases/blocked-answer-replayed` on 0.19.3.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...models.events import Event, HandoffMade, ModelAnswered, ModelCalled, ModelFailed
from ...models.items import Item, items_of, key_of, raw_of
from ...models.manifest import Finding
from ...models.projection import GENERATED_ID
from ...models.wire import encode
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "stream-parity"
VERSION = 3
SCOPE: Scope = "both"
NEEDS = frozenset({"hooks", "models", "runs"})

Summary = dict[str, Any]  # Any: values of the observed program

_INPUT_TRIPWIRE = "InputGuardrailTripwireTriggered"


def evaluate(evidence: Evidence) -> Outcome:
    """Judge the two traces side by side."""
    plain, streamed = evidence.views.get("as-written"), evidence.views.get("streamed")
    if plain is None or streamed is None:
        return outcome(sites=0, because=())
    judged = list(_compared(plain, streamed))
    return outcome(sites=len(judged), because=(finding for found in judged for finding in found))


def _compared(plain: View, streamed: View) -> Iterator[list[Finding]]:
    unclear = _unclear(plain) | _unclear(streamed)
    for one, other in zip(plain.top, streamed.top, strict=False):
        if _given(one) != _given(other):
            return
        if one.started.streamed == other.started.streamed or encode(_given(one)) in unclear:
            continue
        if not (_is_over(one) and _is_over(other)) or plain.overlaps(one) or streamed.overlaps(other):
            return
        if not _same_answers(one, other):
            return
        found = list(_differences(one, other, plain, streamed))
        yield found
        if found:
            return


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


def _same_answers(one: Run, other: Run) -> bool:
    """Whether each question that both runs put to a model got the same answers, as far as both put it."""
    first, second = _answers(one), _answers(other)
    if bool(first) != bool(second) and one.returned and other.returned:
        return False  # a method that was put on the model's class later is not observed
    return all(
        not (first[asked] - second[asked]) or not (second[asked] - first[asked])
        for asked in first.keys() & second.keys()
    )


def _answers(run: Run) -> dict[bytes, Counter[bytes]]:
    """What the models of the run and those inside of it gave, by what they were told."""
    found: dict[bytes, Counter[bytes]] = {}
    for each in run.tree():
        asked = {call.call: _asked(call) for call in each.model_calls()}
        for event in each.events:
            answer = _answer(event)
            if answer is not None and isinstance(event, ModelAnswered | ModelFailed) and event.call in asked:
                found.setdefault(asked[event.call], Counter())[encode(_masked(answer))] += 1
    return found


def _asked(call: ModelCalled) -> bytes:
    return encode(_masked([call.model, call.instructions, [_said(item) for item in items_of(call.input)]]))


def _said(item: Item) -> list[Any]:  # Any: values
    """What an item says, whatever form it has."""
    return [
        list(key_of(item)),
        *(item.get(name) for name in ("name", "arguments", "input", "action", "output")),
    ]


def _answer(event: Event) -> Any:  # Any: values
    match event:
        case ModelAnswered():
            return [_said(item) for item in items_of(event.output)]
        case ModelFailed():
            return event.error.type
        case _:
            return None


def _differences(one: Run, other: Run, plain: View, streamed: View) -> Iterator[Finding]:
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
        "tools": sorted(map(_masked, starts), key=encode),
        "outputs": sorted(map(_masked, outputs), key=encode),
        "handoffs": [
            [e.from_agent, e.to_agent] for one in tree for e in one.events if isinstance(e, HandoffMade)
        ],
        "interruptions": sorted(
            ([e.tool, e.call_id, e.arguments] for e in (end.interruptions if end else ())), key=encode
        ),
        "final output": _masked(end.final_output if end else None),
        "last agent": end.last_agent if end else None,
        "guardrails": _guardrails(end.guardrails if end else None),
        "new items": [_item(item) for item in items_of(end.items if end else None)],
        "model inputs": sorted(told, key=encode),
    }
    if end is not None and isinstance(end.session_after, list):
        summary["session"] = [list(key_of(item)) for item in items_of(end.session_after)]
    return {name: _masked(value) for name, value in summary.items()}


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


def _masked(value: Any) -> Any:  # Any: a value
    """The value with generated ids and addresses made equal: each mode numbers its own."""
    if isinstance(value, str):
        return GENERATED_ID.sub("#", value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    return value


def _shortest_difference(first: Any, second: Any) -> tuple[Any, Any]:  # Any: values
    """Of two lists only what one has beyond the other; anything else whole."""
    if not (isinstance(first, list) and isinstance(second, list)):
        return first, second
    known = [encode(item) for item in first], [encode(item) for item in second]
    only_first = [item for item, code in zip(first, known[0], strict=True) if code not in known[1]]
    only_second = [item for item, code in zip(second, known[1], strict=True) if code not in known[0]]
    return (only_first, only_second) if only_first or only_second else (first, second)


def explain(finding: Finding) -> str:
    """In what the modes differ."""
    return f"run {finding.run} as written and streamed differ in {finding.subject}"
