"""Find the interpreter that an environment is built for; never download one.

Without a request, the interpreter that runs agentproof is taken when it satisfies the
reproduction's `requires-python`. Others are found by uv. Behind pyenv, whose shims fail for every
version that is not selected, the installed versions are offered to uv by `PYENV_VERSION`.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import packaging
from packaging.markers import default_environment
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import sys_tags
from packaging.version import InvalidVersion, Version

from ..errors import CannotDoError, UsageError
from ..models.manifest import Platform
from . import uv
from .wheel_store import cache_root

OLDEST: Final = Version("3.10")
"""The oldest Python that the recorder runs on."""
NEWEST: Final = Version("3.14")

_PROBE_SECONDS = 60
_WHAT: Final = "give a version such as 3.12, an environment, or the path of an interpreter"


@dataclass(frozen=True)
class Interpreter:
    """A CPython on this machine."""

    path: Path
    """The real executable, no shim and no venv's link."""
    version: str
    """The full version, such as `3.12.1`."""
    implementation: str
    """`cpython`."""
    library: Path
    """The directory of its standard library."""
    platform: Platform
    markers: Mapping[str, str]
    """The variables of environment markers (PEP 508)."""
    tags: tuple[str, ...]
    """The wheel tags that it takes, best first (PEP 425)."""

    @property
    def minor(self) -> str:
        """The version up to the minor number, such as `3.12`."""
        return ".".join(self.version.split(".")[:2])


def find(request: str | None = None, *, requires: SpecifierSet | None = None) -> Interpreter:
    """Find an interpreter by version (`3.12`, `python3.12`, `>=3.12`), environment, path or name.

    None means the usual one.

    Raises:
        UsageError: the request is none of these, or contradicts `requires`.
        CannotDoError: there is no such interpreter here, or it cannot be recorded.
    """
    requires = requires if requires is not None else SpecifierSet()
    if request is None:
        if _satisfies(platform.python_version(), requires) and sys.implementation.name == "cpython":
            return _own()
        wanted = str(requires) or f">={OLDEST}"
        return _inspected(_found_by_uv(wanted, why=f"requires-python is {wanted}"), requires)
    if spelled := re.fullmatch(r"(?:c?python)?-?(\d[\w.]*)", request):
        request = spelled[1]  # python3.12 may be a shim of pyenv for a version that is not selected
    elif (path := _at(request)) is not None:
        return _inspected(path, requires)
    if re.fullmatch(r"\d+(\.\d+)+", request) and Version(request) < OLDEST:
        raise UsageError(
            f"--python {request}: the recorder needs {OLDEST} or newer", hint="choose another with --python"
        )
    try:
        versions = SpecifierSet(f"=={request}.*" if request.count(".") < 2 else f"=={request}")
    except InvalidSpecifier:
        try:
            # Of nothing it makes a set that everything is in.
            versions = SpecifierSet(request or "?")
        except InvalidSpecifier as error:
            raise UsageError(
                f"--python {request or repr('')}: neither a version nor an interpreter", hint=_WHAT
            ) from error
    if (
        versions.contains(platform.python_version(), prereleases=True)
        and sys.implementation.name == "cpython"
    ):
        return _checked(_own(), requires)
    return _inspected(_found_by_uv(request, why=f"--python {request}"), requires)


def _at(request: str) -> Path | None:
    """The interpreter that a path or a name of the search path names; None where it looks like neither.

    Raises:
        UsageError: there is nothing at that path, or no interpreter.
    """
    path = Path(request)
    if request and path.is_dir():
        for inner in (path / "bin" / "python", path / "Scripts" / "python.exe"):
            if inner.is_file():
                return inner
        raise UsageError(f"--python {request}: a directory that is no environment", hint=_WHAT)
    if path.is_file():
        return path
    if os.sep in request:
        raise UsageError(f"--python {request}: no such file", hint=_WHAT)
    found = shutil.which(request) if request else None
    return Path(found) if found is not None else None


def installed() -> tuple[Interpreter, ...]:
    """One interpreter per minor version that can be recorded and is found here, oldest first."""
    found = []
    for minor in range(OLDEST.minor, NEWEST.minor + 1):
        try:
            found.append(find(f"3.{minor}"))
        except CannotDoError:
            continue
    return tuple(found)


def _satisfies(version: str, requires: SpecifierSet) -> bool:
    return Version(version) >= OLDEST and requires.contains(version, prereleases=True)


def _found_by_uv(request: str, *, why: str) -> Path:
    """Ask uv, with every version of pyenv un-hidden."""
    versions = _pyenv_versions()
    environment = {}
    if versions and not os.environ.get("PYENV_VERSION"):
        environment["PYENV_VERSION"] = ":".join(versions)
    done = uv.run_uv(
        # --system: a venv that happens to be active is no base for another.
        ["python", "find", "--system", "--no-python-downloads", "--no-project", request],
        environment=environment,
        cache=cache_root(),
        seconds=_PROBE_SECONDS,
    )
    path = Path(done.stdout.strip())
    if done.returncode == 0 and path.is_file():
        return path
    here = f"pyenv has {', '.join(versions)}; " if versions else ""
    raise CannotDoError(
        f"{why}: no such Python on this machine",
        hint=f"{here}install one (`uv python install {request}`, or pyenv and PYENV_VERSION=<version>) or "
        "choose another with --python",
    )


