"""The directory of one run: made in memory, private, gone at the end, swept when a run was killed.

    <base>/alive               locked as long as the run lasts
    <base>/outside             what the self-test must not be able to open
    <base>/root/               read-only copy of the reproduction
    <base>/<k>/control/        between runner and recorder, one per process that is started
    <base>/<k>/work/<mode>/    the script's working directory: copies of what lies beside it, no Python
    <base>/<k>/home/  tmp/

The script's user can write below `<k>`, so nothing there is followed or believed for its name alone.
"""

import contextlib
import os
import signal
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from ..errors import CannotDoError, RecorderError, UsageError
from ..system import temporary
from .imports import imported_files

_WHAT: Final = "run"
_PREFIX: Final = "agentproof-tmp-run-"  # as system/temporary.py spells it
_ROOM: Final = 2**30
"""What two repeats may come to (`Limits.disk_bytes`)."""

MAX_ROOT_BYTES: Final = 16 * 2**20
MAX_ROOT_FILES: Final = 2000
_LEFT_OUT_DIRECTORIES = frozenset({"__pycache__", "node_modules"})
_LEFT_OUT_ENDINGS = (".whl", ".zip", ".pyc", ".tar.gz")
_KEPT_HIDDEN = frozenset({".pytest.ini", ".pytest.toml"})
_PYTEST_FILES = ("pytest.toml", "pytest.ini", *sorted(_KEPT_HIDDEN), "tox.ini", "setup.cfg")


@contextmanager
def run_directory() -> Iterator[Path]:
    """A new base directory, in memory where there is such a place; what killed runs left goes first.

    Raises:
        CannotDoError: no directory can be made.
    """
    sweep()
    # Another user (the dropped one) passes through; nobody else can list it.
    with temporary.directory(_WHAT, parent=_places()[0], mode=0o711) as base:
        yield base


def _places() -> tuple[Path, ...]:
    return temporary.places(room=_ROOM)


def sweep() -> int:
    """End the processes of killed runs and remove their directories; how many directories.

    Below a PID namespace no process outlives its launcher; without one the script's children do
    where both the runner and the launcher were killed.
    """
    for each in [each for place in _places() for each in place.glob(f"{_PREFIX}*-*")]:
        process = each.name.removeprefix(_PREFIX).partition("-")[0]
        if process.isdigit() and not os.path.isdir(f"/proc/{process}"):
            end_processes(str(each))
    return temporary.sweep(_places())


def end_processes(base: str) -> None:
    """Kill processes whose HOME lies in `base` until none is left (5 s at most)."""
    mark = b"HOME=" + os.fsencode(base) + b"/"
    for _ in range(500):
        found = [process for process in _processes() if _has_variable(process, mark)]
        if not found:
            return
        for process in found:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []  # no Linux


def _has_variable(process: int, mark: bytes) -> bool:
    try:
        environment = Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return False
    return environment.startswith(mark) or b"\0" + mark in environment


def read_reproduction_files(
    source: Path, entry: str, *, tests: Sequence[str] = ()
) -> tuple[dict[str, bytes], bool]:
    """The files that a script would find beside it, by their path; and whether all but it are left out.

    Left out: names that begin with a dot, caches, environments, bundles, wheels and archives, and
    links that lead outside. A directory over the caps is no reproduction's own (a home, a download
    folder): then it is read as by `read_imported_files`; of a project with tests, the folders at its top that
    hold these tests, and the files beside them.

    Raises:
        UsageError: there is no such script.
    """
    try:
        content = (source / entry).read_bytes()
    except OSError as error:
        raise UsageError(f"reproduction {source / entry}: {error.strerror}") from error
    try:
        return {**_read_all(source), entry: content}, False
    except _TooLargeError:
        if not tests:
            return read_imported_files(source, entry), True
    tops = frozenset(test.partition("::")[0].partition("/")[0] for test in tests)
    try:
        return {**_read_all(source, tops=tops), entry: content}, True
    except _TooLargeError as error:
        raise CannotDoError(
            f"{', '.join(sorted(tops))} in {source} is over {MAX_ROOT_FILES} files or "
            f"{MAX_ROOT_BYTES // 2**20} MB",
            hint="copy the tests that you want to record, with what they use, into a folder of their own",
        ) from error


def read_imported_files(
    source: Path, entry: str, *, tests: Sequence[str] = (), added: Sequence[Path] = ()
) -> dict[str, bytes]:
    """The script (or the files of its tests), the modules beside it that it imports, and what is in `added`.

    Tests bring pytest's own files along: its configuration at the top, and each `conftest.py` on the way.
    A folder in `added` is read as by `read_reproduction_files`.

    Raises:
        UsageError: there is no such file, or one of `added` lies elsewhere.
        CannotDoError: they are over the caps.
    """
    root = source.resolve()
    entries = dict.fromkeys([entry, *(test.partition("::")[0] for test in tests)])
    folders = {str(PurePosixPath(each).parent) for each in entries} if tests else set()
    found = {name: root / name for name in entries}
    if tests:
        above = {str(each) for folder in folders for each in (folder, *PurePosixPath(folder).parents)}
        own = [*_PYTEST_FILES, *(str(PurePosixPath(folder, "conftest.py")) for folder in sorted(above))]
        found |= {name: root / name for name in own if (root / name).is_file()}
    found |= dict(imported_files(root, list(found), search=("", *sorted(folders - {"."}))))
    for path in added:
        found |= dict(_added(root, path))
    files: dict[str, bytes] = {}
    left = MAX_ROOT_BYTES
    for name, path in found.items():
        try:
            if name == entry:
                files[name] = path.read_bytes()
                continue
            with path.open("rb") as stream:
                files[name] = stream.read(left + 1)
        except OSError as error:
            raise UsageError(f"reproduction {path}: {error.strerror}") from error
        left -= len(files[name])
        if left < 0 or len(files) > MAX_ROOT_FILES:
            raise CannotDoError(
                f"what belongs to {source / entry} is over {MAX_ROOT_FILES} files or "
                f"{MAX_ROOT_BYTES // 2**20} MB",
                hint="make the data smaller, or copy what is needed into a folder of its own",
            )
    return files


