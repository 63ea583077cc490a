"""Models that give prepared answers, as source: `agents.testing.ScriptedModel`, else one of a few lines.

Rules:
1. `ScriptedModel` is used where the wheel itself has it, never because of a version number.
2. A script's own model that only plays answers back is exchanged for one of these; whatever it is called with
   stays as it is. Whether nothing else changed is for a run to say, so each way is one of several.
3. A provider's model is exchanged for the answers that were recorded. They enter as literals.
"""

import io
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import libcst as cst

from ..models.events import Event, ModelAnswered, ModelCalled, ModelFailed
from ..models.items import fields_of
from .program import Edits, Program, code_of, fresh, nodes

_PLACE: Final = "agents/testing/model.py"
_CLASS = '''\
class {name}(Model):
    """Gives the prepared answers, one for each request."""

    def __init__(self, steps):
        self.steps = list(steps)
{keep}
    async def get_response(self, system_instructions, input, *args, **kwargs):
{kept}        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return ModelResponse(output=step, usage={usage}, response_id=None)

'''
_STREAM = """\
    async def stream_response(self, *args, **kwargs):
        answer = await self.get_response(*args, **kwargs)
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=answer.output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
            usage=ResponseUsage(
                input_tokens=answer.usage.input_tokens,
                output_tokens=answer.usage.output_tokens,
                total_tokens=answer.usage.total_tokens,
                input_tokens_details=InputTokensDetails.model_construct(cached_tokens=0),
                output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
            ),
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)
"""
_SHORT_STREAM = """\
    async def stream_response(self, *args, **kwargs):
        answer = await self.get_response(*args, **kwargs)
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=answer.output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)
"""
_NO_STREAM = """\
    def stream_response(self, *args, **kwargs):
        raise NotImplementedError
"""
_HELPERS: Final = {
    "assistant_message": """\
def assistant_message(text):
    content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed", content=content
    )
""",
    "function_call": """\
def function_call(name, arguments, *, call_id):
    return ResponseFunctionToolCall(
        id="fc_1", type="function_call", call_id=call_id, name=name, arguments=arguments
    )
""",
}
_IMPORTS: Final = (
    "from agents import Model, ModelResponse, Usage",
    "from openai.types.responses import Response, ResponseCompletedEvent, ResponseUsage",
    "from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText",
    "from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails",
)


@dataclass(frozen=True)
class ScriptedSource:
    """A model with recorded answers, as source: `expression` makes one of them."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    expression: str


def has_scripted_model(wheel: bytes) -> bool:
    """Whether the release in this wheel brings a scripted model of its own."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        if _PLACE not in archive.namelist():
            return False
        return b"class ScriptedModel(" in archive.read(_PLACE)


def recorded_answers(events: Sequence[Event]) -> list[Mapping[str, Any]]:  # Any: values
    """What the model gave for each call, in the order of the calls: `{"output": items}` or `{"error": …}`;
    calls that were left without an answer are left out."""
    given: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if isinstance(event, ModelAnswered):
            output = event.output if isinstance(event.output, list) else []
            given[event.call] = {"output": [dict(fields_of(item)) for item in output]}
        elif isinstance(event, ModelFailed):
            given[event.call] = {"error": event.error}
    called = [event.call for event in events if isinstance(event, ModelCalled)]
    return [given[call] for call in called if call in given]


def recorded_model(
    answers: Sequence[Mapping[str, Any]],  # Any: values
    *,
    wheel: bytes,
    name: str = "ScriptedModel",
) -> ScriptedSource:
    """The recorded answers as a model for the release in `wheel`.

    Every value becomes a literal: a text that closes its quotes, say, is a text in there too.
    """
    helpers: dict[str, None] = {}
    steps = [_step(answer, helpers) for answer in answers]
    expression = f"{name}([{', '.join(steps)}])"
    validating = "TypeAdapter" in expression
    more = ["from pydantic import TypeAdapter", "from openai.types.responses import ResponseOutputItem"]
    extra = tuple(more) if validating else ()
    if has_scripted_model(wheel):
        named = ", ".join(sorted((*helpers, "ScriptedModel")))
        return ScriptedSource((f"from agents.testing import {named}", *extra), (), expression)
    model = _class(name, keep=None, usage="Usage(requests=1)", streams=True)
    return ScriptedSource((*_IMPORTS, *extra), (*(_HELPERS[each] for each in helpers), model), expression)


def _step(answer: Mapping[str, Any], helpers: dict[str, None]) -> str:  # Any: values
    if "error" in answer:
        message = answer["error"].message
        return f"RuntimeError({message if isinstance(message, str) else ''!r})"
    return f"[{', '.join(_item(item, helpers) for item in answer['output'])}]"


def _item(item: Mapping[str, Any], helpers: dict[str, None]) -> str:  # Any: values
    """An output item: by a helper where that says all of it, else validated from its fields."""
    match item:
        case {"type": "function_call", "name": str(name), "arguments": str(arguments), "call_id": str(call)}:
            helpers["function_call"] = None
            return f"function_call({name!a}, {arguments!a}, call_id={call!a})"
        case {"type": "message", "content": [content]} if _text(content) is not None:
            helpers["assistant_message"] = None
            return f"assistant_message({_text(content)!a})"
    return f"TypeAdapter(ResponseOutputItem).validate_python({literal(plain(item))})"


