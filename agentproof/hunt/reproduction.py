"""A finding as an ordinary short script: what ran, without the search around it.

The steps are those that the program's log has: each run, each pause with what is decided there. Where a rule
speaks the script only takes them; where the program differs from itself it takes them both ways and asserts
that nothing differs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .programs import Features, Program, Run, Tool
from .scripts import AGAIN, BRANCHES, Mode, Rendering, ScriptWriter


@dataclass(frozen=True)
class Step:
    """One call of the runner."""

    run: Run
    number: int
    """Of the run, from 1."""
    letters: str | None
    """What is decided before it is resumed; None: it begins."""
    waiting: int
    """Calls that wait for a decision."""
    raises: bool


def steps_of(program: Program, log: Sequence[list[Any]]) -> list[Step]:  # Any: JSON
    """What the log of a program says that it did, without siblings."""
    told = [entry for entry in log if entry[0] in ("run", "raised")]
    steps: list[Step] = []
    for number, run in enumerate(program.runs, start=1):
        waiting = 0
        for letters in (None, *run.decisions):
            if not told or (letters is not None and not waiting):
                break
            entry = told.pop(0)
            steps.append(Step(run, number, letters, waiting, raises=entry[0] == "raised"))
            waiting = len(entry[4]) if entry[0] == "run" else 0
    return steps


def write(
    program: Program,
    features: Features,
    *,
    mode: Mode,
    differs: Sequence[str],
    log: Sequence[list[Any]],  # Any: JSON
    about: str,
    is_wary: bool = False,
) -> str:
    """The script of a finding.

    `mode` and `differs` say how it is run otherwise and what differs then; of a rule's finding they are
    `plain` and empty. `log` is that of the program as it is, `about` the script's first line.
    Where a run raises only otherwise, it is the last step, or, `is_wary`, any.
    """
    writer = _Writer(program, Rendering(features, mode, is_logged=False), differs, steps_of(program, log))
    writer.is_wary = is_wary
    text = "\n".join(writer.lines()).rstrip() + "\n"
    return f'"""{about}"""\n\n' + re.sub(r"\n{3,}", "\n\n\n", text)


class _Writer(ScriptWriter):
    def __init__(
        self, program: Program, rendering: Rendering, differs: Sequence[str], steps: Sequence[Step]
    ) -> None:
        super().__init__(program, rendering)
        self._seen = [each for each in _TELLING if each in differs][:2]
        self._steps = steps
        self.is_wary = False

    def _model(self) -> Iterator[str]:
        if self._mode != "plain":
            yield "seen = []\n"
        if self._features.scripted_model:
            asked = "\n        seen.append(json.dumps(told, sort_keys=True))" if "asked" in self._seen else ""
            fails = self._fails_once()
            if fails:
                yield AGAIN.rstrip("\n")
                fails = "\n        told_so = json.dumps(told, sort_keys=True)" + fails.replace(
                    "seen)", "told_so)"
                ).replace("\n", "\n    ")
            yield _SCRIPTED.replace("%(asked)s", fails + asked).rstrip("\n")
        else:
            yield from super()._model()

    def _tool(self, number: int, tool: Tool) -> Iterator[str]:
        for line in super()._tool(number, tool):
            yield line
            if "tool" in self._seen and line.endswith("(x: str):"):
                yield f'    seen.append("t{number} ran")'

    def _run(self) -> Iterator[str]:
        return iter(())

    def _main(self) -> Iterator[str]:
        if self._mode == "process":
            yield from self._in_processes()
            return
        changes = self._mode != "plain"
        yield f"\nasync def main({'changed' if changes else ''}):"
        yield from ("    " + line for line in self._scenario())
        if not changes:
            yield "\n\nasyncio.run(main())"
            return
        yield "    return [seen.pop(0) for _ in list(seen)]"
        yield "\n\nas_it_is, otherwise = asyncio.run(main(False)), asyncio.run(main(True))"
        yield "assert as_it_is == otherwise, (as_it_is, otherwise)"

    def _in_processes(self) -> Iterator[str]:
        """The steps of the one run, each in a process of its own where `changed`."""
        yield "\nasync def main(changed, step=0):"
        yield "    result = None"
        for number, step in enumerate(self._steps):
            lines: list[str] = []
            if step.letters is None:
                lines += self._call(step, f'"q{step.number}"')
            else:
                lines.append("state = await restored() if changed else result.to_state()")
                lines += [*self._decide("state", step.letters, step.waiting), *self._call(step, "state")]
            if number + 1 < len(self._steps):
                lines += ["if changed:", f"    return seen + fresh(result.to_state(), {number + 1})"]
            yield f"    if step <= {number}:"
            yield from ("        " + line.replace("\n", "\n    ") for line in lines)
        yield "    return [seen.pop(0) for _ in list(seen)]"
        yield _FRESH.rstrip("\n")

    def _scenario(self) -> Iterator[str]:
        made = self._session_made()
        if made is not None:
            yield f"session = {made}"
        held: dict[int, Step] = {}
        pauses = [step for step in self._steps if step.letters is not None]
        kept = {"siblings": pauses[:1], "last-siblings": pauses[-1:]}.get(self._mode, [])
        for step in self._steps:
            if step.letters is None:
                yield from self._call(step, f'"q{step.number}"')
                continue
            if step.run.sibling is not None:
                held[step.number] = step
                yield f"sibling{step.number} = result.to_state()"
                if self._session_kind() is not None:
                    yield f"branch{step.number} = {BRANCHES[self._session_kind() or 'list']}"
                    yield f"await branch{step.number}.add_items(await session.get_items())"
            if step in kept:
                yield "other, seen[:] = result.to_state(), []"
            yield from self._resumed(step, "result.to_state()")
        for step in held.values():
            yield from self._decide(f"sibling{step.number}", step.run.sibling or "a", step.waiting)
            yield from self._call(step, f"sibling{step.number}", f"branch{step.number}")
        if kept:
            yield from self._sibling(pauses[pauses.index(kept[0]) :])
        if "session" in self._seen:
            yield "seen.append(await session.get_items())"

    def _resumed(self, step: Step, state: str) -> Iterator[str]:
        yield f"state = {state}"
        again = "await RunState.from_json(g0, json.loads(json.dumps(state.to_json())))"
        if step.run.through_json:
            yield f"state = {again}"
        elif self._mode == "json":
            yield f"if changed:\n        state = {again}"
        yield from self._decide("state", step.letters or "a", step.waiting)
        yield from self._call(step, "state")

    def _sibling(self, steps: Sequence[Step]) -> Iterator[str]:
        yield "if changed:\n        seen.clear()"
        state = "other"
        for step in steps:
            yield from ("    " + line.replace("\n", "\n    ") for line in self._resumed(step, state))
            state = "result.to_state()"

    def _decide(self, state: str, letters: str, waiting: int) -> Iterator[str]:
        each = [letters[place % len(letters)] for place in range(waiting)]
        if waiting and len(set(each)) == 1 and each[0] in _DECISIONS:
            yield f"for item in {state}.get_interruptions():"
            yield f"    {state}.{_DECISIONS[each[0]].format('item')}"
            return
        for place, letter in enumerate(each):
            if letter in _DECISIONS:
                yield f"{state}.{_DECISIONS[letter].format(f'{state}.get_interruptions()[{place}]')}"

    def _call(self, step: Step, what: str, session: str = "session") -> Iterator[str]:
        options = "".join(", " + each for each in [what, *self._options(step.run, session)])
        plain = [f"result = await Runner.run(g0{options})"]
        cancels = step.run.is_cancelled and step.letters is None
        streamed = [
            f"result = Runner.run_streamed(g0{options})",
            "async for _ in result.stream_events():",
            "    result.cancel()" if cancels else "    pass",
        ]
        lines = streamed if step.run.is_streamed else plain
        if self._mode == "stream":
            other = plain if step.run.is_streamed else streamed
            lines = ["if changed:", *_indented(other), "else:", *_indented(lines)]
        seen = [_SEEN[each] for each in self._seen if each in _SEEN]
        if seen:
            lines.append(f"seen.append(({', '.join(seen)}))")
        elif self._mode == "plain":
            lines.append('print("final:", result.final_output)')
        last = self.is_wary or step is self._steps[-1]
        if step.raises or (last and "raised" in self._seen):
            note = "seen.append(type(error).__name__)" if self._mode != "plain" else "print(repr(error))"
            lines = ["try:", *_indented(lines), "except Exception as error:", f"    {note}"]
        yield from lines


def _indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


_SEEN: Final = {
    "final": "result.final_output",
    "last_agent": "result.last_agent.name",
    "items": "[type(each).__name__ for each in result.new_items]",
    "interruptions": "[each.raw_item.call_id for each in result.interruptions]",
    "input_list": "result.to_input_list()",
    "usage": "result.context_wrapper.usage.total_tokens",
    "guardrails": "len(result.tool_input_guardrail_results), len(result.tool_output_guardrail_results)",
}
_TELLING: Final = (
    *("tool", "raised", "final", "interruptions", "items", "guardrails", "input_list", "usage"),
    *("last_agent", "session", "asked"),
)
"""What is asserted where more than one thing differs."""
_DECISIONS: Final = {
    "a": "approve({})",
    "A": "approve({}, always_approve=True)",
    "r": "reject({})",
    "R": "reject({}, always_reject=True)",
}
_FRESH: Final = '''

def fresh(state, step):
    """What is seen in a fresh process that goes on from `state`."""
    with open("state.json", "w") as file:
        json.dump(state.to_json(), file)
    done = subprocess.run([sys.executable, __file__, str(step)], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


async def restored():
    return await RunState.from_json(g0, json.load(open("state.json")))


if len(sys.argv) > 1:
    print(json.dumps(asyncio.run(main(True, int(sys.argv[1])))))
else:
    as_it_is, otherwise = (json.loads(json.dumps(asyncio.run(main(each)))) for each in (False, True))
    assert as_it_is == otherwise, (as_it_is, otherwise)
'''
_SCRIPTED: Final = """
def item(id, called):
    if called is None:
        return assistant_message("working")
    arguments = {"x": id} if called[0] == "t" and called[1] != "r" else {"input": id}
    return function_call(called, arguments, call_id=id)


def scripted(name, final, turns):
    def answer(call):  # with the first of the turns whose calls it was not told of, in the end with `final`
        given = call.input
        told = given if isinstance(given, list) else [{"role": "user", "content": given}]%(asked)s
        asked = [str(each["content"]) for each in told if each.get("role") == "user"][-1]
        for number, turn in enumerate(turns):
            key = f"{asked}_{name}{number}_"
            if key not in str(told):
                return [item(key + str(place), called) for place, called in enumerate(turn)]
        return [assistant_message(final)]

    return ScriptedModel([ModelStep.respond(answer)] * 20)
"""
