"""Lock, build and import releases of the SDK as of their own day; print a table in Markdown.

    python -m tests.benchmarks.releases --python 3.12 --python 3.13 0.2.10 0.24.0
    python -m tests.benchmarks.releases --python 3.12 --cases /path/to/cases

Needs the package index, or a warm wheel store.
"""

import argparse
import json
import platform
import subprocess
import time
from pathlib import Path

from packaging.version import Version

from agentproof.environment import bytecode, interpreters, locking, venv, wheel_store
from agentproof.errors import AgentproofError


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser()
    parser.add_argument("releases", nargs="*")
    parser.add_argument("--python", action="append", default=[], help="an interpreter; repeatable")
    parser.add_argument("--cases", type=Path, help="a directory of cases whose case.json name releases")
    options = parser.parse_args()
    releases = set(options.releases)
    if options.cases is not None:
        for path in options.cases.glob("*/case.json"):
            case = json.loads(path.read_text("utf-8"))
            releases |= {case[key] for key in ("buggy", "fixed") if case.get(key)}
    # Bytecode is not what is looked at here, and compiling it costs more than all the rest.
    bytecode.Bytecode.compile = lambda *_, **__: False  # type: ignore[method-assign]  # see above
    pythons = [interpreters.find(request) for request in options.python or [platform.python_version()]]
    print("| release | as of |" + "".join(f" {python.version} |" for python in pythons))
    print("|---|---|" + "---|" * len(pythons), flush=True)
    for release in sorted(releases, key=Version):
        day, cells = "", []
        for python in pythons:
            try:
                locked, said = _row(release, python)
                day = locked.as_of or ""
            except AgentproofError as error:
                said = f"{type(error).__name__}: {error}"
            cells.append(said)
        print(f"| {release} | {day} |" + "".join(f" {cell} |" for cell in cells), flush=True)


def _row(release: str, python: interpreters.Interpreter) -> tuple[locking.Lock, str]:
    store = wheel_store.default_store()
    started = time.perf_counter()
    locked = locking.lock(requirement=f"openai-agents=={release}", interpreter=python, store=store)
    seconds = time.perf_counter() - started
    with venv.prepare(locked, store) as environment:
        done = subprocess.run(
            [
                *(environment.python, "-s", "-X", f"pycache_prefix={environment.pycache_prefix}"),
                *("-c", "import agents, importlib.metadata as m; print(m.version('openai-agents'))"),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={},
            cwd=environment.prefix,
        )
    if done.stdout.strip() != release:
        return locked, f"does not import: {done.stderr.strip().splitlines()[-1]}"
    return locked, (
        f"{len(locked.packages)} wheels, {environment.installed_files} files; "
        f"lock {seconds:.1f} s, build {environment.seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
