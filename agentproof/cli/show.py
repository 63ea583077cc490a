"""`agentproof show`: show what happened in a bundle, step by step."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import examples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..render.cause import Place
    from ..render.story import Story

_MAX_SAID = 4000


@examples(
    "agentproof show report.agentproof.zip",
    "agentproof show report.agentproof.zip --diff",
    "agentproof show report.agentproof.zip --state S2@11 --diff",
    "agentproof show report.agentproof.zip --exchanges",
)
@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--state", "spec", metavar="S2@11", help="Print this state as JSON: as it was at that event, or last."
)
@click.option("--diff", "diffs", is_flag=True, help="Show what each event changed in the states.")
@click.option(
    "--mode",
    type=click.Choice(["as-written", "streamed"]),
    help="Show this mode alone. Default: as written, and streamed where its steps differ.",
)
@click.option(
    "--exchanges", is_flag=True, help="Show what a provider was asked and answered (record --live), instead."
)
@click.option("--all", "everything", is_flag=True, help="Show hooks, spans, stream items and functions too.")
@click.option(
    "--where",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="What `agentproof explain --output FILE` wrote: tell the place of each step, too.",
)
def show(
    bundle: Path,
    *,
    spec: str | None,
    diffs: bool,
    mode: str | None,
    exchanges: bool,
    everything: bool,
    where: Path | None,
) -> None:
    """Show what happened in BUNDLE, step by step, without running any of it.

    Nested runs are indented; ∥ marks a step whose place beside the one before it is arbitrary, since the
    two happened in parallel.
    """
    from ..errors import UsageError
    from ..render import terminal
    from .check import own_reader
    from .reading import read_story

    story = read_story(bundle, reader=own_reader())
    if exchanges:
        _tell_exchanges(story, bundle)
        return
    tellings = [telling for telling in story.tellings if mode in (None, telling.mode)]
    if not tellings:
        raise UsageError(f"{bundle} holds no recording {mode}")
    if spec is not None and not diffs and not sys.stdout.isatty():
        # Into a file goes the state as it is kept: its SHA-256 is the digest by which others refer to it.
        state = terminal.state_at(tellings[0], spec)
        click.echo(story.bundle.members[f"states/{state}.json"], nl=False)
        return
    if spec is not None:
        lines = terminal.render_state(tellings[0], story, spec, diffs=diffs)
    else:
        places = _places(story, where) if where is not None else None
        lines = terminal.render_story(
            story,
            tellings=tellings,
            diffs=diffs,
            everything=everything,
            places=places,
            links=sys.stdout.isatty() and os.environ.get("TERM") != "dumb",
        )
    for line in lines:
        click.echo(line)


def _tell_exchanges(story: Story, bundle: Path) -> None:
    from ..errors import UsageError
    from ..render import terminal
    from ..render.exchanges import tell_exchanges

    if story.manifest.provider is None:
        raise UsageError(
            f"{bundle} holds no provider's answers: its script asked none",
            hint="agentproof record SCRIPT --live records a script with a real model",
        )
    for line in terminal.render_exchanges(story, tell_exchanges(story, limit=_MAX_SAID)):
        click.echo(line)


def _places(story: Story, where: Path) -> Mapping[tuple[str, int], Place]:
    """The place of each event by its mode and number, of an explanation of this very bundle."""
    from ..render.cause import places
    from .explain import explanations_of

    (told,) = explanations_of([where], [story]).values()
    return places(told)
