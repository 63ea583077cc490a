"""Find a smaller script that shows the same.

1. What a recording shows is its witness: of each violated claim the codes of its findings, with the shapes of
   their pointers. A smaller script must show each of these claims, and nothing of another kind.
2. With a release where it works, nothing of it may be shown there, and the script must come to the same end.
3. The search runs in one environment, whose process has imported the SDK and forks (`record.trials`). What it
   found is recorded in the ordinary way, twice in each mode, and only that is believed.
4. Of claims of which no assertion follows a test asserts what the script prints: where both releases print
   something else, a smaller script still does.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final

import libcst as cst

from ..bundle.store import Bundle
from ..claims import EXPECTED, INVARIANTS
from ..claims.rules import script_completed
from ..environment import wheel_store
from ..environment.locking import Lock
from ..errors import AgentproofError, CannotDoError, UsageError
from ..models.events import ScriptEnded, ScriptWrote
from ..models.manifest import ClaimResult, Finding
from ..models.trace import Mode
from ..models.values import text_of
from ..record.conditions import Conditions
from ..record.observe import observe
from ..record.progress import Progress
from ..record.reproduction import Reproduction
from ..record.trials import Trials, trials
from .assertions import SAID_BY_THE_CLAIM
from .formatting import formatted
from .program import Program, applied
from .reducing import EnoughError, Reducer
from .scripted import exchanged, has_scripted_model

MOST_RUNS: Final = 300
_PATIENCE: Final = (3.0, 5.0)
"""A smaller script may take so many seconds more than the first one, and so many times as long."""
_BACK: Final = 4
"""How many of the last steps are taken back where the ordinary recording shows something else."""

Witness = frozenset[tuple[str, ...]]


@dataclass(frozen=True)
class Minimised:
    """A smaller script."""

    text: str
    lines: tuple[int, int]
    """Before and after."""
    runs: int
    seconds: float
    stopped: str | None
    """Why the search ended before it was done."""
    claims: tuple[str, ...]
    bundle: Bundle
    """The ordinary recording of it, unsigned."""


def minimise(
    reproduction: Reproduction,
    lock: Lock,
    good: Lock | None,
    *,
    conditions: Conditions,
    progress: Progress,
    most: int = MOST_RUNS,
) -> Minimised:
    """Search for at most `most` runs on each release.

    Raises:
        UsageError: the script shows nothing, or shows it on the good release too.
        CannotDoError: an environment cannot be had, or no ordinary recording shows it of what was found.
    """
    if reproduction.exchanges is not None:
        raise UsageError(
            "a recording of a provider's answers is not made smaller: another script asks other questions",
            hint="`agentproof init --from BUNDLE` writes a script with a scripted model first",
        )
    with ExitStack() as stack:
        here = stack.enter_context(trials(lock, conditions, progress))
        there = stack.enter_context(trials(good, conditions, progress)) if good is not None else None
        search = _Search(reproduction, here, there, lock, progress, most)
        search.run()
    return _confirmed(search, lock, good, conditions, progress)


def witness(bundle: Bundle) -> Witness:
    """What a recording shows, by rule 1."""
    claims = bundle.document.judgement.claims
    return frozenset(kind for claim in claims if claim.status == "violated" for kind in _kinds(claim))


def _kinds(claim: ClaimResult) -> Iterator[tuple[str, ...]]:
    for finding in claim.because:
        yield (claim.id, finding.code, _shape(finding.pointer), finding.tool or "", *_told(claim, finding))


def _shape(pointer: str | None) -> str:
    """A pointer without its numbers and ids."""
    tokens = (pointer or "").split("/")
    return "/".join(re.sub(r"[0-9a-f]{8,}|[0-9]+", "#", token) for token in tokens)


def _told(claim: ClaimResult, finding: Finding) -> tuple[str, ...]:
    """Where the script itself says what is wrong, what it says: else anything else would do as well."""
    if claim.id in INVARIANTS and claim.kind != script_completed.NAME:
        return ()
    if claim.kind == script_completed.NAME:
        return (re.sub(r"[0-9]+", "#", str(finding.after)),)
    return (str(finding.subject), str(finding.after)) if claim.kind in EXPECTED else (str(finding.subject),)


def _end(bundle: Bundle, mode: Mode) -> tuple[str, ...]:
    """How the script ended."""
    trace = bundle.traces.get(mode)
    if trace is None:
        return ("absent",)
    ended = next((event for event in trace.events if isinstance(event, ScriptEnded)), None)
    if ended is None:
        return ("none",)
    message = text_of(ended.error.message)[:200] if ended.error is not None else ""
    kind = ended.error.type if ended.error is not None else str(ended.code)
    return (ended.outcome, kind, re.sub(r"[0-9]+", "#", message))


@dataclass
class _Search:
    reproduction: Reproduction
    here: Trials
    there: Trials | None
    lock: Lock
    progress: Progress
    most: int
    runs: int = 0
    history: list[str] = field(default_factory=list)
    """Every text that was taken, the last one the smallest."""
    wanted: Witness = frozenset()
    apart: Witness = frozenset()
    """What the good release shows of the first script."""
    held: frozenset[str] = frozenset()
    """The claims that hold on the good release; others may have nothing to be seen in there."""
    modes: tuple[Mode, ...] = ("as-written", "streamed")
    """Both, for what a smaller script shows in one of them alone is another bug, too."""
    tells: frozenset[Mode] = frozenset()
    """By rule 4: the modes in which what is printed differs, where a test could assert nothing else."""
    ends: dict[tuple[str, Mode], tuple[str, ...]] = field(default_factory=dict)
    stopped: str | None = None
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    _limit: float = 10.0

    @property
    def first(self) -> str:
        """The script as it was given."""
        return self.reproduction.files[self.reproduction.entry].decode("utf-8")

    def run(self) -> None:
        """Search; what was found is in `history`, also where it was cut short."""
        self._look()
        self.history.append(self.first)
        reducer = Reducer(self.first, self._accepts, told=self._take)
        try:
            self._exchange(reducer)
            reducer.reduce()
        except EnoughError:
            self.stopped = f"{self.most} runs"
        except KeyboardInterrupt:
            self.stopped = "Ctrl-C"
            # One press may come as two signals, to this process and to its group.
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(0.3)
        self.seconds = time.monotonic() - self.began

    def _look(self) -> None:
        """What the script shows as it is, on both releases."""
        self.progress.working("looking at what the script shows as it is")
        began = time.monotonic()
        seen = self.here.record(self.reproduction)
        self._limit = _PATIENCE[0] + _PATIENCE[1] * (time.monotonic() - began)
        if not witness(seen):
            raise UsageError(
                f"{self.reproduction.name}: nothing is violated on {self.lock.target.name} "
                f"{self.lock.target.version}, so there is nothing to keep",
                hint="say what should happen: --should-print TEXT (`agentproof record --help`)",
            )
        self.wanted = witness(seen)
        self._remember("here", seen)
        if self.there is not None:
            other = self.there.record(self.reproduction, self.modes)
            self.apart = witness(other)
            self._remember("there", other)
            kept = {kind[0] for kind in self.wanted - self.apart}
            if not kept:
                raise UsageError(
                    "the good release shows the same", hint="name one where it works, or leave out --good"
                )
            # What both releases show is not what tells them apart, and need not be kept.
            self.wanted = frozenset(kind for kind in self.wanted if kind[0] in kept)
            self.held = _held(other) & kept
            kinds = {claim.kind for claim in seen.document.judgement.claims if claim.id in kept}
            if not kinds <= SAID_BY_THE_CLAIM:
                self.tells = frozenset(
                    mode for mode in self.modes if _printed(seen, mode) != _printed(other, mode)
                )
        claims = ", ".join(sorted({kind[0] for kind in self.wanted}))
        self.progress.done("kept", f"{claims}: {len(self.wanted)} kinds of findings")

    def _remember(self, side: str, bundle: Bundle) -> None:
        for mode in self.modes:
            self.ends[side, mode] = _end(bundle, mode)

    def _exchange(self, reducer: Reducer) -> None:
        """The script's own model for a shorter one."""
        module = cst.parse_module(reducer.text)
        program = Program(tuple(module.body), (), is_async=False, docstring=None)
        own = not has_scripted_model(wheel_store.default_store().read(self.lock.target.sha256))
        for edits in exchanged(program, own=own, usage="Usage(requests=1, input_tokens=10, output_tokens=5)"):
            if reducer.offer(applied(module, edits)):
                return

    def _take(self, text: str) -> None:
        self.history.append(text)
        self.progress.working(f"{_lines(text)} of {_lines(self.first)} lines, {self.runs} runs")

    def _accepts(self, text: str) -> bool:
        """Whether a script shows the same, by rules 1 and 2."""
        if self.runs >= self.most:
            raise EnoughError
        self.runs += 1
        tried = with_text(self.reproduction, text)
        try:
            seen = self.here.record(tried, self.modes, seconds=self._limit)
            if not self._is_same("here", seen, self.wanted):
                return False
            if self.there is None:
                return True
            other = self.there.record(tried, self.modes, seconds=self._limit)
        except AgentproofError:  # it cannot be recorded at all
            return False
        return self._is_silent(other) and self._tells_apart(seen, other)

    def _tells_apart(self, seen: Bundle, other: Bundle) -> bool:
        return not self.tells or any(_printed(seen, mode) != _printed(other, mode) for mode in self.tells)

    def _is_same(self, side: str, seen: Bundle, wanted: Witness) -> bool:
        shown = frozenset(kind for kind in witness(seen) if kind not in self.apart)
        claims = {kind[0] for kind in wanted}
        ends = all(_end(seen, mode) == self.ends[side, mode] for mode in self.modes)
        return ends and shown <= wanted and {kind[0] for kind in shown} == claims

    def _is_silent(self, other: Bundle) -> bool:
        ends = all(_end(other, mode) == self.ends["there", mode] for mode in self.modes)
        return ends and witness(other) <= self.apart and self.held <= _held(other)


