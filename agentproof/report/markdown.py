"""A bundle as the body of a GitHub issue, in the shape of openai-agents-python's bug template.

It is shorter than the 65,536 characters that GitHub takes: each part has a cap of its own, and the
script gets what is left.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping

from ..judge import explain_reason
from ..models.events import Event, ModelCalled, RunEnded, RunStarted, ScriptEnded, ToolEnded, ToolStarted
from ..store import short
from ._items import describe_call, describe_failure, details
from ._markup import code, fence, length, prose
from ._sides import change_lines
from ._story import Branch, Step, Story, Telling, Told, mode_words
from ._text import as_text, one_line, value_text, visible

MAX_LENGTH = 65_000
"""GitHub takes 65,536; the rest is for what the reporter adds."""

_MAX_CLAIMS = 8
_MAX_REASONS = 3
_MAX_CHANGES = 6
_MAX_TOOLS = 12
_MAX_STEPS = 40
_MAX_DETAILS = 8
_RELATED = ("openai", "pydantic", "mcp", "griffelib", "griffe", "litellm", "websockets")


def render_issue(story: Story, *, attachment: str, others: Iterable[Story] = ()) -> str:
    """The issue's body. `attachment` is the name of the file to attach; `others` are recordings of the same
    reproduction on other releases, the latest last."""
    before = "\n".join(
        [
            *_bug(story),
            *_debug(story, tuple(others)),
            *_traceback(story),
        ]
    )
    after = "\n".join([*_expected(story), *_evidence(story, attachment)])
    left = MAX_LENGTH - length(before) - length(after)
    return "\n".join([before, *_steps(story, left), after]) + "\n"


# Describe the bug


def _bug(story: Story) -> Iterator[str]:
    target = story.manifest.target
    yield "### Describe the bug"
    yield ""
    yield prose(story.title)
    yield ""
    yield from _warnings(story)
    yield f"Recorded on {code(target.name)} {code(target.version)} with agentproof: {_verdict(story)}."
    if story.violated:
        if story.verdict.status == "inconclusive":
            yield "What one recording shows all the same:"
        yield ""
    for claim in story.violated[:_MAX_CLAIMS]:
        yield from _claim(claim)
    if len(story.violated) > _MAX_CLAIMS:
        yield f"- and {len(story.violated) - _MAX_CLAIMS} more, which the bundle lists"
    yield from _difference(story)
    yield from _happened(story)
    yield from _tools(story)


def _warnings(story: Story) -> Iterator[str]:
    if story.report.status in ("STALE", "UNTRUSTED"):
        yield f"**{story.report.status}**: {_STATUS[story.report.status]}."
        yield ""
    conduct = story.manifest.conduct
    touched = [*conduct.changed, *(place.name for place in conduct.private_writes)]
    if touched:
        allowed = ", which the recording allowed" if conduct.allowed else ""
        yield f"The script changes the SDK itself{allowed}: {', '.join(map(code, touched[:8]))}."
        yield ""


_STATUS = {
    "STALE": "the bundle is about another source than the one that it was checked against",
    "UNTRUSTED": "nobody whom the checker trusts signed this bundle",
}


def _verdict(story: Story) -> str:
    match story.verdict.status:
        case "violated":
            count = len(story.violated)
            return f"it shows {count} violation{'' if count == 1 else 's'}"
        case "holds":
            return "every claim that had something to judge holds"
        case _:
            return f"inconclusive ({'; '.join(map(explain_reason, story.verdict.reasons))})"


def _claim(claim: Told) -> Iterator[str]:
    modes = "" if claim.modes == ("both",) else f" ({mode_words(claim.modes)})"
    shown = claim.reasons[:_MAX_REASONS]
    more = f"; and {len(claim.reasons) - len(shown)} more like it" if len(claim.reasons) > len(shown) else ""
    yield f"- **{prose(claim.id)}**{modes}: {'; '.join(prose(reason.text) for reason in shown)}{more}"


def _difference(story: Story) -> Iterator[str]:
    reasons = [reason for claim in story.violated for reason in claim.reasons if reason.changes]
    if not reasons:
        return
    lines: list[str] = []
    for reason in reasons[:_MAX_REASONS]:
        shown = reason.changes[: _MAX_CHANGES if reason is reasons[0] else 2]
        for change in shown:
            lines.append(f"@@ {reason.about or ''} {change.pointer} @@")
            lines += [f"{sign}{line}" for sign, line in change_lines(change, limit=16)]
        if len(reason.changes) > len(shown):
            lines.append(f"@@ and {len(reason.changes) - len(shown)} more places @@")
    yield ""
    yield "What changed:"
    yield ""
    yield fence("\n".join(lines), "diff")


def _happened(story: Story) -> Iterator[str]:
    """The steps of the telling that decides the claims; of a long one those around what does."""
    telling = _deciding(story)
    if telling is None:
        return
    steps = [step for step in telling.steps if step.tone != "minor" or step.remarks]
    if len(steps) > _MAX_STEPS:
        steps = (_around(telling, steps) or steps)[:_MAX_STEPS]
    yield ""
    yield (
        f"What happened {mode_words([telling.mode])}, step by step (R… are runs, S… RunStates, Q… results, "
        "numbered as they first appear; ✗ marks what decides the claims):"
    )
    yield ""
    yield fence("\n".join(_step_lines(steps, _depths(telling.parts))), "text")


def _deciding(story: Story) -> Telling | None:
    """The telling that most claims rest on; the first of those that are equal in this."""
    return max(story.tellings, key=_decided_in, default=None)


def _decided_in(telling: Telling) -> int:
    return len(
        {remark.claim.id for step in telling.steps for remark in step.remarks if remark.claim.mode != "both"}
    )


def _around(telling: Telling, steps: list[Step]) -> list[Step]:
    """Of many steps those beside what decides a claim, with the beginnings of the runs that they are in."""
    flagged = [step for step in steps if step.remarks]
    near = {step.seq + offset for step in flagged for offset in (-2, -1, 0, 1)}
    runs = {step.event.run for step in flagged}
    starts = {
        step.seq for step in telling.steps if isinstance(step.event, RunStarted) and step.event.run in runs
    }
    return [step for step in steps if step.seq in near | starts]


def _step_lines(steps: Iterable[Step], depths: Mapping[int, int]) -> Iterator[str]:
    last = 0
    for step in steps:
        if step.seq > last + 4:
            yield "   …"
        last = step.seq
        mark = "✗" if step.remarks else " "
        indent = "  " * depths.get(step.seq, 0)
        yield f"{step.seq:>4} {mark} {indent}{one_line(step.text, 160)}"
        parts = details(step.event) if step.remarks else []
        yield from (f"{'':>7}{indent}  - {one_line(part, 150)}" for part in parts[-_MAX_DETAILS:])


def _depths(parts: Iterable[Step | Branch], depth: int = 0) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in parts:
        found |= _depths(part.parts, depth + 1) if isinstance(part, Branch) else {part.seq: depth}
    return found


def _tools(story: Story) -> Iterator[str]:
    first, *later = story.tellings or (None,)
    if first is None:
        return
    ran = list(_tool_lines(first))
    yield ""
    if not ran:
        yield "No tool ran."
        return
    yield "Tools that ran:"
    yield ""
    yield from ran[:_MAX_TOOLS]
    if len(ran) > _MAX_TOOLS:
        yield f"- and {len(ran) - _MAX_TOOLS} more"
    for telling in later:
        yield ""
        if list(_tool_lines(telling)) == ran:
            yield "With its runs streamed the same tools ran."
            continue
        yield "With its runs streamed other tools ran, or in another order:"
        yield ""
        yield from list(_tool_lines(telling))[:_MAX_TOOLS]


def _tool_lines(telling: Telling) -> Iterator[str]:
    for step in telling.steps:
        event = step.event
        if not isinstance(event, ToolStarted):
            continue
        end = _end_of(telling, step, event)
        gave = f" gave {code(value_text(end.output, 160))}" if end else " did not finish"
        needs = " (needs approval)" if event.needs_approval else ""
        yield f"- {code(describe_call(event.tool, event.arguments, event.call_id))}{needs}{gave}"


def _end_of(telling: Telling, step: Step, start: ToolStarted) -> ToolEnded | None:
    for later in telling.steps[step.seq :]:
        end = later.event
        if isinstance(end, ToolEnded) and (end.tool, end.call_id, end.run) == (
            start.tool,
            start.call_id,
            start.run,
        ):
            return end
    return None


# Debug information


def _debug(story: Story, others: tuple[Story, ...]) -> Iterator[str]:
    manifest = story.manifest
    environment, target = manifest.environment, manifest.target
    platform = environment.platform
    versions = {package.name: package.version for package in environment.packages}
    related = [f"{name} {versions[name]}" for name in _RELATED if name in versions]
    yield ""
    yield "### Debug information"
    yield ""
    yield f"- Agents SDK version: {code(f'v{target.version}')}{_origin(story)}"
    yield (
        f"- Related library versions: {', '.join(map(code, related)) or 'none'}; "
        f"all {len(versions)} are pinned by SHA-256 in the bundle"
    )
    yield f"- Python version: {code(f'Python {environment.python.version}')}"
    system = " ".join(filter(None, (platform.system, platform.machine, platform.libc)))
    yield f"- Operating system: {code(system)}"
    yield f"- Model and provider: {_models(story)}"
    yield f"- Does it reproduce with the latest release: {_elsewhere(story, others)}"
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
    own = all(name.startswith("__main__:") for name in names)
    listed = ", ".join(code(name.removeprefix("__main__:")) for name in sorted(names)[:6])
    return f"{listed}, scripted in the reproduction; no provider was asked" if own else listed


def _elsewhere(story: Story, others: tuple[Story, ...]) -> str:
    if not others:
        return "not recorded there"
    return "; ".join(f"on {code(other.manifest.target.version)} {_outcome(story, other)}" for other in others)


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
    if worst == {"single"}:
        return "recorded once"
    rest = " but for the order of parallel events" if "order" in worst else ""
    return f"yes: recorded {modes}, and the recordings agree{rest}"


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


def _steps(story: Story, left: int) -> Iterator[str]:
    reproduction = story.manifest.reproduction
    target = story.manifest.target
    yield ""
    yield "### Repro steps"
    yield ""
    arguments = "".join(f" {code(each)}" for each in reproduction.arguments)
    yield (
        f"Run {code(reproduction.entry)}{f' with arguments{arguments}' if arguments else ''} with "
        f"{code(f'{target.name}=={target.version}')} installed. It needs no API key and no network."
    )
    yield ""
    source = story.bundle.members[reproduction.entry].decode("utf-8", "replace")
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
    if not story.violated:
        yield "This recording shows no violation."
    for claim in story.violated[:_MAX_CLAIMS]:
        yield f"- {claim.rule} ({prose(claim.id)})"
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
