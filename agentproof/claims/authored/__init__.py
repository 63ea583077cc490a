"""Claims that the author of a reproduction writes in its header, or makes with `probe.check`.

    # [[tool.agentproof.claims]]
    # kind = "tool-runs"
    # tool = "pay"
    # times = 0

`kind` names one of `AUTHORED`; `id` is the claim's label (its kind, numbered, where left out); `mode`
narrows it to one mode. All other keys are the kind's own.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...errors import FormatError, UsageError
from ...models.expectations import Expectations, ToolExpectation
from ...models.manifest import ClaimResult
from ...models.trace import Mode
from ...models.values import from_state, short_text
from ..trace.evidence import Evidence
from . import (
    final_output,
    last_output,
    printed,
    probe_check,
    raised,
    run_ended,
    script_ended,
    tool_order,
    tool_ran,
    tool_runs,
    value_at,
)
from .kind import Arguments, AuthoredClaim, AuthoredKind

AUTHORED: Mapping[str, AuthoredKind] = MappingProxyType(
    {
        kind.NAME: kind
        for kind in (
            final_output,
            last_output,
            printed,
            probe_check,
            raised,
            run_ended,
            script_ended,
            tool_order,
            tool_ran,
            tool_runs,
            value_at,
        )
    }
)
"""The kinds of authored claims, by name."""

EXPECTED: frozenset[str] = frozenset({last_output.NAME, printed.NAME, raised.NAME, tool_ran.NAME})
"""The kinds that expectations are judged by, which are not written as claims of their own."""

_OURS = ("id", "kind", "mode")
_HEADER_KINDS = sorted(AUTHORED.keys() - {probe_check.NAME} - EXPECTED)


@dataclass(frozen=True)
class HeaderClaim:
    """A claim of a header in one mode; what it says beyond that is for its kind to read."""

    id: str
    kind: str
    mode: Mode
    own: Mapping[str, Any]  # Any: TOML
    where: str
    """For errors."""

    def current(self) -> AuthoredKind:
        """Its kind, as this tool has it.

        Raises:
            UsageError: there is none.
        """
        if self.kind not in _HEADER_KINDS:
            text = f"{self.where}: there is no kind {self.kind!r}; there are {', '.join(_HEADER_KINDS)}"
            raise UsageError(text)
        return AUTHORED[self.kind]

    def arguments(self, kind: AuthoredKind) -> dict[str, Any]:  # Any: values
        """Its arguments as `kind` reads them, in the shape of a manifest.

        Raises:
            UsageError: they are not the kind's.
        """
        known = kind.ARGUMENTS.model_fields
        for key in self.own:
            if key not in known:
                raise UsageError(
                    f"{self.where}: {kind.NAME} has no `{key}`; it has {', '.join(sorted(known))}"
                )
        try:
            return parse_arguments(kind, from_state(_plain(self.own, self.where))).to_shape()
        except FormatError as error:
            raise UsageError(f"{self.where}: {error.message}") from error


def authored_claims(
    tables: Iterable[Mapping[str, Any]],  # Any: TOML
    *,
    modes: Iterable[Mode],
    path: str,
    taken: Container[str] = (),
) -> tuple[AuthoredClaim, ...]:
    """The claims of a header's `[[tool.agentproof.claims]]`, one for each mode that they speak of.

    `path` names the script in errors; `taken` are ids that nobody else may use.

    Raises:
        UsageError: a claim has an unknown kind, key or mode, lacks a key, or has a value of the wrong
            type; it is named, and what exists is listed.
    """
    return tuple(
        AuthoredClaim(each.id, each.kind, kind.VERSION, each.mode, each.arguments(kind))
        for each in header_claims(tables, modes=modes, path=path, taken=taken)
        for kind in [each.current()]
    )


def header_claims(
    tables: Iterable[Mapping[str, Any]],  # Any: TOML
    *,
    modes: Iterable[Mode],
    path: str,
    taken: Container[str] = (),
) -> Iterator[HeaderClaim]:
    """What a header says of its claims, of whatever kind they are; see `authored_claims`."""
    present = tuple(modes)
    labels: set[str] = set()
    for number, table in enumerate(tables, start=1):
        where = f"{path}: claim {number}" + (f" ({table['id']!r})" if "id" in table else "")
        name, label, mode = _read_ours(table, number, where)
        if label in labels or label in taken:
            raise UsageError(f"{path}: another claim is called {label!r} too", hint="give each its own `id`")
        labels.add(label)
        if mode is not None and mode not in present:
            raise UsageError(
                f"{path}: claim {label!r}: mode {mode!r} is not recorded; there are {', '.join(present)}"
            )
        own = {key: item for key, item in table.items() if key not in _OURS}
        yield from (HeaderClaim(label, name, one, own, where) for one in present if mode in (None, one))


def expected_claims(expectations: Expectations, *, modes: Iterable[Mode]) -> tuple[AuthoredClaim, ...]:
    """One claim for each thing that should happen, in each mode; its id is what the reporter wrote."""
    asked: list[tuple[str, str, dict[str, Any]]] = [  # Any: values
        *((f'should-print "{text}"', printed.NAME, {"text": text}) for text in expectations.should_print),
        *(
            (f'should-not-print "{text}"', printed.NAME, {"text": text, "never": True})
            for text in expectations.should_not_print
        ),
        *((f"should-raise {name}", raised.NAME, {"error": name}) for name in expectations.should_raise),
        *([("should-not-raise", raised.NAME, {})] if expectations.should_not_raise else []),
        *(_tool_claim(each) for each in expectations.should_run),
        *(
            (f"should-not-run {tool}", tool_ran.NAME, {"tool": tool, "times": 0})
            for tool in expectations.should_not_run
        ),
        *(
            (f'should-output "{text}"', last_output.NAME, {"text": text})
            for text in expectations.should_output
        ),
    ]
    return tuple(
        AuthoredClaim(_label(label), name, AUTHORED[name].VERSION, mode, arguments)
        for mode in modes
        for label, name, arguments in asked
    )


def _tool_claim(each: ToolExpectation) -> tuple[str, str, dict[str, Any]]:  # Any: values
    if each.times is None:
        return f"should-run {each.tool}", tool_ran.NAME, {"tool": each.tool}
    return f"should-run {each.tool}={each.times}", tool_ran.NAME, {"tool": each.tool, "times": each.times}


def _label(text: str) -> str:
    """The whole of it, so that no two are called alike, as far as a text may be long."""
    return short_text(text)


def wanted(claim: ClaimResult) -> str:
    """What should happen, by an expectation's claim, in a sentence."""
    arguments = parse_arguments(AUTHORED[claim.kind], claim.arguments)
    match arguments:
        case printed.Printed():
            return printed.wanted(arguments)
        case raised.Raised():
            return raised.wanted(arguments)
        case tool_ran.ToolRan():
            return tool_ran.wanted(arguments)
        case last_output.LastOutput():
            return last_output.wanted(arguments)
        case _:
            raise TypeError(f"{claim.kind} is no expectation")


