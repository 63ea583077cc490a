"""Models are validated as pydantic validates the same annotations, and are values."""

import builtins
import copy
import functools
import importlib
import json
import pickle
import pkgutil
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, ForwardRef, Literal, get_args, get_origin

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

import agentproof
from agentproof.errors import FormatError
from agentproof.models._core import Limits, Model, fields_of, kinds_of, validator_of
from agentproof.models.events import AnyEvent, Failure, ScriptEnded
from agentproof.models.manifest import Member, SourceLine
from agentproof.models.trace import Trace
from agentproof.models.wire import Wire, encode

from .test_wire import JSON


def _wires(root: type[Wire] = Wire) -> Iterator[type[Wire]]:
    for each in root.__subclasses__():
        yield each
        yield from _wires(each)


def _all_wires() -> list[type[Wire]]:
    for module in pkgutil.walk_packages(agentproof.__path__, "agentproof."):
        if "._recorder" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {wire for wire in _wires() if wire.__module__.startswith("agentproof.")}
    return sorted(found, key=lambda wire: (wire.__module__, wire.__name__))


WIRES = _all_wires()

_KINDS = kinds_of(get_args(AnyEvent))
_CONFIG = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
_above: list[type[Model]] = []


@functools.cache
def _peer(model: Any) -> type[pydantic.BaseModel]:  # Any: a model
    """What pydantic makes of a model's annotations."""
    _above.append(model)
    fields: dict[str, Any] = {}  # Any: pydantic's pairs of annotation and default
    for name, field in fields_of(model).items():
        default = pydantic.Field(*(() if field.is_required else (field.default,)), alias=name)
        fields[name.strip("_")] = (_translated(field.annotation), default)
    _above.pop()

    def hold(value: Any) -> Any:  # Any: of a class that is made here
        model.hold(value)
        return value

    after: Any = pydantic.model_validator(mode="after")(hold)
    made: type[pydantic.BaseModel] = pydantic.create_model(
        model.__name__, __config__=_CONFIG, __validators__={"held": after}, **fields
    )
    return made


def _translated(annotation: Any) -> Any:  # Any: type expressions
    origin, arguments = get_origin(annotation), get_args(annotation)
    match origin, arguments:
        case (typing.Annotated, [inner, Limits() as limits]):
            if inner is str:
                return Annotated[str, pydantic.StringConstraints(**limits.given())]
            return Annotated[_translated(inner), pydantic.Field(**limits.given())]
        case (typing.Literal, [int(), *_]):
            # Pydantic takes false and 0.0 for a literal 0; a checker in another language may not.
            return Annotated[annotation, pydantic.BeforeValidator(_whole)]
        case (typing.Annotated, [inner, function]):
            return Annotated[_translated(inner), pydantic.AfterValidator(function)]
        case (builtins.tuple, [inner, builtins.Ellipsis]):
            return tuple[_translated(inner), ...]  # type: ignore[misc]  # built here
        case (typing.Union | types.UnionType, [inner, types.NoneType]):
            return typing.Optional[_translated(inner)]  # noqa: UP045  (a forward reference has no `|`)
        case (typing.Union | types.UnionType, _):
            return Annotated[typing.Union[*map(_translated, arguments)], pydantic.Field(discriminator="kind")]
    if annotation in _above:
        return ForwardRef(annotation.__name__)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return _peer(typing.cast(Any, annotation))  # Any: mypy looks for a class's hash in the class
    return annotation


def _whole(value: object) -> object:
    if type(value) is not int:
        raise ValueError("no whole number")
    return value


