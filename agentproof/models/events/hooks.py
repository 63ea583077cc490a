"""Lifecycle hooks as the SDK called them, handoffs, and the guardrails that ran."""

from typing import Literal

from .base import SEES_MORE, Event, Failure, Text, Value


class HookCalled(Event):
    """The SDK called a hook: of the run (RunHooks) or of an agent (its own AgentHooks).

    Tool hooks of the run are `tool.started` and `tool.ended` instead.
    """

    tone = "minor"
    no_evidence = SEES_MORE

    kind: Literal["hook.called"]
    scope: Literal["run", "agent"]
    hook: Text
    """The method, such as `on_llm_start`."""
    agent: Text | None = None
    agent_has_hooks: bool | None = None
    """Whether that agent has hooks of its own; told with the run's hooks."""
    other: Text | None = None
    """The other agent of a handoff."""
    tool: Text | None = None
    call_id: Text | None = None
    output: Value | None = None

    def words(self) -> str:
        return f"{self.scope} hook {self.hook}" + (f" of {self.agent}" if self.agent else "")


class HandoffMade(Event):
    """One agent handed the run to another (the run's `on_handoff`)."""

    tone = "run"
    no_evidence = SEES_MORE

    kind: Literal["handoff.made"]
    from_agent: Text
    to_agent: Text

    def words(self) -> str:
        return f"{self.from_agent} hands over to {self.to_agent}"


class GuardrailRan(Event):
    """A guardrail of any of the four kinds ran."""

    tone = "run"
    no_evidence = SEES_MORE

    kind: Literal["guardrail.ran"]
    guardrail_kind: Literal["input", "output", "tool_input", "tool_output"]
    name: Text
    agent: Text | None = None
    tool: Text | None = None
    call_id: Text | None = None
    tripped: bool | None = None
    behavior: Value | None = None
    """What a tool guardrail decided."""
    info: Value | None = None
    checked: Value | None = None
    """The output that an output guardrail was given."""
    error: Failure | None = None

    def words(self) -> str:
        came = {True: "trips", False: "lets it pass", None: "ran"}[self.tripped]
        return f"{self.guardrail_kind.replace('_', ' ')} guardrail {self.name} {came}"
