"""A session holds what was put into it.

Rule: reading a session gives what was added and not popped or cleared since, by all sessions over the same
store; the last ones where a limit was given. `pop_item` gives the last of them, or nothing when there is
nothing. A store in memory begins empty; any other may have been filled before, so until it was read as a
whole or cleared it is only asked for what was added. Left out: sessions that compact or branch, and all of
them from the first compaction on; whatever may change besides the operations that were seen (a time to live,
connections or processes of the script's own over the same file); and stores where an operation failed or
where two went on in parallel; and all sessions where one is of a class of the script's own, which may keep
its items in another.

Sites: reads and pops of stores to which something had been added, or whose contents were known by then.

Not observed: no such read.

From: openai/openai-agents-python#4729.

Shown by: `tests/scripts/cases/upgrade-destroys-history` on 0.24.0.
"""

from collections import Counter
from collections.abc import Iterator

from ...models.events import SessionUsed
from ...models.items import Key, fields_of, items_of, key_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.sessions import Store, added_by

NAME = "session-is-its-log"
VERSION = 2
SCOPE: Scope = "each"
NEEDS = frozenset({"sessions"})


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
    held: list[Key] = []
    known = False  # whether `held` is all that the store holds, not only what was added
    before: SessionUsed | None = None
    for event in store.used:
        if event.error is not None or event.beyond is not None or _may_be_compacted(event, view):
            return
        if before is not None and not view.happens_before(before, event):
            return  # in parallel: which came first is not known
        before = event
        got = [key_of(item) for item in items_of(event.result)]
        match event.operation:
            case "add_items":
                held += [key_of(item) for item in added_by(event)]
                known = known or store.began_empty
            case "clear_session":
                held, known = [], True
            case "pop_item":
                popped = key_of(fields_of(event.result)) if event.result is not None else None
                if known or (popped is None and held):
                    yield _difference(event, "popped", held[-1] if held else None, popped, view)
                if not known and popped in held:
                    held.remove(popped)
                elif known or popped is None:
                    del held[-1:]
                    known = True
            case _ if known:
                yield _difference(event, "read", _limited(held, event), got, view)
            case _ if event.limit is None or len(got) < event.limit:
                if held:
                    yield _difference(
                        event, "read", held, got if Counter(held) - Counter(got) else held, view
                    )
                held, known = got, True


def _may_be_compacted(event: SessionUsed, view: View) -> bool:
    """Whichever session is compacted: the one that it stands before is replaced unseen."""
    first = view.compactions[0].seq if view.compactions else event.seq
    return "ompact" in event.session_class or first < event.seq


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
