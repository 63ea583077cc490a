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
from ..models.manifest import ClaimResult, Conduct, Finding, Manifest, name_of_build, not_watched
from ..models.report import ON_REQUEST, Covers, Report, ReportedClaim
from ..models.statement import GITHUB
from ..models.trace import Mode, Trace
from ..record import test_results
from ..system.signals import clean_up_first
from .ending import ending_hints
from .seen import seen_lines, suggestions

_LABEL = 14
_FEW = 8
_NO_TERMINAL = 100_000
"""Columns of what is no terminal: a line is one line there, for whoever searches in it."""


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
        for line in labelled(label, text):
            click.echo(line, err=True)

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def render_judgement(
    document: Manifest, *, traces: Mapping[Mode, Trace] | None = None, verbose: bool = False
) -> Iterator[str]:
    """The lines above the verdict: what the script did, each violated claim with its first reasons, then the
    count of the others. With `traces` it tells what was printed, and how the script and its tests ended."""
    seen = [*test_results.told(traces or {})]
    yield from _under("tests", seen)
    if traces is not None:
        for label, text in seen_lines(traces):
            yield from labelled(label, text)
    # What was expected comes first, whatever its place.
    results = sorted(document.judgement.claims, key=lambda claim: claim.kind not in claims.EXPECTED)
    for name, group in _by_claim(claim for claim in results if claim.status == "violated").items():
        modes = " and ".join(dict.fromkeys(result.mode for result in group))
        where = "" if modes == "both" else f"  ({modes})"
        yield from labelled("VIOLATED", f"{name}{where}", fg="red")
        for line in _reasons(group):
            yield from labelled("", f"  {line}")
    violated = {claim.id for claim in results if claim.status == "violated"}
    expected = [claim for claim in results if claim.kind in claims.EXPECTED]
    rules = [claim for claim in results if claim.kind not in claims.EXPECTED]
    yield from _under("as it should", _names(expected, "holds", violated))
    holds = _names(rules, "holds", violated)
    silent = [name for name in _names(rules, "not_observed", violated) if name not in holds]
    if verbose:
        yield from labelled("holds", ", ".join(holds))
        yield from labelled("not observed", ", ".join(silent))
    else:
        yield from labelled("holds", f"{_rules(len(holds))} (-v names them)" if holds else "")
        yield from labelled("not observed", f"{_rules(len(silent))} had nothing to judge" if silent else "")


def render_verdict(
    document: Manifest, *, traces: Mapping[Mode, Trace] | None = None, source: bytes = b""
) -> Iterator[str]:
    """The last lines: what is to be said or done next, then the verdict. `source` is the script's."""
    results, judgement = document.judgement.claims, document.judgement
    held = {claim.id for claim in results if claim.status != "not_observed"}
    unseen = [claim for claim in results if claim.kind in claims.EXPECTED and claim.id not in held]
    for name, group in _by_claim(unseen).items():
        yield from labelled("not observed", name)
        for line in _reasons(group):
            yield from labelled("", f"  {line}")
    for gap in not_watched(document):
        yield from labelled("not recorded", f"{gap.what}: {gap.why}")
    for recording in document.recordings if judgement.verdict != "inconclusive" else ():
        if recording.touched:
            parts = ", ".join(recording.touched)
            text = f"{recording.mode}: the repeats differ in {parts}; no claim that stands rests on it"
            yield from labelled("differ", text)
    for recording in document.recordings if judgement.verdict == "inconclusive" else ():
        for pointer in recording.differences[:3] if recording.agreement == "differ" else ():
            yield from labelled("differs", f"{recording.mode}: the repeats differ at {pointer}")
    if "sdk_changed" in judgement.reasons:
        yield from labelled("changed", _changed(document.conduct))
    if judgement.verdict == "inconclusive":
        for hint in ending_hints(traces or {}, source=source, script=document.reproduction.entry):
            yield from labelled("next", hint)
    if judgement.verdict == "holds" and not any(claim.kind in claims.EXPECTED for claim in results):
        yield from labelled("your bug?", "if this shows your bug, say what should have happened:")
        for option, why in suggestions(document, traces or {}):
            yield from labelled("", f"  {option}  ({why})")
    word, colour = _VERDICTS[judgement.verdict]
    yield from wrapped(_verdict_sentence(document), first=f"{word}: ", rest="  ", fg=colour)


_VERDICTS = {
    "violated": ("VIOLATED", "red"),
    "holds": ("HOLDS", "green"),
    "inconclusive": ("INCONCLUSIVE", "yellow"),
}


def verdict_line(document: Manifest) -> Iterator[str]:
    """The verdict as one of several lines."""
    word, colour = _VERDICTS[document.judgement.verdict]
    yield from labelled("verdict", f"{word.lower()}: {_verdict_sentence(document)}", fg=colour)


def _verdict_sentence(document: Manifest) -> str:
    """The verdict in one sentence, without a label of ours in it where something was expected."""
    results, judgement = document.judgement.claims, document.judgement
    target = f"{document.target.name} {name_of_build(document.target)}"
    if judgement.verdict == "inconclusive":
        return "; ".join(explain_reason(code) for code in judgement.reasons)
    expected = [claim for claim in results if claim.kind in claims.EXPECTED]
    rules = [claim for claim in results if claim.kind not in claims.EXPECTED]
    broken = list(dict.fromkeys(claim.id for claim in rules if claim.status == "violated"))
    if judgement.verdict == "violated":
        failed = [claim for claim in expected if claim.status == "violated"]
        said = list(dict.fromkeys(claims.explain(claim, each) for claim in failed for each in claim.because))
        parts = [*said[:2], *([f"{len(said) - 2} more expectations"] if len(said) > 2 else [])]
        if broken:
            parts.append(f"{_rules(len(broken))} on {target} ({', '.join(broken)})")
        return printable("; ".join(parts))
    judged = {claim.id for claim in rules if claim.status == "holds"}
    every = {claim.id for claim in rules}
    told = f"no rule is violated; {len(judged)} of {len(every)} had something to judge"
    if expected:
        return f"on {target} all is as it should be, as far as was said; {told}"
    return told


