"""Recordings of one reproduction belong together, whichever files they come from."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..models.comparison import Row
from ..models.exchanges import EXCHANGES
from ..models.manifest import Manifest
from .story import Story


@dataclass(frozen=True)
class Attachment:
    """A recording, and the name of the file that holds it."""

    story: Story
    file: str


@dataclass(frozen=True)
class Group:
    """One reproduction: its recordings, what the others are compared with first."""

    name: str
    recordings: tuple[Attachment, ...]
    row: Row | None = None
    """What a comparison says of it; its cells stand for targets that could not be recorded too."""

    @property
    def stories(self) -> tuple[Story, ...]:
        return tuple(each.story for each in self.recordings)


def grouped(recordings: Iterable[Attachment]) -> list[Group]:
    """Recordings of the same files, started the same way, as one group, in the order given."""
    found: dict[str, list[Attachment]] = {}
    for each in recordings:
        found.setdefault(reproduction_key(each.story.manifest), []).append(each)
    return [Group(_name(group[0].file), tuple(group)) for group in found.values()]


def reproduction_key(manifest: Manifest) -> str:
    """What makes two recordings ones of the same reproduction: its files by content, arguments, tests, and
    what its model was answered."""
    digests = {member.path: member.sha256 for member in manifest.members}
    reproduction = manifest.reproduction
    files = [(path, digests[path]) for path in reproduction.files]
    answered = digests.get(EXCHANGES)
    return repr([reproduction.entry, reproduction.arguments, reproduction.tests, files, answered])


def _name(file: str) -> str:
    return file.removesuffix(".zip").removesuffix(".agentproof")
