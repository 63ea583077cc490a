"""Every command that a page of the documentation shows as run is run, and prints what the page shows.

A `console` block is a session: lines that begin with `$ ` are run in one directory a page, the others must
be printed in that order, however indented. `…` stands for anything; `# exit 6` after a command for its exit
code, which is 0 otherwise. A `python NAME` block is a file. Blocks of any other kind are not run.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from agentproof.bundle.store import read_bundle
from tests.forge import STRANGER, name_of

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "docs" / "tutorial.md", *(ROOT / "docs" / "how-to").glob("*.md")])

BASH = shutil.which("bash") or "bash"
WHEEL = "openai_agents-0.20.0-py3-none-any.whl"
WARM = {"tutorial", "old-releases", "tests"}
"""Pages of somebody who records: they have a wheel store. Readers of a bundle begin without one."""

pytestmark = [pytest.mark.real, pytest.mark.slow]


@dataclass
class Command:
    """A command as a page shows it."""

    text: str
    exit_code: int
    shown: list[str] = field(default_factory=list)


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    for token in MarkdownIt("commonmark").parse(page.read_text("utf-8")):
        if token.type == "fence":
            yield token.info.strip(), token.content


def session(block: str) -> list[Command]:
    commands: list[Command] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            text, _, code = line[2:].partition("  # exit ")
            commands.append(Command(text, int(code or 0)))
        else:
            commands[-1].shown.append(line)
    return commands


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what a page may start from: a real bundle by a reporter, its wheel, trust files."""
    place = tmp_path_factory.mktemp("docs")
    shutil.copy(ROOT / "bundles" / "sibling-approval" / "reproduction.py", place / "repro.py")
    environment = _environment(place, place / "reporter")
    done = subprocess.run(
        [
            str(place / "bin" / "agentproof"),
            "record",
            "repro.py",
            "--output",
            "report.agentproof.zip",
            "--quiet",
        ],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def _environment(place: Path, config: Path) -> dict[str, str]:
    """The caller's environment, with an `agentproof` command and a configuration of its own."""
    commands = place / "bin"
    commands.mkdir(exist_ok=True)
    (commands / "agentproof").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agentproof "$@"\n')
    (commands / "agentproof").chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "AGENTPROOF_CONFIG_DIR": str(config),
        "COLUMNS": "100",
    }


def _furnish(place: Path, recorded: Path) -> None:
    """A reader's directory: the bundle, the wheel from their own mirror, keys, a lock."""
    bundle = recorded / "report.agentproof.zip"
    shutil.copy(bundle, place)
    wheel = read_bundle(bundle).wheel(WHEEL)
    assert wheel is not None
    (place / WHEEL).write_bytes(wheel)
    pin = f"openai-agents==0.20.0 --hash=sha256:{hashlib.sha256(wheel).hexdigest()}\n"
    assert pin in (ROOT / "docs" / "how-to" / "air-gapped.md").read_text("utf-8")
    (place / "requirements.txt").write_text(pin)
    shutil.copy(recorded / "repro.py", place)
    signer = (recorded / "reporter" / "key.pub").read_text().split()
    (place / "reporters").write_text(" ".join(signer[:2]) + "\n")
    (place / "others").write_text(f"{name_of(STRANGER)} {STRANGER.public.line}\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_happens(page: Path, recorded: Path, tmp_path: Path) -> None:
    place = tmp_path / "reader"
    place.mkdir()
    environment = _environment(tmp_path, tmp_path / "config")
    if page.stem not in WARM:
        environment["AGENTPROOF_CACHE_DIR"] = str(tmp_path / "cache")
    if page.stem != "tutorial":
        _furnish(place, recorded)
    for info, content in blocks(page):
        if info.startswith("python "):
            (place / info.removeprefix("python ")).write_text(content)
        elif info == "console":
            for command in session(content):
                _run(command, place, environment)


def _run(command: Command, place: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [BASH, "-c", command.text],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == command.exit_code, f"$ {command.text}\n{done.stdout}"
    printed = iter(done.stdout.splitlines())
    for line in command.shown:
        if line.strip() != "…":
            pattern = re.compile(".*".join(map(re.escape, line.strip().split("…"))))
            found = any(pattern.fullmatch(each.strip()) for each in printed)
            assert found, f"not printed (in this order): {line}\n$ {command.text}\n{done.stdout}"
