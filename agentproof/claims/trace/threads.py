"""Threads: top-level runs that share a line of states or a session, and so may share items."""

from collections import Counter
from collections.abc import Sequence, Set

from ...models.items import Key, answer_to, key_of
from .runs import Run
from .sessions import Stores
from .states import Lineage


class Threads:
    """Groups of top-level runs."""

    def __init__(self, top: Sequence[Run], lineage: Lineage, stores: Stores) -> None:
        self._top = top
        self._up: dict[str, str] = {}
        for run in top:
            for earlier in lineage.nearest(run):
                self._join(run.label, earlier.top().label)
            if run.started.session is not None:
                self._join(run.label, f"session {stores.of(run.started.session).name}")
        self._groups: dict[str, list[Run]] = {}
        for run in top:
            self._groups.setdefault(self._find(run.label), []).append(run)
        self._asked: dict[str, Counter[Key]] = {}
        self._givers: dict[Key, set[str]] | None = None

    def of(self, run: Run) -> list[Run]:
        """The top-level runs of the thread that this run belongs to."""
        return self._groups[self._find(run.top().label)]

    def asked(self, run: Run) -> Counter[Key]:
        """How often the model gave each call in the run's thread; an output counts as its call does.

        For a run inside another one: in that run alone.
        """
        if run.parent is not None:
            return _asked(list(run.tree()))
        root = self._find(run.label)
        if root not in self._asked:
            self._asked[root] = _asked([one for top in self.of(run) for one in top.tree()])
        return self._asked[root]

    def givers(self, call: Key) -> Set[str]:
        """The top-level runs in which, or inside of which, the model gave this call."""
        if self._givers is None:
            self._givers = {}
            for top in self._top:
                for run in top.tree():
                    for _, item in run.asked_calls():
                        self._givers.setdefault(key_of(item), set()).add(top.label)
        return self._givers.get(call, frozenset())

    def _find(self, name: str) -> str:
        while (above := self._up.get(name, name)) != name:
            # Each step halves the way for the next to come.
            self._up[name] = self._up.get(above, above)
            name = above
        return name

    def _join(self, one: str, other: str) -> None:
        self._up[self._find(one)] = self._find(other)


def _asked(runs: list[Run]) -> Counter[Key]:
    asked: Counter[Key] = Counter()
    for run in runs:
        for _, item in run.asked_calls():
            asked[key_of(item)] += 1
            asked[answer_to(key_of(item))] += 1
    return asked
