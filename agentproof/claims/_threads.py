"""Threads: top-level runs that share a line of states or a session, and so may share items."""

from collections import Counter
from collections.abc import Sequence

from ._items import Key, answer_to, key_of
from ._runs import Run
from ._sessions import Stores
from ._states import Lineage


class Threads:
    """Groups of top-level runs."""

    def __init__(self, top: Sequence[Run], lineage: Lineage, stores: Stores) -> None:
        self._top = top
        self._up: dict[str, str] = {}
        for run in top:
            for earlier in lineage.before(run):
                self._join(run.label, earlier.top().label)
            if run.started.session is not None:
                self._join(run.label, f"session {stores.of(run.started.session).name}")
        self._asked: dict[str, Counter[Key]] = {}

    def of(self, run: Run) -> list[Run]:
        """The top-level runs of the thread that this run belongs to."""
        root = self._find(run.top().label)
        return [one for one in self._top if self._find(one.label) == root]

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

    def _find(self, name: str) -> str:
        while self._up.get(name, name) != name:
            name = self._up[name]
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
