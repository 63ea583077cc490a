"""What the SDK composes for the model is no Python repr.

Rule: an output that the SDK itself composed from what an MCP server or a native tool gave holds no text
that is the repr of a Python value: a literal of a dict, list or tuple that is not JSON, or objects written
as `Name(field=…)`; unless the server gave that very text. (That a function tool's return value is made
text by `str()` is documented, and left out.)

Sites: texts in such outputs in model inputs.

Not observed: no output of an MCP or native tool was told to a model.

From: openai/openai-agents-python#4338.

Shown by: `tests/scripts/cases/mcp-resource-link-as-repr` on 0.19.4.
"""

import ast
import json
import re
import warnings
from collections.abc import Iterator

from ...models.events import McpCalled, ModelCalled, ToolStarted
from ...models.items import call_id_of, is_output, items_of, key_of
from ...models.manifest import Finding
from ...models.text import one_line
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome

NAME = "no-python-repr"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "mcp", "models"})

_COMPOSED = frozenset({"mcp", "shell", "local_shell", "apply_patch", "computer"})
_MAY_BE_REPR = re.compile(r"\s*[\[{(].*(?:'|\bNone\b|\bTrue\b|\bFalse\b)", re.DOTALL)
_OPENED = re.compile(r"\s*[\[{]")
_OBJECT = re.compile(r"(?<!\w)(?=\w*[A-Za-z_])\w++\(\w++=")
"""`Name(field=`; each word is looked at once."""
_MAX_TEXT = 100_000
"""Longer texts are not parsed: a file that a tool read, not something that the SDK composed."""


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every such output in the model inputs of the one trace."""
    view = evidence.view
    told = list(_told(view))
    return outcome(sites=len(told), because=_violations(told, view))


def _told(view: View) -> Iterator[tuple[ModelCalled, str, str]]:
    """Each text of an output that the SDK composed: the request, the call, the text."""
    kinds: dict[str, set[str]] = {}
    for start in view.of(ToolStarted):
        if start.call_id is not None:
            kinds.setdefault(start.call_id, set()).add(start.tool_kind)
    for call in view.of(ModelCalled):
        for item in items_of(call.input):
            name = call_id_of(item)
            composed = name is not None and kinds.get(name, set()) and kinds[name] <= _COMPOSED
            if name is not None and composed and is_output(item) and not view.supplied[key_of(item)]:
                for text in _texts(item.get("output")):
                    yield call, name, text


def _violations(told: list[tuple[ModelCalled, str, str]], view: View) -> Iterator[Finding]:
    given = {text for event in view.of(McpCalled) for text in _texts(event.result)}
    seen: set[tuple[str, str]] = set()
    for call, name, text in told:
        if (name, text) not in seen and text not in given and _is_repr(text):
            seen.add((name, text))
            yield make_finding(
                code="is_repr", events=view.refs(call), run=call.run, call_id=name, after=text[:200]
            )


def _texts(value: object) -> Iterator[str]:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)


def _is_repr(text: str) -> bool:
    if len(text) > _MAX_TEXT or not _MAY_BE_REPR.match(text):
        return False
    try:
        json.loads(text)
    except ValueError:
        pass
    else:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd spellings in somebody's text
            return isinstance(ast.literal_eval(text.strip()), dict | list | tuple)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # no literal; or one that is too deep
        opened = _OPENED.match(text)
        is_object = opened is not None and _OBJECT.search(text, opened.end()) is not None
        return is_object or " object at 0x" in text


def explain(finding: Finding) -> str:
    """Which output is a repr."""
    text = one_line(repr(finding.after), 70)
    return f"the output of {finding.call_id} reaches the model as a Python repr: {text}"
