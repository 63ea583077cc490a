"""A scripted model as source text: what a model answered in a trace, for a script that needs no provider.

1. Nothing of a trace enters the text but as a literal: texts, numbers, and what they make up.
2. Ids that a provider drew are numbered (`call_1`), but for those that the script itself names.
3. The SDK's own `ScriptedModel` where the release has it, else one of a few lines under the same name.
"""

import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from packaging.version import Version

from ..errors import CannotDoError
from ..models.events import (
    Failure,
    HandoffMade,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ModelLeft,
    RunStarted,
)
from ..models.trace import Trace
from ..models.values import text_of

_FIRST_WITH_MODEL: Final = Version("0.21.0")
_WIDTH: Final = 100
_INDENTED: Final = 16
"""Columns that most of it is indented by."""
_LONG: Final = 18
"""Characters from which an id is taken for one that was drawn."""
_IDS: Final = frozenset({"approval_request_id", "call_id", "id", "response_id"})
_DRAWN: Final = re.compile(r"(?P<family>[a-z]{1,12})[_-][0-9A-Za-z_-]+")
_STATUSES: Final[Mapping[str, int]] = {
    "AuthenticationError": 401,
    "BadRequestError": 400,
    "ConflictError": 409,
    "InternalServerError": 500,
    "NotFoundError": 404,
    "PermissionDeniedError": 403,
    "RateLimitError": 429,
    "UnprocessableEntityError": 422,
}
"""The errors of the client library that carry a provider's answer, and that answer's status."""
_OF_SDK: Final = frozenset({"AgentsException", "ModelBehaviorError", "ModelRefusalError", "UserError"})
"""Errors of the SDK's that a model raises, and that take a text."""
_CALL: Final = frozenset({"arguments", "call_id", "id", "name", "type"})
_MESSAGE: Final = frozenset({"content", "id", "role", "type"})
_COUNTS: Final = ("requests", "input_tokens", "output_tokens", "total_tokens")


@dataclass(frozen=True)
class Answer:
    """One answer of a model, or its failure."""

    agent: str
    """The name of the agent that asked."""
    told: ModelAnswered | ModelFailed


@dataclass(frozen=True)
class Source:
    """Scripted models as source text; `str.join` of the parts is a module's beginning."""

    imports: tuple[str, ...]
    """Lines, sorted."""
    definitions: tuple[str, ...]
    """Functions and classes that the models need, a block each."""
    models: tuple[str, ...]
    """An expression for each of the lists that were given, ready to follow `name = `."""


def answers_of(trace: Trace) -> list[Answer]:
    """What the model answered, call by call, in the order in which it was asked.

    Raises:
        CannotDoError: the model was asked something and no answer was seen.
    """
    agents: dict[str | None, str] = {}
    asked: dict[str, str] = {}
    told: dict[str, ModelAnswered | ModelFailed] = {}
    for event in trace.events:
        match event:
            case RunStarted():
                agents[event.run] = event.agent
            case HandoffMade():
                agents[event.run] = event.to_agent
            case ModelCalled():
                asked[event.call] = agents.get(event.run, "")
            case ModelAnswered() | ModelFailed():
                told[event.call] = event
            case ModelLeft():
                raise CannotDoError(
                    f"the script left an answer of the model ({event.call}) before it was complete",
                    hint="what was still to come is not in the trace, so no scripted model can give it",
                )
            case _:
                pass
    if unanswered := [call for call in asked if call not in told]:
        raise CannotDoError(f"the model never answered {', '.join(unanswered)}: there is nothing to script")
    return [Answer(agent, told[call]) for call, agent in asked.items()]


def scripted(
    answers: Sequence[Sequence[Answer]], *, version: str, usage: bool = True, script: str = ""
) -> Source:
    """A scripted model for each list of answers.

    `version` is the SDK's release, `usage` whether the answers tell what they used, `script` the text
    whose own ids stay as they are.

    Raises:
        CannotDoError: one of them is nothing that source text can say.
    """
    writer = _Writer(
        own=Version(version) < _FIRST_WITH_MODEL, usage=usage, ids=_numbered_ids(answers, script)
    )
    models = tuple(writer.model(each) for each in answers)
    return Source(writer.imports(), tuple(writer.definitions()), models)


def literal(text: str) -> str:
    """A text as Python spells it, in double quotes where it can be; what is not printable is escaped."""
    spelled = repr(text)
    if spelled[0] == "'" and '"' not in spelled and "\\'" not in spelled:
        spelled = f'"{spelled[1:-1]}"'
    return spelled


def _numbered_ids(answers: Iterable[Sequence[Answer]], script: str) -> dict[str, str]:
    """The drawn ids of all answers, and what stands for each."""
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    parts: list[Any] = [  # Any: values of events
        part
        for each in answers
        for one in each
        if isinstance(one.told, ModelAnswered)
        for part in (one.told.output, {"response_id": one.told.response_id})
    ]
    while parts:
        part = parts.pop(0)
        if isinstance(part, list):
            parts[:0] = part
        elif isinstance(part, dict):
            for name, value in part.items():
                if name in _IDS and isinstance(value, str) and _is_drawn(value) and value not in script:
                    family = value.partition("_")[0]
                    if value not in found:
                        counts[family] = counts.get(family, 0) + 1
                        found[value] = f"{family}_{counts[family]}"
            parts[:0] = list(part.values())
    return found


