"""`agentproof pack`: write a bundle as one file, or as text to paste.
`agentproof unpack`: write a bundle as a directory.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import OutputPath, examples

if TYPE_CHECKING:
    from ..bundle.store import Bundle


@examples(
    "agentproof pack bundles/CASE/0.20.0",
    "agentproof pack bundles/CASE/0.20.0 --thin --output thin.agentproof.zip",
    "agentproof pack report.agentproof.zip --text > comment.md",
)
@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=OutputPath(),
    help="Write this file. Default: CASE-VERSION.agentproof.zip in the current directory; text to the "
    "standard output.",
)
@click.option(
    "--text",
    is_flag=True,
    help="As text for a comment: a block of xz and base64, folded away, without the target wheel.",
)
@click.option(
    "--thin", is_flag=True, help="Leave the target wheel out; the bundle's id stays, readers bring the wheel."
)
@click.option("--replace", is_flag=True, help="Replace a file that is in the way.")
def pack(bundle: Path, *, output: Path | None, text: bool, thin: bool, replace: bool) -> None:
    """Write BUNDLE as one zip, to attach to an issue, or with --text as text, to paste into one.

    The zip is canonical: packing the same bundle again gives the same file. A bundle that a check
    finds INVALID is not packed. Every command that takes a bundle takes a file of such text too, or `-`;
    `issue.md#2` is the second bundle in it.
    """
    from ..bundle.store import STDIN, read_bundle, shelf_of, without_wheel, zip_bytes
    from ..errors import CannotDoError
    from ..system.files import is_stream, write_atomic
    from .reading import the_bundle

    bundle = the_bundle(bundle)
    read = read_bundle(bundle, wheels=shelf_of(bundle))
    _refuse_invalid(read, bundle)
    if text:
        _write_text(read, output or STDIN, replace=replace)
        return
    data = zip_bytes(without_wheel(read) if thin else _with_wheel(read, bundle))
    place = output or Path(_name_of(bundle, read))
    if not is_stream(place) and place.exists() and not replace and place.read_bytes() != data:
        raise CannotDoError(f"{place} exists and is another file", hint="--replace, or another --output")
    write_atomic(place, data)
    click.echo(f"  wrote {place} ({len(data) / 1e6:.1f} MB)", err=True)
    click.echo(str(place))


def _write_text(read: Bundle, place: Path, *, replace: bool) -> None:
    from ..errors import CannotDoError
    from ..render.embedded import MAX_COMMENT, as_sent, folded
    from ..system.files import is_stream, write_atomic

    data = f"{folded(read)}\n"
    if not is_stream(place) and place.exists() and not replace and place.read_text("utf-8") != data:
        raise CannotDoError(f"{place} exists and is another file", hint="--replace, or another --output")
    write_atomic(place, data.encode())
    size = as_sent(data)
    fits = (
        ""
        if size <= MAX_COMMENT
        else f": more than the {MAX_COMMENT:,} of a comment on GitHub; attach the zip"
    )
    click.echo(f"  wrote {size:,} characters{fits}", err=True)


@examples("agentproof unpack report.agentproof.zip", "agentproof unpack report.agentproof.zip --output DIR")
@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write this directory. Default: the file's name without its suffix.",
)
@click.option("--replace", is_flag=True, help="Replace another bundle that is in the way.")
def unpack(bundle: Path, *, output: Path | None, replace: bool) -> None:
    """Write BUNDLE as a directory, to read and to compare line by line.

    Nothing of it is run, and a bundle that a check finds INVALID is not unpacked.
    """
    from ..bundle.store import name_of, read_bundle, write_bundle
    from ..errors import UsageError
    from .reading import the_bundle

    if bundle.is_dir():
        raise UsageError(f"{bundle} is a directory already", hint="`agentproof pack` makes a zip of it")
    bundle = the_bundle(bundle)
    read = read_bundle(bundle)
    _refuse_invalid(read, bundle)
    place = output or Path(name_of(bundle, read))
    write_bundle(read, place, replace=replace)
    click.echo(f"  wrote {place} ({len(read.members) + len(read.attestations) + 1} files)", err=True)
    click.echo(str(place))


def _refuse_invalid(read: Bundle, path: Path) -> None:
    from ..check.bundle import Reader, check_bundle
    from ..check.members import is_comparison
    from ..errors import BundleError

    if is_comparison(read):
        from ..check.comparison import check_comparison

        check_comparison(read, reader=Reader())
        return
    report = check_bundle(read, reader=Reader()).report
    if report.status == "INVALID":
        failed = next(check for check in report.checks if check.status == "failed")
        raise BundleError(
            failed.reason or "invalid",
            f"{path} is INVALID: {failed.detail}",
            hint="`agentproof check-current-bundle` says more",
        )


def _with_wheel(read: Bundle, path: Path) -> Bundle:
    """The bundle with its target wheel, from the store's shelf or from the user's wheel store."""
    from ..bundle.store import WHEELS, Bundle
    from ..check.members import is_comparison
    from ..environment import wheel_store
    from ..errors import CannotDoError

    if is_comparison(read):
        return read  # with the wheels that it has
    target = read.document.target
    data = read.wheel(target.wheel)
    if data is None and wheel_store.default_store().get(target.sha256) is not None:
        data = wheel_store.default_store().read(target.sha256)
    if data is None:
        raise CannotDoError(
            f"{path}: {target.wheel} is neither in it nor in a wheel store",
            hint="--thin packs it without the wheel",
        )
    own = [each.wheel for each in read.document.environment.packages if each.origin is not None]
    held = {WHEELS + name: wheel for name in own if (wheel := read.wheel(name)) is not None}
    members = {**read.members, **held, WHEELS + target.wheel: data}
    return Bundle(read.manifest, members, read.attestations)


def _name_of(bundle: Path, read: Bundle) -> str:
    from ..bundle.store import ZIP_SUFFIX, name_of, shelf_of

    stem = name_of(bundle, read)
    return (
        f"{bundle.absolute().parent.name}-{stem}{ZIP_SUFFIX}" if shelf_of(bundle) else f"{stem}{ZIP_SUFFIX}"
    )
