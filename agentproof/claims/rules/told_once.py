"""A model is told of a call once.

Rule: no model input tells the same call both as an item and inside the text of an assistant's or system's
message that the script did not write (a summary of the history). Left out: `to_input_list()`, which tells
both on purpose unless its mode says otherwise.

Sites: tool calls looked at.

Not observed: no model input held a tool call.

From: openai/openai-agents-python#2171.

Shown by: `tests/scripts/cases/nested-handoff-duplicates-calls` on 0.6.6.
"""

from collections.abc import Iterator

from ...models.items import call_id_of, is_call, items_of, key_of, text_of, type_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome

NAME = "told-once"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models", "runs"})

_ROLES = ("assistant", "system", "developer")


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every model input of the one trace."""
    view = evidence.view
    sites = 0
    found: dict[tuple[str, str], Finding] = {}
    for run in view.runs.values():
        for asked in run.model_calls():
            for call, twice in _calls(asked.input, view):
                sites += 1
                if twice:
                    finding = make_finding(
                        code="told_twice", events=view.refs(asked), run=run.label, call_id=call
                    )
                    found.setdefault((run.label, call), finding)
    return outcome(sites=sites, because=found.values())


def _calls(given: object, view: View) -> Iterator[tuple[str, bool]]:
    """Each call among the items, and whether a text tells it too."""
    items = items_of(given)
    texts = [
        text_of(item)
        for item in items
        if type_of(item) == "message" and item.get("role") in _ROLES and not view.supplied[key_of(item)]
    ]
    for item in items:
        call = call_id_of(item)
        if is_call(item) and call is not None:
            yield call, any(_tells(text, call) for text in texts)


def _tells(text: str, call: str) -> bool:
    """Whether a summary holds the call, in JSON or as Python writes a dict."""
    forms = (f'"call_id": "{call}"', f'"call_id":"{call}"', f"'call_id': '{call}'")
    return any(form in text for form in forms)


def explain(finding: Finding) -> str:
    """Which call is told twice."""
    return f"run {finding.run} tells its model {finding.call_id} twice: as an item and in a summary"
