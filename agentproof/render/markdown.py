"""A bundle as the body of a GitHub issue, in the shape of openai-agents-python's bug template.

It is shorter than the 65,536 characters that GitHub takes. Each part has a cap of its own; where the whole is
too long all the same, parts are left out in the order of `issue.Part`, and the report says which.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from ..bundle.store import short
from ..check.signers import says
from ..claims.judge import explain_reason
from ..errors import CannotDoError
from ..models.events import Event, ModelCalled, NetworkRefused, RunEnded, ScriptEnded
from ..models.events.phrases import describe_failure
from ..models.explanation import Explanation
from ..models.manifest import is_latest, name_of_build
from ..models.printed import VARIES
from ..models.text import as_text, visible
from ..sdk import KNOWN
from .cause import head_line, render_cause
from .embedded import MAX_COMMENT, as_sent
from .exchanges import tell_exchanges
from .getting import Getting
from .issue import EVERYTHING, Part, describe_bug
from .markup import code, fence, length, listing, prose, sentence
from .story import Story, mode_words
from .terms import is_control, not_shown, proposed_title
from .tests import command, counted, ended, excerpt, needed

MAX_LENGTH = 65_000
"""GitHub takes 65,536; the rest is for what the reporter adds."""

_MAX_CLAIMS = 8
_MAX_EXCHANGES = 6
_MAX_TESTS = 30
_MAX_TEST_FILE = 12_000
"""Of a longer file only the tests themselves are shown."""
_MAX_FILES = 24_000
"""Characters of a reproduction's files that are shown whole; of more the first ones."""


@dataclass(frozen=True)
class Issue:
    """What is pasted into a new issue."""

    title: str
    """Proposed; plain text, which may hold letters that nobody should print."""
    text: str
    """Markdown."""
    left_out: tuple[Part, ...]
    """What it leaves out to fit, in the order in which that was left out."""


def render_issue(
    story: Story,
    *,
    attachment: str,
    more: Sequence[str] = (),
    others: Iterable[Story] = (),
    lead: str | None = None,
    cause: Explanation | None = None,
    getting: Getting | None = None,
    block: str | None = None,
    most: int | None = None,
    size_of: Callable[[str], int] = as_sent,
) -> Issue:
    """The issue's title and body.

    `attachment` is the name of the file to attach, `more` are the names of further ones; `others` are
    recordings of the same reproduction on other releases; `lead` is the first sentence, where it is not the
    story's own; `cause` is what `explain` found; `getting` is where this agentproof comes from; `block` is
    the bundle itself, as text that is folded away. The body is of at most `most` characters by `size_of`: by
    default as a comment takes them.

    Raises:
        CannotDoError: even the shortest one is too long.
    """
    others = tuple(others)
    most = most or (MAX_COMMENT if block is not None else MAX_LENGTH)

    def body(left_out: Collection[Part]) -> str:
        kept = EVERYTHING - {*left_out}
        lines = [
            *describe_bug(story, lead, where=head_line(cause) if cause is not None else None, parts=kept),
            *_debug(story, others),
            *_traceback(story, kept),
            *_steps(story, kept),
            *_expected(story),
            *(render_cause(cause, lines=Part.SDK_LINES in kept) if cause is not None else ()),
            *_not_shown(story, others, cause=cause is not None, left_out=left_out),
            *_evidence(story, (attachment, *more), getting or Getting(), inside=block is not None),
        ]
        return "\n".join([*lines, *(["", block] if block is not None else ())]) + "\n"

    # In their order until the rest fits; then those that fit after all are put back, the last one first.
    left_out: tuple[Part, ...] = ()
    for count in range(len(Part) + 1):
        left_out = tuple(Part)[:count]
        size = size_of(text := body(left_out))
        if size <= most:
            break
    else:
        own = f", {as_sent(block):,} of them the bundle" if block is not None else ""
        raise CannotDoError(
            f"the report is {size:,} characters at the least{own}; {most:,} are taken",
            hint="leave --with-bundle out and attach the zip" if block is not None else None,
        )
    for part in reversed(left_out[:-1]):
        fewer = tuple(each for each in left_out if each is not part)
        if size_of(longer := body(fewer)) <= most:
            left_out, text = fewer, longer
    return Issue(proposed_title(story, lead), text, left_out)


