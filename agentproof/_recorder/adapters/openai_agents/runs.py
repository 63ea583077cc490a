"""Runs: nested ones as a tree, streamed ones up to their consumer's end (standard library only).

1. `AgentRunner.run` and `run_streamed` are patched; agents used as tools pass through them too.
2. A streamed run ends where its consumer does (`streams`). The end of its own task is an event of
   its own.
3. In the `streamed` mode a plain run that was called from outside the SDK goes through
   `run_streamed` and is drained; what the SDK starts itself stays as it is.
"""

import asyncio
import contextvars
import inspect
import sys
import weakref
from typing import Any, Dict, List, Optional

from ... import reachability, snapshots
from ...events import During, guarded, journal, pause, watching
from ...events import run as current_run
from ...patching import hide, is_own, patch
from ...values import optional_text, text, type_name
from . import facts, hooks, models, sessions, states, tools, watch

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
_MANAGED = ("previous_response_id", "conversation_id", "auto_previous_response_id")
_streams: Dict[int, "Run"] = {}
_open: List["Run"] = []
"""Streamed runs whose end nobody has seen so far."""


class Run:
    """What is known of a run between its start and its end."""

    def __init__(self, label: Dict[str, str], outer: Optional[Dict[str, str]]) -> None:
        self.label = label
        self.outer = outer
        self.state: Optional["weakref.ref[Any]"] = None
        self.session: Any = None  # held while the run is going on, as the SDK itself holds it
        self.result: Optional["weakref.ref[Any]"] = None
        self.task: Optional["weakref.ref[Any]"] = None
        self.cancelled = False
        self.ended = False
        self.visible = True
        """False for a run that the SDK itself started inside of another: nobody else sees its result."""

    def running_task(self) -> Any:
        """The task of a streamed run."""
        return self.task() if self.task is not None else None


def stream_of(result: Any) -> Optional[Run]:
    """The run whose streamed result this is."""
    return _streams.get(id(result))


@guarded("runs")
def _started(agent: Any, given: Any, options: Dict[str, Any], *, streamed: bool, routed: bool) -> Run:
    outer = current_run.get()
    begun = _begun.get()
    if begun is not None:
        begun.append(True)
    found = Run(journal().new_label("R"), outer)
    context = options.get("context")
    with watching("hooks"):
        hooks.see(options.get("hooks"))
    fields: Dict[str, Any] = {
        "parent": outer,
        "agent": text(getattr(agent, "name", None)),
        "streamed": streamed,
        "routed": routed,
        "settings": _settings(agent, options),
        "context": None if context is None else type_name(context),
        "call_id": None if outer is None else optional_text(getattr(context, "tool_call_id", None)),
    }
    if isinstance(options.get("max_turns"), int):
        fields["max_turns"] = options["max_turns"]
    questions: Dict[str, watch.Question] = {}
    if options.get("session") is not None:
        found.session = options["session"]
        sessions.see(found.session)
        fields["session"] = watch.name_of("D", found.session)
        questions["session_before"] = sessions.contents_of(found.session)
    others = _resumed(found, given, fields) if watch.is_state(given) else None
    answers = watch.boundary("run_start", questions, others)
    if watch.is_state(given):
        snapshot = answers.get("state") if others else watch.last_of(given)
        fields["snapshot"] = None if snapshot is None else {"$state": snapshot}
        tools.calls_of(found.label).resumed(snapshot)
        watch.begin_run(given)
    else:
        fields["input"] = facts.plain_item(given)
        fields["usage"] = facts.usage(getattr(context, "usage", None))
    for name in ("session_before", "unanswered"):
        fields[name] = answers.get(name)
    journal().emit("run.started", fields, of_run=found.label)
    return found


