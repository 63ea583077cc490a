"""A trace: the events of one run of the script in one mode, in one canonical order."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import model_validator

from .events import (
    KINDS,
    Event,
    RunEnded,
    RunStarted,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    StateSerialised,
)
from .wire import ByKind, ListOf, Sha256, Version, Wire

Mode = Literal["as-written", "streamed"]


_REFERRING: Mapping[type[Event], tuple[str, ...]] = {
    RunEnded: ("snapshot", "input_state"),
    RunStarted: ("snapshot",),
    StateDecided: ("before", "snapshot"),
    StateMade: ("snapshot",),
    StateObserved: ("before", "snapshot"),
    StateRestored: ("source", "snapshot"),
    StateSerialised: ("snapshot",),
}
"""The fields that hold a state's digest, by kind of event."""


class Trace(Wire):
    """What happened, event by event."""

    MAX_BYTES = 32 * 2**20

    format: Literal["agentproof/trace"]
    version: Version
    mode: Mode
    events: ListOf[Annotated[Event, ByKind(KINDS)]]

    @model_validator(mode="after")
    def _order(self) -> Self:
        """The events are in one canonical order."""
        for place, event in enumerate(self.events, start=1):
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
        return self

    def state_digests(self) -> frozenset[Sha256]:
        """Every state that the events refer to."""
        return frozenset(self.references())

    def references(self) -> Iterator[Sha256]:
        """The states that the events refer to, each as often as one does."""
        for event in self.events:
            for name in _REFERRING.get(type(event), ()):
                digest: Sha256 | None = getattr(event, name)
                if digest is not None:
                    yield digest
