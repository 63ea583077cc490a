"""A comparison: reproductions recorded on several targets, and what changed between them.

A comparison is a bundle of its own: `manifest.json` is a `Comparison`, its members are the bundles
that it rests on (below `bundles/<bundle id>/`, without wheels) and each target wheel once (below
`wheels/`, detachable). All of it but `failed` and the names follows from those bundles, so a reader
computes it again and compares.
"""

from typing import Annotated, Literal

from pydantic import Field

from .events.base import Seq
from .manifest import Member, Status
from .trace import Mode
from .values import Value
from .wire import Count, ListOf, Sha256, Text, Version, Wire, exactly

About = Literal[
    "tool", "output", "run", "end", "input", "decision", "state", "change", "test", "script", "order"
]
"""What a difference is about: a tool run or its output, the start of a run or its end, a model's input, a
decision, a state that was made or restored, a change seen in one, the end of a test or of the script, or
the order."""


class TraceDifference(Wire):
    """One thing that two traces of a reproduction do not share."""

    mode: Mode
    what: Literal["gone", "new", "changed", "moved"]
    """`gone`: only in the first; `new`: only in the second; `moved`: at another place in the order."""
    about: About
    subject: Text
    """What it is about, in words: a tool run, a decision, a model input, the end of a run, …"""
    event: Seq | None = None
    """The event of the first trace; absent for `new`."""
    other_event: Seq | None = None
    """The event of the second trace; absent for `gone`."""
    pointer: Text | None = None
    """Where in the fact (for `changed`), as an RFC 6901 pointer."""
    before: Value | None = None
    after: Value | None = None
    """Absent where there is none; a large value is the beginning of its JSON and `…`."""


class RecordingSummary(Wire):
    """A recording that the comparison rests on."""

    bundle_id: Sha256
    evidence_id: Sha256
    target: Text
    """Name and version, with the beginning of the wheel's SHA-256 where it is no release."""
    wheel: Sha256
    python: Text
    verdict: Literal["violated", "holds", "inconclusive"]
    reasons: ListOf[Text] = ()
    asked: ListOf[Text] = ()
    """What it asked of a provider otherwise than when the answers were recorded, in words."""
    ended: Text | None = None
    """For an inconclusive one: how the script ended, where that was not a clean end."""


Outcome = Literal[
    "baseline",
    "fixed",
    "regressed",
    "still_violated",
    "still_holds",
    "inconclusive",
    "unobservable",
    "not_recorded",
]
"""What became of the baseline's verdict on another target.

`fixed`: nothing is violated and a claim that was now holds. `unobservable`: nothing is violated, but
no claim that was violated had anything to judge. `regressed`: something is violated that was not, and
nothing that was still is. `inconclusive`: one of the two recordings is.
"""


class ClaimChange(Wire):
    """A claim whose status is another one, or which both violate; null where a recording has it not."""

    id: Text
    mode: Literal["as-written", "streamed", "both"]
    before: Status | None
    after: Status | None


VisibleAbout = Literal["printed", "ended", "tools", "output", "state", "model"]
"""What a user sees: what was printed, how the script ended, which tools ran, final outputs, states, what the
model was asked."""


class VisibleDifference(Wire):
    """The first difference that a user can see from where it worked."""

    mode: Mode
    about: VisibleAbout
    where: Text | None = None
    """Of a state or a request: which one, in words, and the pointer into it."""
    before: Text
    after: Text


class Cell(Wire):
    """One reproduction on one target."""

    target: Text
    outcome: Outcome
    recorded: RecordingSummary | None = None
    """Absent for `not_recorded`."""
    failed: Text | None = None
    """For `not_recorded`: why, as stated by whoever compared."""
    visible: VisibleDifference | None = None
    """In a row with `good`: how it is not as there; then the claim `as-on` is violated."""
    claims: ListOf[ClaimChange] = ()
    differences: ListOf[TraceDifference] = ()
    """Those that say most, first; of equal ones in the order of the traces."""
    more: Count | None = None
    """How many differences there are beyond those."""


class Row(Wire):
    """One reproduction on all targets; the first cell is what the others are compared with."""

    reproduction: Text
    title: Text | None = None
    good: Annotated[Literal[True], exactly(bool)] | None = None
    """The first cell is where it worked: the others should show what it shows."""
    cells: Annotated[ListOf[Cell], Field(min_length=1)]


class Comparison(Wire):
    """The manifest of a comparison bundle; its SHA-256 is the bundle's id."""

    format: Literal["agentproof/comparison"]
    version: Version
    agentproof: Text
    rows: Annotated[ListOf[Row], Field(min_length=1)]
    members: ListOf[Member]
    """Sorted by path; those under `wheels/` may be absent."""


class Matrix(Wire):
    """`matrix.json`: the rows of many comparisons; the recordings lie beside it."""

    MAX_BYTES = 32 * 2**20

    format: Literal["agentproof/matrix"]
    version: Version
    agentproof: Text
    rows: Annotated[ListOf[Row], Field(min_length=1)]
    """Sorted by reproduction and Python; the first cell of each is what its others are compared with."""
