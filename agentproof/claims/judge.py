"""From traces and states to a verdict: pure, and the same for record, replay and check.

Rules:
1. Each claim is evaluated by its own kind; one whose kind needs a part of the recording that failed,
   or that this recording could not capture, is `not_observed`.
2. The verdict is `violated` when a claim is; else `holds` when a claim does and the script came to a
   clean end in every mode (or to the one that its author claims for that mode); else `inconclusive`.
   That the script completed is not enough to hold where an agent ran: it says nothing of the SDK by itself;
   of a script that uses the SDK without a run it is all that can be asked. A script that
   ends as written but hangs, dies or raises with its runs streamed may show a bug, or only that this tool's
   variation does not suit it: so it is neither a violation nor passed over.
3. A violation seen only in a stream that was made from a plain answer, because the script's model cannot
   stream, does not make the verdict `violated` by itself.
4. Whatever the claims say, the verdict is `inconclusive` when the repeats differ, the script changed
   the SDK (and nobody allowed it), or it asked for what the level of isolation lacks.
5. What the script takes for granted is not the SDK's: where a variable, a key, a file or a module is not
   there, where an assertion failed before the SDK was called, or where the SDK was never imported, what the
   reporter expects is `not_observed`. So it is with the runs streamed where only that keeps the script from
   its end, or where what is expected is met as written: the reporter speaks of the script as it is.
6. An inconclusive verdict carries the reasons as stable codes (`REASONS`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from ..errors import BundleError, FormatError
from ..models.events import ModelCalled, NetworkRefused, SdkImported
from ..models.manifest import ClaimResult, Conduct, Gap, Isolation, Judgement, Recording
from ..models.trace import Mode, Trace
from ..models.values import Value
from ..models.wire import Sha256, first_problem
from . import AUTHORED, EXPECTED, INVARIANTS, AuthoredClaim, Evidence, Outcome, checks_in, excuses
from .authored import needs_of, parse_arguments, raised, script_ended
from .rules import script_completed

REASONS: Mapping[str, str] = {
    "nothing_observed": "no claim had anything to judge",
    "no_run": "the script never ran an agent",
    "sdk_not_imported": "the script never imported the SDK",
    "synthetic_stream": "what was violated was seen only in a stream made from the model's plain answers",
    "environment_missing": "the script did not find a variable, key, file or module that it takes for "
    "granted, which says nothing of the SDK",
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

ALL_MODES: tuple[Mode, ...] = ("as-written", "streamed")

VERSION = 2
"""Of the rules above. 1 is what bundles without a version were judged by: a script that ran no agent was
inconclusive, whatever it did."""

ClaimMode = Literal["as-written", "streamed", "both"]


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
) -> Judgement:
    """Evaluate claims and conclude.

    A recording asks for every invariant, the `authored` claims of the header (see
    `claims.read_claims`), and the checks that the script made. A check of a bundle asks for exactly
    the `claims` that the manifest lists (see `asked_in`), by the `version` of the rules that it states.

    Raises:
        BundleError: `claims` names a kind, version or mode that this tool does not have, or arguments
            that are not of the kind's shape.
    """
    evidence = Evidence.of(traces, state)
    if claims is None:
        written = [
            ClaimRequest(c.id, c.kind, c.version, c.mode, c.arguments)
            for c in (*authored, *checks_in(evidence))
        ]
        expected = [claim for claim in written if claim.kind in EXPECTED]
        others = [claim for claim in written if claim.kind not in EXPECTED]
        asked = (*expected, *invariants(traces), *others)
    else:
        asked = claims
    missing = {gap.what for gap in coverage if gap.code != "not_in_release"}
    results: list[ClaimResult] = []
    blind: set[str] = set()
    excused = excuses(evidence, keys=any(claim.kind in EXPECTED for claim in asked))
    suited = not _is_unsuited(evidence)
    for claim in asked:
        needs, evaluate = _evaluator(claim, traces)
        seen = evidence if claim.mode == "both" else evidence.only(claim.mode)
        failed = {part for view in seen.views.values() for part in view.failed_parts}
        if needs & (failed | missing):
            blind.add("recorder_failed" if needs & failed else "not_captured")
            results.append(_result(claim, Outcome("not_observed", 0)))
        elif claim.kind in EXPECTED and (excused or (claim.mode == "streamed" and not suited)):
            results.append(_result(claim, Outcome("not_observed", 0)))
        else:
            results.append(_evaluated(claim, evaluate, seen))
    return _concluded(
        tuple(_as_written_first(results)),
        evidence,
        overruling=_overruling(evidence, recordings, conduct, isolation),
        blind=blind,
        excused=excused,
        version=version,
    )


def _as_written_first(results: Iterable[ClaimResult]) -> Iterator[ClaimResult]:
    """The results, without expectations that are met as written and not with the runs streamed: what a
    reporter expects is of the script as it is, and what it does otherwise may be this tool's variation of
    it."""
    known = list(results)
    met = {each.id for each in known if each.kind in EXPECTED and each.mode == "as-written" and _holds(each)}
    for each in known:
        varied = each.kind in EXPECTED and each.mode == "streamed" and each.id in met
        if varied and each.status == "violated":
            yield ClaimResult.from_shape({**each.to_shape(), "status": "not_observed", "sites": 0})
        else:
            yield each


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


def asked_in(judgement: Judgement) -> tuple[ClaimRequest, ...]:
    """The claims that a manifest says were judged."""
    return tuple(
        ClaimRequest(claim.id, claim.kind, claim.version, claim.mode, claim.arguments)
        for claim in judgement.claims
    )


def explain_reason(code: str) -> str:
    """A sentence for a reason's code."""
    return REASONS.get(code, code.replace("_", " "))


