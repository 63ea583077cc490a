"""What a hunted program is: a few small choices, drawn by Hypothesis, of what public producers can emit.

The plain choice stands first everywhere, since a failing program is shrunk towards it.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from ..errors import CannotDoError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Area = Literal["approvals", "agents", "guardrails", "sessions", "limits"]
AREAS: Final[tuple[Area, ...]] = ("approvals", "agents", "guardrails", "sessions", "limits")

Needs = Literal["never", "always", "callback"]
Body = Literal[
    "text", "raises", "raises_out", "slow", "none", "empty", "dict", "list", "model", "models", "int"
]
ToolGuardrail = Literal["allow", "reject", "raise"]
Tripwire = Literal["pass", "trips", "trips_before"]
LastWord = Literal["text", "refusal", "malformed", "empty", "model_error"]
SessionKind = Literal["list", "memory", "file"]


@dataclass(frozen=True)
class Tool:
    """A function tool."""

    needs: Needs = "never"
    body: Body = "text"
    is_sync: bool = False
    before: ToolGuardrail | None = None
    after: ToolGuardrail | None = None


@dataclass(frozen=True)
class Turn:
    """One answer of a model: calls by number among what the agent can call, perhaps with a text beside."""

    calls: tuple[int, ...] = (0,)
    has_text: bool = False
    is_unknown: bool = False
    """Another call, of a tool that there is not."""


@dataclass(frozen=True)
class Agent:
    """An agent; all but the first are called by another one."""

    turns: tuple[Turn, ...] = (Turn(),)
    final: LastWord = "text"
    output_type: Literal["list", "model"] | None = None
    tools: tuple[int, ...] = (0,)
    parent: int = 0
    called_as: Literal["tool", "handoff"] = "tool"
    needs_approval: bool = False
    """As a tool."""
    stops_on_first_tool: bool = False
    hands_back: bool = False
    input_guardrail: Tripwire | None = None
    output_guardrail: Tripwire | None = None
    retries: bool = False
    """Its model fails once before each answer, and the SDK asks it again."""


@dataclass(frozen=True)
class Run:
    """One run, from a text to its end, with what is decided at each pause."""

    decisions: tuple[str, ...] = ()
    """For each pause a letter a call: approve, reject, Always, neveR, and - leaves it."""
    max_turns: int = 10
    has_handler: bool = False
    """Of what runs out of turns."""
    is_streamed: bool = False
    sibling: str | None = None
    """What is decided for another state of the last pause's result, which is resumed at the end, with a copy
    of the session as it was at the pause."""
    is_cancelled: bool = False
    through_json: bool = False


@dataclass(frozen=True)
class Program:
    """A script's worth of choices."""

    tools: tuple[Tool, ...] = (Tool(),)
    agents: tuple[Agent, ...] = (Agent(),)
    runs: tuple[Run, ...] = (Run(),)
    session: SessionKind | None = None
    nests_history: bool = False
    has_context: bool = False
    failing_add: int = 0
    """The number of the write that a session of the script's own refuses once."""
    session_limit: int = 0
    """How many of a session's items a run is given; 0: all."""
    is_traced: bool = False

    def children(self, number: int) -> Iterator[int]:
        """The agents that agent `number` can call."""
        return (each for each in range(1, len(self.agents)) if self.parent(each) == number)

    def parent(self, number: int) -> int:
        """Who calls agent `number`, which is not the first."""
        return self.agents[number].parent % number

    def tools_of(self, number: int) -> list[int]:
        """The tools of an agent, by number."""
        return sorted({each % len(self.tools) for each in self.agents[number].tools})

    def callable_by(self, number: int) -> list[str]:
        """The names that an agent's model can call."""
        names = [f"t{each}" for each in self.tools_of(number)]
        names += [
            f"a{child}" if self.agents[child].called_as == "tool" else f"transfer_to_g{child}"
            for child in self.children(number)
        ]
        if number and self.agents[number].hands_back and self.agents[number].called_as == "handoff":
            names.append(f"transfer_to_g{self.parent(number)}")
        return names

    def calls_of(self, number: int) -> Iterator[tuple[list[str], Turn]]:
        """The names that each turn of an agent calls; one handoff a turn at most."""
        names = self.callable_by(number)
        for turn in self.agents[number].turns:
            called: list[str] = []
            for each in turn.calls:
                name = names[each % len(names)]
                if not (name.startswith("transfer") and any(each.startswith("transfer") for each in called)):
                    called.append(name)
            yield called, turn

    @property
    def used_tools(self) -> list[int]:
        """Tools that some agent has."""
        return sorted({tool for number in range(len(self.agents)) for tool in self.tools_of(number)})

    @property
    def can_pause(self) -> bool:
        """Whether something in it may ask for an approval that is then decided."""
        asked = any(self.tools[each].needs != "never" for each in self.used_tools)
        return (asked or any(each.needs_approval for each in self.agents[1:])) and any(
            run.decisions for run in self.runs
        )

    @property
    def is_racing(self) -> bool:
        """Whether it is legal that what is called and asked differs from run to run: a guardrail that stops a
        run while the model is asked, or a tool that ends a run beside others (docs/decisions/0080)."""
        if any(each.input_guardrail == "trips" for each in self.agents):
            return True
        ending = {
            f"t{number}"
            for number in self.used_tools
            if self.tools[number].body == "raises_out"
            or "raise" in (self.tools[number].before, self.tools[number].after)
        }
        nested = {f"a{number}" for number in range(1, len(self.agents))}
        return any(
            len(called) > 1 and (ending & {*called} or (ending and nested & {*called}))
            for number in range(len(self.agents))
            for called, _ in self.calls_of(number)
        )

    @classmethod
    def from_shape(cls, shape: Mapping[str, Any]) -> "Program":  # Any: JSON
        """From what `to_shape` gave, or JSON of it."""

        def agent(each: Mapping[str, Any]) -> Agent:
            turns = tuple(Turn(**{**turn, "calls": tuple(turn["calls"])}) for turn in each["turns"])
            return Agent(**{**each, "turns": turns, "tools": tuple(each["tools"])})

        runs = tuple(Run(**{**run, "decisions": tuple(run["decisions"])}) for run in shape["runs"])
        tools = tuple(Tool(**tool) for tool in shape["tools"])
        return cls(**{**shape, "tools": tools, "agents": tuple(map(agent, shape["agents"])), "runs": runs})

    def to_shape(self) -> dict[str, Any]:  # Any: JSON
        """As JSON."""
        return dataclasses.asdict(self)


