"""What holding a script in costs: one process through the launcher at each level, against a bare one.

    python -m tests.benchmarks.isolation [--rounds 40]

Wall time is the best and the median of all rounds; CPU time is the mean, of launcher and children.
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentproof.isolation import levels, runner, sandbox
from agentproof.isolation.levels import Choice
from agentproof.isolation.sandbox import Level
from tests.sandboxed import make_environment, run_script

PROGRAM = "/bin/true"


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    rounds: int = parser.parse_args().rounds
    print("| what | best | median | CPU |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        _row(f"`{PROGRAM}`, bare", rounds, lambda: subprocess.run([PROGRAM], check=True))
        for probe in levels.probe():
            if not probe.works:
                print(f"| {probe.level} | not here: {probe.why} | | |")
                continue
            _row(f"`{PROGRAM}`, {probe.level}", rounds, _launcher(probe.level, place))
        _row("choosing a level (`choose()`)", rounds, levels.choose)
        environment = make_environment(place)
        python = [str(environment.python), "-c", "pass"]
        _row("`python -c pass`, bare", rounds, lambda: subprocess.run(python, check=True, env={}))
        for probe in levels.probe():
            if probe.works:
                held = Choice(probe.level, probe.landlock, user_namespace=probe.user_namespace)
                _row(
                    f"`run_recordings` of `pass`, one process, {probe.level}",
                    rounds,
                    lambda held=held: run_script(  # type: ignore[misc]  # bound now
                        "pass", environment, place / "case", isolation=held, limits=runner.Limits()
                    ),
                )


def _launcher(level: Level, place: Path) -> Callable[[], object]:
    def launch() -> None:
        base = Path(tempfile.mkdtemp(dir=place))
        base.chmod(0o755)
        plan = sandbox.launch_plan(
            level,
            base=base,
            command=(PROGRAM,),
            environment={},
            directory=Path("/"),
            streams=(Path(os.devnull), Path(os.devnull)),
            readable=(),
            writable=(base,),
            limits=runner.Limits().resources(),
            user=sandbox.free_id(),
            beyond=None,
        )
        process = sandbox.start(plan)
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the launcher was started without pipes")
        with process:
            said = process.stdout.read()
            process.stdin.close()
        if b"exit 0" not in said:
            raise RuntimeError(said.decode())

    return launch


def _row(what: str, rounds: int, function: Callable[[], object]) -> None:
    function()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    walls = []
    for _ in range(rounds):
        started = time.perf_counter()
        function()
        walls.append(time.perf_counter() - started)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / rounds
    print(f"| {what} | {_ms(min(walls))} | {_ms(statistics.median(walls))} | {_ms(cpu)} |", flush=True)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    main()
