"""RunStates: made, decided, written and read back (standard library only).

Only states that the script made are watched: those that the SDK makes inside of its own operations
are its business. An operation inside of another one counts once.
"""

import contextvars
import inspect
import json
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from ... import snapshots
from ...events import During, guarded, journal, paused, watching
from ...patching import hide, original_of, patch
from ...values import encode, freeze_state, optional_text, type_name
from . import facts, offers, watch

_busy: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_state_operation", default=False)


def _is_own(frame: Any) -> bool:
    """True for an operation of the script's: not inside of another one, not by the SDK or by us."""
    return not (_busy.get() or paused.get() or journal().is_silent) and facts.called_from_outside(frame)


def _decision(name: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def decide(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not _is_own(sys._getframe(1)):
                return original(self, *args, **kwargs)
            with watching("states"):
                watch.state(self)
                watch.boundary("decision")
            error: Optional[BaseException] = None
            try:
                with During(_busy, True):
                    return original(self, *args, **kwargs)
            except BaseException as raised:
                error = raised
                hide(raised)
                raise
            finally:
                _decided(name, original, self, args, kwargs, error)

        return decide

    return make


@guarded("states")
def _decided(
    name: str, original: Any, state: Any, args: Any, kwargs: Any, error: Optional[BaseException]
) -> None:
    label = watch.state(state)
    options = dict(inspect.signature(original).bind(state, *args, **kwargs).arguments)
    options.pop("self", None)
    before = watch.last_of(state)
    states, _ = watch.look()
    after = states.get(label["$label"])
    if before is None or after is None:
        raise RuntimeError("a decided state could not be read")
    journal().emit(
        "state.decided",
        {
            **_decision_facts(options),
            "state": label,
            "decision": name,
            "before": {"$state": before},
            "snapshot": {"$state": after},
            "error": None if error is None else facts.error(error),
            "live": _live(state),
        },
    )
    watch.changed(states, "decision", own=label["$label"])


def _live(state: Any) -> Any:
    """The tool outputs that the state holds, with the types that its JSON may lose."""
    found = [
        {
            "call_id": facts.call_id_of(each.raw_item),
            "output": encode(each.output),
            "output_type": type_name(each.output),
        }
        for each in getattr(state, "_generated_items", None) or ()
        if getattr(each, "type", None) == "tool_call_output_item"
    ]
    return found or None


def _serialisation(form: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def serialise(self: Any, *args: Any, **kwargs: Any) -> Any:
            if paused.get():
                with snapshots.put_back(self):  # a nested state that our own question reached
                    return original(self, *args, **kwargs)
            if not _is_own(sys._getframe(1)):
                return original(self, *args, **kwargs)
            try:
                with During(_busy, True):
                    given = original(self, *args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise
            _serialised(form, self, given, plain=not args and not kwargs)
            return given

        return serialise

    return make


@guarded("states")
def _serialised(form: str, state: Any, given: Any, *, plain: bool) -> None:
    label = watch.state(state)
    document = freeze_state(json.loads(given) if isinstance(given, str) else given)
    if plain:
        before = watch.last_of(state)
        if before is not None and not watch.same(before, document):
            watch.changed({label["$label"]: document}, "restore")
        watch.set_last(state, document)
    journal().emit(
        "state.serialised",
        {"state": label, "form": form, "snapshot": {"$state": document}, "live": _live(state)},
    )


def _restoration(form: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        async def restore(*args: Any, **kwargs: Any) -> Any:
            own = _is_own(sys._getframe(1))
            if own:
                with watching("states"):
                    watch.boundary("restore")
            origin = _origin(original, args, kwargs) if own else None
            try:
                with During(_busy, True):
                    state = await original(*args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise
            if own:
                _restored(form, state, origin or (None, None))
            return state

        return restore

    return make


@guarded("states")
def _origin(original: Any, args: Any, kwargs: Any) -> Tuple[Any, Any]:
    """The agent and the JSON that a state is made from; None for what is no JSON of one."""
    given = inspect.signature(original).bind(*args, **kwargs).arguments
    document = given.get("state_json", given.get("state_string"))
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError:
            document = None
    agent = given.get("initial_agent")
    return agent, freeze_state(document) if isinstance(document, dict) else None


@guarded("states")
def _restored(form: str, state: Any, origin: Tuple[Any, Any]) -> None:
    agent, source = origin
    label = watch.state(state)
    states, _ = watch.look()
    fields: Dict[str, Any] = {
        "state": label,
        "form": form,
        "snapshot": {"$state": states[label["$label"]]},
        "live": _live(state),
    }
    if source is not None:
        fields["source"] = {"$state": source}
        fields["lacking"] = offers.lacking(agent, source) or None
    journal().emit("state.restored", fields)
    watch.changed(states, "restore", own=label["$label"])


def _making(original: Any) -> Any:
    def to_state(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = _is_own(sys._getframe(1))
        try:
            with During(_busy, True):
                state = original(self, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise
        if own:
            _made(self, state)
        return state

    return to_state


@guarded("states")
def _made(result: Any, state: Any) -> None:
    label = watch.state(state)
    states, _ = watch.look()
    journal().emit(
        "state.made",
        {
            "state": label,
            "snapshot": {"$state": states[label["$label"]]},
            "result": watch.name_of("Q", result),
            "live": _live(state),
        },
    )
    watch.changed(states, "decision", own=label["$label"])


def made_of(result: Any) -> Any:
    """What `result.to_state().to_json()` gives: to be asked in a child only, since it changes the result."""
    return watch.json_of(original_of(vars(type(result))["to_state"])(result))


def _context_decision(name: str) -> Callable[[Any], Any]:
    """`approve_tool` and `reject_tool` of a run context, called by the script itself."""

    def make(original: Any) -> Any:
        def decide(self: Any, *args: Any, **kwargs: Any) -> Any:
            own = _is_own(sys._getframe(1))
            try:
                with During(_busy, True):
                    given = original(self, *args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise
            if own:
                _context_decided(name, original, self, args, kwargs)
            return given

        return decide

    return make


@guarded("states")
def _context_decided(name: str, original: Any, context: Any, args: Any, kwargs: Any) -> None:
    options = dict(inspect.signature(original).bind(context, *args, **kwargs).arguments)
    options.pop("self", None)
    journal().emit("context.decided", {**_decision_facts(options), "decision": name})
    watch.boundary("decision")


def _decision_facts(options: Dict[str, Any]) -> Dict[str, Any]:
    item = options.pop("approval_item", None)
    raw = getattr(item, "raw_item", None)
    return {
        "call_id": facts.call_id_of(raw),
        "tool": optional_text(getattr(item, "tool_name", None)) or optional_text(facts.read(raw, "name")),
        "options": encode(options),
    }


def install() -> List[str]:
    """Hook RunState, where the release has it."""
    module = sys.modules.get("agents.run_state")
    if module is None or not hasattr(module, "RunState"):
        return ["this release has no RunState"]
    result = sys.modules["agents.result"]
    state_class = watch.state_class = module.RunState
    watch.to_json = state_class.to_json
    for name in ("approve", "reject"):
        patch(state_class, name, _decision(name))
    for form in ("json", "string"):
        patch(state_class, "to_" + form, _serialisation(form))
        patch(state_class, "from_" + form, _restoration(form))
    for cls in (result.RunResult, result.RunResultStreaming):
        patch(cls, "to_state", _making)
    context = sys.modules["agents.run_context"].RunContextWrapper
    for name in ("approve", "reject"):
        patch(context, name + "_tool", _context_decision(name))
    return []
