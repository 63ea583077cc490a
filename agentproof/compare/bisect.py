"""Find between which two releases or commits a verdict changes.

1. A point is *bad* where what is searched for is violated, *good* where it holds; what can be said
   about neither (inconclusive, not built, not locked, yanked) is skipped and named.
2. Both ends are recorded first: good and bad must be what they are said to be. Asked about the verdict,
   what is searched for are the claims that the bad end violates and the good end does not.
3. Between them the middle is recorded, or its nearest neighbour that was not skipped, until two
   neighbours differ: at most ⌈log2 n⌉ + 2 recordings of n points where nothing is skipped. Claims
   mostly change together; one that changes elsewhere is searched on its own, with what is recorded.
4. Recordings are kept (`record.cache`), so an interrupted search goes on where it was.

With an older good end, the first bad point is found; with a newer one, the first fixed; with both,
both. Violations come and go more than once at times: a search finds one change between its ends.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from packaging.version import InvalidVersion, Version

from ..environment import checkout as _checkout
from ..environment import git, interpreters
from ..environment import releases as _releases
from ..errors import UsageError
from ..record.target import Target
from ..sdk import DEFAULT
from .comparison import Recorder
from .search import Bisection, BisectionResult, Point, Question, Span
from .subjects import Subject


def bisect_releases(
    subject: Subject,
    *,
    good: Sequence[str],
    bad: str,
    question: Question,
    recorder: Recorder,
) -> BisectionResult:
    """Search the releases of the index.

    Raises:
        UsageError: an end is no release, the ends are equal, exchanged, or do not differ.
        CannotDoError: the index cannot be reached.
    """
    interpreter = interpreters.find(recorder.conditions.python)
    recorder.progress.working("listing releases")
    known = _releases.releases(DEFAULT.distribution, interpreter=interpreter)
    ends = {_version(text) for text in (*good, bad)}
    for end in ends - {release.version for release in known}:
        near = ", ".join(str(release.version) for release in known[-3:])
        raise UsageError(f"the index has no {DEFAULT.distribution} {end}", hint=f"the newest are {near}")
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
        target = Target(str(release.version), requirement=f"{DEFAULT.distribution}=={release.version}")
        points.append(Point(str(release.version), target, left_out=left_out))
    names = [point.name for point in points]
    spans = [_between(points, names, str(_version(each)), str(_version(bad))) for each in good]
    return Bisection(subject, question, recorder).run(spans)


def bisect_commits(
    subject: Subject,
    directory: Path,
    *,
    good: Sequence[str],
    bad: str,
    question: Question,
    recorder: Recorder,
) -> BisectionResult:
    """Search the commits of a checkout along first parents, building each one.

    Raises:
        UsageError: an end is no commit, the ends are equal, exchanged, on different branches, or do
            not differ.
    """
    spans = []
    bad_commit = git.resolve(directory, bad)
    for each in good:
        good_commit = git.resolve(directory, each)
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
        spans.append(Span("first_bad" if older else "first_fixed", points))
    return Bisection(subject, question, recorder).run(spans)


def _version(text: str) -> Version:
    try:
        return Version(text.removeprefix(f"{DEFAULT.distribution}=="))
    except InvalidVersion as error:
        raise UsageError(
            f"{text}: not a version", hint="such as 0.20.0; commits need --source DIR"
        ) from error


def _between(points: Sequence[Point], names: Sequence[str], good: str, bad: str) -> Span:
    first, last = sorted((names.index(good), names.index(bad)))
    if first == last:
        raise UsageError(f"--good and --bad are both {bad}", hint="give two different releases")
    kind: Literal["first_bad", "first_fixed"] = (
        "first_bad" if names.index(good) < names.index(bad) else "first_fixed"
    )
    return Span(kind, tuple(points[first : last + 1]))
