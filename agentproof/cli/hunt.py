"""`agentproof hunt`: draw random programs and find bugs of a release that nobody has reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .compare import conditions_of, recording_options, signer_of
from .group import examples

if TYPE_CHECKING:
    from ..hunt.hunting import Confirmed, Hunted

_AREAS = ("approvals", "agents", "guardrails", "sessions", "limits")
"""As `hunt.programs.AREAS`, which a test holds this to."""


@examples(
    "agentproof hunt --sdk latest --minutes 10",
    "agentproof hunt --source ../openai-agents-python@main --only sessions --seed 7",
)
@click.command()
@click.option("--sdk", metavar="VERSION|latest", help="The release to hunt on. Default: the newest.")
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Hunt on this wheel instead of a release.",
)
@click.option(
    "--source", metavar="DIR[@REV]", help="Hunt on a wheel built from this checkout, or a commit of it."
)
@click.option(
    "--minutes",
    type=click.FloatRange(0.05, 1440),
    default=5.0,
    show_default=True,
    help="How long to search; what is found is shrunk and recorded afterwards.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed draws other programs.")
@click.option("--only", type=click.Choice(_AREAS), help="Programs of this area alone.")
@click.option(
    "--also",
    multiple=True,
    metavar="VERSION",
    help="Say of each new finding whether it is seen on this release too. Repeatable.",
)
@click.option(
    "--known",
    "known_files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of findings that are no news, beside those that agentproof knows. Repeatable.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("hunt"),
    show_default=True,
    help="A directory for the findings: a script and a bundle each.",
)
@click.option("--python", metavar="VERSION|PATH", help="The Python to hunt on.")
@recording_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
def hunt(
    *,
    sdk: str | None,
    wheel: Path | None,
    source: str | None,
    minutes: float,
    seed: int,
    only: Any,  # Any: one of `_AREAS`, as click checked
    also: tuple[str, ...],
    known_files: tuple[Path, ...],
    output: Path,
    python: str | None,
    key: Path | None,
    as_json: bool,
    quiet: bool,
    **shared: Any,  # Any: what `conditions_of` takes
) -> None:
    """Draw programs of what an agent SDK offers, and look for what no program may show.

    Two things tell: the rules that every recording is held to, and the program itself, which must do the same
    when it is streamed, when its states go through JSON or into a fresh process, when a sibling of a state is
    resumed, and with tracing, hooks and other runs around it. What fails twice is shrunk, written as a short
    script and recorded as any script is; only that recording's verdict is told.

    Ctrl-C ends the search and keeps what was found. Programs run in the sandbox of `record`.
    """
    from ..hunt.hunting import Plan
    from ..hunt.hunting import hunt as hunted
    from ..hunt.known import read_known
    from ..record.target import check_targets, chosen_target, parse_target
    from ..render import console

    if sdk is None and wheel is None and source is None:
        sdk = "latest"
    target = chosen_target(sdk=sdk, wheel=wheel, source=source, dirty=False, sha256=None, as_of=None)
    assert target is not None  # noqa: S101  (one of the three is given)
    others = [parse_target(each, option="--also") for each in also]
    check_targets([target, *others])
    plan = Plan(
        seconds=60 * minutes,
        seed=seed,
        only=only,
        output=output,
        known=read_known(known_files),
        also=others,
    )
    conditions = conditions_of(python=python, **shared)
    signer = signer_of(key)
    with console.TerminalProgress(quiet=quiet) as progress:
        done = hunted(target, plan, conditions, key=signer, progress=progress)
    if as_json:
        click.echo(json.dumps(_shape(done), indent=2))
        return
    for line in _lines(done, output):
        click.echo(line)


def _lines(done: Hunted, output: Path) -> list[str]:
    lines = []
    if done.left_out:
        lines.append(f"  {'left out':<12}this release has no {', no '.join(done.left_out)}")
    for text, times in sorted(done.tally.ours.items()):
        lines.append(f"  {'our fault':<12}{text} ({times} times)")
    for each in done.confirmed:
        lines += _told(each)
    new, known = len(done.new), sum(each.known is not None for each in done.confirmed)
    unconfirmed = len(done.confirmed) - new - known
    counts = [f"{new} new", f"{known} known"] + ([f"{unconfirmed} not confirmed"] if unconfirmed else [])
    stopped = ", interrupted" if done.interrupted else ""
    where = f"; see {output}" if new else ""
    lines.append(f"{done.target}: {', '.join(counts)}{stopped}{where}")
    return lines


def _told(each: Confirmed) -> list[str]:
    finding = each.finding
    times = f"{finding.times} times in the search, first after {finding.first_seconds:.0f} s"
    if each.known is not None:
        return [f"  {'known':<12}{finding.signature}  ({each.known})"]
    label = "NEW" if each.problem is None else "unconfirmed"
    lines = [f"  {label:<12}{finding.signature}", f"  {'':<12}{finding.detail}"[:160]]
    lines.append(
        f"  {'':<12}{times}; {each.lines} lines after {finding.shrink_runs} runs in "
        f"{finding.shrink_seconds:.0f} s"
    )
    if each.problem is not None:
        lines.append(f"  {'':<12}{each.problem}")
    if each.place is not None:
        lines.append(f"  {'':<12}{each.place}")
    words = {True: "also on", False: "not on", None: "not asked on"}
    for seen, word in words.items():
        releases = [name for name, answer in each.elsewhere.items() if answer is seen]
        if releases:
            lines.append(f"  {'':<12}{word} {', '.join(releases)}")
    return lines


def _shape(done: Hunted) -> dict[str, object]:
    return {
        "target": done.target,
        "seconds": round(done.seconds, 1),
        "cpu_seconds": round(done.cpu_seconds, 1),
        "programs": done.tally.programs,
        "runs": done.tally.runs,
        "recorded": done.tally.recorded,
        "too_long": done.tally.too_long,
        "unsteady": dict(done.tally.unsteady),
        "ours": dict(done.tally.ours),
        "left_out": done.left_out,
        "interrupted": done.interrupted,
        "findings": [
            {
                "signature": str(each.finding.signature),
                "detail": each.finding.detail,
                "times": each.finding.times,
                "known": each.known,
                "problem": each.problem,
                "lines": each.lines,
                "shrink_runs": each.finding.shrink_runs,
                "shrink_seconds": round(each.finding.shrink_seconds, 1),
                "bundle": str(each.place) if each.place is not None else None,
                "elsewhere": each.elsewhere,
                "program": each.finding.program.to_shape(),
            }
            for each in done.confirmed
        ],
    }
