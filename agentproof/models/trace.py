"""A trace: the events of one run of the script in one mode, in one canonical order."""

import functools
from collections.abc import Iterator, Mapping
from typing import Literal, Self, get_args

import pydantic_core
from pydantic import model_validator

from ..errors import FormatError
from ._wire import Sha256, Wire, encode, parse, written_default
from .events import (
    AnyEvent,
    Event,
    RunEnded,
    RunStarted,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    StateSerialised,
)

Mode = Literal["as-written", "streamed"]


class _Head(Wire):
    """A trace without its events."""

    format: Literal["agentproof/trace"]
    version: Literal[0]
    mode: Mode


@functools.cache
def _kinds() -> Mapping[str, type[Event]]:
    """The class of each kind of event."""
    union, _ = get_args(AnyEvent)
    return {get_args(each.model_fields["kind"].annotation)[0]: each for each in get_args(union)}


def _read_event(shape: object, place: int) -> Event:
    kind = shape.get("kind") if isinstance(shape, dict) else None
    cls = _kinds().get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise FormatError(f"events.{place}: no event of a known kind")
    try:
        return cls.validated(pydantic_core.to_json(shape))
    except FormatError as error:
        raise FormatError(f"events.{place}.{error.message}", reason=error.reason) from error


def _check_order(events: tuple[Event, ...]) -> None:
    """Raises ValueError where the events are not in one canonical order."""
    for place, event in enumerate(events, start=1):
        if event.seq != place:
            raise ValueError(f"event {place} has seq {event.seq}")
        if event.after is None:
            continue
        if list(event.after) != sorted(set(event.after)):
            raise ValueError(f"event {place}: `after` is not ascending")
        if event.after and event.after[-1] >= place:
            raise ValueError(f"event {place} comes after a later one")
        if event.after == (place - 1,):
            raise ValueError(f"event {place}: `after` is left out where it is the event before")


class Trace(Wire):
    """What happened, event by event."""

    MAX_BYTES = 32 * 2**20

    format: Literal["agentproof/trace"]
    version: Literal[0]
    mode: Mode
    events: tuple[AnyEvent, ...]

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """As that of any wire type, but event by event.

        To build what validates every kind at once takes a tenth of a cold check; a trace holds few.
        """
        if len(raw) > cls.MAX_BYTES:
            raise FormatError(f"{len(raw)} bytes is over the limit of {cls.MAX_BYTES}", reason="too_large")
        document = parse(raw)
        shapes = document.pop("events", None) if isinstance(document, dict) else None
        if not isinstance(shapes, list):
            raise FormatError("events: not a list")
        head = _Head.validated(encode(document))
        events = tuple(_read_event(shape, place) for place, shape in enumerate(shapes))
        try:
            _check_order(events)
        except ValueError as error:
            raise FormatError(str(error)) from error
        trace = cls.model_construct(format=head.format, version=head.version, mode=head.mode, events=events)
        if (name := written_default(trace)) is not None:
            raise FormatError(f"{name} is written out although it is its default", reason="not_canonical")
        return trace

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        _check_order(self.events)
        return self

    def state_digests(self) -> frozenset[Sha256]:
        """Every state that the events refer to."""
        return frozenset(self.references())

    def references(self) -> Iterator[Sha256]:
        """The states that the events refer to, each as often as one does."""
        for event in self.events:
            found: tuple[Sha256 | None, ...] = ()
            match event:
                case StateMade() | StateSerialised() | RunStarted():
                    found = (event.snapshot,)
                case StateDecided() | StateObserved():
                    found = (event.before, event.snapshot)
                case StateRestored():
                    found = (event.source, event.snapshot)
                case RunEnded():
                    found = (event.snapshot, event.input_state)
                case _:
                    pass
            yield from (digest for digest in found if digest is not None)
