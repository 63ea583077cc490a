"""What the consumer of a streamed run saw."""

from typing import Literal

from .base import Count, Event, Failure, Label, Text, Value


class StreamBegan(Event):
    """Somebody began to consume `stream_events()` of the run `of_run`."""

    kind: Literal["stream.began"]
    of_run: Label


class StreamItem(Event):
    """A run item was announced."""

    kind: Literal["stream.item"]
    of_run: Label
    name: Text
    """The event's name, such as `tool_called`."""
    item: Value
    """As in the items of `run.ended`."""


class StreamAgent(Event):
    """Another agent was announced."""

    kind: Literal["stream.agent"]
    of_run: Label
    agent: Text


class StreamCancelled(Event):
    """The script called `cancel()`."""

    kind: Literal["stream.cancelled"]
    of_run: Label
    mode: Text | None = None


class StreamEnded(Event):
    """The consumer's end: `ended` by itself, `raised`, `cancelled` from outside, or `left` early."""

    kind: Literal["stream.ended"]
    of_run: Label
    outcome: Literal["ended", "raised", "cancelled", "left"]
    error: Failure | None = None
    count: Count
    """How many events the consumer was given, of all kinds."""
    raw: Value
    """The model's own events in it, as types."""
    task_done: bool | None = None
    """Whether the run's own task was over by then."""
