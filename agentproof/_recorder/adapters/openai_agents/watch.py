"""Live states and results, looked at again at every boundary (standard library only).

1. They are watched weakly, by identity: a RunState has no hash, and the SDK keys caches of its own by
   weak references.
2. What reads and runs no code but the SDK's is asked in this process, and the attributes that it sets are
   put back: the JSON of a state whose context is plain, the input list of a result. A forked child is asked
   for the rest. Where none can be forked, states are asked here all the same; a question goes without an
   answer, and the event that was to hold it says so (`unanswered`): whether a child can be forked may be
   a matter of time.
3. A session that would have had to wait is not asked again.
4. A result is only read, so it is read in this process.
5. An event is written only for what is not as it was when last looked at. While a run is going on
   that was resumed from a state, that state changes through its own run.
"""

import functools
import json
import weakref
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ... import reachability, snapshots
from ...events import journal, pause, watching
from ...events import run as current_run
from ...values import freeze_state, type_name
from . import facts


class Question:
    """What is to be known of an object."""

    def __init__(
        self,
        ask: Callable[[], Any],
        *,
        here: Optional[Callable[[], Any]] = None,
        about: Any = None,
        may_write: bool = False,
        is_driven: bool = False,
    ) -> None:
        self.ask = ask
        """For a child."""
        self.here = here
        """For this process: it only reads, and raises `UnavailableError` where it cannot be told so."""
        self.about = about
        """Something that may make whoever asks wait; then it is asked alone, and never again."""
        self.may_write = may_write
        self.is_driven = is_driven
        """True where it is known beforehand that no child can answer."""


gaps: List[Tuple[str, str]] = []
"""(what, why) of what was not asked."""

_stalling: Set[str] = set()
"""The labels of what would have made its reader wait."""

_labels: Dict[int, Tuple["weakref.ref[Any]", Dict[str, str]]] = {}
_states: Dict[str, "weakref.ref[Any]"] = {}
_results: Dict[str, Tuple["weakref.ref[Any]", Dict[str, str]]] = {}
_running: Dict[str, int] = {}
"""How many runs are going on that were resumed from a state."""

_last: Dict[str, Any] = {}
"""Each one when last looked at, at a moment that every Python version has."""
_seen: Dict[str, Any] = {}
"""The same, `body` included: what is seen there must not hide a change from the moments that the
evidence projection reads."""

on_result: List[Callable[[], None]] = []
"""Called when a result has begun to be watched."""

state_class: Any = None
to_json: Any = None
"""RunState and its own `to_json`; None in a release without them."""


def name_of(letter: str, found: Any) -> Dict[str, str]:
    """The label of an object, the same one each time it is seen."""
    key = id(found)
    known = _labels.get(key)
    if known is not None and known[0]() is found:
        return known[1]
    label = journal().new_label(letter)
    _labels[key] = (weakref.ref(found, lambda gone: _forget(key, gone)), label)
    return label


def _forget(key: int, gone: "weakref.ref[Any]") -> None:
    known = _labels.get(key)
    if known is not None and known[0] is gone:
        del _labels[key]


def is_state(found: Any) -> bool:
    """True for a RunState."""
    return state_class is not None and isinstance(found, state_class)


def state(found: Any) -> Dict[str, str]:
    """Look at this state at every boundary from now on."""
    label = name_of("S", found)
    _states.setdefault(label["$label"], weakref.ref(found))
    return label


def is_watched(found: Any) -> bool:
    """True for a state that the script holds."""
    return name_of("S", found)["$label"] in _states


def result(found: Any, of_run: Dict[str, str]) -> None:
    """Look at this returned result at every boundary from now on."""
    name = name_of("Q", found)["$label"]
    _results[name] = (weakref.ref(found), of_run)
    _last[name] = _seen[name] = facts.result(found)
    for each in on_result:
        each()


def last_of(found: Any) -> Any:
    """A state's JSON when last looked at; None if it never was."""
    return _last.get(name_of("S", found)["$label"])


