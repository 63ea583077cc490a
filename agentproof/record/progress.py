"""Who is told of the steps while they are taken."""

from typing import Protocol


class Progress(Protocol):
    """Somebody to whom the steps are told."""

    def working(self, text: str) -> None:
        """A step that may take a while has begun."""

    def done(self, label: str, text: str) -> None:
        """A step is done."""


class Silent:
    """Nobody listens."""

    def working(self, text: str) -> None:
        """Nothing."""

    def done(self, label: str, text: str) -> None:
        """Nothing."""
