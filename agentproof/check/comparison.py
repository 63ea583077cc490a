"""The check of a comparison, offline like that of any bundle, and its report."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..bundle.digests import sha256
from ..bundle.store import ATTESTATIONS, MANIFEST, WHEELS, Bundle, bundle_id
from ..diff.rows import BUNDLES, Attempt, Series, build_rows, wheel_place
from ..errors import BundleError
from ..limits import MAX_MANIFEST_BYTES
from ..models.comparison import Comparison, Row
from ..models.diff import diff
from ..models.manifest import Judgement, Manifest
from ..models.report import REQUIRED, CheckName, Report, Signer
from ..models.statement import build_comparison_statement
from ..models.wire import Sha256
from .bundle import CheckedBundle, Reader, check_bundle
from .members import at
from .reporting import EARLIER, NOT_ASKED, Outcomes, report_on
from .reporting import Outcome as CheckOutcome
from .signers import judge_signature, judge_signer, parse_attestations


@dataclass(frozen=True)
class CheckedComparison:
    """What a check of a comparison says."""

    comparison: Comparison
    bundle_id: Sha256
    signers: tuple[Signer, ...]
    recordings: Mapping[Sha256, CheckedBundle]
    """The check of each bundle that it rests on."""
    rows: tuple[Row, ...]
    """The rows as this tool judges the recordings; the comparison's own, unless it has other rules."""


def check_comparison(bundle: Bundle, *, reader: Reader) -> CheckedComparison:
    """Check a comparison offline.

    1. The manifest is in canonical form; every file is in it, byte for byte.
    2. Each attestation is one good signature over the statement that this comparison gives.
    3. Each bundle that it rests on, at least one, is checked like any other, with the reader's trust and
       sources.
    4. The rows are what these bundles give.

    Whether anybody trusted signed, and whether each recording is CURRENT, is for the caller to read
    off `signers` and `recordings`.

    Raises:
        BundleError: one of the steps failed.
    """
    return _Check(bundle, reader).run()


class _Check:
    """One check; `step` is the one that is being made."""

    def __init__(self, bundle: Bundle, reader: Reader) -> None:
        self.bundle = bundle
        self.reader = reader
        self.step: CheckName = "members"

    def run(self) -> CheckedComparison:
        bundle = self.bundle
        if len(bundle.manifest) > MAX_MANIFEST_BYTES:
            raise BundleError("too_large", f"over {MAX_MANIFEST_BYTES} bytes", path=MANIFEST)
        with at(MANIFEST):
            comparison = Comparison.from_bytes(bundle.manifest)
        _check_members(comparison, bundle)
        inside = _split(bundle)
        if not inside:
            raise BundleError("nothing_recorded", "it rests on no recording", path=MANIFEST)
        recordings = {
            name: check_bundle(each, reader=self.reader, label=f"{BUNDLES}{name}")
            for name, each in inside.items()
        }
        for name, checked in recordings.items():
            if checked.status == "INVALID":
                failed = next(check for check in checked.report.checks if check.status == "failed")
                self.step = failed.name
                raise BundleError(failed.reason or "invalid", failed.detail, path=f"{BUNDLES}{name}")
            if name != checked.report.bundle_id:
                raise BundleError("other_name", "named by another id than its own", path=f"{BUNDLES}{name}")
        self.step = "signature"
        identity = bundle_id(bundle)
        signers = tuple(_signers(bundle, identity, recordings, self.reader))
        self.step = "claims"
        series = _check_rows(comparison, inside)
        rows = comparison.rows
        judgements = {name: _judgement_of(checked) for name, checked in recordings.items()}
        if any(judgements[name] != _recorded_in(each) for name, each in inside.items()):
            rows = build_rows(_judged_now(series, judgements))
        return CheckedComparison(comparison, identity, signers, recordings, rows)


def _check_members(comparison: Comparison, bundle: Bundle) -> None:
    listed = {member.path: member for member in comparison.members}
    if [member.path for member in comparison.members] != sorted(listed):
        raise BundleError("malformed", "members are not sorted by path, each once", path=MANIFEST)
    for path in sorted(bundle.members.keys() - listed.keys()):
        raise BundleError("unlisted", "not in the manifest", path=path, hint=f"delete {path}")
    for path, member in listed.items():
        data = bundle.members.get(path)
        if data is None and not path.startswith(WHEELS):
            raise BundleError("missing", "in the manifest, but not there", path=path)
        if data is not None and (len(data), sha256(data)) != (member.size, member.sha256):
            raise BundleError("other_bytes", "other bytes than the manifest says", path=path)


