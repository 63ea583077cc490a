"""What events are told with: items, calls and exceptions in a few words."""

from collections.abc import Iterable
from typing import Any

from ..items import Item, call_id_of, is_call, is_output, items_of, text_of, type_of
from ..text import one_line, value_text
from .base import Failure

MOMENTS = {
    "decision": "a decision was made",
    "restore": "a state was made, read or written",
    "run_start": "a run began",
    "run_end": "a run ended",
    "exit": "the script ended",
    "body": "a function of the script returned",
}
"""When a look at a state or result was taken."""


def describe_failure(error: Failure) -> str:
    """An exception in one line, as a traceback's last."""
    name = error.type.removeprefix("builtins:").replace(":", ".")
    message = error.message if isinstance(error.message, str) else value_text(error.message)
    message = " ".join(message.split())  # of one that has several lines
    return one_line(f"{name}: {message}" if message else name, 300)


def describe_items(value: Any, limit: int = 3) -> str:  # Any: a value
    """The items of a model's answer in a few words."""
    return listed((_item(item) for item in items_of(value)), limit) or "nothing"


def item_of(item: Item) -> str:
    """An item with its role."""
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
