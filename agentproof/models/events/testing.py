"""Tests of a reproduction that is run by pytest."""

from typing import Literal

from .base import SEES_MORE, Event, Failure, ListOf, Text
from .phrases import describe_failure
from .script import Frame, Premise, RaisedIn

_WORDS = {
    "passed": "passes",
    "failed": "fails",
    "error": "could not be run to its end",
    "skipped": "is skipped",
    "xfailed": "fails, as it may",
    "xpassed": "passes, though it may fail",
}


class TestStarted(Event):
    """A test begins."""

    __test__ = False  # pytest would collect it by its name

    no_evidence = SEES_MORE

    kind: Literal["test.started"]
    test: Text
    """Its node id, relative to the reproduction's root."""

    def words(self) -> str:
        return f"test {self.test} begins"


class TestEnded(Event):
    """A test is over."""

    __test__ = False

    kind: Literal["test.ended"]
    test: Text
    outcome: Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
    """`error`: its set-up, tear-down or collection failed, or its file or a conftest could not be imported;
    then `test` is that file."""
    reason: Text | None = None
    """Why it was skipped or may fail, in its author's words."""
    error: Failure | None = None
    frames: ListOf[Frame] = ()
    """The frames in the reproduction's own files, innermost last."""
    raised_in: RaisedIn | None = None
    premise: Premise | None = None

    def words(self) -> str:
        return f"test {self.test} {self.how()}"

    def how(self) -> str:
        """How it ended, in one line."""
        words = _WORDS[self.outcome]
        if self.error is not None:
            at = f" at {self.frames[-1].file}:{self.frames[-1].line}" if self.frames else ""
            return f"{words}{at}: {describe_failure(self.error)}"
        return f"{words}: {self.reason}" if self.reason else words
