"""Draw programs, hold each to the rules and to itself run otherwise, and shrink what fails."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from ..errors import AgentproofError
from ..isolation.forkserver import Output, Source
from ..models.header import read_header
from ..models.manifest import ClaimResult
from ..models.trace import Mode as RecordedMode
from ..record.reproduction import Reproduction
from ..record.trials import Trials
from .modes import compared, differing, first_difference, read_log, repeats
from .programs import Agent, Area, Features, Program, Run, Tool, Turn, strategy
from .scripts import MODES, Mode, Rendering, applies, render

_Item = TypeVar("_Item")
_Plain = TypeVar("_Plain", Program, Run, Agent, Turn, Tool)

ENTRY: Final = "reproduction.py"
_BATCH: Final = 40
"""Programs that Hypothesis draws from one seed."""
_SECONDS: Final = 4.0
"""For one run; what takes longer is left out, since it would hardly be told from a slow machine."""
_SHRINK_RUNS: Final = 250
_SHRINK_SECONDS: Final = 90.0
_RULES_EVERY: Final = 3
_MORE: Final = 7


@dataclass(frozen=True, order=True)
class Signature:
    """What makes two failures the same: a rule with its code and place, or a mode with what differs in it."""

    oracle: str
    """`rule` or `mode`."""
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.oracle} {self.name}: {self.what}"

    @property
    def mode(self) -> Mode:
        """How the script is run for it."""
        return (
            next((each for each in MODES if each == self.name), "plain") if self.oracle == "mode" else "plain"
        )


@dataclass
class Finding:
    """A failure that was seen twice."""

    signature: Signature
    program: Program
    detail: str
    first_seconds: float
    times: int = 1
    more: list[Program] = field(default_factory=list)
    """Other programs that failed in the same way, the first few: a known failure may hide another one."""
    shrink_runs: int = 0
    shrink_seconds: float = 0.0


@dataclass
class Tally:
    """What a hunt has done so far."""

    programs: int = 0
    runs: int = 0
    recorded: int = 0
    too_long: int = 0
    unsteady: Counter[str] = field(default_factory=Counter)
    ours: Counter[str] = field(default_factory=Counter)
    """Faults of the recorder's or the hunt's own, which are no findings."""
    last_new: float = 0.0


class Hunter:
    """A hunt in one environment."""

    def __init__(self, trials: Trials, features: Features, *, progress: Callable[[str], None]) -> None:
        self._trials = trials
        self._features = features
        self._progress = progress
        self._began = time.monotonic()
        self._last: list[Any] = []  # Any: JSON
        """The log of the program that ran last as it is."""
        self.tally = Tally()
        self.found: dict[Signature, Finding] = {}

    @property
    def seconds(self) -> float:
        """Wall time since the hunt began."""
        return time.monotonic() - self._began

    def hunt(self, *, seconds: float, seed: int, only: Area | None = None) -> None:
        """Draw and judge programs for so long. Ctrl-C goes through; what was found stays in `found`.

        Raises:
            CannotDoError: Hypothesis is not installed.
        """
        drawn = strategy(only, self._features)
        from hypothesis import HealthCheck, Phase, given, settings  # noqa: PLC0415  (an extra)
        from hypothesis import seed as seeded  # noqa: PLC0415

        self._began = time.monotonic()
        batch = 0

        def take(program: Program) -> None:
            if self.seconds < seconds:
                self.judge(program)

        while self.seconds < seconds:
            test = given(drawn)(take)
            test = settings(
                max_examples=_BATCH,
                phases=[Phase.generate],
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            )(test)
            seeded(seed * 100_003 + batch)(test)()
            batch += 1

    def judge(self, program: Program) -> None:
        """Hold one program to both oracles, and note what fails twice."""
        self.tally.programs += 1
        seen = self.failures(program, with_rules=self.tally.programs % _RULES_EVERY == 0)
        if (seen or repeats(self._last)) and self.tally.programs % _RULES_EVERY:
            seen |= self._broken_rules(program)
        for signature, detail in seen.items():
            if signature in self.found:
                self.found[signature].times += 1
                self.found[signature].more += [program] if len(self.found[signature].more) < _MORE else []
            elif signature not in self.again(program, signature):
                self.tally.unsteady[str(signature)] += 1
            else:
                self.tally.last_new = self.seconds
                self.found[signature] = Finding(signature, program, detail, self.seconds)
        self._progress(
            f"{self.tally.programs} programs, {len(self.found)} kinds of finding, "
            f"{self.seconds - self.tally.last_new:.0f} s since the last new one"
        )

    def failures(self, program: Program, *, with_rules: bool) -> dict[Signature, str]:
        """What fails now, with what it says."""
        seen = dict(self._differences(program, MODES))
        return {**seen, **self._broken_rules(program)} if with_rules else seen

    def again(self, program: Program, signature: Signature) -> dict[Signature, str]:
        """What fails now where this failed before."""
        if signature.oracle == "rule":
            return self._broken_rules(program)
        return dict(self._differences(program, (signature.mode,) if signature.mode != "plain" else ()))

    # ---- a program against itself

    def _differences(self, program: Program, modes: Sequence[Mode]) -> Iterator[tuple[Signature, str]]:
        plain = self._run(program, "plain", changed=False)
        base = read_log(plain.stdout) if plain is not None else None
        self._last = base or []
        if plain is None:
            return
        if base is None:
            last = plain.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [
                f"exit {plain.status}"
            ]
            yield Signature("mode", "plain", _shape(last[0])[:80]), last[0][:300]
            return
        for mode in modes:
            if not applies(program, mode):
                continue
            changed = self._changed_log(program, mode)
            if changed is None:
                continue
            one, other = compared(mode, base, changed, is_racing=program.is_racing)
            names = differing(one, other)
            first = first_difference(one, other)
            if names and first is not None:
                yield Signature("mode", mode, ", ".join(names)), f"{first[0]}: {first[1]} / {first[2]}"

    def _changed_log(self, program: Program, mode: Mode) -> list[Any] | None:  # Any: JSON
        done = self._run(program, mode, changed=True)
        log = read_log(done.stdout) if done is not None else None
        if log is None:
            return None if done is None else [["raised", "crashed", _last_line(done)]]
        if mode != "process":
            return log
        if _state_of(log) is None:
            return None
        pause = 0
        while (state := _state_of(log[-1:])) is not None:
            pause += 1
            done = self._run(program, mode, changed=True, state=state, pause=pause)
            rest = read_log(done.stdout) if done is not None else None
            if rest is None:
                return None if done is None else [*log, ["raised", "crashed", _last_line(done)]]
            log += rest
        return log

    def _run(
        self, program: Program, mode: Mode, *, changed: bool, state: Any = None, pause: int = 0
    ) -> Output | None:
        """None where it took too long. `state` is what is resumed at a pause, in a process of its own."""
        text = render(program, Rendering(self._features, mode))
        arguments = (*(["changed"] if changed else []), *([str(pause)] if pause else []))
        beside = {"state.json": json.dumps(state).encode()} if pause else {}
        self.tally.runs += 1
        source = Source(text.encode(), entry=ENTRY, arguments=arguments, beside=beside)
        done = self._trials.run(source, seconds=_SECONDS)
        if done.outcome == "timed_out":
            self.tally.too_long += 1
            return None
        return done

    # ---- a program against the rules

    def _broken_rules(self, program: Program) -> dict[Signature, str]:
        self.tally.recorded += 1
        text = render(program, Rendering(self._features)).encode()
        modes: tuple[RecordedMode, ...] = ("as-written", "streamed")
        try:
            bundle = self._trials.record(reproduction_of(text), modes, seconds=2 * _SECONDS)
        except AgentproofError as error:
            self.tally.ours[f"{type(error).__name__}: {_shape(error.message)[:120]}"] += 1
            return {}
        for gap in bundle.document.coverage:
            if gap.why.startswith(("the recorder failed", "could not be hooked")):
                self.tally.ours[f"{gap.what}: {gap.why}"] += 1
        broken = [each for each in bundle.document.judgement.claims if each.status == "violated"]
        # The recording's streamed mode is another run, which a race may let end otherwise.
        told = [each for each in broken if not (program.is_racing and each.mode == "both")]
        return {signature_of(each): _said(each) for each in told}

    # ---- shrinking

    def shrink(self, finding: Finding) -> None:
        """Make the program of a finding smaller as long as it fails in the same way."""
        began = time.monotonic()
        is_smaller = True
        while is_smaller:
            is_smaller = False
            for candidate in simpler(finding.program):
                if finding.shrink_runs >= _SHRINK_RUNS or time.monotonic() - began > _SHRINK_SECONDS:
                    break
                finding.shrink_runs += 1
                seen = self.again(candidate, finding.signature)
                if finding.signature in seen:
                    finding.program, finding.detail = candidate, seen[finding.signature]
                    is_smaller = True
                    break
            self._progress(f"shrinking {finding.signature.name} ({finding.shrink_runs} runs)")
        finding.shrink_seconds = time.monotonic() - began


def _state_of(log: Sequence[Any]) -> Any:  # Any: JSON
    return next((entry[1] for entry in log if entry[0] == "state"), None)


def reproduction_of(text: bytes) -> Reproduction:
    """A script of the hunt's own as a reproduction."""
    return Reproduction(
        entry=ENTRY, files={ENTRY: text}, header=read_header(text, path=ENTRY), script=Path(ENTRY)
    )


