"""From traces and states to a verdict: pure, and the same for record, replay and check.

Rules:
1. Each claim is evaluated by its own kind; one whose kind needs a part of the recording that failed,
   or that this recording could not capture, is `not_observed`.
2. The verdict is `violated` when a claim is; else `holds` when a claim does and the script came to a
   clean end in every mode (or to the one that its author claims for that mode); else `inconclusive`.
   That the script completed is not enough to hold where an agent ran: it says nothing of the SDK by
   itself; of a script that uses the SDK without a run it is all that can be asked. A script that
   ends as written but hangs, dies or raises with its runs streamed may show a bug, or only that this tool's
   variation does not suit it: so it is neither a violation nor passed over.
3. A violation seen only in a stream that was made from a plain answer, because the script's model cannot
   stream, does not make the verdict `violated` by itself.
4. Where the repeats differ in some parts of a recording, a claim whose kind needs one of these is
   `not_observed`, and the others stand; where one of the repeats would violate such a claim, nothing holds.
5. Whatever the claims say, the verdict is `inconclusive` when the repeats differ in how the script ended or
   in no part that is told, the script changed the SDK (and nobody allowed it), or it asked for what the
   level of isolation lacks.
6. What the script takes for granted is not the SDK's: where a variable, a key, a file or a module is not
   there, where an assertion failed before the SDK was called, or where the SDK was never imported, what the
   reporter expects is `not_observed`. So it is with the runs streamed where only that keeps the script from
   its end, or where what is expected is met as written: the reporter speaks of the script as it is.
7. Where a provider's recorded answers were given, what a script asks on the release that it asked them on
   is what was recorded, else nothing is concluded. On another release it may ask with other settings; where
   an answer to another question was given, or none could be, nothing holds; where none could be, what the
   reporter expects is `not_observed`, since the script then ends by that. A claim that compares the modes
   is `not_observed` where an answer had to be put into the other form.
8. An inconclusive verdict carries the reasons as stable codes (`REASONS`).

A judgement that was recorded is judged again (`rejudge`): what of it this tool has must come out the same,
what this tool has beyond it counts for the verdict as well, and what this tool lacks counts for nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import ValidationError

from ..errors import BundleError, FormatError
from ..limits import MAX_CLAIM_LOOKS, MAX_CLAIMS
from ..models.events import ModelCalled, NetworkRefused, SdkImported
from ..models.manifest import ClaimResult, Conduct, Gap, Isolation, Judgement, Provider, Recording
from ..models.trace import Mode, Trace
from ..models.values import Value
from ..models.wire import Sha256, first_problem
from . import (
    EXPECTED,
    INVARIANTS,
    AuthoredClaim,
    Evidence,
    Outcome,
    checks_in,
    excuses,
    find_authored,
    find_kind,
    find_rule,
)
from .authored import needs_of, parse_arguments, raised, script_ended
from .rules import script_completed

REASONS: Mapping[str, str] = {
    "nothing_observed": "no claim had anything to judge",
    "no_run": "the script never ran an agent",
    "not_watched": "the script used a part of the SDK that is not recorded, and ran no agent besides",
    "sdk_not_imported": "the script never imported the SDK",
    "synthetic_stream": "what was violated was seen only in a stream made from the model's plain answers",
    "environment_missing": "the script did not find a variable, key, file or module that it takes for "
    "granted, which says nothing of the SDK",
    "asked_differently": "the script did not ask the provider what it had asked when the answers were "
    "recorded",
    "answered_another_question": "this release asks something else than was recorded, and was given the "
    "answer to a similar question",
    "left_the_recording": "this release asks what was not recorded, so it got no answer from there on",
    "before_sdk": "an assertion failed before the script called the SDK, which says nothing of the SDK",
    "expectation_unseen": "something that should happen had nothing to be seen in",
    "script_failed": "the script did not come to a clean end, so what it was to show may not have happened",
    "streamed_failed": "as written the script came to its end, with its runs streamed (this tool's variation "
    "of it) it did not: what holds, holds as written alone",
    "repeats_differ": "two recordings of the same script differ",
    "sdk_changed": "the script changed the SDK; --allow-sdk-changes judges it all the same",
    "needs_namespace": "the script needs loopback network, which this machine's isolation does not give",
    "recorder_failed": "the recorder failed at a part that the claims need",
    "not_captured": "this recording could not capture a part that the claims need",
}
"""Why a verdict is inconclusive, by code."""

BEYOND = "beyond what was recorded, by rules or versions that its maker did not have"
"""The heading of claims that a manifest does not have."""

ALL_MODES: tuple[Mode, ...] = ("as-written", "streamed")

VERSION = 2
"""Of the rules above. 1 is what bundles without a version were judged by: a script that ran no agent was
inconclusive, whatever it did."""

ClaimMode = Literal["as-written", "streamed", "both"]


@dataclass(frozen=True)
class Answers:
    """What a provider's recorded answers do to a verdict, by rule 7."""

    overruling: frozenset[str] = frozenset()
    unanswered: frozenset[str] = frozenset()
    """Why nothing holds."""
    made: frozenset[str] = frozenset()
    """The modes of claims that rest on an answer which was put into the other form."""
    left: frozenset[str] = frozenset()
    """The modes in which a request of another release got no answer: how they end says nothing of it."""

    @classmethod
    def of(cls, provider: Provider | None, target: Sha256) -> "Answers":
        """Of what was given on the wheel `target`."""
        if provider is None:
            return cls()
        ways = {each.by for each in provider.answers}
        modes = {each.mode for each in provider.answers if each.synthesised}
        made = frozenset({*modes, "both"} if modes else ())
        if target == provider.target:
            is_other = bool(ways - {"exact", "same"})
            return cls(frozenset({"asked_differently"} if is_other else ()), made=made)
        reasons = {"shape": "answered_another_question", "refused": "left_the_recording"}
        left = frozenset(each.mode for each in provider.answers if each.by == "refused")
        unanswered = frozenset(reasons[way] for way in ways & reasons.keys())
        return cls(unanswered=unanswered, made=made, left=left)


