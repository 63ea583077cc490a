"""A whole hunt: from a release to findings that an ordinary recording confirmed.

The search concludes nothing by itself. Each finding is written as a short script, recorded as any script is,
and told only with that recording's verdict; one that does not confirm it is told as unconfirmed.
"""

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

from ..bundle.store import Bundle
from ..environment import wheel_store
from ..environment.locking import Lock
from ..errors import AgentproofError
from ..isolation.forkserver import Source
from ..models.expectations import NOTHING, Expectations
from ..models.header import Header
from ..record import recording
from ..record.conditions import Conditions
from ..record.progress import Progress
from ..record.reproduction import Reproduction
from ..record.target import Target
from ..record.trials import SECONDS, Trials, trials
from ..system.files import write_atomic
from ..trust.signing import PrivateKey
from .known import KnownFinding, reason_of
from .modes import read_log
from .programs import Area, Features
from .reproduction import write
from .scripts import WORDS, Rendering, render
from .search import ENTRY, Finding, Hunter, Signature, Tally, reproduction_of, signature_of

IMPORTS = (
    *("sqlite3", "asyncio", "agents.memory.session", "agents.extensions", "agents.testing"),
    *("openai.types.responses", "openai.types.responses.response_usage"),
)


_NEW_PROCESSES = 60.0
"""Seconds for a script whose processes each import the SDK."""


@dataclass(frozen=True)
class Plan:
    """What is hunted for, and how long."""

    seconds: float
    seed: int
    only: Area | None = None
    output: Path = Path("hunt")
    known: Sequence[KnownFinding] = ()
    also: Sequence[Target] = ()
    """Releases on which each finding is looked for as well."""


@dataclass
class Confirmed:
    """A finding with what became of it."""

    finding: Finding
    known: str | None
    script: str = ""
    bundle: Bundle | None = None
    place: Path | None = None
    problem: str | None = None
    """Why no recording confirms it; None: one does."""
    elsewhere: dict[str, bool | None] = field(default_factory=dict)
    """By release: whether it is seen there; None: it could not be asked."""

    @property
    def lines(self) -> int:
        """Of the script."""
        return len(self.script.splitlines())


@dataclass
class Hunted:
    """What a hunt came to."""

    target: str
    tally: Tally
    seconds: float
    cpu_seconds: float
    left_out: list[str]
    confirmed: list[Confirmed]
    interrupted: bool = False

    @property
    def new(self) -> list[Confirmed]:
        """Those that nobody knows yet and a recording confirms."""
        return [each for each in self.confirmed if each.known is None and each.problem is None]


def hunt(
    target: Target, plan: Plan, conditions: Conditions, *, key: PrivateKey, progress: Progress
) -> Hunted:
    """Hunt on a target. Ctrl-C ends the search, or the work on a finding, and what was found stays.

    Raises:
        UsageError: there is no such target.
        CannotDoError: the environment cannot be built or isolated as asked for, Hypothesis is missing, or the
            wheel cannot be imported.
        RecorderError: our own recorder failed.
    """
    wheel_store.hold(wheel_store.cache_root())
    lock = recording.locked(_nothing(), target, conditions, progress)
    features = features_of(lock)
    with trials(lock, conditions, progress, imports=IMPORTS) as tried:
        hunter = Hunter(tried, features, progress=progress.working)
        done = Hunted(
            f"{lock.target.name} {lock.target.version}", hunter.tally, 0.0, 0.0, features.missing(), []
        )
        try:
            hunter.hunt(seconds=plan.seconds, seed=plan.seed, only=plan.only)
        except KeyboardInterrupt:
            done.interrupted = True
        done.seconds, done.cpu_seconds = hunter.seconds, tried.cpu_seconds
        progress.done("hunted", hunted_line(done))
        for finding in sorted(hunter.found.values(), key=lambda each: each.first_seconds):
            each = Confirmed(finding, reason_of(finding.signature, plan.known))
            done.confirmed.append(each)
            if each.known is not None:
                continue
            try:
                hunter.shrink(finding)
                each.script = script_of(finding, features, tried)
                _confirm(each, _Recorder(target, conditions, key, progress), plan.output)
            except KeyboardInterrupt:
                each.problem = "interrupted before it was recorded"
                done.interrupted = True
                break
    if not done.interrupted:
        for other in plan.also if done.new else ():
            _look_elsewhere(done.new, other, conditions, progress)
    return done


def features_of(lock: Lock) -> Features:
    """What the locked wheel has."""
    with zipfile.ZipFile(BytesIO(wheel_store.default_store().read(lock.target.sha256))) as wheel:
        return Features.of({name: wheel.read(name) for name in wheel.namelist() if name.endswith(".py")})


