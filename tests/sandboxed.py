"""Run small scripts under the real launcher with a stand-in recorder."""

import io
import sys
import venv
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from agentproof.isolation import levels, runner
from agentproof.isolation.control import read_reproduction_files
from agentproof.isolation.levels import Choice, Probe
from agentproof.isolation.sandbox import Level
from agentproof.models.header import Header
from agentproof.models.trace import Mode
from agentproof.record.reproduction import Reproduction

SCRIPTS = Path(__file__).with_name("scripts")


@dataclass(frozen=True)
class Environment:
    """An empty virtual environment of the Python that runs the tests."""

    prefix: Path

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return self.prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    @property
    def pycache_prefix(self) -> Path:
        return self.prefix / "pycache"


def make_environment(parent: Path) -> Environment:
    """A new environment; other users may pass through, as the real one lets them."""
    for each in (parent, *parent.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)
    environment = Environment(parent / "venv")
    venv.create(environment.prefix, symlinks=True)
    environment.pycache_prefix.mkdir()
    return environment


@cache
def standin() -> bytes:
    """The stand-in recorder as a zipapp."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("__main__.py", (SCRIPTS / "standin_recorder.py").read_text("utf-8"))
    return buffer.getvalue()


@cache
def probed(level: Level) -> Probe:
    """What this machine can do at a level; asked once."""
    return levels._try(level)


def choice(level: Level) -> Choice:
    """The level itself, or a skip that says why this machine has none."""
    found = probed(level)
    if not found.works:
        pytest.skip(f"{level}: {found.why}")
    return Choice(level=level, landlock=found.landlock, user_namespace=found.user_namespace)


def best() -> Choice:
    """What a user gets here."""
    return levels.choose()


def run_script(
    source: str,
    environment: Environment,
    directory: Path,
    *,
    isolation: Choice | None = None,
    limits: runner.Limits | None = None,
    repeats: int = 1,
    side_by_side: bool = True,
    modes: Sequence[Mode] = ("as-written",),
    arguments: tuple[str, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> runner.Observation:
    """Run a script's text."""
    directory.mkdir(exist_ok=True)
    (directory / "script.py").write_text(source, encoding="utf-8")
    return runner.run_recordings(
        environment,
        _script(directory, arguments),
        isolation=isolation or best(),
        limits=limits or runner.Limits(seconds=30),
        repeats=repeats,
        side_by_side=side_by_side,
        modes=modes,
        progress=progress,
        recorder=standin(),
    )


def _script(directory: Path, arguments: tuple[str, ...]) -> Reproduction:
    """What `record` makes of it, though it is a stand-in's and need not be Python."""
    files, only_entry = read_reproduction_files(directory, "script.py")
    return Reproduction("script.py", files, Header(), arguments, only_entry=only_entry)


def said(run: runner.Observation, mode: Mode = "as-written") -> str:
    """What the script printed in its first repeat, with its errors."""
    recording = run.repeats[0][mode]
    return (recording.stdout.data + recording.stderr.data).decode("utf-8", "replace")
