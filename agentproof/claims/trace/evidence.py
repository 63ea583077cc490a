"""What claims may look at: the traces of one reproduction, and states by their digest.

A claim about one mode is given an `Evidence` that holds that mode alone and reads `view`; a claim
about both modes reads `views`. Everything is indexed when first asked for.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from ...models.diff import Change, diff
from ...models.events import (
    Event,
    ProbeChecked,
    ProbeObserved,
    RecorderFailed,
    ScriptEnded,
    SessionCalled,
    SessionUsed,
    StateRestored,
)
from ...models.items import Key, items_of, key_of
from ...models.manifest import EventRef
from ...models.trace import Mode, Trace
from ...models.wire import Sha256
from ...sdk import sdk_of
from .looked import Places
from .order import Order
from .runs import Run, runs_of
from .sessions import Stores, added_by
from .states import Lineage, StateLine, lines_of
from .threads import Threads

E = TypeVar("E", bound=Event)

_MAX_PARALLEL = 300
"""Runs on one session of which some overlap: of more than these, all count as overlapping."""


class View:
    """One trace, indexed."""

    # Any: a state's JSON
    def __init__(
        self, trace: Trace, state: Callable[[Sha256], Any], comparable: dict[Sha256, Any] | None = None
    ) -> None:
        self.mode: Mode = trace.mode
        self.events: tuple[Event, ...] = trace.events
        self._state = state
        self._comparable = {} if comparable is None else comparable
        """Filled as it is asked for, by all views of the same states."""

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in canonical order."""
        found = [events for each, events in self._by_type.items() if issubclass(each, kind)]
        if len(found) == 1:
            return [*found[0]]
        return sorted(itertools.chain(*found), key=lambda event: event.seq)

    @cached_property
    def _by_type(self) -> Mapping[type[Event], list[Any]]:  # Any: events of that type
        by_type: dict[type[Event], list[Event]] = {}
        for event in self.events:
            by_type.setdefault(type(event), []).append(event)
        return by_type

    def event(self, seq: int) -> Event:
        return self.events[seq - 1]

    @cached_property
    def looked(self) -> Places:
        """What claims looked at."""
        return Places()

    @cached_property
    def observed(self) -> Mapping[str, list[ProbeObserved]]:
        """What the script gave to `probe.observe`, by label."""
        found: dict[str, list[ProbeObserved]] = {}
        for event in self.of(ProbeObserved):
            found.setdefault(event.label, []).append(event)
        return found

    @cached_property
    def checked(self) -> Mapping[str, list[ProbeChecked]]:
        """What the script gave to `probe.check`, by label."""
        found: dict[str, list[ProbeChecked]] = {}
        for event in self.of(ProbeChecked):
            found.setdefault(event.label, []).append(event)
        return found

    @cached_property
    def is_parallel(self) -> bool:
        """Whether some events have no order; else the canonical order is the only one."""
        return any(event.after is not None for event in self.events)

    @cached_property
    def order(self) -> Order:
        return Order(self.events)

    def happens_before(self, first: Event, second: Event) -> bool:
        """Whether `first` must have come before `second`: a chain of `after` edges connects them."""
        return self.order.happens_before(first, second)

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        return runs_of(self.events)

    @cached_property
    def top(self) -> tuple[Run, ...]:
        """The runs that no other run contains, in canonical order."""
        return tuple(run for run in self.runs.values() if run.parent is None)

    @cached_property
    def states(self) -> Mapping[str, StateLine]:
        return lines_of(self.events, self.runs)

    @cached_property
    def lineage(self) -> Lineage:
        return Lineage(self.runs, self.states)

    @cached_property
    def stores(self) -> Stores:
        return Stores(self.of(SessionUsed))

    @cached_property
    def compactions(self) -> tuple[SessionCalled, ...]:
        """Where a session was to replace what it, and the one behind it, hold by something shorter: by a
        provider, whose tokens count for the run, and by ways of the SDK's own that are no operations."""
        return tuple(event for event in self.of(SessionCalled) if event.operation == "run_compaction")

    def is_compacted(self, run: Run) -> bool:
        """Whether a compaction was asked for in this run or one inside of it."""
        labels = {each.label for each in run.tree()}
        return any(event.run in labels for event in self.compactions)

    @cached_property
    def threads(self) -> Threads:
        return Threads(self.top, self.lineage, self.stores)

    def overlaps(self, run: Run) -> bool:
        """Whether another top-level run on the same session may have gone on at the same time."""
        return run.label in self._overlapping

    @cached_property
    def _overlapping(self) -> frozenset[str]:
        by_store: dict[str, list[Run]] = {}
        for run in self.top:
            if run.started.session is not None:
                by_store.setdefault(self.stores.of(run.started.session).name, []).append(run)
        found: set[str] = set()
        for runs in by_store.values():
            # Where each is over before the next one, each is over before all that follow.
            if not all(self._apart(one, other) for one, other in pairwise(runs)):
                found.update(
                    one.label
                    for one in runs
                    if len(runs) > _MAX_PARALLEL
                    or any(other is not one and not self._apart(one, other) for other in runs)
                )
        return frozenset(found)

    def _apart(self, run: Run, other: Run) -> bool:
        return any(
            first.ended is not None and self.happens_before(first.ended, second.started)
            for first, second in ((run, other), (other, run))
        )

    @cached_property
    def supplied(self) -> Counter[Key]:
        """The items that the script itself handed in, as often as it did: inputs of top-level runs, what it
        stored in sessions, and what the states that it restored hold as their original input."""
        keys = [key_of(item) for run in self.top for item in items_of(run.started.input)]
        for event in self.of(SessionUsed):
            if not event.by_sdk:
                keys += [key_of(item) for item in added_by(event)]
        for restored in self.of(StateRestored):
            document = self._state(restored.snapshot)
            original = document.get("original_input") if isinstance(document, dict) else None
            keys += [key_of(item) for item in items_of(original)]
        return Counter(keys)

    @cached_property
    def script_end(self) -> ScriptEnded | None:
        return next(iter(self.of(ScriptEnded)), None)

    @cached_property
    def failed_parts(self) -> frozenset[str]:
        """The surfaces of which the recorder says that it did not see all."""
        return frozenset(event.part for event in self.of(RecorderFailed))

    def state(self, digest: Sha256) -> Any:  # Any: a state's JSON
        """A state's JSON as it was."""
        return self._state(digest)

    def comparable(self, digest: Sha256) -> Any:  # Any: a state's JSON
        """A state's JSON without what may change of itself (see `Sdk.comparable`)."""
        if digest not in self._comparable:
            state = self._state(digest)
            self._comparable[digest] = sdk_of(state).comparable(state)
        return self._comparable[digest]

    def changes(self, before: Sha256, after: Sha256) -> list[Change]:
        """What differs between two states, without what may change of itself."""
        if before == after:
            return []
        return list(diff(self.comparable(before), self.comparable(after)))

    def refs(self, *events: Event) -> tuple[EventRef, ...]:
        """References to these events, ascending, each once."""
        return tuple(EventRef(mode=self.mode, seq=seq) for seq in sorted({event.seq for event in events}))


class Evidence:
    """The views that a claim is evaluated on."""

    def __init__(self, views: Mapping[Mode, View]) -> None:
        self.views = views

    @classmethod
    def of(
        cls,
        traces: Mapping[Mode, Trace],
        state: Callable[[Sha256], Any],  # Any: a state's JSON
    ) -> "Evidence":
        """Evidence of all these traces; `state` gives the JSON of a state by its digest."""
        shared: dict[Sha256, Any] = {}  # Any: a state's JSON
        return cls({mode: View(trace, state, shared) for mode, trace in traces.items()})

    def only(self, mode: Mode) -> "Evidence":
        """The same, narrowed to one mode; its indexes are shared."""
        return Evidence({mode: self.views[mode]})

    @property
    def view(self) -> View:
        """The one view there is.

        Raises:
            RuntimeError: there are several, or none.
        """
        if len(self.views) != 1:
            raise RuntimeError(f"evidence of {len(self.views)} traces has no single view")
        return next(iter(self.views.values()))
