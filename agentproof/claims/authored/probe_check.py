"""What the script asked `probe.check` to check is true.

Rule: every `probe.check(label, condition)` with this label was given a true condition.

Sites: the calls with this label.

Not observed: the label was never reached.

From: the author of the reproduction.
"""

from ...models.manifest import Finding
from ...models.wire import Text
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from .kind import Arguments

NAME = "probe-check"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"probe"})


class ProbeCheck(Arguments):
    """Which label."""

    label: Text


ARGUMENTS = ProbeCheck


def labels(view: View) -> list[str]:
    """The labels that the script used, in order."""
    return list(view.checked)


def evaluate(evidence: Evidence, arguments: ProbeCheck) -> Outcome:
    """Judge the checks of one label in the one trace."""
    view = evidence.view
    checks = view.checked.get(arguments.label, [])
    failed = (event for event in checks if not event.passed)
    return outcome(
        sites=len(checks),
        because=(
            make_finding(code="check_failed", events=view.refs(e), subject=arguments.label) for e in failed
        ),
    )


def explain(finding: Finding) -> str:
    """Which check failed."""
    return f"the script's check {finding.subject!r} failed"
