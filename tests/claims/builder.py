"""Writes traces event by event, as the host would, so that a test says only what its rule looks at.

A `Script` is one run of a reproduction in one mode. Its methods add events in order and hand back
labels; `lane()` opens a parallel lane, whose events come after the event that was current there.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from agentproof.claims import INVARIANTS, Evidence, Outcome, expected_claims, judge
from agentproof.models.expectations import NOTHING, Expectations
from agentproof.models.manifest import Conduct, Gap, Isolation, Judgement, Recording
from agentproof.models.trace import Mode, Trace
from agentproof.models.wire import encode

Json = Any  # Any: values and states of an imagined program

PAY = {"type": "function_call", "name": "pay", "call_id": "call_1", "arguments": "{}", "id": "fc_1"}


def function_call(call_id: str = "call_1", name: str = "pay") -> dict[str, Json]:
    """A tool call as a model gives it."""
    return {**PAY, "call_id": call_id, "name": name, "id": f"fc_{call_id}"}


def function_output(call_id: str = "call_1", output: str = "ok") -> dict[str, Json]:
    """What answers it."""
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def message(text: str, role: str = "assistant") -> dict[str, Json]:
    return {"type": "message", "role": role, "content": text}


def state_json(
    *,
    approved: Json = None,
    call: dict[str, Json] | None = None,
    tool: str = "pay",
    new_form: bool = False,
    **more: Json,
) -> dict[str, Json]:
    """A state's JSON as openai-agents 0.20 (or, in the new form, 0.24) writes it, cut to what rules read."""
    record = {"approved": approved, "rejected": []}
    context: dict[str, Json] = {"approvals": {}, "context": None, "usage": {"requests": 1}}
    if approved is not None and new_form:
        context["function_tool_approvals"] = [{"agent": {"name": "a"}, "tool_key": tool, "decision": record}]
    elif approved is not None:
        context["approvals"] = {tool: record}
    return {
        "$schemaVersion": "1.15",
        "context": context,
        "generated_items": [{"type": "tool_call_item", "raw_item": call or PAY}],
        "trace": None,
        **more,
    }


