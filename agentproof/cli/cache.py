"""`agentproof cache`: look at what is kept on this machine, or remove it."""

import re
import time

import click

from .group import Group, examples

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@examples("agentproof cache list", "agentproof cache prune --max-size 2G")
@click.group(name="cache", cls=Group)
def cache() -> None:
    """Look at what agentproof keeps on this machine, or remove it.

    Wheels by SHA-256, locks, bytecode, wheels built from checkouts and finished recordings. Everything
    there can be made or fetched again.
    """


@examples("agentproof cache list --verbose")
@cache.command(name="list")
@click.option("--verbose", "-v", is_flag=True, help="One line an item, the least recently used first.")
def list_items(*, verbose: bool) -> None:
    """Say how much is kept, by kind."""
    from ..environment import cache as _cache
    from ..environment import wheel_store

    items = _cache.list_cache(wheel_store.default_store())
    click.echo(str(wheel_store.cache_root()))
    for kind, (name, what) in _KINDS.items():
        of_kind = [item for item in items if item.kind == kind]
        if not of_kind:
            continue
        count = "" if kind == "uv" else str(len(of_kind))
        size = sum(item.size for item in of_kind)
        click.echo(f"  {name:<14}{count:>6} {_megabytes(size):>11}   {what}")
        for item in of_kind if verbose and kind != "uv" else ():
            origin = f" ({item.origin})" if item.origin else ""
            used = _ago(time.time() - item.used)
            click.echo(f"  {'':<20} {_megabytes(item.size):>11}   {used:<14} {item.label}{origin}")
    click.echo(f"  {'together':<20} {_megabytes(sum(item.size for item in items)):>11}")


_KINDS = {
    "wheel": ("wheels", "by SHA-256, hashed each time they are read"),
    "lock": ("locks", "what a release and all that it needs resolve to"),
    "bytecode": ("bytecode", "compiled once a lock"),
    "built": ("built wheels", "of commits"),
    "recording": ("recordings", "so that an interrupted comparison goes on"),
    "refused": ("refused recordings", "kept for a report on agentproof itself"),
    "uv": ("uv's cache", "unpacked wheels and index pages"),
}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _ago(seconds: float) -> str:
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{_counted(count, name)} ago"
    return "just now"


@examples("agentproof cache prune --max-size 500M", "agentproof cache prune --unused-for 30")
@cache.command()
@click.option("--max-size", default="4G", show_default=True, metavar="SIZE", help="Keep no more than this.")
@click.option(
    "--unused-for", type=click.IntRange(min=0), metavar="DAYS", help="Remove what was not used for so long."
)
def prune(*, max_size: str, unused_for: int | None) -> None:
    """Remove leftovers and what was least recently used."""
    from ..environment import cache as _cache
    from ..environment import wheel_store
    from ..errors import UsageError

    match = re.fullmatch(r"(\d+)([KMG]?)B?", max_size.upper())
    if match is None:
        raise UsageError(f"--max-size {max_size}: not a size", hint="such as 500M or 2G")
    pruned = _cache.prune(
        wheel_store.default_store(),
        max_bytes=int(match[1]) * _UNITS[match[2]],
        unused_for=None if unused_for is None else unused_for * 86400.0,
    )
    more = f", and {_counted(pruned.abandoned, 'leftover')} of killed processes" if pruned.abandoned else ""
    click.echo(f"removed {_counted(len(pruned.items), 'item')}, {_megabytes(pruned.size)}{more}")
    spared = f" (too much by {_counted(pruned.spared, 'item')}, used within the last hour)"
    click.echo(f"kept {_megabytes(pruned.left)}{spared if pruned.spared else ''}")


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
