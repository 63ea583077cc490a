"""A story in the SDK's own words: a first sentence that can be shown wrong, what sets it off, by which public
calls it is reached, what can be seen of it, and what is not shown.

A label of the trace (`S2`) is a name only beside the trace. Here it is `the 2nd RunState`, or `the RunState`
where there is no other.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ..models.diff import ABSENT
from ..models.events import (
    ContextDecided,
    Event,
    GuardrailRan,
    HandoffMade,
    ModelAnswered,
    ModelCalled,
    RunRefused,
    RunStarted,
    SessionCalled,
    SessionUsed,
    StateDecided,
    StateMade,
    StateRestored,
    StateSerialised,
    ToolStarted,
)
from ..models.events.phrases import describe_items
from ..models.items import call_id_of, is_call, items_of
from ..models.manifest import name_of_build
from ..models.text import ordinal, value_text
from .effects import EFFECTS_OF, effect_of
from .markup import code, listing, sentence
from .reasons import ClaimLine, Reason
from .steps import Step, TraceStory
from .story import Story, mode_words

_NOUNS: Final = {"R": "run", "S": "RunState", "Q": "result", "M": "model call", "D": "session", "T": "span"}
_LABEL: Final = re.compile(
    r"(?P<kept>\bthe resumed state )?(?:\b(?:the )?(?:run|session|result|state) )?"
    r"\b(?P<label>[RSQMDT][1-9][0-9]{0,5})\b"
)
_MAX_CALLS: Final = 9


def named(
    text: str, telling: TraceStory | None, *, only: Collection[str] | None = None, labels: bool = False
) -> str:
    """A sentence with names for its labels, or for these alone; `labels` keeps them beside the names."""
    names = _names(telling)

    def name(match: re.Match[str]) -> str:
        label = match["label"]
        if only is not None and label not in only:
            return match[0]
        which = names.get(label, f"the {ordinal(int(label[1:]))} {_NOUNS[label[0]]}")
        beside = f" ({label})" if labels else ""
        if match["kept"] is None:
            return f"{which}{beside}"
        return f"{match['kept']}({which}{f', {label}' if labels else ''})"

    return _LABEL.sub(name, re.sub(r" \(M[0-9]+\)", "", text))


def _names(telling: TraceStory | None) -> Mapping[str, str]:
    """What each label of a trace is called."""
    names: dict[str, str] = {}
    for letter, kinds in _kinds(telling).items():
        for label, noun in kinds.items():
            alike = [each for each, kind in kinds.items() if kind == noun]
            number = alike.index(label) + 1 if letter == "D" else int(label[1:])
            names[label] = f"the {noun}" if len(alike) == 1 else f"the {ordinal(number)} {noun}"
    return names


def _kinds(telling: TraceStory | None) -> Mapping[str, Mapping[str, str]]:
    """By the labels' letter: each label, and what it labels; a session by its class."""
    found: dict[str, dict[str, str]] = {}
    for event in telling.events if telling is not None else ():
        for field in ("run", "state", "result", "call", "session"):
            label = getattr(event, field, None)
            if isinstance(label, str) and _LABEL.fullmatch(label):
                found.setdefault(label[0], {}).setdefault(label, _NOUNS[label[0]])
        if isinstance(event, SessionUsed | SessionCalled):
            found["D"][event.session] = event.session_class.rpartition(":")[2].rpartition(".")[2]
    return found


def first_sentence(story: Story, lead: str | None = None) -> str | None:
    """What is wrong on this build, so that one recording can show it false; None where nothing is.

    `lead` is what a comparison with where it worked says instead.
    """
    told = lead or story.lead or _of_a_rule(story)
    return None if told is None else f"{_with(story)}: {told.removesuffix('.')}"


def _with(story: Story) -> str:
    target = story.manifest.target
    return f"With {target.name} {name_of_build(target)}"


def _of_a_rule(story: Story) -> str | None:
    claim = next(iter(story.violated), None)
    if claim is None or not claim.reasons:
        return None
    reason = claim.reasons[0]
    return f"{reason_in_words(story, reason)}{_first_change(reason)}"


def _first_change(reason: Reason) -> str:
    """Where it shows, with both values where these are short."""
    change = next((each for each in reason.changes if each.pointer.startswith("/")), None)
    if change is None:
        return ""
    sides = ["absent" if side is ABSENT else value_text(side, 60) for side in (change.before, change.after)]
    values = f", {sides[0]} \N{RIGHTWARDS ARROW} {sides[1]}" if max(map(len, sides)) < 60 else ""
    return f"; first at {change.pointer}{values}"


