"""A tool that is switched off does not run.

Rule: a tool whose `is_enabled` is false, asked at the moment when the tool starts, does not start.

Sites: tool starts of which it is known whether the tool was enabled: what it declares, or what its callback
answers, where the callback only reads; one that calls, writes or waits is not asked a second time.

Not observed: no such start.

From: openai/openai-agents-python#3118.

Shown by: `tests/scripts/cases/disabled-tool-still-runs` on 0.15.1.
"""

from collections.abc import Iterator

from ...models.events import ToolStarted
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome

NAME = "disabled-never-runs"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every tool start of the one trace."""
    view = evidence.view
    starts = [start for start in view.of(ToolStarted) if start.enabled is not None]
    return outcome(sites=len(starts), because=_violations(starts, view))


def _violations(starts: list[ToolStarted], view: View) -> Iterator[Finding]:
    for start in starts:
        if start.enabled is False:
            yield make_finding(
                code="ran_while_disabled",
                events=view.refs(start),
                run=start.run,
                tool=start.tool,
                call_id=start.call_id,
            )


def explain(finding: Finding) -> str:
    """Which tool ran."""
    return f"tool {finding.tool} ran for {finding.call_id} while it was disabled"