@dataclass(frozen=True)
class ClaimRequest:
    """One claim to evaluate."""

    id: str
    kind: str
    version: int
    mode: ClaimMode
    arguments: Value | None = None


def judge(
    *,
    traces: Mapping[Mode, Trace],
    state: Callable[[Sha256], Any],  # Any: a state's JSON
    recordings: tuple[Recording, ...],
    conduct: Conduct,
    isolation: Isolation,
    coverage: tuple[Gap, ...] = (),
    authored: tuple[AuthoredClaim, ...] = (),
    claims: tuple[ClaimRequest, ...] | None = None,
    version: int = VERSION,
    answers: Answers | None = None,
) -> Judgement:
    """Evaluate claims and conclude.

    Asked are every rule of this tool, the `authored` claims of the header (see `claims.read_claims`) and
    the checks that the script made; or exactly `claims`. The verdict is that of this `version` of the rules.

    Raises:
        BundleError: `claims` names a kind, version or mode that this tool does not have, or arguments
            that are not of the kind's shape.
    """
    evidence = Evidence.of(traces, state)
    answers = answers or Answers()
    overruling = _overruling(evidence, recordings, conduct, isolation, coverage) | answers.overruling
    bench = _Bench(evidence, overruling, coverage, recordings, version=version, answers=answers)
    if claims is None:
        written = (*authored, *checks_in(evidence))
        claims = (
            *invariants(traces),
            *(ClaimRequest(c.id, c.kind, c.version, c.mode, c.arguments) for c in written),
        )
    _check_number(claims, evidence)
    return bench.conclude(tuple(map(bench.evaluate, claims)))


@dataclass(frozen=True)
class Rejudgement:
    """A recorded judgement as this tool sees it."""

    recomputed: Judgement
    """What the manifest should say: its claims recomputed, but as they are there if this tool lacks them."""
    now: Judgement
    """The claims of `recomputed` that this tool has, then `beyond`, and the verdict over both."""
    beyond: tuple[ClaimResult, ...]
    """Claims of rules, or of versions of rules, that the manifest does not have."""
    not_recomputed: tuple[ClaimResult, ...]
    """The manifest's claims of rules, or of versions of rules, that this tool lacks; they do not count."""


