"""What the script itself says through `agentproof.probe`."""

from typing import Literal

from .base import Event, Text, Value
from .script import Frame


class ProbeChecked(Event):
    """`probe.check(label, condition)`: the script's own statement, true or not."""

    kind: Literal["probe.checked"]
    label: Text
    passed: bool
    frame: Frame | None = None
    """Where the script said it."""


class ProbeObserved(Event):
    """`probe.observe(label, value)`."""

    kind: Literal["probe.observed"]
    label: Text
    value: Value
    frame: Frame | None = None
