"""A program as an ordinary script: with a log for the search, and short for a reader.

The model answers from its input alone: with the first of its turns whose call ids it was not told yet. So
siblings, fresh processes and agents that are used again can be compared; a queue of answers cannot.

In each mode `main(changed)` does what a user may do otherwise without seeing a difference.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from .programs import Features, Program, Run, SessionKind, Tool

Mode = Literal["plain", "stream", "json", "process", "siblings", "last-siblings", "around"]
MODES: Final[tuple[Mode, ...]] = ("stream", "json", "process", "siblings", "last-siblings", "around")
WORDS: Final[dict[Mode, str]] = {
    "plain": "as it is",
    "stream": "streamed instead of not, and the other way round",
    "json": "with its state through JSON at each pause",
    "process": "resumed in a fresh process at each pause",
    "siblings": "resumed from another state of the first pause afterwards",
    "last-siblings": "resumed from another state of the last pause afterwards",
    "around": "with tracing, hooks, another session of the same kind and unrelated runs in between",
}


def applies(program: Program, mode: Mode) -> bool:
    """Whether nothing that a user sees may differ in this mode."""
    if any(run.is_cancelled for run in program.runs):
        return False
    if program.session is not None and program.failing_add:
        return False
    is_alone = len(program.runs) == 1 and program.runs[0].sibling is None and program.session is None
    if mode == "json":
        return program.can_pause
    if mode == "last-siblings":
        return program.can_pause and is_alone and len(program.runs[0].decisions) > 1
    if mode in ("siblings", "process"):
        return program.can_pause and is_alone
    return True


@dataclass(frozen=True)
class Rendering:
    """How a script is written."""

    features: Features
    mode: Mode = "plain"
    is_logged: bool = True
    """With a log of what a user sees, for the search; else as short as can be."""


def render(program: Program, rendering: Rendering) -> str:
    """The script of a program.

    Logged, it runs changed or not as its argument says, and its last line is the log as JSON. Otherwise it
    runs as it is, or, in a mode, both ways.
    """
    writer = ScriptWriter(program, rendering)
    return "\n".join(writer.lines()).rstrip() + "\n"


_ANSWER: Final = '''

def plain(item):
    return item.model_dump(exclude_unset=True) if hasattr(item, "model_dump") else item


def answer(name, final, turns, given):
    """The first of an agent's turns whose calls it was not told of; in the end `final`."""
    items = [{"role": "user", "content": given}] if isinstance(given, str) else list(map(plain, given))
    seen = json.dumps(items, default=str, sort_keys=True)%(log)s
    asked = [str(each.get("content")) for each in items if each.get("role") == "user"]
    asked = [each for each in asked if re.fullmatch(r"q\\w+", each)] or re.findall(r"q\\d\\w*", seen)[:1]
    for number, turn in enumerate(turns):
        key = f"{asked[-1]}_{name}{number}_"
        if key + "0" not in seen:
            return [item(key + str(place), called) for place, called in enumerate(turn)]
    return [item(f"{asked[-1]}_{name}_end", None, final)]