_MODES: Mapping[str, tuple[str, ...]] = {
    "each": ALL_MODES,
    "both": ("both",),
    "as-written": ("as-written",),
}


def _evaluator(
    claim: ClaimRequest, traces: Mapping[Mode, Trace]
) -> tuple[frozenset[str], Callable[[Evidence], Outcome]]:
    """What a claim needs, and how it is evaluated."""
    invariant, authored = INVARIANTS.get(claim.kind), AUTHORED.get(claim.kind)
    kind = invariant or authored
    if kind is None or claim.version != kind.VERSION:
        known = f"{claim.kind} {kind.VERSION}" if kind else ", ".join(sorted({*INVARIANTS, *AUTHORED}))
        raise BundleError(
            "unknown_claim",
            f"claim {claim.id!r} is of kind {claim.kind} {claim.version}; this tool knows {known}",
            path="manifest.json",
            hint="a newer agentproof wrote it (update your checkout of it), or it is damaged",
        )
    needed = ALL_MODES if claim.mode == "both" else (claim.mode,)
    if claim.mode not in _MODES[kind.SCOPE] or any(mode not in traces for mode in needed):
        raise BundleError(
            "unknown_claim",
            f"claim {claim.id!r} is about mode {claim.mode}; the traces are {', '.join(sorted(traces))}",
            path="manifest.json",
        )
    if authored is None:
        if invariant is None or claim.arguments is not None:
            raise _malformed(claim, "an invariant has no arguments")
        return invariant.NEEDS, invariant.evaluate
    try:
        arguments = parse_arguments(authored, claim.arguments)
    except FormatError as error:
        raise _malformed(claim, error.message) from error
    return needs_of(authored, arguments), lambda evidence: authored.evaluate(evidence, arguments)


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
    evidence: Evidence, recordings: Iterable[Recording], conduct: Conduct, isolation: Isolation
) -> set[str]:
    """What makes the verdict inconclusive whatever the claims say."""
    reasons: set[str] = set()
    if any(recording.agreement == "differ" for recording in recordings):
        reasons.add("repeats_differ")
    if (conduct.changed or conduct.private_writes) and not conduct.allowed:
        reasons.add("sdk_changed")
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
    excused: frozenset[str],
    version: int,
) -> Judgement:
    if overruling:
        return Judgement(verdict="inconclusive", reasons=tuple(sorted(overruling)), claims=results)
    synthetic = _modes_of_synthetic_streams(evidence)
    violated = [result for result in results if result.status == "violated"]
    if any(result.mode not in synthetic for result in violated):
        return Judgement(verdict="violated", claims=results)
    reasons: set[str] = {"synthetic_stream"} if violated else set()
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
