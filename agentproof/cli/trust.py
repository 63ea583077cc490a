"""`agentproof trust`: say whose bundles you trust.
`agentproof sign`: endorse a bundle that somebody else recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import Group, chosen_key, examples, key_options

if TYPE_CHECKING:
    from ..trust.allowed_signers import TrustedKey


@examples("agentproof trust add alice.keys --as github:alice", "agentproof trust list")
@click.group(name="trust", cls=Group)
def trust() -> None:
    """Say whose bundles you trust, from now on.

    Keys come from files that you name: an OpenSSH allowed_signers file, or public keys as GitHub serves
    them under https://github.com/USER.keys (download that file first; this tool asks no server).
    """


@examples("agentproof trust add alice.keys --as github:alice")
@trust.command(name="add")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--as",
    "principal",
    metavar="NAME",
    help="Whose keys these are, such as github:alice; needed where no line names anybody.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def add(file: Path, *, principal: str | None, yes: bool) -> None:
    """Trust the Ed25519 keys in FILE, after showing their fingerprints.

    Lines of an allowed_signers file keep their names and their limits (namespaces, valid-after,
    valid-before). --as gives the keys of one person another name; several people never get one.
    """
    from ..trust import keyring
    from ..trust.allowed_signers import read_trust

    keys = read_trust(file, principal=principal)
    lines = keyring.named(keys, principal=principal)
    for line in lines:
        click.echo(f"  ed25519 {line.key.fingerprint}  {_named(line)}")
    for kind, count in sorted(keys.skipped.items()):
        click.echo(f"  skipped {count} of type {kind}: only Ed25519 signs bundles")
    if not yes:
        names = ", ".join(dict.fromkeys(line.principal for line in lines))
        click.confirm(f"Trust {names} with these?", abort=True)
    added = keyring.add(keys, principal=principal)
    click.echo(f"{len(added)} of {len(keys.keys)} keys are new")


@examples("agentproof trust list")
@trust.command(name="list")
def list_keys() -> None:
    """List the keys that you trust, your own first."""
    from ..trust import keyring

    lines = keyring.own_trust().keys
    for line in lines:
        click.echo(f"{line.key.fingerprint}  {_named(line)}  {line.source}")
    if not lines:
        click.echo("nobody yet: agentproof trust add FILE --as NAME", err=True)


def _named(line: TrustedKey) -> str:
    """Who a line is about, and within which limits."""
    return f"{line.principal}  {line.limits}" if line.limits else line.principal


@examples("agentproof trust remove github:alice")
@trust.command(name="remove")
@click.argument("name")
def remove(name: str) -> None:
    """Trust no longer the key with this fingerprint, or all keys of this NAME."""
    from ..trust import keyring

    for line in keyring.remove(name):
        click.echo(f"removed {line.key.fingerprint}  {line.principal}")


@examples("agentproof sign report.agentproof.zip", "agentproof sign bundles/case/0.20.0 --key ci_key")
@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@key_options
def sign(bundle: Path, *, key: Path | None, passphrase_env: str | None) -> None:
    """Endorse BUNDLE: add your signature to a bundle that somebody else recorded.

    An endorsement says that you stand behind the bundle. It says nothing about having run it: for that,
    `agentproof replay --key`. Of a bundle as text the signed one is written to the standard output, as text.
    """
    from ..bundle.store import STDIN, Bundle, is_text, shelf_of, write_bundle, zip_bytes
    from ..check.bundle import Reader, check_path
    from ..errors import BundleError
    from ..render.embedded import folded
    from ..system.files import write_atomic
    from ..trust import signing
    from .reading import the_bundle

    bundle = the_bundle(bundle)
    signer = chosen_key(key, passphrase_env=passphrase_env)
    shelf = shelf_of(bundle)
    checked = check_path(bundle, reader=Reader(), wheels=shelf)
    held = checked.bundle  # what was checked is signed, and nothing is read again
    if held is None or checked.status == "INVALID":
        failed = next(check for check in checked.report.checks if check.status == "failed")
        raise BundleError(
            failed.reason or "invalid",
            f"not signed, because it is INVALID: {failed.detail}",
            path=str(bundle),
        )
    name, envelope = signing.attest_endorsed(held.manifest, signer)
    signed = Bundle(held.manifest, held.members, {**held.attestations, name: envelope})
    done = f"endorsed {checked.report.bundle_id} as {signer.public.fingerprint}"
    if is_text(bundle):
        write_atomic(STDIN, f"{folded(signed)}\n".encode())
        click.echo(done, err=True)
        return
    if bundle.is_dir():
        write_bundle(signed, bundle, wheels=shelf)
    else:
        write_atomic(bundle, zip_bytes(signed))
    click.echo(done)
