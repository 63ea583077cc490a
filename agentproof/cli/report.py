"""`agentproof report`."""

from __future__ import annotations

from pathlib import Path

import click

from ._group import examples


@examples(
    "agentproof report case-0.20.0.agentproof.zip",
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
    type=click.Path(path_type=Path, dir_okay=False),
    help="Whom you trust: an OpenSSH allowed_signers file or public keys, one a line; repeatable.",
)
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A wheel that you hold; the report says whether the bundle is about it. Repeatable.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def report(
    bundles: tuple[Path, ...],
    *,
    form: str,
    trust_files: tuple[Path, ...],
    wheels: tuple[Path, ...],
    output: Path | None,
) -> None:
    """Describe BUNDLE for others, after checking it; nothing of it is run.

    A bundle that a check finds INVALID gets no report (exit 5). Further BUNDLES are recordings of the same
    reproduction on other releases, to compare with; the latest comes last.
    """
    from .._files import write_atomic
    from ._reading import read_story

    story, *others = (read_story(path, trust_files=trust_files, wheels=wheels) for path in bundles)
    if form == "markdown":
        from ..report.markdown import render_issue

        text = render_issue(story, attachment=bundles[0].name, others=others)
    else:
        from ..report.html import render_page

        text = render_page([story, *others], files=[path.name for path in bundles])
    if output is not None:
        write_atomic(output, text.encode())
        click.echo(f"wrote {output}", err=True)
    else:
        click.echo(text, nl=False)
