"""`agentproof explain`: lead from a bundle to lines of the SDK."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import OutputPath, examples, offline_option, require_isolation_option, timeout_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..bundle.store import Bundle
    from ..check.bundle import CheckedBundle
    from ..models.explanation import ExplainedWheel, Explanation
    from ..record.conditions import Conditions
    from ..render.story import Story


@examples(
    "agentproof explain report.agentproof.zip --with 0.21.0",
    "agentproof explain report.agentproof.zip --output cause.json",
    "agentproof explain report.agentproof.zip --check cause.json",
)
@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--with",
    "other",
    metavar="VERSION|WHEEL|DIR[@REV]",
    help="Another release, older or newer, on which it behaves otherwise: what differs and ran is shown.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A checkout or mirror of the SDK, to name commits between the two releases. Nothing is fetched.",
)
@click.option("--python", metavar="VERSION|PATH", help="The Python to run on. Default: the bundle's own.")
@offline_option
@require_isolation_option
@timeout_option
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result to this JSON file, for --check, `report --cause` and `show --where`.",
)
@click.option(
    "--check",
    "given",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Run nothing: check that every line quoted in this file is a line of the wheel that it names.",
)
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A wheel to check against, where neither the bundle nor the wheel store has it; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
@click.pass_context
def explain(
    ctx: click.Context,
    bundle: Path,
    *,
    other: str | None,
    source: Path | None,
    python: str | None,
    offline: bool,
    require_isolation: str | None,
    timeout: int,
    output: Path | None,
    given: Path | None,
    wheels: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Say which lines of the SDK BUNDLE leads to.

    This runs the bundle's script, held in as `record` does, with a probe beside the recorder; where the
    evidence is not the bundle's it says so and explains nothing. With another release it names functions of
    which a line that differs ran; with the bundle's own alone, places to look at.
    """
    from ..bundle.store import shelf_of
    from ..check.bundle import check_path
    from ..errors import Exit, UsageError
    from ..isolation.supervision import Limits
    from ..record.conditions import Conditions
    from ..record.target import parse_target
    from ..render import console
    from ..render.cause import render_explanation
    from ..system.files import write_atomic
    from .check import own_reader
    from .reading import refuse_comparison, the_bundle

    bundle = the_bundle(bundle)
    checked = check_path(bundle, reader=own_reader(), wheels=shelf_of(bundle))
    refuse_comparison(checked.bundle, bundle)
    if given is not None:
        if other is not None or output is not None or source is not None:
            raise UsageError("--check runs nothing", hint="leave out --with, --source and --output")
        ctx.exit(Exit.YES if _check(bundle, given, wheels) else Exit.NO)
    if source is not None and other is None:
        raise UsageError("--source names commits between two releases", hint="give the other one: --with")
    from ..cause.commits import commits_between
    from ..cause.explain import explain as find

    conditions = Conditions(
        python=python, offline=offline, require_isolation=require_isolation, limits=Limits(seconds=timeout)
    )
    target = parse_target(other) if other is not None else None
    if source is None and target is not None:
        source = target.checkout
    with console.TerminalProgress(quiet=quiet) as progress:
        told = find(checked, target, conditions=conditions, progress=progress)
    if source is not None:
        commits, notes = commits_between(source, told)
        told = told.model_copy(update={"commits": commits, "notes": (*told.notes, *notes)})
    if output is not None:
        write_atomic(output, told.to_bytes())
        if not quiet:
            click.echo(f"  wrote {output}", err=True)
    if as_json:
        click.echo(told.to_bytes(), nl=False)
        return
    for line in render_explanation(told):
        click.echo(line)


explain_too = click.option(
    "--explain",
    "cause",
    type=OutputPath(),
    metavar="FILE",
    help="Also replay what differs in its verdict with a probe, say which lines of the SDK differ and ran, "
    "and write that to this JSON file, for `report --cause`.",
)
"""For commands that record on several targets."""


def explain_pairs(
    pairs: Sequence[tuple[CheckedBundle, CheckedBundle | None]],
    output: Path,
    *,
    conditions: Conditions,
    quiet: bool,
) -> list[tuple[Explanation, Path]]:
    """What `explain` says of each recording beside another one of the same reproduction, and where it was
    written: several are numbered.

    Raises:
        BundleError, UsageError, CannotDoError, RecorderError: as `cause.explain.explain`.
    """
    from ..cause.explain import explain as find
    from ..render import console
    from ..system.files import write_atomic

    found = []
    for number, (shown, other) in enumerate(pairs, start=1):
        with console.TerminalProgress(quiet=quiet) as progress:
            told = find(shown, other, conditions=conditions, progress=progress)
        place = output if len(pairs) == 1 else output.with_stem(f"{output.stem}-{number}")
        write_atomic(place, told.to_bytes())
        found.append((told, place))
    return found