def reason_in_words(story: Story, reason: Reason, *, labels: bool = False) -> str:
    """Why a claim came to its status, with names for what the trace labels."""
    telling = deciding(story, reason)
    text = named(reason.text, telling, only=reason.labels, labels=labels)
    for call in reason.calls:
        tool = _tool_of(call, telling)
        if tool is not None and not re.search(rf"\b{re.escape(tool)}\b", text):
            text = re.sub(
                rf"(?:\bcall )?(?<![\w.-]){re.escape(call)}(?![\w.-])",
                f"{'' if call.startswith('call') else 'call '}{call} ({tool})",
                text,
                count=1,
            )
    return text


def _tool_of(call: str, telling: TraceStory | None) -> str | None:
    """The tool of a call that a model made, by its id."""
    for event in telling.events if telling is not None else ():
        if isinstance(event, ModelAnswered):
            for item in items_of(event.output):
                if is_call(item) and call_id_of(item) == call and isinstance(item.get("name"), str):
                    return str(item["name"])
    return None


def deciding(story: Story, reason: Reason) -> TraceStory | None:
    """The telling that a reason rests on: the first of them."""
    modes = [ref.mode for ref in reason.refs]
    return next((each for each in story.tellings if each.mode in modes), next(iter(story.tellings), None))


_NO_TITLE: Final = """
a an and bug case demo example for from in issue it minimal minimum mre of on repro reproduce reproducer
reproduces reproducing reproduction script simple small standalone test the this to with
"""
"""Words of which alone no title is made."""
_MAX_TITLE: Final = 140


def proposed_title(story: Story, lead: str | None = None) -> str:
    """For the issue: the reporter's own, else the first sentence, else what the reproduction is called."""
    own = story.own_title
    if own is not None and {*re.findall(r"[^\W\d_]+", own.lower())} - {*_NO_TITLE.split()}:
        told = own
    else:
        told = first_sentence(story, lead) or story.title
    told = " ".join(told.split()).removesuffix(".")
    return told if len(told) <= _MAX_TITLE else f"{told[: _MAX_TITLE - 1].rpartition(' ')[0]}…"


# Trigger, supported path, observable effect


def way_lines(story: Story) -> Iterator[str]:
    """Items of Markdown: what sets off the first violation, the calls on the way to it, and what is seen."""
    claim = next(iter(story.violated), None)
    if claim is None or not claim.reasons or not story.tellings:
        return
    reason = claim.reasons[0]
    telling = deciding(story, reason)
    if telling is None:
        return
    steps = [telling.step(ref.seq) for ref in reason.refs if ref.mode == telling.mode]
    last = max((step.seq for step in steps), default=len(telling.steps))
    before = telling.steps[:last]
    trigger = next((step for step in reversed(before) if _called(step.event, story) is not None), None)
    if trigger is not None:
        yield f"- **Trigger**: {_triggered(trigger, before, telling)}"
    calls = [called for step in before if (called := _called(step.event, story)) is not None]
    if calls:
        yield f"- **Supported path**: {_path(calls)}{_features(before)}; {_conduct(story)}"
    effect = _effect(claim, steps, telling)
    if effect is not None:
        yield f"- **Observable effect**: {effect}"


def _triggered(trigger: Step, before: Sequence[Step], telling: TraceStory) -> str:
    """The script's last call before the effect, and what the model said after it."""
    answer = next(
        (step for step in reversed(before[trigger.seq :]) if isinstance(step.event, ModelAnswered)), None
    )
    then = ""
    if answer is not None and isinstance(answer.event, ModelAnswered):
        then = f"; then the model answers {sentence(describe_items(answer.event.output), limit=160)}"
    return f"{sentence(named(trigger.text, telling), limit=200)}{then} (step {trigger.seq} of those below)"


def _called(event: Event, story: Story) -> str | None:
    """The public call of the script that an event is about."""
    call = None
    match event:
        case RunStarted(parent=None):
            name = "run_streamed" if event.streamed and not event.routed else _plain(story)
            call = f"Runner.{name}({'state' if event.state is not None else ''})"
        case RunRefused():
            call = f"{event.entry}()"
        case StateMade():
            call = "result.to_state()"
        case StateDecided():
            call = f"state.{event.decision}({', '.join(_options(event.options))})"
        case StateSerialised():
            call = f"state.to_{event.form}()"
        case StateRestored():
            call = f"RunState.from_{event.form}()"
        case ContextDecided():
            call = f"context.{event.decision}_tool()"
        case SessionUsed(by_sdk=False, run=None) | SessionCalled(by_sdk=False, run=None):
            call = f"session.{event.operation}()"
        case _:
            pass
    return call


def _options(options: object) -> Iterator[str]:
    if isinstance(options, dict):
        # As Python has it: `always_reject=True`.
        told = {
            name: str(each) if isinstance(each, bool) else value_text(each, 40)
            for name, each in options.items()
        }
        yield from (f"{name}={value}" for name, value in sorted(told.items()))


def _plain(story: Story) -> str:
    """How the script starts a run that it does not stream; a trace does not tell the two apart."""
    files = story.manifest.reproduction.files
    text = "\n".join(story.bundle.members[path].decode("utf-8", "replace") for path in files)
    return "run_sync" if ".run_sync(" in text and not re.search(r"\.run\s*\(", text) else "run"


