"""`agentproof compare`: say what is fixed, broken or still open on other targets.

The options that it shares with `bisect` and `matrix` are here too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .expecting import expectation_options, expectations_of, variable_options, variables_of
from .explain import echo_explained, explain_pairs, explain_too
from .group import OutputPath, chosen_key, examples, offline_option, require_isolation_option, timeout_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..check.bundle import CheckedBundle
    from ..compare.comparison import Expected, SignedComparison
    from ..record.conditions import Conditions
    from ..trust.signing import PrivateKey

_SHARED = (
    click.option(
        "--as-of",
        metavar="DATE|now",
        help="Ignore what was uploaded after this day (UTC). Default: for each target the day after it.",
    ),
    click.option(
        "--needs",
        "extra",
        multiple=True,
        metavar="REQUIREMENT|DIR|FILE.whl",
        help="Install this too, as with `record --with`, such as pytest for tests; repeatable.",
    ),
    offline_option,
    require_isolation_option,
    click.option(
        "--allow-sdk-changes",
        is_flag=True,
        help="Judge a script that changes the SDK all the same; every report says so.",
    ),
    timeout_option,
    click.option(
        "--key",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Sign with this Ed25519 private key. Default: your own, made on first use.",
    ),
)


def recording_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options about how reproductions are recorded."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def conditions_of(
    *,
    python: str | None,
    as_of: str | None,
    extra: tuple[str, ...],
    offline: bool,
    require_isolation: str | None,
    allow_sdk_changes: bool,
    timeout: int,
    **given: Any,  # Any: values of `expectation_options` and `variable_options`
) -> Conditions:
    """The shared options as the library takes them."""
    from ..isolation.supervision import Limits
    from ..record.conditions import Conditions, with_projects

    conditions = Conditions(
        python=python,
        as_of=as_of,
        requires=extra,
        offline=offline,
        require_isolation=require_isolation,
        allow_sdk_changes=allow_sdk_changes,
        limits=Limits(seconds=timeout),
        variables=variables_of(given),
        expectations=expectations_of(given),
    )
    return with_projects(conditions)


def signer_of(key: Path | None) -> PrivateKey:
    """The key to sign with."""
    return chosen_key(key, passphrase_env=None)


@examples(
    "agentproof compare reproduction.py --with 0.21.0 --with latest",
    "agentproof compare report.agentproof.zip --with ../openai-agents-python@my-branch",
    "agentproof compare bundles/lost-approval/0.20.0 --with latest --expect fixed",
)
@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--with",
    "targets",
    multiple=True,
    required=True,
    metavar="TARGET",
    help="A version, latest, a wheel file, or a checkout as DIR or DIR@REV; repeatable.",
)
@click.option(
    "--sdk",
    metavar="TARGET",
    help="What scripts are compared with. Default: the release that their header names.",
)
@expectation_options
@variable_options
@click.option(
    "--dirty", is_flag=True, help="Build a checkout given as DIR with its changes that are not committed."
)
@click.option(
    "--python",
    metavar="VERSION|PATH",
    help="The Python to record on. Default: a bundle's own minor version, else the one that runs agentproof.",
)
@recording_options
@click.option(
    "--expect",
    type=click.Choice(["fixed", "holds"]),
    help="Exit 1 unless every other target has each reproduction fixed (or still holding), or holding.",
)
@click.option(
    "--output",
    type=OutputPath(dir_okay=True),
    help="Write the comparison to this .zip or directory. Default: comparison.agentproof.zip.",
)
@click.option("--replace", is_flag=True, help="Replace another comparison that is in the way.")
@click.option(
    "--junit",
    type=OutputPath(),
    help="Write what became of each reproduction as JUnit XML to this file too.",
)
@explain_too
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a bundle.")
@click.option("--verbose", "-v", is_flag=True, help="Tell all that changed, also where all still holds.")
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    *,
    targets: tuple[str, ...],
    sdk: str | None,
    dirty: bool,
    python: str | None,
    key: Path | None,
    expect: Expected | None,
    output: Path | None,
    replace: bool,
    junit: Path | None,
    cause: Path | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    **shared: Any,  # Any: what `conditions_of` takes
) -> None:
    """Record the reproductions at PATHS on other targets and say what changed.

    PATHS are scripts, tests (FILE::NAME), bundles, or directories of scripts or bundles. Each is
    compared with its first recording: the bundle itself, or the script on the release that its header
    names. The result is one signed bundle that holds all recordings (several, numbered, where it would be
    too large). Exit 0, 1 where something regressed
    (or is not as expected), 4 where something could not be recorded.
    """
    from ..compare import comparison as comparing
    from ..compare.subjects import find_all
    from ..record.target import parse_target
    from ..render import console, console_comparison

    chosen = [parse_target(text, dirty=dirty) for text in targets]
    subjects = find_all(paths)
    comparing.check_place(output or Path("comparison.agentproof.zip"), replace=replace or output is None)
    conditions = conditions_of(python=python, **shared)
    with console.TerminalProgress(quiet=quiet) as progress:
        compared = comparing.compare(
            subjects,
            chosen,
            conditions=conditions,
            baseline=parse_target(sdk, option="--sdk") if sdk is not None else None,
            key=signer_of(key),
            progress=progress,
        )
    rows = [row for part in compared for row in part.rows]
    if not as_json:
        for line in console_comparison.render_comparison(rows, verbose=verbose):
            click.echo(line)
        click.echo()
    places = comparing.write_all(compared, output, replace=replace)
    for part, place in zip(compared, places, strict=True):
        if as_json:
            click.echo(
                console_comparison.comparison_json(
                    part.comparison, rows=part.rows, bundle_id=part.bundle_id, written=place
                )
            )
        else:
            click.echo(f"  {'wrote':<12}{place}  (comparison sha256:{part.bundle_id[:16]}…)")
    if junit is not None:
        from ..render import junit as _junit

        _junit.write(junit, map(_junit.row_suite, rows))
    if cause is not None:
        found = explain_pairs(list(pairs_of(compared)), cause, conditions=conditions, quiet=quiet)
        if as_json:
            for told, _ in found:
                click.echo(told.to_bytes(), nl=False)
        else:
            echo_explained(found)
    ctx.exit(comparing.exit_code(rows, expect=expect))


def pairs_of(
    compared: Sequence[SignedComparison],
) -> Iterator[tuple[CheckedBundle, CheckedBundle | None]]:
    """For each reproduction the first recording that shows it, beside the first that does not."""
    from ..check.bundle import Reader
    from ..check.comparison import check_comparison

    for part in compared:
        recordings = check_comparison(part.bundle, reader=Reader()).recordings
        for row in part.rows:
            told = [(cell.recorded.verdict, cell.recorded.bundle_id) for cell in row.cells if cell.recorded]
            shown = next((name for verdict, name in told if verdict == "violated"), None)
            good = next((name for verdict, name in told if verdict == "holds"), None)
            if shown is not None:
                yield recordings[shown], recordings[good] if good is not None else None
