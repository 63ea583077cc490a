"""The shape of authored claims, and what their kinds share."""

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import Field

from ...models.diff import ABSENT, Absent
from ...models.trace import Mode
from ...models.wire import Wire
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope
from ..trace.runs import Run

Number = Annotated[int, Field(ge=1, le=2**53 - 1)]
"""Which of several, by first appearance, counted from 1."""


class Arguments(Wire):
    """What an author may write for one kind; each kind has its own fields."""


@dataclass(frozen=True)
class AuthoredClaim:
    """One authored claim in one mode, with its arguments as they are written to the manifest."""

    id: str
    kind: str
    version: int
    mode: Mode
    arguments: dict[str, Any]  # Any: values


class AuthoredKind(Protocol):
    """A kind of authored claim: one module of this package."""

    __name__: str
    NAME: str
    VERSION: int
    SCOPE: Scope
    NEEDS: frozenset[str]
    ARGUMENTS: type[Arguments]

    def evaluate(self, evidence: Evidence, arguments: Any) -> Outcome:  # Any: of this module's ARGUMENTS
        """Judge; pure."""
        ...

    def explain(self, finding: Any) -> str:  # Any: a Finding, as in `trace.outcome.Kind`
        """One sentence for people."""
        ...


def chosen(view: View, run: Number | None) -> list[Run]:
    """The top-level run with this number, counted from 1; all of them where no number is given."""
    if run is None:
        return list(view.top)
    return list(view.top[run - 1 : run])


def last_or_chosen(view: View, run: Number | None) -> Run | None:
    """The top-level run with this number, or the last one."""
    found = chosen(view, run)
    return found[-1] if found else None


def resolve(document: Any, pointer: str) -> Any | Absent:  # Any: a value or a state's JSON
    """What an RFC 6901 pointer leads to; it passes through encoded objects to their fields."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and "$object" in document:
            document = document.get("fields")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isascii() and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        elif isinstance(document, list) and name == "-" and document:
            document = document[-1]  # RFC 6901 leaves the meaning of "-" to the application: the last one
        else:
            return ABSENT
    return document
