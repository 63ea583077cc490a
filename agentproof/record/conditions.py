"""How a reproduction is recorded, whatever it is and whatever it runs on."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.specifiers import SpecifierSet

from ..environment import interpreters, wheel_store
from ..environment.projects import OwnWheel, own_wheels
from ..isolation.supervision import Limits
from ..models.expectations import NOTHING, Expectations
from .live import Live
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
    wheels: tuple[OwnWheel, ...] = ()
    """Wheels of the reporter's own projects, beside those of the reproductions."""
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
    live: Live | None = None
    """Whom a script without recorded answers may ask, once."""
    variables: Variables = field(default_factory=Variables)
    """Environment variables that the scripts are given."""
    limits: Limits = field(default_factory=Limits)
    side_by_side: bool = True
    """Whether repeats run at the same time; not where recordings fill the processors. What is recorded does
    not depend on it, nor is it kept under it."""


def with_projects(
    conditions: Conditions,
    *,
    requires: SpecifierSet | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Conditions:
    """The same with the reporter's own projects among `requires` as wheels; directories are built.

    `requires` is the Python that the reproduction asks for.

    Raises:
        UsageError, CannotDoError: as `own_wheels`.
    """
    remaining, wheels = own_wheels(
        conditions.requires,
        interpreter=lambda: interpreters.find(conditions.python, requires=requires),
        cache=wheel_store.default_store().cache,
        offline=conditions.offline,
        progress=progress,
    )
    return replace(conditions, requires=remaining, wheels=(*conditions.wheels, *wheels))
