"""Records scripts through the library and keeps the bundles, so that they can be judged again."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pydantic_core

from agentproof.bundle.store import Bundle, read_bundle, zip_bytes
from agentproof.claims import judge, read_claims
from agentproof.errors import AgentproofError
from agentproof.models.events import RecorderFailed, ScriptWrote
from agentproof.models.header import read_header
from agentproof.models.manifest import Judgement, Manifest
from agentproof.models.projection import project
from agentproof.models.trace import Mode, Trace
from agentproof.record import recording as record
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import select
from agentproof.record.target import parse_target
from agentproof.system.files import write_atomic
from agentproof.trust import signing

SCRIPTS = Path(__file__).parents[1] / "scripts"


@dataclass(frozen=True)
class Recording:
    """One script on one release."""

    script: Path
    version: str
    manifest: Manifest
    traces: Mapping[Mode, Trace]
    states: Mapping[str, bytes]
    judgement: Judgement
    """By the claims as they are now."""

    def state(self, digest: str) -> Any:  # Any: a state's JSON
        return pydantic_core.from_json(self.states[digest])

    def facts(self, mode: Mode) -> list[dict[str, Any]]:  # Any: values
        """The evidence projection of one mode."""
        return project(self.traces[mode], self.state)

    def printed(self, mode: Mode = "as-written") -> Any:  # Any: JSON that a script prints
        """The last line of the script's standard output, as JSON where it is JSON."""
        for event in reversed(self.traces[mode].events):
            if isinstance(event, ScriptWrote) and event.stream == "stdout":
                line = str(event.text).rstrip("\n").rpartition("\n")[2]
                try:
                    return json.loads(line)
                except ValueError:
                    return line
        return None

    def faults(self) -> list[str]:
        """What the recorder says that it did not see, by mode."""
        return [
            f"{mode}: {event.part}: {event.error}"
            for mode, trace in self.traces.items()
            for event in trace.events
            if isinstance(event, RecorderFailed)
        ]

    def violated(self) -> dict[str, list[str]]:
        """The violated claims, each with its modes."""
        found: dict[str, list[str]] = {}
        for claim in self.judgement.claims:
            if claim.status == "violated":
                found.setdefault(claim.id, []).append(claim.mode)
        return found

    def marks(self) -> set[tuple[str, str, str, str | None]]:
        """What is violated, where: claim, mode, code and pointer."""
        return {
            (claim.id, claim.mode, finding.code, finding.pointer)
            for claim in self.judgement.claims
            if claim.status == "violated"
            for finding in claim.because
        }


@dataclass(frozen=True)
class Studio:
    """Where recordings are kept, and what they are made with."""

    kept: Path
    python: str | None = None
    repeats: int = 2
    again: bool = False
    """Record anew what is kept already."""

    def recording(self, script: Path, version: str, *, extra: tuple[str, ...] = ()) -> Recording:
        """The recording of `script` on this release, made where it is not kept yet.

        Raises:
            AgentproofError: it could not be recorded.
        """
        path = self.kept / f"{_name(script)}-{version}.agentproof.zip"
        if self.again or not path.exists():
            reproduction = read_reproduction(select(str(script)))
            extra += PYTEST if reproduction.tests else ()
            conditions = Conditions(python=self.python, requires=extra, repeats=self.repeats)
            recorded = record.record(
                reproduction, parse_target(version), conditions, key=_key(), progress=Silent()
            )
            write_atomic(path, zip_bytes(recorded))
        return judged(script, version, read_bundle(path))


def _name(script: Path) -> str:
    """A name that changes with the script."""
    digest = hashlib.sha256(script.read_bytes()).hexdigest()[:8]
    stem = script.parent.name if script.stem == "repro" else script.stem
    return f"{stem}-{digest}"


@cache
def _key() -> signing.PrivateKey:
    return signing.generate_key()


def judged(script: Path, version: str, bundle: Bundle) -> Recording:
    """A bundle of `script` on this release, judged by the claims as they are now."""
    manifest = Manifest.from_bytes(bundle.manifest)
    traces: dict[Mode, Trace] = {
        each.mode: Trace.from_bytes(bundle.members[each.trace]) for each in manifest.recordings
    }
    states = {
        path.removeprefix("states/").removesuffix(".json"): content
        for path, content in bundle.members.items()
        if path.startswith("states/")
    }
    header = read_header(bundle.members[manifest.reproduction.entry], path=str(script))
    judgement = judge.judge(
        traces=traces,
        state=lambda digest: pydantic_core.from_json(states[digest]),
        recordings=manifest.recordings,
        conduct=manifest.conduct,
        isolation=manifest.isolation,
        coverage=manifest.coverage,
        answers=judge.Answers.of(manifest.provider, manifest.target.sha256),
        authored=read_claims(header.claims, modes=traces, path=str(script)),
    )
    return Recording(script, version, manifest, traces, states, judgement)


HEALTHY = (SCRIPTS / "healthy", SCRIPTS / "healthy_more", SCRIPTS / "healthy_tests")
SHARED = frozenset({"scripted", "stdio_server", "provider", "paged_server", "conftest"})
"""Modules that the healthy scripts use."""
PYTEST = ("pytest", "pytest-asyncio")


def healthy(*folders: Path) -> list[Path]:
    """The scripts that do nothing wrong, without the modules that they share."""
    found = (path for folder in folders or HEALTHY for path in sorted(folder.iterdir()))
    return [path for path in found if path.suffix == ".py" and path.stem not in SHARED]


@dataclass(frozen=True)
class Case:
    """A real report, reduced to a script."""

    name: str
    script: Path
    facts: Mapping[str, Any]  # Any: case.json

    @property
    def buggy(self) -> str:
        return str(self.facts["buggy"])

    @property
    def fixed(self) -> str | None:
        return self.facts["fixed"] and str(self.facts["fixed"])


CASES = (SCRIPTS / "cases", SCRIPTS / "unseen")
"""Real reports that the rules were written with, and those that were reduced afterwards."""


def cases(*folders: Path, only: Iterable[str] = ()) -> list[Case]:
    """The cases of these folders; `only` narrows them to those whose names contain one of these texts."""
    wanted = tuple(only)
    return [
        Case(path.name, path / "repro.py", json.loads((path / "case.json").read_bytes()))
        for folder in folders or CASES
        for path in sorted(folder.iterdir())
        if (path / "case.json").exists() and (not wanted or any(text in path.name for text in wanted))
    ]


__all__ = ["AgentproofError", "Case", "Recording", "Studio", "cases", "healthy"]
