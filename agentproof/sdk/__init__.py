"""The host half of an SDK adapter: what rules, targets and reports know of each SDK.

The other half, `_recorder/adapters/<name>/`, runs in the environment under test and tells events in one
vocabulary, whose items are those of the Responses API. What it cannot translate, since it is recorded as the
SDK wrote it, is read here: the JSON of a state. Each folder below is one SDK and holds an `SDK`; it is found
by being there.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from .adapter import Sdk

_FOUND: Final = [
    importlib.import_module(f"{__name__}.{each.name}").SDK
    for each in pkgutil.iter_modules(__path__)
    if each.ispkg
]
KNOWN: Final[Mapping[str, Sdk]] = MappingProxyType({sdk.distribution: sdk for sdk in _FOUND})
"""By distribution."""
DEFAULT: Final[Sdk] = KNOWN["openai-agents"]
"""What a bare version names."""


def sdk_of(state: Any) -> Sdk:  # Any: JSON
    """The SDK that wrote this state; the default for what none of them would write."""
    return next((sdk for sdk in KNOWN.values() if sdk.is_state(state)), DEFAULT)


__all__ = ["DEFAULT", "KNOWN", "Sdk", "sdk_of"]