def _pyenv_versions() -> list[str]:
    """What pyenv has installed, newest first."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")

    def numbered() -> Iterator[Version]:
        try:
            names = os.listdir(root / "versions")
        except OSError:
            return
        for name in names:
            try:
                yield Version(name)
            except InvalidVersion:  # a virtualenv's name
                continue

    return [str(version) for version in sorted(numbered(), reverse=True) if version >= OLDEST]


def _inspected(path: Path, requires: SpecifierSet) -> Interpreter:
    return _checked(_inspect(path), requires)


def _checked(interpreter: Interpreter, requires: SpecifierSet) -> Interpreter:
    if Version(interpreter.version) < OLDEST:
        raise CannotDoError(
            f"{interpreter.path} is Python {interpreter.version}; the recorder needs {OLDEST} or newer",
            hint="choose another with --python",
        )
    if not requires.contains(interpreter.version, prereleases=True):
        raise UsageError(
            f"{interpreter.path} is Python {interpreter.version}, but requires-python is {requires}",
            hint="choose another with --python, or change the reproduction's header",
        )
    return interpreter


@cache
def _own() -> Interpreter:
    """The interpreter that runs agentproof, seen through its venv."""
    # `_base_executable` is what CPython's own `venv` module builds upon.
    path = Path(getattr(sys, "_base_executable", sys.executable))
    return _made(
        path,
        {
            "version": platform.python_version(),
            "implementation": sys.implementation.name,
            "library": sysconfig.get_path("stdlib"),
            "threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
            "system": platform.system(),
            "machine": platform.machine(),
            "markers": dict(default_environment()),
            "tags": [str(tag) for tag in sys_tags()],
        },
    )


# Runs under the other interpreter: standard library and `packaging` only, Python 3.10 and newer.
_PROBE = """
import json, platform, sys, sysconfig
sys.path.append(sys.argv[1])
from packaging.markers import default_environment
from packaging.tags import sys_tags
json.dump({
    "executable": getattr(sys, "_base_executable", sys.executable),
    "version": platform.python_version(), "implementation": sys.implementation.name,
    "library": sysconfig.get_path("stdlib"), "threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "system": platform.system(), "machine": platform.machine(),
    "markers": default_environment(), "tags": [str(tag) for tag in sys_tags()],
}, sys.stdout)
"""


def _inspect(path: Path) -> Interpreter:
    """Ask an interpreter what it is."""
    library = str(Path(packaging.__file__).parents[1])
    try:
        done = subprocess.run(
            [str(path), "-I", "-S", "-B", "-c", _PROBE, library],
            capture_output=True,
            check=False,
            timeout=_PROBE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        facts = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDoError(f"{path} cannot be run: {error}", hint="choose another with --python") from error
    except json.JSONDecodeError as error:
        said = done.stderr.decode(errors="replace").strip()
        if said.startswith("pyenv:"):
            raise CannotDoError(
                f"{path} is a shim of pyenv for a version that is not selected",
                hint="set PYENV_VERSION=<version>, or give --python a version number",
            ) from error
        last = said.splitlines()[-1][:200] if said else "it printed no facts"
        raise CannotDoError(
            f"{path} is no Python {OLDEST} or newer: {last}", hint="choose another with --python"
        ) from error
    return _made(Path(facts["executable"] or path), facts)


def _made(path: Path, facts: Mapping[str, Any]) -> Interpreter:  # Any: the probe's JSON
    version, implementation = str(facts["version"]), str(facts["implementation"])
    if implementation != "cpython" or facts["threaded"]:
        kind = "free-threaded CPython" if implementation == "cpython" else implementation
        raise CannotDoError(
            f"{path} is {kind} {version}; recordings are made on CPython with the GIL",
            hint="choose another with --python",
        )
    return Interpreter(
        path=path,
        version=version,
        implementation=implementation,
        library=Path(str(facts["library"])),
        platform=Platform(
            system=str(facts["system"]), machine=str(facts["machine"]), libc=_libc(facts["tags"])
        ),
        markers={str(name): str(value) for name, value in facts["markers"].items()},
        tags=tuple(str(tag) for tag in facts["tags"]),
    )


def _libc(tags: Sequence[object]) -> str | None:
    """`glibc` or `musl`, as the wheel tags tell them apart; None where there is no choice."""
    for tag in tags:
        if "-manylinux" in str(tag):
            return "glibc"
        if "-musllinux" in str(tag):
            return "musl"
    return None
