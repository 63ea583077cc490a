"""`agentproof matrix`: record many reproductions on many targets, in parallel."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .compare import conditions_of, recording_options, signer_of
from .group import OutputPath, examples

if TYPE_CHECKING:
    from ..compare.comparison import Expected


@examples(
    "agentproof matrix bundles/ --with 0.20.0 --with 0.21.0 --with 0.24.0 --python 3.11 --python 3.12",
    "agentproof matrix bundles/ --with latest --expect holds --jobs 8 --output nightly/",
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
    "--dirty", is_flag=True, help="Build a checkout given as DIR with its changes that are not committed."
)
@click.option(
    "--python", "pythons", multiple=True, metavar="VERSION", help="A Python to record on; repeatable."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=None,
    metavar="N",
    help="How many to record at a time. Default: one for each processor, as far as memory goes.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Record on this dask.distributed cluster (needs the extra `dask`), such as tcp://scheduler:8786.",
)
@recording_options
@click.option(
    "--expect",
    type=click.Choice(["fixed", "holds"]),
    help="Exit 1 unless each reproduction holds on every target, or is fixed on all but the first.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("matrix"),
    show_default=True,
    help="Write matrix.json and the recordings to this directory.",
)
@click.option(
    "--junit",
    type=OutputPath(),
    help="Write what became of each reproduction as JUnit XML to this file too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print matrix.json.")
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
@click.pass_context
def matrix(
    ctx: click.Context,
    paths: tuple[Path, ...],
    *,
    targets: tuple[str, ...],
    dirty: bool,
    pythons: tuple[str, ...],
    jobs: int | None,
    dask: str | None,
    as_of: str | None,
    extra: tuple[str, ...],
    offline: bool,
    require_isolation: str | None,
    allow_sdk_changes: bool,
    timeout: int,
    key: Path | None,
    expect: Expected | None,
    output: Path,
    junit: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Record the reproductions at PATHS on every target and Python, in parallel.

    Each is compared with the first target. What was recorded is kept: an interrupted matrix goes on
    where it was. Exit codes as of `compare`.
    """
    from ..compare import comparison as comparing
    from ..compare import executors
    from ..compare import matrix as recording
    from ..compare.subjects import find_all
    from ..record.target import parse_target
    from ..render import console, console_comparison

    subjects = find_all(paths)
    chosen = [parse_target(text, dirty=dirty) for text in targets]
    signer = signer_of(key)
    conditions = conditions_of(
        python=None,
        as_of=as_of,
        extra=extra,
        offline=offline,
        require_isolation=require_isolation,
        allow_sdk_changes=allow_sdk_changes,
        timeout=timeout,
    )
    with (
        executors.cluster(dask) if dask else executors.processes(jobs) as pool,
        console.TerminalProgress(quiet=quiet) as progress,
    ):
        conditions = replace(conditions, side_by_side=not pool.fills)
        work = recording.jobs_of(
            subjects, chosen, pythons or (None,), conditions=conditions, progress=progress
        )
        finished = recording.run_matrix(
            work, make_executor=pool.make, workers=pool.workers, output=output, key=signer, progress=progress
        )
    if as_json:
        click.echo((output / "matrix.json").read_text("utf-8"), nl=False)
    else:
        for line in console_comparison.render_matrix(finished):
            click.echo(line)
        click.echo(f"  {'wrote':<12}{output}{os.sep}")
    if junit is not None:
        from ..render import junit as _junit

        _junit.write(junit, map(_junit.row_suite, finished.rows))
    ctx.exit(comparing.exit_code(finished.rows, expect=expect, all_asked=True))
