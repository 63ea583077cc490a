"""Models accept what their annotations say, told as JSON or as Python's objects, and are values."""

import builtins
import copy
import functools
import importlib
import json
import pickle
import pkgutil
import re
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest
import referencing
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import from_json

import agentproof
from agentproof.errors import FormatError
from agentproof.models.events import KINDS, Failure, ScriptEnded
from agentproof.models.manifest import Member, SourceLine
from agentproof.models.schema import schema_of, schemas
from agentproof.models.trace import Trace
from agentproof.models.wire import Wire, encode

from .test_wire import JSON


def _wires(root: type[Wire] = Wire) -> Iterator[type[Wire]]:
    for each in root.__subclasses__():
        yield each
        yield from _wires(each)


def _all_wires() -> list[type[Wire]]:
    for module in pkgutil.walk_packages(agentproof.__path__, "agentproof."):
        if not re.search(r"\._(recorder|locator)\b", module.name) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {wire for wire in _wires() if wire.__module__.startswith("agentproof.")}
    return sorted(found, key=lambda wire: (wire.__module__, wire.__name__))


WIRES = _all_wires()

_LIMITS = ("pattern", "ge", "le", "min_length", "max_length")


def _limits(metadata: typing.Iterable[object]) -> dict[str, Any]:  # Any: numbers and texts
    """What `Field` demands in an annotation, by the names of its arguments."""
    given = [limit for each in metadata if isinstance(each, FieldInfo) for limit in each.metadata]
    return {
        name: getattr(limit, name)
        for limit in given
        for name in _LIMITS
        if getattr(limit, name, None) is not None
    }


