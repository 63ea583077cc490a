"""What an environment costs: warm, cold, and beside `python -m venv` and pip for the same lock.

    python -m tests.benchmarks.environment [openai-agents==0.20.0] [--python 3.12] [--cold]

`--cold` starts from an empty cache and needs the package index.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentproof.environment import interpreters, locking, wheel_store
from agentproof.environment import venv as _venv
from agentproof.environment.locking import Lock
from agentproof.models import pylock


def main() -> None:
    """Print one line per measurement: wall seconds, and CPU seconds of this process and its children."""
    parser = argparse.ArgumentParser()
    parser.add_argument("requirement", nargs="?", default="openai-agents==0.20.0")
    parser.add_argument("--python")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.cold:
        with tempfile.TemporaryDirectory() as place:
            os.environ["AGENTPROOF_CACHE_DIR"] = place
            _measure("cold: lock, fetch, build, verify, compile", 1, lambda: _whole(options))
            _compare_with_pip(_locked(options), options.rounds)
    locked = _locked(options)
    store = wheel_store.default_store()
    _whole(options)
    _measure("warm: find the interpreter", options.rounds, lambda: interpreters.find(options.python))
    _measure("warm: lock from the cache, hash the wheels", options.rounds, lambda: _locked(options))
    _measure("warm: build, verify, unpack bytecode, remove", options.rounds, lambda: _prepare(locked, store))


def _locked(options: argparse.Namespace) -> Lock:
    return locking.lock(
        requirement=options.requirement,
        interpreter=interpreters.find(options.python),
        store=wheel_store.default_store(),
    )


def _prepare(locked: Lock, store: wheel_store.WheelStore) -> None:
    with _venv.prepare(locked, store):
        pass


def _whole(options: argparse.Namespace) -> None:
    _prepare(_locked(options), wheel_store.default_store())


def _compare_with_pip(locked: Lock, rounds: int) -> None:
    """The same wheels by venv and pip, from files that lie ready."""
    store = wheel_store.default_store()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "wheels").mkdir()
        for package in locked.packages:
            stored = store.get(package.sha256)
            if stored is not None:
                shutil.copyfile(stored, place / "wheels" / package.wheel)
        (place / pylock.PYLOCK).write_bytes(pylock.render(locked.environment(installed_files=0)))

        def by_pip() -> None:
            venv = place / "venv"
            shutil.rmtree(venv, ignore_errors=True)
            subprocess.run([locked.python.path, "-m", "venv", venv], check=True)
            files = sorted((place / "wheels").iterdir())
            pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--no-index", "--no-deps"]
            subprocess.run([*pip, *map(str, files)], check=True)

        _measure("python -m venv; pip install, the same wheels", min(rounds, 2), by_pip)


def _measure(what: str, rounds: int, call: Callable[[], object]) -> None:
    walls, cpus = [], []
    for _ in range(rounds):
        before, started = os.times(), time.perf_counter()
        call()
        walls.append(time.perf_counter() - started)
        after = os.times()
        cpus.append(sum(after[:4]) - sum(before[:4]))
    print(
        f"{what:<50} {statistics.median(walls):6.2f} s wall (least {min(walls):.2f})  "
        f"{statistics.median(cpus):6.2f} s CPU",
        flush=True,
    )


if __name__ == "__main__":
    main()
