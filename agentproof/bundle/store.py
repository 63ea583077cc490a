"""A bundle on disk: a directory or one zip, read within bounds and written whole or not at all.

Rules:
1. Only regular files are read: no symbolic links, devices or pipes (`folder`).
2. Paths are ASCII, relative, without `.` and `..`, and differ in more than case.
3. Count, depth and size are capped before a file is opened; a file is read up to its cap only.
4. A zip is accepted in its canonical bytes (`zip`), and as text (`text`): in a file that is no zip, or from
   the standard input, which is `-`. `issue.md#2` is the second bundle of such a text.
5. A directory is written beside its place and renamed; what was there before stays until then.

Nothing that is read here is believed: `check` does that. A repository store keeps bundles under
`<store>/<case>/<version>/` without their wheels, and each target wheel once under `<store>/wheels/`.
"""

import io
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from ..errors import BundleError, CannotDoError, UsageError
from ..limits import (
    MAX_ATTESTATION_BYTES,
    MAX_ATTESTATIONS,
    MAX_BUNDLE_BYTES,
    MAX_FILES,
    MAX_STATE_BYTES,
    MAX_TEXT_BYTES,
    MAX_WHEEL_BYTES,
)
from ..models.manifest import Manifest
from ..models.trace import Mode, Trace
from ..models.wire import decode
from ..system import temporary
from ..system.files import is_stream, read_bounded, read_stdin, write_atomic
from . import digests, text
from .folder import is_safe_path, read_folder
from .zip import ZIP_END, read_stored, stored_zip, zip_overhead

MANIFEST = "manifest.json"
ATTESTATIONS = "attestations/"
WHEELS = "wheels/"
ZIP_SUFFIX = ".agentproof.zip"
STDIN = Path("-")

_ZIP_SIGN = b"PK\x03\x04"
_TEXTS = frozenset({".md", ".markdown", ".txt", ".eml", ".html"})
"""Of a file that is called so it is said that no bundle is in its text; of others, that they are no zip."""
_NUMBERED = re.compile(r"(.+)#([1-9][0-9]{0,3})")

_SEARCH_DEPTH = 6
# Where a zip that was refused is looked into for a hint: the first names, and those of its directory.
_END_OF_ZIP = 2**16
_INNER_ZIP = re.compile(rb"[A-Za-z0-9_+.,=@()~-]{1,200}" + re.escape(ZIP_SUFFIX).encode())
_INNER_FOLDER = re.compile(
    rb"([A-Za-z0-9_+.,=@()~-][A-Za-z0-9_+.,=@()~/-]{0,200})/" + re.escape(MANIFEST).encode()
)


def _no_wheel(_name: str) -> bytes | None:
    return None


@dataclass(frozen=True)
class Bundle:
    """The bytes of a bundle; nothing of it is believed yet."""

    manifest: bytes
    members: Mapping[str, bytes]
    """By path, without the manifest and the attestations; `wheels/…` where it is attached."""
    attestations: Mapping[str, bytes] = field(default_factory=dict)
    """By file name, without the directory."""
    shelf: Callable[[str], bytes | None] = _no_wheel
    """Gives the bytes of a detached wheel by its file name."""

    @cached_property
    def document(self) -> Manifest:
        """The manifest, parsed once; of a recording that was checked, or made here.

        Raises:
            FormatError: it is none, or not canonical.
        """
        return Manifest.from_bytes(self.manifest)

    @cached_property
    def traces(self) -> dict[Mode, Trace]:
        """The traces by mode, parsed once; of a recording that was checked, or made here."""
        return {each.mode: Trace.from_bytes(self.members[each.trace]) for each in self.document.recordings}

    def state(self, digest: str) -> object:
        """The JSON of a state; of a recording that was checked, or made here."""
        return decode(self.members[f"states/{digest}.json"], limit=MAX_STATE_BYTES)

    def wheel(self, name: str) -> bytes | None:
        """The bytes of `wheels/<name>`, attached or from the store's shelf."""
        attached = self.members.get(WHEELS + name)
        return self.shelf(name) if attached is None else attached