@functools.cache
def _documents(annotation: Any) -> st.SearchStrategy[Any]:  # Any: type expressions and JSON
    """JSON of a type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    match origin, arguments:
        case (typing.Annotated, [inner, Limits() as limits]) if inner is str:
            if limits.pattern is None:
                return st.text(max_size=20)
            return st.from_regex(limits.pattern)
        case (typing.Annotated, [inner, Limits() as limits]) if inner is int:
            return st.integers(limits.ge, limits.le)
        case (typing.Annotated, [inner, Limits() as limits]):
            return st.lists(_documents(get_args(inner)[0]), min_size=limits.min_length or 0, max_size=2)
        case (typing.Annotated, _):
            return JSON
        case (typing.Literal, _):
            return st.sampled_from(arguments)
        case (builtins.tuple, [inner, builtins.Ellipsis]):
            return st.lists(_documents(inner), max_size=2)
        case (typing.Union | types.UnionType, [inner, types.NoneType]):
            return st.none() | _documents(inner)
        case (typing.Union | types.UnionType, _):
            return st.one_of(*map(_documents, arguments))
    if isinstance(annotation, type) and issubclass(annotation, Model):
        fields = fields_of(annotation).items()
        below = {name: _deferred(field.annotation) for name, field in fields}
        needed = {name: below[name] for name, field in fields if field.is_required}
        optional = {name: below[name] for name, field in fields if not field.is_required}
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


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_model_accepts_what_pydantic_accepts_for_the_same_annotations(data: st.DataObject) -> None:
    wire: Any = data.draw(st.sampled_from(WIRES))  # Any: mypy looks for a class's hash in the class
    document = data.draw(_documents(wire))
    if data.draw(st.booleans()):
        document = _broken(data.draw, document)
    raw = encode(document)
    try:
        theirs = _peer(wire).model_validate_json(raw)
    except pydantic.ValidationError as error:
        with pytest.raises(FormatError) as refused:
            wire.from_shape(document)
        # Pydantic names the kind beside the event's number.
        where = [[str(part) for part in each["loc"] if part not in _KINDS] for each in error.errors()]
        assert refused.value.message.partition(":")[0] in [".".join(place) or "document" for place in where]
        return
    assert wire.from_shape(document) == wire.from_shape(theirs.model_dump(by_alias=True))


def test_every_wire_type_is_covered() -> None:
    assert len(WIRES) > 90
    for wire in WIRES:
        validator_of(wire)


MEMBER = Member(path="traces/as-written.json", sha256="0" * 64, size=3)


def test_a_model_does_not_change() -> None:
    with pytest.raises(AttributeError, match="size: a Member does not change"):
        MEMBER.size = 4  # type: ignore[misc]
    with pytest.raises(AttributeError, match="size: a Member does not change"):
        del MEMBER.size


def test_a_model_is_its_fields() -> None:
    again = Member.from_bytes(MEMBER.to_bytes())
    assert again == MEMBER
    assert again != Member(path="traces/as-written.json", sha256="0" * 64, size=4)
    assert SourceLine(name="a", file="b", line=1) != MEMBER
    assert repr(MEMBER) == f"Member(path='traces/as-written.json', sha256='{'0' * 64}', size=3)"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])  # noqa: S301
def test_a_model_can_be_copied_and_sent_to_another_process(copied: Any) -> None:
    failure = Failure(type="a:B", message="m", cause=Failure(type="a:C", message=None))
    assert copied(failure) == failure
    assert copied(failure).fields_given() == {"type", "message", "cause"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "path\n  Field required"),
        ({"path": "a", "sha256": "0" * 64, "size": True}, "size\n  Input should be a valid integer"),
        ({"path": "a", "sha256": "0" * 64, "size": 1, "more": 1}, "more\n  Extra inputs are not permitted"),
    ],
)
def test_what_is_made_in_python_is_validated_too(given: Any, why: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=why):
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


def test_an_annotation_that_nobody_validates_is_refused() -> None:
    class Odd(Model):
        field: Literal["a"] | dict[str, str]

    with pytest.raises(TypeError, match="no field is of type"):
        Odd(field={})


def test_what_is_parsed_is_not_parsed_again() -> None:
    # A document of the parser's own is taken over, not copied: a value in it is the very same one.
    document = from_json(json.dumps({"type": "a:B", "message": {"a": [1]}}))
    assert Failure._validated(document).message is document["message"]
