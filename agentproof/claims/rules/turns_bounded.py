"""A run takes no more turns than it may.

Rule: a run from fresh input asks its model at most `max_turns` times; calls that failed are left out, for
they may be tried again.

Sites: runs from fresh input with a limit.

Not observed: no such run.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/turns-bounded.toml`.
"""

from ...models.manifest import Finding
from ...models.text import times
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome

NAME = "turns-bounded"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every run from fresh input of the one trace."""
    view = evidence.view
    limited = [
        (run, run.started.max_turns, len(run.answers()))
        for run in view.runs.values()
        if run.started.max_turns is not None and run.started.state is None
    ]
    found = (
        make_finding(
            code="too_many",
            events=view.refs(run.started, *run.answers()[-1:]),
            run=run.label,
            before=most,
            after=count,
        )
        for run, most, count in limited
        if most is not None and count > most
    )
    return outcome(sites=len(limited), because=found)


def explain(finding: Finding) -> str:
    """How many turns it took."""
    return f"run {finding.run} asked its model {times(finding.after)} with max_turns={finding.before}"