def _path(calls: Sequence[str]) -> str:
    told: list[tuple[str, int]] = []
    for call in calls:
        if told and told[-1][0] == call:
            told[-1] = (call, told[-1][1] + 1)
        else:
            told.append((call, 1))
    parts = [code(call) + (f" {_times(count)}" if count > 1 else "") for call, count in told]
    if len(parts) > _MAX_CALLS:
        parts = [*parts[:4], "…", *parts[-4:]]
    return ", ".join(parts)


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _features(steps: Sequence[Step]) -> str:
    """What of the SDK takes part besides the calls."""
    found: dict[str, None] = {}
    for step in steps:
        match step.event:
            case RunStarted(parent=str()):
                found["an agent as a tool"] = None
            case ToolStarted(needs_approval=True):
                found["a tool that needs approval"] = None
            case ToolStarted(tool_kind="mcp"):
                found["a tool of an MCP server"] = None
            case GuardrailRan():
                found[f"{_with_article(step.event.guardrail_kind.replace('_', ' '))} guardrail"] = None
            case SessionUsed() | SessionCalled():
                found[code(step.event.session_class.rpartition(":")[2])] = None
            case HandoffMade():
                found["a handoff"] = None
    return f", with {listing(found)}" if found else ""


def _with_article(words: str) -> str:
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def _conduct(story: Story) -> str:
    conduct = story.manifest.conduct
    if conduct.changed or conduct.private_writes:
        return "the script changes the SDK itself (above)"
    if conduct.private_reads:
        names = dict.fromkeys(each.name for each in conduct.private_reads)
        return f"the script reads private names: {', '.join(code(name) for name in list(names)[:4])}"
    return "no private name of the SDK is used, and nothing of it is changed"


def _effect(claim: ClaimLine, steps: Sequence[Step], telling: TraceStory) -> str | None:
    """Where a user meets it: the kind of thing, and the step that shows it."""
    step = next((step for step in reversed(steps) if not isinstance(step.event, RunStarted)), None)
    if step is None:
        return None
    effect = effect_of(claim.kind, step.event)
    if effect is None:
        return None
    if claim.kind in EFFECTS_OF:
        return f"{effect.words} (step {step.seq})"
    return f"{effect.words}: {sentence(named(step.text, telling), limit=200)} (step {step.seq})"


# What is not shown


def not_shown(story: Story, others: Sequence[Story], *, cause: bool) -> Iterator[str]:
    """Items of Markdown: what nobody may conclude from the recordings at hand."""
    manifest = story.manifest
    asked = any(isinstance(event, ModelCalled) for each in story.tellings for event in each.events)
    if manifest.provider is not None:
        yield "- what a model would answer another time: its answers were recorded once, and replayed"
    elif asked:
        yield "- how often a real model does this: the answers are scripted, and show that it can happen"
    if story.violated and not any(is_control(story, other) for other in others):
        yield "- a known-good control: no build on which it does not show was recorded"
    if not any(each.manifest.target.origin.kind == "checkout" for each in (story, *others)):
        yield "- the current development branch: no commit of it was recorded"
    environment = manifest.environment
    pythons = dict.fromkeys(each.manifest.environment.python.version for each in (story, *others))
    tried = f"{', '.join(map(code, pythons))} on {code(environment.platform.system)}"
    yield f"- Pythons and systems other than {tried}"
    yield from _in_one_mode(story)
    for gap in manifest.coverage[:6]:
        if gap.code != "not_in_release":
            why = gap.why.replace("; what is left out is absent", "").replace(*_BUDGET)
            yield f"- {sentence(_GAPS.get(gap.what, gap.what))}: {sentence(why)}"
    if not cause:
        yield "- why: nothing here names lines of the SDK"


_GAPS: Final[Mapping[str, str]] = {
    "bodies": "what the script's own functions were given and gave",
    "snapshot": "some of what states and results held in between",
    "warnings": "coroutines that nobody awaited",
}
"""What the recorder calls what it could not capture."""


_BUDGET: Final = (
    "looking has cost its share of the script's time",
    "the recorder takes only a small share of the script's time for looking",
)


def _in_one_mode(story: Story) -> Iterator[str]:
    modes = {mode for claim in story.violated for mode in claim.modes}
    if len(story.tellings) < 2 or "both" in modes or len(modes) != 1:
        return
    other = next(each.mode for each in story.tellings if each.mode not in modes)
    yield f"- the same {mode_words([other])}: there these rules are not violated, or had nothing to judge"


def is_control(story: Story, other: Story) -> bool:
    """Whether the other recording judged what is violated here, and found that it holds."""
    wanted = {claim.id for claim in story.violated}
    found = {claim.status for claim in other.claims if claim.id in wanted}
    return other.verdict.status != "inconclusive" and "holds" in found and "violated" not in found
