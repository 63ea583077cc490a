"""What the consumer of a streamed run saw."""

from typing import Literal

from ..items import fields_of
from .base import SEES_MORE, Count, Event, Failure, Label, Text, Value
from .phrases import describe_failure


class StreamBegan(Event):
    """Somebody began to consume `stream_events()` of the run `of_run`."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["stream.began"]
    of_run: Label

    def words(self) -> str:
        return f"the stream of {self.of_run} is read"


class StreamItem(Event):
    """A run item was announced."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["stream.item"]
    of_run: Label
    name: Text
    """The event's name, such as `tool_called`."""
    item: Value
    """As in the items of `run.ended`."""

    def words(self) -> str:
        raw = fields_of(self.item).get("type")
        return f"the stream of {self.of_run} tells {self.name} ({raw})"


class StreamAgent(Event):
    """Another agent was announced."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["stream.agent"]
    of_run: Label
    agent: Text

    def words(self) -> str:
        return f"the stream of {self.of_run} tells of agent {self.agent}"


class StreamCancelled(Event):
    """The script called `cancel()`."""

    tone = "run"
    no_evidence = SEES_MORE

    kind: Literal["stream.cancelled"]
    of_run: Label
    mode: Text | None = None

    def words(self) -> str:
        return f"the script cancels {self.of_run}" + (f" ({self.mode})" if self.mode else "")


class StreamEnded(Event):
    """The consumer's end: `ended` by itself, `raised`, `cancelled` from outside, or `left` early."""

    tone = "minor"
    no_evidence = SEES_MORE

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

    def words(self) -> str:
        error = f" {describe_failure(self.error)}" if self.error else ""
        return f"the stream of {self.of_run} has {self.outcome}{error} after {self.count} events"