'''
_SCRIPTED: Final = """

def scripted(*given):
    step = ModelStep.respond(lambda call: answer(*given, call.input))
    return ScriptedModel([step] * 40, default_usage=Usage(requests=1, total_tokens=3))
"""
_MODEL: Final = """

class scripted(Model):  # noqa: N801
    def __init__(self, *given):
        self.given = given

    async def get_response(self, system_instructions, input, *args, **kwargs):
        output = answer(*self.given, input)
        return ModelResponse(output=output, usage=Usage(requests=1, total_tokens=3), response_id=None)

    async def stream_response(self, *args, **kwargs):
        output = (await self.get_response(*args, **kwargs)).output
        usage = ResponseUsage.model_construct(
            input_tokens=0, output_tokens=0, total_tokens=3,
            input_tokens_details=InputTokensDetails.model_construct(cached_tokens=0, cache_write_tokens=0),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=0))
        for place, item in enumerate(output):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=place, sequence_number=place)
        yield ResponseCompletedEvent(type="response.completed", sequence_number=9, response=Response(
            id="r", object="response", created_at=0, model="m", output=output, tool_choice="auto", tools=[],
            parallel_tool_calls=True, usage=usage))
"""


class ScriptWriter:
    """Writes a program's parts, each an iterator of lines."""

    def __init__(self, program: Program, rendering: Rendering) -> None:
        self._program = program
        self._features = rendering.features
        self._mode = rendering.mode
        self._is_logged = rendering.is_logged

    def lines(self) -> Iterator[str]:
        """The whole script."""
        body = [*self._model(), *self._session(), *self._tools(), *self._agents()]
        body += [*self._run(), *self._main()]
        yield from self._imports("\n".join(body))
        yield from body

    # ---- imports

    def _imports(self, body: str) -> Iterator[str]:
        names = [name for name in _NAMES if f"{name}(" in body or f"{name}." in body or f"@{name}" in body]
        for module in ("asyncio", "json", "re", "subprocess", "sys"):
            if f"{module}." in body:
                yield f"import {module}"
        yield ""
        types = [each for each in _TYPES if f"{each}(" in body or f"{each}." in body]
        if types:
            yield from _wrapped("from openai.types.responses import ", types)
        if "InputTokensDetails" in body:
            yield "from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails"
        if "BaseModel" in body:
            yield "from pydantic import BaseModel"
        yield ""
        names += ["Model"] if "(Model)" in body else []
        yield from _wrapped("from agents import ", sorted({*names, "set_tracing_disabled"}))
        if "ScriptedModel(" in body:
            helpers = [each for each in ("assistant_message", "function_call") if each + "(" in body]
            yield f"from agents.testing import {', '.join(['ModelStep', 'ScriptedModel', *helpers])}"
        if "SessionABC" in body:
            yield "from agents.memory.session import SessionABC"
        yield ""
        yield f"set_tracing_disabled({self._mode != 'around' and not self._program.is_traced})"

    # ---- the model

    def _model(self) -> Iterator[str]:
        if self._is_logged:
            yield "LOG = []\n\n\ndef log(*what):\n    LOG.append(what)"
        yield from self._item()
        logs = '\n    log("asked", name, seen)' if self._is_logged else ""
        fails = self._fails_once()
        yield _ANSWER.replace("%(log)s", fails + logs).rstrip("\n")
        scripts = not self._is_logged and self._features.scripted_model
        yield (_SCRIPTED if scripts else _MODEL).rstrip("\n")

    def _fails_once(self) -> str:
        """The lines by which an agent's model fails once before each answer."""
        names = {f"g{number}" for number, agent in enumerate(self._program.agents) if agent.retries}
        if not names:
            return ""
        return (
            f"\n    if name in {sorted(names)} and (name, seen) not in FAILED:"
            '\n        FAILED.add((name, seen))\n        raise ConnectionError("reset")'
        )

    def _item(self) -> Iterator[str]:
        if self._fails_once():
            yield AGAIN
        yield """
def item(id, called, text="working"):
    if called:
        arguments = json.dumps({"x": id} if called[0] == "t" and called[1] != "r" else {"input": id})
        return ResponseFunctionToolCall(
            id="fc_" + id, call_id=id, type="function_call", name=called, arguments=arguments)"""
        finals = {agent.final for agent in self._program.agents}
        if "model_error" in finals:
            yield '    if text == "model_error":\n        raise RuntimeError("the model is away")'
        yield '    part = ResponseOutputText(type="output_text", text=text, annotations=[])'
        if "refusal" in finals:
            yield '    if text == "refusal":'
            yield '        part = ResponseOutputRefusal(type="refusal", refusal="no")'
        yield (
            '    return ResponseOutputMessage(\n        id="m_" + id, type="message", role="assistant", '
            'status="completed", content=[part])\n'
        )

    # ---- sessions, tools, agents

    def _session(self) -> Iterator[str]:
        if self._session_kind() != "list" and self._mode != "around":
            return
        if self._program.session is None:
            return
        fails = self._program.failing_add
        yield """
class ListSession(SessionABC):
    def __init__(self):
        self.session_id, self.items, self.adds = "s", [], 0

    async def get_items(self, limit=None):
        return list(self.items[-limit:] if limit else self.items)

    async def add_items(self, items):"""
        if fails:
            yield f"        self.adds += 1\n        if self.adds == {fails}:"
            yield '            raise OSError("disk full")'
        yield """        self.items += items

    async def pop_item(self):
        return self.items.pop() if self.items else None

    async def clear_session(self):
        self.items.clear()
"""

    def _session_kind(self) -> SessionKind | None:
        program = self._program
        if program.session is not None and program.failing_add:
            return "list"
        return program.session

    def _tools(self) -> Iterator[str]:
        program = self._program
        used = [program.tools[number] for number in program.used_tools]
        if any(tool.body in ("model", "models") for tool in used) or any(
            agent.output_type == "model" for agent in program.agents
        ):
            yield "\nclass Row(BaseModel):\n    key: int\n"
        if any(tool.needs == "callback" for tool in used):
            yield '\nasync def asks(context, arguments, call_id):\n    return call_id.endswith("0")\n'
        for number in program.used_tools:
            yield from self._tool(number, program.tools[number])

    def _tool(self, number: int, tool: Tool) -> Iterator[str]:
        options = {"always": ["needs_approval=True"], "callback": ["needs_approval=asks"]}.get(tool.needs, [])
        if tool.body == "raises_out":
            options.append("failure_error_function=None")
        for place, behaviour in (("input", tool.before), ("output", tool.after)):
            if behaviour is not None:
                does = {
                    "allow": "allow()",
                    "reject": f'reject_content("{place} refused")',
                    "raise": "raise_exception()",
                }[behaviour]
                yield f"\n@tool_{place}_guardrail\ndef {place}_of_t{number}(data):"
                if self._is_logged:
                    yield f'    log("guard", "{place}_of_t{number}")'
                yield f"    return ToolGuardrailFunctionOutput.{does}\n"
                options.append(f"tool_{place}_guardrails=[{place}_of_t{number}]")
        yield f"\n@function_tool({', '.join(options)})" if options else "\n@function_tool"
        is_sync = tool.is_sync and tool.body != "slow"
        yield f"{'' if is_sync else 'async '}def t{number}(x: str):"
        if self._is_logged:
            yield f'    log("tool", "t{number}", x)'
        if tool.body == "slow":
            yield "    await asyncio.sleep(0.01)"
        yield "    " + _BODIES.get(tool.body, f'return "t{number} " + x') + "\n"

    def _agents(self) -> Iterator[str]:
        program = self._program
        for number in reversed(range(len(program.agents))):
            yield from self._agent(number)
        for number, agent in enumerate(program.agents):
            if number and agent.hands_back and agent.called_as == "handoff":
                yield f"g{number}.handoffs.append(g{program.parent(number)})"

    def _agent(self, number: int) -> Iterator[str]:
        program, agent = self._program, self._program.agents[number]
        options: list[str] = []
        for place, behaviour in (("input", agent.input_guardrail), ("output", agent.output_guardrail)):
            if behaviour is not None:
                can_block = self._features.blocking_guardrails
                blocks = "(run_in_parallel=False)" if behaviour == "trips_before" and can_block else ""
                yield f"\n@{place}_guardrail{blocks}\nasync def {place}_of_g{number}(context, agent, value):"
                yield (
                    "    return GuardrailFunctionOutput(output_info=None, "
                    f"tripwire_triggered={behaviour != 'pass'})\n"
                )
                options.append(f"{place}_guardrails=[{place}_of_g{number}]")
        if agent.output_type is not None:
            options.append(f"output_type={ {'list': 'list[int]', 'model': 'Row'}[agent.output_type] }")
        if agent.stops_on_first_tool:
            options.append('tool_use_behavior="stop_on_first_tool"')
        if agent.retries:
            options.append("model_settings=ModelSettings(retry=AGAIN)")
        if self._mode == "around":
            options.append("hooks=AgentHooks()")
        tools = [f"t{each}" for each in program.tools_of(number)]
        handoffs = []
        for child in program.children(number):
            other = program.agents[child]
            if other.called_as == "handoff":
                handoffs.append(f"g{child}")
            else:
                needs = ", needs_approval=True" if other.needs_approval else ""
                tools.append(f'g{child}.as_tool("a{child}", "asks agent {child}"{needs})')
        options.append(f"tools=[{', '.join(tools)}]")
        if handoffs:
            options.append(f"handoffs=[{', '.join(handoffs)}]")
        turns = ", ".join(self._turns(number))
        model = f'scripted("g{number}", {json.dumps(self._final(number))}, [{turns}])'
        yield f'\ng{number} = Agent(name="g{number}", model={model}, {", ".join(options)})'

    def _turns(self, number: int) -> Iterator[str]:
        for called, turn in self._program.calls_of(number):
            names: list[str | None] = [*called, *(["t9"] if turn.is_unknown else [])]
            names += [None] if turn.has_text else []
            yield repr(names)

    def _final(self, number: int) -> str:
        agent = self._program.agents[number]
        if agent.final == "text" and agent.output_type is not None:
            return {"list": '{"response": [1, 2]}', "model": '{"key": 1}'}[agent.output_type]
        return {"text": "done", "malformed": "{bad", "empty": ""}.get(agent.final, agent.final)

    # ---- what is run

    def _run(self) -> Iterator[str]:
        yield "\n\nasync def go(what, stream, cancel=False, **more):"
        inside = """        if stream:
            result = Runner.run_streamed(g0, what, **more)
            async for _ in result.stream_events():
                if cancel:
                    result.cancel()
        else:
            result = await Runner.run(g0, what, **more)"""
        yield f"    try:\n{inside}\n    except Exception as error:"
        if not self._is_logged:
            yield '        print("raised", type(error).__name__, str(error)[:100])\n        return None'
            yield (
                '    print("final", result.final_output, "asks", [each.raw_item.call_id for each in '
                "result.interruptions])\n    return result\n"
                if self._features.approvals
                else '    print("final", result.final_output)\n    return result\n'
            )
            return
        yield '        log("raised", type(error).__name__, str(error)[:150])\n        return None'
        asks = (
            '[(each.name, getattr(each.raw_item, "call_id", None)) for each in result.interruptions]'
            if self._features.approvals
            else "[]"
        )
        tools = (
            "len(result.tool_input_guardrail_results), len(result.tool_output_guardrail_results)"
            if self._features.tool_guardrails
            else ""
        )
        yield f"""    log("run", repr(result.final_output), result.last_agent.name,
        [type(each).__name__ for each in result.new_items], {asks},
        [len(result.input_guardrail_results), len(result.output_guardrail_results), {tools}],
        [plain(each) for each in result.to_input_list()],
        [result.context_wrapper.usage.requests, result.context_wrapper.usage.total_tokens])
    return result
"""

    def _main(self) -> Iterator[str]:
        program = self._program
        if any(run.decisions or run.sibling for run in program.runs):
            yield '''