def set_last(found: Any, document: Any) -> None:
    """The state has just said this itself."""
    name = name_of("S", found)["$label"]
    _last[name] = _seen[name] = document


def begin_run(found: Any) -> None:
    """From now on the state changes through its own run."""
    name = name_of("S", found)["$label"]
    _running[name] = _running.get(name, 0) + 1


def end_run(found: Any) -> None:
    """The state's own run is over, and what it did has been looked at."""
    name = name_of("S", found)["$label"]
    _running[name] = _running.get(name, 1) - 1
    if not _running[name]:
        del _running[name]


def json_of(found: Any) -> Any:
    """A state's JSON, in whichever process this is; the caller forks or puts back."""
    return freeze_state(to_json(found))


def look(
    questions: Optional[Dict[str, Question]] = None, others: Optional[Dict[str, Any]] = None
) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The JSON of every watched state by label, and of `others`; and the answers to `questions`.

    The answers hold an `unanswered` list of names where a question went without an answer.
    """
    live = {name: found for name, found in ((n, ref()) for n, ref in _states.items()) if found is not None}
    live.update(others or {})
    questions = questions or {}
    if not live and not questions:
        return {}, {}
    with snapshots.budget:
        return _states_of(live), _answers(questions)


def _states_of(live: Dict[str, Any]) -> Dict[str, Any]:
    told = {name: _try(functools.partial(_here, found)) for name, found in live.items() if _is_plain(found)}
    foreign = {name: found for name, found in live.items() if name not in told}
    if foreign:
        try:
            told.update(
                snapshots.ask(
                    lambda: {name: _try(functools.partial(json_of, each)) for name, each in foreign.items()}
                )
            )
        except snapshots.UnavailableError:
            told.update({name: _try(functools.partial(_here, each)) for name, each in foreign.items()})
    for answer in told.values():
        if "fault" in answer:
            journal().failed("states", RuntimeError(answer["fault"]))
    return {name: told[name]["value"] for name in live if "value" in told[name]}


_PLAIN = (type(None), bool, int, float, str, list, tuple, dict)


def _is_plain(found: Any) -> bool:
    """True for a state whose JSON is made by the SDK's code alone, whatever its context."""
    context = getattr(getattr(found, "_context", None), "context", None)
    return type(context) in _PLAIN and type(found) is state_class


def _answers(questions: Dict[str, Question]) -> Dict[str, Any]:
    answers: Dict[str, Any] = {}
    unanswered: List[str] = []
    waiting: List[Dict[str, Question]] = []
    together: Dict[str, Question] = {}
    for name, question in questions.items():
        if question.here is not None:
            try:
                found = _try(question.here)
            except snapshots.UnavailableError:
                pass
            else:
                if "value" in found:
                    answers[name] = found["value"]
                continue
        if question.about is not None:
            waiting.append({name: question})
        else:
            together[name] = question
    for each in (*waiting, *([together] if together else [])):
        try:
            told = _asked(each)
        except snapshots.UnavailableError as error:
            unanswered += each
            _note(each, error)
            continue
        answers.update({name: found["value"] for name, found in told.items() if "value" in found})
    if unanswered:
        answers["unanswered"] = sorted(unanswered)
    return answers


def _asked(questions: Dict[str, Question]) -> Any:
    for each in questions.values():
        if _label(each) in _stalling:
            raise snapshots.UnavailableError("it was not asked again")
    if any(each.is_driven for each in questions.values()):
        _stalling.update(_label(each) for each in questions.values())
        raise snapshots.StalledError("it answers through a thread or a connection of its own")
    if not snapshots.budget.is_left():
        raise snapshots.UnavailableError("looking has cost its share of the script's time")
    may_write = any(each.may_write for each in questions.values())
    try:
        return snapshots.ask(
            lambda: {name: _try(each.ask) for name, each in questions.items()}, may_write=may_write
        )
    except snapshots.StalledError:
        for each in questions.values():
            if each.about is not None:
                _stalling.add(_label(each))
        raise


