"""Every error that agentproof raises on purpose, named by whose fault it is.

A class builds its message from typed arguments: the file, the value, and the next step. The
library raises; only `agentproof.cli` turns an error into an exit code.

    AgentproofError            exit code
    ├── UsageError             2   what was asked for makes no sense
    ├── BundleError            5   the bundle in hand is damaged, hostile or newer than this tool
    ├── TrustError             2   a key or trust file that the reader gave cannot be used
    ├── CannotDoError          4   the machine, the index or the target stands in the way
    └── RecorderError          4   our own recorder failed; never evidence that a bug did not happen
"""

from enum import IntEnum
from typing import ClassVar


class Exit(IntEnum):
    """The exit codes of every command (README, "What it is for"); frozen."""

    YES = 0
    NO = 1
    USAGE = 2
    STALE = 3
    CANNOT = 4
    INVALID = 5
    INTACT = 6


class AgentproofError(Exception):
    """An error with a sentence for the user and, where there is one, the next step."""

    exit_code: ClassVar[Exit] = Exit.CANNOT

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # Arguments of subclasses differ; an error must come back whole from another process.
        return _again, (type(self), self.__dict__, self.message)


def _again(kind: type[AgentproofError], held: dict[str, object], message: str) -> AgentproofError:
    error = kind.__new__(kind, message)
    error.__dict__.update(held)
    return error


class UsageError(AgentproofError):
    """What was asked for makes no sense, whatever the machine."""

    exit_code = Exit.USAGE


class BundleError(AgentproofError):
    """A bundle that cannot be believed. `reason` is a stable code, `path` the member at fault."""

    exit_code = Exit.INVALID
    place: str | None = None
    """Where the bundle is, once that is known: a check names it itself, other commands say it first."""

    def __init__(
        self, reason: str, message: str, *, path: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(f"{path}: {message}" if path else message, hint=hint)
        self.reason = reason
        self.path = path


class FormatError(BundleError):
    """Bytes that are not a well-formed agentproof object in the canonical encoding."""

    def __init__(self, message: str, *, path: str | None = None, reason: str = "malformed") -> None:
        super().__init__(reason, message, path=path)


class TrustError(AgentproofError):
    """A key, trust file or passphrase that the reader gave and that cannot be used."""

    exit_code = Exit.USAGE


class CannotDoError(AgentproofError):
    """The machine, the package index or the target stands in the way."""


class RecorderError(AgentproofError):
    """The recorder itself failed, so nothing can be said about the script."""
