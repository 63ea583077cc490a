"""What the recorder makes of objects: rules of `agentproof._recorder.values`."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import uuid
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest
from pydantic import BaseModel

from agentproof._recorder.values import encode, failure, freeze_state, optional_text, text

HERE = __name__


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Note:
    text: str
    tags: list[str] = dataclasses.field(default_factory=list)


class Row(BaseModel):
    key: int
    hint: str | None = None


class Silent:
    def __repr__(self) -> str:
        raise AssertionError("an unknown object was asked for its repr")

    __str__ = __repr__


@pytest.mark.parametrize(
    ("thing", "value"),
    [
        (0.7, {"$float": "0.7"}),
        (float("nan"), {"$float": "nan"}),
        (2**60, {"$int": str(2**60)}),
        (b"\0\xff", {"$bytes": "00ff"}),
        ("\ud800", {"$str": [0xD800]}),
        ({"$float": "1"}, {"$$float": "1"}),
        ({1: "a"}, {"$object": "builtins:dict", "fields": {"items": [[1, "a"]]}}),
        ((1, "a"), {"$object": "builtins:tuple", "fields": {"items": [1, "a"]}}),
        ({2, 1}, {"$object": "builtins:set", "fields": {"items": [1, 2]}}),
        (Colour.RED, {"$object": f"{HERE}:Colour", "fields": {"name": "RED", "value": "red"}}),
        (Level.HIGH, {"$object": f"{HERE}:Level", "fields": {"name": "HIGH", "value": 3}}),
        (Point(1, 2), {"$object": f"{HERE}:Point", "fields": {"x": 1, "y": 2}}),
        (Note("n"), {"$object": f"{HERE}:Note", "fields": {"text": "n", "tags": []}}),
        (Row(key=1), {"$object": f"{HERE}:Row", "fields": {"key": 1}}),
        (Row(key=1, hint=None), {"$object": f"{HERE}:Row", "fields": {"key": 1, "hint": None}}),
        (Silent(), {"$opaque": f"{HERE}:Silent"}),
        (Note, {"$object": "builtins:type", "fields": {"name": f"{HERE}:Note"}}),
        (decimal.Decimal("1.10"), {"$object": "decimal:Decimal", "fields": {"text": "1.10"}}),
        (uuid.UUID(int=1), {"$object": "uuid:UUID", "fields": {"text": str(uuid.UUID(int=1))}}),
        (
            datetime.date(2026, 1, 2),
            {"$object": "datetime:date", "fields": {"iso": "2026-01-02"}},
        ),
        (
            pathlib.PurePosixPath("a/b"),
            {"$object": "pathlib:PurePosixPath", "fields": {"text": "a/b"}},
        ),
    ],
)
def test_a_type_that_text_alone_would_hide_is_kept(thing: object, value: object) -> None:
    assert encode(thing) == value


def test_an_empty_value_is_not_dropped() -> None:
    assert encode([0, "", [], {}, False, None]) == [0, "", [], {}, False, None]


def test_a_value_that_holds_itself_ends() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert encode(ring) == [1, {"$opaque": "builtins:list"}]


def test_what_was_encoded_does_not_change_with_the_object() -> None:
    live = {"log": [1]}
    value = encode(live)
    live["log"].append(2)
    assert value == {"log": [1]}


def test_a_state_keeps_its_floats_and_its_own_keys() -> None:
    document = {"temperature": 0.7, "$schemaVersion": "1.15"}
    assert freeze_state(document) == document


class OwnWordsError(Exception):
    def __str__(self) -> str:
        raise AssertionError("the script's own code ran")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no"), "no"),
        (KeyError("k"), "'k'"),
        (ValueError(Silent()), {"$opaque": f"{HERE}:Silent"}),
        (OSError(2, "No such file or directory"), "[Errno 2] No such file or directory"),
        (ValueError(), ""),
    ],
)
def test_a_failure_is_told_without_asking_unknown_objects(error: Exception, message: object) -> None:
    assert failure(error)["message"] == message


def test_a_failure_tells_what_it_was_raised_from() -> None:
    error: BaseException = ValueError("0")
    for number in range(1, 6):
        caused = ValueError(str(number))
        caused.__cause__, error = error, caused
    told, messages = failure(error), []
    while told:
        messages.append(told["message"])
        told = told.get("cause", {})
    assert messages == ["5", "4", "3", "2"]


def test_an_exception_class_of_the_scripts_is_not_asked_for_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OwnWordsError, "__module__", "__main__")
    assert failure(OwnWordsError("said"))["message"] == "said"


class Claiming:
    """Says that it is something else, as mocks and proxies do."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._kind

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"an unknown object was asked for {name}")

    def __iter__(self) -> Any:
        raise AssertionError("an unknown object was iterated")

    def __len__(self) -> int:
        raise AssertionError("an unknown object was measured")


