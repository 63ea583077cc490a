"""`agentproof init`: write the skeleton of a reproduction."""

import re
from pathlib import Path

import click

from .group import examples


@examples("agentproof init", "agentproof init lost-approval --sdk 0.20.0")
@click.command()
@click.argument("name", default="reproduction")
@click.option(
    "--sdk",
    metavar="VERSION",
    help="The release of openai-agents that the script is about. Default: the newest when it is recorded.",
)
def init(name: str, *, sdk: str | None) -> None:
    """Write the skeleton of a reproduction: a script with a scripted model that can be recorded at once.

    Where there is a directory bundles/, it becomes bundles/NAME/reproduction.py; elsewhere NAME.py.
    """
    from ..errors import CannotDoError, UsageError
    from ..sdk import DEFAULT
    from ..system.files import write_atomic

    name = name.removesuffix(".py")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", name):
        raise UsageError(
            f"{name!r} is no name for a reproduction", hint="letters, digits, - and _, such as lost-approval"
        )
    if sdk is not None and not re.fullmatch(r"[0-9][A-Za-z0-9.!+]{0,40}", sdk):
        raise UsageError(f"--sdk {sdk}: no version", hint="such as --sdk 0.20.0")
    script = Path("bundles", name, "reproduction.py") if Path("bundles").is_dir() else Path(f"{name}.py")
    if script.exists():
        raise CannotDoError(f"{script} exists", hint="choose another NAME")
    words = name.replace("-", " ").replace("_", " ")
    values = {
        "REQUIREMENT": f"{DEFAULT.distribution}=={sdk}" if sdk else DEFAULT.distribution,
        "TITLE": words[:1].upper() + words[1:],
        "FILE": script.name,
    }

    source = Path(__file__).with_name("skeleton.txt").read_text("utf-8")
    write_atomic(script, re.sub(r"@@([A-Z]+)@@", lambda found: values[found[1]], source).encode())
    click.echo(str(script))
    click.echo(f"  next: edit it, then `agentproof record {script}`", err=True)
