"""Statements of a reproduction about itself: `from agentproof import probe`.

Inside of a recording the recorder answers and the trace holds what was stated. Run by hand, these
functions only give back what they were given.

    probe.check("the tool ran once", len(calls) == 1)
    probe.observe("calls", calls)
"""

from typing import TypeVar

T = TypeVar("T")


def check(label: str, condition: object) -> bool:
    """State that `condition` holds, and give it back as a bool.

    Raises:
        TypeError: `label` is not a text.
    """
    _require_text(label, "check")
    return bool(condition)


def observe(label: str, value: T) -> T:
    """Write `value` down under `label`, and give it back.

    Raises:
        TypeError: `label` is not a text.
    """
    _require_text(label, "observe")
    return value


def _require_text(label: object, function: str) -> None:
    if not isinstance(label, str):
        raise TypeError(f"probe.{function}: the label is a text, not {type(label).__name__}")
