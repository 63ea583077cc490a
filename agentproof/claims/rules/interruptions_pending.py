"""What a result asks to decide is pending.

Rule: a call that a returned run waits for is asked for once, has no output among the new items, and is
found in the JSON of the result's state.

Sites: calls that a returned run waits for.

Not observed: no run waited for a decision.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/interruptions-pending.toml`.
"""

from collections import Counter
from collections.abc import Iterator

from ...models.items import call_id_of, is_output, items_of, raw_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "interruptions-pending"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run of the one trace that waits."""
    view = evidence.view
    waiting = [run for run in view.runs.values() if run.returned and run.interrupted_calls()]
    found = (finding for run in waiting for finding in _violations(run, view))
    return outcome(sites=sum(len(set(run.interrupted_calls())) for run in waiting), because=found)


def _violations(run: Run, view: View) -> Iterator[Finding]:
    if run.ended is None:
        return
    raw = [raw_of(item) for item in items_of(run.ended.items)]
    answered = {call_id_of(item) for item in raw if is_output(item)}
    texts = set(_texts(view.state(run.ended.snapshot))) if run.ended.snapshot is not None else None
    for call, times in Counter(run.interrupted_calls()).items():
        faults = []
        if times > 1:
            faults.append("asked_twice")
        if call in answered:
            faults.append("answered")
        if texts is not None and call not in texts:
            faults.append("not_in_state")
        for code in faults:
            yield make_finding(code=code, events=view.refs(run.ended), run=run.label, call_id=call)


def _texts(document: object) -> Iterator[str]:
    stack = [document]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            yield from part
            part = [*part.values()]
        if isinstance(part, list):
            for each in part:
                if isinstance(each, str):
                    yield each
                elif isinstance(each, dict | list):
                    stack.append(each)


def explain(finding: Finding) -> str:
    """What is wrong with what is asked for."""
    what = {
        "asked_twice": "more than once",
        "answered": "which has an output already",
        "not_in_state": "which the JSON of its state does not hold",
    }[finding.code]
    return f"run {finding.run} waits for {finding.call_id}, {what}"
