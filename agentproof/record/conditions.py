"""How a reproduction is recorded, whatever it is and whatever it runs on."""

from dataclasses import dataclass, field
from pathlib import Path

from ..isolation.supervision import Limits
from ..models.expectations import NOTHING, Expectations
from .variables import Variables


@dataclass(frozen=True)
class Conditions:
    """What every command that records is told about the environment and the run."""

    python: str | None = None
    """A version or path. None: a bundle's own minor version, else the Python that runs agentproof."""
    as_of: str | None = None
    """Ignore what was uploaded after this day. None: the day after the release."""
    lock_file: Path | None = None
    """A whole environment, each package with its digests."""
    like: str | None = None
    """Where to take the versions from: an interpreter, a `uv.lock`, `pylock.toml` or requirements file."""
    requires: tuple[str, ...] = ()
    """Requirements beyond those of the reproductions."""
    offline: bool = False
    require_isolation: str | None = None
    allow_sdk_changes: bool = False
    repeats: int = 2
    redact: bool = False
    """Take secrets out of the recording instead of stopping."""
    redact_patterns: tuple[str, ...] = ()
    """More of what counts as a secret, as regular expressions."""
    expectations: Expectations = NOTHING
    """What should have happened, beside what the reproductions say."""
    variables: Variables = field(default_factory=Variables)
    """Environment variables that the scripts are given."""
    limits: Limits = field(default_factory=Limits)
    side_by_side: bool = True
    """Whether repeats run at the same time; not where recordings fill the processors. What is recorded does
    not depend on it, nor is it kept under it."""
