"""A text is printed, or is not.

Rule: some line of the script's stdout contains `text`; with `never`, no line does.

Sites: what was printed, as one.

Not observed: the line that may hold it differs between the repeats, more was printed than was kept, or the
script did not come as far as the SDK for a reason of its own (see `script-completed`).

From: the reporter (`--should-print`, `--should-not-print`).
"""

from typing import Annotated, Any, Literal

from ...models.events import ScriptWrote
from ...models.manifest import Finding
from ...models.printed import may_hold
from ...models.values import text_of
from ...models.wire import Text, exactly
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding
from .kind import Arguments

NAME = "printed"
VERSION = 1
SCOPE: Scope = "each"
NEEDS: frozenset[str] = frozenset()


class Printed(Arguments):
    """Which text."""

    text: Text
    never: Annotated[Literal[True], exactly(bool)] | None = None


ARGUMENTS = Printed


def evaluate(evidence: Evidence, arguments: Printed) -> Outcome:
    """Look at each line of the one trace's stdout."""
    view = evidence.view
    wrote = next((event for event in view.of(ScriptWrote) if event.stream == "stdout"), None)
    lines = text_of(wrote.text).split("\n") if wrote is not None else []
    found = next((line for line in lines if arguments.text in line), None)
    if found is None and (
        (wrote is not None and wrote.truncated) or any(may_hold(line, arguments.text) for line in lines)
    ):
        return Outcome("not_observed", 0, (_finding(view, wrote, "differs", arguments.text, None),))
    never = arguments.never is True
    nearest = found if found is not None else _nearest(lines, arguments.text)
    code = ("printed" if found is not None else "not_printed") + ("_never" if never else "")
    status: Literal["holds", "violated"] = "holds" if (found is None) == never else "violated"
    return Outcome(status, 1, (_finding(view, wrote, code, arguments.text, nearest),))


def _finding(view: View, wrote: ScriptWrote | None, code: str, text: str, line: str | None) -> Finding:
    event = wrote or view.script_end
    refs = view.refs(event) if event is not None else ()
    return make_finding(
        code=code, events=refs, subject=text, after=None if line is None else line.strip()[:400]
    )


def _nearest(lines: list[str], text: str) -> str | None:
    """The line that shares most words with the text; of several the last."""
    wanted = set(text.split())
    told = [line for line in lines if line.strip()]
    return max(reversed(told), key=lambda line: len(wanted & set(line.split())), default=None)


def wanted(arguments: Printed) -> str:
    """What should happen."""
    what = "no line with" if arguments.never else "a line with"
    return f'The script prints {what} "{arguments.text}".'


def explain(finding: Finding) -> str:
    """What was printed, and what was to be."""
    line: Any = finding.after  # Any: a text
    match finding.code:
        case "printed_never":
            return f'the script printed "{line}", and should print nothing with "{finding.subject}"'
        case "not_printed":
            instead = f'; it printed "{line}"' if line is not None else "; it printed nothing"
            return f'the script should print "{finding.subject}" and did not{instead}'
        case "differs":
            return f'whether "{finding.subject}" was printed differs between the recordings, or was not kept'
        case _:
            what = f'"{line}"' if line is not None else "nothing"
            return f"the script printed {what}"
