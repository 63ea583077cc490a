"""Runs of an agent, nested ones as a tree, and the calls of the model in them."""

from typing import Literal

from ..items import items_of
from ..text import value_text
from .base import SEES_MORE, ClassName, Count, Event, Failure, Label, ListOf, StateDigest, Text, Value, Wire
from .phrases import MOMENTS, describe_call, describe_failure, describe_items, for_call, item_of, listed
from .states import Moment


class RunStarted(Event):
    """A run begins; `run` is its own label."""

    tone = "run"

    kind: Literal["run.started"]
    parent: Label | None = None
    """The run inside of which it was started (an agent used as a tool)."""
    call_id: Text | None = None
    """The tool call that it serves, for a nested run."""
    agent: Text
    streamed: bool
    routed: bool = False
    """True where the `streamed` mode turned a plain call into a streamed one."""
    input: Value | None = None
    """What the caller passed; absent when it resumes a state."""
    state: Label | None = None
    """The state that it resumes."""
    snapshot: StateDigest | None = None
    """That state just before the run."""
    max_turns: Count | None = None
    session: Label | None = None
    context: ClassName | None = None
    """The type of the context that the caller passed."""
    settings: Value | None = None
    """Flags of the run configuration that change what a rule may expect."""
    usage: Value | None = None
    """The usage that the run starts with, from its state or context."""
    session_before: Value | None = None
    """The session's contents just before the run."""

    def words(self) -> str:
        how = f" inside {self.parent}{for_call(self.call_id)}" if self.parent else ""
        if self.context is not None and self.parent is None:  # a nested run is given one by the SDK itself
            how += f", with a context ({self.context.removeprefix('builtins:').replace(':', '.')})"
        # What the streamed mode streams by itself would make every step of it look like another one.
        how += ", streamed" if self.streamed and not self.routed else ""
        if self.state is not None:
            return f"run {self.run} of {self.agent} resumes {self.state}{how}"
        return f"run {self.run} of {self.agent} begins{how}: {value_text(self.input, 100)}"


class RunRefused(Event):
    """An entry point of the SDK raised before any run began."""

    tone = "failure"
    no_evidence = SEES_MORE

    kind: Literal["run.refused"]
    entry: Text
    """Such as `Runner.run_sync`."""
    agent: Text | None = None
    error: Failure

    def words(self) -> str:
        return f"{self.entry} raises {describe_failure(self.error)} before a run begins"


class Interruption(Wire):
    """A tool call that waits for a decision."""

    tool: Text | None = None
    call_id: Text | None = None
    agent: Text | None = None
    arguments: Value | None = None

    def words(self) -> str:
        """The call that waits."""
        return describe_call(self.tool, self.arguments, self.call_id)


class RunEnded(Event):
    """A run ends, for a streamed one at its consumer's end."""

    tone = "run"

    kind: Literal["run.ended"]
    outcome: Literal["returned", "raised", "cancelled", "left", "unfinished"]
    error: Failure | None = None
    result: Label | None = None
    final_output: Value | None = None
    output_type: ClassName | None = None
    """The Python type of the final output; absent where there is no result."""
    last_agent: Text | None = None
    items: Value | None = None
    """The new items of the result."""
    interruptions: ListOf[Interruption] = ()
    snapshot: StateDigest | None = None
    """What `result.to_state().to_json()` says, asked in a forked child; absent for a run that the SDK
    itself started inside of another, whose result nobody else sees."""
    input_state: StateDigest | None = None
    """The state that was resumed, just after the run."""
    responses: Count | None = None
    usage: Value | None = None
    guardrails: Value | None = None
    """The result's guardrail lists by kind: `{"input": [{"name", "tripped", "info"}, …], …}`."""
    input_list: Value | None = None
    """What `to_input_list()` says, asked in a forked child; absent as `snapshot` is."""
    session: Label | None = None
    session_after: Value | None = None
    """The session's contents just after the run, also when it raised."""

    def words(self) -> str:
        if self.outcome == "raised" and self.error is not None:
            return f"run {self.run} raises {describe_failure(self.error)}"
        if self.outcome == "returned" and self.interruptions:
            waiting = listed((item.words() for item in self.interruptions), 4)
            return f"run {self.run} pauses for a decision on {waiting}"
        if self.outcome == "returned":
            gave = "None" if self.final_output is None else value_text(self.final_output, 160)
            return f"run {self.run} returns {gave}"
        if self.outcome == "unfinished":
            return f"run {self.run} has not ended when the script is over"
        return f"run {self.run}: {self.outcome}"

    def details(self) -> list[str]:
        """What the session holds after the run."""
        return [f"in the session: {item_of(item)}" for item in items_of(self.session_after)]


