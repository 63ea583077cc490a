"""The events that an adapter makes of a stream pair up.

Rule: where an adapter turns a Chat Completions stream into events of the Responses API, each
`output_item.added`, `content_part.added` and `reasoning_summary_part.added` has one `done` at the same place
after it, and each `done` an `added` before it; no place is taken twice; and one event ends the response,
after all others.

Sites: streams that an adapter made of a Chat Completions answer and that came to their end.

Not observed: no such stream. Streams of the Responses API are passed on as they come, and are not judged.

From: openai/openai-agents-python#3109, #4275, #5041.

Shown by: `tests/scripts/cases/chat-message-announced-twice` on 0.19.4.
"""

from collections import Counter
from collections.abc import Iterator

from ...models.items import Item, items_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.providers import CHAT, asked_in

NAME = "raw-items-paired"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models"})

_PAIRED = ("response.output_item", "response.content_part", "response.reasoning_summary_part")
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_WORDS = {
    "not_done": "{tool} was added at {before} and never done",
    "not_added": "{tool} was done at {before} and had not been added",
    "twice": "{tool} was added twice at {before}",
    "end": "{before} events end the response",
    "after_end": "events come after the end of the response",
}


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every such stream of the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for run in view.runs.values():
        for asked in asked_in(run):
            streamed = asked.streamed
            if streamed is None or streamed.cut or asked.answered is None or asked.last is None:
                continue
            if not asked.last.path.endswith(CHAT):
                continue
            sites += 1
            refs = view.refs(asked.last, streamed)
            found += [
                make_finding(code=code, events=refs, run=run.label, tool=what or None, before=place)
                for code, what, place in _wrong(items_of(list(streamed.events)))
            ]
    return outcome(sites=sites, because=found)


def _wrong(events: list[Item]) -> Iterator[tuple[str, str, str | int]]:
    """What is wrong: a code, what it is about, and where or how many."""
    for what in _PAIRED:
        added: Counter[str] = Counter()
        for event in events:
            place = _place(event)
            if event.get("type") == f"{what}.added":
                times = _times(event)
                if times > 1 or added[place] > 0:
                    yield "twice", what, place
                added[place] += times
            elif event.get("type") == f"{what}.done":
                added[place] -= _times(event)
                if added[place] < 0:
                    yield "not_added", what, place
        yield from (("not_done", what, place) for place, left in added.items() if left > 0)
    ends = [at for at, event in enumerate(events) if str(event.get("type")) in _ENDS]
    count = sum(_times(events[at]) for at in ends)
    if count != 1:
        yield "end", "", count
    elif ends[0] != len(events) - 1:
        yield "after_end", "", 1


def _place(event: Item) -> str:
    names = ("output_index", "content_index", "summary_index")
    return ", ".join(f"{name} {event[name]}" for name in names if name in event)


def _times(event: Item) -> int:
    found = event.get("times")
    return found if isinstance(found, int) else 1


def explain(finding: Finding) -> str:
    """What does not pair up."""
    words = _WORDS[finding.code].format(tool=finding.tool, before=finding.before)
    return f"in a stream of run {finding.run}, {words}"
