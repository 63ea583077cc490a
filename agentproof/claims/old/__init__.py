"""Rules that were superseded or removed: asked of no new recording, recomputed for bundles that have them.

A rule whose meaning changes gets the next `VERSION`; its module as it was moves here under the name
`<rule>_<version>.py`. So does one that is removed. It stays for as long as a bundle
that this repository keeps has a claim of it (docs/decisions/0034); a test finds one that is missing.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from ..authored import AuthoredKind
from ..trace.outcome import Kind

_MODULES = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
RULES: Mapping[tuple[str, int], Kind] = MappingProxyType(
    {(rule.NAME, rule.VERSION): rule for rule in (cast(Kind, each) for each in _MODULES)}
)
"""Old rules, by name and version."""

AUTHORED: Mapping[tuple[str, int], AuthoredKind] = MappingProxyType({})
"""Old kinds of authored claims, by name and version."""