def _split(bundle: Bundle) -> dict[Sha256, Bundle]:
    """The bundles inside, by the id that they are named by."""
    found: dict[str, dict[str, bytes]] = {}
    wheels: dict[str, bytes] = {}
    for path, data in bundle.members.items():
        if path.startswith(WHEELS):
            wheels[path] = data
            continue
        inside, _, rest = path.removeprefix(BUNDLES).partition("/")
        if not path.startswith(BUNDLES) or not rest:
            raise BundleError("unlisted", "the format has no place for it", path=path)
        found.setdefault(inside, {})[rest] = data
    split: dict[Sha256, Bundle] = {}
    named: set[str] = set()
    for name, files in found.items():
        if MANIFEST not in files:
            raise BundleError("no_manifest", f"no {MANIFEST}", path=f"{BUNDLES}{name}")
        with at(f"{BUNDLES}{name}/{MANIFEST}"):
            manifest = Manifest.from_bytes(files[MANIFEST])
        wheel = wheels.get(wheel_place(manifest))
        named.add(wheel_place(manifest))
        members = {
            path: data
            for path, data in files.items()
            if path != MANIFEST and not path.startswith(ATTESTATIONS)
        }
        if wheel is not None:
            members[WHEELS + manifest.target.wheel] = wheel
        attestations = {
            path.removeprefix(ATTESTATIONS): data
            for path, data in files.items()
            if path.startswith(ATTESTATIONS)
        }
        split[name] = Bundle(files[MANIFEST], members, attestations)
    for path in sorted(wheels.keys() - named):
        raise BundleError("unlisted", "no recording is about it", path=path)
    return split


def _signers(
    bundle: Bundle, identity: Sha256, recordings: Mapping[Sha256, CheckedBundle], reader: Reader
) -> Iterator[Signer]:
    evidence = {
        name: checked.manifest.evidence_id for name, checked in recordings.items() if checked.manifest
    }
    expected = build_comparison_statement(identity, recordings=evidence)
    attestations = parse_attestations(bundle)
    if not attestations:
        raise BundleError("no_attestation", "nobody signed this comparison: attestations/ is empty")
    for attestation in attestations:
        if attestation.payload != expected:
            raise BundleError("other_statement", "signed about something else", path=attestation.path)
        yield judge_signer(attestation, reader.trust, reader.at or datetime.now(UTC))


def _judgement_of(checked: CheckedBundle) -> Judgement:
    """What this tool judges of a recording, even where its check stopped at a signer who is not trusted.

    Raises:
        BundleError: it cannot be judged.
    """
    if checked.judgement is None and checked.bundle is not None:
        checked = check_bundle(checked.bundle, reader=Reader(), label=checked.report.bundle)
    if checked.judgement is None:
        failed = next(check for check in checked.report.checks if check.status == "failed")
        raise BundleError(failed.reason or "invalid", failed.detail, path=checked.report.bundle)
    return checked.judgement


def _recorded_in(bundle: Bundle) -> Judgement:
    return Manifest.from_bytes(bundle.manifest).judgement


def _judged_now(series: Iterable[Series], judgements: Mapping[Sha256, Judgement]) -> Iterator[Series]:
    for each in series:
        attempts = tuple(
            replace(attempt, judgement=judgements[bundle_id(attempt.bundle)]) if attempt.bundle else attempt
            for attempt in each.attempts
        )
        yield Series(each.reproduction, attempts)


