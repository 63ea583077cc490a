"""What an SDK adapter tells the host."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol


class Sdk(Protocol):
    """An SDK that recordings can be about. Any is JSON throughout."""

    distribution: str
    """Its normalised name on the index (PEP 503)."""
    package: str
    """What a script imports."""
    adapter: str
    """Its package in `_recorder/adapters/`."""
    related: tuple[str, ...]
    """Distributions whose versions belong into an issue."""
    state_mark: bytes
    """What the JSON of each state holds, and hardly anything else."""
    schema_key: str
    """The key of a state's format."""
    model_error: str
    """The exception that blames a model for what it answered, as `module:Class`."""

    def is_state(self, document: Any) -> bool:
        """Whether this is the JSON of a state."""

    def comparable(self, state: Any) -> Any:
        """A state, those inside it included, without what changes of itself and without the caller's own
        context object."""

    def approved_in(self, state: Any) -> Iterator[tuple[str, Any]]:
        """The approvals that it holds: the tool, and a list of call ids, or true for all calls."""

    def calls_in(self, state: Any) -> Mapping[str, Any]:
        """What it tells of calls, by their ids; empty where it tells nothing."""

    def was_executed(self, call: Any) -> bool:
        """Whether one of `calls_in` was."""
