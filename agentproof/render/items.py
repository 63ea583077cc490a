"""What passes between a model and the SDK, in a few words: items, calls, exceptions."""

from collections.abc import Iterable
from typing import Any

from ..claims.trace.items import Item, call_id_of, is_call, is_output, items_of, text_of, type_of
from ..models.events import Event, Failure, ModelCalled, RunEnded
from .text import one_line, value_text


def describe_failure(error: Failure) -> str:
    """An exception in one line, as a traceback's last."""
    name = error.type.removeprefix("builtins:").replace(":", ".")
    message = error.message if isinstance(error.message, str) else value_text(error.message)
    return one_line(f"{name}: {message}" if message else name, 300)


def describe_items(value: Any, limit: int = 3) -> str:  # Any: a value
    """The items of a model's answer in a few words."""
    return listed((_item(item) for item in items_of(value)), limit) or "nothing"


def details(event: Event) -> list[str]:
    """What an event carries, one line a part: what a model is told, what a session holds after a run."""
    if isinstance(event, ModelCalled):
        return [_item_of(item) for item in items_of(event.input)]
    if isinstance(event, RunEnded):
        return [f"in the session: {_item_of(item)}" for item in items_of(event.session_after)]
    return []


def _item_of(item: Item) -> str:
    role = item.get("role")
    return f"{role}: {_item(item)}" if isinstance(role, str) else _item(item)


def describe_call(tool: str | None, arguments: Any, call_id: str | None) -> str:  # Any: a value
    """`pay({"amount": 100}) for call_1`."""
    inside = arguments if isinstance(arguments, str) else "" if arguments is None else value_text(arguments)
    text = f"{tool or 'a tool'}({one_line(inside, 100)})"
    return f"{text} for {call_id}" if call_id else text


def _item(item: Item) -> str:
    kind = type_of(item) or "an item"
    if is_call(item):
        name = item.get("name") or kind
        as_id = f" as {call_id_of(item)}" if call_id_of(item) else ""
        return f"call {describe_call(str(name), item.get('arguments'), None)}{as_id}"
    if is_output(item):
        return f"output of {call_id_of(item)}: {value_text(item.get('output'), 60)}"
    if kind == "message":
        return f"“{one_line(text_of(item), 80)}”"
    return kind


def listed(texts: Iterable[str], limit: int) -> str:
    """The first few, and how many more there are."""
    found = list(texts)
    more = f" and {len(found) - limit} more" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more


def for_call(call_id: str | None) -> str:
    """` for call_1`, where there is such an id."""
    return f" for {call_id}" if call_id else ""
