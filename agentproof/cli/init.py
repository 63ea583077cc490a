"""`agentproof init`: write the skeleton of a reproduction, or a recorded one with a scripted model."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import examples, offline_option, require_isolation_option, timeout_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..models.manifest import Judgement
    from ..record.conditions import Conditions


@examples(
    "agentproof init",
    "agentproof init lost-approval --sdk 0.20.0",
    "agentproof init lost-approval --from live.agentproof.zip",
)
@click.command()
@click.argument("name", default="reproduction")
@click.option(
    "--sdk",
    metavar="VERSION",
    help="The release of openai-agents that the script is about. Default: the newest when it is recorded.",
)
@click.option(
    "--from",
    "bundle",
    type=click.Path(path_type=Path),
    metavar="BUNDLE",
    help="Write this bundle's script with a scripted model that gives the answers which its model gave, so "
    "that it runs without a provider. It is recorded first, and what differs is said.",
)
@offline_option
@require_isolation_option
@timeout_option
@click.pass_context
def init(
    ctx: click.Context,
    /,
    name: str,
    *,
    sdk: str | None,
    bundle: Path | None,
    offline: bool,
    require_isolation: str | None,
    timeout: int,
) -> None:
    """Write the skeleton of a reproduction: a script with a scripted model that can be recorded at once.

    Where there is a directory bundles/, it becomes bundles/NAME/reproduction.py; elsewhere NAME.py.

    With --from it is a recorded script, whose model gives the recorded answers. Exit 0 where the same claims
    are violated as in BUNDLE, 1 where others are.
    """
    from ..errors import CannotDoError, Exit, UsageError
    from ..isolation.supervision import Limits
    from ..record.conditions import Conditions
    from ..system.files import write_atomic

    name = name.removesuffix(".py")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", name):
        raise UsageError(
            f"{name!r} is no name for a reproduction", hint="letters, digits, - and _, such as lost-approval"
        )
    if sdk is not None and not re.fullmatch(r"[0-9][A-Za-z0-9.!+]{0,40}", sdk):
        raise UsageError(f"--sdk {sdk}: no version", hint="such as --sdk 0.20.0")
    if sdk is not None and bundle is not None:
        raise UsageError(
            "--sdk and --from both say which release it is about",
            hint="leave --sdk out: it is the bundle's",
        )
    script = Path("bundles", name, "reproduction.py") if Path("bundles").is_dir() else Path(f"{name}.py")
    if script.exists():
        raise CannotDoError(f"{script} exists", hint="choose another NAME")
    if bundle is not None:
        conditions = Conditions(
            offline=offline, require_isolation=require_isolation, limits=Limits(seconds=timeout)
        )
        same = _from_bundle(bundle, script, conditions)
        ctx.exit(Exit.YES if same else Exit.NO)
    write_atomic(script, _skeleton(name, script, sdk))
    click.echo(str(script))
    click.echo(f"  next: edit it, then `agentproof record {script}`", err=True)


def _skeleton(name: str, script: Path, sdk: str | None) -> bytes:
    from ..sdk import DEFAULT

    words = name.replace("-", " ").replace("_", " ")
    values = {
        "REQUIREMENT": f"{DEFAULT.distribution}=={sdk}" if sdk else DEFAULT.distribution,
        "TITLE": words[:1].upper() + words[1:],
        "FILE": script.name,
    }
    source = Path(__file__).with_name("skeleton.txt").read_text("utf-8")
    return re.sub(r"@@([A-Z]+)@@", lambda found: values[found[1]], source).encode()


def _from_bundle(path: Path, script: Path, conditions: "Conditions") -> bool:
    """Write a bundle's script with a scripted model; returns whether the same claims are violated by it."""
    from dataclasses import replace

    from ..bundle.store import shelf_of
    from ..check.bundle import check_path
    from ..errors import CannotDoError
    from ..models.expectations import to_options
    from ..record import replay
    from ..record.reproduction import reproduction_in
    from ..render import console
    from ..render.rescripted import rescripted
    from ..system.files import write_atomic
    from .check import own_reader
    from .reading import refuse_comparison, the_bundle

    path = the_bundle(path)
    checked = check_path(path, reader=own_reader(), wheels=shelf_of(path))
    refuse_comparison(checked.bundle, path)
    _, bundle, recorded, judged = replay.sound(checked)
    reproduction = reproduction_in(bundle)
    if len(reproduction.files) > 1:
        others = ", ".join(sorted(reproduction.files.keys() - {reproduction.entry})[:3])
        raise CannotDoError(
            f"{path}: its reproduction is more than one file ({others}), and one is what this writes",
            hint=f"`agentproof unpack {path}` gives them all",
        )
    hosts = reproduction.exchanges.hosts if reproduction.exchanges is not None else ()
    made = rescripted(
        reproduction.files[reproduction.entry],
        bundle.traces["as-written"],
        version=recorded.target.version,
        variables=[each.variable for each in hosts if each.variable is not None],
    )
    scripted = replace(reproduction, files={reproduction.entry: made.source}, exchanges=None)
    with console.TerminalProgress(quiet=False) as progress:
        seen, _ = replay.observe_again(checked, scripted, conditions=conditions, progress=progress)
    write_atomic(script, made.source)
    click.echo(str(script))
    differing = list(_differing(judged, seen.document.judgement))
    one = "a model for each agent gives" if made.by_agent else "one model gives"
    click.echo(f"  {one} the {made.answers} recorded answer{'' if made.answers == 1 else 's'}")
    violated = sorted({claim.id for claim in judged.claims if claim.status == "violated"})
    if not differing:
        what = (
            f"the same claims are violated: {', '.join(violated)}"
            if violated
            else "as there, no claim is violated"
        )
        click.echo(f"  {what}")
    else:
        for line in differing:
            click.echo(f"  {line}")
        click.echo(
            f"  why: what {', '.join(made.classes)} does with a request and an answer is not run here, and "
            "what a provider refuses the scripted model answers"
        )
    command = ["agentproof", "record", str(script), "--sdk", recorded.target.version]
    command += to_options(reproduction.expectations)
    click.echo(f"  next: `{shlex.join(command)}`", err=True)
    return not differing


def _differing(before: "Judgement", after: "Judgement") -> "Iterator[str]":
    """What is violated in one of the two alone, and a verdict that is another."""
    one, other = (
        {f"{claim.id} ({claim.mode})" for claim in each.claims if claim.status == "violated"}
        for each in (before, after)
    )
    if one - other:
        yield f"violated in the bundle alone: {', '.join(sorted(one - other))}"
    if other - one:
        yield f"violated with the scripted model alone: {', '.join(sorted(other - one))}"
    if not one ^ other and before.verdict != after.verdict:
        yield f"the verdict was {before.verdict}, and is {after.verdict}"