# Debug information


def _debug(story: Story, others: tuple[Story, ...]) -> Iterator[str]:
    manifest = story.manifest
    environment, target = manifest.environment, manifest.target
    platform = environment.platform
    versions = {package.name: package.version for package in environment.packages}
    related = [f"{name} {versions[name]}" for name in KNOWN[target.name].related if name in versions]
    yield ""
    yield "### Debug information"
    yield ""
    yield f"- Agents SDK version: {code(f'v{name_of_build(target)}')}{_origin(story)}"
    yield (
        f"- Related library versions: {', '.join(map(code, related)) or 'none'}; "
        f"all {len(versions)} are pinned by SHA-256 in the bundle"
    )
    yield f"- Python version: {code(f'Python {environment.python.version}')}"
    system = " ".join(filter(None, (platform.system, platform.machine, platform.libc)))
    yield f"- Operating system: {code(system)}"
    yield f"- Model and provider: {_models(story)}"
    told = list(tell_exchanges(story, limit=0))
    for each in told[:_MAX_EXCHANGES]:
        yield f"  - {code(each.request)}: {prose(', '.join(each.facts))}"
    if len(told) > _MAX_EXCHANGES:
        yield f"  - and {len(told) - _MAX_EXCHANGES} more (`agentproof show --exchanges`)"
    newest = tuple(each for each in (story, *others) if is_latest(each.manifest.target))
    yield f"- Does it reproduce with the latest release: {_elsewhere(story, newest)}"
    commits = tuple(each for each in (story, *others) if each.manifest.target.origin.kind == "checkout")
    # What was not recorded is told once, under "Not shown"; the form asks for the latest release here.
    if commits:
        yield f"- Base (a commit): {_elsewhere(story, commits)}"
    controls = tuple(other for other in others if is_control(story, other))
    if controls:
        yield f"- Known-good control: {_elsewhere(story, controls)}"
    elsewhere = tuple(other for other in others if other not in (*newest, *commits, *controls))
    if elsewhere:
        yield f"- On other builds: {_elsewhere(story, elsewhere)}"
    yield f"- Does it happen every time: {_agreement(story)}"


def _origin(story: Story) -> str:
    origin = story.manifest.target.origin
    if origin.kind == "checkout":
        return f", built from commit {code(origin.commit or '?')}{' with changes' if origin.dirty else ''}"
    return ", from a wheel file" if origin.kind == "file" else ""


def _models(story: Story) -> str:
    names = {event.model for event in _events(story) if isinstance(event, ModelCalled)}
    if not names:
        return "none was asked"
    own = all(_is_own(name.partition(":")[0], story.manifest.reproduction.files) for name in names)
    listed = ", ".join(code(name.removeprefix("__main__:")) for name in sorted(names)[:6])
    if story.manifest.provider is not None:
        return f"{listed}, {prose(story.manifest.provider.words())}"
    return f"{listed}, scripted in the reproduction; no provider was asked" if own else listed


def _is_own(module: str, files: Iterable[str]) -> bool:
    """Whether a module is one of the reproduction's files; a test's name may begin below the root."""
    path = f"{module.replace('.', '/')}.py"
    return module == "__main__" or any(f"/{file}".endswith(f"/{path}") for file in files)


def _elsewhere(story: Story, others: tuple[Story, ...]) -> str:
    if not others:
        return "not recorded there"
    return "; ".join(
        f"on {code(name_of_build(other.manifest.target))} {_outcome(story, other)}" for other in others
    )


