"""From a bundle to lines of the SDK.

1. The bundle's script is replayed with a probe beside the recorder. Unless the evidence is the bundle's,
   nothing is explained.
2. Where an older or newer release is given, it is run there too, and functions are named of which a line
   that differs ran. That is where a cause must be, if the difference between the releases is one.
3. With the bundle's release alone, functions are named where it is worth to look; that is no cause.
4. For findings about a state or a result, a second replay names the object that two of them share.
5. Healthy scenarios on the same release tell what any script runs.

Nothing of it enters journal, traces, manifest or ids of the bundle.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..bundle.store import Bundle, bundle_id, short
from ..check.bundle import CheckedBundle
from ..claims import explain as explain_finding
from ..claims.rules import script_completed
from ..environment.locking import Lock
from ..errors import CannotDoError, UsageError
from ..models.explanation import (
    EventPlace,
    ExplainedWheel,
    Explanation,
    FunctionPlace,
    QuotedLine,
    SharedObject,
    Side,
    Statement,
)
from ..models.manifest import ClaimResult, Manifest
from ..models.manifest import Target as RecordedTarget
from ..models.trace import Mode
from ..record.conditions import Conditions
from ..record.progress import Progress
from ..record.recording import locked
from ..record.replay import lock_of, sound
from ..record.reproduction import Reproduction
from ..record.target import Target, built
from ..sdk import KNOWN
from . import neighbours, objects
from .changes import changed_functions, difference
from .located import Line, Located, LocatedRun, Prepared, prepared
from .ranking import Ran, by_rarity, functions_that_ran, fused, rarest_difference, signals
from .source import MAX_SOURCE_BYTES, Source, read_source

MOST_CAUSES: Final = 5
MOST_PLACES: Final = 10


@dataclass(frozen=True)
class Other:
    """The same script on another release."""

    run: LocatedRun
    source: Source


@dataclass(frozen=True)
class Replays:
    """What was run, and all that is needed to say what follows from it."""

    bundle: Bundle
    recorded: Manifest
    violated: Sequence[ClaimResult]
    run: LocatedRun
    selected: Sequence[objects.Selected]
    again: LocatedRun | None
    """Followed line by line; None where no object was selected or the evidence was another."""
    source: Source
    healthy: Mapping[Mode, list[frozenset[Line]]]
    notes: Sequence[str]
    other: Other | None


def explain(
    checked: CheckedBundle,
    other: Target | CheckedBundle | None,
    *,
    conditions: Conditions,
    progress: Progress,
) -> Explanation:
    """Replay a checked bundle with the probe, also on another target, or another recording of the same
    reproduction, where one is given.

    Raises:
        BundleError: the bundle is not sound.
        UsageError: nothing in it is violated and no other release is given; or an option makes no sense.
        CannotDoError: the replay shows other evidence, or an environment cannot be had.
        RecorderError: our own recorder failed.
    """
    return told(replays(checked, other, conditions=conditions, progress=progress))


def replays(
    checked: CheckedBundle,
    other: Target | CheckedBundle | None,
    *,
    conditions: Conditions,
    progress: Progress,
) -> Replays:
    """Run what `told` needs.

    Raises:
        BundleError, UsageError, CannotDoError, RecorderError: as `explain`.
    """
    checked, bundle, recorded, judgement = sound(checked)
    violated = [claim for claim in judgement.claims if claim.status == "violated"]
    if not violated and other is None:
        raise UsageError(
            "nothing in this bundle is violated, so there is nothing to look for",
            hint="name a release on which it behaves otherwise: --with VERSION",
        )
    conditions = replace(conditions, allow_sdk_changes=recorded.conduct.allowed)
    reproduction, lock = lock_of(bundle, recorded, conditions=conditions, progress=progress)
    progress.done("target", f"{lock.target.name} {lock.target.version}, wheel {short(lock.target.sha256)}")
    # First, since what is wrong with --with shows when it is locked.
    there = _run_other(reproduction, other, recorded, conditions, progress) if other is not None else None
    about = [each for each in violated if each.kind in objects.ABOUT_OBJECTS]
    with prepared(lock, conditions, progress) as environment:
        progress.working("replaying with the probe")
        run = environment.run(reproduction, {"pointers": objects.pointers(about)})
        refuse_other_evidence(bundle, run.bundle)
        progress.done("replayed", "the same evidence, with the probe beside it")
        selected, notes = objects.select(about, run.modes, checked.traces)
        again = None
        if selected:
            progress.working("following the shared objects")
            again = environment.run(reproduction, {"slots": objects.slots(selected)})
            if again.bundle.document.evidence_id != recorded.evidence_id:
                again = None
                notes.append(
                    "followed line by line the script shows other evidence: shared objects are not told"
                )
        progress.working("running the healthy scenarios")
        return Replays(
            bundle=bundle,
            recorded=recorded,
            violated=violated,
            run=run,
            selected=selected,
            again=again,
            source=_source_of(environment, recorded.target),
            healthy=neighbours.scenarios(environment),
            notes=notes,
            other=there,
        )


def told(seen: Replays, *, causes: int = MOST_CAUSES, places: int = MOST_PLACES) -> Explanation:
    """What follows from replays; pure. At most `causes` or `places` functions are named."""
    modes = _modes(seen.violated, seen.run.modes)
    ran = _ran(seen, modes)
    notes = list(seen.notes)
    shared: list[SharedObject] = []
    for each in seen.selected if seen.again is not None else ():
        again = seen.again.modes[each.mode] if seen.again is not None else None
        said = objects.told(each, seen.run.modes[each.mode], again, seen.source) if again is not None else ""
        if isinstance(said, str):
            notes.append(said)
        elif not any(said.held[:1] == one.held[:1] and said.type == one.type for one in shared):
            shared.append(said)
    base = Explanation(
        format="agentproof/explanation",
        version=0,
        bundle_id=bundle_id(seen.bundle),
        evidence_id=seen.recorded.evidence_id,
        wheels=(_wheel("bundle", seen.source),),
        modes=tuple(modes),
        kind="one_release",
        executed=len(ran),
        neighbours=max((len(seen.healthy.get(mode, ())) for mode in modes), default=0),
        shared=tuple(shared),
        events=tuple(_events(seen.run, seen.source)),
        notes=(*notes, *_notes(seen.run, modes, seen.source)),
    )
    if seen.other is None:
        return _one_release(base, seen, ran, most=places)
    return _two_releases(base, seen, ran, modes, seen.other, most=causes)


def refuse_other_evidence(bundle: Bundle, seen: Bundle) -> None:
    """Rule 1.

    Raises:
        CannotDoError: the replay shows other evidence.
    """
    mine, theirs = bundle.document, seen.document
    if mine.evidence_id == theirs.evidence_id:
        return
    why = "; its repeats differ too" if any(each.agreement == "differ" for each in theirs.recordings) else ""
    raise CannotDoError(
        f"the replay shows other evidence ({short(theirs.evidence_id)}) than the bundle "
        f"({short(mine.evidence_id)}){why}: lines of another course of events would explain nothing",
        hint="`agentproof replay` says what differs",
    )


def _modes(violated: Sequence[ClaimResult], seen: Mapping[Mode, Located]) -> list[Mode]:
    """The modes in which something is violated; as written where the rule is about both, or none is."""
    named = {claim.mode for claim in violated if claim.kind != script_completed.NAME}
    order: tuple[Mode, ...] = ("as-written", "streamed")
    both = [mode for mode in order if mode in seen]
    chosen = [mode for mode in both if mode in named]
    if "both" in named:
        return both
    return chosen[:1] or both[:1]


def _witnesses(violated: Sequence[ClaimResult], modes: Sequence[Mode]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for claim in violated:
        for finding in claim.because[:6]:
            for ref in finding.events:
                if ref.mode in modes:
                    found.setdefault(modes.index(ref.mode), []).append(ref.seq)
    return found


def _ran(seen: Replays, modes: Sequence[Mode]) -> list[Ran]:
    words = [claim.kind for claim in seen.violated]
    for claim in seen.violated:
        words += [explain_finding(claim, finding) for finding in claim.because[:3]]
    return functions_that_ran(
        seen.source,
        [seen.run.modes[mode] for mode in modes],
        _healthy(seen.healthy, modes),
        witnesses=_witnesses(seen.violated, modes),
        words=" ".join(words),
    )


def _healthy(healthy: Mapping[Mode, list[frozenset[Line]]], modes: Sequence[Mode]) -> list[frozenset[Line]]:
    return [lines for mode in modes for lines in healthy.get(mode, ())]


def _one_release(base: Explanation, seen: Replays, ran: Sequence[Ran], *, most: int) -> Explanation:
    rules = [claim.kind for claim in seen.violated]
    found = [
        _place(each, seen.source, _why(base, each, rules))
        for each in _shared_first(base, fused(ran, rules))[:most]
    ]
    return base.model_copy(update={"functions": tuple(found)})


def _holding(base: Explanation) -> set[tuple[str, str]]:
    """The functions by which an object came to be held twice, which is where it should have become two."""
    return {(each.file, each.function) for shared in base.shared for each in shared.held}


def _shared_first(base: Explanation, order: Sequence[Ran]) -> list[Ran]:
    holding = _holding(base)
    return sorted(order, key=lambda each: each.function.key not in holding)


def _why(base: Explanation, each: Ran, rules: Sequence[str]) -> tuple[str, ...]:
    why = signals(each, neighbours=base.neighbours, rules=rules)
    return (
        ("the object above came to be held twice here", *why)
        if each.function.key in _holding(base)
        else tuple(why)
    )


def _two_releases(
    base: Explanation, seen: Replays, ran: Sequence[Ran], modes: Sequence[Mode], other: Other, *, most: int
) -> Explanation:
    theirs, source = other.run, other.source
    notes = list(_notes(theirs, list(theirs.modes), source))
    ran_old = frozenset().union(*(seen.run.modes[mode].lines for mode in modes))
    ran_new = frozenset().union(*(theirs.modes[mode].lines for mode in modes if mode in theirs.modes))
    changed = changed_functions(seen.source, source, ran_old, ran_new)
    found = {each.function.key: each for each in changed if each.ran}
    rare = rarest_difference({key: each.old for key, each in found.items()}, _healthy(seen.healthy, modes))
    order = _shared_first(base, by_rarity([each for each in ran if each.function.key in found], rare))
    functions = []
    for each in order[:most]:
        one = found[each.function.key]
        lines = [
            QuotedLine(
                side=side,
                file=one.function.file,
                line=line.line,
                text=text,
                ran=line.ran,
                change=line.change,
            )
            for line in difference(seen.source, source, one, ran_old, ran_new)
            for side in [_SIDES[line.change]]
            if (text := (source if side == "other" else seen.source).text(one.function.file, line.line))
            is not None
        ]
        place = _place(each, seen.source, _why(base, each, ()))
        their_file = source.files.get(one.function.file)
        functions.append(
            place.model_copy(
                update={
                    "lines": tuple(lines),
                    "other_blob": their_file.blob if their_file is not None else None,
                }
            )
        )
    still = {claim.id for claim in theirs.bundle.document.judgement.claims if claim.status == "violated"}
    gone = [claim.id for claim in seen.violated if claim.id not in still]
    if seen.violated and not gone:
        notes.append(
            f"what is violated here is violated on {source.target.version} too: the lines that differ "
            "are not its cause"
        )
    return base.model_copy(
        update={
            "kind": "two_releases",
            "wheels": (*base.wheels, _wheel("other", source)),
            "changed": len(changed),
            "ran": len(found),
            "functions": tuple(functions),
            "notes": (*base.notes, *notes),
        }
    )


_SIDES: Final[Mapping[str, Side]] = {"removed": "bundle", "same": "bundle", "added": "other"}


def _run_other(
    reproduction: Reproduction,
    other: Target | CheckedBundle,
    recorded: Manifest,
    conditions: Conditions,
    progress: Progress,
) -> Other:
    """The same script on another target, or another recording of it, with the probe.

    Raises:
        BundleError: the recording is not sound.
        UsageError: there is no such target, or it is the bundle's own.
        CannotDoError: the environment cannot be had, or the recording's replay shows other evidence.
    """

    def check_distinct(lock: Lock, name: str) -> None:
        if lock.target.sha256 == recorded.target.sha256:
            raise UsageError(f"--with {name} is the bundle's own wheel", hint="name another release")

    if not isinstance(other, Target):
        _, bundle, theirs, _ = sound(other)
        _, lock = lock_of(bundle, theirs, conditions=conditions, progress=progress)
        check_distinct(lock, lock.target.version)
        found = _run_there(reproduction, lock, theirs.target, conditions, progress)
        refuse_other_evidence(bundle, found.run.bundle)
        return found
    minor = ".".join(recorded.environment.python.version.split(".")[:2])
    conditions = replace(conditions, python=conditions.python or minor)
    with built(other, conditions, progress) as target:
        lock = locked(reproduction, target, conditions, progress)
        check_distinct(lock, other.label)
        return _run_there(reproduction, lock, lock.target, conditions, progress)


def _run_there(
    reproduction: Reproduction,
    lock: Lock,
    target: RecordedTarget,
    conditions: Conditions,
    progress: Progress,
) -> Other:
    with prepared(lock, conditions, progress) as environment:
        progress.working("running it there with the probe")
        run = environment.run(reproduction, {})
        source = _source_of(environment, target)
    progress.done("ran", f"on {lock.target.version} with the probe")
    return Other(run, source)


def _source_of(environment: Prepared, target: RecordedTarget) -> Source:
    """Where the wheel is from is said by the recording: a replay takes what is at hand, and may not know."""
    return read_source(environment.wheel, target, KNOWN[target.name].package)


def _place(each: Ran, source: Source, why: tuple[str, ...]) -> FunctionPlace:
    function = each.function
    return FunctionPlace(
        file=function.file,
        function=function.name,
        first=function.first,
        last=function.last,
        blob=source.files[function.file].blob,
        signals=why,
    )


def _wheel(side: Side, source: Source) -> ExplainedWheel:
    target = source.target
    return ExplainedWheel(
        side=side,
        name=target.name,
        version=target.version,
        filename=target.wheel,
        sha256=target.sha256,
        base=source.base,
    )


def _events(run: LocatedRun, source: Source) -> Iterator[EventPlace]:
    for mode, located in sorted(run.modes.items()):
        for seq, event in sorted(located.events.items()):
            sdk = None
            # A helper that only carries a call tells nothing; it counts where there is nothing else.
            own = [each for each in event.sdk if "/util/" not in each[0]] or event.sdk
            for file, line in own[:1]:
                text, function = source.text(file, line), source.function_at(file, line)
                if text is not None:
                    name = function.name if function is not None else "<module>"
                    sdk = Statement(side="bundle", file=file, line=line, text=text, ran=True, function=name)
            script = f"{event.script[0]}:{event.script[1]}" if event.script is not None else None
            if sdk is not None or script is not None:
                yield EventPlace(mode=mode, seq=seq, script=script, sdk=sdk)


def _notes(run: LocatedRun, modes: Iterable[Mode], source: Source) -> Iterator[str]:
    version = source.target.version
    for gap in sorted({gap for mode in modes if mode in run.modes for gap in run.modes[mode].gaps}):
        yield f"{version}: {gap}"
    for name, file in sorted(source.files.items()):
        if not file.is_told:
            over = (
                f"over {MAX_SOURCE_BYTES // 2**20} MB" if len(file.data) > MAX_SOURCE_BYTES else "no Python 3"
            )
            yield f"{version}: {name} is {over}: its functions are not told"
    if source.base is None:
        yield f"{version}: no release with a public repository, so there are no links; git's ids are given"
