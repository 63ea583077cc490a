"""Start the recorder as the runner does, without isolation, and the same script without it."""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDER = Path(__file__).parents[3] / "agentproof" / "_recorder"


@dataclass(frozen=True)
class Recorded:
    """What one mode left in the control directory."""

    control: Path
    mode: str
    exit_code: int

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of all processes, as they are in the files."""
        found: list[dict[str, Any]] = []
        paths = sorted(self.control.glob(f"{self.mode}*.jsonl"), key=lambda path: (len(path.name), path.name))
        for path in paths:
            found += [json.loads(line) for line in path.read_text().splitlines()]
        return found

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["kind"] == kind]

    @property
    def end(self) -> dict[str, Any]:
        """The summary."""
        found: dict[str, Any] = json.loads((self.control / f"{self.mode}.end.json").read_text())
        return found

    def stream(self, name: str) -> bytes:
        """What the script wrote to `stdout` or `stderr`."""
        return (self.control / f"{self.mode}.{name}").read_bytes()


@dataclass(frozen=True)
class Bare:
    """The same script without the recorder."""

    exit_code: int
    stdout: bytes
    stderr: bytes


@functools.cache
def _shared_cache() -> str:
    """Bytecode of the recorder and of the standard library, for one run of the tests."""
    directory = tempfile.TemporaryDirectory(prefix="agentproof-recorder-tests-")
    atexit.register(directory.cleanup)
    return directory.name


def _python(python: str | Path, cache: Path | None) -> list[str]:
    return [str(python), "-s", "-X", f"pycache_prefix={cache or _shared_cache()}"]


@functools.cache
def _compile_pytest() -> None:
    """Bytecode of pytest and its plugins, as an environment has it; the recorder itself writes none."""
    with tempfile.TemporaryDirectory() as nowhere:
        command = [
            *_python(sys.executable, None),
            "-m",
            "pytest",
            "--collect-only",
            "--quiet",
            "-p",
            "no:cacheprovider",
        ]
        subprocess.run(command, cwd=nowhere, env=environment(Path(nowhere)), capture_output=True, check=False)


def environment(home: Path) -> dict[str, str]:
    """An environment from nothing, as the launcher makes it."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
    }


def record(
    script: Path,
    work: Path,
    *,
    python: str | Path = sys.executable,
    modes: Sequence[str] = ("as-written",),
    arguments: Sequence[str] = (),
    tests: Sequence[str] = (),
    site_packages: Path | None = None,
    network: str = "audit-hook",
    cache: Path | None = None,
    recorder: Path = RECORDER,
    extra: Mapping[str, str] | None = None,
) -> dict[str, Recorded]:
    """Record `script` in a control directory below `work`."""
    if tests and cache is None:
        _compile_pytest()
    control = work / "control"
    control.mkdir(parents=True)
    plan = {
        "control": str(control),
        "root": str(script.parent),
        "entry": script.name,
        "arguments": list(arguments),
        "modes": list(modes),
        "work": {mode: str(work / f"work-{mode}") for mode in modes},
        "distribution": "openai-agents",
        "adapter": "openai_agents",
        "package": "agents",
        "site_packages": str(site_packages or work),
        "network": network,
        "tests": list(tests),
    }
    for mode in modes:
        (work / f"work-{mode}").mkdir()
    (control / "plan.json").write_text(json.dumps(plan))
    done = subprocess.run(
        [*_python(python, cache), str(recorder), str(control / "plan.json")],
        env={**environment(work), **(extra or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"", b""), done.stderr.decode()
    left = [mode for mode in modes if (control / f"{mode}.jsonl").exists()]
    return {mode: Recorded(control, mode, done.returncode) for mode in left}


def bare(
    script: Path,
    work: Path,
    *,
    python: str | Path = sys.executable,
    arguments: Sequence[str] = (),
    cache: Path | None = None,
    extra: Mapping[str, str] | None = None,
) -> Bare:
    """Run `script` as `python script.py` does."""
    directory = work / "work-bare"
    (directory / "tmp").mkdir(parents=True)
    done = subprocess.run(
        [*_python(python, cache), str(script), *arguments],
        env={**environment(work), "TMPDIR": str(directory / "tmp"), **(extra or {})},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    return Bare(done.returncode, done.stdout, done.stderr)