def signature_of(claim: ClaimResult) -> Signature:
    """A violated claim without its ids."""
    first = claim.because[0] if claim.because else None
    what = f"{first.code} {_shape(first.pointer or '')}".strip() if first is not None else ""
    return Signature("rule", claim.kind, what)


def _said(claim: ClaimResult) -> str:
    first = claim.because[0] if claim.because else None
    return (
        f"{claim.mode}: {first.code} {first.pointer or first.subject or ''}"
        if first is not None
        else claim.mode
    )


def _shape(text: str) -> str:
    return re.sub(r"\d+", "#", re.sub(r"(?:fc_|m_)?q\d\w*", "#", text))


def _last_line(done: Output) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return _shape(lines[-1])[:150] if lines else f"exit {done.status}"


def simpler(program: Program) -> Iterator[Program]:
    """Programs with one thing less, the larger things first."""
    for number in range(len(program.runs) if len(program.runs) > 1 else 0):
        yield replace(program, runs=_without(program.runs, number))
    for number in reversed(range(1, len(program.agents))):
        yield replace(program, agents=_without(program.agents, number))
    for number in range(len(program.tools) if len(program.tools) > 1 else 0):
        yield replace(program, tools=_without(program.tools, number))
    yield from (each for each in _plainer(program, Program()) if each.agents and each.runs and each.tools)
    for number, run in enumerate(program.runs):
        for less in _simpler_run(run):
            yield replace(program, runs=_with(program.runs, number, less))
    for number, agent in enumerate(program.agents):
        for other in _simpler_agent(agent):
            yield replace(program, agents=_with(program.agents, number, other))
    for number, tool in enumerate(program.tools):
        for plain in _plainer(tool, Tool()):
            yield replace(program, tools=_with(program.tools, number, plain))


