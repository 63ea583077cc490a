"""Input and output items of the Responses API, as values: what an item is, whatever decorates it."""

from collections.abc import Iterator, Mapping
from typing import Any

from .diff import ABSENT
from .values import short_text

CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""The type of each tool call item, and of the item that answers it."""

OUTPUTS = {output: call for call, output in CALLS.items()}

Item = Mapping[str, Any]  # Any: values of the observed program
Key = tuple[str, ...]
"""What an item is: its type and call id, or a message's role and text."""


def items_of(value: object) -> list[Item]:
    """The items of a run's or model's input: a bare text is one user message."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if isinstance(value, list):
        return [fields_of(item) for item in value]
    return []


def fields_of(value: object) -> Item:
    """The fields of a mapping or of an encoded object (`$object`); empty for anything else."""
    if isinstance(value, dict):
        fields = value.get("fields") if "$object" in value else value
        if isinstance(fields, dict):
            return fields
    return {}


def type_of(item: Item) -> str | None:
    """The item's type; a message may leave it out."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if "role" in item else None


def call_id_of(item: Item) -> str | None:
    """The call that an item makes or answers, as events name it."""
    for name in ("call_id", "id"):
        value = item.get(name)
        if isinstance(value, str):
            return short_text(value)
    return None


def is_id(found: object, call_id: str) -> bool:
    """Whether an id in a state's JSON, where it is whole, is the one that events name."""
    return isinstance(found, str) and short_text(found) == call_id


def is_call(item: Item) -> bool:
    return type_of(item) in CALLS


def is_output(item: Item) -> bool:
    return type_of(item) in OUTPUTS


def text_of(item: Item) -> str:
    """A message's text, refusals included."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = []
    for part in content if isinstance(content, list) else []:
        fields = fields_of(part)
        parts += [fields[name] for name in ("text", "refusal") if isinstance(fields.get(name), str)]
    return "".join(parts)


def key_of(item: Item) -> Key:
    """What an item is, without generated ids, status and annotations."""
    kind = type_of(item) or "?"
    if kind in CALLS or kind in OUTPUTS:
        return (kind, call_id_of(item) or "?")
    if kind == "message":
        return (kind, str(item.get("role")), text_of(item))
    return (kind, str(item.get("id")))


def raw_of(item: Item) -> Item:
    """The model's own item inside an item of a result or of a state."""
    for name in ("raw_item", "raw"):
        fields = fields_of(item.get(name))
        if fields:
            return fields
    return item


def answer_to(key: Key) -> Key:
    """The key of the output that answers a call's key."""
    return (CALLS[key[0]], *key[1:])


def find_calls(document: object, call_id: str) -> Iterator[Item]:
    """Every tool call item with this call id, anywhere in a state's JSON."""
    stack = [document]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if is_id(part.get("call_id"), call_id) and is_call(part):
                yield part
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)


def part_at(document: Any, pointer: str) -> Any:  # Any: a JSON document, or Absent
    """What a pointer leads to; ABSENT where it leads nowhere."""
    for token in pointer.split("/")[1:]:
        if isinstance(document, list):
            known = token.isascii() and token.isdigit() and len(token) < 10 and int(token) < len(document)
            document = document[int(token)] if known else ABSENT
        else:
            name = token.replace("~1", "/").replace("~0", "~")
            document = document.get(name, ABSENT) if isinstance(document, dict) else ABSENT
    return document
