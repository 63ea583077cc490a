"""From raw recordings to the members of a bundle and its manifest: pure, no file is touched."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pydantic_core
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .. import __version__
from ..bundle.store import Bundle
from ..claims import judge, read_claims
from ..environment.locking import Lock
from ..errors import RecorderError, UsageError
from ..isolation.readback import RawRecording
from ..isolation.runner import Observation
from ..models import manifest, pylock
from ..models.exchanges import EXCHANGES, Exchanges
from ..models.projection import evidence_id
from ..models.trace import Mode
from ..models.wire import Sha256, encode
from .canonical import Canonical, Settled, canonicalise, settle_printed
from .names import RENAME, is_nameable
from .repeats import SCRIPT, Settlement, agreement, settle, touched
from .reproduction import Reproduction
from .secrets import Redactor, SecretPatterns
from .tokens import generated_ids
from .variables import Variables

Agreement = Literal["same", "order", "text", "differ", "single"]
AGREEMENTS: tuple[Agreement, ...] = ("single", "same", "order", "text", "differ")
"""From best to worst."""


def assemble(
    lock: Lock,
    reproduction: Reproduction,
    observation: Observation,
    *,
    wheel: bytes,
    installed_files: int,
    allow_sdk_changes: bool = False,
    redact: SecretPatterns | None = None,
    variables: Variables | None = None,
    provider: manifest.Provider | None = None,
    varied: list[tuple[str, str]] | None = None,
) -> Bundle:
    """Canonicalise, compare, judge and lay out the unsigned bundle of these recordings.

    `redact` is what to take out of the recording; None: nothing. `variables` are what the script was given,
    `provider` what its model was, from `reproduction.exchanges`.
    Lines that it printed otherwise in the first repeat and in another one are added to `varied`.

    Raises:
        RecorderError: the recorder's output cannot be understood, or its processes contradict.
        UsageError: a file of the reproduction has a name that a bundle keeps for itself, or two keys of
            what it did would become one.
        BundleError, FormatError: no check would take it.
    """
    repeats = observation.repeats
    redactors: list[Redactor] = []
    given = variables or Variables()
    different: list[tuple[str, str]] = [] if varied is None else varied
    modes: list[Mode] = [mode for mode in judge.ALL_MODES if any(mode in repeat for repeat in repeats)]
    canonical = {
        mode: _canonical(
            mode,
            [repeat[mode] for repeat in repeats if mode in repeat],
            lambda: _redactor(redact, given),
            redactors,
            different,
            missing=any(mode not in repeat for repeat in repeats),
        )
        for mode in modes
    }
    states: dict[Sha256, bytes] = {}
    for each in canonical.values():
        states.update(each.canonical.states)
    raw = [recording for repeat in repeats for recording in repeat.values()]
    recorded = _reproduction(reproduction, raw, given)
    environment = manifest.Environment(
        python=manifest.Python(implementation="cpython", version=lock.python.version),
        platform=lock.python.platform,
        as_of=lock.as_of,
        packages=lock.packages,
        installed_files=installed_files,
    )
    members: dict[str, bytes] = {path: reproduction.files[path] for path in recorded.files}
    members["pylock.toml"] = pylock.render(environment)
    members[f"wheels/{lock.target.wheel}"] = wheel
    members |= {f"wheels/{own.filename}": own.data for own in reproduction.wheels}
    for mode, each in canonical.items():
        members[f"traces/{mode}.json"] = each.canonical.trace.to_bytes()
    if reproduction.exchanges is not None:
        members[EXCHANGES] = reproduction.exchanges.to_bytes()
    for digest, content in states.items():
        members[f"states/{digest}.json"] = content

    traces = {mode: each.canonical.trace for mode, each in canonical.items()}
    recordings = tuple(each.recording for each in canonical.values())
    coverage = _coverage(raw, (note for each in canonical.values() for note in each.notes))
    conduct = _conduct(raw, allowed=allow_sdk_changes)

    def state(digest: Sha256) -> Any:  # Any: a state's JSON
        return pydantic_core.from_json(states[digest])

    document = manifest.Manifest(
        format="agentproof/bundle",
        version=0,
        target=lock.target,
        reproduction=recorded,
        environment=environment,
        recorder=manifest.Recorder(agentproof=__version__, sha256=observation.recorder_sha256),
        isolation=observation.isolation,
        recordings=recordings,
        loaded=_loaded(raw),
        conduct=conduct,
        coverage=coverage,
        provider=provider,
        redactions=sum(redactor.count for redactor in redactors) or (None if redact is None else 0),
        judgement=judge.judge(
            traces=traces,
            state=state,
            recordings=recordings,
            conduct=conduct,
            isolation=observation.isolation,
            coverage=coverage,
            answers=judge.Answers.of(provider, lock.target.sha256),
            authored=read_claims(
                reproduction.header.claims,
                modes=traces,
                path=reproduction.entry,
                expectations=reproduction.expectations,
            ),
        ),
        evidence_id=evidence_id(
            target_sha256=lock.target.sha256,
            reproduction={path: _sha256(members[path]) for path in recorded.files},
            tests=recorded.tests,
            traces=traces.values(),
            state=state,
            expectations=reproduction.expectations,
            exchanges=_timeless(reproduction.exchanges),
        ),
        members=tuple(
            manifest.Member(path=path, sha256=_sha256(content), size=len(content))
            for path, content in sorted(members.items())
        ),
    )
    return Bundle(manifest=document.to_bytes(), members=members)


@dataclass(frozen=True)
class _Recorded:
    """One mode: the first of the repeats, how the others compare, and what was left out of all."""

    canonical: Canonical
    recording: manifest.Recording
    notes: frozenset[tuple[str, str]]


def _canonical(
    mode: Mode,
    raw: Sequence[RawRecording],
    redactor: Callable[[], Redactor | None],
    redactors: list[Redactor],
    varied: list[tuple[str, str]],
    *,
    missing: bool,
) -> _Recorded:
    """Canonicalise and compare the repeats of one mode; the redactor of the first is added to `redactors`,
    and lines that were printed otherwise in another one to `varied`.

    `missing`: another repeat ended before it came to this mode, so the repeats differ as a whole.
    """
    own: list[Redactor | None] = [None for _ in raw]
    ids = [generated_ids(each.events, each.stdout, each.stderr, paths=each.paths) for each in raw]
    shared = frozenset.intersection(*ids) if len(ids) > 1 else frozenset()

    def canonical(number: int, settled: Settled) -> Canonical:
        each = raw[number]
        own[number] = redactor()
        return canonicalise(
            mode,
            each.events,
            ending=ending_of(each),
            streams={"stdout": each.stdout, "stderr": each.stderr},
            paths=each.paths,
            shared_ids=shared,
            redact=own[number],
            settled=settled,
        )

    found = Settlement([canonical(number, Settled()) for number in range(len(raw))])
    told, printed = settle_printed(found.canonical)
    if any(agreement(told[0], other)[0] == "differ" for other in told[1:]):
        found = settle([each.events for each in raw], canonical, found.canonical)
        told, printed = settle_printed(found.canonical)
    varied += printed.lines
    redactors += [redactor for redactor in own[:1] if redactor is not None]
    first, *others = told
    compared = [agreement(first, other) for other in others]
    words: list[Agreement] = [word for word, _ in compared]
    worst: Agreement = max(words, key=AGREEMENTS.index, default="single")
    differences = next((pointers for word, pointers in compared if word == "differ"), ())
    if found.lost and worst != "differ":
        worst, differences = "differ", ("/events",)
    parts = set(found.lost).union(*(touched(first, other) for other in others)) if differences else set()
    if printed.pointers and worst != "differ":
        worst, differences = "text", printed.pointers
    if missing:
        worst, differences, parts = "differ", differences or ("/events",), {SCRIPT}
    recording = manifest.Recording(
        mode=mode,
        trace=f"traces/{mode}.json",
        repeats=len(raw),
        agreement=worst,
        differences=differences,
        touched=tuple(sorted(parts)),
    )
    return _Recorded(first, recording, frozenset(found.notes))


def _redactor(redact: SecretPatterns | None, variables: Variables) -> Redactor | None:
    """What takes secrets, and the values of variables, out of one repeat; None where nothing is to go."""
    if redact is None and not variables.masked:
        return None
    return Redactor(redact or SecretPatterns({}), variables=variables.masked, shapes=redact is not None)


def ending_of(raw: RawRecording) -> Mapping[str, Any] | None:  # Any: JSON
    """The end of a process that could not write it itself."""
    if any(event.get("kind") == "script.ended" for event in raw.events):
        return None
    if raw.outcome == "ended":
        raise RecorderError(f"the {raw.mode} process ended by itself, but the recorder did not say how")
    return {"kind": "script.ended", "outcome": raw.outcome}


def _reproduction(
    reproduction: Reproduction, raw: Iterable[RawRecording], variables: Variables
) -> manifest.Reproduction:
    named = (test.partition("::")[0] for test in reproduction.tests)
    files = {reproduction.entry, *named}.union(*(recording.files for recording in raw))
    for path in sorted(files):
        if not is_nameable(path):
            raise UsageError(f"the reproduction uses {path!r}, a name that no bundle can hold", hint=RENAME)
        if path not in reproduction.files:
            raise RecorderError(f"the recorder saw the script open {path}, which is not in its directory")
    return manifest.Reproduction(
        entry=reproduction.entry,
        arguments=reproduction.arguments,
        tests=reproduction.tests,
        requires=tuple(map(_portable, reproduction.requires)),
        variables=variables.names,
        files=tuple(sorted(files)),
        title=reproduction.header.title,
        reference=reproduction.header.reference,
        expectations=reproduction.expectations or None,
    )


def _portable(requirement: str) -> str:
    """A requirement as it may stand in a bundle: without the URL or path that it may name."""
    parsed = Requirement(requirement)
    return canonicalize_name(parsed.name) if parsed.url else requirement


def _loaded(raw: Iterable[RawRecording]) -> tuple[manifest.LoadedModule, ...]:
    found: dict[str, manifest.LoadedModule] = {}
    for recording in raw:
        for module in recording.loaded:
            if found.setdefault(module.module, module) != module:
                raise RecorderError(f"module {module.module} was not the same file in every process")
    return tuple(found[name] for name in sorted(found))


def _conduct(raw: Iterable[RawRecording], *, allowed: bool) -> manifest.Conduct:
    changed: set[str] = set()
    writes: dict[tuple[str, int, str], manifest.SourceLine] = {}
    reads: dict[tuple[str, int, str], manifest.SourceLine] = {}
    for recording in raw:
        changed |= set(recording.conduct.changed)
        for places, found in (
            (recording.conduct.private_writes, writes),
            (recording.conduct.private_reads, reads),
        ):
            found.update({(place.file, place.line, place.name): place for place in places})
    return manifest.Conduct(
        changed=tuple(sorted(changed)),
        private_writes=tuple(writes[key] for key in sorted(writes)),
        private_reads=tuple(reads[key] for key in sorted(reads)),
        allowed=allowed,
    )


def _coverage(raw: Iterable[RawRecording], notes: Iterable[tuple[str, str]]) -> tuple[manifest.Gap, ...]:
    gaps = {note: manifest.Gap(what=note[0], why=note[1]) for note in notes}
    gaps.update({(gap.what, gap.why): gap for recording in raw for gap in recording.coverage})
    return tuple(gaps[key] for key in sorted(gaps))


def _timeless(exchanges: Exchanges | None) -> Sha256 | None:
    return None if exchanges is None else _sha256(encode(exchanges.timeless()))


def _sha256(data: bytes) -> Sha256:
    return hashlib.sha256(data).hexdigest()
