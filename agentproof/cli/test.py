"""`agentproof test`: write the test that the project merges, from a bundle."""

from __future__ import annotations

from pathlib import Path

import click

from .group import OutputPath, examples, offline_option, require_isolation_option, timeout_option


@examples(
    "agentproof test report.agentproof.zip --fixed 0.21.0",
    "agentproof test report.agentproof.zip --fixed ../checkout@my-branch --output tests/test_it.py",
)
@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--fixed",
    metavar="VERSION|WHEEL|DIR[@REV]",
    help="Where it is repaired: there the test must pass, and what is printed there may be asserted.",
)
@click.option(
    "--output", type=OutputPath(), help="Write it to this file. Default: test_….py in this directory."
)
@click.option("--replace", is_flag=True, help="Write over a file that is there.")
@click.option("--python", metavar="VERSION|PATH", help="The Python to run on. Default: the bundle's own.")
@offline_option
@require_isolation_option
@timeout_option
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
def test(
    bundle: Path,
    *,
    fixed: str | None,
    output: Path | None,
    replace: bool,
    python: str | None,
    offline: bool,
    require_isolation: str | None,
    timeout: int,
    quiet: bool,
) -> None:
    """Write what BUNDLE shows as a pytest file, as the SDK's own tests are written.

    It holds the script's agents and tools, and one assertion for each violated claim. This runs the bundle's
    script and the test, held in as `record` does: the test must fail on the bundle's release by its
    assertion, and with --fixed pass there. Where no assertion can be made, nothing is written (exit 4).
    """
    from ..bundle.store import shelf_of
    from ..check.bundle import check_path
    from ..errors import CannotDoError
    from ..isolation.supervision import Limits
    from ..record.conditions import Conditions
    from ..record.target import parse_target
    from ..render import console
    from ..system.files import is_stream, write_atomic
    from ..upstream.making import make_test
    from .check import own_reader
    from .reading import refuse_comparison, the_bundle

    bundle = the_bundle(bundle)
    checked = check_path(bundle, reader=own_reader(), wheels=shelf_of(bundle))
    refuse_comparison(checked.bundle, bundle)
    target = parse_target(fixed, option="--fixed") if fixed is not None else None
    conditions = Conditions(
        python=python, offline=offline, require_isolation=require_isolation, limits=Limits(seconds=timeout)
    )
    with console.TerminalProgress(quiet=quiet) as progress:
        made = make_test(checked, target, conditions=conditions, progress=progress)
        place = output or Path(made.name)
        if not is_stream(place) and place.exists() and not replace:
            raise CannotDoError(f"{place} is there already", hint="--replace, or another place with --output")
        progress.done("fails", f"on {made.base}: {made.failed.words()}")
        if made.repaired is not None:
            progress.done("passes", f"on {made.repaired}")
        progress.done("asserts", ", ".join(made.asserted))
        if made.left_out:
            progress.done("not asserted", f"{', '.join(made.left_out)}: no assertion of this test shows it")
        if checked.status == "UNTRUSTED":
            progress.done(
                "a stranger's", "its signer is none that you trust, and their code is in it: read it first"
            )
    write_atomic(place, made.source.encode())
    if not is_stream(place):
        click.echo(f"wrote {place} ({len(made.source.splitlines())} lines)")
