"""What a checked bundle tells, arranged for reading: claims with their reasons, and each trace as a tree.

Terminal, Markdown and HTML are three renderings of the same `Story`. Texts are plain: a renderer escapes
them in its own way.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import claims
from ..bundle.store import Bundle
from ..check.bundle import CheckedBundle
from ..errors import BundleError
from ..models.diff import aligned
from ..models.events import (
    Event,
    RunEnded,
    RunStarted,
    ScriptWrote,
    StateDecided,
    StateMade,
    StateObserved,
    StateRestored,
    StateSerialised,
    Tone,
)
from ..models.manifest import ClaimResult, Manifest
from ..models.report import Report, Verdict
from ..models.text import one_line, visible
from ..models.trace import Mode, Trace
from .reasons import ClaimLine, claims_told
from .steps import Branch, Look, Remark, Step, TraceStory

_MAX_DEPTH = 40
"""Runs nested deeper than this stand beside the one that they are in."""
_HEAD_BYTES = 16_384
# A script's docstring after its comments; the script is read, never parsed by Python.
_DOCSTRING = re.compile(
    r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*"
    r"[rRuU]?(?P<quote>\"\"\"|'''|\"|')(?:\\\n)?\s*(?P<line>(?:\\[^\n]|(?!(?P=quote))[^\n\\]){3,200}?)\s*(?:(?P=quote)|\n)"
)
MODES: tuple[Mode, ...] = ("as-written", "streamed")


@dataclass(frozen=True)
class Story:
    """A bundle that is not INVALID, arranged for reading."""

    report: Report
    """What the reader was told by the check."""
    verdict: Verdict
    """As it was recomputed."""
    manifest: Manifest
    bundle: Bundle
    states: Mapping[str, Any]  # Any: a state's JSON
    claims: tuple[ClaimLine, ...]
    tellings: tuple[TraceStory, ...]
    unknown: tuple[str, ...] = ()
    """Claims of the manifest that this tool lacks, in words."""

    @property
    def violated(self) -> tuple[ClaimLine, ...]:
        return tuple(claim for claim in self.claims if claim.status == "violated")

    @property
    def lead(self) -> str | None:
        """What should have happened and what happened instead, as the reporter would say it."""
        reasons = [reason.text for claim in self.violated if claim.is_expected for reason in claim.reasons]
        told = "; ".join(dict.fromkeys(reasons))
        return f"{told[:1].upper()}{told[1:]}." if told else None

    @property
    def violations(self) -> int:
        """How many claims are violated; one that is so as recorded and beyond it counts once."""
        return len({claim.id for claim in self.violated})

    @property
    def title(self) -> str:
        """The reproduction's title, else its first test, its docstring's first line or its file's name."""
        reproduction = self.manifest.reproduction
        if reproduction.tests and not reproduction.title:
            more = f" and {len(reproduction.tests) - 1} more" if len(reproduction.tests) > 1 else ""
            return f"{reproduction.tests[0]}{more}"
        return self.own_title or reproduction.entry

    @property
    def own_title(self) -> str | None:
        """What its author calls the reproduction: its title, else its docstring's first line."""
        reproduction = self.manifest.reproduction
        if reproduction.title:
            return reproduction.title
        source = self.bundle.members[reproduction.entry][:_HEAD_BYTES].decode("utf-8", "replace")
        found = _DOCSTRING.match(source)
        return re.sub(r"\\(['\"\\])", r"\1", found["line"]).strip() if found else None

    def telling(self, mode: Mode) -> TraceStory | None:
        return next((each for each in self.tellings if each.mode == mode), None)


def tell(checked: CheckedBundle, *, as_shown: Report | None = None) -> Story:
    """Arrange a checked bundle.

    A check stops at a signer that is not trusted. To show such a bundle all the same, check it again
    without trust and pass what the reader was told as `as_shown`.

    Raises:
        BundleError: the bundle is INVALID, or its claims were not recomputed; nothing of it is told.
    """
    report, verdict = checked.report, checked.report.verdict
    judgement, manifest, bundle = checked.judgement, checked.manifest, checked.bundle
    if (
        report.status == "INVALID"
        or verdict is None
        or judgement is None
        or manifest is None
        or bundle is None
    ):
        failed = next((check for check in report.checks if check.status == "failed"), None)
        reason = (failed.reason if failed else None) or "not_judged"
        raise BundleError(
            reason,
            f"{report.bundle or 'this bundle'} is {report.status}, so nothing of it is shown: "
            f"{visible(failed.detail) if failed else 'its claims were not recomputed'}",
            hint="`agentproof check-current-bundle` says what is wrong with it",
        )
    results = judgement.claims
    remarks = _remarks(results)
    tellings = tuple(
        _telling(checked.traces[mode], checked.states, remarks.get(mode, {}))
        for mode in MODES
        if mode in checked.traces
    )
    return Story(
        report=as_shown or report,
        verdict=verdict,
        manifest=manifest,
        bundle=bundle,
        states=checked.states,
        claims=tuple(claims_told(results, manifest.judgement.claims, {each.mode: each for each in tellings})),
        tellings=tellings,
        unknown=tuple(
            f"{each.id} ({each.kind} {each.version}, {mode_words([each.mode])})"
            for each in report.not_recomputed
        ),
    )