def rejudge(
    recorded: Judgement,
    *,
    own: Judgement,
    traces: Mapping[Mode, Trace],
    state: Callable[[Sha256], Any],  # Any: a state's JSON
    recordings: tuple[Recording, ...],
    conduct: Conduct,
    isolation: Isolation,
    coverage: tuple[Gap, ...] = (),
    version: int = VERSION,
    answers: Answers | None = None,
) -> Rejudgement:
    """Judge again what another version of this tool judged; `own` is what this one judges by itself.

    Whoever has a `Rejudgement` compares `recomputed` with what was recorded.

    Raises:
        BundleError: a claim is about a mode that was not recorded or is not its rule's, or has arguments
            that are not of its kind's shape.
    """
    evidence = Evidence.of(traces, state)
    answers = answers or Answers()
    bench = _Bench(
        evidence,
        _overruling(evidence, recordings, conduct, isolation, coverage) | answers.overruling,
        coverage,
        recordings,
        version=version,
        answers=answers,
    )
    _check_number(recorded.claims, evidence)
    evaluated = {_key(result): result for result in own.claims}
    recomputed: list[ClaimResult] = []
    missing: list[ClaimResult] = []
    for claim in recorded.claims:
        _check_mode(claim, (*ALL_MODES, "both"), traces)
        if find_kind(claim.kind, claim.version) is None:
            missing.append(claim)
            recomputed.append(claim)
            continue
        asked = ClaimRequest(claim.id, claim.kind, claim.version, claim.mode, claim.arguments)
        recomputed.append(evaluated.get(_key(claim)) or bench.evaluate(asked))
    known = {_key(claim) for claim in recorded.claims}
    beyond = tuple(result for result in own.claims if _key(result) not in known)
    lacking = {_key(claim) for claim in missing}
    counted = (*(result for result in recomputed if _key(result) not in lacking), *beyond)
    # Why a rule that this tool lacks saw nothing is for that rule to say.
    unknown = {"recorder_failed", "not_captured"} & set(recorded.reasons) if missing else set()
    return Rejudgement(
        recomputed=bench.conclude(tuple(recomputed), blind=unknown),
        now=bench.conclude(counted),
        beyond=beyond,
        not_recomputed=tuple(missing),
    )


def _key(claim: ClaimResult) -> tuple[str, str, int, str]:
    return claim.id, claim.kind, claim.version, claim.mode


def _check_number(asked: Sequence[ClaimRequest | ClaimResult], evidence: Evidence) -> None:
    """Not more is asked than can be looked at in little time."""
    authored = sum(1 for claim in asked if claim.kind not in INVARIANTS)
    events = max((len(view.events) for view in evidence.views.values()), default=0)
    if authored > MAX_CLAIMS or authored * events > MAX_CLAIM_LOOKS:
        raise BundleError(
            "too_many",
            f"{authored} claims and checks of the script on {events} events; at most {MAX_CLAIMS}, and "
            f"{MAX_CLAIM_LOOKS} looks at events",
            path="traces",
            hint="give fewer labels to probe.check, and say in `probe.observe` what differs",
        )


def invariants(modes: Iterable[Mode]) -> tuple[ClaimRequest, ...]:
    """Every invariant that can be asked of recordings in these modes, in one order."""
    present = [mode for mode in ALL_MODES if mode in set(modes)]
    asked: list[ClaimRequest] = []
    for name, kind in sorted(INVARIANTS.items()):
        match kind.SCOPE:
            case "each":
                asked += [ClaimRequest(name, name, kind.VERSION, mode) for mode in present]
            case "both" if len(present) == 2:
                asked.append(ClaimRequest(name, name, kind.VERSION, "both"))
            case "as-written" if "as-written" in present:
                asked.append(ClaimRequest(name, name, kind.VERSION, "as-written"))
            case _:
                pass
    return tuple(asked)


