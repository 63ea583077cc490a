"""RunStates: made, decided, written, read back, and looked at in between."""

from typing import Literal

from ..text import value_text
from .base import SEES_MORE, Event, Failure, Label, ListOf, StateDigest, Text, Value
from .phrases import MOMENTS, describe_failure

Moment = Literal["decision", "restore", "run_start", "run_end", "exit", "body"]
"""When all live states are looked at (`restore`: also when a state's JSON is taken). `body` (the return
of a function of the script) depends on the Python version, so the evidence projection leaves it out."""


class StateMade(Event):
    """`result.to_state()` returned a state."""

    tone = "state"

    kind: Literal["state.made"]
    state: Label
    snapshot: StateDigest
    result: Label | None = None
    """The result that it was made from."""
    live: Value | None = None
    """Tool outputs in the live state: `[{"call_id", "output", "output_type"}, …]`."""

    def words(self) -> str:
        return f"{self.state} is made from {f'result {self.result}' if self.result else 'a result'}"


class StateDecided(Event):
    """The script approved or rejected a pending call on a state."""

    tone = "decision"

    kind: Literal["state.decided"]
    state: Label
    decision: Literal["approve", "reject"]
    call_id: Text | None = None
    tool: Text | None = None
    options: Value
    """The keyword arguments that were given, such as `always_approve`."""
    before: StateDigest
    snapshot: StateDigest
    """The state just after."""
    error: Failure | None = None
    live: Value | None = None
    """Tool outputs in the live state: `[{"call_id", "output", "output_type"}, …]`."""

    def words(self) -> str:
        verb = "approved" if self.decision == "approve" else "rejected"
        options = f" with {value_text(self.options, 80)}" if self.options else ""
        tool = f" ({self.tool})" if self.tool else ""
        refused = f", which raises {describe_failure(self.error)}" if self.error else ""
        return f"{self.call_id or 'a call'}{tool} is {verb} on {self.state}{options}{refused}"


class StateSerialised(Event):
    """The script asked a state for its JSON."""

    tone = "state"
    no_evidence = SEES_MORE

    kind: Literal["state.serialised"]
    state: Label
    form: Literal["json", "string"]
    snapshot: StateDigest
    live: Value | None = None
    """Tool outputs in the live state: `[{"call_id", "output", "output_type"}, …]`."""

    def words(self) -> str:
        return f"{self.state} is written as {'JSON' if self.form == 'json' else 'a string'}"


class StateRestored(Event):
    """The script made a state from JSON."""

    tone = "state"

    kind: Literal["state.restored"]
    state: Label
    form: Literal["json", "string"]
    source: StateDigest | None = None
    """The JSON that it was made from."""
    lacking: ListOf[Text] = ()
    """The function tools that the JSON waits with and that the agent it is restored for does not have."""
    snapshot: StateDigest
    live: Value | None = None
    """Tool outputs in the live state: `[{"call_id", "output", "output_type"}, …]`."""

    def words(self) -> str:
        return f"{self.state} is read from {'JSON' if self.form == 'json' else 'a string'}"


class StateObserved(Event):
    """A live state was looked at and is not as it was when last looked at."""

    tone = "state"

    kind: Literal["state.observed"]
    state: Label
    snapshot: StateDigest
    before: StateDigest
    """The state when it was last looked at."""
    moment: Moment

    def words(self) -> str:
        return f"{self.state} has changed, seen when {MOMENTS[self.moment]}"


class ContextDecided(Event):
    """The script approved or rejected a call on a run context instead of a state."""

    tone = "decision"
    no_evidence = SEES_MORE

    kind: Literal["context.decided"]
    decision: Literal["approve", "reject"]
    call_id: Text | None = None
    tool: Text | None = None
    options: Value

    def words(self) -> str:
        verb = "approved" if self.decision == "approve" else "rejected"
        return f"{self.call_id or 'a call'} is {verb} on a run context"
