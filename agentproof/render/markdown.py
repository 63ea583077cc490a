"""A bundle as the body of a GitHub issue, in the shape of openai-agents-python's bug template.

It is shorter than the 65,536 characters that GitHub takes: each part has a cap of its own, and the
script gets what is left.
"""

import shlex
from collections.abc import Iterable, Iterator

from ..bundle.store import short
from ..claims.judge import explain_reason
from ..models.events import Event, ModelCalled, NetworkRefused, RunEnded, ScriptEnded
from ..models.events.phrases import describe_failure
from ..models.explanation import Explanation
from ..models.manifest import is_latest, name_of_build
from ..models.printed import VARIES
from ..models.text import as_text, visible
from ..sdk import KNOWN
from .cause import render_cause
from .issue import describe_bug
from .markup import code, fence, length, prose
from .story import Story, mode_words
from .tests import command, counted, ended, excerpt, needed

MAX_LENGTH = 65_000
"""GitHub takes 65,536; the rest is for what the reporter adds."""

_MAX_CLAIMS = 8
_MAX_REASONS = 3
_MAX_CHANGES = 6
_MAX_TOOLS = 12
_MAX_STEPS = 40
_MAX_DETAILS = 8
_MAX_TESTS = 30
_MAX_TEST_FILE = 12_000
"""Of a longer file only the tests themselves are shown."""


def render_issue(
    story: Story,
    *,
    attachment: str,
    others: Iterable[Story] = (),
    lead: str | None = None,
    cause: Explanation | None = None,
) -> str:
    """The issue's body; `lead` is its first sentence, where it is not the story's own. `attachment` is the
    name of the file to attach; `others` are recordings of the same reproduction on other releases;
    `cause` is what `explain` found."""
    before = "\n".join(
        [
            *describe_bug(story, lead),
            *_debug(story, tuple(others)),
            *_traceback(story),
        ]
    )
    where = render_cause(cause) if cause is not None else ()
    after = "\n".join([*_expected(story), *where, *_evidence(story, attachment)])
    left = MAX_LENGTH - length(before) - length(after)
    return "\n".join([before, *_steps(story, left), after]) + "\n"


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
    newest = tuple(other for other in others if is_latest(other.manifest.target))
    yield f"- Does it reproduce with the latest release: {_elsewhere(story, newest)}"
    elsewhere = tuple(other for other in others if other not in newest)
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


def _traceback(story: Story) -> Iterator[str]:
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
    if wrote is not None:
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


def _steps(story: Story, left: int) -> Iterator[str]:
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
    yield ""
    source = story.bundle.members[reproduction.entry].decode("utf-8", "replace")
    if reproduction.tests and length(source) > _MAX_TEST_FILE:
        own = [test for test in reproduction.tests if test.partition("::")[0] == reproduction.entry]
        part = excerpt(source, own) if all("::" in test for test in own) else None
        if part is not None:
            source = part
            yield f"Of {code(reproduction.entry)}:"
            yield ""
    yield _fitting(source, "python", left - 1600)
    rest = [path for path in reproduction.files if path != reproduction.entry]
    if rest:
        yield ""
        more = f" and {len(rest) - 12} more" if len(rest) > 12 else ""
        yield f"It also reads {', '.join(map(code, rest[:12]))}{more}, which the bundle holds."
    wrote = story.tellings[0].output.get("stdout") if story.tellings else None
    if wrote is not None and length(source) < left - 6000:
        yield ""
        yield "It prints:"
        yield ""
        yield fence(as_text(wrote.text), "text", limit=2000)


def _fitting(text: str, language: str, left: int) -> str:
    """The text fenced, cut so that it takes at most `left` characters."""
    text = visible(text, lines=True)
    limit = len(text)
    while length(block := fence(text, language, limit=limit)) > left and limit > 1000:
        limit = limit * 3 // 4
    return block


def _expected(story: Story) -> Iterator[str]:
    yield ""
    yield "### Expected behavior"
    yield ""
    expectations = story.manifest.reproduction.expectations
    if expectations is not None and expectations.should is not None:
        yield prose(expectations.should)
        yield ""
    if story.verdict.status == "holds" and not any(claim.is_expected for claim in story.claims):
        yield (
            "No rule is violated. If this shows the bug, record it again and say what should have happened "
            '(`agentproof record --help`, "What should happen").'
        )
    expected = [claim for claim in story.claims if claim.is_expected]
    for claim in expected[:_MAX_CLAIMS]:
        met = {"holds": " (so it is)", "violated": "", "not_observed": " (not seen)"}[claim.status]
        yield f"- {prose(claim.rule)}{met}"
    for claim in [claim for claim in story.violated if not claim.is_expected][:_MAX_CLAIMS]:
        yield f"- {prose(claim.rule)} ({prose(claim.id)})"
    if story.violated:
        yield ""
        yield "The recording shows that this is not so; whether the SDK promises it is for you to decide."


def _evidence(story: Story, attachment: str) -> Iterator[str]:
    report, target = story.report, story.manifest.target
    yield ""
    yield "### Evidence"
    yield ""
    yield f"Attached: {code(attachment)}, a recording that can be checked offline, without running any of it."
    yield ""
    yield f"- bundle id {code(f'sha256:{report.bundle_id}')}"
    yield f"- evidence id {code(f'sha256:{story.manifest.evidence_id}')}"
    yield f"- wheel {code(target.wheel)}, {code(f'sha256:{target.sha256}')}"
    for signer in report.signers[:4]:
        yield f"- {signer.role} and signed by {code(signer.key)}"
    yield ""
    file = shlex.quote(attachment)
    yield fence(f"agentproof check-current-bundle {file}\nagentproof replay {file}", "console")


def _events(story: Story) -> Iterator[Event]:
    """All events of the first telling."""
    for telling in story.tellings[:1]:
        yield from (step.event for step in telling.steps)
