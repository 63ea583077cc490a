"""What the script itself says through `agentproof.probe`."""

from typing import Literal

from ._base import Event, Text, Value


class ProbeChecked(Event):
    """`probe.check(label, condition)`: the script's own statement, true or not."""

    kind: Literal["probe.checked"]
    label: Text
    passed: bool


class ProbeObserved(Event):
    """`probe.observe(label, value)`."""

    kind: Literal["probe.observed"]
    label: Text
    value: Value