def _rules(count: int) -> str:
    return f"{count} rule{'' if count == 1 else 's'}"


def labelled(label: str, text: str, *, fg: str | None = None) -> Iterator[str]:
    """A text beside its label, as wide as the terminal; nothing for an empty one."""
    if text:
        margin = " " * (_LABEL + 2)
        inner = len(text) - len(text.lstrip(" "))
        yield from wrapped(
            printable(text), first=f"  {label:<{_LABEL}}", rest=f"{margin}{' ' * inner}", fg=fg
        )


def _under(label: str, texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield from labelled("" if number else label, text)


def wrapped(
    text: str, *, first: str, rest: str, fg: str | None = None, fallback: int = _NO_TERMINAL
) -> Iterator[str]:
    """A text behind `first`, in lines no wider than the terminal, the others behind `rest`; broken between
    words, and nowhere else. `first` is coloured by `fg`."""
    width = max(40, terminal_width(fallback))
    words = text.split(" ")
    line, limit, lead = "", width, first
    for number, word in enumerate(words):
        if number and line.strip() and len(lead) + len(line) + 1 + len(word) > limit:
            yield _led(lead, line, first, fg)
            line, lead = word, rest
        else:
            line = f"{line} {word}" if number else word
    yield _led(lead, line, first, fg)


def _led(lead: str, line: str, first: str, fg: str | None) -> str:
    shown = click.style(lead, fg=fg, bold=True) if fg is not None and lead == first else lead
    return f"{shown}{line}".rstrip()


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
    says: str | None = None,
    paths: Iterable[Path],
    kept: Path | None = None,
    taken: Path | None = None,
) -> Iterator[str]:
    """Under the verdict of a recording: who signed it, its ids, and where it was written."""
    account = ""
    if says is not None:
        served = f"https://github.com/{says.removeprefix(GITHUB)}.keys"
        account = f", says it is {says}: others check that, once this key is among {served}"
    yield from labelled("signed", f"ed25519 {signer}{account}")
    yield from labelled(
        "ids", f"bundle sha256:{bundle_id[:16]}…  evidence sha256:{document.evidence_id[:16]}…"
    )
    for path in paths:
        size = f"  ({path.stat().st_size / 1e6:.1f} MB)" if path.is_file() else ""
        yield from labelled("wrote", f"{path}{size}")
    if taken is not None:
        yield from labelled("", f"{taken} holds another recording (--replace overwrites it)")
    if kept is not None:
        yield from labelled("kept", f"{kept}, which has the same evidence (--replace writes it anew)")


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
    word = f"{report.status}: "
    yield from wrapped(printable(_meaning(report)), first=word, rest="  ", fg=_WORDS[report.status])
    if report.hint is not None and not quiet:
        yield from wrapped(printable(report.hint), first="  next: ", rest="    ")


def _checks(report: Report) -> Iterator[str]:
    requested = [check for check in report.checks if check.name in ON_REQUEST]
    for check in report.checks:
        if check in requested and check.status == "not_made":
            continue
        mark, colour = _MARKS[check.status]
        detail = printable(check.detail)
        if check.status == "not_made" and check.reason != "no_trust":
            detail = f"not checked: {detail}"
        lines = wrapped(
            f"{check.name:<{_LABEL - 2}}{detail}",
            first=f"  {mark} ",
            rest=" " * (_LABEL + 2),
            fg=colour,
        )
        yield from lines
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
        yield from wrapped(
            f"{signer.role:<{_LABEL - 4}}{who}: {_COVERS[signer.covers]}",
            first=" " * 6,
            rest=" " * (_LABEL + 2),
        )


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
    what = f"{target.name} {target.build or target.version}" if target else "its SDK"
    failed = next((check for check in report.checks if check.status == "failed"), None)
    match report.status:
        case "CURRENT" if target is None:
            text = "a comparison that follows from recordings of targets that you hold"
            return text + _RESTS_ON.get(report.rests_on or "", "") + _found_beyond(report)
        case "CURRENT":
            rest = _RESTS_ON.get(report.rests_on or "", "")
            return f"this bundle matches the {what} that you hold; it {_shows(report)}{rest}"
        case "INTACT":
            missing = [check for check in report.checks if check.status == "not_made"]
            unchecked = [check.name for check in missing if check.name not in ON_REQUEST]
            told = ["who signed it is not known to you"] if "signature" in unchecked else []
            if others := " and ".join(name for name in unchecked if name != "signature"):
                told.append(f"{others} could not be checked")
            return f"nothing failed, but {' and '.join(told)}; it {_shows(report)}"
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


def terminal_width(fallback: int = 100) -> int:
    """Of the terminal, as COLUMNS or the terminal itself says; or `fallback` where there is none."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else fallback
    except (OSError, ValueError):
        return fallback


def _change(finding: Finding) -> str:
    width = max(20, (terminal_width() - _LABEL) // 3)
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
