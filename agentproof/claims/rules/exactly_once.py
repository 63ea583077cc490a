"""Along one line of states no call runs a tool twice.

Rule: within one top-level run and the runs that it continues, a call (call id, tool, arguments) starts
a tool at most as often as the model asked for that call id there; across runs the earlier start must
have given its output. Two states made from one result are two lines. Agents as tools are left out:
they start again when their nested run is resumed.

Sites: tool starts with a call id.

Not observed: no tool ran with a call id.

From: no report among those studied; natural, and silent on all of them.

Shown by: a fault seeded into 0.24.0, `tests/seeded/exactly-once.toml`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ...models.events import ToolStarted
from ...models.items import call_id_of
from ...models.manifest import Finding
from ...models.wire import encode
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run

NAME = "exactly-once"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "runs"})

_KINDS = frozenset({"function", "mcp", "custom"})
"""Tools whose call id comes with the hook itself."""

_Key = tuple[str, str, bytes]


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every top-level run of the one trace with what it continues."""
    view = evidence.view
    sites = sum(1 for run in view.runs.values() for start in run.tools_started() if _key(start))
    return outcome(sites=sites, because=_violations(view))


def _key(start: ToolStarted) -> _Key | None:
    if start.call_id is None or start.tool_kind not in _KINDS:
        return None
    return (start.call_id, start.tool, encode(start.arguments))


@dataclass
class _Tops:
    """What the top-level runs did, with all runs inside them, by the run's label."""

    finished: dict[_Key, dict[str, list[ToolStarted]]] = field(default_factory=dict)
    """The tool starts that gave their output, by key."""
    asked: dict[str, dict[str, int]] = field(default_factory=dict)
    """How often the model asked for a call, by its id."""


def _violations(view: View) -> Iterator[Finding]:
    tops = _indexed(view)
    for top in view.top:
        if not (started := _started(top)):
            continue
        earlier = {one.label for one in view.lineage.before(top)}
        for key, starts in started.items():
            before = [start for found in _in(earlier, tops.finished.get(key, {})) for start in found]
            allowed = max(1, sum(_in({*earlier, top.label}, tops.asked.get(key[0], {}))))
            for count, start in enumerate(starts, start=1):
                if len(before) + count > allowed:
                    before.sort(key=lambda start: start.seq)
                    shown = [*before[:1], *before[1:][-_SHOWN:], *starts[:count][-_SHOWN:]]
                    yield make_finding(
                        code="ran_again",
                        events=view.refs(*shown),
                        run=start.run,
                        tool=start.tool,
                        call_id=start.call_id,
                    )


_SHOWN = 10
"""How many starts a finding names of those before, beside the first, and of those in the run."""


T = TypeVar("T")


def _in(labels: set[str], by_run: Mapping[str, T]) -> list[T]:
    """What there is of these runs, without a walk through all of the others."""
    return [by_run[label] for label in labels & by_run.keys()]


def _indexed(view: View) -> _Tops:
    tops = _Tops()
    for top in view.top:
        for key, start in _finished(top):
            tops.finished.setdefault(key, {}).setdefault(top.label, []).append(start)
        for run in top.tree():
            for _, item in run.asked_calls():
                by_run = tops.asked.setdefault(call_id_of(item) or "", {})
                by_run[top.label] = by_run.get(top.label, 0) + 1
    return tops


def _started(top: Run) -> dict[_Key, list[ToolStarted]]:
    found: dict[_Key, list[ToolStarted]] = {}
    starts = [start for run in top.tree() for start in run.tools_started()]
    for start in sorted(starts, key=lambda start: start.seq):
        key = _key(start)
        if key is not None:
            found.setdefault(key, []).append(start)
    return found


def _finished(top: Run) -> Iterator[tuple[_Key, ToolStarted]]:
    """The tool runs of an earlier run that gave their output."""
    for run in top.tree():
        last: dict[tuple[str, str | None], int] = {}
        for end in run.tools_ended():
            last[end.tool, end.call_id] = max(end.seq, last.get((end.tool, end.call_id), 0))
        for start in run.tools_started():
            key = _key(start)
            if key is not None and last.get((start.tool, start.call_id), 0) > start.seq:
                yield key, start


def explain(finding: Finding) -> str:
    """Which tool ran again."""
    return f"tool {finding.tool} ran again for {finding.call_id}, which it had answered before"