class Shelf:
    """The wheels of a repository store, each read once. They are bytes, not provenance."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[str, bytes | None] = {}

    def __call__(self, name: str) -> bytes | None:
        if name not in self._held:
            if not is_safe_path(name) or "/" in name:
                raise BundleError("unsafe_path", f"{name!r} is no file name of a wheel")
            path = self._directory / name
            try:
                found = path.is_file()
                self._held[name] = read_bounded(path, limit=MAX_WHEEL_BYTES, what="wheel") if found else None
            except UsageError as error:
                # Of the bundles that name it; others are judged all the same.
                raise BundleError("too_large", error.message, path=WHEELS + name) from error
        return self._held[name]


def find_bundles(path: Path) -> list[Path]:
    """The bundles at `path`: itself, or every one below it, sorted.

    Raises:
        UsageError: there is nothing at `path`, or no bundle.
    """
    check_exists(path)
    if not path.is_dir():
        return _bundles_in(path)
    if _looks_like_bundle(path):
        return [path]
    found = sorted(_search(path, _SEARCH_DEPTH))
    if not found:
        raise UsageError(
            f"{path}: no bundle here (no manifest.json, no *{ZIP_SUFFIX})",
            hint="`agentproof record SCRIPT` makes one",
        )
    return found


def check_exists(path: Path) -> None:
    """Whether there is anything to read at `path`.

    Raises:
        UsageError: there is not.
    """
    path, _ = _split(path)
    if path == STDIN:
        return
    try:
        found = path.exists()
    except OSError as error:
        raise UsageError(f"{str(path)[:200]}: {error.strerror}") from error
    if not found:
        raise UsageError(f"{path}: no such file or directory")


def _looks_like_bundle(path: Path) -> bool:
    # A directory that lost its manifest is a damaged bundle, not a folder to search.
    return (path / MANIFEST).exists() or ((path / "traces").is_dir() and (path / "attestations").is_dir())


def _search(path: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(path) as found:
            entries = list(found)
    except OSError as error:
        raise CannotDoError(f"{path}: {error.strerror}") from error
    for entry in entries:
        if entry.name.endswith(ZIP_SUFFIX) and entry.is_file():
            yield Path(entry.path)
        elif entry.is_dir(follow_symlinks=False):
            below = Path(entry.path)
            if _looks_like_bundle(below):
                yield below
            elif depth and not entry.name.startswith("."):
                yield from _search(below, depth - 1)


def shelf_of(path: Path) -> Path | None:
    """The `wheels/` of the repository store that holds the bundle at `path`, if there is one."""
    wheels = path.absolute().parent.parent / "wheels"
    return wheels if wheels.is_dir() else None


def read_bundle(path: Path, *, wheels: Path | Shelf | None = None) -> Bundle:
    """Read the bundle at `path`; `wheels` is where detached wheels are, else the store's own place.

    Raises:
        BundleError: damaged or hostile: links, unsafe names, over a cap, a zip in another form.
        UsageError: there is nothing at `path`.
    """
    check_exists(path)
    try:
        if path.is_dir():
            files = dict(read_folder(path))
            at = wheels or shelf_of(path)
        else:
            files = _read_file(path)
            at = wheels
        return _bundle(files, shelf=Shelf(at) if isinstance(at, Path) else at)
    except BundleError as error:
        error.place = str(path)
        raise


def holds_another(path: Path, identity: str) -> bool:
    """Whether something lies at `path` that is not the bundle of that id."""
    if is_stream(path) or not path.exists():
        return False
    try:
        return bundle_id(read_bundle(path)) != identity
    except BundleError:
        return True


def from_zip_bytes(data: bytes) -> Bundle:
    """The bundle in a zip held in memory; raises as `read_bundle` does."""
    if len(data) > MAX_BUNDLE_BYTES:
        raise BundleError("too_large", f"{len(data)} bytes are over the limit of {MAX_BUNDLE_BYTES}")
    return _bundle(dict(read_stored(io.BytesIO(data))), shelf=None)


def _split(path: Path) -> tuple[Path, int | None]:
    """A file, and which of the bundles in its text is meant, where that is said (`issue.md#2`)."""
    match = _NUMBERED.fullmatch(path.name)
    if match is None or os.path.lexists(path):
        return path, None
    return path.with_name(match[1]), int(match[2])


def is_text(path: Path) -> bool:
    """Whether what lies there, or comes from the standard input, holds bundles as text.

    Raises:
        UsageError: by its name it does, and there is none in it.
        CannotDoError: the operating system refuses to read it.
    """
    file, number = _split(path)
    return number is not None or (not file.is_dir() and not _is_zip(file) and bool(_blocks_in(file)))


def name_of(path: Path, bundle: Bundle) -> str:
    """What a copy of the bundle that was read at `path` is called, without a suffix."""
    file, number = _split(path)
    if file == STDIN:
        return f"bundle-{bundle_id(bundle)[:8]}"
    stem = file.absolute().name.removesuffix(ZIP_SUFFIX).removesuffix(".zip")
    if not file.is_dir() and file.suffix.lower() in _TEXTS:
        stem = file.stem
    return f"{stem}-{number}" if number is not None else stem


def _is_zip(file: Path) -> bool:
    if file == STDIN:
        return read_stdin(MAX_TEXT_BYTES).startswith(_ZIP_SIGN)
    try:
        with open(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            # What is no regular file, or too large, is told by whoever reads the zip.
            about = os.fstat(stream.fileno())
            is_file = stat.S_ISREG(about.st_mode) and about.st_size <= MAX_TEXT_BYTES
            return not is_file or stream.read(len(_ZIP_SIGN)) == _ZIP_SIGN
    except OSError as error:
        raise CannotDoError(f"{file}: {error.strerror}") from error


def _bundles_in(path: Path) -> list[Path]:
    """The bundle that a file is, or those that its text holds."""
    file, number = _split(path)
    if number is not None or _is_zip(file):
        return [path]
    blocks = _blocks_in(file)
    if len(blocks) < 2:
        return [path]
    return [file.with_name(f"{file.name}#{block.number}") for block in blocks]


def _blocks_in(file: Path) -> list[text.Block]:
    """The bundles in a text.

    Raises:
        UsageError: it is one to read by its name, and there is none in it.
        BundleError: there are too many in it.
    """
    is_said = file == STDIN or file.suffix.lower() in _TEXTS
    if not is_said and not _has_mark(file):
        return []
    data = (
        read_stdin(MAX_TEXT_BYTES) if file == STDIN else read_bounded(file, limit=MAX_TEXT_BYTES, what="text")
    )
    letters = text.decoded(data)
    blocks = text.find_blocks(letters)
    if not blocks and is_said:
        what = "the standard input" if file == STDIN else str(file)
        raise UsageError(f"{what}: no bundle in this text", hint=text.why_none(letters))
    return blocks


def _has_mark(file: Path) -> bool:
    """Whether a block can be in a file. It may be large and mean harm, so it is read piece by piece."""
    with file.open("rb") as stream:
        before = b""
        while piece := stream.read(2**16):
            if (not before and piece.startswith(text.UTF_16)) or text.NAME in before + piece:
                return True
            before = piece[-len(text.NAME) :]
    return False


def _read_file(path: Path) -> dict[str, bytes]:
    """The files of the bundle that a zip is, or that is in a text."""
    file, number = _split(path)
    if number is None and _is_zip(file):
        return dict(read_stored(io.BytesIO(read_stdin(MAX_TEXT_BYTES)))) if file == STDIN else _read_zip(file)
    blocks = _blocks_in(file)
    if not blocks:
        return _read_zip(file)  # which says what it is instead
    if number is None and len(blocks) > 1:
        raise BundleError("too_many", f"a text of {len(blocks)} bundles", hint=f"name one, such as {file}#1")
    if number is not None and not 0 < number <= len(blocks):
        raise UsageError(f"{path}: {file} holds {len(blocks)} of them")
    return files_in(blocks[(number or 1) - 1])


def files_in(block: text.Block) -> dict[str, bytes]:
    """The files of the bundle in a block, whose id is the one that the block names.

    Raises:
        BundleError: the block is not whole, or holds something else.
    """
    data, named = text.zip_in(block)
    files = dict(read_stored(io.BytesIO(data)))
    held = sha256(files.get(MANIFEST, b""))
    if held != named:
        raise BundleError(
            "other_bytes",
            f"{block.name}: it names bundle sha256:{short(named)} and holds sha256:{short(held)}",
        )
    return files


def _read_zip(path: Path) -> dict[str, bytes]:
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            about = os.fstat(stream.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise BundleError("not_a_file", "neither a directory nor a regular file")
            if about.st_size > MAX_BUNDLE_BYTES:
                raise BundleError(
                    "too_large", f"{about.st_size} bytes are over the limit of {MAX_BUNDLE_BYTES}"
                )
            try:
                return dict(read_stored(stream))
            except BundleError as error:
                error.hint = _seen_in_zip(stream) or error.hint
                raise
    except OSError as error:
        raise CannotDoError(f"{path}: {error.strerror}") from error


def _seen_in_zip(stream: BinaryIO) -> str | None:
    """What to do with a zip that was refused, by the names that stand near its two ends."""
    stream.seek(0)
    ends = stream.read(_END_OF_ZIP)
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - _END_OF_ZIP))
    ends += stream.read(_END_OF_ZIP)
    if (inner := _INNER_ZIP.search(ends)) is not None:
        return f"it holds {inner[0].decode('ascii')}: unpack it and check that"
    if (folder := _INNER_FOLDER.search(ends)) is not None:
        return f"it holds the folder of a bundle: unpack it and check {folder[1].decode('ascii')}"
    return None if MANIFEST.encode() in ends else "this is another kind of file, no agentproof bundle"


def _bundle(files: dict[str, bytes], *, shelf: Callable[[str], bytes | None] | None) -> Bundle:
    seen: dict[str, str] = {}
    members: dict[str, bytes] = {}
    attestations: dict[str, bytes] = {}
    for path, data in files.items():
        if not is_safe_path(path):
            raise BundleError("unsafe_path", f"{path!r} is no path of a bundle")
        # Every prefix counts, so that `A/x` beside `a/y` and `a` beside `a/y` are collisions too.
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            prefix = "/".join(parts[:end])
            kind = "file " if end == len(parts) else "directory "
            if seen.setdefault(prefix.lower(), kind + prefix) != kind + prefix:
                raise BundleError(
                    "colliding_paths", f"{path!r} collides with {seen[prefix.lower()].partition(' ')[2]!r}"
                )
        if path.startswith(ATTESTATIONS):
            if len(data) > MAX_ATTESTATION_BYTES:
                raise BundleError(
                    "too_large", f"{len(data)} bytes are over the limit of {MAX_ATTESTATION_BYTES}", path=path
                )
            attestations[path.removeprefix(ATTESTATIONS)] = data
        elif path != MANIFEST:
            members[path] = data
    if len(attestations) > MAX_ATTESTATIONS:
        raise BundleError(
            "too_many", f"{len(attestations)} attestations are over the limit of {MAX_ATTESTATIONS}"
        )
    if MANIFEST not in files:
        raise _no_manifest(files)
    return Bundle(files[MANIFEST], members, attestations, shelf or _no_wheel)


def _no_manifest(files: Mapping[str, bytes]) -> BundleError:
    inner = [path for path in files if path.endswith((ZIP_SUFFIX, f"/{MANIFEST}"))]
    hint = f"it holds {inner[0]}: unpack it and check that" if inner else None
    return BundleError("no_manifest", f"no {MANIFEST}", hint=hint)


def zip_bytes(bundle: Bundle) -> bytes:
    """The bundle as its one zip, with the wheel where it is attached.

    Raises:
        CannotDoError: a reader would refuse it.
    """
    check_limits(bundle)
    return stored_zip(files_of(bundle))


def as_text(bundle: Bundle) -> str:
    """The bundle as a block of text, without its target's wheel, whose digest it has.

    Raises:
        CannotDoError: a reader would refuse it, or this Python has no lzma.
    """
    return text.text_of(zip_bytes(bundle), bundle_id=bundle_id(bundle))


def check_limits(bundle: Bundle) -> None:
    """Apply to what is to be written what a reader applies to what it reads: names, numbers and sizes.

    Raises:
        CannotDoError: a reader would refuse it; the file, its size and the limit are named.
    """
    files = dict(files_of(bundle))
    try:
        _bundle(files, shelf=None)
    except BundleError as error:
        raise refused(error) from error
    sizes = {path: len(data) for path, data in files.items()}
    largest = max(sizes, key=sizes.__getitem__)
    total = sum(sizes.values()) + sum(zip_overhead(path) for path in files) + ZIP_END
    if len(files) > MAX_FILES:
        raise refused(BundleError("too_many", f"{len(files)} files are over the limit of {MAX_FILES}"))
    if total > MAX_BUNDLE_BYTES:
        text = (
            f"as a zip it has {total} bytes, over the limit of {MAX_BUNDLE_BYTES}; the largest file is "
            f"{largest} with {sizes[largest]}"
        )
        raise refused(BundleError("too_large", text), thin=largest.startswith(WHEELS))


_SMALLER: Mapping[str, str] = {
    "too_large": "let the script print less, or make fewer and smaller states",
    "too_many": "let the script do less: a reproduction is short",
    "too_parallel": "let the script do less at the same time: a reproduction is short",
    "too_deep": "let the script nest less",
    "unsafe_path": "rename the file: a bundle's names are ASCII, at most 240 letters and 8 directories deep",
    "colliding_paths": "rename one of them: on some systems they are one file",
}


def is_limit(reason: str) -> bool:
    """Whether a reader refuses a bundle for this reason because of what was recorded, not of how."""
    return reason in _SMALLER


def refused(error: BundleError, *, thin: bool = False) -> CannotDoError:
    """The error for a recording that a reader would refuse for a limit."""
    hint = "--thin leaves the wheel out of the zip" if thin else _SMALLER[error.reason]
    return CannotDoError(f"no bundle can hold this recording: {error.message}", hint=hint)


def bundle_id(bundle: Bundle) -> str:
    """The SHA-256 of the manifest."""
    return sha256(bundle.manifest)


def sha256(data: bytes) -> str:
    """The SHA-256 in hexadecimal."""
    return digests.sha256(data)


def short(digest: str) -> str:
    """A digest for people: its two ends."""
    return f"{digest[:8]}…{digest[-4:]}"


def files_of(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    yield MANIFEST, bundle.manifest
    yield from bundle.members.items()
    for name, data in bundle.attestations.items():
        yield ATTESTATIONS + name, data


def without_wheel(bundle: Bundle) -> Bundle:
    """The bundle thin: its id is the same, whoever checks it brings the target wheel."""
    members = {path: data for path, data in bundle.members.items() if not path.startswith(WHEELS)}
    return Bundle(bundle.manifest, members, bundle.attestations)


def without_target_wheel(bundle: Bundle) -> Bundle:
    """The bundle without its target's wheel, but with those of the reporter's own, which no index has."""
    own = WHEELS + bundle.document.target.wheel
    members = {path: data for path, data in bundle.members.items() if path != own}
    return Bundle(bundle.manifest, members, bundle.attestations)


def write_bundle(bundle: Bundle, path: Path, *, wheels: Path | None = None, replace: bool = False) -> None:
    """Write the bundle to `path`, as a zip where it is named so, else as a directory; whole or not at all.

    With `wheels` (a repository store's) the wheel goes there instead of into the bundle. The same
    recording (equal manifest) is written again freely and keeps the attestations that are there;
    another one only with `replace`, and something that is no bundle never.

    Raises:
        CannotDoError: the place is taken or cannot be written; nothing is left behind.
    """
    temporary.sweep([path.parent])
    held = _held(path, bundle, replace=replace)
    detached = {} if wheels is None else _detached(bundle)
    kept = {name: data for name, data in bundle.members.items() if name not in detached}
    whole = Bundle(bundle.manifest, kept, {**held, **bundle.attestations})
    check_limits(whole)
    for name, data in detached.items():
        _put_on_shelf(Path(wheels or "") / name.removeprefix(WHEELS), data)
    if path.name.endswith(".zip"):
        write_atomic(path, zip_bytes(whole))
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.replacement(path) as new:
            for relative, data in files_of(whole):
                place = new / relative
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
    except OSError as error:
        raise CannotDoError(
            f"cannot write {path}: {error.strerror}", hint="choose another place with --output"
        ) from error


def _detached(bundle: Bundle) -> dict[str, bytes]:
    return {path: data for path, data in bundle.members.items() if path.startswith(WHEELS)}


def _put_on_shelf(path: Path, data: bytes) -> None:
    if not path.exists():
        write_atomic(path, data)
    elif read_bounded(path, limit=MAX_WHEEL_BYTES, what="wheel") != data:
        raise CannotDoError(
            f"{path} holds other bytes than the recorded wheel", hint="move it away, or use --output"
        )


def _held(path: Path, bundle: Bundle, *, replace: bool) -> Mapping[str, bytes]:
    """The attestations to keep from the same recording at `path`."""
    if not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir())):
        return {}
    is_bundle = path.is_file() if path.name.endswith(".zip") else (path / MANIFEST).is_file()
    if path.is_symlink() or not is_bundle:
        raise CannotDoError(f"{path} exists and is no bundle", hint="choose another place with --output")
    try:
        there = read_bundle(path)
    except BundleError as error:
        if replace:
            return {}
        raise CannotDoError(
            f"{path} holds a damaged bundle ({error})", hint="--replace writes over it"
        ) from error
    if there.manifest == bundle.manifest:
        return there.attestations
    if not replace:
        raise CannotDoError(
            f"{path} holds another bundle", hint="--replace writes over it, --output goes elsewhere"
        )
    return {}
