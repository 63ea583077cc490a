"""Rules that were superseded or removed: asked of no new recording, recomputed for bundles that have them.

A rule whose meaning changes gets the next `VERSION`; its module as it was moves here under the name
`<rule>_<version>.py` and is listed below. So does one that is removed. It stays for as long as a bundle
that this repository keeps has a claim of it (docs/decisions/0034); a test finds one that is missing.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ..authored import AuthoredKind
from ..trace.outcome import Kind
from . import callbacks_awaited_1, stream_parity_2

RULES: Mapping[tuple[str, int], Kind] = MappingProxyType(
    {(kind.NAME, kind.VERSION): kind for kind in (callbacks_awaited_1, stream_parity_2)}
)
"""Old rules, by name and version."""

AUTHORED: Mapping[tuple[str, int], AuthoredKind] = MappingProxyType({})
"""Old kinds of authored claims, by name and version."""
