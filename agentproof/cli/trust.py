"""`agentproof trust`: say whose bundles you trust.
`agentproof sign`: endorse a bundle that somebody else recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import Group, chosen_key, examples, key_options

if TYPE_CHECKING:
    from ..trust.allowed_signers import Trust, TrustedKey


@examples(
    "agentproof trust add github:alice",
    "agentproof trust add alice.keys --as github:alice",
    "agentproof trust list",
)
@click.group(name="trust", cls=Group)
def trust() -> None:
    """Say whose bundles you trust, from now on.

    Keys come from files that you name: an OpenSSH allowed_signers file, or public keys as GitHub serves
    them under https://github.com/USER.keys. `trust add github:USER` asks GitHub for that file, once; no
    other command asks any server about keys.
    """


@examples(
    "agentproof trust add github:alice",
    "agentproof trust add github:alice --keys alice.keys",
    "agentproof trust add alice.keys --as github:alice",
)
@trust.command(name="add")
@click.argument("whom", metavar="FILE|github:USER")
@click.option(
    "--keys",
    "served",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What GitHub serves for github:USER, taken from there by you: no server is asked.",
)
@click.option(
    "--as",
    "principal",
    metavar="NAME",
    help="Whose keys these are, such as github:alice; needed where no line names anybody.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def add(whom: str, *, served: Path | None, principal: str | None, yes: bool) -> None:
    """Trust the Ed25519 keys in FILE, or those of github:USER, after showing their fingerprints.

    github:USER asks https://github.com/USER.keys, this once, and trusts those keys with recordings alone; the
    day is kept with them. Lines of an allowed_signers file keep their names and their limits (namespaces,
    valid-after, valid-before). --as gives the keys of one person another name; several people never get one.
    """
    from ..errors import UsageError
    from ..models.statement import GITHUB
    from ..trust import keyring
    from ..trust.allowed_signers import read_trust

    if whom.startswith(GITHUB):
        if principal is not None:
            raise UsageError(f"{whom} is a name already", hint="leave out --as")
        keys = _of_account(whom, served)
    elif served is not None:
        raise UsageError("--keys is for github:USER", hint=f"agentproof trust add {whom} --as NAME")
    else:
        keys = read_trust(Path(whom), principal=principal)
    principal = whom if whom.startswith(GITHUB) else principal
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


def _of_account(account: str, served: Path | None) -> Trust:
    from datetime import UTC, datetime

    from ..environment import github
    from ..errors import UsageError
    from ..limits import MAX_KEY_BYTES
    from ..models.statement import is_account
    from ..system.files import read_bounded, shown
    from ..trust import keyring

    if not is_account(account):
        raise UsageError(f"{account}: no name of a user on GitHub", hint="write github:USER")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    if served is not None:
        data = read_bounded(served, limit=MAX_KEY_BYTES, what="--keys")
        return keyring.of_account(data, account, source=shown(served), origin=f"file@{today}")
    data, address = github.served_keys(account, site=github.SITE)
    click.echo(f"  asked {address}", err=True)
    return keyring.of_account(data, account, source=address, origin=f"github.com@{today}")


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
    """Who a line is about, within which limits, and where it was taken from."""
    place, _, day = (line.origin or "").partition("@")
    taken = (
        f"as {place} served it on {day}"
        if place == "github.com"
        else f"from a {place} on {day}"
        if day
        else ""
    )
    return "  ".join(filter(None, (line.principal, line.limits, taken)))


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