def _remarks(results: Iterable[ClaimResult]) -> Mapping[Mode, Mapping[int, list[Remark]]]:
    found: dict[Mode, dict[int, list[Remark]]] = {}
    for claim in results:
        if claim.status != "violated":
            continue
        for finding in claim.because:
            remark = Remark(claim, finding, claims.explain(claim, finding))
            for ref in finding.events:
                found.setdefault(ref.mode, {}).setdefault(ref.seq, []).append(remark)
    return found


# Traces


def _telling(
    trace: Trace,
    states: Mapping[str, Any],  # Any: a state's JSON
    remarks: Mapping[int, list[Remark]],
) -> TraceStory:
    resumed: dict[str, RunStarted] = {}
    steps: list[Step] = []
    for event in trace.events:
        if isinstance(event, RunStarted) and event.run is not None:
            resumed[event.run] = event
        steps.append(
            Step(
                mode=trace.mode,
                event=event,
                text=one_line(event.words(), 400),
                tone=_tone(event),
                looks=tuple(_looks(event, resumed, states)),
                remarks=tuple(remarks.get(event.seq, ())),
            )
        )
    return TraceStory(
        mode=trace.mode,
        steps=tuple(steps),
        parts=tuple(_tree(steps)),
        states=tuple(dict.fromkeys(look.state for step in steps for look in step.looks)),
        output={event.stream: event for event in trace.events if isinstance(event, ScriptWrote)},
    )


def _looks(
    event: Event,
    resumed: Mapping[str, RunStarted],
    states: Mapping[str, Any],  # Any: a state's JSON
) -> Iterator[Look]:
    match event:
        case StateDecided() | StateObserved():
            yield _look(event.state, event.before, event.snapshot, states)
        case StateRestored():
            yield _look(event.state, event.source, event.snapshot, states)
        case StateMade() | StateSerialised():
            yield Look(event.state, None, event.snapshot)
        case RunStarted(state=str() as state, snapshot=str() as snapshot):
            yield Look(state, None, snapshot)
        case RunEnded(input_state=str() as after):
            start = resumed.get(event.run or "")
            if start is not None and start.state is not None:
                yield _look(start.state, start.snapshot, after, states)
        case _:
            pass


def _look(state: str, before: str | None, after: str, states: Mapping[str, Any]) -> Look:  # Any: JSON
    if before is None or before == after:
        return Look(state, before, after)
    return Look(state, before, after, tuple(aligned(states[before], states[after])))


def _tree(steps: Iterable[Step]) -> Iterator[Step | Branch]:
    """Steps in their order, those of a run in its branch. What belongs to no run stands in the run that is
    open at the time, if there is just one at the top."""
    branches: dict[str, Branch] = {}
    roots: list[Step | Branch] = []
    open_at_top: list[Branch] = []
    for step in steps:
        event = step.event
        if isinstance(event, RunStarted) and event.run is not None and event.run not in branches:
            parent = branches.get(event.parent or "")
            home = parent if parent is None or parent.depth < _MAX_DEPTH else parent.around
            branch = Branch(event.run, around=home, depth=home.depth + 1 if home else 0)
            branches[event.run] = branch
            (home.parts if home else roots).append(branch)
            if parent is None:
                open_at_top.append(branch)
        own = branches.get(event.run or "")
        if own is None and len(open_at_top) == 1:
            own = open_at_top[0]
        (own.parts if own else roots).append(step)
        if isinstance(event, RunEnded):
            open_at_top = [branch for branch in open_at_top if branch.run != event.run]
    yield from roots


def mode_words(modes: Iterable[str]) -> str:
    """The modes as people say them."""
    words = {"as-written": "as written", "streamed": "streamed", "both": "both modes compared"}
    return " and ".join(words.get(mode, mode) for mode in modes)


_BAD_ENDS = ("raised", "failed", "killed", "timed_out", "too_much_output", "out_of_memory", "unfinished")


def _tone(event: Event) -> Tone:
    failed = getattr(event, "error", None) is not None or getattr(event, "outcome", None) in _BAD_ENDS
    return "failure" if failed else event.tone
