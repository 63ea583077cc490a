"""A coroutine that the SDK is handed is awaited (version 1, which read warnings from stderr).

Rule: (1) the instructions that a model is given, and the output of a function tool, are no coroutine; (2) no
warning of Python's that a coroutine was never awaited names a line of the SDK as the place where it was
dropped: what the script gave as an asynchronous callback did not run. Left out: warnings about lines of the
script and of other packages.

Sites: model calls with instructions, function tools that ended, and such warnings.

Not observed: none of these.

From: openai/openai-agents-python#3211, #3942.
"""

import re
from collections.abc import Iterator

from ...models.events import ScriptWrote
from ...models.manifest import Finding
from ..trace.coroutines import explain, judge_awaited
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding

__all__ = ["NAME", "NEEDS", "SCOPE", "VERSION", "evaluate", "explain"]

NAME = "callbacks-awaited"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models"})

_DROPPED = re.compile(
    r"^<site-packages>/(?P<file>agents/[^\n]*?\.py):(?P<line>[0-9]+): RuntimeWarning: "
    r"coroutine '(?P<name>[^'\n]*)' was never awaited$",
    re.MULTILINE,
)


def evaluate(evidence: Evidence) -> Outcome:
    """Judge what models and tools gave and were given, and what the script of the one trace wrote."""
    return judge_awaited(evidence.view, list(_dropped(evidence.view)))


def _dropped(view: View) -> Iterator[Finding]:
    for event in view.of(ScriptWrote):
        if event.stream != "stderr" or not isinstance(event.text, str):
            continue
        for match in _DROPPED.finditer(event.text):
            yield make_finding(
                code="never_awaited",
                events=view.refs(event),
                subject=match["name"],
                after=f"{match['file']}:{match['line']}",
            )