def echo_explained(found: Sequence[tuple[Explanation, Path]]) -> None:
    """Print them."""
    from ..models.text import visible
    from ..render.cause import render_explanation

    for told, place in found:
        click.echo()
        for line in render_explanation(told):
            click.echo(line)
        click.echo(f"  {'wrote':<12}{visible(str(place))}")


def read_explanation(path: Path) -> Explanation:
    """What `explain` wrote to a file.

    Raises:
        UsageError: it is no such file.
    """
    from ..errors import FormatError, UsageError
    from ..models.explanation import Explanation
    from ..system.files import read_bounded

    data = read_bounded(path, limit=Explanation.MAX_BYTES, what="explanation")
    try:
        return Explanation.from_bytes(data)
    except FormatError as error:
        raise UsageError(
            f"{path} is not what `agentproof explain` writes: {error.message}",
            hint="agentproof explain BUNDLE --output FILE",
        ) from error


def explanations_of(paths: Sequence[Path], stories: Sequence[Story]) -> dict[str, Explanation]:
    """The same of several recordings, by their bundle ids; their lines are held to the wheels that are here,
    and what could not be is noted in them.

    Raises:
        UsageError: one is no such file, about none of these bundles, or quotes what is not in a wheel.
    """
    from ..errors import UsageError

    known = {story.report.bundle_id: story for story in stories}
    found: dict[str, Explanation] = {}
    for path in paths:
        told = read_explanation(path)
        story = known.get(told.bundle_id)
        if story is None:
            raise UsageError(
                f"{path} explains another bundle (sha256:{told.bundle_id[:8]}…)",
                hint="agentproof explain BUNDLE --output FILE",
            )
        wrong, missing = _problems(told, story.bundle, {})
        if wrong:
            raise UsageError(
                f"{path} quotes what is not so: {wrong[0]}",
                hint="`agentproof explain BUNDLE --check FILE` says all of it",
            )
        notes = (*told.notes, *(f"not held to its wheel here: {each}" for each in missing))
        found[told.bundle_id] = told.model_copy(update={"notes": notes})
    return found


def _problems(told: Explanation, bundle: Bundle, own: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """What is wrong, and what could not be checked; `own` are wheels by their SHA-256."""
    from ..bundle.digests import sha256
    from ..bundle.store import bundle_id
    from ..cause.checking import problems
    from ..environment import wheel_store

    def wheel_of(wheel: ExplainedWheel) -> bytes | None:
        attached = bundle.wheel(wheel.filename)
        for data in (own.get(wheel.sha256), attached):
            if data is not None and sha256(data) == wheel.sha256:
                return data
        return wheel_store.default_store().bytes_of(wheel.sha256)

    return problems(
        told,
        bundle_id=bundle_id(bundle),
        evidence_id=bundle.document.evidence_id,
        target=bundle.document.target,
        wheel_of=wheel_of,
    )


def _check(place: Path, given: Path, wheels: tuple[Path, ...]) -> bool:
    """Tell what is wrong; whether nothing is and nothing was left out."""
    from ..bundle.digests import sha256
    from ..bundle.store import read_bundle, shelf_of
    from ..cause.checking import lines_of
    from ..limits import MAX_WHEEL_BYTES
    from ..system.files import read_bounded

    told = read_explanation(given)
    own = {
        sha256(data): data
        for data in (read_bounded(each, limit=MAX_WHEEL_BYTES, what="--wheel") for each in wheels)
    }
    wrong, missing = _problems(told, read_bundle(place, wheels=shelf_of(place)), own)
    from ..models.text import visible

    for each in wrong:
        click.echo(f"  wrong         {visible(each)}")
    for each in missing:
        click.echo(f"  not checked   {visible(each)}")
    if not wrong:
        count = sum(1 for _ in lines_of(told))
        left = "; the lines of the wheels above were not checked" if missing else ""
        click.echo(f"  checked       {count} quoted lines, {len(told.functions)} functions{left}")
    return not wrong and not missing
