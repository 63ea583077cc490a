"""What people read of a replay, a comparison, a bisection and a matrix."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..bundle.store import bundle_id
from ..claims.judge import explain_reason
from ..compare.matrix import MatrixResult
from ..compare.search import BisectionResult, Point
from ..diff.rows import is_older
from ..models.comparison import Cell, Comparison, Row, TraceDifference
from ..models.manifest import Manifest, is_latest
from ..models.trace import Mode, Trace
from ..models.values import Value
from ..record.replay import ReplayResult
from .console import (
    json_line,
    labelled,
    printable,
    render_judgement,
    render_verdict,
    terminal_width,
    verdict_line,
    wrapped,
)
from .outcomes import CHANGES, place_of, targets_of, visible_words, words_of

_LABEL = 12
_SHOWN = 6
_FEW = 3
_WIDTH = 96


def render_replayed(replayed: ReplayResult, *, signer: str | None, written: Path | None) -> Iterator[str]:
    """What `replay` prints when it is done."""
    seen, recorded = replayed.seen.document, replayed.bundle.document
    for text in replayed.environment:
        yield f"  {'differs':<{_LABEL}}{printable(text)}"
    yield from render_judgement(seen)
    yield from verdict_line(seen)
    if signer is not None:
        yield f"  {'signed':<{_LABEL}}replayed, ed25519 {signer}"
    if written is not None:
        yield f"  {'wrote':<{_LABEL}}{written}"
    if replayed.is_same:
        word = click.style("SAME", fg="green", bold=True)
        for text in replayed.agreement.not_captured:
            yield f"  {'not seen':<{_LABEL}}{text}, which this machine cannot see"
        if replayed.refusal is not None:
            yield f"  {'not signed':<{_LABEL}}a signature would cover more: {printable(replayed.refusal)}"
        what = "the evidence of this bundle, its judgement and its conduct were"
        if replayed.agreement.events is None:
            what = "all that this bundle tells was"
        yield f"{word}: {what} seen here too (sha256:{recorded.evidence_id[:16]}…)"
        return
    yield from _wrapped(render_differences(replayed.differences, limit=_SHOWN))
    word = click.style("DIFFERENT", fg="red", bold=True)
    ids = f"sha256:{seen.evidence_id[:16]}… instead of sha256:{recorded.evidence_id[:16]}…"
    if replayed.agreement.evidence is None:
        yield f"{word}: the same evidence, but {printable(replayed.refusal or '')}"
    elif replayed.differences:
        yield f"{word}: other evidence was seen here: {ids}"
    else:
        yield f"{word}: another target or script: {ids}"


def render_against(
    row: Row, own: Manifest, *, traces: Mapping[Mode, Trace], path: Path, bundle_id: str
) -> Iterator[str]:
    """What `record --good` and `--latest` print: how the recording is not as where it worked, whether that
    is still so on the newest release, and the verdict last."""
    first, mine = row.cells[0], row.cells[1 if row.good else 0]
    words = visible_words(mine, row)
    if words is not None:
        yield from labelled("VIOLATED", f"as-on {first.target}", fg="red")
        yield from labelled("", f"  {words}")
    elif row.good:
        yield from labelled("as it should", f"as-on {first.target}: no difference that a user can see")
    if row.good and (inside := len(mine.differences) + (mine.more or 0)):
        yield from labelled("inside", f"{inside} differences of the traces, which `agentproof report` lists")
    for newest in row.cells[2 if row.good else 1 :]:
        yield from labelled("latest", _since(mine, newest, row))
    if is_latest(own.target):
        yield from labelled("latest", f"{mine.target} is the newest release")
    size = f"  ({path.stat().st_size / 1e6:.1f} MB)" if path.is_file() else ""
    yield from labelled("wrote", f"{path}{size}  (comparison sha256:{bundle_id[:16]}…)")
    if words is None:
        yield from render_verdict(own, traces=traces)
    else:
        yield from wrapped(words, first="VIOLATED: ", rest="  ", fg="red")


def _since(mine: Cell, newest: Cell, row: Row) -> str:
    """Whether what a recording shows is still so on the newest release."""
    if newest.recorded is None or newest.recorded.verdict == "inconclusive":
        return f"not to be told on {newest.target}"
    if row.good and mine.visible is not None:
        return f"{'still so on' if newest.visible is not None else 'gone since'} {newest.target}"
    before = {change.id for change in newest.claims if change.before == "violated"}
    still = {change.id for change in newest.claims if change.after == "violated"}
    if mine.recorded is None or mine.recorded.verdict != "violated":
        return f"{newest.recorded.verdict} on {newest.target}"
    return f"{'still so on' if row.good or before & still else 'gone since'} {newest.target}"


def replayed_json(replayed: ReplayResult, *, path: str) -> str:
    """One line of JSON."""
    seen = replayed.seen.document
    shape = {
        "bundle": path,
        "bundle_id": bundle_id(replayed.bundle),
        "same": replayed.is_same,
        "differs": dict(replayed.agreement.differing),
        "not_captured": list(replayed.agreement.not_captured),
        "not_attested": replayed.refusal,
        "evidence_id": replayed.bundle.document.evidence_id,
        "seen_evidence_id": seen.evidence_id,
        "verdict": replayed.judged.verdict,
        "seen_verdict": seen.judgement.verdict,
        "python": seen.environment.python.version,
        "isolation": seen.isolation.to_shape(),
        "environment": list(replayed.environment),
        "differences": [each.to_shape() for each in replayed.differences],
    }
    return json_line(shape)


def render_differences(
    differences: Iterable[TraceDifference], *, limit: int | None, more: int = 0, alike: bool = False
) -> Iterator[str]:
    """The first things that two traces do not share, in words; what both modes share is said once.

    With `alike`, so is what differs from the one before in its numbers alone.
    """
    groups: dict[tuple[str, ...], list[TraceDifference]] = {}
    for each in differences:
        subject = _without_numbers(each.subject) if alike else each.subject
        groups.setdefault((each.what, subject), []).append(each)
    shown = list(groups.values())[:limit]
    for group in shown:
        yield from _difference(group)
    left = more + sum(map(len, groups.values())) - sum(map(len, shown))
    if left:
        yield f"  {'':<{_LABEL}}… and {left} more"


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Long lines broken between words; those with values are short already."""
    width, margin = max(_LABEL + 4 + _WIDTH, terminal_width()), " " * (_LABEL + 4)
    for line in lines:
        if len(line) <= width or line.startswith(margin):
            yield line
        else:
            yield from textwrap.wrap(
                line, width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
            )


