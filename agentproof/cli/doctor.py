"""`agentproof doctor`: say what this machine can do."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from .group import examples


@examples("agentproof doctor")
@click.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Say what this machine can do, each line with the fix where something is missing.

    Exit 0 when a recording can be made here, 4 when something that it needs is missing.
    """
    from ..errors import Exit

    needed = True
    marks = {True: ("✓", "green"), False: ("✗", "red"), None: ("-", "yellow")}
    for works, name, text, fix in _findings():
        mark, colour = marks[works]
        click.echo(f"  {click.style(mark, fg=colour)} {name:<12} {text}")
        if not works and fix:
            click.echo(f"    {'':<12} fix: {fix}")
        if works is False and name in {"python", "uv", "isolation"}:
            needed = False
    ctx.exit(Exit.YES if needed else Exit.CANNOT)


_Finding = tuple[bool | None, str, str, str]
"""Whether it works (None: no, and it is not needed), its name, what there is to say, and the fix."""


def _findings() -> Iterator[_Finding]:
    yield from _pythons_found()
    yield from _uv_found()
    yield from _index_found()
    yield from _isolation_found()
    yield from _keys_found()
    yield from _cache_found()


def _pythons_found() -> Iterator[_Finding]:
    from ..environment import interpreters

    found = interpreters.installed()
    text = ", ".join(interpreter.version for interpreter in found) or "none"
    yield (
        bool(found),
        "python",
        f"CPython {text} (agentproof runs on {sys.version.split()[0]})",
        ("install CPython 3.10 or newer; behind pyenv, select versions with PYENV_VERSION"),
    )


def _uv_found() -> Iterator[_Finding]:
    from ..environment import uv
    from ..errors import AgentproofError

    try:
        done = uv.run_uv(["--version"])
    except AgentproofError as error:
        yield False, "uv", error.message, error.hint or "python -m pip install uv"
    else:
        yield True, "uv", done.stdout.strip(), ""


def _index_found() -> Iterator[_Finding]:
    from ..environment import index, uv
    from ..errors import AgentproofError
    from ..sdk import KNOWN

    name = next(iter(KNOWN))
    question = ["pip", "compile", "-", "--no-deps", "--no-header", "--no-annotate", "--quiet"]
    settings = index.index_settings()
    try:
        done = uv.run_uv(question, stdin=name, environment=settings.environment, seconds=30)
        newest, said = done.stdout.strip(), done.stderr.strip()
    except AgentproofError as error:
        newest, said = "", error.message
    where = "the user's own index settings" if settings.places else "the default index"
    if newest:
        yield True, "index", f"{where} in reach; the newest is {newest}", ""
    else:
        reason = said.splitlines()[-1].strip() if said else "no answer"
        yield (
            False,
            "index",
            f"{where} not in reach: {reason}",
            ("set UV_DEFAULT_INDEX or pip's index-url, or record with --offline"),
        )


def _isolation_found() -> Iterator[_Finding]:
    from ..isolation import levels

    probes = levels.probe()
    chosen = next((probe for probe in probes if probe.works), None)
    for probe in probes:
        if probe.works:
            used = "used here; " if probe is chosen else ""
            tested = probe.self_test.replace("_", " ")
            text = f"{probe.level}: works ({used}self-test: {tested}; files: {probe.files})"
            yield True, "isolation", text, ""
        else:
            works = None if chosen is not None else False
            fix = levels.WAY_TO_NAMESPACES if sys.platform == "linux" else "record on Linux for more"
            yield works, "isolation", f"{probe.level}: {probe.why}", fix
    if chosen is not None and chosen.level == "namespace":
        yield True, "live", "`record --live` works here: a script can ask its provider through a relay", ""
    else:
        fix = levels.WAY_TO_NAMESPACES if sys.platform == "linux" else "record on Linux"
        yield None, "live", "`record --live` needs isolation level namespace; replays of it do too", fix


def _existing(path: Path) -> Path:
    """The path, else the nearest of its parents that is there."""
    return next(each for each in (path, *path.parents) if each.exists())


def _can_be_made(path: Path) -> bool:
    """Whether this user may write to the directory `path`, or make what is at `path`."""
    there = _existing(path)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _keys_found() -> Iterator[_Finding]:
    from ..errors import AgentproofError
    from ..trust import keyring, signing

    path = signing.default_key_path()
    try:
        if path.exists():
            key, _, _ = keyring.default_key()
            yield True, "key", f"{key.public.fingerprint} in {path}", ""
        elif _can_be_made(path):
            yield True, "key", "none yet: the first recording makes one", ""
        else:
            fix = "set AGENTPROOF_CONFIG_DIR to a directory that you may write to"
            yield False, "key", f"none yet, and {path} cannot be written", fix
        trusted = keyring.listed()
    except AgentproofError as error:
        yield False, "key", error.message, error.hint or "agentproof keygen --output FILE, then --key FILE"
        return
    count = len({line.principal for line in trusted})
    yield True, "trust", f"{count} others trusted" if count else "nobody but yourself", ""


def _cache_found() -> Iterator[_Finding]:
    from ..environment import cache, wheel_store

    root = wheel_store.cache_root()
    items = cache.list_cache(wheel_store.default_store())
    wheels = sum(item.kind == "wheel" for item in items)
    megabytes = sum(item.size for item in items) / 1e6
    if not _can_be_made(root):
        fix = "set AGENTPROOF_CACHE_DIR to a directory that you may write to"
        yield False, "cache", f"{root} cannot be written to", fix
        return
    free = shutil.disk_usage(_existing(root)).free / 1e9
    yield (
        free > 1,
        "cache",
        f"{wheels} wheels, {megabytes:.0f} MB with all else in {root}; {free:.0f} GB free",
        "`agentproof cache prune`, or set AGENTPROOF_CACHE_DIR",
    )
