"""What the script itself says through `agentproof.probe`."""

from typing import Literal

from ..text import value_text
from .base import SEES_MORE, Event, Text, Value
from .script import Frame


class ProbeChecked(Event):
    """`probe.check(label, condition)`: the script's own statement, true or not."""

    no_evidence = SEES_MORE

    kind: Literal["probe.checked"]
    label: Text
    passed: bool
    frame: Frame | None = None
    """Where the script said it."""

    def words(self) -> str:
        return f"the script checks {self.label!r}: {'true' if self.passed else 'false'}"


class ProbeObserved(Event):
    """`probe.observe(label, value)`."""

    no_evidence = SEES_MORE

    kind: Literal["probe.observed"]
    label: Text
    value: Value
    frame: Frame | None = None

    def words(self) -> str:
        return f"the script notes {self.label!r}: {value_text(self.value)}"
