"""Values: how whatever the observed program holds is written down (frozen).

1. null, booleans, strings, lists and integers from -(2^53-1) to 2^53-1 are themselves.
2. An object without `$` keys is a mapping; a real key that begins with `$` is written with `$$`.
3. All else is an object with one `$` key:
   {"$float": "0.7"} (Python's repr; also "nan", "inf", "-inf"), {"$int": "123…"},
   {"$bytes": hex}, {"$str": [code points]} for text that is not valid Unicode,
   {"$opaque": "module:Class"}; or the pair {"$object": "module:Class", "fields": {…}}.
4. Never a repr of an unknown object.

The recorder has a twin of this module for the standard library alone (`_recorder/values.py`);
`tests/unit/test_values.py` holds the two together.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

from .wire import MAX_TEXT

MAX_INTEGER = 2**53 - 1
_FLOAT = re.compile(r"-?(?:inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?)|nan", re.ASCII)
_INT = re.compile(r"-?[1-9]\d{15,}", re.ASCII)
_HEX = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)
_CLASS = re.compile(r"[^\s:]+:\S+")


def short_text(text: str) -> str:
    """A name as the recorder writes it where it is a field of its own: a long one ends in its digest."""
    text = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[: MAX_TEXT - 17]}#{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def check_value(value: object) -> object:
    """Return `value` when it is well formed.

    Raises:
        ValueError: it is not, and where.
    """
    # No path is written down on the way: with a long key it would be copied for every value below it.
    problem = _problem(value)
    if problem is not None:
        *path, what = reversed(problem)
        raise ValueError(f"/{'/'.join(path)}"[:1000] + f": {what}")
    return value


def _problem(value: object) -> list[str] | None:
    """What is wrong, and behind it the keys to there, the innermost first."""
    if type(value) is str:
        return None
    if isinstance(value, list):
        return _problem_below(enumerate(value))
    if isinstance(value, dict):
        marks = [key for key in value if key.startswith("$") and not key.startswith("$$")]
        return _problem_of_marked(value, marks) if marks else _problem_below(value.items())
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return ["an integer this large is written as $int"]
    return (
        None if value is None or isinstance(value, int | str) else [f"{type(value).__name__} is not a value"]
    )


def _problem_below(items: Iterable[tuple[object, object]]) -> list[str] | None:
    for key, item in items:
        if (problem := _problem(item)) is not None:
            return [*problem, str(key)]
    return None


def _problem_of_marked(value: dict[str, Any], marks: list[str]) -> list[str] | None:  # Any: JSON to be judged
    if marks == ["$object"] and value.keys() == {"$object", "fields"}:
        name, fields = value["$object"], value["fields"]
        if isinstance(name, str) and _CLASS.fullmatch(name) and isinstance(fields, dict):
            if any(key.startswith("$") and not key.startswith("$$") for key in fields):
                return ["a field name that begins with $ is escaped", "fields"]
            problem = _problem_below(fields.items())
            return None if problem is None else [*problem, "fields"]
    elif len(value) == 1:
        (content,) = value.values()
        if _SINGLE.get(marks[0], _never)(content):
            return None
    return [f"not a well-formed {marks[0][:100]}"]


def _never(_content: object) -> bool:
    return False


def _is_big(content: object) -> bool:
    return isinstance(content, str) and _INT.fullmatch(content) is not None and len(content) <= 4300


def _is_broken_text(content: object) -> bool:
    return (
        isinstance(content, list)
        and all(type(point) is int and 0 <= point <= 0x10FFFF for point in content)
        and any(0xD800 <= point <= 0xDFFF for point in content)
    )


def _matches(pattern: re.Pattern[str]) -> Any:  # Any: a predicate, kept short
    return lambda content: isinstance(content, str) and pattern.fullmatch(content) is not None


_SINGLE = {
    "$float": _matches(_FLOAT),
    "$int": _is_big,
    "$bytes": _matches(_HEX),
    "$str": _is_broken_text,
    "$opaque": _matches(_CLASS),
}

Value = Annotated[Any, AfterValidator(check_value), WithJsonSchema({"$dynamicRef": "value.schema.json"})]
"""A value in the encoding above. Any: a program under observation may hold anything."""


def from_state(document: Any) -> object:  # Any: a state's JSON
    """A part of a state's JSON (which may hold floats and any key) as a value."""
    if isinstance(document, float):
        return {"$float": repr(document)}
    if isinstance(document, int) and not isinstance(document, bool) and abs(document) > MAX_INTEGER:
        return {"$int": str(document)}
    if isinstance(document, list):
        return [from_state(item) for item in document]
    if isinstance(document, dict):
        return {
            (f"${key}" if key.startswith("$") else key): from_state(item) for key, item in document.items()
        }
    return document


def text_of(value: object) -> str:
    """A value that is a text, with a question mark for what is not valid Unicode; nothing for another
    value."""
    if isinstance(value, dict) and value.keys() == {"$str"}:
        return "".join(map(chr, value["$str"])).encode("utf-8", "replace").decode("utf-8")
    return value if isinstance(value, str) else ""
