"""`explain`'s result: a file of its own, which names the bundle and the wheels whose lines it quotes.

It is not signed and no part of a bundle: whoever holds the wheels can check every line that it quotes.
"""

from typing import Annotated, Literal

from pydantic import Field

from .trace import Mode
from .wire import Count, ListOf, Sha256, Text, Version, Wire

Side = Literal["bundle", "other"]
"""The release of the bundle, or the one that it was compared with."""
GitId = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]

LinkBase = Annotated[
    str, Field(pattern=r"^https://github\.com/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/blob/v[A-Za-z0-9.+!-]+$")
]
"""A release's tag in a public repository: a file that anybody wrote leads a reader nowhere else."""


class ExplainedWheel(Wire):
    """A wheel whose lines are quoted."""

    side: Side
    name: Text
    version: Text
    filename: Text
    sha256: Sha256
    base: LinkBase | None = None
    """The URL that `/src/` and a path follow in a link to a line; absent for what is no release."""


class SourceLine(Wire):
    """One line of a wheel's file; `text` MUST be that line, without its end."""

    side: Side
    file: Text
    """Its path in the wheel."""
    line: Count
    text: Text
    ran: bool = False


class QuotedLine(SourceLine):
    """A line of a difference."""

    change: Literal["removed", "added", "same"] = "same"


class FunctionPlace(Wire):
    """A function and why it is named."""

    file: Text
    function: Text
    first: Count
    last: Count
    blob: GitId
    """The id that git gives to the file."""
    other_blob: GitId | None = None
    lines: ListOf[QuotedLine] = ()
    signals: ListOf[Text] = ()


class Statement(SourceLine):
    """A line that did something, with the function that it stands in."""

    function: Text


class SharedObject(Wire):
    """One object that was held twice."""

    claim: Text
    pointer: Text
    """That of the finding."""
    type: Text
    paths: ListOf[Text]
    """Where it was held: `S1._context._approvals`."""
    made: Statement | None = None
    held: ListOf[Statement] = ()
    """The statement by which it came to be held twice, innermost first."""
    written: ListOf[Statement] = ()
    """Statements that changed it meanwhile, the last one last."""
    outside: bool = False
    """It was changed while no code of the SDK ran: by the script."""


class EventPlace(Wire):
    """Where an event came from."""

    mode: Mode
    seq: Count
    script: Text | None = None
    """`repro.py:41`."""
    sdk: Statement | None = None


class Commit(Wire):
    """A commit between the two releases that changed one of the functions."""

    id: GitId
    subject: Text
    files: ListOf[Text] = ()


class Explanation(Wire):
    """What a replay with the probe found."""

    format: Literal["agentproof/explanation"]
    version: Version
    bundle_id: Sha256
    evidence_id: Sha256
    wheels: ListOf[ExplainedWheel]
    modes: ListOf[Mode]
    """The recordings that the lines are of."""
    kind: Literal["two_releases", "one_release"]
    changed: Count = 0
    """Functions of the bundle's release that differ in the other one."""
    ran: Count = 0
    """How many of them ran, with a line that differs."""
    executed: Count = 0
    """How many functions of the SDK ran at all."""
    neighbours: Count = 0
    """How many healthy scenarios ran on the same release."""
    shared: ListOf[SharedObject] = ()
    functions: ListOf[FunctionPlace] = ()
    commits: ListOf[Commit] = ()
    events: ListOf[EventPlace] = ()
    notes: ListOf[Text] = ()
    """What was not looked at, and why."""

    def link(self, line: SourceLine) -> str | None:
        """A line at the tag of its release; None where there is none."""
        return self.link_to(line.side, line.file, line.line)

    def link_to(self, side: Side, file: str, line: int) -> str | None:
        """The same by parts."""
        base = next((wheel.base for wheel in self.wheels if wheel.side == side), None)
        return f"{base}/src/{file}#L{line}" if base is not None else None

    def version_of(self, side: Side) -> str:
        """The release that a side is."""
        return next((wheel.version for wheel in self.wheels if wheel.side == side), "?")