def explain_reason(code: str) -> str:
    """A sentence for a reason's code."""
    return REASONS.get(code, code.replace("_", " "))


_MODES: Mapping[str, tuple[str, ...]] = {
    "each": ALL_MODES,
    "both": ("both",),
    "as-written": ("as-written",),
}


class _Bench:
    """One recording, on which claims are evaluated and a verdict is reached."""

    def __init__(
        self,
        evidence: Evidence,
        overruling: set[str],
        coverage: Iterable[Gap],
        recordings: Iterable[Recording],
        *,
        version: int,
        answers: Answers,
    ) -> None:
        self._evidence = evidence
        self._version = version
        self._answers = answers
        self._touched = {each.mode: frozenset(each.touched) for each in recordings}
        coverage = tuple(coverage)
        self._is_all_watched = not any(gap.code == "not_watched" for gap in coverage)
        self._overruling = overruling
        self._missing = {gap.what for gap in coverage if gap.code != "not_in_release"}

    def evaluate(self, claim: ClaimRequest) -> ClaimResult:
        """One claim.

        Raises:
            BundleError: this tool does not have it, its mode or its arguments.
        """
        needs, evaluate = self._evaluator(claim)
        if self._blind(needs, claim.mode) is not None or (claim.mode == "both" and self._answers.made):
            return _result(claim, Outcome("not_observed", 0))
        if claim.kind in EXPECTED:
            return self._expected(claim, evaluate)
        return _evaluated(claim, evaluate, self._seen(claim.mode))

    def _expected(self, claim: ClaimRequest, evaluate: Callable[[Evidence], Outcome]) -> ClaimResult:
        """By rule 6, and by rule 7 where the script or what it is a variation of left the recording."""
        if (
            self._answers.left & {claim.mode, "as-written"}
            or self._excused
            or (claim.mode == "streamed" and self._is_unsuited)
        ):
            return _result(claim, Outcome("not_observed", 0))
        found = _evaluated(claim, evaluate, self._seen(claim.mode))
        both = claim.mode == "streamed" and "as-written" in self._evidence.views
        if both and found.status == "violated" and evaluate(self._seen("as-written")).status == "holds":
            return _result(claim, Outcome("not_observed", 0, found.because))
        return found

    @cached_property
    def _excused(self) -> frozenset[str]:
        return excuses(self._evidence, keys=True)

    @cached_property
    def _is_unsuited(self) -> bool:
        return _is_unsuited(self._evidence)

    def conclude(self, results: tuple[ClaimResult, ...], *, blind: Iterable[str] = ()) -> Judgement:
        """The verdict over these claims; `blind` are reasons for which others had nothing to judge."""
        why = {*blind, *(() if self._is_all_watched else ("not_watched",))}
        at_odds = False  # whether the repeat that is kept shows a violation that rests on what they differ in
        for result in results:
            if result.status != "not_observed" or find_kind(result.kind, result.version) is None:
                continue
            asked = ClaimRequest(result.id, result.kind, result.version, result.mode, result.arguments)
            needs, evaluate = self._evaluator(asked)
            if reason := self._blind(needs, result.mode):
                why.add(reason)
            if reason == "repeats_differ" and not at_odds:
                at_odds = _evaluated(asked, evaluate, self._seen(result.mode)).status == "violated"
        expected = any(result.kind in EXPECTED for result in results)
        return _concluded(
            results,
            self._evidence,
            overruling=self._overruling,
            blind=why,
            at_odds=at_odds,
            excused=self._excused if expected else excuses(self._evidence, keys=False),
            version=self._version,
            answers=self._answers,
        )

    def _seen(self, mode: ClaimMode) -> Evidence:
        return self._evidence if mode == "both" else self._evidence.only(mode)

    def _blind(self, needs: frozenset[str], mode: ClaimMode) -> str | None:
        """Why a claim that needs these parts of the recording saw nothing, if it did not."""
        failed = {part for view in self._seen(mode).views.values() for part in view.failed_parts}
        if needs & failed:
            return "recorder_failed"
        if needs & self._missing:
            return "not_captured"
        differing = frozenset[str]().union(*(self._touched[each] for each in self._seen(mode).views))
        return "repeats_differ" if needs & differing else None

    def _evaluator(self, claim: ClaimRequest) -> tuple[frozenset[str], Callable[[Evidence], Outcome]]:
        """What a claim needs, and how it is evaluated."""
        rule, authored = find_rule(claim.kind, claim.version), find_authored(claim.kind, claim.version)
        kind = rule or authored
        if kind is None:
            raise BundleError(
                "unknown_claim",
                f"claim {claim.id!r} is of kind {claim.kind} {claim.version}, which this tool does not have",
                path="manifest.json",
            )
        _check_mode(claim, _MODES[kind.SCOPE], self._evidence.views)
        if authored is None:
            if rule is None or claim.arguments is not None:
                raise _malformed(claim, "a rule has no arguments")
            return rule.NEEDS, rule.evaluate
        try:
            arguments = parse_arguments(authored, claim.arguments)
        except FormatError as error:
            raise _malformed(claim, error.message) from error
        return needs_of(authored, arguments), lambda evidence: authored.evaluate(evidence, arguments)


