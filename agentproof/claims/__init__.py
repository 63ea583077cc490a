"""Claims about traces and states, each to `holds`, `violated` or `not_observed`.

A kind of claim is one module of this package: its docstring states the rule, what counts as a site,
when it is not observed, and the reports that it comes from. A rule speaks of what the script or the
SDK's public behaviour shows; where a trace cannot tell, it stays silent. Kinds are evaluated by pure
functions, the same for record, replay and check.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ..models.expectations import NOTHING, Expectations
from ..models.manifest import ClaimResult, Finding
from ..models.trace import Mode
from . import old
from .authored import (
    AUTHORED,
    EXPECTED,
    AuthoredClaim,
    AuthoredKind,
    authored_claims,
    checks_in,
    expected_claims,
    header_claims,
    wanted,
)
from .rules import RULES
from .trace.evidence import Evidence, View
from .trace.excuses import excuses
from .trace.outcome import Kind, Outcome, change_of

INVARIANTS: Mapping[str, Kind] = MappingProxyType({rule.NAME: rule for rule in RULES})
"""The claims that are evaluated without anyone asking, by name."""


def find_rule(name: str, version: int) -> Kind | None:
    """The rule of this name in this version, superseded and removed ones included."""
    rule = INVARIANTS.get(name)
    return rule if rule is not None and version == rule.VERSION else old.RULES.get((name, version))


def find_authored(name: str, version: int) -> AuthoredKind | None:
    """The kind of authored claim of this name in this version, old ones included."""
    kind = AUTHORED.get(name)
    return kind if kind is not None and version == kind.VERSION else old.AUTHORED.get((name, version))


def find_kind(name: str, version: int) -> Kind | AuthoredKind | None:
    """The kind of claim of this name in this version, old ones included."""
    return find_rule(name, version) or find_authored(name, version)


def read_claims(
    tables: Iterable[Mapping[str, Any]],  # Any: TOML
    *,
    modes: Iterable[Mode],
    path: str,
    expectations: Expectations = NOTHING,
) -> tuple[AuthoredClaim, ...]:
    """The claims of a reproduction, `judge` takes them as `authored`: what its reporter expects, then what
    the header of the script at `path` authors.

    Raises:
        UsageError: a claim has an unknown kind, key or mode, lacks a key, has a value of the wrong type,
            or takes the id of another one; it is named, and what exists is listed.
    """
    present = tuple(modes)
    expected = expected_claims(expectations, modes=present)
    taken = {*INVARIANTS, *(claim.id for claim in expected)}
    return (*expected, *authored_claims(tables, modes=present, path=path, taken=taken))


def explain(claim: ClaimResult, finding: Finding) -> str:
    """One sentence for people that says what `finding` of `claim` is about.

    A pointer with the values before and after stands in the finding itself; where there is one, show
    it on a line of its own.

    Raises:
        KeyError: no such kind of claim in this version; nothing that was recomputed has one.
    """
    kind = find_kind(claim.kind, claim.version)
    if kind is None:
        raise KeyError(f"{claim.kind} {claim.version}")
    return kind.explain(finding)


__all__ = [
    "AUTHORED",
    "EXPECTED",
    "INVARIANTS",
    "AuthoredClaim",
    "AuthoredKind",
    "Evidence",
    "Kind",
    "Outcome",
    "View",
    "change_of",
    "checks_in",
    "excuses",
    "expected_claims",
    "explain",
    "find_authored",
    "find_kind",
    "find_rule",
    "header_claims",
    "read_claims",
    "wanted",
]