def _is_drawn(text: str) -> bool:
    return len(text) >= _LONG and _DRAWN.fullmatch(text) is not None and any(map(str.isdigit, text))


class _Writer:
    """Writes models, and remembers what the text around them must have."""

    def __init__(self, *, own: bool, usage: bool, ids: Mapping[str, str]) -> None:
        self._own = own
        self._usage = usage
        self._ids = ids
        self._names: dict[str, set[str]] = {}
        self._helpers: dict[str, str] = {}

    def imports(self) -> tuple[str, ...]:
        """The import lines of all that was written."""
        lines = []
        for module, names in sorted(self._names.items(), key=lambda each: (each[0] != "types", each[0])):
            begin, listed = f"from {module} import ", sorted(names)
            line = begin + ", ".join(listed)
            lines.append(line if len(line) <= _WIDTH else _call(begin, listed))
        return tuple(lines)

    def definitions(self) -> Iterator[str]:
        """The helpers that were used."""
        return iter(self._helpers.values())

    def model(self, answers: Sequence[Answer]) -> str:
        """The expression of one model."""
        if self._own:
            self._need("agents", "Model")
            self._need(
                "openai.types.responses", "Response", "ResponseCompletedEvent", "ResponseOutputItemDoneEvent"
            )
            if self._usage:
                self._need("openai.types.responses", "ResponseUsage")
            self._helpers["ScriptedModel"] = _MODEL.replace("@@USAGE@@", _USED if self._usage else "")
        else:
            self._need("agents.testing", "ScriptedModel")
        steps = [
            self._response(each.told)
            if isinstance(each.told, ModelAnswered)
            else self._failure(each.told.error)
            for each in answers
        ]
        return _call("ScriptedModel", [_call("", steps, "[]")])

    def _need(self, module: str, *names: str) -> None:
        self._names.setdefault(module, set()).update(names)

    def _response(self, told: ModelAnswered) -> str:
        if not isinstance(told.output, list):
            raise CannotDoError("the model answered with what is no list of items: nothing can be scripted")
        items = [self._item(each) for each in told.output]
        self._need("agents", "ModelResponse", "Usage")
        counts = told.usage if self._usage and isinstance(told.usage, dict) else {}
        used = [f"{name}={counts[name]}" for name in _COUNTS if type(counts.get(name)) is int]
        response_id = self._literal(told.response_id)
        return _call(
            "ModelResponse",
            [
                f"output={_call('', items, '[]')}",
                f"usage={_call('Usage', used if any(counts.get(name) for name in _COUNTS) else ())}",
                f"response_id={response_id}",
            ],
        )

    def _item(self, value: Any) -> str:  # Any: a value
        fields = value["fields"] if isinstance(value, dict) and "$object" in value else value
        if not isinstance(fields, dict):
            raise CannotDoError("the model answered with what is no item: nothing can be scripted")
        fields = {name: part for name, part in fields.items() if part is not None}
        if fields.get("status") == "completed":
            fields = {name: part for name, part in fields.items() if name != "status"}
        if self._is_call(fields):
            return self._function_call(fields)
        if (text := _only_text(fields)) is not None:
            return self._assistant_message(text, fields["id"])
        self._need("openai.types.responses", "ResponseOutputItem")
        self._need("pydantic", "TypeAdapter")
        self._helpers["output_item"] = "output_item = TypeAdapter(ResponseOutputItem).validate_python"
        return _call("output_item", [self._literal(fields)])

    def _is_call(self, fields: Mapping[str, Any]) -> bool:  # Any: values
        return fields.keys() == _CALL and fields["type"] == "function_call"

    def _function_call(self, fields: Mapping[str, Any]) -> str:  # Any: values
        if self._own:
            self._need("openai.types.responses", "ResponseFunctionToolCall")
            self._helpers["function_call"] = _FUNCTION_CALL
        else:
            self._need("agents.testing", "function_call")
        named = [
            f"{name}={self._literal(fields[field])}"
            for name, field in (("call_id", "call_id"), ("item_id", "id"))
        ]
        return _call(
            "function_call", [self._literal(fields["name"]), self._literal(fields["arguments"]), *named]
        )

    def _assistant_message(self, text: Any, item_id: Any) -> str:  # Any: values
        if self._own:
            self._need("openai.types.responses", "ResponseOutputMessage", "ResponseOutputText")
            self._helpers["assistant_message"] = _ASSISTANT_MESSAGE
        else:
            self._need("agents.testing", "assistant_message")
        return _call("assistant_message", [self._literal(text), f"item_id={self._literal(item_id)}"])

    def _failure(self, error: Failure) -> str:
        module, _, name = error.type.partition(":")
        message = literal(text_of(error.message))
        kind = getattr(builtins, name, None) if module == "builtins" else None
        if isinstance(kind, type) and issubclass(kind, Exception):
            return _call(name, [message])
        if module == "openai" and name in _STATUSES:
            self._need("openai", name)
            self._need("types", "SimpleNamespace")
            self._helpers["provider_error"] = _PROVIDER_ERROR
            return _call("provider_error", [name, str(_STATUSES[name]), message])
        if module == "openai" and name in {"APIConnectionError", "APITimeoutError"}:
            self._need("openai", name)
            given = ["request=None"] if name == "APITimeoutError" else [f"message={message}", "request=None"]
            return _call(name, given)
        if module == "agents.exceptions" and name in _OF_SDK:
            self._need("agents.exceptions", name)
            return _call(name, [message])
        raise CannotDoError(f"the model raised {error.type}, which a scripted model is not made to raise")

    def _literal(self, value: Any) -> str:  # Any: a value
        """A value as Python spells it."""
        if isinstance(value, list):
            return _call("", [self._literal(each) for each in value], "[]")
        if isinstance(value, str):
            return literal(self._ids.get(value, value))
        if not isinstance(value, dict):
            return repr(value)
        marks = [name for name in value if name.startswith("$") and not name.startswith("$$")]
        if marks == ["$object"]:
            return self._literal(value["fields"])
        if marks:
            return _marked(marks[0], value[marks[0]])
        named = {name.replace("$", "", 1) if name.startswith("$$") else name: value[name] for name in value}
        return _call("", [f"{literal(name)}: {self._literal(part)}" for name, part in named.items()], "{}")


