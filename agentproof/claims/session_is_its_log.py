"""A session holds what was put into it.

Rule: reading a session gives what was added and not popped or cleared since, by all sessions over the same
store; the last ones where a limit was given. `pop_item` gives the last of them, or nothing when there is
nothing. Left out: sessions that compact or branch, and stores where an operation failed, where two
went on in parallel, or that held something before the script began; and all sessions where one is of a
class of the script's own, which may keep its items in another.

Sites: reads and pops of stores of which the whole history was seen.

Not observed: no such read.

From: openai/openai-agents-python#4729.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..models.events import SessionUsed
from ..models.manifest import Finding
from ._evidence import Evidence, View
from ._items import Key, fields_of, items_of, key_of
from ._outcome import Outcome, Scope, make_finding, outcome
from ._sessions import Store, added_by

NAME = "session-is-its-log"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"sessions"})


@dataclass
class _Log:
    """What a store must hold by now."""

    items: list[Key] = field(default_factory=list)
    touched: bool = False


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every store of the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for store in view.stores.all() if not view.stores.opaque else ():
        for finding in _judged(store, view):
            sites += 1
            if finding is not None:
                found.append(finding)
                break
    return outcome(sites=sites, because=found)


def _judged(store: Store, view: View) -> Iterator[Finding | None]:
    """One item for each read and pop; nothing after an operation that failed."""
    log = _Log()
    before: SessionUsed | None = None
    for event in store.used:
        if event.error is not None or "ompact" in event.session_class:
            return
        if before is not None and not view.happens_before(before, event):
            return  # in parallel: which came first is not known
        before = event
        match event.operation:
            case "add_items":
                log.items += [key_of(item) for item in added_by(event)]
            case "clear_session":
                log.items.clear()
            case "pop_item":
                last = log.items.pop() if log.items else None
                popped = key_of(fields_of(event.result)) if event.result is not None else None
                if last is None and popped is not None and not log.touched:
                    return  # it held something before the script began
                yield _difference(event, "popped", last, popped, view)
            case _:
                held = _limited(log.items, event)
                got = [key_of(item) for item in items_of(event.result)]
                if not log.touched and not held and got:
                    return
                yield _difference(event, "read", held, got, view)
        log.touched = True


def _limited(items: list[Key], event: SessionUsed) -> list[Key]:
    if event.limit is None:
        return list(items)
    return items[-event.limit :] if event.limit else []


def _difference(event: SessionUsed, code: str, due: object, got: object, view: View) -> Finding | None:
    if due == got:
        return None
    return make_finding(
        code=code,
        events=view.refs(event),
        subject=event.session,
        before=_shown(due),
        after=_shown(got),
    )


def _shown(part: object) -> object:
    """For a read only the number of items; the events hold them."""
    if isinstance(part, list):
        return len(part)
    return list(part) if isinstance(part, tuple) else None


def explain(finding: Finding) -> str:
    """What was read or popped, and what was due."""
    if finding.code == "read" and finding.before == finding.after:
        return f"reading session {finding.subject} gave {finding.after} items that are not those stored"
    if finding.code == "read":
        return (
            f"reading session {finding.subject} gave {finding.after} items; {finding.before} were stored and "
            "not removed"
        )
    return f"popping from session {finding.subject} gave {finding.after}; due was {finding.before}"