def checks_in(evidence: Evidence) -> Iterator[AuthoredClaim]:
    """One claim for each label that the script gave to `probe.check`, in each mode."""
    for mode, view in evidence.views.items():
        for label in probe_check.labels(view):
            arguments = probe_check.ARGUMENTS(label=label).to_shape()
            yield AuthoredClaim(label, probe_check.NAME, probe_check.VERSION, mode, arguments)


def parse_arguments(kind: AuthoredKind, shape: object) -> Arguments:
    """A kind's arguments from what a manifest says.

    Raises:
        FormatError: they are not of the kind's shape.
    """
    return kind.ARGUMENTS.from_shape(shape)


def needs_of(kind: AuthoredKind, arguments: Arguments) -> frozenset[str]:
    """The recorder's parts without which a claim with these arguments is not observed."""
    return value_at.needs(arguments) if isinstance(arguments, value_at.ValueAt) else kind.NEEDS


def _read_ours(
    table: Mapping[str, Any],  # Any: TOML
    number: int,
    where: str,
) -> tuple[str, str, Mode | None]:
    """Kind, label and mode."""
    name = table.get("kind")
    if not isinstance(name, str):
        raise UsageError(
            f"{where}: {f'there is no kind {name!r}' if 'kind' in table else 'it has no `kind`'}; "
            f"there are {', '.join(_HEADER_KINDS)}"
        )
    label = table.get("id", f"{name}-{number}")
    if not isinstance(label, str) or not label or len(label) > 200:
        raise UsageError(f"{where}: `id` is not a text of 1 to 200 characters")
    match table.get("mode"):
        case None:
            return name, label, None
        case "as-written" | "streamed" as given:
            return name, label, given
        case other:
            raise UsageError(f"{where}: there is no mode {other!r}; there are as-written, streamed")


def _plain(part: Any, where: str) -> Any:  # Any: TOML
    """TOML's own values without its dates, which no observed value can equal."""
    if isinstance(part, list):
        return [_plain(item, where) for item in part]
    if isinstance(part, dict):
        return {key: _plain(item, where) for key, item in part.items()}
    if part is None or isinstance(part, bool | int | float | str):
        return part
    raise UsageError(f"{where}: a {type(part).__name__} is not a value; write it as a text")


__all__ = [
    "AUTHORED",
    "EXPECTED",
    "Arguments",
    "AuthoredClaim",
    "AuthoredKind",
    "HeaderClaim",
    "authored_claims",
    "checks_in",
    "expected_claims",
    "header_claims",
    "parse_arguments",
    "wanted",
]