def _without_numbers(text: str) -> str:
    # "the run of a" is the first one, and "the 2nd run of a" another one of its kind.
    return re.sub(r"\d+", "#", re.sub(r"\d+(?:st|nd|rd|th) ", "", text))


def _difference(group: list[TraceDifference]) -> Iterator[str]:
    """One subject, and what of it differs; others like it are counted."""
    first = group[0]
    same = [each for each in group if each.subject == first.subject]
    events = dict.fromkeys(f"{each.mode} {_events(each)}" for each in same)
    others = len({each.subject for each in group}) - 1
    like = f", and {others} more like it" if others else ""
    subject = f"{CHANGES[first.what]} {printable(first.subject)}"
    yield f"  {'trace':<{_LABEL}}{subject}  ({'; '.join(events)}){like}"
    for text in dict.fromkeys(text for each in same for text in _contents(each)):
        yield f"{'':<{_LABEL + 4}}{text}"


def _contents(each: TraceDifference) -> Iterator[str]:
    if each.what == "changed":
        yield _change(place_of(each.pointer or ""), each.before, each.after)
        return
    side = each.before if each.what == "gone" else each.after
    changes = side["changes"] if isinstance(side, dict) and side.keys() == {"changes"} else None
    if not isinstance(changes, dict):
        if side is not None:
            yield _value(side)
        return
    # A change in a state is a fact of its own: it is told as any other, whichever trace has it.
    for pointer, change in list(changes.items())[:_FEW]:
        sides = change if isinstance(change, dict) else {}
        yield _change(pointer, sides.get("before"), sides.get("after"))
    if len(changes) > _FEW:
        yield f"and at {len(changes) - _FEW} more places"


def _change(place: str, before: Value, after: Value) -> str:
    return f"{printable(place)}  {_value(before)} → {_value(after)}"


def _events(each: TraceDifference) -> str:
    numbers = [f"#{number}" for number in (each.event, each.other_event) if number is not None]
    return " → ".join(numbers)


def _value(value: Value) -> str:
    if value is None:
        return "nothing"
    is_beginning = isinstance(value, str) and value.endswith("…") and value[0] in '{["'
    text = str(value) if is_beginning else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return printable(textwrap.shorten(text, _WIDTH, placeholder=" …") if len(text) > _WIDTH else text)


