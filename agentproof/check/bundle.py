"""The offline check of one bundle: bytes, trust and the reader's sources in, a report out.

Nothing of the bundle is executed, imported or unpacked to disk. The steps, in their order; a later
one is skipped when an earlier one failed:

1. members      The manifest is in canonical form. Every file is listed there with its SHA-256 and size,
                has a place in the format, and nothing else is there.
2. encoding     Traces, states and attestations are in the canonical encoding and of their shape.
3. signature    Each attestation is one good signature over the very statement that this manifest
                gives for its role; a `recorded` one is there; somebody whom the reader trusts recorded it
                (or replayed or endorsed it, where the reader accepts that), and as many of a role signed
                as the reader demands. A replay that compared the evidence alone counts for nothing.
4. environment  `pylock.toml` is what the manifest's environment renders to; the target is in it.
5. source       The target wheel agrees with its RECORD and with its name; every loaded module is one
                of its files; the reader holds the same wheel.
6. claims       The states are those that the traces refer to; the evidence id and the judgement are
                what the traces give; title and reference are those of the reproduction's header.
                The rules are those of the version that recorded; what this one has beyond them counts
                for the verdict too, and with one that it lacks the check is skipped.

   checkout     On request: the wheel's files are those of a checkout or revision of the reader's.
   installed    On request: they are those of the package in an environment of the reader's.
   replay       Made by `agentproof replay`, since it runs the reproduction.

What remains the caller's duty: to choose whom to trust and which sources are theirs; to read the
reproduction, since it can deceive the recorder that runs in its process; and to treat what `stated`
lists as the recorder's word.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..bundle.store import Bundle, Shelf, bundle_id, read_bundle, short
from ..claims.judge import Answers, Rejudgement, judge, rejudge
from ..errors import BundleError, Exit
from ..limits import MAX_KEPT_JUDGEMENTS
from ..models.expectations import NOTHING
from ..models.header import Header
from ..models.manifest import ClaimResult, Judgement, Manifest, Target
from ..models.projection import evidence_id
from ..models.pylock import PYLOCK, render
from ..models.report import (
    ON_REQUEST,
    BundleStatus,
    CheckName,
    CheckResult,
    Difference,
    Report,
    Signer,
    Verdict,
)
from ..models.statement import Role
from ..models.trace import Mode, Trace
from ..models.wire import Sha256
from ..system.files import shown
from ..trust.allowed_signers import Trust
from . import content, members, signers
from .memo import Memo
from .reporting import (
    EARLIER,
    NOT_ASKED,
    Outcome,
    is_fatal,
    reported,
    result_of,
    stated_claim,
    status_of,
    target_of,
    unreadable,
    verdict_of,
)
from .source import Sources, compare_loaded

if TYPE_CHECKING:
    from ..models.comparison import Row
    from .trees import Tree, TreeComparison


@dataclass(frozen=True)
class Reader:
    """What the reader brings; a check rests on nothing else."""

    trust: Trust = field(default_factory=Trust)
    sources: Sources = field(default_factory=Sources)
    at: datetime | None = None
    """The time that keys must be valid at; now when None."""
    checkouts: "tuple[Tree, ...]" = ()
    """Checkouts and revisions to compare the wheel's files with."""
    installed: "tuple[Tree, ...]" = ()
    """Environments' site-packages to compare them with."""
    thresholds: Mapping[Role, int] = field(default_factory=dict)
    """How many trusted signers of a role there must be, by distinct keys and principals."""
    accept: frozenset[Role] = frozenset()
    """Roles beside `recorded` that are enough where nobody trusted recorded the bundle."""


@dataclass(frozen=True)
class CheckedBundle:
    """A report, and what was read on the way to it."""

    report: Report
    bundle: Bundle | None = None
    manifest: Manifest | None = None
    """Set once the members match it."""
    traces: Mapping[Mode, Trace] = field(default_factory=dict)
    states: Mapping[str, Any] = field(default_factory=dict)  # Any: a state's JSON
    judgement: Judgement | None = None
    """As this tool judges the recording, with what the manifest does not have; set once it was recomputed."""
    rows: "tuple[Row, ...]" = ()
    """Of a comparison: its rows as this tool judges its recordings."""

    @property
    def status(self) -> BundleStatus:
        """The one word."""
        return self.report.status


def check_path(path: Path, *, reader: Reader, wheels: Path | Shelf | None = None) -> CheckedBundle:
    """Check the bundle at `path`; one that cannot be read is INVALID.

    In a repository store the authored files beside the bundle's directory are a source of the reader's:
    a bundle that was recorded from other ones is STALE.

    Raises:
        UsageError: there is nothing at `path`.
        CannotDoError: the operating system refuses to read it.
    """
    try:
        bundle = read_bundle(path, wheels=wheels)
    except BundleError as error:
        return CheckedBundle(unreadable(error, shown(path)))
    return check_bundle(bundle, reader=reader, label=shown(path), authored=content.authored_beside(path))


