"""`agentproof report`: describe a bundle for an issue, or as a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import OutputPath, chosen_key, examples

if TYPE_CHECKING:
    from ..check.bundle import Reader
    from ..render.groups import Attachment, Group
    from ..render.story import Story


@examples(
    "agentproof report case-0.20.0.agentproof.zip --latest > issue.md",
    "agentproof report case-0.20.0.agentproof.zip --format html --output report.html",
    "agentproof report 0.20.0.agentproof.zip 0.21.0.agentproof.zip --format html --output both.html",
    "agentproof report bundles/ --format summary",
)
@click.command()
@click.argument("bundles", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html", "summary"]),
    default="markdown",
    show_default=True,
    help="The body of a GitHub issue; one HTML file to look at; or a Markdown table, a line a bundle.",
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
    "--cause",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="What `agentproof explain --output FILE` wrote of the bundle: a section of the issue.",
)
@click.option(
    "--output",
    type=OutputPath(),
    help="Write to this file. Default: to the standard output.",
)
@click.option("--quiet", "-q", is_flag=True, help="Do not tell the steps.")
def report(
    bundles: tuple[Path, ...],
    *,
    form: str,
    trust_files: tuple[str, ...],
    wheels: tuple[Path, ...],
    latest: bool,
    cause: Path | None,
    output: Path | None,
    quiet: bool,
) -> None:
    """Describe BUNDLES for others, after checking them; without --latest nothing of them is run.

    The first is what an issue is about. Further ones, and the others of a comparison, are recordings of the
    same reproduction on other releases. A page may tell of several reproductions. A bundle that a check
    finds INVALID gets no report (exit 5); in a summary, which takes directories too, it is a line that says
    so.
    """
    from ..errors import UsageError
    from ..system.files import write_atomic
    from .check import own_reader

    reader = own_reader(trust_files=trust_files, wheels=wheels)
    if cause is not None and form != "markdown":
        raise UsageError("--cause is a section of an issue", hint="leave out --format")
    if form == "summary":
        if latest:
            raise UsageError("--latest is for an issue or a page", hint="`agentproof compare --with latest`")
        text = _summary(bundles, reader)
    else:
        text = _described(bundles, form, reader, latest=latest, cause=cause, quiet=quiet)
    if output is not None:
        write_atomic(output, text.encode())
        if not quiet:
            click.echo(f"  wrote {output}", err=True)
    else:
        click.echo(text, nl=False)


def _summary(bundles: tuple[Path, ...], reader: Reader) -> str:
    from ..render.summary import render_summary
    from .reading import read_entries

    return render_summary(read_entries(bundles, reader=reader))


def _described(
    bundles: tuple[Path, ...], form: str, reader: Reader, *, latest: bool, cause: Path | None, quiet: bool
) -> str:
    from ..bundle.store import find_bundles
    from ..errors import UsageError
    from ..render.groups import Attachment
    from .reading import read_groups

    if form == "html":
        # A matrix, a folder of recordings: a page may tell of several.
        bundles = tuple(found for path in bundles for found in find_bundles(path))
    groups = read_groups(bundles, reader=reader)
    if form == "markdown":
        groups = _newest(groups, bundles, quiet=quiet)
    first = groups[0]
    if len(groups) > 1 and (form == "markdown" or latest):
        names = ", ".join(group.name for group in groups[:6])
        asked = "--latest" if latest else "an issue"
        raise UsageError(
            f"{asked} is about one reproduction; these are {len(groups)}: {names}",
            hint="--format summary or --format html tells of several",
        )
    if not first.recordings:
        raise UsageError(f"{first.name} could be recorded on none of its targets: nothing to report")
    if latest:
        newest = Attachment(_on_the_latest(first.stories[0], reader, quiet=quiet), "latest.agentproof.zip")
        groups = [replace(first, recordings=(*first.recordings, newest))]
    if form == "html":
        from ..render.html import render_page

        return render_page(groups)
    from ..render.markdown import render_issue
    from .explain import explanation_of

    (group,) = groups
    story, *others = group.stories
    lead = None
    if group.row is not None and group.row.good and others:
        # The first is where it worked; the issue is about the other one.
        from ..render.outcomes import visible_words

        good, (story, *others) = story, others
        others = [good, *others]
        lead = visible_words(group.row.cells[1], group.row)
    told = explanation_of(cause, story.report.bundle_id) if cause is not None else None
    attached = group.recordings[0].file
    return render_issue(story, attachment=attached, others=others, lead=lead, cause=told)


def _without_failed(group: Group, *, quiet: bool) -> Group:
    """A reproduction without its inconclusive recordings, where another one on the same target concludes."""
    if group.row is not None:
        return group

    def target(each: Attachment) -> str:
        return each.story.manifest.target.sha256

    told = {target(each) for each in group.recordings if each.story.verdict.status != "inconclusive"}
    failed = [
        each
        for each in group.recordings
        if each.story.verdict.status == "inconclusive" and target(each) in told
    ]
    if not failed:
        return group
    kept = tuple(each for each in group.recordings if each not in failed)
    if not quiet:
        left = ", ".join(each.file for each in failed)
        click.echo(f"  chosen        {kept[0].file}; {left} concluded nothing", err=True)
    return replace(group, recordings=kept)


def _newest(groups: list[Group], bundles: tuple[Path, ...], *, quiet: bool) -> list[Group]:
    """The one to report of several attempts at one script, which was changed between them: the newest that
    concludes something; it is said which."""
    groups = [_without_failed(group, quiet=quiet) for group in groups]
    entries = {story.manifest.reproduction.entry for group in groups for story in group.stories}
    if len(groups) < 2 or len(entries) != 1 or any(group.row is not None for group in groups):
        return groups
    written = {path.name: path.stat().st_mtime for path in bundles if path.exists()}

    def rank(group: Group) -> tuple[bool, float]:
        conclusive = any(story.verdict.status != "inconclusive" for story in group.stories)
        return conclusive, max((written.get(each.file, 0.0) for each in group.recordings), default=0.0)

    chosen = max(groups, key=rank)
    if not quiet:
        left = ", ".join(group.name for group in groups if group is not chosen)
        click.echo(
            f"  chosen        {chosen.name}, the newest that concludes something; not {left}", err=True
        )
    return [chosen]


def _on_the_latest(story: Story, reader: Reader, *, quiet: bool) -> Story:
    """The same reproduction, recorded on the newest release that the index serves."""
    from ..check.bundle import check_bundle
    from ..compare import comparison as comparing
    from ..compare.subjects import Subject
    from ..errors import CannotDoError
    from ..record.conditions import Conditions
    from ..record.reproduction import reproduction_in
    from ..record.target import parse_target
    from ..render import console
    from ..render.story import tell

    subject = Subject("the reproduction", reproduction_in(story.bundle), bundle=story.bundle)
    with console.TerminalProgress(quiet=quiet) as progress:
        key = chosen_key(None, passphrase_env=None, quiet=quiet)
        recorder = comparing.Recorder(Conditions(), key=key, progress=progress)
        attempt = recorder.attempt(subject, parse_target("latest"))
    if attempt.bundle is None:
        raise CannotDoError(f"--latest: {attempt.failed}", hint="leave --latest out to report without it")
    return tell(check_bundle(attempt.bundle, reader=reader))
