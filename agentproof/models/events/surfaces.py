"""Calls across the border between the script and parts of the SDK that have no events of their own."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from ..text import one_line, value_text
from .base import SEES_MORE, Count, Event, Failure, Label, Text, Value
from .phrases import describe_failure

_WIDE: Final = 200
"""Letters of a sentence."""

Part = Annotated[str, Field(pattern=r"^[a-z][a-z-]*$", max_length=40)]


def _shown(value: Any) -> str:  # Any: a value
    """A value as a call would write it: objects by their class and what they hold."""
    if isinstance(value, dict) and "$object" in value:
        name = str(value["$object"]).rpartition(":")[2]
        fields = value.get("fields")
        return f"{name}({_given(fields) if isinstance(fields, dict) else ''})"
    if isinstance(value, dict) and value.keys() == {"$opaque"}:
        return f"<{str(value['$opaque']).rpartition(':')[2]}>"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict) and not any(name.startswith("$") for name in value):
        return "{" + ", ".join(f"{name}: {_shown(each)}" for name, each in value.items()) + "}"
    return value_text(value)


def _given(fields: dict[str, Any]) -> str:  # Any: values
    """What was given, without what is not set."""
    return ", ".join(f"{name}={_shown(each)}" for name, each in fields.items() if each is not None)


class SurfaceCalled(Event):
    """An entry point of such a part was called, by the script or by the SDK."""

    no_evidence = SEES_MORE

    kind: Literal["surface.called"]
    call: Label
    part: Part
    by_sdk: bool
    """True where the SDK's own code asked."""
    name: Text
    """The function, as Python names it: `RealtimeSession.send_message`."""
    arguments: Value
    """By name; of bytes and audio the length and the digest."""

    def words(self) -> str:
        who = "the SDK" if self.by_sdk else "the script"
        given = self.arguments if isinstance(self.arguments, dict) else {}
        return one_line(f"{who} calls {self.name}({_given(given)})", _WIDE)


class SurfaceEnded(Event):
    """Such a call ended; one that has no such event was still under way when the script ended."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["surface.ended"]
    call: Label
    result: Value | None = None
    """What it gave; absent where that was nothing."""
    items: Count | None = None
    """How many items an iterator gave."""
    left_after: Count | None = None
    """How many it gave before its reader left."""
    digest: Text | None = None
    """Of all that an iterator gave, in its order."""
    error: Failure | None = None

    def words(self) -> str:
        if self.error is not None:
            return f"call {self.call} raises {describe_failure(self.error)}"
        if self.left_after is not None:
            return f"call {self.call} is left after {self.left_after} items"
        if self.items is not None:
            return f"call {self.call} ends after {self.items} items"
        return f"call {self.call} returns" + (
            "" if self.result is None else f" {one_line(_shown(self.result), _WIDE)}"
        )


class SurfaceTold(Event):
    """What a realtime session told its reader; `tool_end` tells that a tool ran."""

    no_evidence = SEES_MORE

    kind: Literal["surface.told"]
    part: Part
    name: Text
    """The event's type: `tool_start`, `history_added` …"""
    fields: Value

    def words(self) -> str:
        shown = _given(self.fields) if isinstance(self.fields, dict) else ""
        return one_line(f"the {self.part} session tells {self.name}" + (f": {shown}" if shown else ""), _WIDE)
