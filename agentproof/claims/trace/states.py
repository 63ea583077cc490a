"""States of a trace as lines: born where, decided how, resumed by which runs.

The lineage of a run is every run that it continues: earlier runs of the state that it resumes,
the run whose result that state was made from, the state whose JSON it was restored from, and so
on. Two states made from one result are two lines: neither is in the lineage of the other.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ...errors import BundleError
from ...models.events import Event, StateDecided, StateMade, StateObserved, StateRestored, StateSerialised
from .runs import Run


@dataclass(eq=False)
class StateLine:
    """One RunState that the script held."""

    label: str
    birth: StateMade | StateRestored | None = None
    decisions: list[StateDecided] = field(default_factory=list)
    observed: list[StateObserved] = field(default_factory=list)
    serialised: list[StateSerialised] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    """The runs that resumed it, in canonical order."""

    @cached_property
    def decided(self) -> list[int]:
        """Where its decisions stand in the trace."""
        return [one.seq for one in self.decisions]

    def accepted(self) -> list[StateDecided]:
        """Its decisions that the SDK accepted."""
        return [one for one in self.decisions if one.error is None]

    def last_seen(self) -> int:
        """The last event that shows it alive."""
        seen = [event.seq for event in (*self.decisions, *self.observed, *self.serialised)]
        seen += [self.birth.seq] if self.birth else []
        for run in self.runs:
            seen.append((run.ended or run.started).seq)
        return max(seen, default=0)


def lines_of(events: Iterable[Event], runs: Mapping[str, Run]) -> dict[str, StateLine]:
    """All states by label."""
    lines: dict[str, StateLine] = {}

    def line(label: str) -> StateLine:
        return lines.setdefault(label, StateLine(label))

    for event in events:
        match event:
            case StateMade() | StateRestored():
                known = line(event.state)
                known.birth = known.birth or event
            case StateDecided():
                line(event.state).decisions.append(event)
            case StateObserved():
                line(event.state).observed.append(event)
            case StateSerialised():
                line(event.state).serialised.append(event)
            case _:
                pass
    for run in runs.values():
        if run.started.state is not None:
            line(run.started.state).runs.append(run)
    return lines


_MAX_STEPS = 2_000_000
"""What all lineages together may take: a chain of 1,000 resumptions takes 500,000."""


class Lineage:
    """Which runs a run continues."""

    def __init__(self, runs: Mapping[str, Run], lines: Mapping[str, StateLine]) -> None:
        self._lines = lines
        self._by_result = {
            run.ended.result: run for run in runs.values() if run.ended is not None and run.ended.result
        }
        self._written: dict[str, list[StateSerialised]] = {}
        for line in lines.values():
            for event in line.serialised:
                self._written.setdefault(event.snapshot, []).append(event)
        for events in self._written.values():
            events.sort(key=lambda event: event.seq)
        self._before: dict[str, tuple[Run, ...]] = {}
        self._nearest: dict[str, tuple[Run, ...]] = {}
        self._steps = 0

    def before(self, run: Run) -> tuple[Run, ...]:
        """The runs that this top-level run continues; without the run itself.

        Raises:
            BundleError: the runs of the trace continue more others than those of any honest trace.
        """
        if run.label not in self._before:
            self._find(run)
        return self._before[run.label]

    def nearest(self, run: Run) -> tuple[Run, ...]:
        """Those of `before` through which all others of them are reached."""
        self.before(run)
        return self._nearest[run.label]

    def _find(self, run: Run) -> None:
        found: dict[str, Run] = {}
        nearest: dict[str, Run] = {}
        todo: list[tuple[str, int]] = []
        if run.started.state is not None:
            todo.append((run.started.state, run.started.seq))
        visited: set[tuple[str, int]] = set()
        for label, until in todo:  # which grows meanwhile
            if (label, until) in visited:
                continue
            visited.add((label, until))
            line = self._lines[label]
            self._count(1 + len(line.runs))
            for earlier in reversed(line.runs):
                if earlier is not run and earlier.ended is not None and earlier.ended.seq < until:
                    nearest.setdefault(earlier.label, earlier)
            match line.birth:
                case StateMade(result=str() as result) if result in self._by_result:
                    origin = self._by_result[result]
                    nearest.setdefault(origin.label, origin)
                    known = self._before.get(origin.label) if origin.parent is None else None
                    if known is not None:
                        self._count(len(known))
                        found.update({one.label: one for one in known})
                    elif origin.started.state is not None:
                        todo.append((origin.started.state, origin.started.seq))
                case StateRestored(source=str() as source) as birth:
                    todo.extend(self._writer(source, birth))
                case _:
                    pass
        found = {**nearest, **found}
        found.pop(run.label, None)
        self._before[run.label] = tuple(found.values())
        self._nearest[run.label] = tuple(nearest.values())

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MAX_STEPS:
            raise BundleError("too_many", "the runs of the trace continue too many others")

    def _writer(self, source: str, birth: StateRestored) -> Iterator[tuple[str, int]]:
        """The state that last wrote the JSON of which another was made, and when."""
        written = self._written.get(source, [])
        count = bisect_left(written, birth.seq, key=lambda one: one.seq)
        if count:
            yield written[count - 1].state, written[count - 1].seq