def _simpler_run(run: Run) -> Iterator[Run]:
    for place in reversed(range(len(run.decisions))):
        yield replace(run, decisions=_without(run.decisions, place))
    yield from (each for each in _plainer(run, Run()) if each.decisions == run.decisions)
    for place, letters in enumerate(run.decisions):
        for fewer in (letters[:1], letters.replace("A", "a"), letters.replace("R", "r"), "a"):
            if fewer != letters:
                yield replace(run, decisions=_with(run.decisions, place, fewer))


def _simpler_agent(agent: Agent) -> Iterator[Agent]:
    if len(agent.turns) > 1:
        for place in range(len(agent.turns)):
            yield replace(agent, turns=_without(agent.turns, place))
    yield from (each for each in _plainer(agent, Agent()) if each.turns == agent.turns)
    for place, turn in enumerate(agent.turns):
        for number in range(len(turn.calls) if len(turn.calls) > 1 else 0):
            less = replace(turn, calls=_without(turn.calls, number))
            yield replace(agent, turns=_with(agent.turns, place, less))
        for plain in _plainer(turn, Turn()):
            yield replace(agent, turns=_with(agent.turns, place, plain))


def _plainer(each: _Plain, plain: _Plain) -> Iterator[_Plain]:
    """With one field as plain as it can be."""
    for name, value in vars(plain).items():
        if getattr(each, name) != value:
            yield replace(each, **{name: value})


def _without(items: tuple[_Item, ...], place: int) -> tuple[_Item, ...]:
    return (*items[:place], *items[place + 1 :])


def _with(items: tuple[_Item, ...], place: int, item: _Item) -> tuple[_Item, ...]:
    return (*items[:place], item, *items[place + 1 :])
