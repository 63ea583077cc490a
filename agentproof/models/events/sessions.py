"""Sessions: what was asked of them, by the SDK and by the script."""

from typing import Literal

from ..items import items_of
from ..text import value_text
from .base import SEES_MORE, ClassName, Count, Event, Failure, Label, Text, Value
from .phrases import describe_failure


class SessionUsed(Event):
    """One operation on a session; those that it makes inside of itself are not told."""

    no_evidence = SEES_MORE

    kind: Literal["session.used"]
    session: Label
    operation: Literal["add_items", "get_items", "pop_item", "clear_session"]
    by_sdk: bool
    """True where the SDK's own code asked."""
    session_class: ClassName
    session_id: Text | None = None
    database: Text | None = None
    """The database file that the session names, if any."""
    table: Text | None = None
    """The table in which it keeps its items, where that is not the SDK's usual one."""
    beyond: Literal["expiry", "branches", "connections", "processes"] | None = None
    """What may change the store besides the operations that are told: a time to live, branches, connections
    that the script opened to the same file, processes that it started."""
    limit: Count | None = None
    """The limit given with `get_items`, else that of the session's settings."""
    branch: Text | None = None
    """The branch given with `get_items`."""
    items: Value | None = None
    """What `add_items` was given."""
    result: Value | None = None
    """What `get_items` or `pop_item` gave."""
    error: Failure | None = None

    def words(self) -> str:
        who = "the SDK" if self.by_sdk else "the script"
        count = len(items_of(self.items if self.items is not None else self.result))
        limit = "" if self.limit is None else f" of at most {self.limit}"
        some = f"{count}{limit} item{'' if count == 1 and not limit else 's'}"
        verb = {
            "add_items": f"adds {some} to",
            "get_items": f"reads {some} from",
            "pop_item": "takes the last of",
            "clear_session": "clears",
        }[self.operation]
        where = "" if self.branch is None else f", branch {self.branch!r},"
        failed = f", which raises {describe_failure(self.error)}" if self.error else ""
        return f"{who} {verb} session {self.session}{where}{failed}".removesuffix(",")


class SessionCalled(Event):
    """Another method of one of the SDK's own sessions: branches, turns, usage, compaction, `close`, `ping`.

    What it does by `add_items` and its like to the session that it stands before is told as `session.used`.
    """

    no_evidence = SEES_MORE

    kind: Literal["session.called"]
    session: Label
    session_class: ClassName
    session_id: Text | None = None
    operation: Text
    by_sdk: bool
    """True where the SDK's own code asked."""
    arguments: Value
    """By name."""
    result: Value | None = None
    """What it gave, without moments in time; absent where that was nothing."""
    error: Failure | None = None

    def words(self) -> str:
        who = "the SDK" if self.by_sdk else "the script"
        fields = self.arguments if isinstance(self.arguments, dict) else {}
        given = ", ".join(f"{name}={value_text(value, 60)}" for name, value in fields.items())
        told = f"{who} calls {self.operation}({given}) of session {self.session}"
        if self.error is not None:
            return f"{told}, which raises {describe_failure(self.error)}"
        return told if self.result is None else f"{told}, which gives {value_text(self.result, 120)}"
