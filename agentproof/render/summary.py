"""Many bundles as Markdown tables: for the summary of a job, or for the issue of a release.

Text from a bundle stands in code spans, and holds no `|` that could end its cell. An INVALID bundle is a
line that says so; nothing else of it is told.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..bundle.store import short
from ..claims.judge import explain_reason
from ..models.comparison import Cell, Row, TraceDifference
from ..models.report import Report
from ..models.text import one_line
from . import outcomes
from .markup import code, prose

MAX_BYTES = 400_000
"""GitHub takes a step summary of 1 MiB, and a step may write two of these."""
_MAX_LINES = 500
_MAX_CLAIMS = 6
_MAX_DIFFERENCES = 3


@dataclass(frozen=True)
class Entry:
    """One bundle as a reader checked it."""

    name: str
    report: Report
    rows: tuple[Row, ...] = ()
    """What it compares; a recording compares nothing, and of an INVALID bundle it is not told."""


def render_summary(entries: Iterable[Entry]) -> str:
    """A table of the recordings, then one for each comparison, with what changed below it."""
    entries = tuple(entries)
    lines = list(_recordings([each for each in entries if not each.rows]))
    for each in entries:
        if each.rows:
            lines += _comparison(each, each.rows)
    text = "\n".join(lines).strip("\n") + "\n"
    data = text.encode()
    if len(data) <= MAX_BYTES:
        return text
    whole = data[:MAX_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{whole}\n\nThe rest is left out for its size.\n"


# Recordings


def _recordings(entries: Sequence[Entry]) -> Iterator[str]:
    if not entries:
        return
    yield "| bundle | recorded on | verdict | violated | check | evidence id |"
    yield "|---|---|---|---|---|---|"
    for entry in entries[:_MAX_LINES]:
        yield _line(_recording(entry))
    if len(entries) > _MAX_LINES:
        yield ""
        yield f"… and {len(entries) - _MAX_LINES} more"
    yield ""


def _recording(entry: Entry) -> Iterator[str]:
    report = entry.report
    yield _code(entry.name)
    if report.status == "INVALID":
        failed = next((check for check in report.checks if check.status == "failed"), None)
        why = f" ({_code(failed.reason or failed.name)})" if failed is not None else ""
        yield from ("", "", "", f"INVALID{why}", "")
        return
    yield (
        _code(f"{report.target.name} {report.target.build or report.target.version}") if report.target else ""
    )
    verdict = report.verdict
    yield verdict.status if verdict is not None else "not judged"
    if verdict is not None and verdict.status == "inconclusive":
        yield _cell("; ".join(map(explain_reason, verdict.reasons)))
    else:
        found = dict.fromkeys(c.id for c in verdict.claims if c.status == "violated") if verdict else {}
        beyond = {c.id for c in report.also if c.status == "violated"}
        yield _few([f"{_code(name)}{' (beyond what was recorded)' * (name in beyond)}" for name in found])
    yield report.status
    yield _code(short(report.evidence_id)) if report.evidence_id else ""


# Comparisons


def _comparison(entry: Entry, rows: Sequence[Row]) -> Iterator[str]:
    targets = outcomes.targets_of(rows)
    yield (
        f"{code(entry.name)} ({entry.report.status}) compares {len(rows)} "
        f"reproduction{'' if len(rows) == 1 else 's'} on {len(targets)} targets; each with what is underlined"
        " in its line:"
    )
    yield ""
    yield _line(["reproduction", *map(_code, targets)])
    yield _line(["---"] * (1 + len(targets)))
    for row in rows[:_MAX_LINES]:
        yield _line([_code(row.reproduction), *(_outcome(row, target) for target in targets)])
    if len(rows) > _MAX_LINES:
        yield ""
        yield f"… and {len(rows) - _MAX_LINES} more reproductions"
    yield ""
    changed = [text for row in rows for cell in row.cells for text in _changed(row, cell)]
    yield from changed
    if changed:
        yield ""


def _outcome(row: Row, target: str) -> str:
    cell = next((cell for cell in row.cells if cell.target == target), None)
    if cell is None:
        return "\N{EN DASH}"
    words = outcomes.words_of(cell, row)
    if cell is row.cells[0]:
        return f"<ins>{words}</ins>"
    return f"**{words}**" if words == outcomes.WORDS["regressed"] else words


def _changed(row: Row, cell: Cell) -> Iterator[str]:
    """One item for a cell that has anything to tell beyond its outcome."""
    told = [*_why(cell), *_claims(cell), *_differences(cell)]
    if not told:
        return
    base = "" if cell is row.cells[0] else f"{code(row.cells[0].target)} → "
    yield f"- {code(row.reproduction)}, {base}{code(cell.target)}: {outcomes.words_of(cell, row)}"
    yield from (f"  - {text}" for text in told)


def _why(cell: Cell) -> Iterator[str]:
    if cell.failed is not None:
        yield code(one_line(cell.failed, 400), limit=400)
    if cell.recorded is not None and cell.recorded.verdict == "inconclusive":
        yield "; ".join(map(explain_reason, cell.recorded.reasons))
        if cell.recorded.ended is not None:
            yield f"the script ended by {code(cell.recorded.ended)}"


def _claims(cell: Cell) -> Iterator[str]:
    if cell.outcome == "baseline":
        return
    grouped: dict[tuple[str, str, str], None] = {}
    for change in cell.claims:
        if "violated" in (change.before, change.after):
            before, after = (
                (side or "not judged").replace("_", " ") for side in (change.before, change.after)
            )
            grouped.setdefault((change.id, before, after))
    for name, before, after in list(grouped)[:_MAX_CLAIMS]:
        yield f"{prose(name)}: {before} → {after}"
    if len(grouped) > _MAX_CLAIMS:
        yield f"and {len(grouped) - _MAX_CLAIMS} more claims"


def _status(status: str | None) -> str:
    return (status or "not judged").replace("_", " ")


def _differences(cell: Cell) -> Iterator[str]:
    shown: dict[str, None] = {}
    for each in cell.differences:
        shown.setdefault(_difference(each))
    yield from list(shown)[:_MAX_DIFFERENCES]
    left = len(shown) - _MAX_DIFFERENCES + (cell.more or 0)
    if left > 0:
        yield f"and {left} more differences"


def _difference(each: TraceDifference) -> str:
    where = f" at {code(outcomes.place_of(each.pointer))}" if each.pointer else ""
    return f"{outcomes.CHANGES[each.what]} {code(each.subject)}{where}"


# Cells of a table


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return code(_cell(text), limit=120)


def _cell(text: str) -> str:
    # GitHub ends a cell at `\\|` too, so a backslash before it is no way out.
    return text.replace("|", "\\u007c")


def _few(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MAX_CLAIMS} more" if len(texts) > _MAX_CLAIMS else ""
    return ", ".join(texts[:_MAX_CLAIMS]) + more