def _outcome(story: Story, other: Story) -> str:
    if other is story and story.violated and story.verdict.status != "inconclusive":
        return "yes, this recording"
    wanted = {claim.id for claim in story.violated}
    still = [claim.id for claim in other.violated if claim.id in wanted]
    if other.verdict.status == "inconclusive":
        return f"inconclusive ({'; '.join(map(explain_reason, other.verdict.reasons))})"
    if still:
        return f"yes ({', '.join(map(prose, still))})"
    if not any(claim.status == "holds" and claim.id in wanted for claim in other.claims):
        return "not to be told: there was nothing to judge"
    return f"no (evidence {code(short(other.manifest.evidence_id))})"


def _agreement(story: Story) -> str:
    recordings = story.manifest.recordings
    modes = " and ".join(f"{each.repeats} times {mode_words([each.mode])}" for each in recordings)
    worst = {each.agreement for each in recordings}
    if "differ" in worst:
        where = [
            f"{mode_words([each.mode])} {pointer}" for each in recordings for pointer in each.differences
        ]
        at = f" ({', '.join(map(code, where[:4]))})" if where else ""
        return f"no: recorded {modes}, and the recordings differ{at}"
    if story.verdict.status == "inconclusive":
        return f"not to be told, since nothing is shown yet: recorded {modes}"
    if "text" in worst:
        return f"yes: recorded {modes}, and only what the script prints differs{_varying(story)}"
    if worst == {"single"}:
        return "recorded once"
    rest = " but for the order of parallel events" if "order" in worst else ""
    return f"yes: recorded {modes}, and the recordings agree{rest}"


def _varying(story: Story) -> str:
    """Lines that the repeats printed otherwise, with a placeholder for what differs."""
    wrote = [event for telling in story.tellings for event in telling.output.values()]
    lines = [line.strip() for event in wrote for line in as_text(event.text).split("\n") if VARIES in line]
    shown = list(dict.fromkeys(line[:120] for line in lines))[:2]
    return f" ({', '.join(map(code, shown))})" if shown else ""


# Traceback, steps, expected behaviour


def _traceback(story: Story, parts: Collection[Part]) -> Iterator[str]:
    yield ""
    yield "### Traceback"
    yield ""
    end = next((event for event in _events(story) if isinstance(event, ScriptEnded)), None)
    wrote = story.tellings[0].output.get("stderr") if story.tellings else None
    if end is None or (end.outcome == "exited" and not end.code):
        yield "None; the script came to its end."
    elif end.error is not None:
        yield f"The script raised {code(describe_failure(end.error))}."
    else:
        outcome = end.outcome.replace("_", " ")
        yield f"The script ended: {outcome}{f' with {end.code}' if end.code is not None else ''}."
    yield from _failed_tests(story)
    raised = [event for event in _events(story) if isinstance(event, RunEnded) and event.error is not None]
    if raised:
        yield ""
    for event in raised[:6]:
        if event.error is not None:
            yield f"- run {event.run} raised {code(describe_failure(event.error))}"
    if wrote is not None and Part.STDERR in parts:
        yield ""
        yield "It wrote to stderr:"
        yield ""
        yield fence(as_text(wrote.text), "text", limit=6000)


def _failed_tests(story: Story) -> Iterator[str]:
    tests = ended(_events(story))
    if not tests:
        return
    yield ""
    yield f"Of the tests {', '.join(counted(tests))}."
    failed = [test for test in tests if test.outcome in ("failed", "error")]
    if failed:
        yield ""
    for test in failed[:_MAX_TESTS]:
        yield f"- {code(test.test)} {code(test.how(), limit=300)}"
    if len(failed) > _MAX_TESTS:
        yield f"- and {len(failed) - _MAX_TESTS} more"


def _without(story: Story) -> str:
    """What every recording is made without, and whether this script did with that."""
    for event in _events(story):
        asked = isinstance(event, NetworkRefused) and not event.loopback
        if asked or (isinstance(event, ScriptEnded) and event.error is not None):
            return "It was recorded without API keys and without network."
    return "It needs no API key and no network."