def _resumed(found: Run, state: Any, fields: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """Note that the run goes on from `state`; give it back if only this boundary is to look at it."""
    found.state = weakref.ref(state)
    if found.outer is None:
        watch.state(state)
    fields["state"] = watch.name_of("S", state)
    fields["usage"] = facts.usage(getattr(getattr(state, "_context", None), "usage", None))
    return None if watch.is_watched(state) else {"state": state}


def _settings(agent: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    """What changes what a rule may expect of this run."""
    config = options.get("run_config")
    fields: Dict[str, Any] = {}
    for name in _FLAGS:
        found = facts.read(config, name)
        if found is not None:
            fields[name] = found if isinstance(found, bool) else True
    limit = facts.read(facts.read(config, "session_settings"), "limit")
    if isinstance(limit, int):
        fields["session_limit"] = limit
    if any(options.get(name) for name in _MANAGED):
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
    fields["handoffs"] = len(getattr(agent, "handoffs", None) or ())
    return fields


@guarded("runs")
def ended(found: Optional[Run], result: Any, error: Optional[BaseException], outcome: str) -> None:
    """Tell how a run ended; only the first end counts."""
    if found is None or found.ended or journal().is_silent:
        return
    found.ended = True
    if found in _open:
        _open.remove(found)
    task = found.running_task()
    if task is not None:
        journal().lanes.follow(task)
    fields: Dict[str, Any] = {"outcome": outcome}
    questions: Dict[str, watch.Question] = {}
    if result is not None and found.visible:
        questions["input_list"] = watch.Question(
            lambda: facts.plain_item(result.to_input_list()), here=lambda: _input_list(result)
        )
        if watch.state_class is not None and getattr(result, "interruptions", None):
            questions["snapshot"] = watch.Question(lambda: states.made_of(result))
    if found.session is not None:
        fields["session"] = watch.name_of("D", found.session)
        questions["session_after"] = sessions.contents_of(found.session)
    state = found.state() if found.state is not None else None
    others = {"input_state": state} if state is not None and not watch.is_watched(state) else None
    answers = watch.boundary("run_end", questions, others)
    found.session = None
    if state is not None:
        watch.end_run(state)
        if others is None:
            answers["input_state"] = watch.last_of(state)
    for name in ("snapshot", "input_state"):
        if answers.get(name) is not None:
            fields[name] = {"$state": answers[name]}
    for name in ("input_list", "session_after", "unanswered"):
        fields[name] = answers.get(name)
    if error is not None:
        fields["error"] = facts.error(error)
    if result is not None:
        fields.update(_result(result))
    journal().emit("run.ended", fields, of_run=found.label)
    if result is not None and outcome == "returned" and found.outer is None:
        watch.result(result, found.label)


def _input_list(result: Any) -> Any:
    """What `to_input_list()` says: it only reads, as long as it is the SDK's own."""
    if not facts.is_sdk(type(result).__module__):
        raise snapshots.UnavailableError("the result is of a class of the script's own")
    with pause(), snapshots.quiet_logging("openai.agents"), snapshots.put_back(result):
        return facts.plain_item(result.to_input_list())


def _result(result: Any) -> Dict[str, Any]:
    fields: Dict[str, Any] = {
        **facts.result(result),
        "result": watch.name_of("Q", result),
        "output_type": type_name(result.final_output),
        "responses": len(result.raw_responses),
    }
    with watching("runs"):
        fields["last_agent"] = optional_text(getattr(result.last_agent, "name", None))
    return fields


def _run(original: Any) -> Any:
    async def run(self: Any, starting_agent: Any, input: Any, **kwargs: Any) -> Any:
        if journal().is_silent:
            return await original(self, starting_agent, input, **kwargs)
        if _reroute.get():
            try:
                with During(_reroute, False):
                    return await _drained(self, starting_agent, input, kwargs)
            except BaseException as raised:
                hide(raised)
                raise
        found = _started(starting_agent, input, kwargs, streamed=False, routed=False)
        _note_caller(found, sys._getframe(1))
        try:
            with During(current_run, _label(found)), During(models.rerouted, False):
                result = await original(self, starting_agent, input, **kwargs)
        except BaseException as raised:
            ended(found, None, raised, _outcome_of(raised))
            hide(raised)
            raise
        ended(found, result, None, "returned")
        return result

    return run


@guarded("runs")
def _note_caller(found: Optional[Run], frame: Any) -> None:
    """`frame` is that of `Runner.run`; the one behind it tells who asked for a nested run."""
    if found is None or found.outer is None:
        return
    caller = frame.f_back
    while caller is not None and is_own(caller):
        caller = caller.f_back
    found.visible = caller is None or facts.called_from_outside(caller)


def _label(found: Optional[Run]) -> Optional[Dict[str, str]]:
    return found.label if found is not None else current_run.get()


def _outcome_of(error: BaseException) -> str:
    return "cancelled" if isinstance(error, asyncio.CancelledError) else "raised"


async def _drained(runner: Any, agent: Any, given: Any, options: Dict[str, Any]) -> Any:
    with During(_rerouting, True):
        result = runner.run_streamed(agent, given, **options)
    try:
        async for _ in result.stream_events():
            pass
    except BaseException as raised:
        hide(raised)
        raise
    return result


def _run_streamed(original: Any) -> Any:
    def run_streamed(self: Any, starting_agent: Any, input: Any, **kwargs: Any) -> Any:
        if journal().is_silent:
            return original(self, starting_agent, input, **kwargs)
        routed = _rerouting.get()
        found = _started(starting_agent, input, kwargs, streamed=True, routed=routed)
        _note_caller(found, sys._getframe(1))
        try:
            with (
                During(current_run, _label(found)),
                During(models.rerouted, routed),
                During(_rerouting, False),
            ):
                result = original(self, starting_agent, input, **kwargs)
        except BaseException as raised:
            ended(found, None, raised, _outcome_of(raised))
            hide(raised)
            raise
        if found is not None:
            _follow(found, result)
        return result

    return run_streamed


@guarded("runs")
def _follow(found: Run, result: Any) -> None:
    key = id(result)
    found.result = weakref.ref(result, lambda _: _dropped(key))
    _streams[key] = found
    _open.append(found)
    task = getattr(result, "run_loop_task", None) or getattr(result, "_run_impl_task", None)
    if task is None:
        raise RuntimeError("a streamed run has no task")
    found.task = weakref.ref(task)
    task.add_done_callback(lambda done: _task_ended(found, done))


def _dropped(key: int) -> None:
    """Nobody can listen to this stream any more, and what the SDK held for it is let go."""
    found = _streams.pop(key, None)
    if found is not None:
        found.session = None


@guarded("runs")
def _task_ended(found: Run, task: Any) -> None:
    """The run's own task is over, whether or not anybody listens."""
    fields: Dict[str, Any] = {"outcome": "cancelled" if task.cancelled() else "returned"}
    if not task.cancelled():
        # `exception()` marks the failure as retrieved, which would silence asyncio's own complaint.
        error = getattr(task, "_exception", None)
        if error is not None:
            fields.update(outcome="raised", error=facts.error(error))
    journal().emit("run.task_ended", fields, lane=journal().lanes.of_task(task), of_run=found.label)


_begun: "contextvars.ContextVar[Optional[List[bool]]]" = contextvars.ContextVar(
    "agentproof_begun", default=None
)
"""A list that is filled once a run begins inside of the entry point that was called."""


def _entry(name: str, *, is_routed: bool) -> Any:
    """`Runner.run` and its like: one that raises before any run began leaves no other trace."""

    def make(original: Any) -> Any:
        return _outside(watched(original)) if is_routed else watched(original)

    def watched(original: Any) -> Any:
        if inspect.iscoroutinefunction(original):

            async def run(cls: Any, *args: Any, **kwargs: Any) -> Any:
                begun: List[bool] = []
                try:
                    with During(_begun, begun):
                        return await original(cls, *args, **kwargs)
                except BaseException as raised:
                    _refused(name, begun, args, kwargs, raised)
                    hide(raised)
                    raise

            return run

        def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
            begun: List[bool] = []
            try:
                with During(_begun, begun):
                    return original(cls, *args, **kwargs)
            except BaseException as raised:
                _refused(name, begun, args, kwargs, raised)
                hide(raised)
                raise

        return call

    return make


@guarded("runs")
def _refused(name: str, begun: List[bool], args: Any, kwargs: Any, error: BaseException) -> None:
    # A cancelled call that never came to its run is a matter of time, and so is a Ctrl-C.
    if begun or not isinstance(error, Exception):
        return
    agent = args[0] if args else kwargs.get("starting_agent")
    fields = {"entry": "Runner." + name, "agent": optional_text(getattr(agent, "name", None))}
    journal().emit("run.refused", {**fields, "error": facts.error(error)})


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
    for found in _open.copy():
        result = None
        if found.result is not None and reachability.is_reachable(found.result):
            result = found.result()
        else:
            found.session = None  # whether or not the collector came by
        ended(found, result, None, "unfinished")


def install(*, routing: bool) -> List[str]:
    """Hook the runner; with `routing`, what the script starts by `run` and `run_sync` is streamed."""
    module = sys.modules["agents.run"]
    runner = getattr(module, "AgentRunner", None)
    if runner is None:
        return ["this release has no AgentRunner"]
    patch(runner, "run", _run)
    patch(runner, "run_streamed", _run_streamed)
    for name in ("run", "run_sync", "run_streamed"):
        patch(module.Runner, name, _entry(name, is_routed=routing and name != "run_streamed"))
    return []
