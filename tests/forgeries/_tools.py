"""Forgeries by hand: what is forged, and how it is noticed without any trust."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from agentproof.bundle.store import Bundle
from tests import forge
from tests.forge import Draft, Shape

ORIGINAL = forge.draft().seal()
OTHER = forge.draft(holds=True).seal()

Forger = Callable[[Draft], object]


@dataclass(frozen=True)
class Forgery:
    """One thing that is forged, and how it is noticed without any trust."""

    name: str
    make: Forger
    noticed: str | None
    """The reason code, or None where it ends as INTACT."""


def assign(path: str, value: object) -> Forger:
    """Set one field of the manifest, by its dotted path."""

    def make(draft: Draft) -> None:
        *parents, last = path.split(".")
        place: Any = draft.manifest
        for part in parents:
            place = place[int(part)] if part.isdecimal() else place[part]
        if isinstance(place, list):
            place[int(last)] = value
        else:
            place[last] = value

    return make


def target(**changes: object) -> Forger:
    """Change the target and the locked package alike."""

    def make(draft: Draft) -> None:
        draft.manifest["target"].update(changes)
        draft.manifest["environment"]["packages"][1].update(changes)

    return make


def on_bundle(change: Callable[[Bundle], Bundle]) -> Forger:
    """Work on the sealed original instead of a draft."""

    return lambda _draft: change(ORIGINAL)


def reseal(bundle: Bundle, change: Callable[[Draft], object]) -> Bundle:
    """Change the manifest alone; members stay as they were."""
    draft = forge.draft()
    change(draft)
    return draft.seal(forge.STRANGER, members=dict(bundle.members))


def member(path: str, data: bytes) -> Forger:
    """Add a member, which the manifest lists."""

    return lambda draft: draft.extra.update({path: data})


def members(**changes: bytes | None) -> Callable[[Bundle], Bundle]:
    """Exchange files and leave the manifest as it is; None removes one."""

    def change(bundle: Bundle) -> Bundle:
        members = {path: data for path, data in bundle.members.items() if changes.get(path, b"") is not None}
        members.update({path: data for path, data in changes.items() if data is not None})
        return replace(bundle, members=members)

    return change


def claims(change: Callable[[list[Shape]], object]) -> Forger:
    """Change the manifest's claims."""

    return lambda draft: change(draft.manifest["judgement"]["claims"])


def event(
    kind: str, nth: int = 0, *, modes: tuple[str, ...] = ("as-written", "streamed"), **changes: object
) -> Forger:
    """Change an event, and judge again."""

    def make(draft: Draft) -> None:
        for mode in modes:
            draft.event(kind, mode=mode, nth=nth).update(changes)
        draft.judged()

    return make


def events(change: Callable[[list[Shape]], object], *, judged: bool = True) -> Forger:
    """Change the list of events in both modes, number them again, and judge again."""

    def make(draft: Draft) -> None:
        for trace in draft.traces.values():
            change(trace["events"])
            for seq, event in enumerate(trace["events"], start=1):
                event["seq"] = seq
        if judged:
            draft.judged()

    return make


def drop(kind: str) -> Forger:
    """Remove the first event of a kind in both modes, and judge again."""

    return events(lambda events: events.remove(next(each for each in events if each["kind"] == kind)))