def _check_mode(claim: ClaimRequest | ClaimResult, modes: Iterable[str], traces: Iterable[Mode]) -> None:
    needed = ALL_MODES if claim.mode == "both" else (claim.mode,)
    if claim.mode not in modes or not {*needed} <= {*traces}:
        raise BundleError(
            "unknown_claim",
            f"claim {claim.id!r} is about mode {claim.mode}; the traces are {', '.join(sorted(traces))}",
            path="manifest.json",
        )


def _malformed(claim: ClaimRequest, why: str) -> BundleError:
    return BundleError("malformed_claim", f"claim {claim.id!r}: {why}", path="manifest.json")


def _evaluated(claim: ClaimRequest, evaluate: Callable[[Evidence], Outcome], seen: Evidence) -> ClaimResult:
    try:
        return _result(claim, evaluate(seen))
    except ValidationError as error:
        # No honest trace comes here; what a hostile one makes a rule say must not stop a check of others.
        text = f"claim {claim.id!r} cannot be told: {first_problem(error)}"
        raise BundleError("malformed", text, path="traces") from error


def _result(claim: ClaimRequest, outcome: Outcome) -> ClaimResult:
    return ClaimResult(
        id=claim.id,
        kind=claim.kind,
        version=claim.version,
        mode=claim.mode,
        arguments=claim.arguments,
        status=outcome.status,
        sites=outcome.sites,
        because=outcome.because,
    )


def _overruling(
    evidence: Evidence,
    recordings: Iterable[Recording],
    conduct: Conduct,
    isolation: Isolation,
    coverage: Iterable[Gap],
) -> set[str]:
    """What makes the verdict inconclusive whatever the claims say."""
    reasons: set[str] = set()
    if any(
        each.agreement == "differ" and (not each.touched or "script" in each.touched) for each in recordings
    ):
        reasons.add("repeats_differ")
    if not conduct.allowed:
        # A script that breaks the comparison with the SDK's files is not to be believed for it.
        is_unwatched = any("conduct" in view.failed_parts for view in evidence.views.values())
        if conduct.changed or conduct.private_writes:
            reasons.add("sdk_changed")
        elif is_unwatched or any(gap.what == "conduct" for gap in coverage):
            reasons.add("recorder_failed")
    # Where no socket can be made at all, nobody can tell whether it was meant for loopback.
    asked_loopback = any(
        refused.loopback or refused.operation == "socket.__new__"
        for view in evidence.views.values()
        for refused in view.of(NetworkRefused)
    )
    if asked_loopback and isolation.network != "namespace":
        reasons.add("needs_namespace")
    return reasons


