"""What people read of a replay, a comparison, a bisection and a matrix."""

import json
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from ._render import printable, render_judgement
from .models.comparison import TraceDifference
from .models.values import Value
from .replay import Replayed
from .store import bundle_id

_LABEL = 12
_SHOWN = 6
_WIDTH = 96


def render_replayed(replayed: Replayed, *, signer: str | None, written: Path | None) -> Iterator[str]:
    """What `replay` prints when it is done."""
    seen, recorded = replayed.seen.manifest, replayed.recorded
    for text in replayed.environment:
        yield f"  {'differs':<{_LABEL}}{printable(text)}"
    yield from render_judgement(seen)
    if signer is not None:
        yield f"  {'signed':<{_LABEL}}replayed, ed25519 {signer}"
    if written is not None:
        yield f"  {'wrote':<{_LABEL}}{written}"
    if replayed.is_same:
        word = click.style("SAME", fg="green", bold=True)
        yield f"{word}: the evidence of this bundle was seen here too (sha256:{recorded.evidence_id[:16]}…)"
        return
    yield from render_differences(replayed.differences, limit=_SHOWN)
    word = click.style("DIFFERENT", fg="red", bold=True)
    ids = f"sha256:{seen.evidence_id[:16]}… instead of sha256:{recorded.evidence_id[:16]}…"
    if replayed.differences:
        yield f"{word}: other evidence was seen here: {ids}"
    else:
        yield f"{word}: another target or script: {ids}"


def replayed_json(replayed: Replayed, *, path: str) -> str:
    """One line of JSON."""
    seen = replayed.seen.manifest
    shape = {
        "bundle": path,
        "bundle_id": bundle_id(replayed.bundle),
        "same": replayed.is_same,
        "evidence_id": replayed.recorded.evidence_id,
        "seen_evidence_id": seen.evidence_id,
        "verdict": replayed.recorded.judgement.verdict,
        "seen_verdict": seen.judgement.verdict,
        "python": seen.environment.python.version,
        "isolation": seen.isolation.to_shape(),
        "environment": list(replayed.environment),
        "differences": [each.to_shape() for each in replayed.differences],
    }
    return json.dumps(shape, sort_keys=True, ensure_ascii=False)


def render_differences(differences: Iterable[TraceDifference], *, limit: int, more: int = 0) -> Iterator[str]:
    """The first differences between two traces, in words; what both modes share is said once."""
    merged: dict[tuple[str, ...], list[TraceDifference]] = {}
    for each in differences:
        merged.setdefault(_identity(each), []).append(each)
    for group in list(merged.values())[:limit]:
        yield from _difference(group)
    left = sum(len(group) for group in list(merged.values())[limit:]) + more
    if left:
        yield f"  {'':<{_LABEL}}… and {left} more"


def _identity(each: TraceDifference) -> tuple[str, ...]:
    sides = (json.dumps(side, sort_keys=True) for side in (each.before, each.after))
    return (each.what, each.subject, each.pointer or "", *sides)


_WORDS = {"gone": "no longer:", "new": "new:", "changed": "changed:", "moved": "moved:"}


def _difference(group: list[TraceDifference]) -> Iterator[str]:
    first = group[0]
    events = "; ".join(f"{each.mode} {_events(each)}" for each in group)
    yield f"  {'changed':<{_LABEL}}{_WORDS[first.what]} {printable(first.subject)}  ({events})"
    indent = " " * (_LABEL + 4)
    if first.what == "changed":
        yield f"{indent}{printable(first.pointer or '')}  {_value(first.before)} → {_value(first.after)}"
    else:
        side = first.before if first.what == "gone" else first.after
        if side is not None:
            yield f"{indent}{_value(side)}"


def _events(each: TraceDifference) -> str:
    numbers = [f"#{number}" for number in (each.event, each.other_event) if number is not None]
    return " → ".join(numbers)


def _value(value: Value) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return printable(textwrap.shorten(text, _WIDTH, placeholder=" …") if len(text) > _WIDTH else text)


def columns(rows: list[list[tuple[str, dict[str, Any]]]]) -> Iterator[str]:  # Any: click's styles
    """A table of texts with their styles, aligned before they are coloured."""
    widths = [max(len(row[place][0]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            click.style(f"{text:<{width}}", **style) for (text, style), width in zip(row, widths, strict=True)
        ]
        yield ("  " + "  ".join(cells)).rstrip()
