"""The host half of an SDK adapter: what checks, rules, targets and reports know of each SDK.

The other half, `_recorder/adapters/<adapter>/`, runs in the environment under test. docs/architecture.md
lists the files that a second SDK adds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Sdk:
    """An SDK that recordings can be about."""

    distribution: str
    """Its normalised name on the index (PEP 503)."""
    package: str
    """What a script imports."""
    adapter: str
    """Its package in `_recorder/adapters/`."""


OPENAI_AGENTS: Final = Sdk("openai-agents", package="agents", adapter="openai_agents")

KNOWN: Final[Mapping[str, Sdk]] = MappingProxyType({sdk.distribution: sdk for sdk in (OPENAI_AGENTS,)})
"""By distribution."""
DEFAULT: Final = OPENAI_AGENTS
"""What a bare version names."""