def check_bundle(
    bundle: Bundle,
    *,
    reader: Reader,
    label: str | None = None,
    authored: content.Authored | None = None,
) -> CheckedBundle:
    """Check one bundle; `authored` gives the reader's own file for one of the reproduction, if any."""
    return _Check(bundle, reader, label, authored).run()


def exit_code(
    report: Report, *, expect: Literal["violated", "holds"] | None = None, allow_intact: bool = False
) -> Exit:
    """The exit code; a sound bundle with another verdict than the expected one is a no."""
    if report.status == "INTACT" and not allow_intact:
        return Exit.INTACT
    if report.status in ("INVALID", "UNTRUSTED"):
        return Exit.INVALID
    if report.status == "STALE":
        return Exit.STALE
    if expect is not None and (report.verdict is None or report.verdict.status != expect):
        return Exit.NO
    return Exit.YES


def _get_wheel(target: Target) -> str:
    """How the reader comes to a wheel of their own."""
    where = ""
    if target.origin.kind == "index":
        where = f" (`pip download --no-deps {target.name}=={target.version}` gets it)"
    return f"compare with your own: --wheel FILE{where}, or --known LOCK"


_EVIDENCE: Memo[Sha256] = Memo(limit=MAX_KEPT_JUDGEMENTS)
_JUDGED: Memo[tuple[Judgement, bytes, Verdict]] = Memo(limit=MAX_KEPT_JUDGEMENTS)


