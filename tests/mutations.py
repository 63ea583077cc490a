"""Every small change of some bytes: replaced, replaced by white space, inserted, deleted, cut, added to.

    python -m tests.mutations [--step 1] [--zip-step 7] [--jobs 2]

tries all of them on the committed bundle and on a forged one, and prints how many were tried and what
became of them. `tests/real/test_mutation_full.py` is the same as a test.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import groupby
from operator import iadd

from agentproof.bundle.store import Bundle, from_zip_bytes, zip_bytes
from agentproof.check.bundle import Reader, check_bundle
from agentproof.errors import BundleError
from tests import committed, forge

WHITE_SPACE = (b" ", b"\n", b"\t", b"\r")
_POSITIONS = 4096
"""How many a process takes at once."""
WHOLE_ZIP_STEP = 7 * 101
"""Of the zip with its wheel, which is a megabyte that one digest holds."""


@dataclass
class Tally:
    """What became of many changes."""

    tried: int = 0
    accepted: list[str] = field(default_factory=list)
    """Those that were not INVALID."""
    reasons: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: "Tally") -> "Tally":
        self.tried += other.tried
        self.accepted += other.accepted
        self.reasons += other.reasons
        return self


def mutated(
    data: bytes, *, step: int = 1, start: int = 0, stop: int | None = None
) -> Iterator[tuple[str, bytes]]:
    """Changes at every `step`th byte from `start` to `stop`, each with a name; never the same bytes again.

    What is cut and what is added comes with the last byte.
    """
    end = len(data) if stop is None else min(stop, len(data))
    for at in range(start + -start % step, end, step):
        before, byte, after = data[:at], data[at : at + 1], data[at + 1 :]
        blank = WHITE_SPACE[at % len(WHITE_SPACE)]
        yield f"replace {at}", before + bytes([byte[0] ^ (1 << at % 8)]) + after
        if blank != byte:
            yield f"blank {at}", before + blank + after
        yield f"insert {at}", before + bytes([at % 256]) + byte + after
        yield f"insert blank {at}", before + blank + byte + after
        yield f"delete {at}", before + after
    if end < len(data):
        return
    for at in range(0, len(data), max(step * 16, 1)):
        yield f"cut at {at}", data[:at]
    for more in (b"\0", b"\n", b" ", b"{}", data[:64], data):
        yield f"append {more[:8]!r}", data + more


def files_of(bundle: Bundle) -> Iterator[str]:
    """The manifest, the attestations and the text members."""
    yield "manifest.json"
    yield from (f"attestations/{name}" for name in bundle.attestations)
    yield from (path for path in bundle.members if not path.startswith("wheels/"))


def with_file(bundle: Bundle, path: str, data: bytes) -> Bundle:
    """The bundle with one file exchanged."""
    if path == "manifest.json":
        return replace(bundle, manifest=data)
    if path.startswith("attestations/"):
        name = path.removeprefix("attestations/")
        return replace(bundle, attestations={**bundle.attestations, name: data})
    return replace(bundle, members={**bundle.members, path: data})


def file_of(bundle: Bundle, path: str) -> bytes:
    """The bytes of one file."""
    if path == "manifest.json":
        return bundle.manifest
    return (
        bundle.members[path]
        if path in bundle.members
        else bundle.attestations[path.removeprefix("attestations/")]
    )


def try_file(
    bundle: Bundle, path: str, reader: Reader, *, step: int = 1, start: int = 0, stop: int | None = None
) -> Tally:
    """Check the bundle with each change of one file."""
    tally = Tally()
    for name, data in mutated(file_of(bundle, path), step=step, start=start, stop=stop):
        _count(tally, name, with_file(bundle, path, data), reader)
    return tally


def try_zip(raw: bytes, reader: Reader, *, step: int, start: int = 0, stop: int | None = None) -> Tally:
    """Check each change of a zip."""
    tally = Tally()
    for name, data in mutated(raw, step=step, start=start, stop=stop):
        try:
            bundle = from_zip_bytes(data)
        except BundleError as error:
            tally.tried += 1
            tally.reasons[error.reason] += 1
            continue
        _count(tally, name, bundle, reader)
    return tally


def _count(tally: Tally, name: str, bundle: Bundle, reader: Reader) -> None:
    report = check_bundle(bundle, reader=reader).report
    tally.tried += 1
    failed = next((check for check in report.checks if check.status == "failed"), None)
    tally.reasons[str(failed.reason) if failed is not None else report.status] += 1
    if report.status != "INVALID":
        tally.accepted.append(name)


@dataclass(frozen=True)
class Part:
    """Some positions of one file, or of a zip, of one bundle."""

    bundle: str
    what: str
    """A file, or `zip` or `zip with its wheel`."""
    start: int
    stop: int
    step: int


@cache
def bundle_of(name: str) -> Bundle:
    """The bundles that are tried, detached."""
    bundle = forge.draft().seal() if name == "forged" else committed.current(key=forge.REPORTER)
    return replace(bundle, members={p: d for p, d in bundle.members.items() if not p.startswith("wheels/")})


@cache
def raw_of(name: str, what: str) -> bytes:
    """The bytes that are changed."""
    bundle = bundle_of(name)
    if what == "zip":
        return zip_bytes(bundle)
    if what == "zip with its wheel":
        file, data = (forge.WHEEL_NAME, forge.WHEEL) if name == "forged" else committed.wheel_of(bundle)
        return zip_bytes(replace(bundle, members={**bundle.members, f"wheels/{file}": data}))
    return file_of(bundle, what)


def parts(*, step: int = 1, zip_step: int = 7, whole_step: int = WHOLE_ZIP_STEP) -> Iterator[Part]:
    """All that is to be tried, in pieces of about the same length."""
    for name in ("committed", "forged"):
        for what in (*files_of(bundle_of(name)), "zip", "zip with its wheel"):
            every = {"zip": zip_step, "zip with its wheel": whole_step}.get(what, step)
            length = len(raw_of(name, what))
            for start in range(0, length, _POSITIONS * every):
                yield Part(name, what, start, start + _POSITIONS * every, every)


def try_part(part: Part) -> Tally:
    """Check every change of one part, for a reader who trusts nobody: a signature is not all that tells."""
    bundle, reader = bundle_of(part.bundle), Reader()
    if part.what.startswith("zip"):
        raw = raw_of(part.bundle, part.what)
        return try_zip(raw, reader, step=part.step, start=part.start, stop=part.stop)
    return try_file(bundle, part.what, reader, step=part.step, start=part.start, stop=part.stop)


def main() -> int:
    """Try all and print the counts; 1 where something was accepted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--zip-step", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    todo = list(parts(step=given.step, zip_step=given.zip_step))
    started = time.perf_counter()
    whole = Tally()
    for (name, what), tally in _by_file(todo, given.jobs):
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in tally.reasons.most_common(4))
        line = f"{name:9} {what[:44]:44} {tally.tried:>9,} tried, {len(tally.accepted)} accepted ({reasons})"
        print(line, flush=True)
        whole += tally
    print(f"{whole.tried:,} changes, {len(whole.accepted)} accepted, {time.perf_counter() - started:.0f} s")
    print("\n".join(whole.accepted[:20]))
    return bool(whole.accepted)


def _by_file(todo: list[Part], jobs: int) -> Iterator[tuple[tuple[str, str], Tally]]:
    """What became of each file, as soon as all its parts are tried."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        tried = zip(todo, pool.map(try_part, todo), strict=True)
        for file, parts_of_it in groupby(tried, key=lambda one: (one[0].bundle, one[0].what)):
            yield file, reduce(iadd, (tally for _, tally in parts_of_it), Tally())


if __name__ == "__main__":
    sys.exit(main())