def _concluded(
    results: tuple[ClaimResult, ...],
    evidence: Evidence,
    *,
    overruling: set[str],
    blind: set[str],
    at_odds: bool,
    excused: frozenset[str],
    version: int,
    answers: Answers,
) -> Judgement:
    if overruling:
        return Judgement(verdict="inconclusive", reasons=tuple(sorted(overruling)), claims=results)
    synthetic = _modes_of_synthetic_streams(evidence) | answers.made
    violated = [result for result in results if result.status == "violated"]
    if any(result.mode not in synthetic for result in violated):
        return Judgement(verdict="violated", claims=results)
    reasons: set[str] = {*answers.unanswered, *({"synthetic_stream"} if violated else ())}
    if at_odds:
        reasons.add("repeats_differ")
    cut_short = _modes_cut_short(evidence, results)
    if cut_short:
        reasons.add("script_failed" if "as-written" in cut_short else "streamed_failed")
    own = [result for result in results if _holds(result) and result.kind != script_completed.NAME]
    why = set() if own else _why_nothing_holds(evidence, blind)
    # What the script did without a run is judged by its end, and by what is expected.
    by_its_end = version >= VERSION and why == {"no_run"} and any(map(_holds, results))
    reasons |= set() if by_its_end else why
    if not _are_seen(results):
        reasons.add("expectation_unseen")
    if reasons and (told := excused & _EXCUSES):
        reasons = (
            reasons
            - {"script_failed", "nothing_observed", "no_run", "sdk_not_imported", "expectation_unseen"}
            | told
        )
    if reasons:
        return Judgement(verdict="inconclusive", reasons=tuple(sorted(reasons)), claims=results)
    return Judgement(verdict="holds", claims=results, version=2 if by_its_end else None)


_EXCUSES = frozenset({"environment_missing", "before_sdk"})
"""Those of `excuses` that the verdict tells by themselves."""


def _are_seen(results: Iterable[ClaimResult]) -> bool:
    """Whether each expectation had something to be judged by, in some mode."""
    expected = [result for result in results if result.kind in EXPECTED]
    seen = {result.id for result in expected if result.status != "not_observed"}
    return all(result.id in seen for result in expected)


def _is_unsuited(evidence: Evidence) -> bool:
    """Whether the script comes to its end as written, and not with its runs streamed."""
    ends = {mode: view.script_end for mode, view in evidence.views.items()}
    clean = {mode for mode, end in ends.items() if end is not None and script_completed.is_clean(end)}
    return "streamed" in ends and "as-written" in clean and "streamed" not in clean


def _modes_of_synthetic_streams(evidence: Evidence) -> frozenset[str]:
    """The modes of claims that rest on a stream which we made from a plain answer."""
    made = {
        mode for mode, view in evidence.views.items() if any(call.synthetic for call in view.of(ModelCalled))
    }
    return frozenset({*made, "both"}) if made else frozenset()


def _why_nothing_holds(evidence: Evidence, blind: set[str]) -> set[str]:
    why = _nothing(evidence)
    if why == "no_run" and "not_watched" in blind:
        return {"not_watched"}
    blind = blind - {"not_watched"}
    if why == "nothing_observed":
        return blind or {why}
    # Without a run it does not matter what could not be captured; a recorder that failed may have missed it.
    return {why} | (blind & {"recorder_failed"})


def _nothing(evidence: Evidence) -> str:
    """Why there was nothing to judge."""
    if not any(view.of(SdkImported) for view in evidence.views.values()):
        return "sdk_not_imported"
    if not any(view.runs for view in evidence.views.values()):
        return "no_run"
    return "nothing_observed"


def _modes_cut_short(evidence: Evidence, results: Iterable[ClaimResult]) -> set[str]:
    """The modes in which the script came neither to a clean end nor to the one that is claimed for it."""
    claimed = {result.mode for result in results if _is_of_end(result) and _holds(result)}
    return {
        mode
        for mode, view in evidence.views.items()
        if mode not in claimed and not (view.script_end and script_completed.is_clean(view.script_end))
    }


def _is_of_end(result: ClaimResult) -> bool:
    """Whether the claim is that the script ends in another way than by itself."""
    return result.kind == script_ended.NAME or (result.kind == raised.NAME and result.arguments != {})


def _holds(result: ClaimResult) -> bool:
    return result.status == "holds"
