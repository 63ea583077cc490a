"""`agentproof keygen`: make a signing key."""

from pathlib import Path

import click

from .group import examples


@examples("agentproof keygen", "agentproof keygen --output ci_key --comment ci@example.org")
@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the private key here and the public one beside it, with .pub. Default: your own key.",
)
@click.option("--comment", default="", help="Who holds the key; becomes part of the public key's line.")
def keygen(output: Path | None, comment: str) -> None:
    """Make an Ed25519 signing key, in OpenSSH's form and without a passphrase.

    Give the printed line to whoever shall trust your bundles: it is a line of their trust file.
    """
    from ..errors import UsageError
    from ..system.files import is_stream
    from ..trust import signing

    if output is not None and is_stream(output):
        raise UsageError(
            f"--output {output}: two files are written", hint="name a path; .pub is put beside it"
        )
    path = output or signing.default_key_path()
    public = signing.generate_key_file(path, comment=comment)
    click.echo(f"wrote {path} (mode 0600) and {path}.pub", err=True)
    click.echo(f"fingerprint {public.fingerprint}", err=True)
    click.echo(public.line)