def _note(questions: Dict[str, Question], error: Exception) -> None:
    for name, question in questions.items():
        if _label(question) in _stalling and not isinstance(error, snapshots.StalledError):
            continue  # it was told when it happened
        held = question.about
        what = name if held is None else "{} contents".format(type_name(held).rpartition(":")[2])
        gap = (what, "{}; what is left out is absent".format(error))
        if gap not in gaps:
            gaps.append(gap)


def _label(question: Question) -> str:
    return "" if question.about is None else name_of("D", question.about)["$label"]


def _try(question: Callable[[], Any]) -> Dict[str, Any]:
    try:
        return {"value": question()}
    except snapshots.UnavailableError:
        raise
    except Exception as error:
        return {"fault": "{}: {}".format(type(error).__name__, str(error)[:200])}


def _here(found: Any) -> Any:
    with pause(), snapshots.quiet_logging("openai.agents"), snapshots.put_back(found):
        return json_of(found)


def boundary(
    moment: str,
    questions: Optional[Dict[str, Question]] = None,
    others: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """Look at everything; write what changed; give the JSON of `others` and the answers to `questions`."""
    if journal().is_silent:
        return {}
    documents, answers = look(questions, others)
    for name in others or ():
        if name in documents:
            answers[name] = documents.pop(name)
    with snapshots.budget:
        changed(documents, moment, results=True)
    return answers


def changed(
    documents: Dict[str, Any], moment: str, *, own: Optional[str] = None, results: bool = False
) -> None:
    """Write an event for each state that is not as it was, but for the one that `own` accounts for.

    With `results`, for each result too. What nobody can reach any more is not the script's, whether or
    not the collector has come by: it is not told, and not looked at again.
    """
    found: List[_Change] = []
    for name, document in documents.items():
        before = _exchange(name, document, moment)
        if not (name == own or before is None or name in _running or same(before, document)):
            fields = {
                "state": {"$label": name},
                "snapshot": {"$state": document},
                "before": {"$state": before},
                "moment": moment,
            }
            found.append(("state.observed", name, fields))
    if results:
        with watching("results"):
            found += _changed_results(moment)
    if not found:
        return
    for kind, name, fields in found:
        if reachability.is_reachable(_states[name] if name in _states else _results[name][0]):
            journal().emit(kind, fields)
        else:
            _states.pop(name, None)
            _results.pop(name, None)


_Change = Tuple[str, str, Dict[str, Any]]
"""The kind of event, the label, and the fields."""


def _changed_results(moment: str) -> List[_Change]:
    found: List[_Change] = []
    for name, (ref, of_run) in list(_results.items()):
        result = ref()
        if result is None:
            del _results[name]
            continue
        now = facts.result(result)
        before = _exchange(name, now, moment)
        if before is None or same(before, now):
            continue
        fields = {"result": {"$label": name}, "of_run": of_run, "before": before, "now": now}
        found.append(("result.observed", name, {**fields, "moment": moment}))
    return found


def _exchange(name: str, now: Any, moment: str) -> Any:
    """What was there when last looked at; from now on, `now` is."""
    before = (_seen if moment == "body" else _last).get(name)
    _seen[name] = now
    if moment != "body":
        _last[name] = now
    return before


_MOST_BODIES = 60
"""How often the return of a function is a boundary; a loop would ask the same again and again."""
_bodies = 0


def body_returned(started: Optional[str]) -> None:
    """A function of the script returned outside of all runs, and something had happened in it."""
    global _bodies
    # Its start and its return are two events; more than those tell of the SDK. Whether what was watched is
    # still there must not count: that may be the collector's doing.
    if current_run.get() is not None or journal().happened_since(started) < 2 or not (_states or _results):
        return
    _bodies += 1
    if _bodies <= _MOST_BODIES:
        boundary("body")


def same(one: Any, other: Any) -> bool:
    """True for equal JSON documents."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
