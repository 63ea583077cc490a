"""The event envelope (frozen) and the types that every kind of event shares."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from ..values import Value
from ..wire import Count, ListOf, Sha256, Text, Wire

Seq = Annotated[int, Field(ge=1, le=2**53 - 1)]
"""The place of an event in the canonical order, counted from 1."""

Label = Annotated[str, Field(pattern=r"^[A-Z][1-9][0-9]*$", max_length=16)]
"""A name for one object of the observed program, numbered by first appearance in canonical order:
R run, S state, Q result, M model call, D session, F frame, P process, T span, W trace."""

StateDigest = Sha256
"""The digest of a member under `states/`."""

ClassName = Annotated[str, Field(pattern=r"^[^\s:]+:\S+$", max_length=400)]
"""A Python class as `module:Qualname`."""

__all__ = [
    "ClassName",
    "Count",
    "Event",
    "Failure",
    "Label",
    "ListOf",
    "NEEDS_NEW_PYTHON",
    "SEES_MORE",
    "Tone",
    "Seq",
    "StateDigest",
    "Text",
    "Value",
    "Wire",
]


Tone = Literal["script", "run", "model", "tool", "state", "decision", "minor", "failure"]
"""What an event is about, for its colour; `minor` ones may be folded away."""

SEES_MORE: Final = "a recorder that sees more of these must not give another evidence id"
NEEDS_NEW_PYTHON: Final = "CPython before 3.12 cannot see them"


class Event(Wire):
    """What every event carries. A kind adds its own fields beside these, and its own words.

    A kind is registered by being there: with its fields in the schema, its words in every report.
    """

    if TYPE_CHECKING:
        kind: Any  # each kind's own Literal
    tone: ClassVar[Tone] = "script"
    no_evidence: ClassVar[str | None] = None
    """Why the evidence projection does not read this kind; None where it does (`models.projection`)."""

    seq: Seq
    """MUST count 1, 2, 3, … through the trace."""

    run: Label | None = None
    """The innermost run that the event belongs to; absent outside of all runs."""

    after: ListOf[Seq] | None = None
    """The events that must precede this one, ascending and smaller than `seq`; absent means the one
    just before it. Two events that no chain of these connects happened in parallel."""

    def words(self) -> str:
        """What happened, as a sentence in plain text; it may hold letters that nobody should print."""
        raise TypeError(f"{type(self).__name__} has no words of its own")

    def details(self) -> list[str]:
        """What it carries beyond its words, one line a part."""
        return []


class Failure(Wire):
    """An exception as it was seen."""

    type: ClassName

    message: Value
    """Its text. Python's own exceptions word theirs by version, so the evidence projection leaves it out."""

    bases: ListOf[ClassName] = ()
    """The classes above it, nearest first, without `builtins:object`."""

    data: Value | None = None
    """What the SDK attached to it (run data, guardrail result)."""

    cause: "Failure | None" = None
    """What it was raised from."""