def _check_rows(comparison: Comparison, inside: Mapping[Sha256, Bundle]) -> tuple[Series, ...]:
    """The rows are what the recordings say; gives what they are made of."""
    used: set[Sha256] = set()
    series: list[Series] = []
    for row in comparison.rows:
        attempts: list[Attempt] = []
        for cell in row.cells:
            if cell.recorded is None:
                attempts.append(Attempt(cell.target, failed=cell.failed))
                continue
            identity = cell.recorded.bundle_id
            if identity not in inside:
                raise BundleError("missing", f"row {row.reproduction} rests on it", path=BUNDLES + identity)
            used.add(identity)
            attempts.append(Attempt(cell.target, bundle=inside[identity]))
        series.append(Series(row.reproduction, tuple(attempts), good=row.good is True))
    for identity in sorted(inside.keys() - used):
        raise BundleError("unlisted", "no row rests on it", path=BUNDLES + identity)
    expected = build_rows(series)
    if expected != comparison.rows:
        before = {"rows": [row.to_shape() for row in expected]}
        after = {"rows": [row.to_shape() for row in comparison.rows]}
        change = next(diff(before, after), None)
        where = change.pointer if change is not None else "rows"
        raise BundleError("other_comparison", f"the bundles give something else at {where}", path=MANIFEST)
    return tuple(series)


def report_comparison(bundle: Bundle, *, reader: Reader, label: str) -> CheckedBundle:
    """One report on a comparison and all its recordings; one that does not hold is INVALID."""
    check = _Check(bundle, reader)
    try:
        found = check.run()
    except BundleError as error:
        # What came before it is not told apart: a recording inside may have failed where the whole did not.
        before = REQUIRED[: REQUIRED.index(check.step)]
        failed: CheckOutcome = ("failed", error.reason, str(error))
        refused = Outcomes(**{**dict.fromkeys(before, EARLIER), check.step: failed})
        return CheckedBundle(report_on(refused, label=label, identity=bundle_id(bundle)))
    return CheckedBundle(_comparison_report(found, reader, label), bundle, rows=found.rows)


def _comparison_report(found: CheckedComparison, reader: Reader, label: str) -> Report:
    """One report on a comparison; each check is the worst of its recordings' and of its own."""
    inner = [checked.report for checked in found.recordings.values()]
    count = len(inner)
    all_of = f"all {count} recordings"
    rows = _in_words(found.rows)
    if found.rows != found.comparison.rows:
        rows += f" (by the rules that they were recorded with: {_in_words(found.comparison.rows)})"

    def worst(name: CheckName, own: CheckOutcome) -> CheckOutcome:
        return _worst(own, inner, name, count)

    outcomes = Outcomes(
        members=("passed", None, f"{len(found.comparison.members)} files match the manifest"),
        encoding=("passed", None, "every file is canonical"),
        # A comparison is only ever endorsed: who ran what is said by its recordings, each held to its own.
        signature=worst("signature", judge_signature(found.signers, reader.trust, accepted={"endorsed"})),
        environment=worst("environment", ("passed", None, f"{all_of} are pinned")),
        source=worst("source", ("passed", None, f"{all_of} are about a wheel that you hold")),
        claims=worst("claims", ("passed", None, f"recomputed in {count} recordings, which give: {rows}")),
        checkout=worst("checkout", _same_files(all_of)) if reader.checkouts else NOT_ASKED,
        installed=worst("installed", _same_files(all_of)) if reader.installed else NOT_ASKED,
    )
    weakest = [report.rests_on for report in inner]
    role = next((role for role in ("endorsed", "replayed", "recorded") if role in weakest), None)
    return report_on(
        outcomes,
        label=label,
        identity=found.bundle_id,
        signers=found.signers,
        also=tuple(claim for report in inner for claim in report.also),
        not_recomputed=tuple(claim for report in inner for claim in report.not_recomputed),
        rests_on=None if None in weakest else role,
    )


def _in_words(rows: Iterable[Row]) -> str:
    return "; ".join(
        f"{row.reproduction}: {', '.join(f'{cell.target} {cell.outcome}' for cell in row.cells)}"
        for row in rows
    ).replace("_", " ")


def _same_files(all_of: str) -> CheckOutcome:
    return "passed", None, f"{all_of} are about the files that you hold"


def _worst(own: CheckOutcome, inner: Iterable[Report], name: CheckName, count: int) -> CheckOutcome:
    """This check of a comparison: what is wrong with it, else the first recording where it is not passed."""
    steps = [check for report in inner for check in report.checks if check.name == name]
    for status in ("failed", "not_made"):
        if own[0] == status:
            return own
        bad = [check for check in steps if check.status == status]
        if bad:
            return bad[0].status, bad[0].reason, f"{len(bad)} of {count} recordings: {bad[0].detail}"
    return own
