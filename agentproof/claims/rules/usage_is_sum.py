"""Usage adds up.

Rule: the tokens that the result of a top-level run reports are those that it began with plus those of its
model calls, with or without the calls of the runs inside it. The number of requests too, where every
call was answered and every answer reports some; a call that failed may count as a request. Left out: runs
in which a session was compacted, which a provider does for tokens of its own.

Sites: top-level runs that returned with usage and whose models reported some.

Not observed: no such run.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/usage-is-sum.toml`.
"""

from collections.abc import Iterable
from typing import Any

from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "usage-is-sum"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs"})

_TOKENS = ("input_tokens", "output_tokens")


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run that returned in the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for run in view.top:
        reported = run.ended.usage if run.ended is not None and run.returned else None
        deep = list(run.tree())
        if not isinstance(reported, dict) or not any(_usage(a.usage) for one in deep for a in one.answers()):
            continue
        if _is_shared(run, view.top) or run.ended is None or view.is_compacted(run):
            continue
        sites += 1
        names = _TOKENS if not _all_requests(deep) else (*_TOKENS, "requests")
        got = {name: reported.get(name) for name in names}
        sums = [{name: _sum(run, runs, name) for name in names} for runs in ([run], deep)]
        if got not in sums:
            found.append(
                make_finding(
                    code="another_sum", events=view.refs(run.ended), run=run.label, before=sums[0], after=got
                )
            )
    return outcome(sites=sites, because=found)


def _usage(part: Any) -> dict[str, Any]:  # Any: values
    return part if isinstance(part, dict) else {}


def _sum(run: Run, runs: Iterable[Run], name: str) -> int:
    parts = [_usage(run.started.usage).get(name)]
    parts += [_usage(answer.usage).get(name) for one in runs for answer in one.answers()]
    return sum(part for part in parts if isinstance(part, int))


def _all_requests(runs: list[Run]) -> bool:
    answers = [answer for run in runs for answer in run.answers()]
    return len(answers) == sum(len(run.model_calls()) for run in runs) and all(
        isinstance(_usage(answer.usage).get("requests"), int) for answer in answers
    )


def _is_shared(run: Run, top: Iterable[Run]) -> bool:
    """Whether another run may have counted into the same usage meanwhile: a context that is passed on."""
    return "RunContextWrapper" in (run.started.context or "") or any(
        other is not run
        and other.started.state is not None
        and other.started.state == run.started.state
        and (other.ended is None or run.started.seq < other.ended.seq)
        and (run.ended is None or other.started.seq < run.ended.seq)
        for other in top
    )


def explain(finding: Finding) -> str:
    """What is reported and what adds up."""
    return (
        f"the result of run {finding.run} reports {finding.after}; its model calls add up to {finding.before}"
    )
