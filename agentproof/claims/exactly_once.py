"""Along one line of states no call runs a tool twice.

Rule: within one top-level run and the runs that it continues, a call (call id, tool, arguments) starts
a tool at most as often as the model asked for that call id there; across runs the earlier start must
have given its output. Two states made from one result are two lines. Agents as tools are left out:
they start again when their nested run is resumed.

Sites: tool starts with a call id.

Not observed: no tool ran with a call id.

From: no report among those studied; natural, and silent on all of them.
"""

from collections.abc import Iterator

from ..models._wire import encode
from ..models.events import ToolEnded, ToolStarted
from ..models.manifest import Finding
from ._evidence import Evidence, View
from ._outcome import Outcome, Scope, make_finding, outcome
from ._runs import Run, times_asked

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


def _violations(view: View) -> Iterator[Finding]:
    for top in view.top:
        earlier = view.lineage.before(top)
        line = [run for one in (top, *earlier) for run in one.tree()]
        done: dict[_Key, list[ToolStarted]] = {}
        for key, start in (found for one in earlier for found in _finished(one)):
            done.setdefault(key, []).append(start)
        seen: dict[_Key, list[ToolStarted]] = {}
        for key, start in _started(top):
            seen.setdefault(key, []).append(start)
            times = [*done.get(key, ()), *seen[key]]
            if len(times) > max(1, times_asked(line, key[0])):
                yield make_finding(
                    code="ran_again",
                    events=view.refs(*times),
                    run=start.run,
                    tool=start.tool,
                    call_id=start.call_id,
                )


def _started(top: Run) -> list[tuple[_Key, ToolStarted]]:
    starts = [start for run in top.tree() for start in run.tools_started()]
    keyed = [(_key(start), start) for start in sorted(starts, key=lambda start: start.seq)]
    return [(key, start) for key, start in keyed if key is not None]


def _finished(top: Run) -> Iterator[tuple[_Key, ToolStarted]]:
    """The tool runs of an earlier run that gave their output."""
    for run in top.tree():
        for start in run.tools_started():
            key = _key(start)
            if key is not None and any(_answers(end, start) for end in run.tools_ended()):
                yield key, start


def _answers(end: ToolEnded, start: ToolStarted) -> bool:
    return end.seq > start.seq and (end.tool, end.call_id) == (start.tool, start.call_id)


def explain(finding: Finding) -> str:
    """Which tool ran again."""
    return f"tool {finding.tool} ran again for {finding.call_id}, which it had answered before"