@functools.cache
def _documents(annotation: Any) -> st.SearchStrategy[Any]:  # Any: type expressions and JSON
    """JSON of a type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, limits = arguments[0], _limits(annotation.__metadata__)
        if inner is str:
            return st.from_regex(limits["pattern"]) if "pattern" in limits else st.text(max_size=20)
        if inner is int:
            return st.integers(limits["ge"], limits["le"])
        if inner is Any:
            return JSON
        if get_origin(inner) is tuple:
            first, *others = get_args(inner)
            if others != [...]:
                return st.tuples(*map(_documents, (first, *others))).map(list)
            return st.lists(_documents(first), min_size=limits.get("min_length", 0), max_size=2)
        return _documents(inner)
    if annotation is Any:
        return JSON
    match origin, arguments:
        case (typing.Literal, _):
            return st.sampled_from(arguments)
        case (typing.Union | types.UnionType, [inner, types.NoneType]):
            return st.none() | _documents(inner)
        case (typing.Union | types.UnionType, _):
            return st.one_of(*map(_documents, arguments))
        case (builtins.dict, [key, inner]):
            return st.dictionaries(_documents(key), _documents(inner), max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        hints = get_type_hints(annotation, include_extras=True)
        needed: dict[str, Any] = {}  # Any: strategies
        optional: dict[str, Any] = {}
        for name, field in annotation.model_fields.items():
            group = needed if field.is_required() else optional
            group[field.alias or name] = _deferred(hints[name])
        return st.fixed_dictionaries(needed, optional=optional)
    return {str: st.text(), int: st.integers(), bool: st.booleans()}[annotation]


def _deferred(annotation: Any) -> st.SearchStrategy[Any]:  # Any: a type expression, and JSON
    return st.deferred(lambda: _documents(annotation))


_ODD: tuple[object, ...] = (
    *(None, True, False, 0, 1, -1, 2**53, 2**70, 0.0, 1.0, 0.5, "", "1", "x" * 5000, "a\n"),
    *([], [None], {}, {"kind": "nobody's"}, {"kind": []}, {"$float": 1}, {"$nothing": 1}),
)


def _broken(draw: Any, document: Any) -> Any:  # Any: hypothesis' draw, and JSON
    """The document with something odd at one place in it."""
    if isinstance(document, dict) and document and draw(st.integers(0, 3)):
        changed = dict(document)
        key = draw(st.sampled_from(sorted(changed)))
        match draw(st.integers(0, 5)):
            case 0:
                del changed[key]
            case 1:
                changed["other"] = 1
            case _:
                changed[key] = _broken(draw, changed[key])
        return changed
    if isinstance(document, list) and document and draw(st.integers(0, 3)):
        place = draw(st.integers(0, len(document) - 1))
        return [_broken(draw, item) if at == place else item for at, item in enumerate(document)]
    return draw(st.sampled_from(_ODD))


_VALUE = referencing.Resource.from_contents(json.loads(schemas()["value.schema.json"]))


@functools.cache
def _validator(wire: Any) -> Any:  # Any: a model; jsonschema's validators share no public type
    registry: referencing.Registry[Any] = referencing.Registry().with_resource("value.schema.json", _VALUE)
    return jsonschema.Draft202012Validator(json.loads(schema_of(wire, name="wire")), registry=registry)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_what_is_parsed_once_is_judged_as_pydantic_judges_json(data: st.DataObject) -> None:
    wire: Any = data.draw(st.sampled_from(WIRES))  # Any: mypy looks for a class's hash in the class
    document = data.draw(_documents(wire))
    if data.draw(st.booleans()):
        document = _broken(data.draw, document)
    raw = encode(document)
    try:
        theirs = wire.model_validate_json(raw)
    except ValidationError as error:
        with pytest.raises(FormatError) as refused:
            wire.from_shape(document)
        where = [".".join(map(str, each["loc"])) or "document" for each in error.errors()]
        assert refused.value.message.partition(":")[0] in where
        with pytest.raises(FormatError):
            wire.from_bytes(raw)
        return
    assert wire.from_shape(document) == theirs
    assert wire.from_bytes(theirs.to_bytes()) == theirs
    assert _validator(wire).is_valid(theirs.to_shape())
    # Nothing else that means the same is accepted, and the schema takes what is.
    if raw == theirs.to_bytes():
        assert wire.from_bytes(raw) == theirs
    else:
        with pytest.raises(FormatError):
            wire.from_bytes(raw)


_UNION: Any = Union[KINDS]  # noqa: UP007  (Any: a type that is made of a tuple)
_EVENT: TypeAdapter[Wire] = TypeAdapter(Annotated[_UNION, Field(discriminator="kind")])


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_an_event_is_read_as_pydantic_reads_a_discriminated_union(data: st.DataObject) -> None:
    event = data.draw(_documents(_UNION))
    if data.draw(st.booleans()):
        event = _broken(data.draw, event)
    if isinstance(event, dict):
        event = {**event, "seq": 1}
        event.pop("after", None)
    document = {"format": "agentproof/trace", "version": 0, "mode": "as-written", "events": [event]}
    try:
        theirs = _EVENT.validate_json(encode(event))
    except ValidationError as error:
        with pytest.raises(FormatError) as refused:
            Trace.from_shape(document)
        # Pydantic names the kind first.
        where = [".".join(map(str, ("events", 0, *each["loc"][1:]))) for each in error.errors()]
        assert refused.value.message.partition(":")[0] in where
    else:
        assert Trace.from_shape(document).events == (theirs,)


def _weak(annotation: Any) -> Iterator[object]:  # Any: a type expression
    """Arrays that are read to their end whatever they hold, and literals that Python's equality judges."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, *_ = arguments
        guarded = any(isinstance(each, BeforeValidator) for each in annotation.__metadata__)
        fails_fast = any(
            getattr(limit, "fail_fast", False)
            for each in annotation.__metadata__
            if isinstance(each, FieldInfo)
            for limit in each.metadata
        )
        if get_origin(inner) is Literal and guarded:
            return
        if get_origin(inner) is tuple and fails_fast:
            arguments = get_args(inner)
    elif (origin is tuple and ... in arguments) or (
        origin is Literal and not all(isinstance(each, str) for each in arguments)
    ):
        yield annotation
    for each in arguments if origin is not Literal else ():
        yield from _weak(each)


def test_every_array_fails_fast_and_every_literal_number_is_one() -> None:
    assert len(WIRES) > 90
    for wire in WIRES:
        for annotation in get_type_hints(wire, include_extras=True).values():
            assert not list(_weak(annotation)), wire
    assert list(_weak(tuple[str, ...]))
    assert list(_weak(tuple[int, tuple[str, ...]]))
    assert list(_weak(Literal[0] | None))


MEMBER = Member(path="traces/as-written.json", sha256="0" * 64, size=3)


def test_a_model_does_not_change() -> None:
    with pytest.raises(ValidationError, match="size\n  Instance is frozen"):
        MEMBER.size = 4
    with pytest.raises(ValidationError, match="size\n  Instance is frozen"):
        del MEMBER.size


