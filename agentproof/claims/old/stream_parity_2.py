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

from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, outcome
from ..trace.parity import comparable, differences

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
    for one, other in comparable(plain, streamed):
        found = list(differences(one, other, plain, streamed))
        yield found
        if found:
            return


def explain(finding: Finding) -> str:
    """In what the modes differ."""
    return f"run {finding.run} as written and streamed differ in {finding.subject}"
