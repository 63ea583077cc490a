"""Runs of an agent, nested ones as a tree, and the calls of the model in them."""

from typing import Literal

from .base import ClassName, Count, Event, Failure, Label, ListOf, StateDigest, Text, Value, Wire
from .states import Moment


class RunStarted(Event):
    """A run begins; `run` is its own label."""

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


class RunRefused(Event):
    """An entry point of the SDK raised before any run began."""

    kind: Literal["run.refused"]
    entry: Text
    """Such as `Runner.run_sync`."""
    agent: Text | None = None
    error: Failure


class Interruption(Wire):
    """A tool call that waits for a decision."""

    tool: Text | None = None
    call_id: Text | None = None
    agent: Text | None = None
    arguments: Value | None = None


class RunEnded(Event):
    """A run ends, for a streamed one at its consumer's end."""

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


class ResultObserved(Event):
    """A returned result was looked at and is not as it was when last looked at."""

    kind: Literal["result.observed"]
    result: Label
    of_run: Label
    before: Value
    now: Value
    """Both as `{"final_output", "items", "interruptions", "guardrails", "usage"}`."""
    moment: Moment


class RunTaskEnded(Event):
    """The task of a streamed run is over, whether or not anybody consumes its stream."""

    kind: Literal["run.task_ended"]
    outcome: Literal["returned", "raised", "cancelled"]
    error: Failure | None = None


class ModelOffered(Event):
    """What the model is offered by the calls of a run from here on: told once, until it changes."""

    kind: Literal["model.offered"]
    tools: Value | None = None
    """`[{"name", "kind", "description", "schema", "strict", "config"}, …]`, as far as they are set."""
    handoffs: Value | None = None
    output_schema: Value | None = None


class ModelCalled(Event):
    """The SDK asks the model."""

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


class ModelAnswered(Event):
    """The model answered, for a stream when it is exhausted."""

    kind: Literal["model.answered"]
    call: Label
    output: Value
    usage: Value | None = None
    response_id: Value | None = None
    stream: Value | None = None
    """The stream events at their granularity, as types; absent for a plain call."""


class ModelFailed(Event):
    """The model raised."""

    kind: Literal["model.failed"]
    call: Label
    error: Failure
    stream: Value | None = None
    """The stream events that came before, as types; absent for a plain call."""


class ModelLeft(Event):
    """The SDK stopped listening to a stream before the response was complete."""

    kind: Literal["model.left"]
    call: Label
    stream: Value
