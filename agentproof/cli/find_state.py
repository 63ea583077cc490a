"""`agentproof find-state`: say which recording a saved state comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import examples

if TYPE_CHECKING:
    from ..check.saved_states import StateOrigin


@examples(
    "agentproof find-state bundles/legacy-approval/saved/*.json",
    "agentproof find-state report.agentproof.zip --in older-report.agentproof.zip",
)
@click.command(name="find-state")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--in",
    "bundles",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Where to look: bundles, or directories of them; repeatable. Default: bundles/.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a state and line.")
@click.pass_context
def find_state(
    ctx: click.Context, files: tuple[Path, ...], *, bundles: tuple[Path, ...], as_json: bool
) -> None:
    """Say in which bundles the states in FILES were recorded.

    FILES hold a RunState's JSON, or are bundles whose reproductions carry some. A file is a state of a
    bundle if it is the same, byte for byte (`agentproof show BUNDLE --state S2 > FILE`). Exit 1 where a
    state is in no sound bundle.
    """
    from ..check import saved_states
    from ..errors import Exit
    from ..render.console import json_line, printable
    from .check import own_reader

    saved = {name: data for file in files for name, data in saved_states.read_saved(file).items()}
    found = list(saved_states.find_origins(saved, bundles or (Path("bundles"),), reader=own_reader()))
    for each in found:
        if as_json:
            origins = [
                {
                    "bundle": str(origin.bundle),
                    "status": origin.status,
                    "release": origin.release,
                    "states": {mode: list(labels) for mode, labels in (origin.states or {}).items()},
                }
                for origin in each.origins
            ]
            click.echo(json_line({"file": each.name, "sha256": each.sha256, "origins": origins}))
            continue
        mark = click.style("✓", fg="green") if each.is_known else click.style("✗", fg="red")
        told = [_told(origin) for origin in each.origins] or ["no bundle here holds this state"]
        click.echo(f"  {mark} {printable(each.name)}  {printable(told[0])}")
        for text in told[1:]:
            click.echo(f"    {'':<{len(each.name)}}  {printable(text)}")
    ctx.exit(Exit.YES if all(each.is_known for each in found) else Exit.NO)


def _told(origin: StateOrigin) -> str:
    if origin.release is None:
        return f"{origin.bundle} holds it too, but is {origin.status}"
    labels = list(dict.fromkeys(label for each in (origin.states or {}).values() for label in each))
    what = " and ".join(labels) or "a state"
    return f"{what} of {origin.bundle} ({origin.release}, {origin.status})"
