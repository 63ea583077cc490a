"""RunStates: made, decided, written, read back, and looked at in between (standard library only).

1. States are watched weakly, by identity: a RunState has no hash, and the SDK keys some of its own
   caches by weak references.
2. At each boundary one forked child gives the JSON of every live state; an event is written only for
   a state that is not as it was when last looked at. Where no child can be forked the JSON is asked
   for in this process, and the attributes that `to_json` sets are put back.
3. Only states that the script made are watched: those that the SDK makes inside of its own
   operations are its business. An operation inside of another one counts once.
"""

import contextvars
import functools
import inspect
import json
import sys
import weakref
from typing import Any, Callable, Dict, List, Optional

from ... import snapshots
from ...events import guarded, journal, pause, paused, watching
from ...patching import hide, original_of, patch
from ...values import encode, freeze_state, optional_text
from . import facts

_busy: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_state_operation", default=False)

_labels: Dict[int, "tuple[weakref.ref[Any], Dict[str, str]]"] = {}
_watched: Dict[str, "weakref.ref[Any]"] = {}
_last: Dict[str, Any] = {}
"""Each state when last looked at, at a moment that every Python version has."""
_seen: Dict[str, Any] = {}
"""The same, `body` included: what is seen there must not hide a change from the moments that the
evidence projection reads."""
_running: Dict[str, int] = {}
"""How many runs are going on that were resumed from a state."""

_to_json: Any = None
state_class: Any = None


def name_of(letter: str, found: Any) -> Dict[str, str]:
    """The label of an object, the same one each time it is seen."""
    known = _labels.get(id(found))
    if known is not None and known[0]() is found:
        return known[1]
    label = journal().new_label(letter)
    key = id(found)
    _labels[key] = (weakref.ref(found, lambda _: _labels.pop(key, None)), label)
    return label


def is_state(found: Any) -> bool:
    """True for a RunState."""
    return state_class is not None and isinstance(found, state_class)


def watch(state: Any) -> Dict[str, str]:
    """Look at this state at every boundary from now on."""
    label = name_of("S", state)
    _watched.setdefault(label["$label"], weakref.ref(state))
    return label


def is_watched(state: Any) -> bool:
    """True for a state that the script holds."""
    return name_of("S", state)["$label"] in _watched


def last_of(state: Any) -> Any:
    """The state's JSON when last looked at; None if it never was."""
    return _last.get(name_of("S", state)["$label"])


def begin_run(state: Any) -> None:
    """From now on the state changes through its own run."""
    name = name_of("S", state)["$label"]
    _running[name] = _running.get(name, 0) + 1


def end_run(state: Any) -> None:
    """The state's own run is over, and what it did has been looked at."""
    name = name_of("S", state)["$label"]
    _running[name] = _running.get(name, 1) - 1
    if not _running[name]:
        del _running[name]


def json_of(state: Any) -> Any:
    """A state's JSON, in whichever process this is; the caller forks or puts back."""
    return freeze_state(_to_json(state))


def look(
    questions: Optional[Dict[str, Callable[[], Any]]] = None, others: Optional[Dict[str, Any]] = None
) -> "tuple[Dict[str, Any], Dict[str, Any]]":
    """The JSON of every watched state by label, and of `others`; and the answers to `questions`.

    All of it comes from one child. A question is only asked there: where no child can be forked its
    answer is missing.
    """
    live = {name: state for name, state in ((n, ref()) for n, ref in _watched.items()) if state is not None}
    live.update(others or {})
    questions = questions or {}
    if not live and not questions:
        return {}, {}

    def child() -> Any:
        states = {name: _try(functools.partial(json_of, state)) for name, state in live.items()}
        return {"states": states, "answers": {name: _try(each) for name, each in questions.items()}}

    try:
        told = snapshots.ask(child)
    except snapshots.UnavailableError:
        told = {
            "states": {name: _try(functools.partial(_here, state)) for name, state in live.items()},
            "answers": {},
        }
    for answer in told["states"].values():
        if "fault" in answer:
            journal().failed("states", RuntimeError(answer["fault"]))
    return (
        {name: answer["value"] for name, answer in told["states"].items() if "value" in answer},
        {name: answer["value"] for name, answer in told["answers"].items() if "value" in answer},
    )


def _try(question: Callable[[], Any]) -> Dict[str, Any]:
    try:
        return {"value": question()}
    except Exception as error:
        return {"fault": "{}: {}".format(type(error).__name__, str(error)[:200])}


def _here(state: Any) -> Any:
    with pause(), snapshots.quiet_logging("openai.agents"), snapshots.put_back(state):
        return json_of(state)


