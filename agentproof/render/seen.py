"""What a script did, briefly, for whoever recorded it: what it printed, how it ended, what to say of that."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..claims.authored.last_output import as_line
from ..models.events import RunEnded, ScriptWrote, ToolStarted
from ..models.manifest import Manifest
from ..models.printed import VARIES
from ..models.trace import Mode, Trace
from ..models.values import text_of
from .ending import ending_lines

_LINES: Final = 8
_WIDTH: Final = 160
_MAX_TOOLS: Final = 2


def printed_lines(trace: Trace) -> list[str]:
    """The lines of its stdout, as printed, without empty ones at the end."""
    wrote = next((e for e in trace.events if isinstance(e, ScriptWrote) and e.stream == "stdout"), None)
    return (
        text_of(wrote.text).rstrip().split("\n") if wrote is not None and text_of(wrote.text).strip() else []
    )


def seen_lines(traces: Mapping[Mode, Trace]) -> Iterator[tuple[str, str]]:
    """A label and a text for each line: what was printed in each mode (once where it is the same), and how
    each ended."""
    told: dict[tuple[str, ...], list[str]] = {}
    for mode, trace in traces.items():
        told.setdefault(tuple(printed_lines(trace)), []).append(mode)
    for lines, modes in told.items():
        where = "" if len(told) == 1 else f"({' and '.join(modes)}) "
        if not lines:
            yield "printed", f"{where}nothing"
        for number, line in enumerate(_brief(lines)):
            yield "" if number else "printed", f"{where}{line}"
            where = ""
    ended = list(ending_lines(traces))
    if not ended:
        yield "ended", "came to its end"
    for number, line in enumerate(ended):
        yield "" if number else "ended", line


def _brief(lines: tuple[str, ...]) -> Iterator[str]:
    """The first and the last ones of many."""
    shown = [line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in lines]
    if len(shown) <= _LINES:
        yield from shown
        return
    yield from shown[: _LINES // 2 - 1]
    yield f"… {len(shown) - _LINES + 1} more lines …"
    yield from shown[-_LINES // 2 :]


def suggestions(manifest: Manifest, traces: Mapping[Mode, Trace]) -> Iterator[tuple[str, str]]:
    """Options that say that what was seen is not what should have happened, each with what was seen."""
    trace = next(iter(traces.values()), None)
    if trace is None:
        return
    ends = [event for event in trace.events if isinstance(event, RunEnded)]
    raised = next((event.error for event in reversed(ends) if event.error is not None), None)
    lines = [line.strip() for line in printed_lines(trace) if line.strip() and VARIES not in line]
    if lines:
        yield f"--should-print TEXT, or --should-not-print {shlex.quote(lines[-1][:80])}", "it printed that"
    if raised is not None:
        yield "--should-not-raise", f"a run raised {raised.type.rpartition(':')[2]}"
    ran = Counter(event.tool for event in trace.events if isinstance(event, ToolStarted))
    for tool, count in ran.most_common(_MAX_TOOLS):
        times = "once" if count == 1 else "twice" if count == 2 else f"{count} times"
        yield (
            f"--should-run {shlex.quote(tool)}=N, or --should-not-run {shlex.quote(tool)}",
            f"it ran {times}",
        )
    output = next((event.final_output for event in reversed(ends) if event.final_output is not None), None)
    if output is not None:
        yield "--should-output TEXT", f"the last output is {as_line(output)[:60]!r}"
