"""`agentproof record`: record a script as a signed bundle."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .expecting import (
    expectation_options,
    expectations_of,
    live_of,
    live_options,
    variable_options,
    variables_of,
)
from .group import (
    ForScript,
    OutputPath,
    account_option,
    chosen_key,
    examples,
    key_options,
    offline_option,
    require_isolation_option,
    timeout_option,
)

if TYPE_CHECKING:
    from ..bundle.store import Bundle
    from ..compare.comparison import SignedComparison
    from ..record.reproduction import Reproduction


@examples(
    "agentproof record reproduction.py",
    "agentproof record reproduction.py --sdk 0.21.0 --expect holds",
    "agentproof record tests/test_pay.py::test_approval --with pytest --with pytest-asyncio",
    "OPENAI_API_KEY=... agentproof record reproduction.py --sdk 0.24.0 --live",
    "agentproof record reproduction.py --wheel dist/openai_agents-0.21.1-py3-none-any.whl",
)
@click.command(
    cls=ForScript,
    sections={
        "What to record": (
            "--entry",
            "--root",
            "--file",
            "--sdk",
            "--wheel",
            "--source",
            "--good",
            "--latest",
        ),
        "What should happen": (
            "--should-print",
            "--should-not-print",
            "--should-raise",
            "--should-not-raise",
            "--should-run",
            "--should-not-run",
            "--should-output",
            "--should",
        ),
        "A real model": ("--live", "--live-to", "--max-requests"),
        "Environment": ("--python", "--with", "--like", "--env", "--env-file", "--env-public"),
        "Isolation": ("--require-isolation", "--timeout", "--redact"),
        "Output": ("--output", "--as", "--expect", "--replace", "--json", "--verbose", "--quiet"),
    },
)
@click.argument("script")
@click.argument("arguments", nargs=-1)
@click.option(
    "--entry", metavar="FILE", help="What to run in SCRIPT, where that is a directory: a script or a test."
)
@expectation_options
@click.option(
    "--good",
    metavar="RELEASE|DIR@REV",
    help="It worked there: record it there too; the first difference that a user can see is a violation.",
)
@click.option(
    "--latest", is_flag=True, help="Record on the newest release too, and say whether it is still so there."
)
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder that is the reproduction: all that it holds can be used. Default: the script's own in "
    "a project (pyproject.toml, .git), elsewhere the script and the modules that it imports.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Take this along from beside a script that is in no project. Repeatable.",
)
@click.option(
    "--sdk",
    metavar="VERSION|latest|NAME==VERSION",
    help="The release to record on. Default: the one that the script's header names.",
)
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Record on this wheel instead of a release.",
)
@click.option(
    "--source",
    metavar="DIR[@REV]",
    help="Record on a wheel built from this checkout, or from a commit of it.",
)
@click.option("--dirty", is_flag=True, help="With --source DIR: as it stands, changes and all; marked so.")
@click.option("--sha256", metavar="HEX", help="Refuse any other target wheel than the one with this digest.")
@click.option(
    "--python",
    metavar="VERSION|PATH",
    help="The Python to record on (3.10 to 3.14), or a virtual environment of it. Default: the "
    "one that runs agentproof.",
)
@click.option(
    "--as-of",
    metavar="DATE|now",
    help="Ignore what was uploaded after this day (UTC). Default: the day after the release.",
)
@click.option(
    "--with",
    "extra",
    multiple=True,
    metavar="REQUIREMENT|DIR|FILE.whl",
    help="Install this too: of the index, or a project of your own, whose wheel goes along. Repeatable.",
)
@offline_option
@click.option(
    "--lock",
    "lock_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Build this lock (PEP 751, or requirements with hashes) instead of resolving.",
)
@click.option(
    "--like",
    metavar="PYTHON|DIR|FILE",
    help="The versions of an interpreter, a virtual environment, uv.lock or requirements.txt: "
    '"as on my machine".',
)
@variable_options
@live_options
@click.option(
    "--redact",
    is_flag=True,
    help="Take what looks like a secret out of the recording and go on; the bundle says how often.",
)
@click.option(
    "--redact-pattern",
    "redact_patterns",
    multiple=True,
    metavar="REGEX",
    help="This is a secret too; implies --redact. Repeatable.",
)
@require_isolation_option
@click.option(
    "--allow-sdk-changes",
    is_flag=True,
    help="Judge a script that changes the SDK all the same; every report says so.",
)
@timeout_option
@click.option(
    "--expect",
    type=click.Choice(["violated", "holds"]),
    help="Exit 0 only with this verdict. Default: exit 0 for either, 1 for inconclusive.",
)
@click.option(
    "--output",
    type=OutputPath(dir_okay=True),
    help="Write to this .zip or directory. Default: the store above the script, and a zip here.",
)
@click.option("--thin", is_flag=True, help="Leave the target wheel out of the zip; readers bring it.")
@key_options
@account_option
@click.option("--replace", is_flag=True, help="Replace a bundle with another id that is in the way.")
@click.option("--json", "as_json", is_flag=True, help="Print the check report of the bundle as JSON.")
@click.option("--verbose", "-v", is_flag=True, help="Name the rules that had nothing to judge.")
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
@click.pass_context
def record(
    ctx: click.Context,
    /,
    script: str,
    arguments: tuple[str, ...],
    *,
    entry: str | None,
    good: str | None,
    latest: bool,
    root: Path | None,
    files: tuple[Path, ...],
    sdk: str | None,
    wheel: Path | None,
    source: str | None,
    dirty: bool,
    sha256: str | None,
    python: str | None,
    as_of: str | None,
    extra: tuple[str, ...],
    offline: bool,
    lock_file: Path | None,
    like: str | None,
    redact: bool,
    redact_patterns: tuple[str, ...],
    require_isolation: str | None,
    allow_sdk_changes: bool,
    timeout: int,
    expect: str | None,
    output: Path | None,
    key: Path | None,
    passphrase_env: str | None,
    account: str | None,
    thin: bool,
    replace: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    **should: Any,  # Any: values of `expectation_options`, `variable_options` and `live_options`
) -> None:
    """Run SCRIPT in a fresh venv and write what happened as a signed bundle.

    The script is run as it is, without network and without your environment variables: as written and
    with its runs streamed, each twice. ARGUMENTS are passed on to it; write `--` before those that begin
    with a dash.

    SCRIPT may also be a directory (see --entry), or a test as pytest names it; then ARGUMENTS are more
    tests, and pytest must be in the environment (--with pytest).
    """
    from ..bundle.store import bundle_id
    from ..compare import comparison
    from ..errors import UsageError
    from ..isolation.supervision import Limits
    from ..record import recording
    from ..record.conditions import Conditions, with_projects
    from ..record.reproduction import as_answered, read_reproduction
    from ..record.selection import select
    from ..record.target import check_targets, chosen_target, parse_target
    from ..render import console

    target = chosen_target(sdk=sdk, wheel=wheel, source=source, dirty=dirty, sha256=sha256, as_of=as_of)
    if target is not None and target.text == "latest" and lock_file is not None:
        raise UsageError(
            "--sdk latest and --lock both say which release to take",
            hint="leave --sdk out, or use --like",
        )
    worked = parse_target(good, option="--good") if good is not None else None
    conditions = Conditions(
        live=live_of(should),
        variables=variables_of(should),
        expectations=expectations_of(should),
        python=python,
        as_of=as_of,
        lock_file=lock_file,
        like=like,
        requires=extra,
        offline=offline,
        require_isolation=require_isolation,
        allow_sdk_changes=allow_sdk_changes,
        redact=redact or bool(redact_patterns),
        redact_patterns=redact_patterns,
        limits=Limits(seconds=timeout),
    )
    selection = select(script, arguments, entry=entry, root=root)
    reproduction = read_reproduction(dataclasses.replace(selection, added=files))
    recording.check_request(reproduction, target, conditions, output=output, thin=thin)
    if worked is not None:
        check_targets([worked])
    signer = chosen_key(key, passphrase_env=passphrase_env, quiet=quiet, account=account)
    with console.TerminalProgress(quiet=quiet) as progress:
        conditions = with_projects(
            conditions, requires=reproduction.requires_python, progress=progress.working
        )
        bundle = recording.record(reproduction, target, conditions, key=signer, progress=progress)
        compared = None
        if worked is not None or latest:
            compared = comparison.against(
                bundle,
                as_answered(reproduction, bundle),
                dataclasses.replace(conditions, live=None),
                good=worked,
                latest=parse_target("latest") if latest else None,
                key=signer,
                progress=progress,
            )
    document = bundle.document
    if not as_json:
        # Before anything is written: what was seen is told even if the disk is full.
        for line in console.render_judgement(document, traces=bundle.traces, verbose=verbose):
            click.echo(line)
    if compared is not None:
        _tell_compared(
            ctx,
            compared,
            bundle,
            reproduction,
            output=output,
            replace=replace,
            as_json=as_json,
            expect=expect,
        )
    written = recording.write(bundle, reproduction, output=output, replace=replace, thin=thin)
    if as_json:
        from ..check.bundle import check_bundle
        from .check import own_reader

        report = check_bundle(bundle, reader=own_reader()).report
        click.echo(console.recorded_json(report, stored=written.stored, archive=written.archive))
    else:
        mine = " (you)" if key is None else f" ({key})"
        for line in console.render_written(
            document,
            bundle_id=bundle_id(bundle),
            signer=signer.public.fingerprint + mine,
            says=account,
            paths=[path for path in (written.stored, written.archive) if path is not None],
            kept=written.kept,
            taken=written.taken,
        ):
            click.echo(line)
    verdict = document.judgement.verdict
    if verdict == "violated" and expect is None and not quiet and not as_json:
        place = written.archive or written.stored or written.kept
        for line in console.wrapped(
            f"`agentproof report {place}` writes the issue", first="  next: ", rest="    "
        ):
            click.echo(line, err=True)
    if not as_json:
        own = bundle.members[document.reproduction.entry]
        for line in console.render_verdict(document, traces=bundle.traces, source=own):
            click.echo(line)
    _leave(ctx, verdict, expect)


def _leave(ctx: click.Context, verdict: str, expect: str | None) -> NoReturn:
    """Exit as the verdict, and what was expected of it, say."""
    from ..errors import Exit

    if expect is None:
        ctx.exit(Exit.NO if verdict == "inconclusive" else Exit.YES)
    if verdict != expect:
        click.echo(f"  expected {expect}, but the verdict is {verdict}", err=True)
    ctx.exit(Exit.YES if verdict == expect else Exit.NO)


def _tell_compared(
    ctx: click.Context,
    compared: "SignedComparison",
    recorded: "Bundle",
    reproduction: "Reproduction",
    *,
    output: Path | None,
    replace: bool,
    as_json: bool,
    expect: str | None,
) -> NoReturn:
    """Write a recording beside the others as one bundle, tell how it is not as there, and leave."""
    from ..compare import comparison
    from ..record.output import place_for
    from ..render import console_comparison

    (row,) = compared.comparison.rows
    document = recorded.document
    place = place_for(document, script=reproduction.script, root=reproduction.directory, output=None)
    written = comparison.write(compared, output or place.archive, replace=replace or output is None)
    verdict, own = document.judgement.verdict, row.cells[1 if row.good else 0]
    if own.visible is not None and verdict != "inconclusive":
        verdict = "violated"
    if as_json:
        click.echo(
            console_comparison.comparison_json(
                compared.comparison, rows=compared.rows, bundle_id=compared.bundle_id, written=written
            )
        )
    else:
        for line in console_comparison.render_against(
            row, document, traces=recorded.traces, path=written, bundle_id=compared.bundle_id
        ):
            click.echo(line)
    _leave(ctx, verdict, expect)