def _text(content: object) -> str | None:
    fields = fields_of(content)
    text = fields.get("text")
    if fields.get("type") == "output_text" and not fields.get("annotations") and isinstance(text, str):
        return text
    return None


def plain(value: object) -> object:
    """A recorded value as plain data: objects by their fields, floats as floats."""
    if isinstance(value, dict):
        if "$object" in value:
            return plain(value.get("fields"))
        if "$float" in value:
            return float(str(value["$float"]))
        if "$opaque" in value:
            return None
        return {
            key.removeprefix("$") if key.startswith("$$") else key: plain(each) for key, each in value.items()
        }
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def literal(value: object) -> str:
    """Plain data as a Python literal, in ASCII.

    Raises:
        TypeError: it is none.
    """
    match value:
        case None | bool() | int() | str():
            return ascii(value)
        case float():
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
        case dict():
            return f"{{{', '.join(f'{literal(k)}: {literal(v)}' for k, v in value.items())}}}"
    raise TypeError(type(value).__name__)


def _class(name: str, *, keep: str | None, usage: str, streams: bool, usages: bool = False) -> str:
    stream = (_STREAM if usages else _SHORT_STREAM) if streams else _NO_STREAM
    return (
        _CLASS.format(
            name=name,
            keep=f"        self.{keep} = []\n" if keep else "",
            kept=f"        self.{keep}.append(copy.deepcopy(input))\n" if keep else "",
            usage=usage,
        )
        + stream
    )


def exchanged(program: Program, *, own: bool, usage: str) -> Iterator[Edits]:
    """Ways to exchange the script's own models; `own`: the release brings none, so that one is written."""
    classes = {each.name.value: each for each in program.definitions if isinstance(each, cst.ClassDef)}
    models = {name: each for name, each in classes.items() if "Model" in _bases(each)}
    others = [base for each in classes.values() for base in _bases(each)]
    plays = {name: each for name, each in models.items() if name not in others}
    if not plays:
        return
    sites = [
        node
        for node in nodes(program.module)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in plays
    ]
    if not sites or any(argument.keyword is not None for site in sites for argument in site.args):
        return
    own_nodes = {id(node) for each in plays.values() for node in nodes(each)}
    outside = [
        node
        for node in nodes(program.module)
        if isinstance(node, cst.Attribute) and id(node) not in own_nodes
    ]
    kept = {attribute for each in plays.values() for attribute in _appended(each)}
    used = [node for node in outside if node.attr.value in kept]
    attributes = {node.attr.value for node in used}
    if len(attributes) > 1:
        return
    keep = next(iter(attributes), None)
    streams = any(node.attr.value == "run_streamed" for node in outside)
    name = "ScriptedModel"
    if name in classes:
        name = fresh("PlayedModel", program)
    for wrap in _wraps(sites):
        edits = Edits(removed={*plays.values()})
        for site in sites:
            edits.replaced[site] = cst.parse_expression(f"{name}({wrap(site)})")
        if own:
            edits.imports = ["import copy", *_IMPORTS]
            edits.top = []
            edits.before = {program.definitions[-1]: []}
            edits.imports.append(_class(name, keep=keep, usage=usage, streams=streams))
        else:
            edits.imports = ["from agents.testing import ScriptedModel"]
            for node in used:
                edits.replaced[node] = cst.parse_expression(
                    f"[call.input for call in {code_of(node.value)}.calls]"
                )
        yield edits


def _bases(node: cst.ClassDef) -> list[str]:
    return [code_of(each.value).rpartition(".")[2] for each in node.bases]


def _appended(node: cst.ClassDef) -> Iterator[str]:
    """The attributes in which a model keeps what it was asked."""
    for each in nodes(node):
        if (
            isinstance(each, cst.Call)
            and isinstance(each.func, cst.Attribute)
            and each.func.attr.value == "append"
            and isinstance(each.func.value, cst.Attribute)
            and code_of(each.func.value.value) == "self"
        ):
            yield each.func.value.attr.value


def _wraps(sites: Sequence[cst.Call]) -> Iterator[Any]:  # Any: functions of a call that give source
    def listed(site: cst.Call) -> str:
        return f"[{', '.join(each.star + code_of(each.value) for each in site.args)}]"

    def single(site: cst.Call) -> str:
        parts = [
            f"*([each] for each in {code_of(each.value)})" if each.star else f"[{code_of(each.value)}]"
            for each in site.args
        ]
        return f"[{', '.join(parts)}]"

    def given(site: cst.Call) -> str:
        return ", ".join(each.star + code_of(each.value) for each in site.args)

    yield listed
    yield single
    if all(len(site.args) == 1 and not site.args[0].star for site in sites):
        yield given


__all__ = [
    "ScriptedSource",
    "exchanged",
    "has_scripted_model",
    "literal",
    "plain",
    "recorded_answers",
    "recorded_model",
]
