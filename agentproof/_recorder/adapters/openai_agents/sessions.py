"""Sessions: each operation, by whom, and what is in them (standard library only).

1. The SDK's session classes are patched with every subclass, and so is the class of any session that
   is passed to a run: a session may be any object with the four methods. What else the SDK's own classes
   offer (branches, turns, usage, compaction, `close`, `ping`) is told too, of these classes alone.
2. Only the outermost call is told: wrappers and base classes call one another.
3. What may change a store besides these operations is told with them (`_beyond`).
4. The contents are read in a forked child, through the session's own `get_items`; those of the SDK's own
   SQLite session in this process, which is faster and disturbs nothing.
"""

import contextlib
import contextvars
import inspect
import json
import os
import sys
import urllib.parse
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from ... import answering, audit, snapshots
from ...events import During, guarded, journal, paused
from ...patching import hide, original_of, patch, patch_tree
from ...values import optional_text, text, type_name
from . import facts, watch

_inside: "contextvars.ContextVar[Tuple[int, ...]]" = contextvars.ContextVar(
    "agentproof_in_session", default=()
)

_OPERATIONS = ("add_items", "get_items", "pop_item", "clear_session")
_OTHERS = (
    *("create_branch_from_content", "create_branch_from_turn", "delete_branch", "list_branches"),
    *("switch_to_branch", "find_turns_by_content", "get_conversation_by_turns", "get_conversation_turns"),
    *("get_session_usage", "get_tool_usage", "get_turn_usage", "store_run_usage"),
    *("run_compaction", "close", "ping"),
)
_MOMENTS = frozenset({"created_at", "timestamp"})
"""Fields of what these give that hold when it was: by chance two repeats fall into one second or not."""


def _operation(name: str) -> Any:
    def make(original: Any) -> Any:
        if not inspect.iscoroutinefunction(original):
            return original

        async def operate(self: Any, *args: Any, **kwargs: Any) -> Any:
            if journal().is_silent or id(self) in _inside.get():
                return await original(self, *args, **kwargs)
            request = _request(
                name, original, self, args, kwargs, not facts.called_from_outside(sys._getframe(1))
            )
            try:
                with During(_inside, (*_inside.get(), id(self))):
                    result = await original(self, *args, **kwargs)
            except BaseException as raised:
                _used(request, None, raised)
                hide(raised)
                raise
            _used(request, result, None)
            return result

        return operate

    return make


@guarded("sessions")
def _request(
    name: str, original: Any, session: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], by_sdk: bool
) -> Dict[str, Any]:
    given = inspect.signature(original).bind(session, *args, **kwargs).arguments
    limit = given.get("limit") if name == "get_items" else None
    fields: Dict[str, Any] = {
        **_who(session),
        "operation": name,
        "by_sdk": by_sdk,
        "items": facts.plain_item(given.get("items")) if name == "add_items" else None,
    }
    if limit is None:
        limit = getattr(getattr(session, "session_settings", None), "limit", None)
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        fields["limit"] = limit
    fields["branch"] = optional_text(given.get("branch_id"))
    return fields


_calling: "contextvars.ContextVar[Tuple[int, ...]]" = contextvars.ContextVar(
    "agentproof_in_session_call", default=()
)


def _other(name: str) -> Any:
    """What stands in the place of another method of the SDK's own sessions."""

    def make(original: Any) -> Any:
        if not facts.is_sdk(getattr(original, "__module__", None)):
            return original

        def is_told(session: Any) -> bool:
            inner = (*_inside.get(), *_calling.get())
            return not journal().is_silent and id(session) not in inner

        if not inspect.iscoroutinefunction(original):

            def call(self: Any, *args: Any, **kwargs: Any) -> Any:
                if not is_told(self):
                    return original(self, *args, **kwargs)
                request = _asked(name, original, self, args, kwargs, sys._getframe(1))
                try:
                    with During(_calling, (*_calling.get(), id(self))):
                        result = original(self, *args, **kwargs)
                except BaseException as raised:
                    _called(request, None, raised)
                    hide(raised)
                    raise
                _called(request, result, None)
                return result

            return call

        async def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_told(self):
                return await original(self, *args, **kwargs)
            request = _asked(name, original, self, args, kwargs, sys._getframe(1))
            try:
                with During(_calling, (*_calling.get(), id(self))):
                    result = await original(self, *args, **kwargs)
            except BaseException as raised:
                _called(request, None, raised)
                hide(raised)
                raise
            _called(request, result, None)
            return result

        return wait

    return make


