"""What the consumer of a streamed run saw, and how that ended (standard library only)."""

import asyncio
import sys
from typing import Any, AsyncIterator, Dict, List, Optional

from ...events import guarded, journal
from ...patching import hide, patch
from ...values import optional_text, text
from . import facts, runs


class _Consumer:
    """One pass over `stream_events()`."""

    def __init__(self, found: "runs.Run") -> None:
        self.found = found
        self.count = 0
        self.raw: List[str] = []

    def emit(self, kind: str, fields: Dict[str, Any]) -> None:
        task = self.found.running_task()
        if task is not None:
            journal().lanes.follow(task)
        journal().emit(kind, {"of_run": self.found.label, **fields})

    @guarded("streams")
    def began(self) -> None:
        self.emit("stream.began", {})

    @guarded("streams")
    def given(self, event: Any) -> None:
        self.count += 1
        kind = getattr(event, "type", None)
        if kind == "run_item_stream_event":
            self.emit("stream.item", {"name": text(event.name), "item": facts.item(event.item)})
        elif kind == "agent_updated_stream_event":
            self.emit("stream.agent", {"agent": text(getattr(event.new_agent, "name", None))})
        else:
            data = getattr(event, "data", None)
            self.raw.append(text(getattr(data, "type", type(data).__name__)))

    @guarded("streams")
    def ended(self, outcome: str, error: Optional[BaseException] = None) -> None:
        task = self.found.running_task()
        fields: Dict[str, Any] = {"outcome": outcome, "count": self.count, "raw": self.raw}
        if error is not None:
            fields["error"] = facts.error(error)
        if task is not None:
            fields["task_done"] = task.done()
        self.emit("stream.ended", fields)


def _stream_events(original: Any) -> Any:
    async def stream_events(self: Any) -> AsyncIterator[Any]:
        found = None if journal().is_silent else runs.stream_of(self)
        source = original(self)
        if found is None:
            async for event in source:
                yield event
            return
        consumer = _Consumer(found)
        consumer.began()
        try:
            async for event in source:
                consumer.given(event)
                yield event
        except GeneratorExit:
            await source.aclose()
            consumer.ended("left")
            runs.ended(found, self, None, "cancelled" if found.cancelled else "left")
            raise
        except BaseException as raised:
            cancelled = isinstance(raised, asyncio.CancelledError)
            consumer.ended("cancelled" if cancelled else "raised", raised)
            runs.ended(found, None, raised, "cancelled" if cancelled else "raised")
            hide(raised)
            raise
        consumer.ended("ended")
        runs.ended(found, self, None, "cancelled" if found.cancelled else "returned")

    return stream_events


def _cancel(original: Any) -> Any:
    def cancel(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not journal().is_silent and facts.called_from_outside(sys._getframe(1)):
            _cancelled(self, args, kwargs)
        try:
            return original(self, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise

    return cancel


@guarded("streams")
def _cancelled(result: Any, args: Any, kwargs: Dict[str, Any]) -> None:
    found = runs.stream_of(result)
    if found is not None:
        found.cancelled = True
        mode = optional_text(args[0] if args else kwargs.get("mode"))
        journal().emit("stream.cancelled", {"of_run": found.label, "mode": mode})


def install() -> List[str]:
    """Hook the streamed result."""
    streaming = sys.modules["agents.result"].RunResultStreaming
    patch(streaming, "stream_events", _stream_events)
    patch(streaming, "cancel", _cancel)
    return []