class Script:
    """One run of a reproduction, written down event by event."""

    def __init__(self, mode: Mode = "as-written") -> None:
        self.mode: Mode = mode
        self.states: dict[str, bytes] = {}
        self.now: dict[str, Json] = {}
        """Each state's JSON as it is at this moment; a test changes it in place to let something leak."""
        self._events: list[dict[str, Json]] = []
        self._counts: dict[str, int] = {}
        self._after: list[int] | None = None
        self._last: int = 0
        self._seen: dict[str, Json] = {}
        self._resumes: dict[str, str] = {}
        self.add("script.started", entry="reproduction.py")
        self.add("sdk.imported", module="agents")

    # lanes

    @contextmanager
    def lane(self) -> Iterator[list[int]]:
        """Events inside come after the one that is current now, and nothing after them need wait.

        The list that is handed out holds the lane's last event when the block is left; `join` it.
        """
        base = self._last
        end: list[int] = []
        self._after = [base]
        yield end
        end.append(self._last)
        self._after, self._last = [base], base

    def join(self, *ends: list[int]) -> None:
        """The next event comes after these lanes."""
        self._after = sorted({seq for end in ends for seq in end})

    # events

    def add(self, kind: str, **fields: Json) -> int:
        """Any event; fields that are None are left out."""
        seq = len(self._events) + 1
        event = {"seq": seq, "kind": kind, **{key: item for key, item in fields.items() if item is not None}}
        if self._after is None and self._last != seq - 1:
            self._after = [self._last]
        if self._after is not None and self._after != [seq - 1]:
            event["after"] = self._after
        self._after = None
        self._last = seq
        self._events.append(event)
        return seq

    def label(self, letter: str) -> str:
        self._counts[letter] = self._counts.get(letter, 0) + 1
        return f"{letter}{self._counts[letter]}"

    def digest(self, document: Json) -> str:
        raw = encode(document)
        name = hashlib.sha256(raw).hexdigest()
        self.states[name] = raw
        return name

    def run(self, *, state: Json = None, inside: Json = None, **fields: Json) -> str:
        """A run begins; from `input`, or from a state."""
        run = self.label("R")
        if state is not None:
            fields["snapshot"] = self.digest(self.now[state])
            self._resumes[run] = state
        fields.setdefault("agent", "a")
        fields.setdefault("streamed", self.mode == "streamed")
        if state is None:
            fields.setdefault("input", "go")
        self.add("run.started", run=run, parent=inside, state=state, **fields)
        return run

    def end(
        self, run: str, outcome: str = "returned", *, waits_for: Iterable[str] = (), **fields: Json
    ) -> str:
        """It ends; with the calls that it waits for. Returns its result's label."""
        result = self.label("Q")
        state = self._resumes.get(run)
        if state is not None:
            fields.setdefault("input_state", self.digest(self.now[state]))
            self._seen[state] = json.loads(json.dumps(self.now[state]))
        waiting = [{"tool": "pay", "call_id": call, "arguments": "{}"} for call in waits_for]
        fields.setdefault("last_agent", "a")
        self.look("run_end")
        self.add(
            "run.ended",
            run=run,
            outcome=outcome,
            result=result if outcome == "returned" else None,
            interruptions=waiting or None,
            **fields,
        )
        return result

    def made(self, result: str | None, document: Json, **fields: Json) -> str:
        """`result.to_state()`."""
        return self._born("state.made", document, result=result, **fields)

    def restored(self, document: Json, *, as_is: Json = None) -> str:
        """`RunState.from_json(document)`, which gives `as_is` where it is not the same."""
        source = self.digest(document)
        return self._born("state.restored", document if as_is is None else as_is, source=source, form="json")

    def _born(self, kind: str, document: Json, **fields: Json) -> str:
        state = self.label("S")
        self.now[state] = json.loads(json.dumps(document))
        self._seen[state] = json.loads(json.dumps(document))
        self.add(kind, state=state, snapshot=self.digest(document), **fields)
        return state

    def serialised(self, state: str, **fields: Json) -> Json:
        """`state.to_json()`."""
        snapshot = self.digest(self.now[state])
        self.add("state.serialised", state=state, form="json", snapshot=snapshot, **fields)
        return json.loads(json.dumps(self.now[state]))

    def decide(
        self,
        state: str,
        decision: str = "approve",
        call_id: str = "call_1",
        *,
        leaks_to: str | None = None,
        **options: Json,
    ) -> None:
        """`state.approve(…)`; `leaks_to` names a state that the decision changes too."""
        before = self.digest(self.now[state])
        record = {"approved": [call_id] if decision == "approve" else [], "rejected": []}
        for one in (state, *([leaks_to] if leaks_to else ())):
            self.now[one]["context"]["approvals"]["pay"] = record
        self._seen[state] = json.loads(json.dumps(self.now[state]))
        self.add(
            "state.decided",
            state=state,
            decision=decision,
            call_id=call_id,
            tool="pay",
            options=options,
            before=before,
            snapshot=self.digest(self.now[state]),
        )
        self.look("decision")

    def look(self, moment: str) -> None:
        """All live states are looked at; what changed since the last look becomes an event."""
        for state, document in self.now.items():
            if document != self._seen[state]:
                before = self.digest(self._seen[state])
                self._seen[state] = json.loads(json.dumps(document))
                self.add(
                    "state.observed",
                    state=state,
                    moment=moment,
                    before=before,
                    snapshot=self.digest(document),
                )

    def model(
        self, run: str, given: Json, *output: Json, response_id: str | None = None, **fields: Json
    ) -> None:
        """The model is asked with `given` and answers with `output`."""
        call = self.label("M")
        self.add("model.called", run=run, call=call, model="m:M", streamed=False, input=given, **fields)
        self.add("model.answered", run=run, call=call, output=list(output), response_id=response_id)

    def tool(
        self, run: str, call_id: str = "call_1", tool: str = "pay", *, output: Json = "ok", **fields: Json
    ) -> None:
        """A tool runs; without an output it raised."""
        fields.setdefault("tool_kind", "function")
        fields.setdefault("arguments", {})
        self.add("tool.started", run=run, agent="a", tool=tool, call_id=call_id, **fields)
        if output is not None:
            self.tool_ends(run, call_id, tool, output)

    def tool_ends(self, run: str, call_id: str, tool: str, output: Json, **fields: Json) -> None:
        """A tool gives its output."""
        self.add(
            "tool.ended",
            run=run,
            agent="a",
            tool=tool,
            call_id=call_id,
            output=output,
            output_type="builtins:str",
            **fields,
        )

    def knows_hooks(self, hooks: Json) -> None:
        """The release that the script imports has these hooks."""
        (imported,) = (event for event in self._events if event["kind"] == "sdk.imported")
        if hooks is not None:
            imported["hooks"] = hooks

    def stores(self, session: str, *items: Json, by_sdk: bool = True, **fields: Json) -> None:
        """`session.add_items(items)`."""
        self.session(session, "add_items", items=list(items), by_sdk=by_sdk, **fields)

    def session(self, session: str, operation: str, **fields: Json) -> None:
        """Any operation on a session."""
        fields.setdefault("by_sdk", True)
        fields.setdefault("session_class", "agents.memory.sqlite_session:SQLiteSession")
        fields.setdefault("database", ":memory:")
        self.add("session.used", session=session, operation=operation, **fields)

    def exit(self, **fields: Json) -> "Script":
        """The script ends."""
        self.look("exit")
        fields.setdefault("outcome", "exited")
        if fields["outcome"] == "exited":
            fields.setdefault("code", 0)
        self.add("script.ended", **fields)
        return self

    # what tests ask for

    def trace(self) -> Trace:
        return Trace.from_shape(
            {"format": "agentproof/trace", "version": 0, "mode": self.mode, "events": self._events}
        )