def strategy(only: Area | None, features: "Features") -> "SearchStrategy[Program]":
    """Programs that a release can run, of one area or of all.

    Raises:
        CannotDoError: Hypothesis is not installed.
    """
    try:
        from hypothesis import strategies as st  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise CannotDoError(
            "a hunt draws its programs by Hypothesis, which is not installed",
            hint="install agentproof-bundles with its extra: pip install '.[hunt]' in the checkout",
        ) from error

    def pick(*choices: Any) -> "SearchStrategy[Any]":  # Any: the choices' own type
        return st.integers(0, len(choices) - 1).map(lambda number: choices[number])

    def rarely(one_in: int, choice: Any, other: Any) -> "SearchStrategy[Any]":
        return st.integers(0, one_in - 1).map(lambda number: choice if number == one_in - 1 else other)

    def within(area: Area, choices: "SearchStrategy[Any]", plain: Any) -> "SearchStrategy[Any]":
        return choices if only in (None, area) else st.just(plain)

    approvals = features.approvals
    tool_guardrail = within(
        "guardrails",
        pick(*[None] * 4, "allow", "reject", "raise") if features.tool_guardrails else st.just(None),
        None,
    )
    letters = st.text(alphabet="arAR-", min_size=1, max_size=2)
    tools = st.builds(
        Tool,
        needs=pick("always", "always", "never", "callback") if approvals else st.just("never"),
        body=pick("text", *get_args(Body)),
        is_sync=rarely(4, True, False),
        before=tool_guardrail,
        after=tool_guardrail,
    )
    turns = st.builds(
        Turn,
        calls=st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple),
        has_text=rarely(4, True, False),
        is_unknown=rarely(12, True, False),
    )
    agents = st.builds(
        Agent,
        turns=st.lists(turns, min_size=1, max_size=2).map(tuple),
        final=pick(*["text"] * 8, *get_args(LastWord)),
        output_type=pick(None, None, None, "list", "model"),
        tools=st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True).map(tuple),
        parent=st.integers(0, 5),
        called_as=pick("tool", "handoff"),
        needs_approval=rarely(5, True, False) if approvals else st.just(False),
        stops_on_first_tool=rarely(6, True, False),
        hands_back=rarely(4, True, False),
        input_guardrail=within("guardrails", pick(*[None] * 7, *get_args(Tripwire)), None),
        output_guardrail=within("guardrails", pick(*[None] * 6, "pass", "trips"), None),
        retries=within("limits", rarely(10, True, False), False) if features.retries else st.just(False),
    )
    runs = st.builds(
        Run,
        decisions=st.lists(letters, max_size=3).map(tuple) if approvals else st.just(()),
        max_turns=within("limits", pick(10, 10, 10, 2, 1), 10),
        has_handler=within("limits", rarely(4, True, False), False) if features.handlers else st.just(False),
        is_streamed=st.booleans(),
        sibling=st.none() | st.text(alphabet="arAR", min_size=1, max_size=2) if approvals else st.none(),
        is_cancelled=within("limits", rarely(10, True, False), False),
        through_json=rarely(4, True, False) if approvals else st.just(False),
    )
    programs = st.builds(
        Program,
        tools=st.lists(tools, min_size=1, max_size=3).map(tuple),
        agents=st.lists(agents, min_size=1, max_size=4 if only in (None, "agents") else 2).map(tuple),
        runs=st.lists(runs, min_size=1, max_size=2).map(tuple),
        session=within("sessions", pick(None, "list", "memory", "file"), None),
        nests_history=rarely(7, True, False) if features.nested_history else st.just(False),
        has_context=rarely(5, True, False),
        failing_add=within("sessions", pick(*[0] * 6, 1, 2, 3), 0),
        session_limit=within("sessions", pick(0, 0, 0, 1, 2, 3), 0) if features.limits else st.just(0),
        is_traced=rarely(4, True, False),
    )
    sound = programs.map(_sound)
    if not approvals or only not in (None, "approvals", "agents"):
        return sound
    return st.tuples(sound, pick(False, False, True)).map(
        lambda drawn: _pausing_below(drawn[0]) if drawn[1] else drawn[0]
    )


