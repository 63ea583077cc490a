"""Runs: nested ones as a tree, streamed ones up to their consumer's end (standard library only).

1. `AgentRunner.run` and `run_streamed` are patched; agents used as tools pass through them too.
2. A streamed run ends where its consumer does. The end of its own task is an event of its own.
3. In the `streamed` mode a plain run that was called from outside the SDK goes through
   `run_streamed` and is drained; what the SDK starts itself stays as it is.
"""

import asyncio
import contextvars
import inspect
import sys
import weakref
from typing import Any, AsyncIterator, Dict, List, Optional

from ...events import During, guarded, journal, watching
from ...events import run as current_run
from ...patching import hide, patch
from ...values import encode, optional_text, text, type_name
from . import facts, models, states

routing = False
"""True in the `streamed` mode."""

_reroute: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_reroute", default=False)
"""True for the next run, when its call came from outside of the SDK."""

_rerouting: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_rerouting", default=False)
"""True while the `streamed` mode itself starts a streamed run."""

_FLAGS = (
    "call_model_input_filter",
    "session_input_callback",
    "handoff_input_filter",
    "nest_handoff_history",
    "tool_error_formatter",
    "tracing_disabled",
)
_streams: Dict[int, "_Run"] = {}


class _Run:
    """What is known of a run between its start and its end."""

    def __init__(self, label: Dict[str, str], streamed: bool) -> None:
        self.label = label
        self.streamed = streamed
        self.state: Optional["weakref.ref[Any]"] = None
        self.result: Optional["weakref.ref[Any]"] = None
        self.task: Optional["weakref.ref[Any]"] = None
        self.outer: Optional[Dict[str, str]] = None
        self.cancelled = False
        self.ended = False


@guarded("runs")
def _started(agent: Any, given: Any, options: Dict[str, Any], *, streamed: bool, routed: bool) -> _Run:
    found = _Run(journal().new_label("R"), streamed)
    found.outer = current_run.get()
    fields: Dict[str, Any] = {
        "parent": found.outer,
        "agent": text(getattr(agent, "name", None)),
        "streamed": streamed,
        "routed": routed or None,
        "settings": _settings(agent, options),
    }
    context = options.get("context")
    if context is not None:
        fields["context"] = type_name(context)
    if found.outer is not None:
        fields["call_id"] = optional_text(getattr(context, "tool_call_id", None))
    if isinstance(options.get("max_turns"), int):
        fields["max_turns"] = options["max_turns"]
    if options.get("session") is not None:
        fields["session"] = states.name_of("D", options["session"])
    if states.is_state(given):
        found.state = weakref.ref(given)
        if found.outer is None:
            states.watch(given)
        fields["state"] = states.name_of("S", given)
        snapshot = _snapshot(given, "run_start")
        fields["snapshot"] = None if snapshot is None else {"$state": snapshot}
        states.begin_run(given)
    else:
        states.boundary("run_start")
        fields["input"] = encode(given)
    journal().emit("run.started", fields, of_run=found.label)
    return found


def _snapshot(state: Any, moment: str) -> Any:
    """The state's JSON at this boundary, whether or not the script holds it."""
    if states.is_watched(state):
        states.boundary(moment)
        return states.last_of(state)
    return states.boundary(moment, None, {"state": state}).get("state")