def evidence(*scripts: Script) -> Evidence:
    """The evidence of these runs."""
    return Evidence.of({script.mode: script.trace() for script in scripts}, _states(scripts))


def _states(scripts: Iterable[Script]) -> Callable[[str], Json]:
    states = {digest: raw for script in scripts for digest, raw in script.states.items()}
    return lambda digest: json.loads(states[digest])


def evaluate(name: str, *scripts: Script) -> Outcome:
    """One invariant on these runs."""
    return INVARIANTS[name].evaluate(evidence(*scripts))


def told(name: str, *scripts: Script) -> list[str]:
    """The sentences of one invariant's findings."""
    kind = INVARIANTS[name]
    return [kind.explain(finding) for finding in evaluate(name, *scripts).because]


ISOLATION = Isolation(network="namespace", files="landlock", user="dropped", self_test="refused")


def judged(
    *scripts: Script,
    agreement: str = "same",
    touched: tuple[str, ...] = (),
    conduct: Conduct | None = None,
    isolation: Isolation = ISOLATION,
    coverage: tuple[Gap, ...] = (),
    claims: tuple[judge.ClaimRequest, ...] | None = None,
    expectations: Expectations = NOTHING,
    version: int = judge.VERSION,
    answers: judge.Answers | None = None,
) -> Judgement:
    """The whole judgement of these runs."""
    recordings = tuple(
        Recording.from_shape(
            {
                "mode": s.mode,
                "trace": f"traces/{s.mode}.json",
                "repeats": 2,
                "agreement": agreement,
                **({"touched": list(touched)} if touched else {}),
            }
        )
        for s in scripts
    )
    return judge.judge(
        traces={script.mode: script.trace() for script in scripts},
        state=_states(scripts),
        recordings=recordings,
        conduct=conduct or Conduct(),
        isolation=isolation,
        coverage=coverage,
        authored=expected_claims(expectations, modes=[script.mode for script in scripts]),
        claims=claims,
        version=version,
        answers=answers,
    )
