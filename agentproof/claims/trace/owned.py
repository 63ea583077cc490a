"""What states and results hold that is still the script's own, and that it may go on changing.

A tool that returns a list keeps the list, and may add to it for as long as it likes; so may the caller
with the input items that it gave, a guardrail with its information, and whoever holds a final output.
A change inside of such an object says nothing about the SDK. That another object takes its place does.
"""

import re
from collections.abc import Mapping
from typing import Any

from ...models.diff import ABSENT, Absent, Change
from ...models.items import call_id_of, fields_of, part_at, raw_of

_FIXED = frozenset(
    f"builtins:{name}" for name in ("NoneType", "bool", "bytes", "complex", "float", "int", "str")
)
_SCALARS = frozenset({"$bytes", "$float", "$int", "$str"})
"""Keys of values that stand for something unchangeable, for all that they are written as objects."""

_OUTPUT = re.compile(r"((?:/[^/]*)*/(?:generated_items|session_items|items)/[0-9]+)/output(?:/|$)")
_INFO = re.compile(r"(?:/[^/]*)*/(?:output_info|outputInfo|info)(?=/|$)")
_GIVEN = re.compile(r"(?:/[^/]*)*/original_input/[0-9]+(?=/)")
_FINAL = re.compile(r"/final_output(?=/|$)")


def may_change(value: Any, type_name: str | None = None) -> bool:  # Any: a value
    """Whether somebody may go on changing the object that this value tells of."""
    if type_name is not None and type_name != "?":
        return type_name not in _FIXED
    return isinstance(value, list) or (isinstance(value, dict) and _SCALARS.isdisjoint(value))


def is_scripts_own(
    change: Change,
    before: Any,  # Any: the documents that were compared
    after: Any,
    types: Mapping[str, str] | None = None,
) -> bool:
    """Whether a change lies inside of an object of the script's own that both documents hold.

    `types` are the Python types of tool outputs by call id, where the documents do not tell them.
    """
    if match := _OUTPUT.match(change.pointer):
        items = [fields_of(part_at(document, match[1])) for document in (before, after)]
        calls = {call_id_of(raw_of(item)) for item in items}
        told = {_type_of(item, types or {}) for item in items}
        outputs = [item.get("output", ABSENT) for item in items]
        return len(calls) == len(told) == 1 and _is_one_object(outputs, told.pop())
    for pattern in (_INFO, _GIVEN, _FINAL):
        if match := pattern.match(change.pointer):
            return _is_one_object([part_at(before, match[0]), part_at(after, match[0])], None)
    return False


def _type_of(item: Mapping[str, Any], types: Mapping[str, str]) -> str | None:  # Any: values
    told = item.get("output_type")
    return told if isinstance(told, str) else types.get(call_id_of(raw_of(item)) or "")


def _is_one_object(sides: list[Any], type_name: str | None) -> bool:  # Any: values, or Absent
    """Whether two values may tell of one object at two times."""
    first, second = sides
    alike = type(first) is type(second) and not isinstance(first, Absent)
    if alike and isinstance(first, dict) and first.get("$object") != second.get("$object"):
        return False
    return alike and all(may_change(side, type_name) for side in sides)
