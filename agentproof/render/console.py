"""What people read in a terminal: the story of a recording, verdicts, and check reports."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import click

from .. import claims
from ..claims.judge import BEYOND, explain_reason
from ..models.diff import Absent
from ..models.manifest import ClaimResult, Conduct, Finding, Manifest
from ..models.report import ON_REQUEST, Covers, Report, ReportedClaim
from ..models.trace import Mode, Trace
from ..record import test_results
from ..system.signals import clean_up_first
from .ending import render_endings

_LABEL = 14
_CLAIM = 20
_FEW = 8


class _Status(Protocol):
    def update(self, status: str) -> None: ...
    def stop(self) -> None: ...


class TerminalProgress:
    """Tells the steps of long work on stderr; a spinner shows that it is alive on a terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._status: _Status | None = None

    def __enter__(self) -> Self:
        clean_up_first()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def working(self, text: str) -> None:
        """A step that may take a while has begun."""
        if self._quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return
        if self._status is None:
            from rich.console import Console  # noqa: PLC0415  only long work on a terminal pays for it

            status = Console(stderr=True).status("")
            status.start()
            self._status = status
        self._status.update(f"  {text.replace('[', '(')} …")

    def done(self, label: str, text: str) -> None:
        """A step is done."""
        if self._quiet:
            return
        self._stop()
        click.echo(f"  {label:<{_LABEL}}{printable(text)}", err=True)

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def render_judgement(
    document: Manifest, *, traces: Mapping[Mode, Trace] | None = None, verbose: bool = False
) -> Iterator[str]:
    """The verdict's lines: each violated claim with its first reasons, then the count of the others.

    With `traces` it tells how tests ended, and an inconclusive one how the script ended, where that was
    not a clean end.
    """
    for number, line in enumerate(test_results.told(traces or {})):
        yield f"  {'' if number else 'tests':<{_LABEL}}{printable(line)}"
    results = document.judgement.claims
    violated = _by_claim(claim for claim in results if claim.status == "violated")
    for name, group in violated.items():
        modes = " and ".join(dict.fromkeys(result.mode for result in group))
        label = click.style(f"{'VIOLATED':<{_LABEL}}", fg="red", bold=True)
        yield f"  {label}{name:<{_CLAIM}}{'' if modes == 'both' else f'({modes})'}"
        for line in _reasons(group):
            yield f"  {'':<{_LABEL}}{'':<{_CLAIM}}{line}"
    holds = _names(results, "holds", violated)
    silent = [name for name in _names(results, "not_observed", violated) if name not in holds]
    yield from _listed("holds", holds)
    if verbose:
        yield from _listed("not observed", silent)
    elif silent:
        plural = "s" if len(silent) > 1 else ""
        yield f"  {'not observed':<{_LABEL}}{len(silent)} other rule{plural} had nothing to judge"
    for recording in document.recordings:
        if recording.touched and document.judgement.verdict != "inconclusive":
            parts = printable(", ".join(recording.touched))
            yield f"  {'differ':<{_LABEL}}{recording.mode}: the repeats differ in {parts}; {_UNTOUCHED}"
    if document.judgement.verdict == "inconclusive":
        label = click.style(f"{'INCONCLUSIVE':<{_LABEL}}", fg="yellow", bold=True)
        yield f"  {label}{'; '.join(explain_reason(code) for code in document.judgement.reasons)}"
        for recording in document.recordings:
            for pointer in recording.differences[:3]:
                yield f"  {'':<{_LABEL}}{recording.mode}: the repeats differ at {pointer}"
        if "sdk_changed" in document.judgement.reasons:
            yield f"  {'':<{_LABEL}}{_changed(document.conduct)}"
        for line in render_endings(traces or {}):
            yield f"  {'':<{_LABEL}}{printable(line)}"


_UNTOUCHED = "no claim that stands rests on it"


def _changed(conduct: Conduct) -> str:
    places = [f"{each.name} at {each.file}:{each.line}" for each in conduct.private_writes]
    # What is no object's name says by itself what was done.
    replaced = (name if " " in name else f"replaced {name}" for name in conduct.changed)
    names = [*replaced, *(f"set {place}" for place in places)]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return printable(", ".join(names[:4]) + more)


def render_written(
    document: Manifest,
    *,
    bundle_id: str,
    signer: str,
    paths: Iterable[Path],
    kept: Path | None = None,
    taken: Path | None = None,
) -> Iterator[str]:
    """Under the verdict of a recording: who signed it, its ids, and where it was written."""
    yield f"  {'signed':<{_LABEL}}ed25519 {signer}"
    yield f"  {'ids':<{_LABEL}}bundle sha256:{bundle_id[:16]}…  evidence sha256:{document.evidence_id[:16]}…"
    for path in paths:
        size = f"  ({path.stat().st_size / 1e6:.1f} MB)" if path.is_file() else ""
        yield f"  {'wrote':<{_LABEL}}{path}{size}"
    if taken is not None:
        yield f"  {'':<{_LABEL}}{taken} holds another recording (--replace overwrites it)"
    if kept is not None:
        yield f"  {'kept':<{_LABEL}}{kept}, which has the same evidence (--replace writes it anew)"