@guarded("sessions")
def _asked(
    name: str, original: Any, session: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], caller: Any
) -> Dict[str, Any]:
    given = dict(list(inspect.signature(original).bind(session, *args, **kwargs).arguments.items())[1:])
    for argument, value in given.items():
        is_told = facts.is_sdk(type(value).__module__)  # a result is told where its run ends
        given[argument] = {"$opaque": type_name(value)} if is_told else facts.plain_item(value)
    return {
        "session": watch.name_of("D", session),
        "session_class": type_name(session),
        "session_id": optional_text((getattr(session, "__dict__", None) or {}).get("session_id")),
        "operation": name,
        "by_sdk": not facts.called_from_outside(caller),
        "arguments": given,
    }


@guarded("sessions")
def _called(request: Optional[Dict[str, Any]], result: Any, error: Optional[BaseException]) -> None:
    if request is None:
        return
    if error is not None:
        request["error"] = facts.error(error)
    elif result is not None:
        request["result"] = _without_moments(facts.plain_item(result))
    journal().emit("session.called", request)


def _without_moments(told: Any) -> Any:
    if isinstance(told, list):
        return [_without_moments(each) for each in told]
    if isinstance(told, dict):
        return {name: _without_moments(each) for name, each in told.items() if name not in _MOMENTS}
    return told


def _who(session: Any) -> Dict[str, Any]:
    held = getattr(session, "__dict__", None) or {}
    label = watch.name_of("D", session)
    return {
        "session": label,
        "session_class": type_name(session),
        "session_id": optional_text(held.get("session_id")),
        "database": _database(label["$label"], held.get("db_path")),
        "table": _table(held),
        "beyond": _beyond(session, held, label["$label"]),
    }


def _table(held: Dict[str, Any]) -> Optional[str]:
    """The table of a SQLite session, where it is not the usual one."""
    found = optional_text(held.get("messages_table"))
    return None if found == "agent_messages" else found


_LONG = 300
"""Seconds that no recorded script takes as a rule: an `EncryptedSession` has always a time to live."""


def _beyond(session: Any, held: Dict[str, Any], label: str) -> Optional[str]:
    """What may change the session's items besides the operations that are told, if anything may."""
    for one in _layers(session):
        kept = getattr(one, "__dict__", None) or {}
        lives = kept.get("_ttl", kept.get("ttl"))
        if isinstance(lives, (int, float)) and ("_ttl" in kept or lives <= _LONG):
            return "expiry"
        if any(base.__name__ == "AdvancedSQLiteSession" for base in type(one).__mro__):
            with contextlib.suppress(Exception):  # a property of the SDK's
                if one._current_branch_id != "main":
                    return "branches"
    path = _databases.get(label)
    if path and path != ":memory:":
        _opened_by.setdefault(path, set()).add(label)
        if path in audit.seen.databases or audit.seen.driven.get(path, 0) > len(_opened_by[path]):
            return "connections"
        if audit.seen.started is not None:
            return "processes"
    return None


_opened_by: Dict[str, Set[str]] = {}
"""By database file: the sessions over it."""


def _layers(session: Any) -> Iterator[Any]:
    """A session of the SDK's and those that it stands before."""
    for _ in range(4):
        if session is None or not facts.is_sdk(type(session).__module__):
            return
        yield session
        session = (getattr(session, "__dict__", None) or {}).get("underlying_session")


_databases: Dict[str, Optional[str]] = {}
"""By session: its database, as it was found when the session was first seen."""


def _database(label: str, path: Any) -> Optional[str]:
    """One spelling for one file, however the script names it and wherever it goes afterwards."""
    if label not in _databases:
        found: Optional[str] = optional_text(os.fspath(path) if isinstance(path, os.PathLike) else path)
        if found and found != ":memory:" and not found.startswith("file:"):
            found = text(os.path.realpath(found))
        _databases[label] = found
    return _databases[label]


@guarded("sessions")
def _used(request: Optional[Dict[str, Any]], result: Any, error: Optional[BaseException]) -> None:
    if request is None:
        return
    fields = dict(request)
    if error is not None:
        fields["error"] = facts.error(error)
    elif request["operation"] in ("get_items", "pop_item"):
        fields["result"] = facts.plain_item(result)
    journal().emit("session.used", fields)


