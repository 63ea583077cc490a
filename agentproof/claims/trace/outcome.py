"""What an evaluator hands back, and the shape that every kind of claim has."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

from ...models.diff import ABSENT, Absent, Change
from ...models.manifest import EventRef, Finding, Status
from ...models.values import from_state
from ...models.wire import bounded, encode
from .evidence import Evidence

Scope = Literal["each", "both", "as-written"]
"""Evaluated once for each mode, once over both, or for the script as it was written alone."""

MAX_FINDINGS = 24
"""Findings kept of one claim: enough to see a pattern, few enough to read."""

MAX_VALUE_BYTES = 4096
_MAX_TEXT_OF_VALUE = 1000


@dataclass(frozen=True)
class Outcome:
    """The status of one claim, how often it had something to judge, and what decides it."""

    status: Status
    sites: int
    because: tuple[Finding, ...] = ()


NOT_OBSERVED = Outcome("not_observed", 0)


def outcome(*, sites: int, because: Iterable[Finding]) -> Outcome:
    """The outcome of a rule that speaks only of violations: none with something judged means that it
    holds; nothing judged means that it was not observed."""
    kept = tuple(islice(because, MAX_FINDINGS))
    if kept:
        return Outcome("violated", max(sites, len(kept)), kept)
    return Outcome("holds" if sites else "not_observed", sites)


def make_finding(
    *,
    code: str,
    events: tuple[EventRef, ...],
    before: Any = None,  # Any: values
    after: Any = None,
    state: str | None = None,
    run: str | None = None,
    null: tuple[Literal["before", "after"], ...] = (),
    **texts: str | None,
) -> Finding:
    """A finding with its texts and values cut to what can be read; keywords are the fields of `Finding`.

    A trace holds call ids, keys and names of any length (some providers keep signatures in their call ids).
    """
    return Finding(
        code=code,
        events=events,
        state=state,
        run=run,
        before=_readable(before),
        after=_readable(after),
        null=null,
        **{name: None if text is None else bounded(text) for name, text in texts.items()},
    )


def _readable(value: Any) -> Any:  # Any: a value
    """The value, or the beginning of its JSON where that is too long to be read."""
    written = encode(value)
    if len(written) <= MAX_VALUE_BYTES:
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return f"{text[:_MAX_TEXT_OF_VALUE]}…"


def short(value: Any) -> Any:  # Any: a value
    """The value, or None where it is too long to be read in a finding."""
    return value if len(encode(value)) <= MAX_VALUE_BYTES else None


def sides(change: Change) -> dict[str, Any]:  # Any: keyword arguments of Finding
    """The `pointer`, `before`, `after` and `null` of a finding; a value too long to be read is left out."""
    fields: dict[str, Any] = {"pointer": change.pointer}
    parts = {"before": change.before, "after": change.after}
    for name, part in parts.items():
        value = None if isinstance(part, Absent) else short(from_state(part))
        if value is not None:
            fields[name] = value
    if null := tuple(name for name, part in parts.items() if part is None):
        fields["null"] = null
    return fields


def change_of(finding: Finding) -> Change:
    """The two sides of a finding, ABSENT where it has none."""

    def side(name: Literal["before", "after"]) -> Any:  # Any: a value
        value = getattr(finding, name)
        return ABSENT if value is None and name not in finding.null else value

    return Change(finding.pointer or "", side("before"), side("after"))


class Kind(Protocol):
    """A kind of claim: one module of this package."""

    __name__: str
    NAME: str
    VERSION: int
    SCOPE: Scope
    NEEDS: frozenset[str]
    """The recorder's parts without which the rule is not observed."""

    def evaluate(self, evidence: Evidence) -> Outcome:
        """Judge; pure."""
        ...

    def explain(self, finding: Finding) -> str:
        """One sentence for people."""
        ...