def _settings(agent: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    config = options.get("run_config")
    fields: Dict[str, Any] = {}
    for name in _FLAGS:
        found = facts.read(config, name)
        if found is not None:
            fields[name] = found if isinstance(found, bool) else True
    limit = facts.read(facts.read(config, "session_settings"), "limit")
    if isinstance(limit, int):
        fields["session_limit"] = limit
    managed = [
        n for n in ("previous_response_id", "conversation_id", "auto_previous_response_id") if options.get(n)
    ]
    if managed:
        fields["server_managed"] = True
    behavior = getattr(agent, "tool_use_behavior", None)
    if behavior is not None:
        fields["tool_use_behavior"] = behavior if isinstance(behavior, str) else type_name(behavior)
    handlers = options.get("error_handlers")
    if isinstance(handlers, dict) and handlers:
        fields["error_handlers"] = sorted(text(name) for name in handlers)
    output_type = getattr(agent, "output_type", None)
    if output_type is not None:
        fields["output_type"] = text(getattr(output_type, "__name__", type(output_type).__name__))
    return fields


@guarded("runs")
def _ended(found: Optional[_Run], result: Any, error: Optional[BaseException], outcome: str) -> None:
    if found is None or found.ended or journal().is_silent:
        return
    found.ended = True
    task = found.task() if found.task is not None else None
    if task is not None:
        journal().lanes.follow(task)
    questions: Dict[str, Any] = {}
    if result is not None and states.state_class is not None:
        questions["snapshot"] = lambda: states.made_of(result)
    state = found.state() if found.state is not None else None
    others = {"input_state": state} if state is not None and not states.is_watched(state) else None
    answers = states.boundary("run_end", questions, others)
    if state is not None:
        states.end_run(state)
        if others is None:
            answers["input_state"] = states.last_of(state)
    fields: Dict[str, Any] = {"outcome": outcome}
    for name in ("snapshot", "input_state"):
        if answers.get(name) is not None:
            fields[name] = {"$state": answers[name]}
    if error is not None:
        fields["error"] = facts.error(error)
    if result is not None:
        fields.update(_result(result))
    journal().emit("run.ended", fields, of_run=found.label)


def _result(result: Any) -> Dict[str, Any]:
    fields: Dict[str, Any] = {
        "result": states.name_of("Q", result),
        "final_output": encode(result.final_output),
        "output_type": type_name(result.final_output),
        "items": [facts.item(each) for each in result.new_items],
        "responses": len(result.raw_responses),
        "usage": facts.usage(getattr(getattr(result, "context_wrapper", None), "usage", None)),
        "interruptions": [facts.interruption(each) for each in getattr(result, "interruptions", None) or ()],
    }
    with watching("runs"):
        fields["last_agent"] = optional_text(getattr(result.last_agent, "name", None))
    return fields


def _label(found: Optional[_Run]) -> Optional[Dict[str, str]]:
    return found.label if found is not None else current_run.get()


def _run(original: Any) -> Any:
    async def run(self: Any, starting_agent: Any, input: Any, **kwargs: Any) -> Any:
        if journal().is_silent:
            return await original(self, starting_agent, input, **kwargs)
        if _reroute.get():
            with During(_reroute, False):
                return await _drained(self, starting_agent, input, kwargs)
        found = _started(starting_agent, input, kwargs, streamed=False, routed=False)
        try:
            with During(current_run, _label(found)), During(models.rerouted, False):
                result = await original(self, starting_agent, input, **kwargs)
        except BaseException as raised:
            _ended(found, None, raised, _outcome_of(raised))
            hide(raised)
            raise
        _ended(found, result, None, "returned")
        return result

    return run


def _outcome_of(error: BaseException) -> str:
    return "cancelled" if isinstance(error, asyncio.CancelledError) else "raised"


async def _drained(runner: Any, agent: Any, given: Any, options: Dict[str, Any]) -> Any:
    with During(_rerouting, True):
        result = runner.run_streamed(agent, given, **options)
    async for _ in result.stream_events():
        pass
    return result


def _run_streamed(original: Any) -> Any:
    def run_streamed(self: Any, starting_agent: Any, input: Any, **kwargs: Any) -> Any:
        if journal().is_silent:
            return original(self, starting_agent, input, **kwargs)
        routed = _rerouting.get()
        found = _started(starting_agent, input, kwargs, streamed=True, routed=routed)
        try:
            with During(current_run, _label(found)), During(models.rerouted, routed):
                result = original(self, starting_agent, input, **kwargs)
        except BaseException as raised:
            _ended(found, None, raised, _outcome_of(raised))
            hide(raised)
            raise
        if found is not None:
            _follow(found, result)
        return result

    return run_streamed


@guarded("runs")
def _follow(found: _Run, result: Any) -> None:
    key = id(result)
    found.result = weakref.ref(result, lambda _: _streams.pop(key, None))
    _streams[key] = found
    task = getattr(result, "run_loop_task", None) or getattr(result, "_run_impl_task", None)
    if task is None:
        raise RuntimeError("a streamed run has no task")
    found.task = weakref.ref(task)
    task.add_done_callback(lambda done: _task_done(found, done))


@guarded("runs")
def _task_done(found: _Run, task: Any) -> None:
    """The run's own task is over, whether or not anybody listens."""
    fields: Dict[str, Any] = {"outcome": "cancelled" if task.cancelled() else "returned"}
    if not task.cancelled():
        # `exception()` marks the failure as retrieved, which would silence asyncio's own complaint.
        error = getattr(task, "_exception", None)
        if error is not None:
            fields.update(outcome="raised", error=facts.error(error))
    journal().emit("run.task_ended", fields, lane=journal().lanes.of_task(task), of_run=found.label)


def _stream_events(original: Any) -> Any:
    async def stream_events(self: Any) -> AsyncIterator[Any]:
        found = None if journal().is_silent else _streams.get(id(self))
        source = original(self)
        try:
            async for event in source:
                yield event
        except GeneratorExit:
            await source.aclose()
            _ended(found, self, None, "cancelled" if found and found.cancelled else "left")
            raise
        except BaseException as raised:
            _ended(found, None, raised, _outcome_of(raised))
            hide(raised)
            raise
        _ended(found, self, None, "cancelled" if found and found.cancelled else "returned")

    return stream_events


def _cancel(original: Any) -> Any:
    def cancel(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _streams.get(id(self))
        if found is not None and facts.called_from_outside(sys._getframe(1)) and not journal().is_silent:
            found.cancelled = True
        try:
            return original(self, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise

    return cancel


def _outside(original: Any) -> Any:
    """`Runner.run` and `run_sync` in the `streamed` mode: remember whether the SDK itself called."""

    if inspect.iscoroutinefunction(original):

        def run(cls: Any, *args: Any, **kwargs: Any) -> Any:
            return _marked(original, facts.called_from_outside(sys._getframe(1)), cls, args, kwargs)

        mark = getattr(inspect, "markcoroutinefunction", None)
        return mark(run) if mark is not None else run

    def run_sync(cls: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with During(_reroute, facts.called_from_outside(sys._getframe(1))):
                return original(cls, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise

    return run_sync


async def _marked(original: Any, outside: bool, cls: Any, args: Any, kwargs: Any) -> Any:
    try:
        with During(_reroute, outside):
            return await original(cls, *args, **kwargs)
    except BaseException as raised:
        hide(raised)
        raise


def finish() -> None:
    """Runs that nobody saw the end of when the script is over."""
    for found in list(_streams.values()):
        result = found.result() if found.result is not None else None
        if result is not None and not found.ended:
            _ended(found, result, None, "unfinished")


def install() -> List[str]:
    """Hook the runner and the streamed result."""
    module = sys.modules["agents.run"]
    runner = getattr(module, "AgentRunner", None)
    if runner is None:
        return ["this release has no AgentRunner"]
    patch(runner, "run", _run)
    patch(runner, "run_streamed", _run_streamed)
    streaming = sys.modules["agents.result"].RunResultStreaming
    patch(streaming, "stream_events", _stream_events)
    patch(streaming, "cancel", _cancel)
    if routing:
        for name in ("run", "run_sync"):
            patch(module.Runner, name, _outside)
    return []
