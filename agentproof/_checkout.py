"""Build a target wheel from a git checkout: a commit, or the working tree as it stands.

Rules:
1. Files come out of git as raw objects: no hook, filter, attribute or configuration of the checkout
   or the machine has a say in what is built. Submodules and links are refused by name.
2. The wheel is built by the project's own build backend, by uv, from a copy that is thrown away, with
   SOURCE_DATE_EPOCH at the commit's time, so that one commit gives one wheel where the backend allows.
   A backend is code of the checkout: it runs as the user, like `uv build` does.
3. A built wheel is kept by commit, sealed, in the cache; a changed working tree is built each time.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import _index, _seal
from ._files import write_atomic
from ._pythons import Interpreter
from ._wheels import WheelStore
from .errors import CannotDoError, UsageError
from .models.manifest import Origin

_SECONDS: Final = 120
_BUILD_SECONDS: Final = 600
_MAX_FILES: Final = 20_000
_OFF: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "protocol.allow=never",
    "diff.external=",
    "safe.directory=*",
)
_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class Commit:
    """A commit of a checkout."""

    id: str
    tree: str
    time: int
    subject: str


@dataclass(frozen=True)
class Built:
    """A wheel that was built from a checkout; it lies there as long as the block that made it."""

    wheel: Path
    origin: Origin


def resolve(directory: Path, revision: str) -> Commit:
    """The commit that `revision` names.

    Raises:
        UsageError: there is no such checkout or commit.
    """
    if revision.startswith("-"):
        raise UsageError(f"{directory}@{revision}: not a revision")
    done = _git(directory, "log", "-1", "--no-show-signature", "--format=%H%n%T%n%ct%n%s", revision, "--")
    lines = done.decode("utf-8", "replace").split("\n")
    return Commit(lines[0], lines[1], int(lines[2]), lines[3])


def first_parents(directory: Path, old: str, new: str) -> tuple[Commit, ...]:
    """The commits after `old` up to `new` along first parents, oldest first, led by `old` itself.

    Raises:
        UsageError: `old` is no ancestor of `new` along first parents.
    """
    first, last = resolve(directory, old), resolve(directory, new)
    done = _git(
        directory, "log", "--first-parent", "--reverse", "--no-show-signature",
        "--format=%H%x00%T%x00%ct%x00%P%x00%s", f"{first.id}..{last.id}", "--",
    )  # fmt: skip
    found = [first]
    for line in done.decode("utf-8", "replace").splitlines():
        identity, tree, time, parents, subject = line.split("\0")
        if not parents.startswith(found[-1].id):
            raise UsageError(
                f"{directory}: {old} is no ancestor of {new} along first parents",
                hint="name two commits of one branch",
            )
        found.append(Commit(identity, tree, int(time), subject))
    if len(found) == 1 and first.id != last.id:
        raise UsageError(f"{directory}: {new} does not come after {old}", hint="exchange the two")
    return tuple(found)


@contextmanager
def built(
    directory: Path,
    revision: str | None,
    *,
    interpreter: Interpreter,
    store: WheelStore,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Built]:
    """The wheel of a commit, or of the working tree where `revision` is None.

    Raises:
        UsageError: there is no such checkout or commit.
        CannotDoError: it cannot be built.
    """
    commit = resolve(directory, revision or "HEAD")
    dirty = revision is None and bool(_git(directory, "status", "--porcelain", "-z"))
    origin = Origin(kind="checkout", commit=commit.id, tree=commit.tree, dirty=True if dirty else None)
    with tempfile.TemporaryDirectory(prefix="agentproof-build-") as name:
        base = Path(name)
        kept = store.cache / "built" / f"{commit.id}-{interpreter.minor}"
        if not dirty and (found := _kept(kept, base / "kept")):
            yield Built(found, origin)
            return
        progress(f"building {directory.name}@{commit.id[:10]}{' with its changes' if dirty else ''}")
        source = base / "source"
        if dirty:
            _copy_working_tree(directory, source)
        else:
            _write_commit(directory, commit, source)
        wheel = _build(source, base / "dist", commit, interpreter, store.cache / "uv")
        if not dirty:
            _keep(kept, wheel)
        yield Built(wheel, origin)


def _git(directory: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory")
    git = shutil.which("git")
    if git is None:
        raise CannotDoError("git is not installed", hint="install git, or give a wheel")
    options = [part for setting in _OFF for part in ("-c", setting)]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull, **_ENVIRONMENT}
    try:
        done = subprocess.run(
            [git, "-C", str(directory), "--no-pager", *options, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=environment,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDoError(f"git {arguments[0]} in {directory}: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"{directory}: {said[-1] if said else f'git {arguments[0]} failed'}",
            hint="give DIR or DIR@REV, with DIR a git checkout that has this commit",
        )
    return done.stdout


def _write_commit(directory: Path, commit: Commit, target: Path) -> None:
    listed = _git(directory, "ls-tree", "-r", "-z", "--full-tree", commit.tree)
    entries: list[tuple[str, str, str]] = []
    for line in listed.split(b"\0"):
        if not line:
            continue
        facts, _, path = line.decode("utf-8", "surrogateescape").partition("\t")
        mode, kind, identity = facts.split(" ")
        if kind == "blob" and mode in ("100644", "100755"):
            entries.append((path, mode, identity))
    if len(entries) > _MAX_FILES:
        raise CannotDoError(f"{directory}@{commit.id[:10]} has more than {_MAX_FILES} files")
    names = "".join(f"{identity}\n" for _, _, identity in entries).encode()
    answer = memoryview(_git(directory, "cat-file", "--batch", stdin=names))
    at = 0
    for path, mode, identity in entries:
        end = bytes(answer[at : at + 200]).index(b"\n")
        head = bytes(answer[at : at + end]).split(b" ")
        if head[:2] != [identity.encode(), b"blob"]:
            raise CannotDoError(f"{directory}: git does not have the content of {path}")
        size = int(head[2])
        begin = at + end + 1
        place = target / path
        if not place.resolve().is_relative_to(target.resolve()):
            raise CannotDoError(f"{directory}: {path!r} leads out of the checkout")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(answer[begin : begin + size])
        if mode == "100755":
            place.chmod(0o755)
        at = begin + size + 1


def _copy_working_tree(directory: Path, target: Path) -> None:
    top = Path(os.fsdecode(_git(directory, "rev-parse", "--show-toplevel").rstrip(b"\n")))
    listed = _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    if len(names) > _MAX_FILES:
        raise CannotDoError(f"{directory} has more than {_MAX_FILES} files")
    for name in names:
        source, place = top / name, target / name
        if source.is_file() and not source.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)


def _build(source: Path, out: Path, commit: Commit, interpreter: Interpreter, cache: Path) -> Path:
    settings = _index.index_settings()
    done = _index.run_uv(
        [
            *("build", "--wheel", "--quiet", "--no-sources", "--out-dir", str(out)),
            *("--python", str(interpreter.path), "--cache-dir", str(cache), str(source)),
        ],
        environment={**settings.environment, "SOURCE_DATE_EPOCH": str(commit.time)},
        seconds=_BUILD_SECONDS,
    )
    wheels = sorted(out.glob("*.whl")) if out.is_dir() else []
    if done.returncode != 0 or len(wheels) != 1:
        said = " ".join(done.stderr.split())[-600:]
        raise CannotDoError(
            f"commit {commit.id[:10]} cannot be built: {said or f'{len(wheels)} wheels came out'}",
            hint="try `uv build --wheel` there",
        )
    return wheels[0]


def _kept(place: Path, out: Path) -> Path | None:
    try:
        sealed = place.read_bytes()
    except OSError:
        return None
    data = _seal.unseal(sealed, what=f"built {place.name}")
    if data is None:
        return None
    name, _, content = data.partition(b"\n")
    out.mkdir()
    wheel = out / name.decode("ascii")
    wheel.write_bytes(content)
    return wheel


def _keep(place: Path, wheel: Path) -> None:
    data = wheel.name.encode("ascii") + b"\n" + wheel.read_bytes()
    sealed = _seal.seal(data, what=f"built {place.name}")
    if sealed is not None:
        write_atomic(place, sealed)