def _steps(story: Story, parts: Collection[Part]) -> Iterator[str]:
    reproduction = story.manifest.reproduction
    target = story.manifest.target
    yield ""
    yield "### Repro steps"
    yield ""
    arguments = "".join(f" {code(each)}" for each in reproduction.arguments)
    installed = [f"{target.name}=={target.version}", *needed(story.manifest)]
    what = f"{code(reproduction.entry)}{f' with arguments{arguments}' if arguments else ''}"
    if reproduction.tests:
        what = code(command(reproduction.tests), limit=1000)
    yield f"Run {what} with {', '.join(map(code, installed))} installed. {_without(story)}"
    if reproduction.variables:
        yield f"It is given {', '.join(map(code, reproduction.variables[:12]))} in its environment."
    yield from _files(story, parts)
    wrote = story.tellings[0].output.get("stdout") if story.tellings else None
    if wrote is not None and Part.PRINTED in parts:
        yield ""
        yield "It prints:"
        yield ""
        yield fence(as_text(wrote.text), "text", limit=2000)


def _files(story: Story, parts: Collection[Part]) -> Iterator[str]:
    """The files of the reproduction, the one that is run first; what is not shown whole is said to be so."""
    reproduction = story.manifest.reproduction
    left, unshown = _MAX_FILES, []
    for path in (reproduction.entry, *(path for path in reproduction.files if path != reproduction.entry)):
        is_entry = path == reproduction.entry
        text = _text_of(story, path)
        if text is None or (Part.SCRIPT if is_entry else Part.FILES) not in parts:
            unshown.append(path)
            continue
        some = _tests_of(story, text) if is_entry else None
        shown = fence(some or text, _LANGUAGES.get(path.rpartition(".")[2], "text"), limit=_MAX_FILES)
        if length(shown) > left and not is_entry:
            unshown.append(path)
            continue
        yield ""
        if some is not None:
            yield f"Of {code(path)}, which the bundle has whole:"
        else:
            yield f"{code(path)}{_escaped(text)}:"
        yield ""
        yield shown
        left -= length(shown)
    if unshown:
        yield ""
        more = f" and {len(unshown) - 12} more" if len(unshown) > 12 else ""
        yield f"Not shown here, and in the bundle: {', '.join(map(code, unshown[:12]))}{more}."


_LANGUAGES = {"py": "python", "json": "json", "md": "markdown", "toml": "toml", "yaml": "yaml", "yml": "yaml"}


def _text_of(story: Story, path: str) -> str | None:
    """A file's text; None where it has none."""
    try:
        return story.bundle.members[path].decode("utf-8")
    except UnicodeDecodeError:
        return None


def _tests_of(story: Story, source: str) -> str | None:
    """Of a long file of tests those that are run; None for others."""
    reproduction = story.manifest.reproduction
    if not reproduction.tests or length(source) <= _MAX_TEST_FILE:
        return None
    own = [test for test in reproduction.tests if test.partition("::")[0] == reproduction.entry]
    return excerpt(source, own) if all("::" in test for test in own) else None


def _escaped(text: str) -> str:
    """What is said of a file that cannot be copied from here as it is."""
    return "" if visible(text, lines=True) == text else " (what cannot be printed is written as an escape)"


