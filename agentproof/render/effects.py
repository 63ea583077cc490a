"""Where a user meets what a rule finds, and which of several findings is told first.

The order, and the only one: what the reporter said should happen; then by `Weight`; then what was recorded
as written, what was recorded streamed alone, and what only both together show; then by the step that shows
it. A report's first sentence is about the first of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from ..models.events import (
    Event,
    HookCalled,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ResultObserved,
    RunEnded,
    RunStarted,
    ScriptEnded,
    ScriptWrote,
    SessionCalled,
    SessionUsed,
    SpanEnded,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    StateSerialised,
    StreamItem,
    TestEnded,
    ToolEnded,
    ToolStarted,
    TraceEnded,
)
from ..models.manifest import ClaimResult, Finding
from ..models.trace import Mode
from .steps import TraceStory


class Weight(IntEnum):
    """How far what is wrong gets; the smaller, the farther."""

    DONE = 0
    """A tool did it, and nobody takes that back."""
    GIVEN = 1
    """A model, a caller, a session or a stream was given it."""
    KEPT = 2
    """It is in an object that is kept, or told beside: states, results that were returned already, hooks,
    tracing, usage, and what the script says of itself."""


@dataclass(frozen=True)
class Effect:
    """Where a user meets it."""

    words: str
    weight: Weight


Place = tuple[Weight, int, int]
"""Where a finding stands in the order, without the reporter's word: smaller is told before."""

_TOOL: Final = Effect("a tool's side effect", Weight.DONE)
_SENT: Final = Effect("what the model is sent", Weight.GIVEN)
_STREAM: Final = Effect("the events of a stream", Weight.GIVEN)
_CALLER: Final = Effect("what the run gives its caller", Weight.GIVEN)
_LEFT: Final = Effect("what the run leaves in its result or session", Weight.GIVEN)
_STATE: Final = Effect("the JSON of a RunState, which is what is kept and resumed", Weight.KEPT)
_RESULT: Final = Effect("a result that the caller holds", Weight.KEPT)
_HOOKS: Final = Effect("which hooks are called", Weight.KEPT)
_TRACING: Final = Effect("what tracing reports", Weight.KEPT)

_BY_EVENT: Final[tuple[tuple[tuple[type[Event], ...], Effect], ...]] = (
    ((TestEnded,), Effect("a test that fails", Weight.KEPT)),
    ((ToolStarted,), _TOOL),
    ((ToolEnded,), Effect("what a tool gives the model", Weight.GIVEN)),
    ((SessionUsed, SessionCalled), Effect("what the session stores", Weight.GIVEN)),
    ((StateMade, StateDecided, StateObserved, StateRestored, StateSerialised), _STATE),
    ((ResultObserved,), _RESULT),
    ((ModelCalled, ModelFailed), _SENT),
    ((ModelAnswered,), Effect("what the SDK takes for the model's answer", Weight.GIVEN)),
    ((StreamItem,), _STREAM),
    ((HookCalled,), _HOOKS),
    ((SpanEnded, TraceEnded), _TRACING),
    ((ScriptWrote,), Effect("what the script prints", Weight.KEPT)),
    ((ScriptEnded,), Effect("how the script ends", Weight.KEPT)),
    ((RunEnded,), _CALLER),
)

EFFECTS_OF: Final[Mapping[str, Effect]] = {
    "blocked-stays-out": Effect("what the session holds, and what the model is sent later", Weight.GIVEN),
    "failed-run-span-error": _TRACING,
    "guardrails-reported": Effect("the guardrail results that the run gives its caller", Weight.GIVEN),
    "hooks-complete": _HOOKS,
    "json-keeps-types": _STATE,
    "llm-hooks-complete": _HOOKS,
    "raw-items-paired": _STREAM,
    "result-in-session": Effect("what the session holds after the run", Weight.GIVEN),
    "result-integrity": _RESULT,
    "session-is-its-log": Effect("what the session gives when it is read", Weight.GIVEN),
    "state-integrity": _STATE,
    "stream-ends": Effect("the end of a stream that the caller reads", Weight.GIVEN),
    "stream-parity": Effect("what a run comes to, by whether it is streamed", Weight.GIVEN),
    "stream-tells-result": _STREAM,
    "told-once": _SENT,
    "usage-is-sum": Effect("the usage that the result reports", Weight.KEPT),
}
"""By kind of rule, where the event that decides it does not say it."""


def effect_of(kind: str, event: Event) -> Effect | None:
    """Where a user meets what a rule of this kind finds at an event."""
    if kind == "call-output-linkage" and isinstance(event, RunEnded):
        return _LEFT
    return EFFECTS_OF.get(kind) or next(
        (effect for kinds, effect in _BY_EVENT if isinstance(event, kinds)), None
    )


def place_of(claim: ClaimResult, finding: Finding, tellings: Mapping[Mode, TraceStory]) -> Place:
    """Where a finding stands in the order."""
    mode: Mode = "as-written" if claim.mode == "both" else claim.mode
    telling = tellings.get(mode)
    steps = [telling.step(ref.seq) for ref in finding.events if ref.mode == mode] if telling else []
    shows = max(
        (step for step in steps if not isinstance(step.event, RunStarted)),
        key=lambda step: step.seq,
        default=None,
    )
    effect = effect_of(claim.kind, shows.event) if shows is not None else EFFECTS_OF.get(claim.kind)
    weight = effect.weight if effect is not None else Weight.KEPT
    return weight, _MODES.index(claim.mode), shows.seq if shows is not None else 0


_MODES: Final = ("as-written", "streamed", "both")
