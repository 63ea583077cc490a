"""What a provider answers, the SDK's items hold.

Rule: of a Chat Completions answer, the items that the adapter makes hold the text, the refusal and each call
of a function with its arguments; and where a content filter withheld an answer and nothing else came, they
hold a refusal.

Sites: calls of a model that a provider answered with one such message, told to its end.

Not observed: no such call. Other APIs, whose answers the adapters pass on as they are, are not compared.

From: openai/openai-agents-python#3769, #3897, #4159, #4234.

Shown by: `tests/scripts/cases/litellm-filtered-answer-is-blank` on 0.18.1.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...models.items import items_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.providers import Asked, Message, asked_in, call_of, message_of, parts_of
from ..trace.runs import Run

NAME = "answer-kept"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models"})

_WORDS = {
    "text": "the text {before} came over the wire; the items hold {after}",
    "refusal": "the refusal {before} came over the wire; the items hold {after}",
    "filtered": "a content filter withheld the answer, and the items hold no refusal",
    "call": "the call of {tool} with {before} came over the wire; no item holds it",
}


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every call of a model with such an answer in the one trace."""
    view = evidence.view
    sites = [
        (run, asked, message)
        for run in view.runs.values()
        for asked in asked_in(run)
        if asked.answered is not None
        and asked.last is not None
        and (message := message_of(asked.last)) is not None
    ]
    found = (finding for run, asked, message in sites for finding in _lost(view, run, asked, message))
    return outcome(sites=len(sites), because=found)


def _lost(view: View, run: Run, asked: Asked, message: Message) -> Iterator[Finding]:
    output = asked.answered.output if asked.answered is not None else None
    events = view.refs(*(event for event in (asked.last, asked.answered) if event is not None))
    held = parts_of(output)

    def lost(code: str, before: Any = None, after: Any = None, tool: str | None = None) -> Finding:
        return make_finding(code=code, events=events, run=run.label, before=before, after=after, tool=tool)

    if message.text not in held["text"]:
        yield lost("text", message.text, held["text"])
    if message.refusal not in held["refusal"]:
        yield lost("refusal", message.refusal, held["refusal"])
    is_empty = not (message.text or message.refusal or message.calls)
    if message.finish == "content_filter" and is_empty and not held["refusal"]:
        yield lost("filtered")
    made = Counter(call_of(item) for item in items_of(output))
    for call, times in Counter(message.calls).items():
        if made[call] < times:
            yield lost("call", call[1], tool=call[0])


def explain(finding: Finding) -> str:
    """What was lost."""
    words = _WORDS[finding.code].format(before=finding.before, after=finding.after, tool=finding.tool)
    return f"run {finding.run}: {words}"