def _expected(story: Story) -> Iterator[str]:
    yield ""
    yield "### Expected behavior"
    yield ""
    expectations = story.manifest.reproduction.expectations
    if expectations is not None and expectations.should is not None:
        yield sentence(expectations.should)
        yield ""
    if story.verdict.status == "holds" and not any(claim.is_expected for claim in story.claims):
        yield (
            "No rule is violated. If this shows the bug, record it again and say what should have happened "
            '(`agentproof record --help`, "What should happen").'
        )
    expected = [claim for claim in story.claims if claim.is_expected]
    for claim in expected[:_MAX_CLAIMS]:
        met = {"holds": " (so it is)", "violated": "", "not_observed": " (not seen)"}[claim.status]
        yield f"- {sentence(claim.rule, limit=600)}{met}"
    for claim in [claim for claim in story.violated if not claim.is_expected][:_MAX_CLAIMS]:
        yield f"- {sentence(claim.rule, limit=600)} ({prose(claim.id)})"
    if story.violated:
        yield ""
        yield "The recording shows that this is not so; whether the SDK promises it is for you to decide."


def _not_shown(
    story: Story, others: tuple[Story, ...], *, cause: bool, left_out: Collection[Part]
) -> Iterator[str]:
    yield ""
    yield "### Not shown"
    yield ""
    yield from not_shown(story, others, cause=cause)
    if left_out:
        yield (
            f"- left out for its length: {listing(part.value for part in left_out)}; the bundle has it all "
            "(`agentproof show`, `agentproof unpack`)"
        )


def _evidence(story: Story, files: Sequence[str], getting: Getting, *, inside: bool) -> Iterator[str]:
    report, target = story.report, story.manifest.target
    yield ""
    yield "### Evidence"
    yield ""
    where = "Below, as text" if inside else f"Attached as {code(files[0])}"
    yield f"{where}: the recording that this report was written from. {getting.words()}"
    if len(files) > 1:
        yield f"On other builds, attached too: {', '.join(map(code, files[1:]))}."
    yield ""
    yield f"- bundle id {code(f'sha256:{report.bundle_id}')}"
    yield f"- evidence id {code(f'sha256:{story.manifest.evidence_id}')}"
    yield f"- wheel {code(target.wheel)}, {code(f'sha256:{target.sha256}')}"
    for signer in report.signers[:4]:
        yield f"- {signer.role} and signed by {code(signer.key)}{says(signer)}"
    yield ""
    yield "To check it without network and without running any of it, and to run it again in a sandbox:"
    yield ""
    file = "issue.md" if inside else shlex.quote(files[0])
    if inside:
        yield "(`issue.md` is this text, or the block below, saved.)"
        yield ""
    yield fence("\n".join(getting.commands(file)), "console", limit=2000)


def _events(story: Story) -> Iterator[Event]:
    """All events of the first telling."""
    for telling in story.tellings[:1]:
        yield from (step.event for step in telling.steps)


# In an address

MAX_ADDRESS = 8000
"""Characters of a URL that browsers and GitHub take."""


def address_of(repository: str, issue: Issue) -> str:
    """GitHub's form for a new issue in `https://github.com/OWNER/NAME`, filled in."""
    return f"{repository}/issues/new?{urlencode({'title': visible(issue.title), 'body': issue.text})}"


def outline(story: Story) -> Issue:
    """An issue's title and body without a word of the trace or of the script: for an address, which others
    than its reader keep (histories, logs), of a live recording."""
    target, environment = story.manifest.target, story.manifest.environment
    build = f"{target.name} {name_of_build(target)}"
    rules = [claim.rule for claim in story.violated if not claim.is_expected][:_MAX_CLAIMS]
    lines = [
        "### Describe the bug",
        "",
        *(f"With {sentence(build)} this does not hold: {sentence(rule, limit=400)}" for rule in rules),
        "(Paste the report here. It was not put into an address, since it holds what a live model was asked "
        "and answered, or since it is too long.)",
        "",
        "### Debug information",
        "",
        f"- Agents SDK version: {code(f'v{name_of_build(target)}')}",
        f"- Python version: {code(f'Python {environment.python.version}')}",
        f"- bundle id {code(f'sha256:{story.report.bundle_id}')}",
        "",
    ]
    title = f"{build}: {', '.join(claim.id for claim in story.violated if not claim.is_expected)}"
    return Issue(title.removesuffix(": "), "\n".join(lines), tuple(Part))
