"""`python -m tests.corpus.same_program`: every script does the same with the recorder and without it.

Each script is run bare and recorded in one environment. What it printed, how it ended, and the files and
database contents that it left must be the same. Where they are not, it is run bare twice more: what differs
between bare runs is a race of the script's own, and is named as one.

    python -m tests.corpus.same_program                     all scripts, on three releases and two Pythons
    python -m tests.corpus.same_program cut --on 0.24.0     some scripts on one release

Exit 1 where something differs that is no race.
"""

import argparse
import hashlib
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentproof.environment import interpreters, locking, venv, wheel_store
from agentproof.errors import AgentproofError
from agentproof.models.header import read_header
from tests.unit.recorder.driver import bare, record

from .recordings import SCRIPTS, cases, healthy

RELEASES = ("0.14.0", "0.20.0", "0.24.0")
PYTHONS = ("3.11", "3.12")
_BARE_AGAIN = 2


@dataclass(frozen=True)
class Outcome:
    """What a script did, as far as others can see it."""

    exit_code: int
    stdout: str
    stderr: str
    files: tuple[tuple[str, str], ...]

    def differences(self, other: "Outcome") -> list[str]:
        """The names of what is not the same."""
        return [name for name in self.__dataclass_fields__ if getattr(self, name) != getattr(other, name)]


def compare(script: Path, environment: venv.PreparedEnvironment, work: Path) -> tuple[list[str], bool]:
    """What differs between a bare and a recorded run, and whether it does between bare runs too."""

    def alone(number: int) -> Outcome:
        place = work / f"bare-{number}"
        done = bare(script, place, python=environment.python, cache=environment.pycache_prefix)
        return _outcome(done.exit_code, done.stdout, done.stderr, place / "work-bare", place)

    place = work / "recorded"
    done = record(
        script,
        place,
        python=environment.python,
        site_packages=environment.site_packages,
        cache=environment.pycache_prefix,
        network="namespace",
    )["as-written"]
    seen = _outcome(
        done.exit_code, done.stream("stdout"), done.stream("stderr"), place / "work-as-written", place
    )
    expected = alone(0)
    differences = expected.differences(seen)
    races: set[str] = set()
    for number in range(1, _BARE_AGAIN + 1) if differences else ():
        again = alone(number)
        if not again.differences(seen):
            return differences, True
        races |= set(expected.differences(again))
    return differences, set(differences) <= races


def _outcome(code: int, stdout: bytes, stderr: bytes, directory: Path, place: Path) -> Outcome:
    def plain(text: bytes) -> str:
        shown = (
            text.decode("utf-8", "replace").replace(str(directory), "<work>").replace(str(place), "<place>")
        )
        return _VOLATILE.sub("~", shown)

    return Outcome(code, plain(stdout), plain(stderr), tuple(sorted(_files(directory))))


_VOLATILE = re.compile(r"0x[0-9a-f]{6,16}|tmp[a-z0-9_]{8}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def _files(directory: Path) -> Iterator[tuple[str, str]]:
    for path in directory.rglob("*"):
        # A database's log comes and goes with its connections; its contents are in the dump.
        if not path.is_file() or path.name.endswith(("-wal", "-shm", "-journal")):
            continue
        name = _VOLATILE.sub("~", path.relative_to(directory).as_posix())
        data = path.read_bytes()
        told = _dump(path) if data.startswith(b"SQLite format 3\0") else hashlib.sha256(data).hexdigest()
        yield name, told


_MOMENTS = re.compile(r"'\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d+)?'")


def _dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        return _MOMENTS.sub("'~'", _VOLATILE.sub("~", "\n".join(database.iterdump())))


@contextmanager
def environment(version: str, python: str, script: Path | None = None) -> Iterator[venv.PreparedEnvironment]:
    """A venv with a release and what the script's header asks for besides."""
    store = wheel_store.default_store()
    header = read_header(script.read_bytes(), path=str(script)) if script is not None else None
    needed = (
        [text for text in header.dependencies if re.split(r"[\[=<>~!]", text)[0] != "openai-agents"]
        if header
        else []
    )
    extras = {
        match[1]
        for text in (header.dependencies if header else ())
        if (match := re.match(r"openai-agents\[([^]]+)\]", text))
    }
    name = f"openai-agents[{','.join(sorted(extras))}]" if extras else "openai-agents"
    lock = locking.lock(
        requirement=f"{name}=={version}",
        extra=needed,
        interpreter=interpreters.find(python),
        store=store,
    )
    with venv.prepare(lock, store) as prepared:
        yield prepared


def scripts() -> list[Path]:
    """Every script of the corpus that is not a test: cases, healthy ones, surfaces."""
    found = [case.script for case in cases()]
    found += healthy(SCRIPTS / "healthy", SCRIPTS / "healthy_more")
    return [path for path in (*found, SCRIPTS / "surfaces" / "everything.py") if path.exists()]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.same_program")
    parser.add_argument("only", nargs="*", help="texts that a script's path contains")
    parser.add_argument("--on", action="append", metavar="VERSION")
    parser.add_argument("--python", action="append")
    options = parser.parse_args()
    chosen = [s for s in scripts() if not options.only or any(text in str(s) for text in options.only)]
    counts = {"same": 0, "race": 0, "DIFFERENT": 0, "not run": 0}
    for script in chosen:
        for version in options.on or RELEASES:
            for python in options.python or PYTHONS:
                word, told = _one(script, version, python)
                counts[word] += 1
                print(f"| {_name(script)} | {version} | {python} | {word} | {told} |", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["DIFFERENT"] else 0


def _one(script: Path, version: str, python: str) -> tuple[str, str]:
    try:
        with environment(version, python, script) as prepared, tempfile.TemporaryDirectory() as work:
            differences, is_race = compare(script, prepared, Path(work))
    except AgentproofError as error:
        return "not run", str(error)[:80]
    if not differences:
        return "same", ""
    return ("race" if is_race else "DIFFERENT"), ", ".join(differences)


def _name(script: Path) -> str:
    return script.parent.name if script.stem == "repro" else script.stem


if __name__ == "__main__":
    sys.exit(main())
