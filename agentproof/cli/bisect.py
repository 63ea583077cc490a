"""`agentproof bisect`: find the first release or commit that is bad, or fixed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from .compare import conditions_of, recording_options, signer_of
from .expecting import expectation_options, variable_options
from .explain import echo_explained, explain_pairs, explain_too
from .group import ForScript, OutputPath, examples

if TYPE_CHECKING:
    from ..bundle.store import Bundle
    from ..check.bundle import CheckedBundle


@examples(
    "agentproof bisect reproduction.py --bad 0.20.0 --good 0.24.0",
    "agentproof bisect report.agentproof.zip --bad 0.20.0 --good 0.9.0 --good 0.24.0",
    "agentproof bisect reproduction.py --source ../openai-agents-python --bad v0.20.0 --good main",
)
@click.command(cls=ForScript)
@click.argument("reproduction", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1)
@click.option("--bad", required=True, metavar="VERSION|REV", help="Where the violation is seen.")
@click.option(
    "--good",
    multiple=True,
    required=True,
    metavar="VERSION|REV",
    help="Where it is not: an older one finds the first bad, a newer one the first fixed. Once or twice.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path, file_okay=False),
    help="Search the commits of this checkout (first parents), building each one. Default: the releases.",
)
@click.option("--claim", metavar="ID", help="Ask about this claim alone instead of the verdict.")
@click.option(
    "--by",
    type=click.Choice(["verdict", "output"]),
    default="verdict",
    show_default=True,
    help="What tells good from bad: the verdict, or that the script prints what that end prints.",
)
@click.option("--python", metavar="VERSION|PATH", help="The Python to record on.")
@expectation_options
@variable_options
@recording_options
@click.option(
    "--output",
    type=OutputPath(dir_okay=True),
    help="Also write all recordings as one comparison bundle, to this .zip or directory.",
)
@click.option("--replace", is_flag=True, help="Replace what is at --output.")
@explain_too
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
def bisect(
    reproduction: Path,
    arguments: tuple[str, ...],
    *,
    bad: str,
    good: tuple[str, ...],
    source: Path | None,
    claim: str | None,
    by: str,
    python: str | None,
    key: Path | None,
    output: Path | None,
    replace: bool,
    cause: Path | None,
    as_json: bool,
    quiet: bool,
    **shared: Any,  # Any: what `conditions_of` takes
) -> None:
    """Find the release (or commit) at which the verdict of REPRODUCTION changes.

    REPRODUCTION is a script, a test (FILE::NAME; ARGUMENTS are more of them) or a bundle. Each claim that
    the bad end violates and the good end does not is searched for; those that change together are one
    answer. Recordings are kept, so that an interrupted search goes on where it was. What cannot be judged
    is skipped and named.
    """
    from ..compare import bisect as bisecting
    from ..compare import comparison as comparing
    from ..compare.search import Question
    from ..compare.subjects import find_subjects
    from ..errors import UsageError
    from ..render import console, console_comparison

    if len(good) > 2:
        raise UsageError("--good is given more than twice", hint="one older and one newer than --bad")
    if claim is not None and by == "output":
        raise UsageError("--claim and --by output exclude each other")
    subject, *others = find_subjects(reproduction, arguments)
    if others:
        raise UsageError(
            f"{reproduction}: {1 + len(others)} reproductions; bisect takes one", hint="name its script"
        )
    if output is not None:
        comparing.check_place(output, replace=replace)
    question = Question(by=cast(Literal["verdict", "output"], by), claim=claim)
    signer = signer_of(key)
    conditions = conditions_of(python=python, **shared)
    with console.TerminalProgress(quiet=quiet) as progress:
        recorder = comparing.Recorder(conditions, key=signer, progress=progress)
        if source is None:
            found = bisecting.bisect_releases(
                subject, good=good, bad=bad, question=question, recorder=recorder
            )
        else:
            found = bisecting.bisect_commits(
                subject, source.resolve(), good=good, bad=bad, question=question, recorder=recorder
            )
    if output is not None:
        comparing.write(comparing.packed([found.series], signer), output, replace=replace)
    explained = []
    if cause is not None:
        ends = dict.fromkeys(filter(None, map(found.ends, found.changes)))
        pairs = [(_checked(shown), _checked(other)) for shown, other in ends]
        explained = explain_pairs(pairs, cause, conditions=conditions, quiet=quiet)
    if as_json:
        places = [place for _, place in explained]
        click.echo(console_comparison.bisected_json(found, written=output, explained=places))
        return
    for line in console_comparison.render_bisected(found):
        click.echo(line)
    if output is not None:
        click.echo(f"  {'wrote':<12}{output}")
    if cause is None and any(not change.skipped for change in found.changes):
        click.echo(
            f"  {'next':<12}--explain FILE says which lines changed there and ran; recordings are kept"
        )
    echo_explained(explained)


def _checked(bundle: Bundle) -> CheckedBundle:
    from ..check.bundle import Reader, check_bundle

    return check_bundle(bundle, reader=Reader())
