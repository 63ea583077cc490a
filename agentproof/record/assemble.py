"""From raw recordings to the members of a bundle and its manifest: pure, no file is touched."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
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
from ..models.projection import evidence_id
from ..models.trace import Mode
from ..models.wire import Sha256
from .canonical import Canonical, agreement, canonicalise, generated_ids
from .reproduction import Reproduction
from .secrets import Redactor, SecretPatterns

RESERVED = ("manifest.json", "pylock.toml", "attestations", "traces", "states", "wheels")
"""Names at the top of a bundle that a reproduction's own files cannot have."""


Agreement = Literal["same", "order", "differ", "single"]
AGREEMENTS: tuple[Agreement, ...] = ("single", "same", "order", "differ")
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
) -> Bundle:
    """Canonicalise, compare, judge and lay out the unsigned bundle of these recordings.

    `redact` is what to take out of the recording; None: nothing.

    Raises:
        RecorderError: the recorder's output cannot be understood, or its processes contradict.
        UsageError: a file of the reproduction has a name that a bundle keeps for itself.
    """
    repeats = observation.repeats
    redactors: list[Redactor] = []
    modes: list[Mode] = [mode for mode in judge.ALL_MODES if any(mode in repeat for repeat in repeats)]
    canonical = {
        mode: _canonical(
            mode,
            [repeat[mode] for repeat in repeats if mode in repeat],
            redact,
            redactors,
            missing=any(mode not in repeat for repeat in repeats),
        )
        for mode in modes
    }
    states: dict[Sha256, bytes] = {}
    for each, _ in canonical.values():
        states.update(each.states)
    raw = [recording for repeat in repeats for recording in repeat.values()]
    recorded = _reproduction(reproduction, raw)
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
    for mode, (each, _) in canonical.items():
        members[f"traces/{mode}.json"] = each.trace.to_bytes()
    for digest, content in states.items():
        members[f"states/{digest}.json"] = content

    traces = {mode: each.trace for mode, (each, _) in canonical.items()}
    recordings = tuple(recording for _, recording in canonical.values())
    coverage = _coverage(raw)
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
        redactions=sum(redactor.count for redactor in redactors) if redact is not None else None,
        judgement=judge.judge(
            traces=traces,
            state=state,
            recordings=recordings,
            conduct=conduct,
            isolation=observation.isolation,
            coverage=coverage,
            authored=read_claims(reproduction.header.claims, modes=traces, path=reproduction.entry),
        ),
        evidence_id=evidence_id(
            target_sha256=lock.target.sha256,
            reproduction={path: _sha256(members[path]) for path in recorded.files},
            tests=recorded.tests,
            traces=traces.values(),
            state=state,
        ),
        members=tuple(
            manifest.Member(path=path, sha256=_sha256(content), size=len(content))
            for path, content in sorted(members.items())
        ),
    )
    return Bundle(manifest=document.to_bytes(), members=members)


def _canonical(
    mode: Mode,
    raw: Sequence[RawRecording],
    redact: SecretPatterns | None,
    redactors: list[Redactor],
    *,
    missing: bool,
) -> tuple[Canonical, manifest.Recording]:
    """The first of the repeats, and how the others compare; its redactor is added to `redactors`.

    `missing`: another repeat ended before it came to this mode, so the repeats differ as a whole.
    """
    own = [Redactor(redact) for _ in raw] if redact is not None else [None for _ in raw]
    ids = [generated_ids(each.events, each.stdout, each.stderr, paths=each.paths) for each in raw]
    shared = frozenset.intersection(*ids) if len(ids) > 1 else frozenset()
    all_of_them = [
        canonicalise(
            mode,
            each.events,
            ending=ending_of(each),
            streams={"stdout": each.stdout, "stderr": each.stderr},
            paths=each.paths,
            shared_ids=shared,
            redact=redactor,
        )
        for each, redactor in zip(raw, own, strict=True)
    ]
    redactors += [redactor for redactor in own[:1] if redactor is not None]
    first = all_of_them[0]
    compared = [agreement(first, other) for other in all_of_them[1:]]
    words: list[Agreement] = [word for word, _ in compared]
    worst: Agreement = max(words, key=AGREEMENTS.index, default="single")
    differences = next((pointers for word, pointers in compared if word == "differ"), ())
    if missing:
        worst, differences = "differ", differences or ("/events",)
    return first, manifest.Recording(
        mode=mode,
        trace=f"traces/{mode}.json",
        repeats=len(raw),
        agreement=worst,
        differences=differences,
    )


def ending_of(raw: RawRecording) -> Mapping[str, Any] | None:  # Any: JSON
    """The end of a process that could not write it itself."""
    if any(event.get("kind") == "script.ended" for event in raw.events):
        return None
    if raw.outcome == "ended":
        raise RecorderError(f"the {raw.mode} process ended by itself, but the recorder did not say how")
    return {"kind": "script.ended", "outcome": raw.outcome}


def _reproduction(reproduction: Reproduction, raw: Iterable[RawRecording]) -> manifest.Reproduction:
    named = (test.partition("::")[0] for test in reproduction.tests)
    files = {reproduction.entry, *named}.union(*(recording.files for recording in raw))
    for path in sorted(files):
        if path.split("/")[0] in RESERVED:
            raise UsageError(
                f"the reproduction uses {path}, a name that a bundle keeps for itself",
                hint=f"rename it; kept are {', '.join(RESERVED)}",
            )
        if path not in reproduction.files:
            raise RecorderError(f"the recorder saw the script open {path}, which is not in its directory")
    return manifest.Reproduction(
        entry=reproduction.entry,
        arguments=reproduction.arguments,
        tests=reproduction.tests,
        requires=tuple(map(_portable, reproduction.requires)),
        files=tuple(sorted(files)),
        title=reproduction.header.title,
        reference=reproduction.header.reference,
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


def _coverage(raw: Iterable[RawRecording]) -> tuple[manifest.Gap, ...]:
    gaps = {(gap.what, gap.why): gap for recording in raw for gap in recording.coverage}
    return tuple(gaps[key] for key in sorted(gaps))


def _sha256(data: bytes) -> Sha256:
    return hashlib.sha256(data).hexdigest()
