"""Run uv: with the user's index, with a cache of its own, and with no setting that changes what it does.

Rules:
1. uv reads none of its files, and of its variables only those about reaching an index (`index`).
2. It works in an empty directory, where also its temporary files go, and ends when this process does.
3. Its cache is used by no other tool. Where that cannot be written, uv goes on without one.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Final

from ..errors import CannotDoError
from ..system import temporary
from ..system.children import dying_with_us
from ..system.remove import remove_tree
from .index import without_credentials

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOCK: Final = ".lock"
_KEEPS: Final = re.compile(
    r"UV_(?:INDEX_\w+_(?:USERNAME|PASSWORD)|HTTP_TIMEOUT|HTTP_CONNECT_TIMEOUT|REQUEST_TIMEOUT|HTTP_RETRIES"
    r"|NO_NETRC|CREDENTIALS_DIR|CONCURRENT_DOWNLOADS|OFFLINE)"
)
"""uv's settings about reaching an index; where it is comes from `index_settings`, all else is dropped."""

_DROPPED: Final = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "CLICOLOR_FORCE",
)
NOT_WRITABLE: Final = re.compile(
    r"No space left on device|[Qq]uota exceeded|Read-only file system|Permission denied"
)
"""What uv says where the place for its files is full or closed."""


@dataclass(frozen=True)
class UvResult:
    """What one call of uv came to."""

    returncode: int
    stdout: str
    stderr: str
    """Without credentials."""


def run_uv(
    arguments: Sequence[str],
    *,
    stdin: str = "",
    files: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    cache: Path | None = None,
    seconds: float = 600,
) -> UvResult:
    """Run uv in an empty directory that holds only `files`; `cache` is where agentproof's caches lie.

    Raises:
        CannotDoError: uv is not there, or does not end in time.
    """
    place = cache_directory(cache)
    kept = {"UV_CACHE_DIR": str(place)} if place is not None else {"UV_NO_CACHE": "1"}
    done = _run(arguments, stdin, files or {}, {**(environment or {}), **kept}, seconds)
    if done.returncode != 0 and place is not None and NOT_WRITABLE.search(done.stderr):
        without = {**(environment or {}), "UV_NO_CACHE": "1"}
        done = _run(arguments, stdin, files or {}, without, seconds)
    return done


def cache_directory(cache: Path | None) -> Path | None:
    """uv's own place below agentproof's caches; None where that cannot be written."""
    if cache is None:
        return None
    place = cache / "uv"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return place if os.access(place, os.W_OK) else None


def sweep_cache(cache: Path) -> int:
    """Remove what killed uvs left half made in their cache, unless another one works there; how many."""
    place = cache / "uv"
    if fcntl is None:
        return 0
    count = 0
    with contextlib.suppress(OSError), (place / _LOCK).open("rb") as lock:
        # Every uv that uses the cache holds this lock, shared.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in list(_half_made(str(place), depth=2)):
            if os.path.isdir(path) and not os.path.islink(path):
                remove_tree(path)
            else:
                os.unlink(path)
            count += 1
    return count


def _half_made(directory: str, *, depth: int) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(".tmp"):
                yield entry.path
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _half_made(entry.path, depth=depth - 1)


def _run(
    arguments: Sequence[str],
    stdin: str,
    files: Mapping[str, str],
    environment: Mapping[str, str],
    seconds: float,
) -> UvResult:
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and (not name.startswith("UV_") or _KEEPS.fullmatch(name))
    }
    variables |= {"UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
    variables |= environment
    with temporary.directory("uv") as nowhere:
        # What uv leaves there when it is killed goes with the directory.
        variables |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(nowhere))
        try:
            for name, text in files.items():
                nowhere.joinpath(name).write_text(text, "utf-8")
            done = subprocess.run(
                [*dying_with_us(), _uv(), *arguments],
                input=stdin.encode(),
                capture_output=True,
                check=False,
                env=variables,
                cwd=nowhere,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise CannotDoError(
                f"uv {arguments[0]} did not end in {seconds:.0f} s", hint="is the package index slow?"
            ) from error
        except OSError as error:
            raise CannotDoError(f"uv cannot be run: {error.strerror}") from error
    return UvResult(
        returncode=done.returncode,
        stdout=done.stdout.decode(errors="replace"),
        stderr=without_credentials(done.stderr.decode(errors="replace")),
    )


@once
def _uv() -> str:
    """The uv that comes with this installation."""
    # Imported here: `--help` and `check` need no uv.
    import uv  # noqa: PLC0415

    try:
        return uv.find_uv_bin()
    except FileNotFoundError as error:
        raise CannotDoError("the uv package is installed without its program", hint="reinstall uv") from error
