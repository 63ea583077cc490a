"""`agentproof report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._group import chosen_key, examples

if TYPE_CHECKING:
    from ..check import Reader
    from ..report._story import Story


@examples(
    "agentproof report case-0.20.0.agentproof.zip --latest > issue.md",
    "agentproof report case-0.20.0.agentproof.zip --format html --output report.html",
    "agentproof report 0.20.0.agentproof.zip 0.21.0.agentproof.zip --format html --output both.html",
)
@click.command()
@click.argument("bundles", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html"]),
    default="markdown",
    show_default=True,
    help="The body of a GitHub issue, or one HTML file to look at.",
)
@click.option(
    "--trust",
    "trust_files",
    multiple=True,
    metavar="FILE|REV:PATH",
    help="Whom you trust: an OpenSSH allowed_signers file or public keys, one a line; repeatable.",
)
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A wheel that you hold; the report says whether the bundle is about it. Repeatable.",
)
@click.option(
    "--latest",
    is_flag=True,
    help="Record the reproduction on the latest release too and say whether it shows there; runs its script.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file. Default: to the standard output.",
)
def report(
    bundles: tuple[Path, ...],
    *,
    form: str,
    trust_files: tuple[str, ...],
    wheels: tuple[Path, ...],
    latest: bool,
    output: Path | None,
) -> None:
    """Describe BUNDLES for others, after checking them; without --latest nothing of them is run.

    The first is what the report is about. Further ones, and the others of a comparison, are recordings of
    the same reproduction on other releases. A bundle that a check finds INVALID gets no report (exit 5).
    """
    from .._files import write_atomic
    from ._reading import read_stories
    from .check import own_reader

    reader = own_reader(trust_files=tuple(map(str, trust_files)), wheels=wheels)
    stories = [(path.name, story) for path in bundles for story in read_stories(path, reader=reader)]
    if latest:
        stories.append(("latest.agentproof.zip", _on_the_latest(stories[0][1], reader)))
    (attachment, story), *others = stories
    if form == "markdown":
        from ..report.markdown import render_issue

        text = render_issue(story, attachment=attachment, others=[other for _, other in others])
    else:
        from ..report.html import render_page

        text = render_page([each for _, each in stories], files=[name for name, _ in stories])
    if output is not None:
        write_atomic(output, text.encode())
        click.echo(f"  wrote {output}", err=True)
    else:
        click.echo(text, nl=False)


def _on_the_latest(story: Story, reader: Reader) -> Story:
    """The same reproduction, recorded on the newest release that the index serves."""
    from .. import _render
    from .. import compare as comparing
    from .._targets import parse_target
    from ..check import check_bundle
    from ..errors import CannotDoError
    from ..report._story import tell

    subject = comparing.Subject(
        "the reproduction", arguments=story.manifest.reproduction.arguments, bundle=story.bundle
    )
    with _render.TerminalStory() as telling:
        key = chosen_key(None, passphrase_env=None)
        recorder = comparing.Recorder(comparing.Options(), key=key, story=telling)
        with recorder.request_of(subject) as request:
            attempt = recorder.attempt(subject.name, request, parse_target("latest"))
    if attempt.bundle is None:
        raise CannotDoError(f"--latest: {attempt.failed}", hint="leave --latest out to report without it")
    return tell(check_bundle(attempt.bundle, reader=reader))