CLAIMED = (
    *(dict, str, int, bool, float, list, tuple, set, frozenset, bytes, bytearray, type, Colour, Note, Row),
    *(Exception, datetime.datetime, uuid.UUID, decimal.Decimal, pathlib.PurePath, Point),
)


@pytest.mark.parametrize("kind", CLAIMED)
def test_an_object_is_what_its_type_says_and_not_what_it_claims(kind: type) -> None:
    claiming: Any = Claiming(kind)
    assert isinstance(claiming, kind)
    named = {"$opaque": f"{HERE}:Claiming"}
    assert encode(claiming) == named
    assert freeze_state({"a": [claiming]}) == {"a": [named]}
    assert text(claiming) == f"{HERE}:Claiming"
    assert optional_text(claiming) is None
    assert encode(Mock(spec=kind)) in ({"$opaque": "unittest.mock:Mock"}, {"$opaque": f"{HERE}:Mock"})


class OwnList(list[int]):
    def __iter__(self) -> Any:
        raise AssertionError("the script's own code ran")

    __len__ = __iter__


class OwnDict(dict[str, int]):
    def items(self) -> Any:
        raise AssertionError("the script's own code ran")

    __iter__ = keys = items


class OwnTuple(tuple[int, ...]):
    __iter__ = __len__ = OwnList.__iter__


class OwnBytes(bytes):
    def __bytes__(self) -> bytes:
        raise AssertionError("the script's own code ran")

    hex = __bytes__  # type: ignore[assignment]


class OwnDate(datetime.date):
    def isoformat(self) -> str:
        raise AssertionError("the script's own code ran")


class OwnArgumentsError(Exception):
    args = property(lambda self: 1 / 0)


class OwnFrozenSet(frozenset[int]):
    __iter__ = OwnList.__iter__


@dataclasses.dataclass
class Slotted:
    __slots__ = ("text", "unset")
    text: str
    unset: int


def _slotted() -> Slotted:
    note = Slotted("n", 1)
    del note.unset
    return note


class NamedAgain(Point):
    pass


@pytest.mark.parametrize(
    ("thing", "fields"),
    [
        (OwnList([1]), {"items": [1]}),
        (OwnTuple((1, 2)), {"items": [1, 2]}),
        (OwnFrozenSet({3}), {"items": [3]}),
        (OwnDate(2026, 1, 2), {"iso": "2026-01-02"}),
        (OwnArgumentsError("a"), {"args": ["a"]}),
        (_slotted(), {"text": "n"}),
        (NamedAgain(1, 2), {"x": 1, "y": 2}),
        (types.MappingProxyType({"a": 1}), {"items": {"a": 1}}),
    ],
)
def test_no_method_of_a_subclass_is_called(thing: object, fields: object) -> None:
    value = encode(thing)
    assert value == {"$object": value["$object"], "fields": fields}
    assert encode(OwnDict(a=1)) == {"a": 1}
    assert encode(OwnBytes(b"a")) == {"$bytes": "61"}


def test_what_cannot_be_unfolded_is_named() -> None:
    proxy = types.MappingProxyType(OwnDict(a=1))
    assert encode([1, proxy]) == [1, {"$opaque": "builtins:mappingproxy"}]
    broken = Colour.RED
    gone = object.__new__(Colour)
    assert encode([broken, gone])[1] == {"$opaque": f"{HERE}:Colour"}


def test_a_failure_whose_arguments_are_the_scripts_own_code_is_told() -> None:
    assert failure(OwnArgumentsError("said"))["message"] == "said"