def decide(state, letters):
    """A letter for each call that waits: approve, reject, Always, neveR; - leaves it."""
    for place, item in enumerate(state.get_interruptions()):
        letter = letters[place % len(letters)]
        if letter in "aA":
            state.approve(item, always_approve=letter == "A")
        elif letter in "rR":
            state.reject(item, always_reject=letter == "R")
'''
        yield "\nasync def main(changed):"
        yield from ("    " + line for line in self._scenario())
        yield ""
        yield from self._ends()

    def _ends(self) -> Iterator[str]:
        if self._is_logged:
            yield '\nasyncio.run(main("changed" in sys.argv))\nprint(json.dumps(LOG, default=str))'
        elif self._mode == "plain":
            yield "\nasyncio.run(main(False))"
        else:
            yield '\nasyncio.run(main(False))\nprint("and otherwise:")\nasyncio.run(main(True))'

    def _session_made(self) -> str | None:
        kind = self._session_kind()
        if kind is None:
            return None
        if self._mode != "around":
            return _SESSIONS[kind]
        other = _SESSIONS["memory" if kind == "list" else "list"]
        return f"{other} if changed else {_SESSIONS[kind]}"

    def _options(self, run: Run, session: str = "session") -> list[str]:
        """What the runner is given beside the input."""
        program = self._program
        options = [f"session={session}"] if self._session_kind() is not None else []
        config = ["nest_handoff_history=True"] if program.nests_history else []
        if self._session_kind() is not None and program.session_limit:
            config.append(f"session_settings=SessionSettings(limit={program.session_limit})")
        options += [f"run_config=RunConfig({', '.join(config)})"] if config else []
        options += ['context={"n": 1}'] if program.has_context else []
        options += ["hooks=RunHooks()"] if self._mode == "around" else []
        options += [f"max_turns={run.max_turns}"] if run.max_turns != 10 else []
        if run.has_handler and run.max_turns != 10:
            options.append('error_handlers={"max_turns": lambda data: "out of turns"}')
        return options

    def _scenario(self) -> Iterator[str]:
        made = self._session_made()
        if made is not None:
            yield f"session = {made}"
        if self._mode == "process":
            yield "resumed = int(sys.argv[2]) if len(sys.argv) > 2 else 0"
        later: list[tuple[str, Run, str]] = []
        for number, run in enumerate(self._program.runs, start=1):
            yield from self._one(number, run, later)
        if made is not None and self._is_logged:
            yield 'log("session", [plain(each) for each in await session.get_items()])'
        for name, run, options in later:
            yield f"if {name} is not None:"
            yield f"    decide({name}, {run.sibling!r})"
            yield f"    await go({name}, {options})"

    def _one(  # noqa: PLR0912, PLR0915  (each line of the script once, in its order)
        self, number: int, run: Run, later: list[tuple[str, Run, str]]
    ) -> Iterator[str]:
        mode = self._mode
        stream = str(run.is_streamed)
        if mode == "stream":
            stream = f"changed != {run.is_streamed}" if run.is_streamed else "changed"
        options = ", ".join([stream, *self._options(run)])
        cancelled = ", cancel=True" if run.is_cancelled and run.is_streamed else ""
        if mode == "around":
            yield 'if changed:\n        other = Agent(name="w", model=scripted("w", "so", []))'
            yield '    await Runner.run(other, "q0")'
        start = f'result = await go("q{number}", {options}{cancelled})'
        if run.sibling is not None:
            yield f"other{number} = None"
            branch = ", ".join([stream, *self._options(run, f"branch{number}")])
            later.append((f"other{number}", run, branch))
        if mode == "process":
            yield f"result = None\n    if not resumed:\n        {start}"
        else:
            yield start
        if not run.decisions:
            return
        if mode == "siblings":
            yield "held = result.to_state() if result is not None and result.interruptions else None"
            yield from self._noted("held")
        if mode == "last-siblings":
            yield "held, last = None, None"
        waits = "result is not None and result.interruptions"
        if mode == "process":
            yield f"for pause, letters in enumerate({list(run.decisions)!r}, start=1):"
            yield "    if pause < resumed:\n            continue"
            yield f"    if pause != resumed and not ({waits}):\n            break"
            yield "    if changed and pause != resumed:"
            yield '        log("state", result.to_state().to_json())\n            return'
        else:
            yield f"for letters in {list(run.decisions)!r}:"
            yield f"    if not ({waits}):\n            break"
        if mode == "last-siblings":
            yield "    held, last = result.to_state(), letters"
            yield from ("    " + line for line in self._noted("held"))
        if run.sibling is not None:
            yield f"    other{number} = result.to_state()"
            if self._session_kind() is not None:
                yield f"    branch{number} = {BRANCHES[self._session_kind() or 'list']}"
                yield f"    await branch{number}.add_items(await session.get_items())"
        again = "await RunState.from_json(g0, json.loads(json.dumps(state.to_json())))"
        if mode == "process":
            yield (
                '    state = await RunState.from_json(g0, json.load(open("state.json"))) '
                "if pause == resumed else result.to_state()"
            )
        else:
            yield "    state = result.to_state()"
        if run.through_json:
            yield f"    state = {again}"
        elif mode == "json":
            yield f"    if changed:\n            state = {again}"
        yield "    decide(state, letters)"
        yield f"    result = await go(state, {options})"
        if self._program.failing_add and self._session_kind() is not None:
            yield f"    if result is None:\n            result = await go(state, {options})"
        if mode in ("siblings", "last-siblings"):
            yield from self._siblings(run, options)

    def _noted(self, word: str) -> Iterator[str]:
        if self._is_logged:
            yield f'log("{word}")'

    def _siblings(self, run: Run, options: str) -> Iterator[str]:
        yield from self._noted("mark")
        yield "state = held if changed else None"
        yield f"for letters in {repr(list(run.decisions)) if self._mode == 'siblings' else '[last]'}:"
        yield "    if state is None:\n            break"
        yield f"    decide(state, letters)\n        result = await go(state, {options})"
        yield "    state = result.to_state() if result is not None and result.interruptions else None"


_BODIES: Final = {
    "raises": 'raise ValueError("broken " + x)',
    "raises_out": 'raise ValueError("broken " + x)',
    "none": "return None",
    "empty": 'return ""',
    "dict": 'return {"x": x}',
    "list": "return []",
    "model": "return Row(key=1)",
    "models": "return [Row(key=1)]",
    "int": "return 5",
}
_SESSIONS: Final[dict[SessionKind, str]] = {
    "list": "ListSession()",
    "memory": 'SQLiteSession("s")',
    "file": 'SQLiteSession("s", "session.db")',
}
BRANCHES: Final[dict[SessionKind, str]] = {
    **_SESSIONS,
    "file": 'SQLiteSession("branch", "session.db")',
}
"""For what goes on beside a session."""
AGAIN: Final = """
AGAIN = ModelRetrySettings(max_retries=1, policy=lambda context: True, backoff={"initial_delay": 0.0})
FAILED = set()
"""
_NAMES: Final = (
    *(
        "Agent",
        "AgentHooks",
        "GuardrailFunctionOutput",
        "ModelResponse",
        "ModelRetrySettings",
        "ModelSettings",
    ),
    *("RunConfig", "RunHooks", "RunState", "Runner", "SQLiteSession", "SessionSettings"),
    *("ToolGuardrailFunctionOutput", "Usage", "function_tool", "input_guardrail"),
    *("output_guardrail", "tool_input_guardrail", "tool_output_guardrail"),
)
_TYPES: Final = (
    *("Response", "ResponseCompletedEvent", "ResponseFunctionToolCall", "ResponseOutputItemDoneEvent"),
    *("ResponseOutputMessage", "ResponseOutputRefusal", "ResponseOutputText", "ResponseUsage"),
)


def _wrapped(begin: str, names: list[str]) -> Iterator[str]:
    line = begin + ", ".join(names)
    if len(line) <= 110:
        yield line
        return
    yield begin + "("
    held = "   "
    for name in names:
        if len(held) + len(name) + 2 > 110:
            yield held
            held = "   "
        held += f" {name},"
    yield held
    yield ")"