def see(session: Any) -> None:
    """Hook the class of a session that is passed to a run."""
    for cls in type(session).__mro__:
        if cls.__module__ in ("typing", "unittest.mock", "builtins"):
            continue
        for name in _OPERATIONS:
            if not getattr(vars(cls).get(name), "_is_protocol", False):
                patch(cls, name, _operation(name))


_DRIVEN = frozenset({"AsyncSQLiteSession", "SQLAlchemySession", "MongoDBSession", "DaprSession"})
"""Sessions of the SDK that answer through a thread or a connection of their own, which no child has."""


def _is_driven(session: Any) -> bool:
    """True for one of these, and for a session that stands before one."""
    return any(type(each).__name__ in _DRIVEN for each in _layers(session))


def contents_of(session: Any) -> watch.Question:
    """What the session holds, as its own `get_items` would give it."""
    return watch.Question(
        lambda: facts.plain_item(answering.complete(lambda: _all_items(session))),
        here=lambda: _rows(session),
        about=session,
        may_write=_is_file(session),
        is_driven=_is_driven(session),
    )


def _all_items(session: Any) -> Any:
    paused.set(True)
    return session.get_items()


def _is_file(session: Any) -> bool:
    """True for a session of the SDK's over a database file, whose reader writes beside it."""
    return facts.is_sdk(type(session).__module__) and _who(session)["database"] not in (None, ":memory:")


def _rows(session: Any) -> Any:
    """The same for the SDK's own SQLite session, read as it reads itself, in this process.

    Raises:
        UnavailableError: it is another one, it is in use, or its rows cannot be read so.
    """
    held = getattr(session, "__dict__", None) or {}
    reader = original_of(getattr(type(session), "get_items", None))
    is_own = getattr(reader, "__qualname__", "") == "SQLiteSession.get_items" and "get_items" not in held
    limit = getattr(held.get("session_settings"), "limit", None)
    if not is_own or not facts.is_sdk(reader.__module__) or limit is not None or held.get("_closed"):
        raise snapshots.UnavailableError("it is read through its own get_items")
    try:
        with audit.Unwatched():
            rows = _selected(held)
    except (OSError, KeyError, sys.modules["sqlite3"].Error) as error:
        raise snapshots.UnavailableError("{}: {}".format(type(error).__name__, error)) from error
    return [facts.plain_item(item) for item in _decoded(rows)]


def _selected(held: Dict[str, Any]) -> Any:
    sqlite3: Any = sys.modules["sqlite3"]  # the SDK has imported it
    table = held["messages_table"]  # as the session itself puts it into its own queries
    query = "SELECT message_data FROM {} WHERE session_id = ? ORDER BY id".format(table)  # noqa: S608
    if held["_is_memory_db"]:
        if not held["_lock"].acquire(blocking=False):
            raise snapshots.UnavailableError("another thread uses it")
        try:
            return sqlite3.Cursor(held["_shared_connection"]).execute(query, (held["session_id"],)).fetchall()
        finally:
            held["_lock"].release()
    path = os.path.realpath(os.fspath(held["db_path"]))
    # A log beside the file belongs to somebody who has it open. Without one a reader would make it.
    mode = "mode=ro" if os.path.exists(path + "-wal") else "immutable=1"
    uri = "file:{}?{}".format(urllib.parse.quote(path), mode)
    with contextlib.closing(sqlite3.connect(uri, timeout=0.01, uri=True)) as connection:
        return connection.execute(query, (held["session_id"],)).fetchall()


def _decoded(rows: Iterable[Any]) -> Iterator[Any]:
    for (text_of_row,) in rows:
        with contextlib.suppress(ValueError, TypeError):
            yield json.loads(text_of_row)


def install() -> List[str]:
    """Hook the SDK's session classes."""
    base = None
    for module in ("agents.memory.session", "agents.memory"):
        base = base or getattr(sys.modules.get(module), "SessionABC", None)
    if base is None:
        return ["this release has no sessions"]
    makers = {name: _operation(name) for name in _OPERATIONS}
    makers.update({name: _other(name) for name in _OTHERS})
    patch_tree(base, makers)
    return []