class _Check:
    """The state of one check; each step leaves what later ones need."""

    def __init__(
        self,
        bundle: Bundle,
        reader: Reader,
        label: str | None,
        authored: content.Authored | None,
    ) -> None:
        self.bundle = bundle
        self.reader = reader
        self.label = label
        self.authored = authored
        self.id = bundle_id(bundle)
        self.manifest: Manifest | None = None
        self.traces: dict[Mode, Trace] = {}
        self.states: dict[str, Any] = {}  # Any: a state's JSON
        self.exchanged: Sha256 | None = None
        """Of a provider's recorded answers, without their times."""
        self.attestations: list[signers.Attestation] = []
        self.signers: list[Signer] = []
        self.differences: list[Difference] = []
        self.also: tuple[ClaimResult, ...] = ()
        self.not_recomputed: tuple[ClaimResult, ...] = ()
        self.judgement: Judgement | None = None
        self.verdict: Verdict | None = None
        """Both set once they were recomputed."""
        self.compared: dict[str, TreeComparison] = {}
        self.hint: str | None = None

    def run(self) -> CheckedBundle:
        steps: Mapping[CheckName, Callable[[Manifest], Outcome]] = {
            "encoding": self._encoding,
            "signature": self._signature,
            "environment": self._environment,
            "source": self._source,
            "claims": self._claims,
        }
        results = [result_of("members", self._guarded(self._members))]
        manifest = self.manifest
        for name, step in steps.items():
            if manifest is None or any(is_fatal(result) for result in results):
                results.append(result_of(name, EARLIER))
            else:
                results.append(result_of(name, self._guarded(partial(step, manifest))))
        sound = manifest is not None and not any(map(is_fatal, results))
        requested = {"checkout": self.reader.checkouts, "installed": self.reader.installed}
        for name in ON_REQUEST:
            trees = requested.get(name, ())
            if trees and manifest is not None and sound:
                results.append(result_of(name, self._guarded(partial(self._trees, manifest, trees))))
            else:
                results.append(result_of(name, EARLIER if trees else NOT_ASKED))
        return self._conclude(results)

    def _guarded(self, step: Callable[[], Outcome]) -> Outcome:
        try:
            return step()
        except BundleError as error:
            self.hint = error.hint
            return "failed", error.reason, str(error)

    def _advise(self, hint: str) -> None:
        """One more thing that the reader can do."""
        self.hint = f"{self.hint}; {hint}" if self.hint else hint

    # 1. members
    def _members(self) -> Outcome:
        manifest = members.parse_manifest(self.bundle.manifest, digest=self.id)
        members.check_members(manifest, self.bundle)
        members.check_places(manifest)
        self.manifest = manifest
        count = len(self.bundle.members) + len(self.bundle.attestations) + 1
        return "passed", None, f"{count} files match the manifest, nothing else is there"

    # 2. encoding
    def _encoding(self, manifest: Manifest) -> Outcome:
        self.traces = members.parse_traces(manifest, self.bundle)
        self.states = members.parse_states(self.bundle)
        self.exchanged = members.parse_exchanges(manifest, self.bundle)
        self.attestations = signers.parse_attestations(self.bundle)
        return "passed", None, "every file is canonical"

    # 3. signature
    def _signature(self, manifest: Manifest) -> Outcome:
        if not self.attestations:
            raise BundleError("no_attestation", "nobody signed this bundle: attestations/ is empty")
        for attestation in self.attestations:
            signers.check_statement(attestation, manifest, self.id)
        if not any(attestation.role == "recorded" for attestation in self.attestations):
            raise BundleError("not_recorded", "no attestation of the role `recorded`, which `record` makes")
        trust, at = self.reader.trust, self.reader.at or datetime.now(UTC)
        self.signers = [signers.judge_signer(attestation, trust, at) for attestation in self.attestations]
        trusted = signers.counted(self.signers)
        for role, needed in sorted(self.reader.thresholds.items()):
            found = signers.count_distinct(signer for signer in trusted if signer.role == role)
            if found < needed:
                text = f"{found} trusted `{role}` by distinct keys and principals; {needed} demanded"
                return "failed", "threshold", text
        accepted: set[Role] = {"recorded", *self.reader.accept}
        outcome = signers.judge_signature(self.signers, trust, accepted=accepted)
        if outcome[0] == "not_made":
            self.hint = "say whom you trust: --trust FILE, or `agentproof trust add`"
        if outcome[1] == "not_accepted":
            rests = signers.rests_on(self.signers)
            self.hint = f"trust who recorded it, or take that for enough: --accept {rests}"
        return outcome

    # 4. environment
    def _environment(self, manifest: Manifest) -> Outcome:
        content.check_environment(manifest)
        if self.bundle.members[PYLOCK] != render(manifest.environment):
            raise BundleError("other_lock", "not what the manifest's environment renders to", path=PYLOCK)
        count = len(manifest.environment.packages)
        return "passed", None, f"{count} wheels pinned; installed as stated by the recorder"

    # 5. source
    def _source(self, manifest: Manifest) -> Outcome:
        target = manifest.target
        compared = self.reader.sources.compare(target)
        self.differences = [
            *compared.differences,
            *content.compare_authored(manifest, self.bundle, self.authored),
        ]
        wheel = self._wheel(manifest)
        trees = () if wheel is None else tuple(self._compare_trees(manifest, wheel))
        if self.differences:
            self.hint = "record again, or check against the source that it is about"
            what = "; ".join(difference.what for difference in self.differences)
            return "failed", "other_source", f"about another source than yours: {what}"
        if wheel is None:
            self._advise(_get_wheel(target))
            text = f"{target.wheel} is not at hand, so neither RECORD nor the loaded modules were compared"
            return "not_made", "wheel_absent", text
        held = (*compared.held, *trees)
        name = short(target.sha256)
        if not held:
            self._advise(_get_wheel(target))
            why = f" ({'; '.join(compared.silent)})" if compared.silent else ""
            text = f"the attached wheel {name} agrees with itself; none of yours was compared with it{why}"
            return "not_made", "no_source", text
        where = " and ".join(held)
        text = f"wheel {name} is the one in {where}; {len(manifest.loaded)} loaded modules are its files"
        return "passed", None, text

    def _wheel(self, manifest: Manifest) -> bytes | None:
        """The target wheel, held to its name, its RECORD and the loaded modules."""
        target = manifest.target
        data = self.bundle.wheel(target.wheel)
        if data is None:
            data = self.reader.sources.wheel_bytes(target.sha256)
        if data is not None:
            compare_loaded(manifest.loaded, content.read_target(data, target))
        content.check_own(manifest, self.bundle)
        return data

    def _compare_trees(self, manifest: Manifest, wheel: bytes) -> Iterator[str]:
        """Compare with the reader's trees; yields those that hold the wheel's files."""
        if not self.reader.checkouts and not self.reader.installed:
            return
        from .trees import compare_tree  # noqa: PLC0415 (4 ms, for those who ask only)

        loaded = {module.path for module in manifest.loaded}
        for tree in (*self.reader.checkouts, *self.reader.installed):
            found = compare_tree(wheel, manifest.target.wheel, tree, loaded=loaded)
            self.compared[tree.label] = found
            if found.same and not found.differing:
                yield tree.label

    # 6. claims
    def _claims(self, manifest: Manifest) -> Outcome:
        content.check_traces(manifest, self.traces)
        content.check_states(manifest, self.traces.values(), self.states)
        content.check_conduct(manifest, self.bundle)
        header = content.check_header(manifest, self.bundle)
        files = {member.path: member.sha256 for member in manifest.members}
        script, target = manifest.reproduction, manifest.target
        told = tuple((each.mode, files[each.trace]) for each in manifest.recordings)
        ran = tuple((path, files[path]) for path in script.files)
        found = _EVIDENCE.get(
            (target.sha256, ran, script.tests, told, script.expectations, self.exchanged),
            1,
            lambda: evidence_id(
                target_sha256=target.sha256,
                reproduction=dict(ran),
                tests=script.tests,
                traces=self.traces.values(),
                state=self.states.__getitem__,
                expectations=script.expectations or NOTHING,
                exchanges=self.exchanged,
            ),
        )
        if found != manifest.evidence_id:
            text = f"the traces give evidence id {found}, the manifest says {manifest.evidence_id}"
            raise BundleError("other_evidence", text)
        judged = self._judge(manifest, header, (told, files[script.entry]))
        recomputed = judged.now.claims[: len(judged.now.claims) - len(judged.beyond)]
        counts = content.count_claims(recomputed)
        text = f"recomputed from {len(self.traces)} traces: {counts}, as recorded"
        if judged.not_recomputed:
            kinds = dict.fromkeys(f"{claim.kind} {claim.version}" for claim in judged.not_recomputed)
            self._advise("update agentproof, which lacks rules of this bundle")
            return "not_made", "not_recomputed", f"{text}; this tool lacks {', '.join(kinds)}"
        return "passed", None, text

    def _judge(self, manifest: Manifest, header: Header, seen: Hashable) -> Rejudgement:
        """The recorded judgement, which is what the traces give; `seen` names them and the header."""
        # All that a judgement follows from beside traces and header, so that it is in the key below.
        given: dict[str, Any] = {  # Any: parts of the manifest
            "recordings": manifest.recordings,
            "conduct": manifest.conduct,
            "isolation": manifest.isolation,
            "coverage": manifest.coverage,
            "version": manifest.judgement.version or 1,
            "answers": Answers.of(manifest.provider, manifest.target.sha256),
        }
        recorded = manifest.judgement
        seen_by = {"traces": self.traces, "state": self.states.__getitem__, **given}
        authored = content.authored_in(manifest, header, self.traces)

        def everything_judged() -> tuple[Judgement, bytes, Verdict]:
            judgement = judge(authored=authored, **seen_by)
            return judgement, content.values_in(judgement), verdict_of(judgement)

        key = (
            seen,
            manifest.reproduction.expectations,
            *given.values(),
            tuple((each.id, each.mode) for each in authored),
        )
        own, values, verdict = _JUDGED.get(key, 1, everything_judged)
        if recorded == own and content.values_in(recorded) == values:
            self.judgement, self.verdict = own, verdict
            return Rejudgement(own, own, (), ())
        # Another version of agentproof knew other rules, or other versions of them.
        content.check_claims(manifest, header, own)
        judged = rejudge(recorded, own=own, **seen_by)
        content.check_judgement(recorded, judged.recomputed)
        self.judgement, self.verdict = judged.now, verdict_of(judged.now)
        self.also, self.not_recomputed = judged.beyond, judged.not_recomputed
        return judged

    # checkout, installed
    def _trees(self, manifest: Manifest, trees: "Iterable[Tree]") -> Outcome:
        if not self.compared:
            return "not_made", "wheel_absent", f"{manifest.target.wheel} is not at hand"
        lines = []
        for found in (self.compared[tree.label] for tree in trees):
            if found.differing or not found.same:
                difference = content.tree_difference(manifest, found)
                self.differences.append(difference)
                self.hint = "record again on what you have, or check against the source that it is about"
                return "failed", "other_source", f"{difference.what}: {difference.yours}"
            lines.append(content.name_tree(manifest, found))
        return "passed", None, "; ".join(lines)

    def _conclude(self, results: list[CheckResult]) -> CheckedBundle:
        manifest = self.manifest
        report = Report(
            bundle=self.label,
            status=status_of(results),
            bundle_id=self.id,
            evidence_id=manifest.evidence_id if manifest is not None and self.verdict is not None else None,
            target=target_of(manifest) if manifest is not None else None,
            verdict=self.verdict,
            checks=tuple(results),
            signers=tuple(self.signers),
            rests_on=signers.rests_on(self.signers),
            sdk_changes="allowed" if manifest is not None and manifest.conduct.allowed else None,
            differences=tuple(self.differences),
            stated=content.stated(manifest) if manifest is not None else (),
            also=tuple(map(reported, self.also)),
            not_recomputed=tuple(map(stated_claim, self.not_recomputed)),
            hint=self.hint,
        )
        return CheckedBundle(report, self.bundle, manifest, self.traces, self.states, self.judgement)
