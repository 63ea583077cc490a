"""Sessions of a trace: which labels name one store, and what was put into each.

Two session objects of one id over one table of one database file are one store, however they spell its path;
any other session is its own.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...models.events import SessionUsed
from ...models.items import Item, Key, items_of, key_of
from ...sdk import KNOWN

_IN_MEMORY = ("", ":memory:")
_WORK = "<work>"
"""What stands for the script's working directory in a trace."""


@dataclass(eq=False)
class Store:
    """One place where items are kept."""

    name: str
    used: list[SessionUsed] = field(default_factory=list)
    began_empty: bool = False
    """Whether it lives in memory only, so that the script saw all that was ever put into it."""

    def added(self) -> set[Key]:
        """What was added without an error, by anybody."""
        return {key_of(item) for event in self.used for item in added_by(event)}

    def is_cut(self) -> bool:
        """Whether the script took items out itself."""
        return any(
            event.operation in ("pop_item", "clear_session") and not event.by_sdk for event in self.used
        )


def _is_in_memory(event: SessionUsed) -> bool:
    return event.database in _IN_MEMORY


def _file(database: str) -> str:
    """One spelling of a database's path. Symbolic links are the recorder's to resolve."""
    if database.startswith("file:"):
        return database
    # `<work>` and its like stand for absolute paths.
    return posixpath.normpath(database if database.startswith("<") else posixpath.join(_WORK, database))


def added_by(event: SessionUsed) -> list[Item]:
    """The items that this operation added; none where it failed or is another one."""
    if event.operation != "add_items" or event.error is not None:
        return []
    return items_of(event.items)


class Stores:
    """All stores, by the labels of the session objects over them."""

    def __init__(self, used: Iterable[SessionUsed]) -> None:
        self._names: dict[str, str] = {}
        self._stores: dict[str, Store] = {}
        self.opaque = False
        """Whether some session is of a class that is not the SDK's: it may keep its items in another one, of
        whose part in that nothing is told."""
        for event in used:
            name = event.session
            if event.database is not None and not _is_in_memory(event) and event.session_id is not None:
                table = "" if event.table is None else f"{event.table}#"
                name = f"{_file(event.database)}#{table}{event.session_id}"
            self._names.setdefault(event.session, name)
            self.opaque = self.opaque or not _is_an_sdks_own(event.session_class)
            store = self.of(event.session)
            store.used.append(event)
            store.began_empty = _is_in_memory(event)

    def of(self, label: str) -> Store:
        """The store behind a session object; an empty one where it was never used."""
        name = self._names.get(label, label)
        return self._stores.setdefault(name, Store(name))

    def is_cut(self, label: str) -> bool:
        """Whether the script may have taken items out of this session."""
        return any(store.is_cut() for store in (self.all() if self.opaque else [self.of(label)]))

    def all(self) -> list[Store]:
        return list(self._stores.values())


def _is_an_sdks_own(name: str) -> bool:
    return any(name.startswith(f"{sdk.package}.") for sdk in KNOWN.values())
