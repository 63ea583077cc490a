"""What a pipeline reads: checks, claims and comparisons as JUnit XML.

One `testsuite` is one bundle or one reproduction. A failed check and a regression are failures, and a
violated claim where the bundle was to show none; what was not checked or not observed is skipped; what
could not be recorded is an error. The file never fails where the command says yes: a store documents bugs
and their repair side by side, and a check asks whether its bundles are sound, not what they show. The
format is Jenkins' (`junit-10.xsd` of its xunit plugin), without times: a recording has none.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from .. import claims
from ..claims.judge import explain_reason
from ..models.comparison import Cell, Row
from ..models.diff import Absent
from ..models.manifest import ClaimResult
from ..models.report import REQUIRED, Report, ReportedClaim
from ..models.text import clip, visible
from ..system.files import write_atomic
from .outcomes import place_of

Verdict = Literal["violated", "holds"]
_BEYOND = "claim beyond what was recorded"


@dataclass(frozen=True)
class Case:
    """One testcase."""

    group: str
    name: str
    status: Literal["passed", "failure", "error", "skipped"]
    reason: str = ""
    """A stable code."""
    text: str = ""
    """For people; its first line is the message."""


@dataclass(frozen=True)
class Suite:
    """One testsuite; the properties are ids and the like."""

    name: str
    cases: tuple[Case, ...]
    properties: tuple[tuple[str, str], ...] = ()


def check_suite(report: Report, *, expect: Verdict | None = None, allow_intact: bool = False) -> Suite:
    """A check of one bundle, in agreement with its exit code: what keeps it from being CURRENT is a failure
    unless `allow_intact`. What a bundle shows fails where something else was to `expect`; where nothing was,
    violated claims are skipped and say so."""
    target = report.target
    properties = [
        ("status", report.status),
        ("bundle_id", report.bundle_id or ""),
        ("evidence_id", report.evidence_id or ""),
        (
            "target",
            f"{target.name} {target.build or target.version} sha256:{target.sha256}" if target else "",
        ),
        ("verdict", report.verdict.status if report.verdict else ""),
    ]
    cases = [*_checks(report, allow_intact), *_verdict(report, expect), *_claims(report, expect)]
    return Suite(report.bundle or "bundle", tuple(cases), tuple(properties))


def row_suite(row: Row) -> Suite:
    """One reproduction on several targets."""
    first, *others = row.cells
    baseline = Case("compared with", first.target, "error" if first.recorded is None else "passed")
    return Suite(row.reproduction, (baseline, *map(_cell, others)), (("title", row.title or ""),))


def write(path: Path, suites: Iterable[Suite]) -> None:
    """Write the file.

    Raises:
        CannotDoError: it cannot be written.
    """
    write_atomic(path, to_xml(tuple(suites)))


def to_xml(suites: Sequence[Suite]) -> bytes:
    """The file."""
    root = ET.Element("testsuites", {"name": "agentproof", **_counts([c for s in suites for c in s.cases])})
    for suite in suites:
        element = ET.SubElement(root, "testsuite", {"name": _text(suite.name), **_counts(suite.cases)})
        properties = ET.SubElement(element, "properties")
        for name, value in suite.properties:
            ET.SubElement(properties, "property", {"name": name, "value": _text(value)})
        for case in suite.cases:
            _add(element, suite, case)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add(parent: ET.Element, suite: Suite, case: Case) -> None:
    place = {"classname": _text(f"{suite.name}.{case.group}"), "name": _text(case.name)}
    element = ET.SubElement(parent, "testcase", place)
    if case.status == "passed":
        return
    text = _text(case.text)
    said = {"message": text.split("\n")[0]}
    if case.status == "skipped":
        ET.SubElement(element, "skipped", said)
        return
    outcome = ET.SubElement(element, case.status, {**said, "type": _text(case.reason)})
    outcome.text = text


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    counts = {"tests": len(cases)}
    for name, status in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts[name] = sum(case.status == status for case in cases)
    return {name: str(count) for name, count in counts.items() if name != "skipped" or count}


def _text(text: str) -> str:
    # XML cannot hold control characters at all, not even escaped.
    return clip(visible(text, lines=True), 20_000)


# Checks


def _checks(report: Report, allow_intact: bool) -> Iterator[Case]:
    for check in report.checks:
        if check.name not in REQUIRED and check.status == "not_made":
            continue
        status: Literal["passed", "failure", "skipped"] = "passed"
        if check.status != "passed":
            waived = check.reason == "earlier_failed" or allow_intact or check.name not in REQUIRED
            status = "skipped" if check.status == "not_made" and waived else "failure"
        yield Case("check", check.name, status, check.reason or "", check.detail)


def _verdict(report: Report, expect: Verdict | None) -> Iterator[Case]:
    verdict = report.verdict
    if verdict is None:
        return
    if expect is not None and verdict.status != expect:
        text = f"the verdict is {verdict.status}, expected was {expect}"
        yield Case("verdict", f"is {expect}", "failure", verdict.status, text)
    elif expect is not None:
        yield Case("verdict", f"is {expect}", "passed")
    elif verdict.status == "inconclusive":
        text = "; ".join(map(explain_reason, verdict.reasons))
        yield Case("verdict", "is conclusive", "skipped", ",".join(verdict.reasons), text)


def _claims(report: Report, expect: Verdict | None) -> Iterator[Case]:
    claims = report.verdict.claims if report.verdict else ()
    recorded = len(claims) - len(report.also)
    for place, claim in enumerate(claims):
        name = claim.id if claim.mode == "both" else f"{claim.id} ({claim.mode})"
        group, how = ("claim", "as recorded") if place < recorded else (_BEYOND, "beyond what was recorded")
        if claim.status == "not_observed":
            yield Case(group, name, "skipped", "not_observed", "nothing to judge")
        elif claim.status == "violated" and expect == "holds":
            yield Case(group, name, "failure", "violated", "\n".join(_because(claim)))
        elif claim.status == "violated" and expect is None:
            text = f"violated, {how}: {next(_because(claim), claim.kind)}"
            yield Case(group, name, "skipped", "violated", text)
        else:
            yield Case(group, name, "passed")
    for missing in report.not_recomputed:
        name = missing.id if missing.mode == "both" else f"{missing.id} ({missing.mode})"
        text = f"this tool lacks {missing.kind} {missing.version}; the bundle says {missing.stated}"
        yield Case("claim", name, "skipped", "not_recomputed", text)


def _because(claim: ReportedClaim) -> Iterator[str]:
    # What words a finding is its kind alone; how often the rule judged plays no part.
    result = ClaimResult(
        id=claim.id, kind=claim.kind, version=claim.version, mode=claim.mode, status=claim.status, sites=0
    )
    for finding in claim.because:
        yield claims.explain(result, finding)
        if finding.pointer is not None:
            change = claims.change_of(finding)
            yield f"  {finding.pointer}: {_value(change.before)} -> {_value(change.after)}"
        yield f"  events {', '.join(f'{ref.mode} {ref.seq}' for ref in finding.events)}"


def _value(value: object) -> str:
    if isinstance(value, Absent):
        return "absent"
    return clip(json.dumps(value, ensure_ascii=False, sort_keys=True), 200)


# Comparisons

_OUTCOMES: dict[str, Literal["passed", "failure", "error", "skipped"]] = {
    "baseline": "passed",
    "fixed": "passed",
    "still_holds": "passed",
    "regressed": "failure",
    "still_violated": "failure",
    "unobservable": "skipped",
    "inconclusive": "error",
    "not_recorded": "error",
}


def _cell(cell: Cell) -> Case:
    return Case("target", cell.target, _OUTCOMES[cell.outcome], cell.outcome, "\n".join(_says(cell)))


def _says(cell: Cell) -> Iterator[str]:
    yield cell.outcome.replace("_", " ")
    if cell.failed is not None:
        yield cell.failed
    if cell.recorded is not None:
        yield from map(explain_reason, cell.recorded.reasons)
        yield f"bundle sha256:{cell.recorded.bundle_id}, evidence sha256:{cell.recorded.evidence_id}"
    for claim in cell.claims:
        yield f"{claim.id} ({claim.mode}): {claim.before or 'not judged'} -> {claim.after or 'not judged'}"
    for each in cell.differences:
        where = f" at {place_of(each.pointer)}" if each.pointer is not None else ""
        yield f"{each.mode}: {each.what}: {each.subject}{where}"
