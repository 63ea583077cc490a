"""What a check costs: of one bundle in a process of its own, and of many in one process.

    python -m tests.benchmarks.check [--runs 7] [--many 1000] [--where] [--peer COMMAND]

Prints processor time, memory and ratios; asserts nothing. The one bundle is the committed one with its
wheel, the many are copies of it with another id and signature each. `--peer` is another checker's command
on a bundle of its own, run alternately with ours, so that a busy machine slows both. `--where` lists what
a process's time goes to.
"""

import argparse
import gc
import hashlib
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentproof.bundle.store import Bundle, write_bundle
from agentproof.bundle.wheel import read_wheel
from agentproof.check.bundle import Reader
from agentproof.check.many import check_many
from agentproof.check.source import HeldWheel, Sources
from agentproof.models.wire import encode
from agentproof.trust import signing
from agentproof.trust.allowed_signers import parse_trust
from tests import committed

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Cost:
    """Of one process with all its children."""

    cpu: float
    """Seconds of processor time."""
    memory: int
    """The most that was resident, in bytes."""


def cost(command: Sequence[str]) -> Cost:
    """Run `command` once, whatever it answers."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # it was waited for already
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def best(costs: Sequence[Cost]) -> str:
    """The smallest and the middle one: noise only ever adds."""
    times = sorted(each.cpu for each in costs)
    return f"{times[0]:.3f} s CPU (median {times[len(times) // 2]:.3f}), {costs[0].memory / 1e6:.0f} MB"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--where", action="store_true")
    parser.add_argument("--peer", default="", metavar="COMMAND")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        key = signing.generate_key()
        bundle = committed.current(key=key)
        (Path(scratch) / "signers").write_text(f"bench@example {key.public.line}\n")
        one = Many(Path(scratch) / "one", bundle, key, wheel=True).write(1)[0]
        print(f"one bundle, {given.runs} runs")
        _one(one, Path(scratch), given.runs, given.peer)
        if given.where:
            _where(one, Path(scratch), given.runs)
        if given.many:
            gc.set_threshold(100_000, 20, 100)  # as the command does
            print(f"{given.many} bundles of one wheel")
            for distinct in (False, True):
                place = Path(scratch) / ("distinct" if distinct else "many")
                _many(Many(place, bundle, key, distinct=distinct), given.many)
            resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            print(f"  memory {resident / 1e6:.0f} MB, with what it took to write them")


def _command(bundle: Path, scratch: Path, wheel: Path) -> list[str]:
    signers = str(scratch / "signers")
    start = [sys.executable, "-m", "agentproof", "check-current-bundle"]
    return [*start, str(bundle), "--trust", signers, "--wheel", str(wheel)]


def _one(bundle: Path, scratch: Path, runs: int, peer: str) -> None:
    wheel = next(iter((bundle / "wheels").iterdir()))
    command = _command(bundle, scratch, wheel)
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)  # CURRENT, or this stops here
    ours: list[Cost] = []
    theirs: list[Cost] = []
    bare: list[Cost] = []
    for _ in range(runs):
        ours.append(cost(command))
        bare.append(cost([sys.executable, "-c", "import click, pydantic.main, cryptography.exceptions"]))
        if peer:
            theirs.append(cost(shlex.split(peer)))
    print(f"  agentproof      {best(ours)}")
    print(f"  its imports     {best(bare)}  (click, pydantic and cryptography alone)")
    if theirs:
        ratio = min(each.cpu for each in theirs) / min(each.cpu for each in ours)
        print(f"  the peer        {best(theirs)}\n  ratio           {ratio:.1f}")


class Many:
    """Bundles that differ in their id alone or, `distinct`, in their traces too."""

    def __init__(
        self,
        store: Path,
        bundle: Bundle,
        key: signing.HeldKey,
        *,
        wheel: bool = False,
        distinct: bool = False,
    ) -> None:
        self.store = store
        self.bundle = bundle
        self.key = key
        self.distinct = distinct
        self.wheel_name, self.wheel = committed.wheel_of(bundle)
        self.attached = {f"wheels/{self.wheel_name}": self.wheel} if wheel else {}

    def write(self, count: int) -> list[Path]:
        """As a repository store, with the wheel once; attached where that was asked for."""
        shape: Any = json.loads(self.bundle.manifest)
        members = {path: data for path, data in self.bundle.members.items() if not path.startswith("wheels/")}
        paths = []
        for number in range(count):
            shape["environment"]["installed_files"] = number
            changed = self._traces(shape, number) if self.distinct else {}
            manifest = encode(shape)
            signed = dict([signing.attest_recorded(manifest, self.key)])
            path = self.store / f"case-{number}" / "1"
            write_bundle(Bundle(manifest, members | changed | self.attached, signed), path)
            for file in shape["reproduction"]["files"]:
                place = path.parent / file
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(members[file])
            paths.append(path)
        (self.store / "wheels").mkdir(exist_ok=True)
        (self.store / "wheels" / self.wheel_name).write_bytes(self.wheel)
        return paths

    def _traces(self, shape: Any, number: int) -> dict[str, bytes]:  # Any: a manifest's JSON
        """The traces with something else on stdout, which is no part of the evidence."""
        changed: dict[str, bytes] = {}
        for member in shape["members"]:
            if member["path"].startswith("traces/"):
                trace = json.loads(self.bundle.members[member["path"]])
                for event in trace["events"]:
                    if event["kind"] == "script.wrote":
                        event.update(text=f"run {number}\n", size=len(f"run {number}\n"))
                data = changed[member["path"]] = encode(trace)
                member.update(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        return changed

    def reader(self) -> Reader:
        """Somebody who trusts the signer and holds the wheel."""
        trust = parse_trust(f"bench@example {self.key.public.line}\n".encode(), source="signers")
        held = HeldWheel("wheel", self.wheel, read_wheel(self.wheel, self.wheel_name))
        return Reader(trust=trust, sources=Sources(wheels=(held,)))


def _many(many: Many, count: int) -> None:
    paths, reader = many.write(count), many.reader()
    kind = "other traces each" if many.distinct else "the same traces"
    for workers in (1, None):
        started, before = time.perf_counter(), _cpu()
        statuses = {report.status for report in check_many(paths, reader=reader, workers=workers)}
        cpu, wall = _cpu() - before, time.perf_counter() - started
        if statuses != {"CURRENT"}:
            raise SystemExit(f"not CURRENT: {statuses}")
        where = "one process" if workers == 1 else f"{os.cpu_count()} processors"
        print(
            f"  {kind}, {where}: "
            f"{cpu / count * 1e3:.2f} ms CPU each, {wall / count * 1e3:.2f} ms of wall time"
        )


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


_STEPS = """
import json, sys, time
begun, marks = time.process_time(), []
def mark(name): marks.append((name, time.process_time()))
import re, typing, enum, pathlib, dataclasses, contextlib, inspect
mark("the standard library")
import agentproof.cli, gc
gc.set_threshold(100_000, 20, 100)
mark("click")
import pydantic
mark("pydantic")
import cryptography.hazmat.primitives.asymmetric.ed25519
mark("cryptography")
import agentproof.models.events, agentproof.models.manifest, agentproof.models.report, agentproof.models.trace
mark("our models: classes")
import agentproof.claims
mark("claims")
import agentproof.check.many, agentproof.render.console, agentproof.cli.check
mark("the checker")
from pathlib import Path
reader = agentproof.cli.check.own_reader(trust_files=(sys.argv[2],))
mark("trust, store")
from agentproof.check.source import Sources, read_held_wheel
from dataclasses import replace
held = read_held_wheel(Path(sys.argv[3]))
reader = replace(reader, sources=Sources(wheels=(held,)))
mark("the wheel against its RECORD")
def check():
    report = agentproof.check.many.Checker(reader)(Path(sys.argv[1]))
    assert report.status == "CURRENT", report
check()
mark("the first check")
check()
mark("of which a second one needs")
print(json.dumps([begun, marks]))
"""


def _where(bundle: Path, scratch: Path, runs: int) -> None:
    wheel = next(iter((bundle / "wheels").iterdir()))
    least: dict[str, float] = {}
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", _STEPS, str(bundle), str(scratch / "signers"), str(wheel)],
            check=True,
            cwd=ROOT,
            capture_output=True,
        )
        before, marks = json.loads(done.stdout)
        least["python itself"] = min(before, least.get("python itself", before))
        for name, at in marks:
            least[name] = min(at - before, least.get(name, at))
            before = at
    for name, seconds in least.items():
        print(f"    {seconds * 1e3:6.1f} ms  {name}")


if __name__ == "__main__":
    main()
