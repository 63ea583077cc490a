"""Spans and traces as the SDK finished them, whoever processes them."""

from typing import Literal

from .base import Event, Label, Text, Value


class SpanEnded(Event):
    """A span was finished."""

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


class TraceEnded(Event):
    """A trace was finished."""

    kind: Literal["trace.ended"]
    trace: Label
    name: Text | None = None
    group_id: Value | None = None
    metadata: Value | None = None