_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not_made": ("\N{EN DASH}", "yellow")}
_WORDS = {"CURRENT": "green", "INTACT": "yellow", "UNTRUSTED": "red", "INVALID": "red", "STALE": "yellow"}


def render_report(report: Report, *, verbose: bool = False, quiet: bool = False) -> Iterator[str]:
    """What a check prints about one bundle: a line a check, then the word and what it means; `quiet` gives
    the word alone, `verbose` what was not recomputed too."""
    if not quiet:
        yield from _checks(report)
        yield from _beyond(report, verbose=verbose)
    if verbose:
        for text in report.stated:
            yield f"    stated      {printable(text)}"
    yield f"{click.style(report.status, fg=_WORDS[report.status], bold=True)}: {_meaning(report)}"
    if report.hint is not None and not quiet:
        yield f"  next: {printable(report.hint)}"


def _checks(report: Report) -> Iterator[str]:
    requested = [check for check in report.checks if check.name in ON_REQUEST]
    for check in report.checks:
        if check in requested and check.status == "not_made":
            continue
        mark, colour = _MARKS[check.status]
        detail = printable(check.detail)
        if check.status == "not_made":
            detail = f"not checked: {detail}"
        yield f"  {click.style(mark, fg=colour)} {check.name:<{_LABEL - 2}}{detail}"
        if check.name == "signature":
            yield from _signers(report)
    left = [check.name for check in requested if check.status == "not_made"]
    if left:
        yield f"  \N{EN DASH} {', '.join(left)}: on request"
    for difference in report.differences:
        yield f"    {printable(difference.what)}"
        yield f"      the bundle  {printable(difference.bundle)}"
        yield f"      yours       {printable(difference.yours)}"


def _beyond(report: Report, *, verbose: bool) -> Iterator[str]:
    """What this tool judges and the manifest does not, and the other way round, each under its heading."""
    if report.also:
        yield f"  {BEYOND}:"
        for status in ("violated", "holds", "not_observed"):
            claims = [claim for claim in report.also if claim.status == status]
            word = status.replace("_", " ")
            if claims and status != "violated" and not verbose:
                yield f"    {word:<{_LABEL}}{len(claims)} claim{'s' if len(claims) > 1 else ''}"
                continue
            for claim in claims:
                label = f"{word:<{_LABEL}}"
                if status == "violated":
                    label = click.style(label, fg="red", bold=True)
                yield f"    {label}{printable(claim.id)} {claim.version} ({claim.mode})"
    if report.not_recomputed:
        yield "  not recomputed, since this tool lacks the rule or its version:"
        shown = report.not_recomputed if verbose else report.not_recomputed[:_FEW]
        for missing in shown:
            said = missing.stated.replace("_", " ")
            name = missing.kind if missing.id == missing.kind else f"{missing.id} ({missing.kind})"
            yield f"    {printable(name)} {missing.version} ({missing.mode}): the bundle says {said}"
        if len(shown) < len(report.not_recomputed):
            yield f"    … and {len(report.not_recomputed) - len(shown)} more"


_COVERS: Mapping[Covers, str] = {
    "recording": "all of it, as this signer's recorder saw it",
    "observations": "judgement, conduct and every event, which agreed on this signer's machine",
    "observations_but_bodies": "judgement, conduct and every event but those of functions' bodies, which "
    "this signer's machine could not see",
    "evidence": "the evidence alone (replay-v0): nothing else was compared, so it counts for nothing",
    "endorsement": "that this signer vouches for it; nothing was run",
}


def _signers(report: Report) -> Iterator[str]:
    """What each signature covers, a line a signer."""
    for signer in report.signers:
        who = printable(" and ".join(signer.principals) or f"not trusted, {signer.fingerprint}")
        yield f"      {signer.role:<{_LABEL - 4}}{who}: {_COVERS[signer.covers]}"


def render_summary(reports: Iterable[Report]) -> str:
    """One line for many bundles."""
    counts: dict[str, int] = {}
    for report in reports:
        counts[report.status] = counts.get(report.status, 0) + 1
    total = sum(counts.values())
    return f"{total} bundles: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


_UNTRUSTED = {
    "threshold": "it has fewer signatures of those that you trust than you demand",
    "not_accepted": "nobody whom you trust recorded this bundle",
    "untrusted": "no signer of this bundle is among those that you trust",
}
_RESTS_ON = {
    "replayed": "; nobody whom you trust recorded it: you accept that somebody replayed it",
    "endorsed": "; nobody whom you trust recorded or replayed it: you accept that somebody endorsed it",
}


