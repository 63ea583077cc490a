"""Git's names for contents, recomputed from the contents themselves: blobs and trees.

Pure: a mapping path → blob comes in, from whatever read it. A blob id names bytes, a tree id names
modes, names and blobs; neither is believed, both are recomputed by their definition
(git-scm.com/docs/git-hash-object, Documentation/gitformat-pack.txt).
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

FILE: Final = "100644"
EXECUTABLE: Final = "100755"
LINK: Final = "120000"
SUBMODULE: Final = "160000"

_DIRECTORY: Final = "40000"


@dataclass(frozen=True)
class Blob:
    """A file of a tree."""

    mode: str
    """Git's octal mode: `100644`, `100755`, `120000` (link) or `160000` (a submodule's commit)."""
    id: str
    """SHA-1 in most repositories, SHA-256 in newer ones."""


def object_id(kind: str, data: bytes, *, like: str) -> str:
    """Git's id for an object, with the hash that an id of the length of `like` is made with."""
    make: Callable[..., hashlib._Hash] = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    # SHA-1 names objects here as git does; no verdict rests on it, the wheel is pinned by SHA-256.
    return make(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()


def tree_id(files: Mapping[str, Blob], *, like: str) -> str:
    """The id of the tree that holds exactly these files."""
    children: dict[str, dict[str, Blob]] = {}
    entries: list[tuple[bytes, bytes]] = []
    for path, blob in files.items():
        head, slash, rest = path.partition("/")
        if slash:
            children.setdefault(head, {})[rest] = blob
        else:
            entries.append((_bytes(path), f"{blob.mode} {path}".encode("utf-8", "surrogateescape")))
    lines = [(name, line, files[name.decode("utf-8", "surrogateescape")].id) for name, line in entries]
    for name, inner in children.items():
        # Git sorts a directory as if its name ended in a slash.
        line = f"{_DIRECTORY} {name}".encode("utf-8", "surrogateescape")
        lines.append((_bytes(name) + b"/", line, tree_id(inner, like=like)))
    data = b"".join(line + b"\0" + bytes.fromhex(identity) for _, line, identity in sorted(lines))
    return object_id("tree", data, like=like)


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
