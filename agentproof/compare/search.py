"""The search of a bisection, whatever its points are; the rules are those of `bisect`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ..bundle.store import Bundle
from ..claims.judge import explain_reason
from ..diff.rows import Attempt, Series, ending_of
from ..errors import CannotDoError, UsageError
from ..models.events import ScriptWrote
from ..models.manifest import Judgement
from ..record.target import Target
from .comparison import Recorder
from .subjects import Subject

State = Literal["good", "bad", "skipped"]


@dataclass(frozen=True)
class Point:
    """A release or commit between the ends."""

    name: str
    """The version, or the commit's id."""
    target: Target
    about: str = ""
    """For people: a commit's subject."""
    left_out: str | None = None
    """Why it is skipped without a recording."""


@dataclass(frozen=True)
class PointResult:
    """A point that was looked at."""

    point: Point
    state: State
    why: str


@dataclass(frozen=True)
class Transition:
    """Two points with different states, and what lies between them."""

    kind: Literal["first_bad", "first_fixed"]
    last: Point
    """The last one of the old state."""
    first: Point
    """The first one of the new state."""
    skipped: tuple[Point, ...]
    """Points between the two that could not be judged: the change may be in any of them."""
    points: int
    """How many points there are from end to end."""
    claims: tuple[str, ...] = ()
    """The claims that change here, where the question was the verdict."""


@dataclass(frozen=True)
class BisectionResult:
    """What a bisection found."""

    changes: tuple[Transition, ...]
    probes: tuple[PointResult, ...]
    """In the order in which they were looked at."""
    unchanged: tuple[str, ...]
    """Claims that the bad end violates and every good end as well."""
    series: Series
    """All recordings, the bad end first, for a comparison bundle."""
    attempts: Mapping[str, Attempt]
    """The same by the names of their points."""

    def ends(self, change: Transition) -> tuple[Bundle, Bundle] | None:
        """The recordings around a change, the one that shows it first; None where one is missing."""
        last, first = (self.attempts[point.name].bundle for point in (change.last, change.first))
        if last is None or first is None:
            return None
        return (first, last) if change.kind == "first_bad" else (last, first)

    @property
    def recordings(self) -> int:
        """How many points were recorded, or tried to be."""
        return len(self.series.attempts)


@dataclass(frozen=True)
class Question:
    """What makes a point bad: the verdict, one claim, or the output that the bad end prints."""

    by: Literal["verdict", "output"] = "verdict"
    claim: str | None = None


def search(count: int, state: Callable[[int], State]) -> tuple[int, int]:
    """The neighbours in 0 … count-1 between which the state of the first becomes that of the last.

    Neighbours are those with only skipped points between them. The states of both ends must be known
    and differ; `state` is asked once for each other point that is needed.
    """
    low, high = 0, count - 1
    first = state(low)
    skipped: set[int] = set()
    while True:
        open_points = [place for place in range(low + 1, high) if place not in skipped]
        if not open_points:
            return low, high
        middle = (low + high) / 2
        place = min(open_points, key=lambda each: (abs(each - middle), each))
        found = state(place)
        if found == "skipped":
            skipped.add(place)
        elif found == first:
            low = place
        else:
            high = place


@dataclass(frozen=True)
class Span:
    """The points from one end to the other."""

    kind: Literal["first_bad", "first_fixed"]
    points: tuple[Point, ...]
    """Oldest first; one end is the bad one, the other one good."""

    @property
    def bad(self) -> Point:
        return self.points[-1 if self.kind == "first_bad" else 0]

    @property
    def good(self) -> Point:
        return self.points[0 if self.kind == "first_bad" else -1]


