"""`agentproof minimise`: find a smaller script that shows the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .expecting import expectation_options, expectations_of
from .group import OutputPath, examples, offline_option, require_isolation_option, timeout_option


@examples(
    "agentproof minimise repro.py --sdk 0.20.0 --good 0.21.0",
    "agentproof minimise report.agentproof.zip --good 0.21.0 --output small.py",
)
@click.command()
@click.argument("script", metavar="SCRIPT|BUNDLE", type=click.Path(path_type=Path))
@click.option(
    "--sdk", metavar="VERSION|WHEEL|DIR[@REV]", help="Where the bug is. Default: as the header says."
)
@click.option("--good", metavar="VERSION|WHEEL|DIR[@REV]", help="Where it works: there nothing may be shown.")
@expectation_options
@click.option("--output", type=OutputPath(), help="Write it to this file. Default: NAME-small.py here.")
@click.option("--replace", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--runs",
    type=click.IntRange(1, 5000),
    default=300,
    show_default=True,
    help="Try so many smaller scripts at most.",
)
@click.option("--python", metavar="VERSION|PATH", help="The Python to run on. Default: the bundle's own.")
@offline_option
@require_isolation_option
@timeout_option
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
def minimise(
    script: Path,
    *,
    sdk: str | None,
    good: str | None,
    output: Path | None,
    replace: bool,
    runs: int,
    python: str | None,
    offline: bool,
    require_isolation: str | None,
    timeout: int,
    quiet: bool,
    **given: Any,  # Any: values of `expectation_options`
) -> None:
    """Take away from SCRIPT what is not needed to show the bug.

    Statements, arguments, tools, agents, answers and imports go as long as the same claims are violated in
    the same way, and with --good are not violated there. What is left is recorded in the ordinary way before
    it is written. Ctrl-C keeps the best so far.
    """
    from dataclasses import replace as changed

    from ..errors import CannotDoError
    from ..isolation.supervision import Limits
    from ..record.conditions import Conditions
    from ..record.recording import locked
    from ..record.target import parse_target
    from ..render import console
    from ..system.files import is_stream, write_atomic
    from ..upstream import minimising
    from .reading import named_reproduction

    conditions = Conditions(
        python=python,
        offline=offline,
        require_isolation=require_isolation,
        limits=Limits(seconds=timeout),
        expectations=expectations_of(given),
    )
    place = output or Path(f"{script.name.partition('.')[0]}-small.py")
    if not is_stream(place) and place.exists() and not replace:
        raise CannotDoError(f"{place} is there already", hint="--replace, or another place with --output")
    target = parse_target(sdk, option="--sdk") if sdk is not None else None
    with console.TerminalProgress(quiet=quiet) as progress:
        reproduction, lock = named_reproduction(script, target, conditions=conditions, progress=progress)
        other = None
        if good is not None:
            same = changed(conditions, python=str(lock.python.path))
            other = locked(reproduction, parse_target(good, option="--good"), same, progress)
        found = minimising.minimise(
            reproduction, lock, other, conditions=conditions, progress=progress, most=runs
        )
        before, after = found.lines
        pace = found.runs / max(found.seconds, 0.1)
        progress.done("tried", f"{found.runs} smaller scripts in {found.seconds:.0f} s ({pace:.1f} a second)")
        if found.stopped is not None:
            progress.done("stopped", f"by {found.stopped}: what was smallest then")
        progress.done("recorded", f"{', '.join(found.claims)}: still violated, twice in each mode")
    write_atomic(place, found.text.encode())
    if not is_stream(place):
        click.echo(f"wrote {place} ({before} lines before, {after} now)")
