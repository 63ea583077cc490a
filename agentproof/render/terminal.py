"""A bundle in the terminal: its verdict, its traces as trees, a state at an event, what changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from ..claims.judge import BEYOND, explain_reason
from ..errors import UsageError
from ..models.manifest import name_of_build, not_watched
from ..models.text import one_line, pretty, visible
from .beside import tells_the_same
from .cause import Place
from .exchanges import ExchangeTold
from .sides import change_lines
from .steps import Branch, Look, Step, TraceStory
from .story import Story

_COLOURS = {
    "run": "cyan",
    "model": "blue",
    "tool": "magenta",
    "decision": "yellow",
    "state": "green",
    "failure": "red",
}
_SIGNS = {"-": "red", "+": "green"}
_MAX_CHANGES = 12
_ARROWS = {False: "\N{RIGHTWARDS ARROW}", True: "\N{LEFTWARDS ARROW}"}
"""By whether the provider says it."""


def render_story(
    story: Story,
    *,
    tellings: Sequence[TraceStory],
    diffs: bool,
    everything: bool,
    places: Mapping[tuple[str, int], Place] | None = None,
    links: bool = False,
) -> Iterator[str]:
    """The verdict, then each trace as a tree; one that tells the same as the first is only named.

    `places` are what `explain` found of each event, by mode and number; with `links` a terminal may lead to
    these lines.
    """
    target = story.manifest.target
    yield click.style(visible(story.title), bold=True)
    yield f"{target.name} {name_of_build(target)}, {story.report.status}: {verdict_sentence(story)}"
    first_beyond = next((claim for claim in story.violated if claim.beyond), None)
    for claim in story.violated:
        if claim is first_beyond:
            yield f"  {BEYOND}:"
        where = " and ".join(claim.modes)
        yield f"  {click.style('violated', fg='red', bold=True)} {visible(claim.id)} ({where})"
        for reason in claim.reasons[:3]:
            yield f"           {visible(reason.text)}"
            for change in reason.changes[:1]:
                more = f" and {len(reason.changes) - 1} more" if len(reason.changes) > 1 else ""
                yield f"             at {visible(change.pointer)}{more}"
        if len(claim.reasons) > 3:
            yield f"           … and {len(claim.reasons) - 3} more"
    for text in story.unknown:
        yield f"  not recomputed, since this tool lacks it: {visible(text)}"
    for gap in not_watched(story.manifest):
        yield f"  not recorded: {visible(gap.what)}: {visible(gap.why)}"
    for telling in tellings:
        yield ""
        if telling is not tellings[0] and not everything and tells_the_same(tellings[0], telling):
            yield f"{click.style(telling.mode, bold=True)}: the same steps"
            continue
        yield click.style(telling.mode, bold=True)
        own = {seq: place for (mode, seq), place in (places or {}).items() if mode == telling.mode}
        yield from _parts(
            telling.parts,
            0,
            diffs=diffs,
            everything=everything,
            places={seq: _place(place, links=links) for seq, place in own.items()},
        )


def render_exchanges(story: Story, told: Iterable[ExchangeTold]) -> Iterator[str]:
    """What a provider was asked and answered, one request after the other."""
    target, provider = story.manifest.target, story.manifest.provider
    yield click.style(visible(story.title), bold=True)
    yield f"{target.name} {name_of_build(target)}, {story.report.status}: {verdict_sentence(story)}"
    if provider is not None:
        yield f"model: {visible(provider.words())}"
    for each in told:
        yield ""
        yield f"{each.number:>3}  {click.style(each.request, bold=True)}"
        yield f"     {', '.join(each.facts)}"
        for line in each.used:
            yield click.style(f"     {line}", fg="yellow")
        for said in each.said:
            who = f"{_ARROWS[said.answers]} {said.who}"
            first, *others = said.text.split("\n")
            yield f"     {click.style(f'{who:<15}', fg='blue' if said.answers else None)} {first}"
            yield from (f"{'':21}{line}" for line in others)


def verdict_sentence(story: Story) -> str:
    """`shows 2 violations`, `every claim holds`, or why it is inconclusive."""
    match story.verdict.status:
        case "violated":
            count = story.violations
            return f"shows {count} violation{'' if count == 1 else 's'}"
        case "holds":
            return "every claim that had something to judge holds"
        case _:
            return f"inconclusive: {'; '.join(map(explain_reason, story.verdict.reasons))}"


def state_at(telling: TraceStory, spec: str) -> str:
    """The digest of a state; `spec` is S2 or S2@11.

    Raises:
        UsageError: no such state, or it does not exist yet at that event.
    """
    return _look_at(telling, spec)[1].after


def render_state(telling: TraceStory, story: Story, spec: str, *, diffs: bool) -> Iterator[str]:
    """A state as JSON, or with `diffs` what the event changed in it; raises as `state_at` does."""
    step, look = _look_at(telling, spec)
    if not diffs:
        yield pretty(story.states[look.after])
        return
    yield f"{look.state} at event {step.seq}: {step.text}"
    if look.before is None:
        yield "  first seen here, or seen as it was"
    yield from _changes(look, "  ", limit=None)


def _look_at(telling: TraceStory, spec: str) -> tuple[Step, Look]:
    label, _, moment = spec.partition("@")
    if label not in telling.states:
        known = ", ".join(telling.states) or "none"
        raise UsageError(f"--state {spec}: no state {label} in {telling.mode}", hint=f"there are: {known}")
    if moment and not moment.isdecimal():
        raise UsageError(f"--state {spec}: {moment!r} is no event number", hint="write S2 or S2@11")
    until = int(moment) if moment else len(telling.steps)
    seen = [(step, look) for step in telling.steps[:until] for look in step.looks if look.state == label]
    if not seen:
        raise UsageError(f"--state {spec}: {label} does not exist yet at event {until}")
    return seen[-1]


def _parts(
    parts: Iterable[Step | Branch],
    depth: int,
    *,
    diffs: bool,
    everything: bool,
    places: Mapping[int, str],
) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Branch):
            yield from _parts(part.parts, depth + 1, diffs=diffs, everything=everything, places=places)
            continue
        if part.tone == "minor" and not part.remarks and not everything:
            continue
        bars = "│ " * depth
        mark = "∥" if part.parallel else " "
        yield f"{part.seq:>5} {mark} {bars}{click.style(part.text, fg=_COLOURS.get(part.tone))}"
        margin = f"{'':>8}{bars}  "
        if part.seq in places:
            yield margin + click.style(places[part.seq], dim=True)
        for text in dict.fromkeys(remark.text for remark in part.remarks):
            yield f"{margin}{click.style('✗ ' + visible(text), fg='red')}"
        for line in part.event.details() if part.remarks or everything else ():
            yield f"{margin}- {one_line(line, 160)}"
        for look in part.looks if diffs else ():
            yield from _changes(look, margin, limit=_MAX_CHANGES)


def _place(place: Place, *, links: bool) -> str:
    text = visible(place.text)
    # OSC 8, which terminals that do not know it pass over.
    return f"\x1b]8;;{visible(place.url)}\x1b\\{text}\x1b]8;;\x1b\\" if links and place.url else text


def _changes(look: Look, margin: str, *, limit: int | None) -> Iterator[str]:
    for change in look.changes[:limit]:
        yield f"{margin}{visible(change.pointer)}"
        for sign, line in change_lines(change):
            yield f"{margin}{click.style(f'{sign} {line}', fg=_SIGNS[sign])}"
    if limit is not None and len(look.changes) > limit:
        yield f"{margin}… and {len(look.changes) - limit} more changes"
