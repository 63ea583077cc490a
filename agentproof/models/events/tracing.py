"""Spans and traces as the SDK finished them, whoever processes them."""

from typing import Literal

from ..text import value_text
from .base import SEES_MORE, Event, Label, Text, Value


class SpanEnded(Event):
    """A span was finished."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["span.ended"]
    span: Label | None = None
    parent: Label | None = None
    """The span around it."""
    trace: Label | None = None
    span_type: Text
    name: Text | None = None
    error: Value | None = None
    data: Value | None = None
    """What else the span's data holds, without what a model's span says again of its call."""

    def words(self) -> str:
        name = f" {self.name}" if self.name else ""
        error = f": {value_text(self.error, 80)}" if self.error is not None else ""
        return f"span {self.span_type}{name} ends{error}"


class TraceEnded(Event):
    """A trace was finished."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["trace.ended"]
    trace: Label
    name: Text | None = None
    group_id: Value | None = None
    metadata: Value | None = None

    def words(self) -> str:
        return f"trace{f' {self.name}' if self.name else ''} ends"
