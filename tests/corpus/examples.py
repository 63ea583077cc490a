"""`python -m tests.corpus.examples CHECKOUT@TAG DIRECTORY [NAME …]`: the SDK's own examples, recorded live.

Each example of CHECKOUT (a git repository) is recorded on the release of TAG with `record --live-to`: it asks
a server that is not ours (aimock, from npm, on loopback). Then it is compared with the releases of `--on`,
answered from the recording alone. What was printed is kept in DIRECTORY, one JSON an example; `--table`
prints what is there and runs nothing.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from packaging.version import Version

from agentproof.bundle.store import read_bundle
from agentproof.models.manifest import Manifest
from tests.command import agentproof

AIMOCK = "@copilotkit/aimock@1.43.0"
HOST = "api.openai.com"
KEY = "sk-proj-q7Zt0Vw3XyB1nM9kLpRsdF5abcdefGh"
FOLDERS = ("basic", "agent_patterns", "handoffs", "memory", "tools", "mcp")
RELEASES = ("0.24.0", "0.20.0", "0.14.8", "0.8.4")
RUN = """import os
import runpy

os.environ["EXAMPLES_INTERACTIVE_MODE"] = "auto"
runpy.run_module({!r}, run_name="__main__", alter_sys=True)
"""
Json = dict[str, Any]  # Any: a JSON document


@dataclass
class Row:
    """What became of one example."""

    name: str
    exit: int | None = None
    """Of `record`: 0 where a bundle was written and its repeats agree."""
    verdict: str = "-"
    ended: str = "-"
    """How the script itself ended: `exited 0`, or the class of what it raised."""
    told: str = ""
    size: int = 0
    on: dict[str, str] = field(default_factory=dict)
    """By release, what a comparison says of it there."""
    why: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@contextmanager
def serving(place: Path, fixtures: Path) -> Iterator[str]:
    """aimock with these fixtures, installed into `place` by npm: its address."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        sys.exit("node and npm are needed")
    program = place / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if not program.exists():
        options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place))
        subprocess.run([npm, "install", *options, AIMOCK], check=True, timeout=120, cwd=place)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    options = ("--port", port, "--fixtures", str(fixtures), "--log-level", "silent")
    server = subprocess.Popen([node, program, *options])
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", int(port)), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        else:
            sys.exit("aimock does not listen")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def extract(checkout: str, place: Path) -> tuple[Path, str]:
    """The examples at a tag, and its release."""
    repository, _, tag = checkout.rpartition("@")
    archive = subprocess.run(
        ["/usr/bin/env", "git", "-C", repository, "archive", tag, "examples"], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(place, filter="data")
    return place, tag.removeprefix("v")


def names_in(examples: Path) -> list[str]:
    """What can be run, as `folder/name`."""
    found = []
    for folder in FOLDERS:
        for path in sorted((examples / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "__main__" in text:
                found.append(path.relative_to(examples).with_suffix("").as_posix())
    return found


def stage(examples: Path, name: str, place: Path) -> Path:
    """A folder with one example, what lies beside it, and a script that runs it as `python -m` does."""
    folder = Path(name).parent
    target = place / "examples"
    shutil.copytree(examples / folder, target / folder)
    for each in examples.glob("*.py"):
        shutil.copy(each, target / each.name)
    script = place / "run.py"
    script.write_text(RUN.format("examples." + name.replace("/", ".")), encoding="utf-8")
    return script


def play(script: Path, url: str, row: Row, release: str, releases: Sequence[str]) -> None:
    """Record, and compare with each of the releases."""
    place = script.parent
    bundle = place / "example.zip"
    began = time.monotonic()
    options = ("--root", place, "--sdk", release, "--live-to", f"{HOST}={url}", "--timeout", "60")
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    recorded = agentproof("record", script, *options, "--output", bundle, env=environment, place=place)
    row.exit, row.told = recorded.returncode, recorded.stdout + recorded.stderr
    if bundle.exists():
        row.size = bundle.stat().st_size
        row.verdict = Manifest.from_bytes(read_bundle(bundle).manifest).judgement.verdict
        row.ended = ended(read_bundle(bundle).members["traces/as-written.json"])
        alone = {key: text for key, text in os.environ.items() if key != "OPENAI_API_KEY"}
        others = [option for each in releases for option in ("--with", each)]
        compared = agentproof("compare", bundle, *others, "--json", env=alone, place=place)
        try:
            ends = ends_in(place / "comparison.agentproof.zip")
            for cell in json.loads(compared.stdout)["rows"][0]["cells"][1:]:
                row.on[cell["target"]] = cell["outcome"]
                row.why[cell["target"]] = str(cell.get("failed") or ends.get(cell["target"], ""))
        except (OSError, json.JSONDecodeError, KeyError, IndexError):
            row.on = dict.fromkeys(releases, "?")
            row.why = dict.fromkeys(releases, compared.stderr[-400:])
    row.seconds = round(time.monotonic() - began, 1)


def ends_in(comparison: Path) -> dict[str, str]:
    """How the script ended as written, by the release that a bundle of the comparison is about."""
    found = {}
    with zipfile.ZipFile(comparison) as archive:
        for name in archive.namelist():
            folder, _, member = name.rpartition("/")
            if member == "manifest.json" and folder:
                release = Manifest.from_bytes(archive.read(name)).target.version
                found[release] = ended(archive.read(f"{folder}/traces/as-written.json"))
    return found


def ended(trace: bytes) -> str:
    """How the script of a trace ended: its exit code, or what it raised."""
    for event in json.loads(trace)["events"]:
        if event["kind"] == "script.ended":
            error = event.get("error")
            return f"{error['type']}: {error['message']}" if error else f"exited {event.get('code')}"
    return "-"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of Markdown, and what it comes to."""
    releases = sorted({each for row in rows for each in row.on}, key=Version, reverse=True)
    yield f"| example | recorded | the script | {' | '.join(releases)} |"
    yield "|---" * (3 + len(releases)) + "|"
    for row in rows:
        outcomes = " | ".join(row.on.get(release, "-") for release in releases)
        yield f"| {row.name} | {row.verdict} | {row.ended} | {outcomes} |"
    yield ""
    yield f"{len(rows)} examples: {dict(Counter(row.verdict for row in rows))}"
    for release in releases:
        yield f"on {release}: {dict(Counter(row.on.get(release, '-') for row in rows))}"


def main() -> int:
    """Run the command."""
    described = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.examples", description=described)
    parser.add_argument("checkout", metavar="CHECKOUT@TAG")
    parser.add_argument("directory", type=Path)
    parser.add_argument("only", nargs="*", metavar="NAME")
    parser.add_argument("--on", default=",".join(RELEASES), help="releases, by commas")
    parser.add_argument("--table", action="store_true", help="print what is there")
    given = parser.parse_args()
    kept = given.directory
    kept.mkdir(parents=True, exist_ok=True)
    if not given.table:
        with tempfile.TemporaryDirectory() as scratch:
            examples, release = extract(given.checkout, Path(scratch) / "checkout")
            examples /= "examples"
            fixtures = Path(__file__).with_name("examples.fixtures.json")
            with serving(kept, fixtures) as url:
                for name in given.only or names_in(examples):
                    file = kept / (name.replace("/", "_") + ".json")
                    if file.exists() and not given.only:
                        continue
                    row = Row(name)
                    place = Path(scratch) / name.replace("/", "_")
                    play(stage(examples, name, place), url, row, release, given.on.split(","))
                    file.write_text(json.dumps(asdict(row), indent=1), encoding="utf-8")
                    print(name, row.verdict, row.ended, row.on, row.seconds, flush=True)
    rows = [Row(**json.loads(file.read_text())) for file in sorted(kept.glob("*_*.json"))]
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
