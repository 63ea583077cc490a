"""A conversation that a server keeps is told each output, once.

Rule: where a model call goes on from the answer before it in one line of states (both name the same
conversation, or the later one names that answer as the previous response), its input (1) holds an output for
each call of that answer which has one: a tool gave it, or the result holds it; (2) holds no call of that
answer, for the server has it; (3) holds no output again that the same conversation was told before. Items
that the script itself supplied are excused, and so are calls and outputs of ids that the model gave more than
once. Left out: runs whose model inputs or handoffs are filtered, and agents as tools.

Sites: model calls that go on from an answer.

Not observed: no such call.

From: openai/openai-agents-python#1789, #3004, and an output lost on 0.22.2 (no public report known).

Shown by: `tests/scripts/unseen/conversation-sent-again` on 0.3.3.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ...models.events import ModelAnswered, ModelCalled, ToolEnded
from ...models.items import Key, answer_to, is_call, is_output, items_of, key_of, raw_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run, filters_handoff, setting

NAME = "conversation-told-once"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "runs"})


@dataclass(frozen=True)
class _Turn:
    """An answered call of a model, and what goes on from its answer."""

    first: ModelCalled
    answer: ModelAnswered
    second: ModelCalled


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run of the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for run in view.top:
        near = sorted(view.lineage.nearest(run), key=lambda one: one.started.seq)
        line = [*(one for one in near if one.parent is None), run]
        if not any(_is_managed(call) for call in run.model_calls()) or any(_is_filtered(one) for one in line):
            continue
        chain = list(_chain(run, line, view))
        sites += len(chain)
        found += _violations(chain, run, line, view)
    return outcome(sites=sites, because=_first_of_each(found))


def _is_managed(call: ModelCalled) -> bool:
    return call.conversation_id is not None or call.previous_response_id is not None


def _is_filtered(run: Run) -> bool:
    return filters_handoff(run) or bool(setting(run, "call_model_input_filter"))


def _chain(run: Run, line: list[Run], view: View) -> Iterator[_Turn]:
    """What goes on in this run from an answer in it or in one that it continues, in order."""
    answers = {answer.call: answer for one in line for answer in one.answers()}
    calls = [(one, call) for one in line for call in one.model_calls() if one is run or call.call in answers]
    for (_, first), (here, second) in pairwise(calls):
        answer = answers.get(first.call)
        if here is run and answer is not None and _goes_on(first, answer, second, view):
            yield _Turn(first, answer, second)


def _goes_on(first: ModelCalled, answer: ModelAnswered, second: ModelCalled, view: View) -> bool:
    if not view.happens_before(answer, second):
        return False
    if second.conversation_id is not None:
        return first.conversation_id == second.conversation_id
    return second.previous_response_id is not None and answer.response_id == second.previous_response_id


def _violations(chain: list[_Turn], run: Run, line: list[Run], view: View) -> Iterator[Finding]:
    asked = view.threads.asked(run)
    made = _Made(line, run)
    told: set[Key] = set()

    def is_excused(key: Key) -> bool:
        return asked[key] > 1 or bool(view.supplied[key])

    for turn in chain:
        told.update(key_of(item) for item in items_of(turn.first.input) if is_output(item))
        given = {key_of(item) for item in items_of(turn.second.input) if is_call(item) or is_output(item)}
        for call in [key_of(item) for item in items_of(turn.answer.output) if is_call(item)]:
            output = answer_to(call)
            if is_excused(call) or is_excused(output):
                continue
            if output not in given and made.before(turn.second, output, view):
                yield _finding("not_told", call, run, turn, view)
            if call in given:
                yield _finding("call_sent_back", call, run, turn, view)
        for key in sorted(given & told):
            if not is_excused(key):
                yield _finding("told_again", key, run, turn, view)


class _Made:
    """The outputs that there are in a run and in those that it goes on from."""

    def __init__(self, line: list[Run], run: Run) -> None:
        self._ended: dict[str, list[ToolEnded]] = {}
        for one in line:
            for event in one.tools_ended():
                if event.call_id is not None:
                    self._ended.setdefault(event.call_id, []).append(event)
        held = items_of(run.ended.items) if run.ended is not None else []
        self._held = {key_of(raw_of(item)) for item in held if is_output(raw_of(item))}

    def before(self, call: ModelCalled, output: Key, view: View) -> bool:
        """Whether there was this output when the model was called."""
        ended = self._ended.get(output[1], ())
        return output in self._held or any(view.happens_before(event, call) for event in ended)


def _finding(code: str, key: Key, run: Run, turn: _Turn, view: View) -> Finding:
    return make_finding(code=code, events=view.refs(turn.answer, turn.second), run=run.label, call_id=key[1])


def _first_of_each(found: Iterable[Finding]) -> Iterator[Finding]:
    told: set[tuple[object, ...]] = set()
    for finding in found:
        what = (finding.code, finding.call_id, finding.run)
        if what not in told:
            told.add(what)
            yield finding


def explain(finding: Finding) -> str:
    """What the server was not told, or twice."""
    what = {
        "not_told": f"is not told the output of {finding.call_id}",
        "call_sent_back": f"is sent the call {finding.call_id}, which it gave itself",
        "told_again": f"is told the output of {finding.call_id} again",
    }[finding.code]
    return f"the conversation of run {finding.run} that the server keeps {what}"