def test_a_model_is_its_fields() -> None:
    again = Member.from_bytes(MEMBER.to_bytes())
    assert again == MEMBER
    assert again != Member(path="traces/as-written.json", sha256="0" * 64, size=4)
    assert typing.cast(Any, SourceLine(name="a", file="b", line=1)) != MEMBER  # Any: mypy knows
    assert repr(MEMBER) == f"Member(path='traces/as-written.json', sha256='{'0' * 64}', size=3)"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])  # noqa: S301
def test_a_model_can_be_copied_and_sent_to_another_process(copied: Any) -> None:
    failure = Failure(type="a:B", message="m", cause=Failure(type="a:C", message=None))
    assert copied(failure) == failure
    assert copied(failure).model_fields_set == {"type", "message", "cause"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "path\n  Field required"),
        ({"path": "a", "sha256": "0" * 64, "size": True}, "size\n  Input should be a valid integer"),
        ({"path": "a", "sha256": "0" * 64, "size": 1, "more": 1}, "more\n  Extra inputs are not permitted"),
    ],
)
def test_what_is_made_in_python_is_validated_too(given: Any, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Member(**given)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "document: Input should be an object"),
        ({"type": "a:B", "message": 1, "bases": "a:B"}, "bases: Input should be a list"),
        ({"type": "a:B", "message": 1, "bases": ["a:B", 1, 2]}, "bases.1: Input should be a valid string"),
        ({"type": "a:B", "message": 0.5}, "message: /: float is not a value"),
        (
            {"type": "a:B", "message": 1, "cause": {"type": "a:B", "message": 1, "data": {"$x": 1}}},
            "cause.data: /: not a well-formed $x",
        ),
    ],
)
def test_a_refusal_names_the_place_and_what_is_wrong(document: object, why: str) -> None:
    with pytest.raises(FormatError) as refused:
        Failure.from_shape(document)
    assert refused.value.message == why


def test_a_trace_names_the_event_that_is_wrong() -> None:
    ended = {"kind": "script.ended", "seq": 1, "outcome": "exited"}
    document = {"format": "agentproof/trace", "version": 0, "mode": "as-written"}
    assert isinstance(Trace.from_shape({**document, "events": [ended]}).events[0], ScriptEnded)
    for event, why in (
        ({**ended, "outcome": "lost"}, "events.0.outcome: Input should be 'exited'"),
        ({**ended, "kind": "script.lost"}, "events.0: no event of a known kind"),
        ([], "events.0: no event of a known kind"),
        ({**ended, "seq": 2}, "document: event 1 has seq 2"),
    ):
        with pytest.raises(FormatError) as refused:
            Trace.from_shape({**document, "events": [event]})
        assert refused.value.message.startswith(why)


@pytest.mark.parametrize("version", [False, 0.0, "0", None, [0]])
def test_a_version_is_a_number(version: object) -> None:
    document = {"format": "agentproof/trace", "version": version, "mode": "as-written", "events": []}
    with pytest.raises(FormatError, match="version: Input should be "):
        Trace.from_shape(document)


def test_what_is_parsed_is_not_parsed_again() -> None:
    # A document of the parser's own is taken over, not copied: a value in it is the very same one.
    document = from_json(json.dumps({"type": "a:B", "message": {"a": [1]}}))
    assert Failure._validated(document).message is document["message"]


_THREADS = """
import sys, threading
from agentproof.models.wire import Wire
from agentproof.models import comparison, manifest, report, statement, trace

sys.setswitchinterval(1e-6)

def below(wire):
    for each in wire.__subclasses__():
        yield each
        yield from below(each)

def validate(wire, start):
    start.wait()
    try:
        wire.model_validate({"nobody's": 1})
    except Exception as error:
        problem = str(error).splitlines()[0]
        if not problem.endswith(f"for {wire.__name__}"):
            print(problem)

for wire in [*below(Wire)]:
    start = threading.Barrier(4)
    threads = [threading.Thread(target=validate, args=(wire, start)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
"""


def test_threads_that_need_a_model_for_the_first_time_do_not_disturb_one_another() -> None:
    # Wheels are fetched by several threads. Before pydantic 2.14 one saw what another was about to build.
    done = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, check=True)
    assert done.stdout == ""