def _sound(program: Program) -> Program:
    """A copy of a session that fails would fail too."""
    if program.session is None or not program.failing_add:
        return program
    return replace(program, runs=tuple(replace(run, sibling=None) for run in program.runs))


def _pausing_below(program: Program) -> Program:
    """A program that pauses below an agent used as a tool, where states hang together most."""
    first, *others = program.agents
    below = others[0] if others else Agent()
    below = replace(below, called_as="tool", tools=(0, *below.tools), turns=(Turn(), *below.turns[1:]))
    one = replace(program, agents=(replace(first, input_guardrail=None), below, *others[1:]))
    calls = (one.callable_by(0).index("a1"),)
    first = replace(one.agents[0], turns=(replace(first.turns[0], calls=calls), *first.turns[1:]))
    run = replace(program.runs[0], decisions=program.runs[0].decisions or ("a",), max_turns=10)
    asking = (
        program.tools[0] if program.tools[0].needs != "never" else replace(program.tools[0], needs="always")
    )
    return replace(
        one,
        tools=(asking, *program.tools[1:]),
        agents=(first, *one.agents[1:]),
        runs=(run, *program.runs[1:]),
    )


@dataclass(frozen=True)
class Features:
    """What a release has, as its wheel says."""

    approvals: bool = True
    tool_guardrails: bool = True
    handlers: bool = True
    nested_history: bool = True
    blocking_guardrails: bool = True
    limits: bool = True
    retries: bool = True
    scripted_model: bool = True

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> "Features":
        """Read from the files of the SDK's wheel, by path."""

        def has(path: str, word: bytes) -> bool:
            return word in files.get(path, b"")

        return cls(
            approvals="agents/run_state.py" in files,
            tool_guardrails="agents/tool_guardrails.py" in files,
            handlers=has("agents/run.py", b"error_handlers"),
            nested_history=has("agents/run_config.py", b"nest_handoff_history")
            or has("agents/run.py", b"nest_handoff_history"),
            blocking_guardrails=has("agents/guardrail.py", b"run_in_parallel"),
            limits="agents/memory/session_settings.py" in files,
            retries=has("agents/retry.py", b"ModelRetrySettings"),
            scripted_model="agents/testing/model.py" in files,
        )

    def missing(self) -> list[str]:
        """What hunts leave out on this release, in words."""
        words = {
            "approvals": "approvals",
            "tool_guardrails": "guardrails of tools",
            "handlers": "handlers of run errors",
            "nested_history": "nested handoff history",
            "blocking_guardrails": "guardrails that block",
            "limits": "limits of sessions",
            "retries": "retries of a model",
        }
        return [word for name, word in words.items() if not getattr(self, name)]


__all__ = ["AREAS", "Agent", "Area", "Features", "Program", "Run", "Tool", "Turn", "strategy"]
