"""Sessions: what was asked of them, by the SDK and by the script."""

from typing import Literal

from .base import ClassName, Count, Event, Failure, Label, Text, Value


class SessionUsed(Event):
    """One operation on a session; those that it makes inside of itself are not told."""

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
    items: Value | None = None
    """What `add_items` was given."""
    result: Value | None = None
    """What `get_items` or `pop_item` gave."""
    error: Failure | None = None