def _meaning(report: Report) -> str:
    target = report.target
    what = f"{target.name} {target.version}" if target else "its SDK"
    failed = next((check for check in report.checks if check.status == "failed"), None)
    match report.status:
        case "CURRENT" if target is None:
            text = "a comparison that follows from recordings of targets that you hold"
            return text + _RESTS_ON.get(report.rests_on or "", "") + _found_beyond(report)
        case "CURRENT":
            rest = _RESTS_ON.get(report.rests_on or "", "")
            return f"this bundle matches the {what} that you hold; it {_shows(report)}{rest}"
        case "INTACT":
            missing = [check.name for check in report.checks if check.status == "not_made"]
            unchecked = " and ".join(name for name in missing if name not in ON_REQUEST)
            return f"nothing failed, but {unchecked} could not be checked; it {_shows(report)}"
        case "UNTRUSTED":
            return _UNTRUSTED.get(failed.reason or "" if failed else "", _UNTRUSTED["untrusted"])
        case "STALE":
            return f"a sound bundle about another source than yours; it {_shows(report)}"
        case _:
            return f"do not believe this bundle ({failed.reason if failed else 'damaged'})"


def _shows(report: Report) -> str:
    allowed = ""
    if report.sdk_changes == "allowed":
        allowed = ", of an SDK that the script was allowed to change (--allow-sdk-changes)"
    return _verdict(report) + allowed


def _verdict(report: Report) -> str:
    verdict = report.verdict
    if verdict is None and report.target is None:
        return f"compares several recordings{_found_beyond(report)}"
    if verdict is None:
        return "was not judged"
    if verdict.status == "inconclusive":
        why = "; ".join(explain_reason(code) for code in verdict.reasons)
        return f"is inconclusive: {why}{_found_beyond(report)}"
    violated = _violated(verdict.claims)
    if not violated:
        unknown = report.not_recomputed
        return f"shows no violation{' of a rule that this tool has' if unknown else ''}"
    plural = "s" if len(violated) > 1 else ""
    names = printable(", ".join(violated))
    return f"shows {len(violated)} violation{plural} ({names}){_found_beyond(report)}"


def _found_beyond(report: Report) -> str:
    """What is violated beyond what was recorded, to be said behind a verdict."""
    found = _violated(report.also)
    return f"; beyond what was recorded: {printable(', '.join(found))}" if found else ""


def _violated(claims: Iterable[ReportedClaim]) -> list[str]:
    return list(dict.fromkeys(claim.id for claim in claims if claim.status == "violated"))


def json_line(shape: object) -> str:
    """A document on one line, in ASCII: what else ends a line, or moves a terminal's cursor, is escaped."""
    return json.dumps(shape, sort_keys=True)


def report_json(report: Report) -> str:
    """One line of JSON."""
    return json_line(report.to_shape())


def recorded_json(report: Report, *, stored: Path | None, archive: Path | None) -> str:
    """The report of a recording's own bundle, with the paths that were written."""
    shape = {
        **report.to_shape(),
        "bundle": str(stored) if stored is not None else None,
        "artifact": str(archive) if archive is not None else None,
    }
    return json_line(shape)


def _by_claim(results: Iterable[ClaimResult]) -> dict[str, list[ClaimResult]]:
    found: dict[str, list[ClaimResult]] = {}
    for claim in results:
        found.setdefault(claim.id, []).append(claim)
    return found


def _listed(label: str, names: list[str]) -> Iterator[str]:
    """Names after a label, wrapped to the terminal."""
    if names:
        import textwrap  # noqa: PLC0415 (a check prints no lists)

        width = max(60, terminal_width())
        indent = " " * (_LABEL + 2)
        yield textwrap.fill(
            ", ".join(names),
            width,
            initial_indent=f"  {label:<{_LABEL}}",
            subsequent_indent=indent,
            break_on_hyphens=False,
        )


def _names(results: Iterable[ClaimResult], status: str, without: Iterable[str]) -> list[str]:
    left_out = set(without)
    return list(dict.fromkeys(c.id for c in results if c.status == status and c.id not in left_out))


def _reasons(results: Iterable[ClaimResult]) -> Iterator[str]:
    seen: dict[str, None] = {}
    for result in results:
        for finding in result.because:
            lines = [printable(claims.explain(result, finding))]
            if finding.pointer is not None:
                lines.append(f"{printable(finding.pointer)}  {_change(finding)}")
            seen.setdefault("\n".join(lines), None)
    shown = list(seen)
    for text in shown[:2]:
        yield from text.splitlines()
    if len(shown) > 2:
        yield f"… and {len(shown) - 2} more"


def terminal_width() -> int:
    """Of the terminal, or of a page where there is none."""
    import shutil  # noqa: PLC0415 (with what it loads 2 ms, which a check need not spend)

    return shutil.get_terminal_size((100, 24)).columns


def _change(finding: Finding) -> str:
    width = max(24, (terminal_width() - _LABEL - _CLAIM) // 3)
    change = claims.change_of(finding)
    sides = [_value(side, width) for side in (change.before, change.after)]
    return f"{sides[0]} → {sides[1]}"


def _value(value: object, width: int) -> str:
    if isinstance(value, Absent):
        return "absent"
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return printable(text if len(text) <= width else text[: width - 1] + "…")


def printable(text: str) -> str:
    """Text from a bundle, made safe for a terminal: no control, bidirectional or escape characters."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
