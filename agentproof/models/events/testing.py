"""Tests of a reproduction that is run by pytest."""

from typing import Literal

from .base import Event, Failure, ListOf, Text
from .script import Frame, Premise, RaisedIn


class TestStarted(Event):
    """A test begins."""

    __test__ = False  # pytest would collect it by its name

    kind: Literal["test.started"]
    test: Text
    """Its node id, relative to the reproduction's root."""


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
