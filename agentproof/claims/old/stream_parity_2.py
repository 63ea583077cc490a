"""The same script, plain and streamed, comes to the same (version 2, whatever the model answered).

Rule: the top-level runs of both modes are compared in their order, where one was plain and the other
streamed and both were given the same: how they ended, tools with arguments and outputs, handoffs,
interruptions, final output, last agent, guardrail lists, new items, what the models were told, and the
session afterwards. The comparison stops at the first run that differs, or that was given something
else. Left out: usage, generated ids, timing, cancelled runs and streams that the consumer left, runs
that share a session at the same time, runs that were given the same as others at the same time, and after
an input guardrail's tripwire what the model was asked (a race). It says that the modes differ, not which
of them is wrong.

Sites: pairs of runs that were compared.

Not observed: one mode alone was recorded, or no run was plain in one mode and streamed in the other.

From: openai/openai-agents-python#4184, #4160, #4097, #2426, #4070 and whatever nobody thought of.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...models.items import items_of, key_of
from ...models.manifest import Finding
from ...models.wire import encode
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, outcome
from ..trace.parity import differences
from ..trace.runs import Run

NAME = "stream-parity"
VERSION = 2
SCOPE: Scope = "both"
NEEDS = frozenset({"hooks", "models", "runs"})


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
        found = list(differences(one, other, plain, streamed))
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


def explain(finding: Finding) -> str:
    """In what the modes differ."""
    return f"run {finding.run} as written and streamed differ in {finding.subject}"