class ResultObserved(Event):
    """A returned result was looked at and is not as it was when last looked at."""

    tone = "state"
    no_evidence = SEES_MORE

    kind: Literal["result.observed"]
    result: Label
    of_run: Label
    before: Value
    now: Value
    """Both as `{"final_output", "items", "interruptions", "guardrails", "usage"}`."""
    moment: Moment

    def words(self) -> str:
        return f"the result {self.result} of {self.of_run} has changed, seen when {MOMENTS[self.moment]}"


class RunTaskEnded(Event):
    """The task of a streamed run is over, whether or not anybody consumes its stream."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["run.task_ended"]
    outcome: Literal["returned", "raised", "cancelled"]
    error: Failure | None = None

    def words(self) -> str:
        error = f" {describe_failure(self.error)}" if self.error else ""
        return f"the task of {self.run} has {self.outcome}{error}"


class ModelOffered(Event):
    """What the model is offered by the calls of a run from here on: told once, until it changes."""

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["model.offered"]
    tools: Value | None = None
    """`[{"name", "kind", "description", "schema", "strict", "config"}, …]`, as far as they are set."""
    handoffs: Value | None = None
    output_schema: Value | None = None

    def words(self) -> str:
        parts = [
            f"{len(found)} {what}{'s' if len(found) != 1 else ''}"
            for found, what in ((self.tools, "tool"), (self.handoffs, "handoff"))
            if isinstance(found, list) and found
        ]
        parts += ["an output schema"] if self.output_schema is not None else []
        return f"the model is offered {', '.join(parts)}"


class ModelCalled(Event):
    """The SDK asks the model."""

    tone = "model"

    kind: Literal["model.called"]
    call: Label
    model: ClassName
    streamed: bool
    synthetic: bool = False
    """True where a stream was fed from `get_response`."""
    instructions: Value | None = None
    input: Value
    tools: ListOf[Text] = ()
    handoffs: ListOf[Text] = ()
    settings: Value | None = None
    output_type: Text | None = None
    previous_response_id: Text | None = None
    conversation_id: Text | None = None
    prompt: Value | None = None
    handoff_filters: ListOf[Text] = ()
    """The offered handoffs that filter or nest the history which the next agent gets."""

    def words(self) -> str:
        count = len(items_of(self.input))
        offered = f"; tools: {listed(self.tools, 6)}" if self.tools else ""
        return f"the model is asked ({self.call}) with {count} item{'' if count == 1 else 's'}{offered}"

    def details(self) -> list[str]:
        """What the model is told."""
        return [item_of(item) for item in items_of(self.input)]


class ModelAnswered(Event):
    """The model answered, for a stream when it is exhausted."""

    tone = "model"
    no_evidence = SEES_MORE

    kind: Literal["model.answered"]
    call: Label
    output: Value
    usage: Value | None = None
    response_id: Value | None = None
    stream: Value | None = None
    """The stream events at their granularity, as types; absent for a plain call."""

    def words(self) -> str:
        return f"the model answers: {describe_items(self.output)}"


class ModelFailed(Event):
    """The model raised."""

    tone = "failure"
    no_evidence = SEES_MORE

    kind: Literal["model.failed"]
    call: Label
    error: Failure
    stream: Value | None = None
    """The stream events that came before, as types; absent for a plain call."""

    def words(self) -> str:
        return f"the model raises {describe_failure(self.error)}"


class ModelLeft(Event):
    """The SDK stopped listening to a stream before the response was complete."""

    tone = "model"
    no_evidence = SEES_MORE

    kind: Literal["model.left"]
    call: Label
    stream: Value

    def words(self) -> str:
        return f"the SDK stops listening to {self.call}"
