"""What a guardrail blocked stays out.

Rule: after an output guardrail's tripwire the message of the refused response, and after an input
guardrail's tripwire anything that the model gave in that run, is neither in the run's session afterwards
nor in the first model input of a later run on that session. Left out: what was in the session before,
what the script supplied itself, and what the model said again.

Sites: blocked items of runs with a session.

Not observed: no run with a session was blocked.

From: openai/openai-agents-python#1840, #4184.

Shown by: `tests/scripts/cases/blocked-answer-replayed` on 0.19.3.
"""

from collections.abc import Iterator

from ...models.events import Event
from ...models.items import Key, items_of, key_of, type_of
from ...models.manifest import Finding
from ...models.text import one_line
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "blocked-stays-out"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs", "sessions"})

_OUTPUT = "OutputGuardrailTripwireTriggered"
_INPUT = "InputGuardrailTripwireTriggered"


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every blocked top-level run of the one trace."""
    view = evidence.view
    blocked = {run.label: _blocked(run, view) for run in view.top}
    sites = sum(len(keys) for keys in blocked.values())
    found = (finding for run in view.top for finding in _violations(run, blocked[run.label], view))
    return outcome(sites=sites, because=found)


def _blocked(run: Run, view: View) -> set[Key]:
    """What must not be seen again."""
    end = run.ended
    if end is None or end.error is None or end.session is None:
        return set()
    kind = end.error.type.rpartition(":")[2]
    if kind == _OUTPUT:
        said = [
            i for answer in run.answers()[-1:] for i in items_of(answer.output) if type_of(i) == "message"
        ]
    elif kind == _INPUT:
        said = [item for one in run.tree() for answer in one.answers() for item in items_of(answer.output)]
    else:
        return set()
    before = {key_of(item) for item in items_of(run.started.session_before)}
    return {key_of(item) for item in said} - before - set(view.supplied)


def _violations(run: Run, keys: set[Key], view: View) -> Iterator[Finding]:
    if not keys or run.ended is None or run.ended.session is None:
        return
    store = view.stores.of(run.ended.session)
    said: set[Key] = set()
    told: set[tuple[str, Key]] = set()
    for later in view.top:
        if later.started.seq < run.started.seq or later.started.session is None:
            continue
        if view.stores.of(later.started.session) is not store:
            continue
        places: list[tuple[str, Event, object]] = []
        if later is not run:
            places += [("the model input", call, call.input) for call in later.model_calls()[:1]]
            said |= {key_of(item) for answer in later.answers() for item in items_of(answer.output)}
        if later.ended is not None:
            places.append(("the session", later.ended, later.ended.session_after))
        for name, event, items in places:
            for key in (key_of(item) for item in items_of(items)):
                seen_again = key in keys and (key not in said or name == "the model input")
                if seen_again and (name, key) not in told:
                    told.add((name, key))
                    yield make_finding(
                        code="seen_again",
                        events=view.refs(run.ended, event),
                        run=run.label,
                        subject=f"{name} of run {later.label}",
                        after=list(key),
                    )


def explain(finding: Finding) -> str:
    """What was blocked and seen again."""
    what = finding.after[-1] if isinstance(finding.after, list) and finding.after else ""
    return f"{one_line(repr(what), 60)}, blocked in run {finding.run}, is in {finding.subject}"
