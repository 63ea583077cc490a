"""The last run's final output contains a text.

Rule: the final output of the last top-level run contains `text`. An output that is no text is looked at as
JSON on one line (`{"key": "value"}`), its objects as their fields. A run that raised, or that waits for
decisions, has no output.

Sites: the one run.

Not observed: there was no run, nobody listened to its end, or the script did not come as far as the SDK for a
reason of its own (see `script-completed`).

From: the reporter (`--should-output`).
"""

import json
from typing import Any

from ...models.manifest import Finding
from ...models.values import text_of
from ...models.wire import Text
from ..trace.evidence import Evidence
from ..trace.outcome import NOT_OBSERVED, Outcome, Scope, make_finding
from .kind import Arguments

NAME = "last-output"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"runs"})


class LastOutput(Arguments):
    """Which text."""

    text: Text


ARGUMENTS = LastOutput


def evaluate(evidence: Evidence, arguments: LastOutput) -> Outcome:
    """Judge the output of the last run of the one trace."""
    view = evidence.view
    run = view.top[-1] if view.top else None
    if run is None or run.ended is None or run.ended.outcome in ("cancelled", "left", "unfinished"):
        return NOT_OBSERVED
    output: str | None = None
    instead = None
    if run.ended.error is not None:
        instead = f"raised {run.ended.error.type.rpartition(':')[2]}"
    elif run.ended.interruptions:
        instead = "waits for a decision"
    else:
        output = as_line(run.ended.final_output)
    fits = output is not None and arguments.text in output
    finding = make_finding(
        code="no_output" if instead else "is_it" if fits else "is_another",
        events=view.refs(run.ended),
        run=run.label,
        subject=arguments.text,
        after=instead if instead is not None else (output or "")[:400],
    )
    return Outcome("holds" if fits else "violated", 1, (finding,))


def as_line(value: Any) -> str:  # Any: a value
    """A value as a reader writes it: a text as it is, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value.keys() == {"$str"}:
        return text_of(value)
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:  # Any: a value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$object" in value:
        return _plain(value.get("fields"))
    if value.keys() == {"$float"}:
        return str(value["$float"])
    return {key: _plain(item) for key, item in value.items()}


def wanted(arguments: LastOutput) -> str:
    """What should happen."""
    return f'The final output of the last run holds "{arguments.text}".'


def explain(finding: Finding) -> str:
    """What it is, and what it was to be."""
    match finding.code:
        case "no_output":
            return f'the last run should give "{finding.subject}" and gives nothing: it {finding.after}'
        case "is_another":
            return f'the last run should give "{finding.subject}" and gives "{finding.after}"'
        case _:
            return f'the last run gives "{finding.after}"'
