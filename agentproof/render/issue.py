"""The first part of an issue: what is wrong, in words; what changed; what happened, step by step."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from ..claims.judge import BEYOND, explain_reason
from ..models.events import RunEnded, RunStarted, StreamItem, SurfaceTold, ToolEnded, ToolStarted
from ..models.events.phrases import describe_call
from ..models.items import fields_of
from ..models.manifest import name_of_build, not_watched
from ..models.text import as_text, one_line, value_text
from .ending import ending_hints
from .markup import code, fence, prose, sentence
from .reasons import TIMES, ClaimLine, Reason
from .sides import change_lines
from .steps import Branch, Step, TraceStory
from .story import Story, mode_words
from .terms import deciding, first_sentence, reason_in_words, way_lines

_MAX_CLAIMS = 8
_MAX_REASONS = 3
_MAX_CHANGES = 6
_MAX_TOOLS = 12
_MAX_STEPS = 40
_MAX_DETAILS = 8
_MAX_WHOLE = 12_000
"""Characters of the steps that are folded away."""


class Part(Enum):
    """What an issue can do without, in the order in which it is left out until the rest fits."""

    ALL_STEPS = "the folded list of all steps"
    STDERR = "what the script wrote to stderr"
    PRINTED = "what the script prints"
    VALUES = "the values before and after"
    TOOLS = "the tools that ran"
    STEPS = "the steps"
    SDK_LINES = "lines of the SDK"
    FILES = "the files beside the script"
    SCRIPT = "the script"


EVERYTHING = frozenset(Part)


def describe_bug(
    story: Story,
    lead: str | None = None,
    *,
    where: str | None = None,
    parts: Collection[Part] = EVERYTHING,
) -> Iterator[str]:
    """Lines of Markdown; `lead` is the first sentence, where it is not the story's own, and `where` the line
    of the SDK that was found, as Markdown."""
    target = story.manifest.target
    yield "### Describe the bug"
    yield ""
    first = None if story.verdict.status == "inconclusive" else first_sentence(story, lead)
    yield from _first(story, first)
    yield from _warnings(story)
    title = story.own_title
    if title is not None or first is None:
        yield sentence(title or story.title)
        yield ""
    way = list(way_lines(story)) if first is not None else []
    if where is not None:
        way.append(f"- **In the SDK**: {where}")
    if way:
        yield from way
        yield ""
    yield f"Recorded on {code(target.name)} {code(name_of_build(target))} with agentproof: {_verdict(story)}."
    if story.violated:
        if story.verdict.status == "inconclusive":
            yield "What one recording shows all the same:"
        yield ""
    recorded = [claim for claim in story.violated if not claim.beyond]
    yield from _claims(story, recorded, "which the bundle lists")
    beyond = [claim for claim in story.violated if claim.beyond]
    if beyond:
        yield ""
        yield f"{BEYOND[0].upper()}{BEYOND[1:]}:"
        yield ""
        yield from _claims(story, beyond, "which a check lists")
    if any("streamed" in claim.modes or "both" in claim.modes for claim in story.violated):
        yield ""
        yield "(Streamed: the same script, its runs started by `Runner.run_streamed` instead.)"
    if not story.violated and Part.PRINTED in parts:
        yield from _printed(story)
    if Part.VALUES in parts:
        yield from _difference(story)
    if Part.STEPS in parts:
        yield from _happened(story, whole=Part.ALL_STEPS in parts)
    if Part.TOOLS in parts:
        yield from _tools(story)


def _first(story: Story, sentence_of_it: str | None) -> Iterator[str]:
    """What is wrong, or that nothing is shown."""
    target = story.manifest.target
    if story.verdict.status == "inconclusive":
        yield from _nothing_yet(story)
    elif sentence_of_it is not None:
        yield f"{sentence(sentence_of_it, limit=600)}."
        yield ""
    elif story.verdict.status == "holds":
        yield (
            f"With {code(target.name)} {code(name_of_build(target))} no rule is violated in this recording. "
            "If it is about a bug all the same, that is in what the script prints."
        )
        yield ""


def _nothing_yet(story: Story) -> Iterator[str]:
    """An inconclusive recording is no report of a bug, and says so before all else."""
    why = "; ".join(map(explain_reason, story.verdict.reasons))
    yield f"**This recording shows nothing yet**: {sentence(why, limit=600)}."
    for hint in ending_hints({telling.mode: telling for telling in story.tellings}):
        yield f"What to do: {sentence(hint)}."
    yield ""


def _claims(story: Story, claims: list[ClaimLine], where: str) -> Iterator[str]:
    for claim in claims[:_MAX_CLAIMS]:
        yield from _claim(story, claim)
    if len(claims) > _MAX_CLAIMS:
        yield f"- and {len(claims) - _MAX_CLAIMS} more, {where}"


def _warnings(story: Story) -> Iterator[str]:
    if story.report.status in ("STALE", "UNTRUSTED"):
        yield f"**{story.report.status}**: {_STATUS[story.report.status]}."
        yield ""
    if story.unknown:
        few = ", ".join(map(prose, story.unknown[:_MAX_CLAIMS]))
        yield f"**Not recomputed**, since this agentproof lacks the rule or its version: {few}."
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
            count = story.violations
            return f"it shows {count} violation{'' if count == 1 else 's'}"
        case "holds":
            return "every claim that had something to judge holds"
        case _:
            return f"inconclusive ({'; '.join(map(explain_reason, story.verdict.reasons))})"


def _claim(story: Story, claim: ClaimLine) -> Iterator[str]:
    modes = "" if claim.modes == ("both",) else f" ({mode_words(claim.modes)})"
    head = f"- **{prose(claim.id)}**{modes}"
    if len(claim.reasons) == 1:
        yield f"{head}: {_reason(story, claim.reasons[0])}"
        return
    yield f"{head}:"
    yield from (f"  - {_reason(story, reason)}" for reason in claim.reasons[:_MAX_REASONS])
    if len(claim.reasons) > _MAX_REASONS:
        yield f"  - and {len(claim.reasons) - _MAX_REASONS} more like it"


def _reason(story: Story, reason: Reason) -> str:
    return sentence(reason_in_words(story, reason, labels=True))


def _printed(story: Story) -> Iterator[str]:
    """What no claim is about may be what the script says itself."""
    wrote = story.tellings[0].output.get("stdout") if story.tellings else None
    if wrote is not None:
        yield ""
        yield "The script prints:"
        yield ""
        yield fence(as_text(wrote.text), "text", limit=2000)


def _difference(story: Story) -> Iterator[str]:
    reasons = [reason for claim in story.violated for reason in claim.reasons if reason.changes]
    if not reasons:
        return
    lines: list[str] = []
    for reason in reasons[:_MAX_REASONS]:
        shown = reason.changes[: _MAX_CHANGES if reason is reasons[0] else 2]
        for change in shown:
            lines.append(f"@@ {_place(reason, change.pointer)} @@")
            lines += [f"{sign}{line}" for sign, line in change_lines(change, limit=16)]
        if len(reason.changes) > len(shown):
            lines.append(f"@@ and {len(reason.changes) - len(shown)} more places @@")
    yield ""
    yield "What changed:"
    yield ""
    yield fence("\n".join(lines), "diff")


def _place(reason: Reason, pointer: str) -> str:
    sides = "" if reason.sides == TIMES else f": - {reason.sides[0]}, + {reason.sides[1]}"
    return f"{reason.about or ''} {pointer}{sides}".strip()


# Step by step


def _happened(story: Story, *, whole: bool) -> Iterator[str]:
    """The steps of the telling that decides the claims; of a long one those around what does."""
    telling = _deciding(story)
    if telling is None:
        return
    streams = _streams_told(telling)
    steps = [step for step in telling.steps if step.tone != "minor" or step.remarks or _tells(step, streams)]
    shown = steps
    if len(steps) > _MAX_STEPS:
        shown = _around(telling, steps)[:_MAX_STEPS]
    depths = _depths(telling.parts)
    yield ""
    yield (
        f"What happened {mode_words([telling.mode])}, step by step ({_legend(shown or steps)}✗ marks what "
        "decides the claims; numbers that are missing are steps that tell nothing more):"
    )
    yield ""
    if shown or not whole:
        yield fence("\n".join(_step_lines(shown or steps[:_MAX_STEPS], depths)), "text")
    if whole and len(shown) < len(steps):
        if shown:
            yield ""
        yield f"<details><summary>All {len(steps)} steps</summary>"
        yield ""
        yield fence("\n".join(_step_lines(steps, depths)), "text", limit=_MAX_WHOLE)
        yield ""
        yield "</details>"


_LABELS = {"R": "runs", "S": "RunStates", "Q": "results", "M": "model calls", "D": "sessions"}


def _legend(steps: Iterable[Step]) -> str:
    """What the labels in the steps stand for."""
    text = " ".join(step.text for step in steps)
    found = [
        f"{letter}… are {what}" for letter, what in _LABELS.items() if re.search(rf"\b{letter}[1-9]", text)
    ]
    return f"{', '.join(found)}, numbered as they first appear; " if found else ""


def _deciding(story: Story) -> TraceStory | None:
    """The telling that the first sentence is about, so that its steps are those that are named there."""
    first = next((reason for claim in story.violated for reason in claim.reasons), None)
    return deciding(story, first) if first is not None else next(iter(story.tellings), None)


def _streams_told(telling: TraceStory) -> set[str]:
    """Runs of which a claim says that their stream tells something wrong."""
    return {
        remark.finding.run
        for step in telling.steps
        for remark in step.remarks
        if remark.claim.kind == "stream-tells-result" and remark.finding.run is not None
    }


def _tells(step: Step, runs: set[str]) -> bool:
    return isinstance(step.event, StreamItem) and step.event.of_run in runs


def _around(telling: TraceStory, steps: list[Step]) -> list[Step]:
    """Of many steps those beside what decides a claim, with the beginnings of the runs that they are in; and
    where there is room all that lead to the first of these."""
    flagged = [step for step in steps if step.remarks]
    lead = {step.seq for step in steps if flagged and step.seq < flagged[0].seq}
    near = {step.seq + offset for step in flagged for offset in (-2, -1, 0, 1)}
    runs = {step.event.run for step in flagged}
    starts = {
        step.seq for step in telling.steps if isinstance(step.event, RunStarted) and step.event.run in runs
    }
    chosen = near | starts
    if sum(step.seq in chosen | lead for step in steps) <= _MAX_STEPS:
        chosen |= lead
    return [step for step in steps if step.seq in chosen]


def _step_lines(steps: Iterable[Step], depths: Mapping[int, int]) -> Iterator[str]:
    last = 0
    for step in steps:
        if step.seq > last + 4:
            yield "   …"
        last = step.seq
        mark = "✗" if step.remarks else " "
        indent = "  " * depths.get(step.seq, 0)
        yield f"{step.seq:>4} {mark} {indent}{one_line(step.text, 160)}"
        parts = step.event.details() if step.remarks else []
        yield from (f"{'':>7}{indent}  - {one_line(part, 150)}" for part in parts[-_MAX_DETAILS:])


def _depths(parts: Iterable[Step | Branch], depth: int = 0) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in parts:
        found |= _depths(part.parts, depth + 1) if isinstance(part, Branch) else {part.seq: depth}
    return found


# Tools


def _no_tool_ran(story: Story) -> str:
    """No more than was watched."""
    unseen = [gap.what for gap in not_watched(story.manifest)]
    if not unseen:
        return "No tool ran."
    return (
        f"No tool ran in a recorded run. What the script used besides is not recorded: {', '.join(unseen)}."
    )


def _tools(story: Story) -> Iterator[str]:
    first, *later = story.tellings or (None,)
    if first is None:
        return
    ran = list(_tool_lines(first))
    yield ""
    if not ran:
        yield _no_tool_ran(story)
    else:
        yield "Tools that ran:"
        yield ""
        yield from _few(ran)
    for telling in later:
        streamed = list(_tool_lines(telling))
        if streamed == ran:
            continue
        yield ""
        if not streamed:
            yield f"With its runs streamed: {_no_tool_ran(story)}"
            continue
        yield "With its runs streamed other tools ran, or in another order:"
        yield ""
        yield from _few(streamed)


def _few(lines: list[str]) -> Iterator[str]:
    """The first lines; those that follow one another and say the same as one."""
    merged: list[tuple[str, int]] = []
    for line in lines:
        if merged and merged[-1][0] == line:
            merged[-1] = (line, merged[-1][1] + 1)
        else:
            merged.append((line, 1))
    yield from (line + (f", {count} times" if count > 1 else "") for line, count in merged[:_MAX_TOOLS])
    left = sum(count for _, count in merged[_MAX_TOOLS:])
    if left:
        yield f"- and {left} more"


def _realtime_tool(fields: dict[str, Any]) -> str:
    """A tool that a realtime session says to have run."""
    name = fields_of(fields_of(fields.get("tool")).get("fields")).get("name")
    called = describe_call(name if isinstance(name, str) else None, fields.get("arguments"), None)
    return f"- {code(called)} gave {code(value_text(fields.get('output'), 160))} in a realtime session"


def _tool_lines(telling: TraceStory) -> Iterator[str]:
    paused: dict[str | None, set[str | None]] = {}
    for step in telling.steps:
        if isinstance(step.event, RunEnded) and step.event.interruptions:
            waiting = {item.call_id for item in step.event.interruptions}
            paused.setdefault(step.event.run, set()).update(waiting)
    for step in telling.steps:
        event = step.event
        if isinstance(event, SurfaceTold) and event.name == "tool_end" and isinstance(event.fields, dict):
            yield _realtime_tool(event.fields)
        if not isinstance(event, ToolStarted):
            continue
        end = _end_of(telling, step, event)
        if end is not None:
            gave = f" gave {code(value_text(end.output, 160))}"
        else:
            gave = " did not finish"
            if event.run in paused:
                # An agent used as a tool waits for what waits inside of it.
                own = event.call_id in paused[event.run] or event.needs_approval
                gave = " had to wait for a decision" if own else " was not over when the run paused"
        needs = " (needs approval)" if event.needs_approval else ""
        yield f"- {code(describe_call(event.tool, event.arguments, event.call_id))}{needs}{gave}"


def _end_of(telling: TraceStory, step: Step, start: ToolStarted) -> ToolEnded | None:
    for later in telling.steps[step.seq :]:
        end = later.event
        if isinstance(end, ToolEnded) and (end.tool, end.call_id, end.run) == (
            start.tool,
            start.call_id,
            start.run,
        ):
            return end
    return None