def _added(root: Path, path: Path) -> Iterator[tuple[str, Path]]:
    """The files of what was added by hand, by their path below `root`."""
    place = Path(os.path.realpath(path))
    if not place.is_relative_to(root):
        raise UsageError(
            f"--file {path}: that is not below {root}, where the script is",
            hint="--root DIR names a folder that holds both",
        )
    name = place.relative_to(root)
    if os.path.isdir(place):
        try:
            yield from (((name / below).as_posix(), file) for below, file in _files_below(place))
        except _TooLargeError as error:
            raise CannotDoError(f"--file {path}: more than {20 * MAX_ROOT_FILES} files") from error
    elif os.path.isfile(place):
        yield name.as_posix(), place
    else:
        raise UsageError(f"--file {path}: no such file")


def copy_reproduction(files: Mapping[str, bytes], target: Path) -> None:
    """Write the reproduction's files below `target`, so that nobody can change them.

    Raises:
        CannotDoError: the copy cannot be written.
    """
    try:
        for name, data in files.items():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            place.chmod(0o444)
        for directory, _, _ in os.walk(target, topdown=False):
            os.chmod(directory, 0o555)  # noqa: S103  (another user reads it; nobody writes it)
    except OSError as error:
        raise CannotDoError(f"the reproduction cannot be copied to {target}: {error.strerror}") from error


def copy_data(files: Mapping[str, bytes], target: Path, *, user: int | None) -> None:
    """Write what is no Python into a working directory, for the script to read and to change as its own.

    Code stays where it is: what runs from elsewhere would not be known as the reproduction's.

    Raises:
        CannotDoError: there is no room.
    """
    try:
        for name, data in files.items():
            # The recorder makes `tmp`.
            if name.endswith((".py", ".pyi")) or name.split("/")[0] == "tmp":
                continue
            place = target / name
            made = [each for each in place.parents if not each.exists()]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            if user is not None:
                for each in (place, *made):
                    os.chown(each, user, user)
    except OSError as error:
        raise CannotDoError(f"the reproduction cannot be copied to {target}: {error.strerror}") from error


class _TooLargeError(Exception):
    """A directory over the caps."""


def _read_all(source: Path, *, tops: frozenset[str] | None = None) -> dict[str, bytes]:
    """Every file; with `tops`, of the directories at the top these alone."""
    files: dict[str, bytes] = {}
    size = 0
    for name, path in _files_below(source, tops=tops):
        try:
            size += path.stat().st_size
            if size > MAX_ROOT_BYTES or len(files) >= MAX_ROOT_FILES:
                raise _TooLargeError
            files[name] = path.read_bytes()
        except OSError:
            continue  # unreadable, or just removed: the script cannot have it either
    return files


def _files_below(source: Path, *, tops: frozenset[str] | None = None) -> Iterator[tuple[str, Path]]:
    """Every regular file of the reproduction, sorted, by its path below `source`."""
    root = source.resolve()
    queue = [""]
    seen = 0
    while queue:
        below = queue.pop(0)
        try:
            entries = sorted(os.scandir(root / below), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > 20 * MAX_ROOT_FILES:
                raise _TooLargeError
            name = f"{below}/{entry.name}" if below else entry.name
            if not name.isprintable() or (entry.name.startswith(".") and entry.name not in _KEPT_HIDDEN):
                continue
            path = Path(entry.path)
            if entry.is_symlink():
                path = path.resolve()
                if not path.is_relative_to(root) or not path.is_file():
                    continue
            if path.is_dir():
                if tops is not None and not below and entry.name not in tops:
                    continue
                if entry.name not in _LEFT_OUT_DIRECTORIES and not _is_left_out(path):
                    queue.append(name)
            elif path.is_file() and not entry.name.endswith(_LEFT_OUT_ENDINGS):
                yield name, path


def _is_left_out(directory: Path) -> bool:
    """A bundle, or a virtual environment."""
    return ((directory / "manifest.json").is_file() and (directory / "traces").is_dir()) or (
        directory / "pyvenv.cfg"
    ).is_file()


def read_member(directory: Path, name: str, *, limit: int) -> tuple[bytes, int] | None:
    """Up to `limit` bytes of a file that the script's processes wrote, and its whole size; None if absent.

    Links are not followed, whoever placed them: the script's user may write here, and this process
    may read more than that user.

    Raises:
        RecorderError: something else than a plain file is there.
    """
    path = directory / name
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecorderError(f"{name} in the control directory is not a file of the recorder's") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise RecorderError(f"{name} in the control directory is not a file of the recorder's")
        pieces = []
        while limit > 0 and (piece := os.read(descriptor, min(limit, 2**20))):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces), status.st_size
    finally:
        os.close(descriptor)


def disk_use(directory: Path, *, limit: int) -> int:
    """Bytes below `directory`, counted until they are more than `limit`; a file counts 4 KiB at least."""
    total = 0
    queue = [str(directory)]
    while queue and total <= limit:
        with contextlib.suppress(OSError), os.scandir(queue.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
                        total += 4096
                    else:
                        total += max(4096, entry.stat(follow_symlinks=False).st_blocks * 512)
    return total