def _printed(bundle: Bundle, mode: Mode) -> str:
    trace = bundle.traces.get(mode)
    wrote = (event for event in trace.events if isinstance(event, ScriptWrote)) if trace is not None else ()
    return "".join(text_of(event.text) for event in wrote if event.stream == "stdout")


def _held(bundle: Bundle) -> frozenset[str]:
    return frozenset(claim.id for claim in bundle.document.judgement.claims if claim.status == "holds")


def with_text(reproduction: Reproduction, text: str) -> Reproduction:
    """The same with another text of its entry."""
    return replace(reproduction, files={**reproduction.files, reproduction.entry: text.encode()})


def _lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def _confirmed(
    search: _Search, lock: Lock, good: Lock | None, conditions: Conditions, progress: Progress
) -> Minimised:
    """The smallest text that an ordinary recording confirms."""
    store = wheel_store.default_store()
    tried: list[str] = []
    for text in list(dict.fromkeys((formatted(search.history[-1]), *reversed(search.history))))[:_BACK]:
        once = with_text(search.reproduction, text)
        progress.working("recording the result")
        seen = observe(lock, once, store=store, conditions=conditions, progress=_Steps(progress.working))
        shown = frozenset(kind for kind in witness(seen) if kind not in search.apart)
        if {kind[0] for kind in shown} < {kind[0] for kind in search.wanted}:
            tried.append("it does not show all")
            continue
        if not witness(seen) <= search.wanted | search.apart:
            tried.append("it shows something else")
            continue
        if good is not None:
            other = observe(good, once, store=store, conditions=conditions, progress=_Steps(progress.working))
            if not witness(other) <= search.apart:
                tried.append("the good release shows it too")
                continue
        claims = tuple(sorted({kind[0] for kind in search.wanted}))
        return Minimised(
            text=text,
            lines=(_lines(search.first), _lines(text)),
            runs=search.runs,
            seconds=search.seconds,
            stopped=search.stopped,
            claims=claims,
            bundle=seen,
        )
    raise CannotDoError(
        f"what was found in {search.runs} runs shows something else when it is recorded: {'; '.join(tried)}",
        hint="does the script do the same in each run? `agentproof record` says so",
    )


@dataclass(frozen=True)
class _Steps:
    """Tells what is being done, and not each step that is done."""

    working: Callable[[str], None]

    def done(self, label: str, text: str) -> None:
        """Nothing."""
