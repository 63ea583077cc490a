"""One trace arranged for reading: its events as steps, runs as branches, states as they were looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..models.diff import Change
from ..models.events import Event, ScriptWrote, Tone
from ..models.manifest import ClaimResult, Finding
from ..models.trace import Mode


@dataclass(frozen=True)
class Look:
    """One state at one event: as it was before, where the event tells that, and as it was just after."""

    state: str
    before: str | None
    """A digest; None where the event shows the state but not what it was."""
    after: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Remark:
    """A finding that rests on an event."""

    claim: ClaimResult
    finding: Finding
    text: str


@dataclass(frozen=True)
class Step:
    """One event of a trace."""

    mode: Mode
    event: Event
    text: str
    tone: Tone
    looks: tuple[Look, ...]
    remarks: tuple[Remark, ...]

    @property
    def seq(self) -> int:
        return self.event.seq

    @property
    def parallel(self) -> bool:
        """The order in which it stands beside the event before it is not an observation."""
        return self.event.after is not None


@dataclass
class Branch:
    """A run with its steps and the runs inside it, in the order of the trace."""

    run: str
    parts: list["Step | Branch"] = field(default_factory=list)
    around: "Branch | None" = None
    depth: int = 0


@dataclass(frozen=True)
class TraceStory:
    """One trace."""

    mode: Mode
    steps: tuple[Step, ...]
    parts: tuple[Step | Branch, ...]
    """The steps again, runs as branches."""
    states: tuple[str, ...]
    """The labels of all states, by first appearance."""
    output: Mapping[str, ScriptWrote]
    """What the script wrote, by stream."""

    @property
    def events(self) -> tuple[Event, ...]:
        """Its events, in their order."""
        return tuple(step.event for step in self.steps)

    def step(self, seq: int) -> Step:
        return self.steps[seq - 1]
