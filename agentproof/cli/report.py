"""`agentproof report`: describe a bundle for an issue, or as a page."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import OutputPath, chosen_key, examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..check.bundle import Reader
    from ..render.groups import Attachment, Group
    from ..render.markdown import Issue
    from ..render.story import Story


@examples(
    "agentproof report case-0.20.0.agentproof.zip --latest > issue.md",
    "agentproof report case-0.20.0.agentproof.zip --with-bundle --output issue.md",
    "agentproof report case-0.20.0.agentproof.zip --format html --output report.html",
    "agentproof report 0.20.0.agentproof.zip 0.21.0.agentproof.zip --format html --output both.html",
    "agentproof report bundles/ --format summary",
    "agentproof report --checker --output agentproof-check.html",
)
@click.command()
@click.argument("bundles", nargs=-1, type=click.Path(path_type=Path))
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
    "causes",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="What `agentproof explain --output FILE` wrote of a bundle: a section of the issue or page, held to "
    "the wheels that are here. Repeatable.",
)
@click.option(
    "--with-bundle",
    "embedded",
    is_flag=True,
    help="Put the bundle into the issue, as text that is folded away; nothing needs to be attached.",
)
@click.option(
    "--web",
    is_flag=True,
    help="Open the browser at a new issue of the SDK's, filled in as far as an address may be long.",
)
@click.option("--yes", "-y", is_flag=True, help="With --web: do not ask.")
@click.option(
    "--checker",
    is_flag=True,
    help="Write the page that checks the bytes and signatures of any bundle in a browser, offline.",
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
    causes: tuple[Path, ...],
    embedded: bool,
    web: bool,
    yes: bool,
    checker: bool,
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
    from .check import own_reader

    if checker == bool(bundles):
        raise UsageError(
            "--checker is about no bundle: it is a page that takes any"
            if checker
            else "name a bundle: a zip, a directory, or a text that holds some",
            hint="agentproof report --checker --output agentproof-check.html" if checker else None,
        )
    if checker:
        from ..render.checker import render_checker

        _write(render_checker(), output, quiet=quiet)
        return
    reader = own_reader(trust_files=trust_files, wheels=wheels)
    for option, given in (("--with-bundle", embedded), ("--web", web)):
        if given and form != "markdown":
            raise UsageError(f"{option} is for an issue", hint="leave out --format")
    if form == "summary":
        if causes:
            raise UsageError("--cause is a section of an issue or a page", hint="leave out --format summary")
        if latest:
            raise UsageError("--latest is for an issue or a page", hint="`agentproof compare --with latest`")
        _write(_summary(bundles, reader), output, quiet=quiet)
        return
    groups = _chosen(bundles, form, reader, latest=latest, quiet=quiet)
    if form == "html":
        from ..render.html import render_page
        from .explain import explanations_of

        told = explanations_of(causes, [story for group in groups for story in group.stories])
        _write(render_page(groups, causes=told), output, quiet=quiet)
        return
    story, described = _described(groups[0], causes, {path.name for path in bundles})
    issue = described(block=_block(bundles, groups[0]) if embedded else None)
    _write(issue.text, output, quiet=quiet)
    if not quiet:
        _tell(issue)
    if web:
        _open(story, described, wheels, issue=issue, written=output, yes=yes)


def _write(text: str, output: Path | None, *, quiet: bool) -> None:
    from ..system.files import write_atomic

    if output is None:
        click.echo(text, nl=False)
        return
    write_atomic(output, text.encode())
    if not quiet:
        click.echo(f"  wrote {output}", err=True)


def _summary(bundles: tuple[Path, ...], reader: Reader) -> str:
    from ..render.summary import render_summary
    from .reading import read_entries

    return render_summary(read_entries(bundles, reader=reader))


def _chosen(
    bundles: tuple[Path, ...], form: str, reader: Reader, *, latest: bool, quiet: bool
) -> list[Group]:
    """What is told of: one reproduction, but on a page."""
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
    return groups


def _described(group: Group, causes: tuple[Path, ...], given: set[str]) -> tuple[Story, Callable[..., Issue]]:
    """What the issue is about, and what renders it, given how much of it may be said.

    `given` are the names of files that may be attached; what --latest has recorded is in none.
    """
    from ..environment.own import address_and_commit
    from ..render.getting import DISTRIBUTION, Getting
    from ..render.markdown import render_issue
    from .explain import explanations_of

    story, *others = group.stories
    lead = None
    if group.row is not None and group.row.good and others:
        # The first is where it worked; the issue is about the other one.
        from ..render.outcomes import visible_words

        good, (story, *others) = story, others
        others = [good, *others]
        lead = visible_words(group.row.cells[1], group.row)
    files = [*dict.fromkeys(_as_zip(each.file) for each in group.recordings if each.file in given)]
    rendered = partial(
        render_issue,
        story,
        attachment=files[0],
        more=files[1:],
        others=others,
        lead=lead,
        cause=explanations_of(causes, [story]).get(story.report.bundle_id or ""),
        getting=Getting(*address_and_commit(DISTRIBUTION)),
    )
    return story, rendered


def _as_zip(file: str) -> str:
    """The name of what is attached: of a folder or a text that which `pack` makes of it."""
    from ..bundle.store import ZIP_SUFFIX

    return file if file.endswith(".zip") else f"{file.replace('#', '-')}{ZIP_SUFFIX}"


def _block(bundles: tuple[Path, ...], group: Group) -> str:
    """What would be attached, as text."""
    from ..bundle.store import read_bundle, shelf_of
    from ..render.embedded import folded
    from .reading import the_bundle

    place = the_bundle(next(path for path in bundles if path.name == group.recordings[0].file))
    return folded(read_bundle(place, wheels=shelf_of(place)))


def _tell(issue: Issue) -> None:
    from ..models.text import visible
    from ..render.embedded import as_sent

    click.echo(f"  title         {visible(issue.title)}", err=True)
    if issue.left_out:
        left = ", ".join(part.value for part in issue.left_out)
        click.echo(f"  left out      {left}, to fit {as_sent(issue.text):,} characters", err=True)


def _open(
    story: Story,
    described: Callable[..., Issue],
    wheels: tuple[Path, ...],
    *,
    issue: Issue,
    written: Path | None,
    yes: bool,
) -> None:
    """Ask, and open the browser at a new issue; else say where the report is to be pasted."""
    import webbrowser

    from ..errors import CannotDoError
    from ..render.markdown import MAX_ADDRESS, address_of, outline

    repository, wheel = _repository(story, wheels), story.manifest.target.wheel
    where = f"{written}" if written is not None else "what was printed"
    if repository is None:
        raise CannotDoError(
            f"no wheel {wheel} that you hold names a repository on github.com",
            hint=f"paste {where} into an issue of the SDK's; or --wheel FILE, or record on that release here",
        )
    if story.manifest.provider is not None:
        filled = outline(story)
    else:
        try:
            filled = described(
                most=MAX_ADDRESS,
                size_of=lambda text: len(address_of(repository, replace(issue, text=text))),
            )
        except CannotDoError:
            filled = outline(story)
    address = address_of(repository, filled)
    rest = f"; paste {where} in its place" if filled.text != issue.text else ""
    left = f"without {', '.join(part.value for part in filled.left_out)}" if rest else "all of it"
    click.echo(f"  repository    {repository}  (METADATA of {wheel})", err=True)
    click.echo(f"  filled in     {left}{rest}", err=True)
    asked = yes or _confirmed(f"Open a new issue at {repository}?")
    if asked and webbrowser.open(address):
        click.echo("  opened        the browser; nothing is sent before you submit it there", err=True)
        return
    if asked:
        click.echo("  no browser could be opened", err=True)
    click.echo(f"  paste {where} at {repository}/issues/new", err=True)


def _confirmed(question: str) -> bool:
    """Whether it is wanted; not so where nobody can be asked."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo("", err=True)
        return False


def _repository(story: Story, wheels: tuple[Path, ...]) -> str | None:
    """The address on github.com in the METADATA of the target's wheel, as the reader holds it: not of the
    one that a bundle brings along."""
    from ..bundle.store import sha256
    from ..bundle.wheel import read_wheel
    from ..environment import wheel_store
    from ..environment.own import repository_of

    target = story.manifest.target
    held = [path.read_bytes() for path in wheels]
    data = next((each for each in held if sha256(each) == target.sha256), None)
    data = data or wheel_store.default_store().bytes_of(target.sha256)
    if data is None:
        return None
    address = repository_of(read_wheel(data, target.wheel).project_urls)
    return address if address is not None and _ON_GITHUB.fullmatch(address) else None


_ON_GITHUB = re.compile(r"https://github\.com/[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}")


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
