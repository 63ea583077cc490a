"""Runs of a trace as a tree: what happened in each, and how it ended."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...errors import BundleError
from ...models.events import (
    Event,
    HandoffMade,
    ModelAnswered,
    ModelCalled,
    RunEnded,
    RunStarted,
    RunTaskEnded,
    ToolEnded,
    ToolStarted,
)
from ...models.items import Item, call_id_of, is_call, items_of


@dataclass(eq=False)
class Run:
    """One run of an agent; `events` are its own, in canonical order, without its start and end."""

    label: str
    started: RunStarted
    parent: "Run | None"
    depth: int = 0
    ended: RunEnded | None = None
    children: list["Run"] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @cached_property
    def returned(self) -> bool:
        """It gave its caller a result, to the end; not raised, cancelled, left or unfinished. A streamed run
        whose own task failed did not, whatever its consumer was told."""
        if self.ended is None or self.ended.outcome != "returned":
            return False
        return not any(
            isinstance(event, RunTaskEnded) and event.outcome != "returned" for event in self.events
        )

    @property
    def finished(self) -> bool:
        """It returned and waits for no decision."""
        return self.returned and self.ended is not None and not self.ended.interruptions

    def top(self) -> "Run":
        """The run at the root of this one's tree."""
        run = self
        while run.parent is not None:
            run = run.parent
        return run

    def owners(self) -> Iterator["Run"]:
        """This run and those around it, innermost first."""
        run: Run | None = self
        while run is not None:
            yield run
            run = run.parent

    def tree(self) -> Iterator["Run"]:
        """This run and all inside it."""
        stack = [self]
        while stack:
            run = stack.pop()
            yield run
            stack.extend(reversed(run.children))

    def tools_started(self) -> list[ToolStarted]:
        return [event for event in self.events if isinstance(event, ToolStarted)]

    def tools_ended(self) -> list[ToolEnded]:
        return [event for event in self.events if isinstance(event, ToolEnded)]

    def model_calls(self) -> list[ModelCalled]:
        return [event for event in self.events if isinstance(event, ModelCalled)]

    def answers(self) -> list[ModelAnswered]:
        return [event for event in self.events if isinstance(event, ModelAnswered)]

    def asked_calls(self) -> Iterator[tuple[ModelAnswered, Item]]:
        """Each tool call that the model asked for in this run, with the answer that held it."""
        for answer in self.answers():
            for item in items_of(answer.output):
                if is_call(item):
                    yield answer, item

    def interrupted_calls(self) -> list[str]:
        """The call ids that this run waits for."""
        waiting = self.ended.interruptions if self.ended else ()
        return [item.call_id for item in waiting if item.call_id is not None]


_MAX_DEPTH = 100
"""Agents as tools of agents as tools: an honest trace has three or four."""


def runs_of(events: Iterable[Event]) -> dict[str, Run]:
    """All runs by label. An event of a run that never started is left out: nothing can be said of it.

    Raises:
        BundleError: runs are nested deeper than in any honest trace.
    """
    runs: dict[str, Run] = {}
    for event in events:
        if event.run is None:
            continue
        if isinstance(event, RunStarted):
            if event.run not in runs:
                parent = runs.get(event.parent) if event.parent else None
                run = Run(event.run, event, parent, depth=parent.depth + 1 if parent else 0)
                if run.depth > _MAX_DEPTH:
                    raise BundleError("too_deep", f"runs are nested more than {_MAX_DEPTH} deep")
                runs[event.run] = run
                if parent is not None:
                    parent.children.append(run)
            continue
        known = runs.get(event.run)
        if known is None:
            continue
        if isinstance(event, RunEnded):
            known.ended = known.ended or event
        else:
            known.events.append(event)
    return runs


def times_asked(runs: Iterable[Run], call_id: str) -> int:
    """How often the model asked for this call id in these runs: scripted models use ids again."""
    return sum(1 for run in runs for _, item in run.asked_calls() if call_id_of(item) == call_id)


_FILTERS = frozenset(
    {"call_model_input_filter", "handoff_input_filter", "session_input_callback", "server_managed"}
)
"""Settings under which items may be left out or kept elsewhere on purpose."""


def filters_items(run: Run) -> bool:
    """Whether this run, or one around it, is set up to leave items out or to keep them at a server."""
    return any(setting(one, name) for one in run.owners() for name in _FILTERS) or any(
        call.previous_response_id is not None or call.conversation_id is not None
        for call in run.model_calls()
    )


def filters_handoff(run: Run) -> bool:
    """Whether the run was handed over by a handoff that may filter or nest what it passes on."""
    handed = any(isinstance(event, HandoffMade) for event in run.events)
    return handed and any(call.handoff_filters for call in run.model_calls())


def setting(run: Run, name: str) -> Any:  # Any: a value
    """One of the flags of the run's configuration; None where it is not set."""
    settings = run.started.settings
    return settings.get(name) if isinstance(settings, dict) else None
