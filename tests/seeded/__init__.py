"""Faults seeded into a copy of a real release, for rules that no known release violates.

Each `<rule>.toml` says what it takes:

    rule      the rule that must speak
    release   of openai-agents; its wheel is in `bundles/wheels/`
    script    an ordinary script below `tests/scripts/`, on which no rule speaks on the release as it is
    slip      the slip of a maintainer that this could be, in one sentence
    hunks     `file`, `old` (which it has once) and `new`

`python -m tests.seeded [RULE …]` records each and says which rules speak.
"""

import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agentproof.models.manifest import Judgement
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.recording import record
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import select
from agentproof.record.target import Target
from agentproof.trust import signing
from tests.corpus.recordings import SCRIPTS
from tests.forge import record_of

FOLDER = Path(__file__).parent
_WHEELS = Path(__file__).parents[2] / "bundles" / "wheels"


@dataclass(frozen=True)
class Hunk:
    """One place in a file of the release."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Fault:
    """A fault, and the script that shows it."""

    rule: str
    release: str
    script: str
    slip: str
    hunks: tuple[Hunk, ...]


def faults() -> Mapping[str, Fault]:
    """Every seeded fault, by the rule that must speak."""
    return {fault.rule: fault for fault in map(_read, sorted(FOLDER.glob("*.toml")))}


def _read(path: Path) -> Fault:
    shape = tomllib.loads(path.read_text("utf-8"))
    hunks = tuple(Hunk(**each) for each in shape.pop("hunks"))
    fault = Fault(**shape, hunks=hunks)
    if fault.rule != path.stem:
        raise ValueError(f"{path} is about {fault.rule}")
    return fault


def patched_wheel(fault: Fault, directory: Path) -> Path:
    """The release's wheel below `directory`, with the fault in it and a true RECORD.

    Raises:
        ValueError: the release does not hold what a hunk replaces, or holds it twice.
    """
    name = f"openai_agents-{fault.release}-py3-none-any.whl"
    with zipfile.ZipFile(_WHEELS / name) as archive:
        files = {member: archive.read(member) for member in archive.namelist() if not member.endswith("/")}
    for hunk in fault.hunks:
        text = files[hunk.file].decode()
        if text.count(hunk.old) != 1:
            raise ValueError(f"{fault.rule}: {hunk.file} of {fault.release} has {hunk.old!r} not just once")
        files[hunk.file] = text.replace(hunk.old, hunk.new).encode()
    (own,) = (path for path in files if path.endswith(".dist-info/RECORD"))
    files[own] = record_of({path: data for path, data in files.items() if path != own}, own)
    place = directory / name
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return place


QUICK = "tripped-raises"
"""The one that is recorded in every run of the tests."""


@cache
def _key() -> signing.PrivateKey:
    return signing.generate_key()


def judgement_with(fault: Fault, directory: Path) -> Judgement:
    """What a recording of the script shows on the release with the fault; made below `directory`.

    Raises:
        AgentproofError: it could not be recorded.
    """
    # Below 3.12 functions are not watched, which two rules need; the others take any Python.
    conditions = Conditions(python=None if fault.rule == QUICK else "3.12", repeats=1)
    target = Target(fault.rule, wheel=patched_wheel(fault, directory))
    reproduction = read_reproduction(select(str(SCRIPTS / fault.script)))
    return record(reproduction, target, conditions, key=_key(), progress=Silent()).document.judgement


def violated(judgement: Judgement) -> Iterator[str]:
    """The rules that speak, each once."""
    yield from dict.fromkeys(claim.kind for claim in judgement.claims if claim.status == "violated")