class Bisection:
    """Records points, each once, and remembers what they came to."""

    def __init__(self, subject: Subject, question: Question, recorder: Recorder) -> None:
        self._subject = subject
        self._question = question
        self._recorder = recorder
        self._attempts: dict[str, Attempt] = {}
        self._probes: dict[str, PointResult] = {}
        self._ends: dict[State, set[str]] = {"good": set(), "bad": set()}
        """What the ends printed, for a question about the output."""
        self._claims: tuple[str, ...] = ()
        self._unchanged: tuple[str, ...] = ()
        """For a question about the verdict: what is searched for, and what both ends violate."""

    def run(self, spans: Sequence[Span]) -> BisectionResult:
        self._check_ends(spans)
        changes = tuple(change for span in spans for change in self._changes(span))
        series = Series(self._subject.name, tuple(self._attempts.values()))
        return BisectionResult(changes, tuple(self._probes.values()), self._unchanged, series, self._attempts)

    def _check_ends(self, spans: Sequence[Span]) -> None:
        """Record the ends; they must be what they are said to be."""
        self._check_recorded(spans[0].bad)
        self._check_claim(spans[0].bad)
        for span in spans:
            self._check_recorded(span.good)
        if self._question.by == "output":
            ends: list[tuple[State, Point]] = [("bad", spans[0].bad)]
            ends += [("good", span.good) for span in spans]
            for state, point in ends:
                self._ends[state].add(_output(self._recorded(point)) or "")
            if self._ends["good"] & self._ends["bad"]:
                raise UsageError("the good and the bad end print the same", hint="choose other ends")
        if self._by_claims:
            self._choose_claims(spans)
        bad = self._probe(spans[0].bad)
        goods = [self._probe(span.good) for span in spans]
        if bad.state == "good" and all(good.state == "bad" for good in goods):
            names = " and ".join(good.point.name for good in goods)
            raise UsageError(
                f"good and bad are exchanged: {names} is bad and {bad.point.name} is good",
                hint="exchange --good and --bad",
            )
        for said, probe in zip(("bad", *("good" for _ in goods)), (bad, *goods), strict=True):
            if probe.state != said:
                raise UsageError(
                    f"{probe.point.name} is not {said}: {probe.why}",
                    hint="choose another end; `agentproof compare` shows several releases at once",
                )

    def _check_recorded(self, end: Point) -> None:
        """Of an end that could not be recorded it cannot be said that it is not what it should be."""
        attempt = self._recorded(end)
        if attempt.bundle is None:
            raise CannotDoError(f"{end.name} could not be recorded: {attempt.failed}", hint=attempt.hint)

    def _check_claim(self, bad: Point) -> None:
        """The claim that is asked about must be one that is judged."""
        judgement = self._judgement(bad) if self._question.claim is not None else None
        known = dict.fromkeys(claim.id for claim in judgement.claims) if judgement is not None else {}
        if known and self._question.claim not in known:
            raise UsageError(
                f"--claim {self._question.claim}: no such claim in this reproduction",
                hint=f"there are: {', '.join(known)}",
            )

    @property
    def _by_claims(self) -> bool:
        return self._question.by == "verdict" and self._question.claim is None

    def _choose_claims(self, spans: Sequence[Span]) -> None:
        """Search for what the bad end violates and a good end does not; note what no good end is without."""
        judgement = self._judgement(spans[0].bad)
        if judgement is None or judgement.verdict != "violated":
            return
        violated = dict.fromkeys(each.id for each in judgement.claims if each.status == "violated")
        goods = [self._judgement(span.good) for span in spans]
        changing = [
            claim
            for claim in violated
            if any(good is not None and claim_state(good, claim) == "good" for good in goods)
        ]
        self._claims = tuple(changing or violated)
        self._unchanged = tuple(claim for claim in violated if changing and claim not in changing)

    def _changes(self, span: Span) -> Sequence[Transition]:
        """Where the states of the ends meet: one place, or one for each group of claims."""
        points = span.points
        if not self._by_claims:
            return (self._change(span, *search(len(points), lambda place: self._probe(points[place]).state)),)
        found: dict[tuple[int, int], list[str]] = {}
        for claim in self._claims:
            if self._state_of(span.good, claim) == "good":
                ends = search(len(points), partial(self._state_at, points, claim))
                found.setdefault(ends, []).append(claim)
        return [self._change(span, *ends, *claims) for ends, claims in sorted(found.items())]

    def _change(self, span: Span, low: int, high: int, *claims: str) -> Transition:
        points = span.points
        return Transition(span.kind, points[low], points[high], points[low + 1 : high], len(points), claims)

    def _state_at(self, points: Sequence[Point], claim: str, place: int) -> State:
        return self._state_of(points[place], claim)

    def _state_of(self, point: Point, claim: str) -> State:
        """One claim at one point, which is recorded and told if it was not."""
        self._probe(point)
        judgement = self._judgement(point)
        return "skipped" if judgement is None else claim_state(judgement, claim)

    def _judgement(self, point: Point) -> Judgement | None:
        if point.left_out is not None:
            return None
        bundle = self._recorded(point).bundle
        return bundle.document.judgement if bundle is not None else None

    def _recorded(self, point: Point) -> Attempt:
        if point.name not in self._attempts:
            self._attempts[point.name] = self._recorder.attempt(self._subject, point.target)
        return self._attempts[point.name]

    def _probe(self, point: Point) -> PointResult:
        if point.name not in self._probes:
            state, why = self._judged(point)
            about = f" {point.about}" if point.about else ""
            self._recorder.progress.done(state, f"{point.name}{about}: {why}")
            self._probes[point.name] = PointResult(point, state, why)
        return self._probes[point.name]

    def _judged(self, point: Point) -> tuple[State, str]:
        if point.left_out is not None:
            return "skipped", point.left_out
        attempt = self._recorded(point)
        if attempt.bundle is None:
            return "skipped", attempt.failed or "not recorded"
        if self._question.by == "output":
            return self._judged_by_output(attempt)
        judgement = attempt.bundle.document.judgement
        if judgement.verdict == "inconclusive":
            ended = ending_of(attempt.bundle.traces.values())
            why = judged(judgement, claim=None)[1]
            return "skipped", f"{why}; the script ended by {ended}" if ended is not None else why
        if not self._by_claims or not self._claims:
            return judged(judgement, claim=self._question.claim)
        states = {claim_state(judgement, claim) for claim in self._claims}
        state: State = "bad" if "bad" in states else "good" if "good" in states else "skipped"
        return state, judged(judgement, claim=None)[1]

    def _judged_by_output(self, attempt: Attempt) -> tuple[State, str]:
        output = _output(attempt)
        if output in self._ends["good"]:
            return "good", "prints what a good end prints"
        if output in self._ends["bad"]:
            return "bad", "prints what the bad end prints"
        return "skipped", "prints what neither end prints"