def columns(rows: list[list[tuple[str, dict[str, Any]]]]) -> Iterator[str]:  # Any: click's styles
    """A table of texts with their styles, aligned before they are coloured."""
    widths = [max(len(row[place][0]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            click.style(f"{text:<{width}}", **style) for (text, style), width in zip(row, widths, strict=True)
        ]
        yield ("  " + "  ".join(cells)).rstrip()


_OUTCOMES: dict[str, dict[str, Any]] = {  # Any: click's styles
    "fixed": {"fg": "green", "bold": True},
    "regressed": {"fg": "red", "bold": True},
    "still_violated": {"fg": "red"},
    "still_holds": {"fg": "green"},
    "inconclusive": {"fg": "yellow"},
    "unobservable": {"fg": "yellow"},
    "not_recorded": {"fg": "yellow"},
}
_VERDICTS: dict[str, dict[str, Any]] = {  # Any: click's styles
    "violated": {"fg": "red"},
    "holds": {"fg": "green"},
    "inconclusive": {"fg": "yellow"},
}


def cell_words(cell: Cell, row: Row) -> tuple[str, dict[str, Any]]:  # Any: click's styles
    """A cell in two words at most, with its colour."""
    words = words_of(cell, row)
    return words, _VERDICTS[words] if words in _VERDICTS else _OUTCOMES[cell.outcome]


def render_table(rows: Iterable[Row]) -> Iterator[str]:
    """Reproductions by targets; the baseline of each row is underlined."""
    rows = list(rows)
    targets = targets_of(rows)
    plain: dict[str, Any] = {}  # Any: click's styles
    table = [[("reproduction", {"bold": True}), *((target, {"bold": True}) for target in targets)]]
    for row in rows:
        cells = {cell.target: cell for cell in reversed(row.cells)}
        line: list[tuple[str, dict[str, Any]]] = [(row.reproduction, plain)]  # Any: click's styles
        for target in targets:
            cell = cells.get(target)
            if cell is None:
                line.append(("\N{EN DASH}", plain))
                continue
            text, style = cell_words(cell, row)
            line.append((text, {**style, "underline": True} if cell is row.cells[0] else style))
        table.append(line)
    yield from columns(table)


def render_comparison(rows: Sequence[Row], *, verbose: bool = False) -> Iterator[str]:
    """The table, then what changed in claims and trace; targets on which the same did are told at once.

    Without `verbose`, what still holds is passed over, claims that were never violated are counted, and
    of the trace those few differences are given that say most.
    """
    yield from render_table(rows)
    passed = 0
    for row in rows:
        base = row.cells[0]
        if base.recorded is None or base.recorded.verdict == "inconclusive":
            yield ""
            yield click.style(f"{printable(row.reproduction)} on {printable(base.target)}", bold=True)
            yield from _why(base)
        told: dict[tuple[str, ...], list[Cell]] = {}
        for cell in row.cells[1:]:
            if cell.outcome == "still_holds" and not verbose:
                passed += 1
                continue
            words = cell_words(cell, row)[0]
            told.setdefault((words, *_without_events(_cell_lines(cell, row, verbose))), []).append(cell)
        for cells in told.values():
            yield ""
            targets = ", ".join(cell.target for cell in cells)
            heading = printable(f"{row.reproduction}: {base.target} → {targets}")
            words, style = cell_words(cells[0], row)
            yield f"{click.style(heading, bold=True)}  {click.style(words, **style)}"
            yield from _wrapped(_cell_lines(cells[0], row, verbose))
    if passed:
        yield ""
        yield f"  {passed} still hold; --verbose tells what changed in their traces"


def _cell_lines(cell: Cell, row: Row, verbose: bool) -> Iterator[str]:
    yield from _why(cell)
    if cell.outcome == "inconclusive" and not verbose:
        return  # a script that did not do what it is to show differs in everything
    yield from _claim_lines(cell, older=is_older(cell, row.cells[0]), verbose=verbose)
    yield from render_differences(
        cell.differences, limit=None if verbose else _FEW, more=cell.more or 0, alike=not verbose
    )


def _without_events(lines: Iterable[str]) -> Iterator[str]:
    """What two cells must share to be told at once: where in a trace it was may differ."""
    return (re.sub(r"(?<=  \().*#\d.*(?=\))|and \d+ more", "", line) for line in lines)


def _why(cell: Cell) -> Iterator[str]:
    if cell.failed is not None:
        yield f"  {'because':<{_LABEL}}{printable(cell.failed)}"
    if cell.recorded is not None and cell.recorded.verdict == "inconclusive":
        yield f"  {'because':<{_LABEL}}{'; '.join(explain_reason(code) for code in cell.recorded.reasons)}"
        if cell.recorded.ended is not None:
            yield f"  {'':<{_LABEL}}the script ended by {printable(cell.recorded.ended)}"
    for line in cell.recorded.asked[:_SHOWN] if cell.recorded is not None else ():
        yield f"  {'asked':<{_LABEL}}{printable(line)}"


def _claim_lines(cell: Cell, *, older: bool, verbose: bool) -> Iterator[str]:
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for change in cell.claims:
        before, after = (_status(side) for side in (change.before, change.after))
        grouped.setdefault((change.id, before, after), []).append(change.mode)
    others: dict[str, int] = {}
    for (name, before, after), modes in grouped.items():
        if not verbose and "violated" not in (before, after):
            others[after] = others.get(after, 0) + 1
            continue
        where = "" if modes == ["both"] or len(modes) == 2 else f"  ({modes[0]})"
        became = f"{before} → {after}"
        if before == after:
            became = f"{after} there too" if older else f"still {after}"
        yield f"  {'claim':<{_LABEL}}{printable(name)}: {became}{where}"
    for after, count in sorted(others.items()):
        yield f"  {'':<{_LABEL}}{count} other claims {_BECAME[after]}"


_BECAME = {
    "not observed": "have nothing to judge any more",
    "holds": "have something to judge now, and hold",
    "not judged": "are not judged any more",
}


def _status(status: str | None) -> str:
    return {"not_observed": "not observed", None: "not judged"}.get(status, status or "")


def comparison_json(
    comparison: Comparison, *, rows: Iterable[Row], bundle_id: str, written: Path | None
) -> str:
    """One line of JSON: the comparison, its `rows` as they are judged now, its id, and what was written."""
    shape = {
        **comparison.to_shape(),
        "rows": [row.to_shape() for row in rows],
        "bundle_id": bundle_id,
        "artifact": str(written) if written is not None else None,
    }
    del shape["members"]
    return json_line(shape)


_STATES: dict[str, dict[str, Any]] = {  # Any: click's styles
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "skipped": {"fg": "yellow"},
}
_CHANGES = {"first_bad": ("first bad", "last good"), "first_fixed": ("first fixed", "last bad")}


def render_bisected(bisected: BisectionResult) -> Iterator[str]:
    """What was looked at, in the order of the points, then where the change lies."""
    for probe in bisected.probes:
        word = click.style(f"{probe.state:<{_LABEL}}", **_STATES[probe.state])
        about = f"  {printable(probe.point.about)}" if probe.point.about else ""
        yield f"  {word}{_short_name(probe.point)}  {printable(probe.why)}{about}"
    for change in bisected.changes:
        new, old = _CHANGES[change.kind]
        about = f"  {printable(change.first.about)}" if change.first.about else ""
        name = click.style(_short_name(change.first), bold=True)
        claims = f"  {printable(', '.join(change.claims))}" if change.claims else ""
        yield f"{click.style(new, bold=True)}: {name}{about}  ({old}: {_short_name(change.last)}){claims}"
        if change.skipped:
            names = ", ".join(_short_name(point) for point in change.skipped)
            yield f"  or one of those that could not be judged: {names}"
    if bisected.unchanged:
        yield f"  violated at both ends, so not searched for: {printable(', '.join(bisected.unchanged))}"
    points = " + ".join(map(str, {change.kind: change.points for change in bisected.changes}.values()))
    yield f"  {bisected.recordings} recordings for {points} points"


def _short_name(point: Point) -> str:
    return point.name[:10] if point.about else point.name


def bisected_json(bisected: BisectionResult, *, written: Path | None, explained: Sequence[Path] = ()) -> str:
    """One line of JSON."""
    shape = {
        "changes": [
            {
                "kind": change.kind,
                "last": change.last.name,
                "first": change.first.name,
                "skipped": [point.name for point in change.skipped],
                "points": change.points,
                "claims": list(change.claims),
            }
            for change in bisected.changes
        ],
        "unchanged": list(bisected.unchanged),
        "probes": [
            {"point": probe.point.name, "about": probe.point.about, "state": probe.state, "why": probe.why}
            for probe in bisected.probes
        ],
        "recordings": bisected.recordings,
        "artifact": str(written) if written is not None else None,
        "explained": list(map(str, explained)),
    }
    return json_line(shape)


def render_matrix(finished: MatrixResult) -> Iterator[str]:
    """The table, and how the time was spent."""
    yield from render_table(finished.rows)
    failures = [
        f"{row.reproduction} on {cell.target}: {cell.failed}"
        for row in finished.rows
        for cell in row.cells
        if cell.failed is not None
    ]
    for text in failures[:_SHOWN]:
        yield f"  {'failed':<{_LABEL}}{printable(text)}"
    if len(failures) > _SHOWN:
        yield f"  {'':<{_LABEL}}… and {len(failures) - _SHOWN} more"
    before = f", {finished.kept} of them before" if finished.kept else ""
    missing = f" of {finished.jobs}" if finished.recorded < finished.jobs else ""
    plural = "s" if finished.workers > 1 else ""
    recordings = "recording" if finished.recorded == finished.jobs == 1 else "recordings"
    yield (
        f"  {finished.recorded}{missing} {recordings}{before}, in {finished.seconds:.0f} s on "
        f"{finished.workers} worker{plural} ({finished.processor:.0f} s of processor time)"
    )
