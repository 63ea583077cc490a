"""Find between which two releases or commits a verdict changes.

1. A point is *bad* where what is searched for is violated, *good* where it holds; what can be said
   about neither (inconclusive, not built, not locked, yanked) is skipped and named.
2. Both ends are recorded first: good and bad must be what they are said to be.
3. Between them the middle is recorded, or its nearest neighbour that was not skipped, until two
   neighbours differ: at most ⌈log2 n⌉ + 2 recordings of n points where nothing is skipped.
4. Recordings are kept (`_results`), so an interrupted search goes on where it was.

With an older good end, the first bad point is found; with a newer one, the first fixed; with both,
both. Violations come and go more than once at times: a search finds one change between its ends.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.version import InvalidVersion, Version

from ._comparison import Attempt, Series
from ._environment import _checkout, _git, _pythons, _releases
from ._targets import DISTRIBUTION, Target
from .compare import Recorder, Subject
from .errors import UsageError
from .judge import explain_reason
from .models.events import ScriptWrote
from .models.manifest import Judgement, Manifest
from .replay import traces_of

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
class Probe:
    """A point that was looked at."""

    point: Point
    state: State
    why: str


@dataclass(frozen=True)
class Change:
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


@dataclass(frozen=True)
class Bisected:
    """What a bisection found."""

    changes: tuple[Change, ...]
    probes: tuple[Probe, ...]
    """In the order in which they were looked at."""
    series: Series
    """All recordings, the bad end first, for a comparison bundle."""

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


def bisect_releases(
    subject: Subject,
    *,
    good: Sequence[str],
    bad: str,
    question: Question,
    recorder: Recorder,
) -> Bisected:
    """Search the releases of the index.

    Raises:
        UsageError: an end is no release, the ends are equal, exchanged, or do not differ.
        CannotDoError: the index cannot be reached.
    """
    interpreter = _pythons.find(recorder.options.python)
    recorder.story.working("listing releases")
    known = _releases.releases(DISTRIBUTION, interpreter=interpreter)
    ends = {_version(text) for text in (*good, bad)}
    for end in ends - {release.version for release in known}:
        near = ", ".join(str(release.version) for release in known[-3:])
        raise UsageError(f"the index has no {DISTRIBUTION} {end}", hint=f"the newest are {near}")
    points = []
    for release in known:
        left_out = None
        if release.version not in ends:
            if release.version.is_prerelease:
                continue
            if release.yanked is not None:
                left_out = f"yanked{f': {release.yanked}' if release.yanked else ''}"
            elif not release.fits:
                left_out = f"does not run on Python {interpreter.version}"
        target = Target(str(release.version), requirement=f"{DISTRIBUTION}=={release.version}")
        points.append(Point(str(release.version), target, left_out=left_out))
    names = [point.name for point in points]
    spans = [_between(points, names, str(_version(each)), str(_version(bad))) for each in good]
    return _Bisection(subject, question, recorder).run(spans)


def bisect_commits(
    subject: Subject,
    directory: Path,
    *,
    good: Sequence[str],
    bad: str,
    question: Question,
    recorder: Recorder,
) -> Bisected:
    """Search the commits of a checkout along first parents, building each one.

    Raises:
        UsageError: an end is no commit, the ends are equal, exchanged, on different branches, or do
            not differ.
    """
    spans = []
    bad_commit = _git.resolve(directory, bad)
    for each in good:
        good_commit = _git.resolve(directory, each)
        if good_commit.id == bad_commit.id:
            raise UsageError(f"--good {each} and --bad {bad} are one commit", hint="give two different ones")
        older = _checkout.is_ancestor(directory, good_commit, bad_commit)
        ends = (good_commit, bad_commit) if older else (bad_commit, good_commit)
        points = tuple(
            Point(
                commit.id,
                Target(commit.id[:10], checkout=directory, revision=commit.id),
                about=commit.subject,
            )
            for commit in _checkout.first_parents(directory, *ends)
        )
        spans.append(_Span("first_bad" if older else "first_fixed", points))
    return _Bisection(subject, question, recorder).run(spans)


@dataclass(frozen=True)
class _Span:
    kind: Literal["first_bad", "first_fixed"]
    points: tuple[Point, ...]
    """Oldest first; one end is the bad one, the other one good."""

    @property
    def bad(self) -> Point:
        return self.points[-1 if self.kind == "first_bad" else 0]

    @property
    def good(self) -> Point:
        return self.points[0 if self.kind == "first_bad" else -1]


def _version(text: str) -> Version:
    try:
        return Version(text.removeprefix(f"{DISTRIBUTION}=="))
    except InvalidVersion as error:
        raise UsageError(
            f"{text}: not a version", hint="such as 0.20.0; commits need --source DIR"
        ) from error


def _between(points: Sequence[Point], names: Sequence[str], good: str, bad: str) -> _Span:
    first, last = sorted((names.index(good), names.index(bad)))
    if first == last:
        raise UsageError(f"--good and --bad are both {bad}", hint="give two different releases")
    kind: Literal["first_bad", "first_fixed"] = (
        "first_bad" if names.index(good) < names.index(bad) else "first_fixed"
    )
    return _Span(kind, tuple(points[first : last + 1]))


class _Bisection:
    """Records points, each once, and remembers what they came to."""

    def __init__(self, subject: Subject, question: Question, recorder: Recorder) -> None:
        self._subject = subject
        self._question = question
        self._recorder = recorder
        self._attempts: dict[str, Attempt] = {}
        self._probes: dict[str, Probe] = {}
        self._ends: dict[State, set[str]] = {"good": set(), "bad": set()}
        """What the ends printed, for a question about the output."""

    def run(self, spans: Sequence[_Span]) -> Bisected:
        with self._recorder.request_of(self._subject) as base:
            self._base = base
            self._hold_ends(spans)
            changes = tuple(self._change(span) for span in spans)
        series = Series(self._subject.name, tuple(self._attempts.values()))
        return Bisected(changes, tuple(self._probes.values()), series)

    def _hold_ends(self, spans: Sequence[_Span]) -> None:
        """Record the ends; they must be what they are said to be."""
        if self._question.by == "output":
            ends: list[tuple[State, Point]] = [("bad", spans[0].bad)]
            ends += [("good", span.good) for span in spans]
            for state, point in ends:
                output = _output(self._recorded(point))
                if output is None:
                    raise UsageError(f"{point.name} could not be recorded", hint="choose another end")
                self._ends[state].add(output)
            if self._ends["good"] & self._ends["bad"]:
                raise UsageError("the good and the bad end print the same", hint="choose other ends")
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

    def _change(self, span: _Span) -> Change:
        points = span.points
        low, high = search(len(points), lambda place: self._probe(points[place]).state)
        return Change(span.kind, points[low], points[high], points[low + 1 : high], len(points))

    def _recorded(self, point: Point) -> Attempt:
        if point.name not in self._attempts:
            self._attempts[point.name] = self._recorder.attempt(self._subject.name, self._base, point.target)
        return self._attempts[point.name]

    def _probe(self, point: Point) -> Probe:
        if point.name not in self._probes:
            state, why = self._judged(point)
            self._recorder.story.done(state, f"{point.name}{f' {point.about}' if point.about else ''}: {why}")
            self._probes[point.name] = Probe(point, state, why)
        return self._probes[point.name]

    def _judged(self, point: Point) -> tuple[State, str]:
        if point.left_out is not None:
            return "skipped", point.left_out
        attempt = self._recorded(point)
        if attempt.bundle is None:
            return "skipped", attempt.failed or "not recorded"
        if self._question.by == "output":
            output = _output(attempt)
            if output in self._ends["good"]:
                return "good", "prints what a good end prints"
            if output in self._ends["bad"]:
                return "bad", "prints what the bad end prints"
            return "skipped", "prints what neither end prints"
        manifest = Manifest.from_bytes(attempt.bundle.manifest)
        return judged(manifest.judgement, claim=self._question.claim)


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
    manifest = Manifest.from_bytes(attempt.bundle.manifest)
    trace = traces_of(attempt.bundle, manifest)["as-written"]
    written = [event for event in trace.events if isinstance(event, ScriptWrote) and event.stream == "stdout"]
    return json.dumps([event.text for event in written], sort_keys=True)