def hunted_line(done: Hunted) -> str:
    """What a hunt did, in a line."""
    tally = done.tally
    rate = tally.programs / done.seconds if done.seconds else 0.0
    text = (
        f"{tally.programs} programs in {done.seconds:.0f} s ({rate:.1f} a second; "
        f"{done.cpu_seconds:.0f} s of a processor): {tally.runs} runs, {tally.recorded} held to the rules"
    )
    if tally.too_long:
        text += f"; {tally.too_long} runs left out as too long"
    if tally.unsteady:
        text += f"; {sum(tally.unsteady.values())} unsteady failures not told"
    return text


def script_of(finding: Finding, features: Features, tried: Trials) -> str:
    """The shortest script of a finding that still shows it; the search's own rendering where none does."""
    mode = finding.signature.mode
    program = finding.program
    plain = tried.run(_source(render(program, Rendering(features))))
    log = read_log(plain.stdout) or []
    differs = finding.signature.what.split(", ") if mode != "plain" else ()
    about = _about(finding.signature)
    for wary in (False, True):
        short = write(program, features, mode=mode, differs=differs, log=log, about=about, is_wary=wary)
        if _shows(short, finding.signature, tried):
            return short
    return render(program, Rendering(features, mode, is_logged=False))


def _about(signature: Signature) -> str:
    if signature.oracle == "rule":
        return f"{signature.name}: {signature.what}."
    return f"Run {WORDS[signature.mode]}, it differs in: {signature.what}."


def _shows(text: str, signature: Signature, tried: Trials) -> bool:
    """Whether a script shows what was found."""
    if signature.oracle == "mode":
        seconds = _NEW_PROCESSES if signature.mode == "process" else SECONDS
        return b"AssertionError" in tried.run(_source(text), seconds=seconds).stderr
    claims = tried.record(reproduction_of(text.encode())).document.judgement.claims
    return any(each.status == "violated" and signature_of(each) == signature for each in claims)


@dataclass(frozen=True)
class _Recorder:
    """How a finding is recorded."""

    target: Target
    conditions: Conditions
    key: PrivateKey
    progress: Progress


def _confirm(each: Confirmed, recorder: _Recorder, output: Path) -> None:
    """Record the script as any other; write script and bundle."""
    signature = each.finding.signature
    folder = output / re.sub(r"[^a-z0-9]+", "-", str(signature).lower()).strip("-")[:60]
    reproduction = replace(reproduction_of(each.script.encode()), script=folder / ENTRY)
    expected = Expectations(should_not_raise=True) if signature.oracle == "mode" else NOTHING
    recorder.progress.working(f"recording {signature}")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / ENTRY, each.script.encode())
    try:
        bundle = recording.record(
            reproduction,
            recorder.target,
            replace(recorder.conditions, expectations=expected),
            key=recorder.key,
            progress=_Quiet(recorder.progress),
        )
    except AgentproofError as error:
        each.problem = error.message
        return
    violated = [claim for claim in bundle.document.judgement.claims if claim.status == "violated"]
    if not [claim for claim in violated if signature.oracle == "mode" or claim.kind == signature.name]:
        each.problem = f"an ordinary recording of it says {bundle.document.judgement.verdict}"
    each.bundle = bundle
    each.place = folder / f"{folder.name}-{bundle.document.target.version}.agentproof.zip"
    recording.write(bundle, reproduction, output=each.place, replace=True)


def _look_elsewhere(
    found: Sequence[Confirmed], other: Target, conditions: Conditions, progress: Progress
) -> None:
    """Whether each finding is seen on another release."""
    try:
        lock = recording.locked(_nothing(), other, conditions, progress)
        with trials(lock, conditions, progress, imports=IMPORTS) as tried:
            hunter = Hunter(tried, features_of(lock), progress=progress.working)
            for each in found:
                seen = hunter.again(each.finding.program, each.finding.signature)
                each.elsewhere[lock.target.version] = each.finding.signature in seen
    except AgentproofError as error:
        for each in found:
            each.elsewhere[other.label] = None
        progress.done("not asked", f"{other.label}: {error.message}")


def _nothing() -> Reproduction:
    return Reproduction(entry=ENTRY, files={ENTRY: b""}, header=Header(), script=Path(ENTRY))


def _source(text: str) -> Source:
    return Source(text.encode(), entry=ENTRY)


class _Quiet:
    """The steps of a recording are a detail here."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def working(self, text: str) -> None:
        self._progress.working(text)

    def done(self, label: str, text: str) -> None:
        return
