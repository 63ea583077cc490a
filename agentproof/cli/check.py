"""`agentproof check-current-bundle`: check bundles offline, without running them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from .group import OutputPath, examples

if TYPE_CHECKING:
    from datetime import datetime

    from ..check.bundle import Reader
    from ..check.trees import Tree
    from ..models.statement import Role


@examples(
    "agentproof check-current-bundle report.agentproof.zip --trust reporters",
    "agentproof check-current-bundle bundles/ --trust bundles/allowed_signers",
    "agentproof check-current-bundle report.agentproof.zip --wheel openai_agents-0.20.0-py3-none-any.whl",
)
@click.command(name="check-current-bundle")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--trust",
    "trust_files",
    multiple=True,
    metavar="FILE|REV:PATH",
    help="Whom you trust: an OpenSSH allowed_signers file or public keys, one a line, or such a file in a "
    "commit of the repository here (a base branch). Repeatable.",
)
@click.option(
    "--revoked",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keys that nothing makes trusted, by line or fingerprint.",
)
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="ROLE=N",
    help="Demand N trusted signers of a role (recorded, replayed, endorsed); repeatable.",
)
@click.option(
    "--accept",
    type=click.Choice(["replayed", "endorsed"]),
    multiple=True,
    help="Take this role of a trusted signer for enough where nobody whom you trust recorded it. Repeatable.",
)
@click.option("--at", metavar="TIME", help="Judge keys as of this time (2026-11-30 or 2026-11-30T02:00:00Z).")
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A wheel that you hold; the bundle must be about it. Repeatable.",
)
@click.option(
    "--known",
    "locks",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A lock with hashes of yours (uv.lock, pylock.toml, requirements.txt). Repeatable.",
)
@click.option(
    "--source",
    "checkouts",
    multiple=True,
    metavar="DIR[@REV]",
    help="Compare the wheel's files with this checkout, or with a commit of it. Repeatable.",
)
@click.option(
    "--installed",
    multiple=True,
    metavar="PYTHON",
    help="Compare them with the package installed for this interpreter. Repeatable.",
)
@click.option("--allow-intact", is_flag=True, help="Exit 0 for INTACT too.")
@click.option(
    "--expect",
    type=click.Choice(["violated", "holds"]),
    help="Exit 1 for a sound bundle with another verdict.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a bundle and line.")
@click.option("--verbose", "-v", is_flag=True, help="Print what rests on the recorder's word alone, too.")
@click.option("--quiet", "-q", is_flag=True, help="Print the one word and what it means.")
@click.option(
    "--junit",
    type=OutputPath(),
    help="Write checks and claims as JUnit XML to this file too.",
)
@click.pass_context
def check_current_bundle(
    ctx: click.Context,
    paths: tuple[Path, ...],
    *,
    trust_files: tuple[str, ...],
    revoked: Path | None,
    thresholds: tuple[str, ...],
    accept: tuple[Role, ...],
    at: str | None,
    wheels: tuple[Path, ...],
    locks: tuple[Path, ...],
    checkouts: tuple[str, ...],
    installed: tuple[str, ...],
    allow_intact: bool,
    expect: str | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    junit: Path | None,
) -> None:
    """Check the bundles at PATHS (default: bundles/), zips or directories of any depth.

    Offline: nothing of a bundle is run, and the SDK is not imported. Exit 0 for CURRENT, 6 INTACT,
    5 UNTRUSTED or INVALID, 3 STALE; of several bundles the worst counts.
    """
    from ..bundle.store import find_bundles
    from ..check.bundle import exit_code
    from ..check.many import check_many
    from ..errors import Exit, UsageError
    from ..render import console
    from ..system.files import shown

    reader = own_reader(
        trust_files=trust_files,
        revoked=revoked,
        thresholds=_thresholds(thresholds),
        accept=accept,
        at=_moment(at),
        wheels=wheels,
        locks=locks,
        checkouts=checkouts,
        installed=installed,
    )
    found = [bundle for path in paths or (Path("bundles"),) for bundle in find_bundles(path)]
    if not found:
        where = ", ".join(str(path) for path in paths) or "bundles/"
        raise UsageError(f"{where}: no bundle there", hint="name a .agentproof.zip or a directory")
    wanted = cast(Literal["violated", "holds"] | None, expect)  # click.Choice gave one of them
    reports = []
    codes: set[Exit] = set()
    for path, report in zip(found, check_many(found, reader=reader), strict=True):
        reports.append(report)
        codes.add(exit_code(report, expect=wanted, allow_intact=allow_intact))
        if as_json:
            click.echo(console.report_json(report))
            continue
        if len(found) > 1:
            click.echo(click.style(console.printable(shown(path)), bold=True))
        for line in console.render_report(report, verbose=verbose, quiet=quiet):
            click.echo(line)
    if len(reports) > 1 and not as_json:
        click.echo(console.render_summary(reports))
    _hint_at_signers(paths, reader)
    if junit is not None:
        from ..render import junit as _junit

        _junit.write(
            junit, [_junit.check_suite(each, expect=wanted, allow_intact=allow_intact) for each in reports]
        )
    ctx.exit(next(code for code in _WORST_FIRST if code in codes))


_WORST_FIRST = (5, 3, 6, 1, 0)
"""Exit codes as they outrank one another: INVALID or UNTRUSTED, STALE, INTACT, no, yes."""


def own_reader(
    *,
    trust_files: tuple[str, ...] = (),
    revoked: Path | None = None,
    thresholds: dict[Role, int] | None = None,
    accept: tuple[Role, ...] = (),
    at: datetime | None = None,
    wheels: tuple[Path, ...] = (),
    locks: tuple[Path, ...] = (),
    checkouts: tuple[str, ...] = (),
    installed: tuple[str, ...] = (),
) -> Reader:
    """The user's own configuration and wheel store, and what they named beside them."""
    from ..check.bundle import Reader
    from ..check.lock_files import read_known
    from ..check.source import Sources, read_held_wheel
    from ..environment import wheel_store
    from ..trust import keyring
    from ..trust.allowed_signers import read_revoked, read_trust

    trust = keyring.own_trust()
    store = wheel_store.default_store()
    trees: dict[str, tuple[Tree, ...]] = {}
    for file in trust_files:
        if ":" not in file:
            trust |= read_trust(Path(file))
            continue
        from ..environment import (
            reader as _holdings,  # 5 ms, and it may ask git, which a plain check never does
        )

        trust |= _holdings.trust_argument(file)
    if checkouts or installed:
        from ..environment import reader as _holdings  # may ask git or an interpreter

        trees["checkouts"] = tuple(_holdings.checkout_tree(text) for text in checkouts)
        trees["installed"] = tuple(_holdings.installed_tree(python) for python in installed)
    if revoked is not None:
        trust |= read_revoked(revoked)
    return Reader(
        trust=trust,
        sources=Sources(
            wheels=tuple(read_held_wheel(path) for path in wheels),
            locks=tuple(read_known(path) for path in locks),
            provenance=store.provenance,
            stored=store.bytes_of,
        ),
        at=at,
        thresholds=thresholds or {},
        accept=frozenset(accept),
        **trees,
    )


def _thresholds(texts: tuple[str, ...]) -> dict[Role, int]:
    from ..errors import UsageError
    from ..models.statement import ROLES

    found: dict[Role, int] = {}
    for text in texts:
        role, equals, number = text.partition("=")
        if role not in ROLES.values() or not equals or not number.isdecimal() or int(number) < 1:
            raise UsageError(f"--threshold {text}: write ROLE=N", hint=f"roles: {', '.join(ROLES.values())}")
        found[cast("Role", role)] = int(number)  # one of ROLES.values(), which are roles
    return found


def _moment(text: str | None) -> datetime | None:
    from datetime import UTC, datetime

    from ..errors import UsageError

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--at {text}: not a time", hint="write 2026-11-30 or 2026-11-30T02:00:00Z"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _hint_at_signers(paths: tuple[Path, ...], reader: Reader) -> None:
    """A trust file that lies there is named, never used: what is checked must not name its judges."""
    candidate = Path("bundles/allowed_signers")
    if not reader.trust.given and not paths and candidate.exists():
        click.echo(f"  hint: --trust {candidate}, if you trust who wrote it", err=True)
