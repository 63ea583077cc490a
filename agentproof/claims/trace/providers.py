"""What went over the wire for each call of a model, beside what was asked and what was made of the answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...models.events import ModelAnswered, ModelCalled, ModelExchanged, ModelStreamed
from ...models.items import Item, fields_of, items_of
from .runs import Run

CHAT = "/chat/completions"
RESPONSES = "/responses"


@dataclass
class Asked:
    """A call of a model that asked a provider."""

    called: ModelCalled
    exchanges: list[ModelExchanged] = field(default_factory=list)
    streamed: ModelStreamed | None = None
    answered: ModelAnswered | None = None

    @property
    def last(self) -> ModelExchanged | None:
        """The exchange that was answered well, where it is the last one: those before it were tried again."""
        found = self.exchanges[-1]
        is_well = found.status is not None and 200 <= found.status < 300 and found.error is None
        return found if is_well else None


def asked_in(run: Run) -> Iterator[Asked]:
    """The calls of this run that asked a provider, in their order."""
    found: dict[str, Asked] = {}
    for event in run.events:
        if isinstance(event, ModelCalled):
            found[event.call] = Asked(event)
        elif isinstance(event, ModelExchanged) and event.call in found:
            found[event.call].exchanges.append(event)
        elif isinstance(event, ModelStreamed) and event.call in found:
            found[event.call].streamed = event
        elif isinstance(event, ModelAnswered) and event.call in found:
            found[event.call].answered = event
    yield from (asked for asked in found.values() if asked.exchanges)


@dataclass(frozen=True)
class Message:
    """The one message of a Chat Completions answer, whole or put together from its chunks."""

    text: str
    refusal: str
    calls: tuple[tuple[str | None, str], ...]
    """The name and the arguments of each call of a function."""
    finish: str | None


def message_of(exchange: ModelExchanged) -> Message | None:
    """None where it is no such answer, where not all of it is told, or where it has several choices."""
    if not exchange.path.endswith(CHAT) or exchange.cut:
        return None
    if exchange.events is not None:
        return _of_chunks([choice for event in exchange.events for choice in _choices(event)])
    choices = _choices(exchange.response)
    message: Item = fields_of(choices[0].get("message")) if len(choices) == 1 else {}
    if not message:
        return None
    calls = tuple(call_of(fields_of(each.get("function"))) for each in items_of(message.get("tool_calls")))
    finish = _finish(choices[0].get("finish_reason"))
    return Message(_text(message.get("content")), _text(message.get("refusal")), calls, finish)


def _choices(answer: object) -> list[Item]:
    return items_of(fields_of(answer).get("choices"))


def _of_chunks(choices: list[Item]) -> Message | None:
    if any(choice.get("index") not in (0, None) for choice in choices):
        return None
    deltas = [fields_of(choice.get("delta")) for choice in choices]
    parts: dict[object, list[Item]] = {}
    for delta in deltas:
        for each in items_of(delta.get("tool_calls")):
            parts.setdefault(str(each.get("index")), []).append(fields_of(each.get("function")))
    calls = tuple(
        (
            next((name for part in of_call if isinstance(name := part.get("name"), str) and name), None),
            "".join(_text(part.get("arguments")) for part in of_call),
        )
        for of_call in parts.values()
    )
    ends = [end for choice in choices if (end := _finish(choice.get("finish_reason"))) is not None]
    text = "".join(_text(delta.get("content")) for delta in deltas)
    return Message(
        text, "".join(_text(delta.get("refusal")) for delta in deltas), calls, ends[-1] if ends else None
    )


def call_of(function: Item) -> tuple[str | None, str]:
    """The name and the arguments of a call, as an answer or an item writes them."""
    name, arguments = function.get("name"), function.get("arguments", function.get("input"))
    return name if isinstance(name, str) else None, _text(arguments)


def _text(value: Any) -> str:  # Any: a value
    return value if isinstance(value, str) else ""


def _finish(value: Any) -> str | None:  # Any: a value
    return value if isinstance(value, str) else None


def tools_sent(request: Item) -> frozenset[str]:
    """The names of the functions in a request to either API."""
    tools = items_of(request.get("tools"))
    found: list[Any] = [tool.get("name") for tool in tools]
    found += [fields_of(tool.get("function")).get("name") for tool in tools]
    found += [each.get("name") for tool in tools for each in items_of(tool.get("tools"))]
    return frozenset(name for name in found if isinstance(name, str))


def parts_of(output: Any) -> Mapping[str, str]:  # Any: a value
    """The text and the refusals of an answer's messages, each put together."""
    parts = [
        part
        for item in items_of(output)
        if item.get("type") == "message"
        for part in items_of(item.get("content"))
    ]
    return {name: "".join(_text(part.get(name)) for part in parts) for name in ("text", "refusal")}
