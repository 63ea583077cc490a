"""Spans and traces as they are finished (standard library only)."""

import sys
from typing import Any, List

from ...events import guarded, journal, label
from ...patching import hide, patch
from ...values import encode, optional_text, text


def _finish(original: Any) -> Any:
    def finish(self: Any, *args: Any, **kwargs: Any) -> Any:
        first = not journal().is_silent and getattr(self, "ended_at", None) is None
        try:
            given = original(self, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise
        if first:
            _finished(self)
        return given

    return finish


@guarded("spans")
def _finished(span: Any) -> None:
    data = span.span_data
    name = getattr(data, "name", None) or getattr(data, "agent_name", None)
    parent = getattr(span, "parent_id", None)
    journal().emit(
        "span.ended",
        {
            "span": label("T", span.span_id),
            "parent": None if parent is None else label("T", parent),
            "trace": label("W", span.trace_id),
            "span_type": text(getattr(data, "type", type(data).__name__)),
            "name": optional_text(name),
            "error": None if span.error is None else encode(span.error),
            "data": _said(data) or None,
        },
    )


_TOLD_ELSEWHERE = frozenset({"type", "name", "input", "response", "_response_id", "model_config"})
"""Of span data: what the event says itself, or what the model's own events say."""


def _said(data: Any) -> Any:
    """What a trace processor finds in the span, read without calling anything."""
    names = [name for cls in type(data).__mro__ for name in getattr(cls, "__slots__", ())]
    names += list(getattr(data, "__dict__", ()))
    of_model = "response" in names or "model_config" in names
    return {
        name: encode(getattr(data, name))
        for name in dict.fromkeys(names)
        if getattr(data, name, None) is not None
        and (name not in _TOLD_ELSEWHERE or (name == "input" and not of_model))
        and not (of_model and name == "output")
    }


def _trace_finish(original: Any) -> Any:
    def finish(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            given = original(self, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise
        if not journal().is_silent:
            _trace_finished(self)
        return given

    return finish


@guarded("spans")
def _trace_finished(trace: Any) -> None:
    fields = {"trace": label("W", trace.trace_id), "name": optional_text(getattr(trace, "name", None))}
    for name in ("group_id", "metadata"):
        found = getattr(trace, name, None)
        fields[name] = None if found is None else encode(found)
    journal().emit("trace.ended", fields)


def install() -> List[str]:
    """Hook finished spans and traces."""
    spans = sys.modules.get("agents.tracing.spans")
    gaps: List[str] = []
    if spans is None:
        gaps.append("this release has no spans")
    else:
        patch(spans.SpanImpl, "finish", _finish)
    traces = sys.modules.get("agents.tracing.traces")
    if traces is not None and hasattr(traces, "TraceImpl"):
        patch(traces.TraceImpl, "finish", _trace_finish)
    return gaps
