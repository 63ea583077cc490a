"""`agentproof cache`."""

import re

import click

from ._group import Group, examples

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
@click.option("--verbose", "-v", is_flag=True, help="One line an item.")
def list_items(*, verbose: bool) -> None:
    """Say how much is kept, by kind."""
    from .._environment import _cache, _wheels

    items = _cache.list_cache(_wheels.default_store())
    click.echo(str(_wheels.cache_root()))
    for kind in dict.fromkeys(item.kind for item in items):
        of_kind = [item for item in items if item.kind == kind]
        size = sum(item.size for item in of_kind) / 1e6
        click.echo(f"  {kind:<12}{len(of_kind):>6}  {size:>8.1f} MB")
        if verbose:
            for item in of_kind:
                origin = f"  ({item.origin})" if item.origin else ""
                click.echo(f"    {item.size / 1e6:>8.1f} MB  {item.label}{origin}")


@examples("agentproof cache prune --max-size 500M", "agentproof cache prune --unused-for 30")
@cache.command()
@click.option("--max-size", default="4G", show_default=True, metavar="SIZE", help="Keep no more than this.")
@click.option(
    "--unused-for", type=click.IntRange(min=0), metavar="DAYS", help="Remove what was not used for so long."
)
def prune(*, max_size: str, unused_for: int | None) -> None:
    """Remove leftovers and what was least recently used."""
    from .._environment import _cache, _wheels
    from ..errors import UsageError

    match = re.fullmatch(r"(\d+)([KMG]?)B?", max_size.upper())
    if match is None:
        raise UsageError(f"--max-size {max_size}: not a size", hint="such as 500M or 2G")
    pruned = _cache.prune(
        _wheels.default_store(),
        max_bytes=int(match[1]) * _UNITS[match[2]],
        unused_for=None if unused_for is None else unused_for * 86400.0,
    )
    left = f", and {pruned.abandoned} leftovers of killed processes" if pruned.abandoned else ""
    click.echo(f"removed {len(pruned.items)} items, {pruned.size / 1e6:.1f} MB{left}")
