"""`agentproof replay`: run a bundle's reproduction again and compare."""

from pathlib import Path
from typing import Any

import click

from .expecting import variable_options, variables_of
from .group import OutputPath, chosen_key, examples, offline_option, require_isolation_option, timeout_option


@examples(
    "agentproof replay report.agentproof.zip",
    "agentproof replay bundles/CASE/0.20.0 --python 3.12",
    "agentproof replay report.agentproof.zip --sign",
)
@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--python",
    metavar="VERSION|PATH",
    help="The Python to replay on. Default: the bundle's own version, else one of its minor version.",
)
@variable_options
@offline_option
@require_isolation_option
@timeout_option
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where all of it was seen again, add your `replayed` attestation, signed with this private key.",
)
@click.option("--sign", is_flag=True, help="The same with your own key.")
@click.option(
    "--output",
    type=OutputPath(dir_okay=True),
    help="Write the attested bundle to this .zip or directory. Default: into the bundle itself.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
@click.pass_context
def replay(
    ctx: click.Context,
    /,
    bundle: Path,
    *,
    python: str | None,
    offline: bool,
    require_isolation: str | None,
    timeout: int,
    key: Path | None,
    sign: bool,
    output: Path | None,
    as_json: bool,
    quiet: bool,
    **given: Any,  # Any: values of `variable_options`
) -> None:
    """Run the reproduction of BUNDLE again, in an environment of the same wheels, and compare what is seen.

    This runs the bundle's script, held in as `record` does. Exit 0 where the same evidence, judgement and
    conduct were seen, 1 where they were not or there is nothing to sign that was to be signed, 4 where the
    environment cannot be had.
    """
    from ..bundle.store import is_text, shelf_of
    from ..check.bundle import check_path
    from ..errors import Exit, UsageError
    from ..isolation.supervision import Limits
    from ..record import replay as replaying
    from ..record.conditions import Conditions
    from ..render import console, console_comparison
    from .check import own_reader
    from .reading import refuse_comparison, the_bundle

    if output is not None and key is None and not sign:
        raise UsageError(
            "--output without --key or --sign", hint="a replay writes nothing but its attestation"
        )
    bundle = the_bundle(bundle)
    if (key is not None or sign) and output is None and is_text(bundle):
        raise UsageError(
            f"{bundle}: nothing is written into a text",
            hint="--output FILE.agentproof.zip for the attested bundle",
        )
    signer = chosen_key(key, passphrase_env=None, quiet=quiet) if key is not None or sign else None
    conditions = Conditions(
        python=python,
        offline=offline,
        require_isolation=require_isolation,
        limits=Limits(seconds=timeout),
        variables=variables_of(given),
    )
    checked = check_path(bundle, reader=own_reader(), wheels=shelf_of(bundle))
    refuse_comparison(checked.bundle, bundle)
    with console.TerminalProgress(quiet=quiet) as progress:
        replayed = replaying.replay(checked, conditions=conditions, progress=progress)
    written = None
    if signer is not None and replayed.refusal is None:
        written = replaying.write_attested(replaying.attest(replayed, signer), output or bundle)
    if as_json:
        click.echo(console_comparison.replayed_json(replayed, path=str(bundle)))
    else:
        fingerprint = signer.public.fingerprint if signer is not None and written is not None else None
        for line in console_comparison.render_replayed(replayed, signer=fingerprint, written=written):
            click.echo(line)
    refused = signer is not None and written is None
    ctx.exit(Exit.YES if replayed.is_same and not refused else Exit.NO)
