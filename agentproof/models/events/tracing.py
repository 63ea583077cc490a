"""Spans as the SDK finished them, whoever processes them."""

from typing import Literal

from ._base import Event, Text, Value


class SpanEnded(Event):
    """A span was finished."""

    kind: Literal["span.ended"]
    span_type: Text
    name: Text | None = None
    error: Value | None = None
