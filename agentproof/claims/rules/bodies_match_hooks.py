"""What the hooks tell of tools is what ran.

Rule: within a run, the function behind a tool begins no more often than the tool was announced by
`on_tool_start`; and a tool that ended with an output did run its function, where its arguments are such as
the function takes. Judged where the function is one of the reproduction's own and the SDK called it; left
out is what begins inside of another function of the reproduction, which may use a tool by itself.

Sites: starts of tools whose function is known.

Not observed: below CPython 3.12, which cannot tell what ran; no function of the reproduction stands behind
a tool.

From: no report among those studied. It is the second evidence for every rule that rests on tool hooks.

Shown by: a fault seeded into 0.24.0, `tests/seeded/bodies-match-hooks.toml`.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from ...errors import BundleError
from ...models.events import BodyRaised, BodyReturned, BodyStarted
from ...models.manifest import Finding
from ...models.text import times
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "bodies-match-hooks"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"bodies", "hooks", "runs"})

_MAX_PARALLEL = 1_500
"""Functions of one run in a trace of which some events have no order."""


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every tool of the one trace whose function is known."""
    view = evidence.view
    found = [
        finding for run in view.runs.values() for finding in (*_unannounced(run, view), *_empty(run, view))
    ]
    return outcome(sites=sum(_sites(run, view) for run in view.runs.values()), because=found)


def _sites(run: Run, view: View) -> int:
    known = {event.tool for event in _bodies(run, view)}
    known |= {event.tool for event in run.tools_ended() if event.without_body}
    return sum(1 for start in run.tools_started() if start.tool in known)


def _bodies(run: Run, view: View) -> list[BodyStarted]:
    """The functions behind tools that the SDK began."""
    began = [event for event in run.events if isinstance(event, BodyStarted)]
    if not any(event.tool for event in began):
        return []
    over = {event.frame: event for event in run.events if isinstance(event, BodyReturned | BodyRaised)}
    if not view.is_parallel:
        return list(_outermost(began, over))
    if len(began) > _MAX_PARALLEL:
        raise BundleError("too_parallel", f"more than {_MAX_PARALLEL} functions of a run, side by side")

    def is_inside(event: BodyStarted, other: BodyStarted) -> bool:
        end = over.get(other.frame)
        return view.happens_before(other, event) and not (end and view.happens_before(end, event))

    return [event for event in began if event.tool and not any(is_inside(event, other) for other in began)]


def _outermost(
    began: list[BodyStarted], over: Mapping[str, BodyReturned | BodyRaised]
) -> Iterator[BodyStarted]:
    """Those behind tools that begin while none is going on, in a trace that has one order."""
    until = 0.0
    for event in began:
        if event.tool and event.seq > until:
            yield event
        end = over.get(event.frame)
        until = max(until, end.seq if end is not None else math.inf)


def _unannounced(run: Run, view: View) -> Iterator[Finding]:
    """Functions that began without a hook."""
    starts = Counter(start.tool for start in run.tools_started())
    began: dict[str, list[BodyStarted]] = {}
    for event in _bodies(run, view):
        began.setdefault(event.tool or "", []).append(event)
    for tool, bodies in began.items():
        if len(bodies) > starts[tool]:
            yield make_finding(
                code="unannounced",
                events=view.refs(*bodies),
                run=run.label,
                tool=tool,
                before=starts[tool],
                after=len(bodies),
            )


def _empty(run: Run, view: View) -> Iterator[Finding]:
    """Tools that gave an output without having run."""
    for end in run.tools_ended():
        if end.without_body:
            yield make_finding(
                code="empty", events=view.refs(end), run=run.label, tool=end.tool, call_id=end.call_id
            )


def explain(finding: Finding) -> str:
    """What ran without a hook, or was told without having run."""
    if finding.code == "unannounced":
        return (
            f"run {finding.run}: the function of tool {finding.tool} began {times(finding.after)}; "
            f"on_tool_start was called {times(finding.before)}"
        )
    return f"run {finding.run}: tool {finding.tool} ended for {finding.call_id}; its function never ran"
