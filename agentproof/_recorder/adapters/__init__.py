"""One package for each SDK that the recorder knows, chosen by the plan (standard library only).

Its other half, what the host knows of that SDK, is `agentproof/sdk/<name>/`.
"""

import importlib
from typing import Any, Dict, List, Protocol, Tuple, cast


class Adapter(Protocol):
    """What the recorder asks of an SDK's package; each is a function of the package."""

    def install(self) -> List[Tuple[str, ...]]:
        """Hook everything that this release has; give (what, why) for what could not be hooked."""

    def enter(self, mode: str) -> List[Tuple[str, ...]]:
        """Hook what begins a run, in the mode `as-written` or `streamed`; the same of what could not be."""

    def known_hooks(self) -> Dict[str, Any]:
        """The hooks that this release calls, by scope."""

    def finish(self) -> None:
        """Look at what is left when the script is over."""

    def gaps(self) -> List[Tuple[str, str]]:
        """What could not be told of this script, as (what, why)."""


def adapter_for(name: str) -> Adapter:
    """The adapter of this name."""
    return cast(Adapter, importlib.import_module("." + name, __name__))
