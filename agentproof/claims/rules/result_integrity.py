"""A returned result stays as it is.

Rule: the final output, the items, the interruptions, the guardrail lists and the usage of a result are the
same whenever it is looked at later. Left out: streams that the consumer left or cancelled; usage where a
run context was passed on by the script, which counts on purpose; the inside of objects that are the
script's own and that it may go on changing (a tool's output or a final output that is no text or number,
a guardrail's information); and what changed after a run was resumed
from a state made from that very result, or from one that it continues.

Sites: results that were still used later (a state was made from them, or they were seen changed).

Not observed: no result was used later.

From: openai/openai-agents-python#4519.

Shown by: `tests/scripts/cases/shared-entry-in-usage-total` on 0.22.0.
"""

from collections.abc import Iterator

from ...models.diff import diff
from ...models.events import ResultObserved, StateMade
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome, short
from ..trace.owned import is_scripts_own
from ..trace.runs import Run

NAME = "result-integrity"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"results", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every result of the one trace."""
    view = evidence.view
    later = _resumptions(view)
    looks = [look for look in view.of(ResultObserved) if _is_judged(look, later, view)]
    used = {event.result for event in view.of(StateMade)} | {look.result for look in looks}
    results = {run.ended.result for run in view.runs.values() if run.ended is not None and run.returned}
    return outcome(sites=len(used & results), because=_violations(looks, view))


def _resumptions(view: View) -> dict[str, list[Run]]:
    """The runs that were resumed from states made from each result, by the result, in order."""
    found: dict[str, list[Run]] = {}
    for line in view.states.values():
        if isinstance(line.birth, StateMade) and line.birth.result is not None:
            found.setdefault(line.birth.result, []).extend(line.runs)
    return {result: sorted(runs, key=lambda run: run.started.seq) for result, runs in found.items()}


def _is_judged(look: ResultObserved, later: dict[str, list[Run]], view: View) -> bool:
    run = view.runs.get(look.of_run)
    return run is not None and run.returned and not _goes_on(run, look, later, view)


def _goes_on(run: Run, look: ResultObserved, later: dict[str, list[Run]], view: View) -> bool:
    """Whether a run went on, before the look, from a state of this result or of one that it continues."""
    family = [look.result, *(one.ended.result for one in view.lineage.before(run) if one.ended is not None)]
    return any(
        one is not run and not view.happens_before(look, one.started)
        for result in family
        for one in later.get(result or "", ())
    )


def _violations(looks: list[ResultObserved], view: View) -> Iterator[Finding]:
    told: set[tuple[str, str]] = set()
    shared = any("RunContextWrapper" in (run.started.context or "") for run in view.runs.values())
    for look in looks:
        for change in diff(look.before, look.now):
            if (look.result, change.pointer) in told or (shared and change.pointer.startswith("/usage")):
                continue
            if is_scripts_own(change, look.before, look.now):
                continue
            told.add((look.result, change.pointer))
            sides = {}
            for name, part in (("before", change.before), ("after", change.after)):
                value = None if not isinstance(part, str | int | list | dict) else short(part)
                if value is not None:
                    sides[name] = value
            yield make_finding(
                code="changed",
                events=view.refs(look),
                run=look.of_run,
                pointer=change.pointer,
                **sides,
            )


def explain(finding: Finding) -> str:
    """Whose result changed."""
    return f"the result of run {finding.run} changed after it had been returned"