def boundary(
    moment: str,
    questions: Optional[Dict[str, Callable[[], Any]]] = None,
    others: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """Look at everything; write what changed; give the JSON of `others` and the answers to `questions`."""
    if journal().is_silent:
        return {}
    states, answers = look(questions, others)
    for name in others or ():
        if name in states:
            answers[name] = states.pop(name)
    changed(states, moment)
    return answers


def changed(states: Dict[str, Any], moment: str, *, own: Optional[str] = None) -> None:
    """Write an event for each state that is not as it was, but for the one that `own` accounts for."""
    for name, state in states.items():
        before = (_seen if moment == "body" else _last).get(name)
        _seen[name] = state
        if moment != "body":
            _last[name] = state
        if name == own or before is None or name in _running or _same(before, state):
            continue
        journal().emit(
            "state.observed",
            {
                "state": {"$label": name},
                "snapshot": {"$state": state},
                "before": {"$state": before},
                "moment": moment,
            },
        )


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _is_own(frame: Any) -> bool:
    """True for an operation of the script's: not inside of another one, not by the SDK or by us."""
    return not (_busy.get() or paused.get() or journal().is_silent) and facts.called_from_outside(frame)


def _decision(name: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def decide(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not _is_own(sys._getframe(1)):
                return original(self, *args, **kwargs)
            with watching("states"):
                watch(self)
                boundary("decision")
            error: Optional[BaseException] = None
            token = _busy.set(True)
            try:
                return original(self, *args, **kwargs)
            except BaseException as raised:
                error = raised
                hide(raised)
                raise
            finally:
                _busy.reset(token)
                _decided(name, original, self, args, kwargs, error)

        return decide

    return make


@guarded("states")
def _decided(
    name: str, original: Any, state: Any, args: Any, kwargs: Any, error: Optional[BaseException]
) -> None:
    label = watch(state)
    options = dict(inspect.signature(original).bind(state, *args, **kwargs).arguments)
    options.pop("self", None)
    item = options.pop("approval_item", None)
    before = _last.get(label["$label"])
    states, _ = look()
    after = states.get(label["$label"])
    if before is None or after is None:
        raise RuntimeError("a decided state could not be read")
    raw = getattr(item, "raw_item", None)
    journal().emit(
        "state.decided",
        {
            "state": label,
            "decision": name,
            "call_id": facts.call_id_of(raw),
            "tool": optional_text(getattr(item, "tool_name", None)) or optional_text(facts.read(raw, "name")),
            "options": encode(options),
            "before": {"$state": before},
            "snapshot": {"$state": after},
            "error": None if error is None else facts.error(error),
        },
    )
    changed(states, "decision", own=label["$label"])


def _serialisation(form: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def serialise(self: Any, *args: Any, **kwargs: Any) -> Any:
            if paused.get():
                with snapshots.put_back(self):  # a nested state that our own question reached
                    return original(self, *args, **kwargs)
            if not _is_own(sys._getframe(1)):
                return original(self, *args, **kwargs)
            token = _busy.set(True)
            try:
                given = original(self, *args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise
            finally:
                _busy.reset(token)
            _serialised(form, self, given, plain=not args and not kwargs)
            return given

        return serialise

    return make


@guarded("states")
def _serialised(form: str, state: Any, given: Any, *, plain: bool) -> None:
    label = watch(state)
    document = freeze_state(json.loads(given) if isinstance(given, str) else given)
    if plain:
        before = _last.get(label["$label"])
        if before is not None and not _same(before, document):
            changed({label["$label"]: document}, "restore")
        _last[label["$label"]] = _seen[label["$label"]] = document
    journal().emit("state.serialised", {"state": label, "form": form, "snapshot": {"$state": document}})


def _restoration(form: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        async def restore(*args: Any, **kwargs: Any) -> Any:
            own = _is_own(sys._getframe(1))
            if own:
                with watching("states"):
                    boundary("restore")
            source = _source(form, original, args, kwargs) if own else None
            token = _busy.set(True)
            try:
                state = await original(*args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise
            finally:
                _busy.reset(token)
            if own:
                _restored(form, state, source)
            return state

        return restore

    return make


@guarded("states")
def _source(form: str, original: Any, args: Any, kwargs: Any) -> Any:
    given = inspect.signature(original).bind(*args, **kwargs).arguments
    document = given.get("state_json", given.get("state_string"))
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError:
            return None
    return freeze_state(document) if isinstance(document, dict) else None


@guarded("states")
def _restored(form: str, state: Any, source: Any) -> None:
    label = watch(state)
    states, _ = look()
    fields: Dict[str, Any] = {"state": label, "form": form, "snapshot": {"$state": states[label["$label"]]}}
    if source is not None:
        fields["source"] = {"$state": source}
    journal().emit("state.restored", fields)
    changed(states, "restore", own=label["$label"])


def _making(original: Any) -> Any:
    def to_state(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = _is_own(sys._getframe(1))
        token = _busy.set(True)
        try:
            state = original(self, *args, **kwargs)
        except BaseException as raised:
            hide(raised)
            raise
        finally:
            _busy.reset(token)
        if own:
            _made(self, state)
        return state

    return to_state


@guarded("states")
def _made(result: Any, state: Any) -> None:
    label = watch(state)
    states, _ = look()
    journal().emit(
        "state.made",
        {"state": label, "snapshot": {"$state": states[label["$label"]]}, "result": name_of("Q", result)},
    )
    changed(states, "decision", own=label["$label"])


def made_of(result: Any) -> Any:
    """What `result.to_state().to_json()` gives: to be asked in a child only, since it changes the result."""
    return json_of(original_of(vars(type(result))["to_state"])(result))


def install() -> List[str]:
    """Hook RunState, where the release has it."""
    global _to_json, state_class
    module = sys.modules.get("agents.run_state")
    if module is None or not hasattr(module, "RunState"):
        return ["this release has no RunState"]
    result = sys.modules["agents.result"]
    state_class = module.RunState
    _to_json = state_class.to_json
    for name in ("approve", "reject"):
        patch(state_class, name, _decision(name))
    for form in ("json", "string"):
        patch(state_class, "to_" + form, _serialisation(form))
        patch(state_class, "from_" + form, _restoration(form))
    for cls in (result.RunResult, result.RunResultStreaming):
        patch(cls, "to_state", _making)
    return []