def _marked(mark: str, content: Any) -> str:  # Any: what the mark says
    """What a value with one `$` key is, as Python spells it."""
    match mark:
        case "$str":
            return literal("".join(map(chr, content)))
        case "$float":
            return (
                repr(float(content))
                if content.strip("-") not in ("inf", "nan")
                else f'float("{float(content)}")'
            )
        case "$int":
            return str(int(content))
        case "$bytes":
            return repr(bytes.fromhex(content))
    raise CannotDoError(f"the model answered with an object ({content}) that no text can say")


def _only_text(fields: Mapping[str, Any]) -> Any:  # Any: values; None where it is more than a text
    """The text of a message that is one text and nothing else."""
    if fields.keys() != _MESSAGE or (fields["type"], fields["role"]) != ("message", "assistant"):
        return None
    content = fields["content"]
    if not isinstance(content, list) or len(content) != 1 or not isinstance(content[0], dict):
        return None
    part = {name: each for name, each in content[0].items() if each not in (None, [])}
    return part["text"] if part.keys() == {"text", "type"} and part["type"] == "output_text" else None


def _call(head: str, parts: Iterable[str], brackets: str = "()") -> str:
    """`head(part, part)` on one line where that is short, else a part a line."""
    parts = list(parts)
    opening, closing = brackets[0], brackets[1]
    line = f"{head}{opening}{', '.join(parts)}{closing}"
    if not parts or ("\n" not in line and len(line) <= _WIDTH - _INDENTED):
        return line
    if len(parts) == 1 and parts[0][0] in "[{" and parts[0][-1] in "]}":
        return line
    inner = "".join(f"    {line}\n" for part in parts for line in f"{part},".split("\n"))
    return f"{head}{opening}\n{inner}{closing}"


_FUNCTION_CALL: Final = '''\
def function_call(name, arguments, *, call_id, item_id):
    """The model asks for a tool."""
    return ResponseFunctionToolCall(
        id=item_id, call_id=call_id, type="function_call", name=name, arguments=arguments
    )
'''
_ASSISTANT_MESSAGE: Final = '''\
def assistant_message(text, *, item_id):
    """The model answers with a text."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id=item_id, type="message", role="assistant", status="completed", content=[part]
    )
'''
_PROVIDER_ERROR: Final = '''\
def provider_error(kind, status, message):
    """What the provider's client raises for such an answer."""
    response = SimpleNamespace(status_code=status, headers={}, request=None)
    return kind(message, response=response, body=None)
'''
_USED: Final = """
            usage=ResponseUsage(
                input_tokens=answer.usage.input_tokens,
                output_tokens=answer.usage.output_tokens,
                total_tokens=answer.usage.total_tokens,
                input_tokens_details={"cached_tokens": 0},
                output_tokens_details={"reasoning_tokens": 0},
            ),"""
_MODEL: Final = '''\
class ScriptedModel(Model):
    """A model without a provider: each request gets the next of the prepared answers."""

    def __init__(self, answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def stream_response(self, *args, **kwargs):
        answer = await self.get_response()
        for index, item in enumerate(answer.output):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=index, sequence_number=index
            )
        response = Response(
            id=answer.response_id or "resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=answer.output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,@@USAGE@@
        )
        yield ResponseCompletedEvent(
            type="response.completed", sequence_number=len(answer.output), response=response
        )
'''