def claim_state(judgement: Judgement, claim: str) -> State:
    """A claim that another point violates: what has nothing to judge where all else holds is good."""
    if judgement.verdict == "inconclusive":
        return "skipped"
    statuses = {each.status for each in judgement.claims if each.id == claim}
    if "violated" in statuses:
        return "bad"
    return "good" if "holds" in statuses or judgement.verdict == "holds" else "skipped"


def judged(judgement: Judgement, *, claim: str | None) -> tuple[State, str]:
    """Good, bad or neither, and why."""
    if claim is not None:
        statuses = {each.status for each in judgement.claims if each.id == claim}
        if "violated" in statuses:
            return "bad", f"{claim} is violated"
        if "holds" in statuses:
            return "good", f"{claim} holds"
        return "skipped", f"{claim} has nothing to judge"
    if judgement.verdict == "violated":
        names = dict.fromkeys(each.id for each in judgement.claims if each.status == "violated")
        return "bad", f"violated: {', '.join(names)}"
    if judgement.verdict == "holds":
        return "good", "holds"
    return "skipped", f"inconclusive: {'; '.join(explain_reason(code) for code in judgement.reasons)}"


def _output(attempt: Attempt) -> str | None:
    """What the script printed as written."""
    if attempt.bundle is None:
        return None
    trace = attempt.bundle.traces["as-written"]
    written = [event for event in trace.events if isinstance(event, ScriptWrote) and event.stream == "stdout"]
    return json.dumps([event.text for event in written], sort_keys=True)
