"""Claims about traces and states, each to `holds`, `violated` or `not_observed`.

A kind of claim is one module of this package: its docstring states the rule, what counts as a site,
when it is not observed, and the reports that it comes from. A rule speaks of what the script or the
SDK's public behaviour shows; where a trace cannot tell, it stays silent. Kinds are evaluated by pure
functions, the same for record, replay and check.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ..models.manifest import ClaimResult, Finding
from . import (
    approval_respected,
    call_output_linkage,
    exactly_once,
    round_trip,
    script_completed,
    state_integrity,
    stream_parity,
)
from ._evidence import Evidence, View
from ._outcome import Kind, Outcome

INVARIANTS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.NAME: kind
        for kind in (
            approval_respected,
            call_output_linkage,
            exactly_once,
            round_trip,
            script_completed,
            state_integrity,
            stream_parity,
        )
    }
)
"""The claims that are evaluated without anyone asking, by name."""


def explain(claim: ClaimResult, finding: Finding) -> str:
    """One sentence for people that says what `finding` of `claim` is about.

    A pointer with the values before and after stands in the finding itself; where there is one, show
    it on a line of its own.

    Raises:
        KeyError: no such kind of claim; `judge` refuses such a manifest.
    """
    return INVARIANTS[claim.kind].explain(finding)


__all__ = ["INVARIANTS", "Evidence", "Kind", "Outcome", "View", "explain"]
