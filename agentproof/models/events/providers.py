"""What goes over the wire between a model adapter of the SDK and its provider, as seen inside the process."""

from typing import Literal

from ..items import fields_of, items_of
from ..text import value_text
from .base import SEES_MORE, Count, Event, Failure, Label, ListOf, Text, Value
from .phrases import describe_failure, listed

_TOLD_BY_CALL = frozenset({"input", "messages", "instructions", "tools", "stream"})
"""Of a request: what the model's own call tells, or what nobody asks for."""


class ModelExchanged(Event):
    """A model adapter sent a request to its provider inside of a call of the model; told when that ends."""

    tone = "model"
    no_evidence = SEES_MORE

    kind: Literal["model.exchanged"]
    call: Label
    method: Text
    host: Text | None = None
    """Without a port."""
    path: Text
    """Without the query, where some providers take keys. Headers are not told either."""
    request: Value | None = None
    """The body as JSON where it is JSON, else as text; absent where there is none or it is too large."""
    request_size: Count | None = None
    """In bytes, where it is too large."""
    request_digest: Text | None = None
    """SHA-256 of such a body."""
    status: Count | None = None
    """Absent where no answer came."""
    response: Value | None = None
    """As `request`; absent for a stream."""
    response_size: Count | None = None
    response_digest: Text | None = None
    events: ListOf[Value] | None = None
    """The data of each event of a stream, as JSON where it is JSON, up to `[DONE]`."""
    cut: bool = False
    """True where only the first of a long stream's events are told."""
    error: Failure | None = None
    """What was raised while it was sent or its answer was read."""

    def words(self) -> str:
        asked = f"{self.call} sends {self.method} {self.host or ''}{self.path}"
        if self.status is None:
            return f"{asked}: {describe_failure(self.error)}" if self.error else f"{asked}: no answer"
        streamed = "" if self.events is None else f", a stream of {len(self.events)} events"
        broken = f", then {describe_failure(self.error)}" if self.error else ""
        return f"{asked}: {self.status}{streamed}{broken}"

    def details(self) -> list[str]:
        """What was sent besides the conversation, and what came back."""
        sent = fields_of(self.request)
        told = []
        if sent:
            items = items_of(sent.get("input", sent.get("messages")))
            names = [_tool(tool) for tool in items_of(sent.get("tools"))]
            tools = f", tools {listed(names, 6)}" if names else ""
            rest = {name: part for name, part in sent.items() if name not in _TOLD_BY_CALL}
            count = f"{len(items)} item{'' if len(items) == 1 else 's'}"
            told.append(f"sent: {count}{tools}, {value_text(rest, 300)}")
        elif self.request_size is not None:
            told.append(f"sent: {self.request_size:,} bytes")
        if self.response is not None:
            told.append(f"came back: {value_text(self.response, 400)}")
        told += [f"last event: {value_text(event, 300)}" for event in (self.events or ())[-2:]]
        return told


def _tool(tool: object) -> str:
    fields = fields_of(tool)
    name = fields_of(fields.get("function")).get("name") or fields.get("name") or fields.get("type")
    return str(name)


class ModelStreamed(Event):
    """The events that a model adapter made of its provider's answer, each with its places; told once the call
    of the model ends, where the adapter asked a provider."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["model.streamed"]
    call: Label
    events: ListOf[Value]
    """`{"type", "output_index", "content_index", "summary_index", "item_id", "times"}` as far as an event has
    them; `times` where several that are alike follow each other."""
    cut: bool = False

    def words(self) -> str:
        return f"the model class turns the answer to {self.call} into events"

    def details(self) -> list[str]:
        """The events in their order, those that are alike as one."""
        told = [fields_of(each) for each in self.events]
        return [
            f"{fields.get('type')}"
            + (f" at output_index {fields['output_index']}" if "output_index" in fields else "")
            + (f", {fields['times']} times" if "times" in fields else "")
            for fields in told
        ]
