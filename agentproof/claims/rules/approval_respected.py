"""A decision on a state binds the run that is resumed from it.

Rule: (1) a tool that needs approval for a call runs it only if the state that the run, or a run
around it, was resumed from held an approval for it: by that state's own operations, or in the JSON
or result that it was made from. Where the SDK was seen to ask the tool's `needs_approval` callback for
the call, its last answer before the start says whether approval was needed: such a callback may have a
memory, so nobody else's asking counts; (2) a call whose last decision there was a rejection does not run;
(3) a function call whose last decision there was an approval runs once the state is resumed, if that
run returns, or raises a ModelBehaviorError although it asked no model (and its agent lacks no tool of the
state): in it, in a run inside it, or in an earlier run of the same state; and it is not asked for again. A
call id that the model gave again in the meantime is another call. Left out: runs under a context that
carries approvals of its own (a RunContextWrapper, or one that the script decided on), tools with an
approval callback of another kind (shell, apply_patch, custom tools), calls whose callback raised or
answered differently for one id that the model gave more than once, calls that a tool's input
guardrail looked at, calls on whose tool a sticky decision the other way followed, and calls that the
state said were executed when it was born.

Sites: starts of a tool that needs approval; decided calls of states that a run was resumed from.

Not observed: no tool that needs approval ran, and no decided state was resumed.

From: openai/openai-agents-python#4409, #4413 (1); #4244, #4414, #4447, #2487, #5123 (3).

Shown by: `tests/scripts/cases/three-level-approval-lost` on 0.20.0.
"""

from collections.abc import Iterator, Mapping, Sequence

from ...models.events import (
    ApprovalAsked,
    ContextDecided,
    Event,
    GuardrailRan,
    StateDecided,
    StateRestored,
    ToolStarted,
)
from ...models.items import call_id_of
from ...models.manifest import Finding
from ...sdk import KNOWN
from ..trace.approvals import holds_approval, is_function_call, last_decisions, was_executed
from ..trace.evidence import Evidence, View
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.runs import Run, times_asked
from ..trace.states import StateLine

NAME = "approval-respected"
VERSION = 3
SCOPE: Scope = "each"
NEEDS = frozenset({"hooks", "models", "runs", "states"})

_KINDS = frozenset({"function", "agent", "mcp"})
"""Tools that have no approval callback of their own."""


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every tool start and every resumed run of the one trace."""
    view = evidence.view
    judged = [*_starts(view), *_resumed(view)]
    return outcome(sites=len(judged), because=(finding for finding in judged if finding is not None))


def _starts(view: View) -> Iterator[Finding | None]:
    """Part 1: one item for each start that is judged."""
    asked = _asked_for(view)
    decided_on_context = any(event.decision == "approve" for event in view.of(ContextDecided))
    for run in view.runs.values():
        if any("RunContextWrapper" in (owner.started.context or "") for owner in run.owners()):
            continue
        if decided_on_context:
            continue
        lines = [view.states[o.started.state] for o in run.owners() if o.started.state is not None]
        for start in run.tools_started():
            if start.tool_kind not in _KINDS or start.call_id is None:
                continue
            if not _needed_approval(start, run, asked, view):
                continue
            held = [
                holds_approval(line, view, tool=start.tool, call_id=start.call_id, by=start) for line in lines
            ]
            if any(held):
                yield None
            elif None not in held:
                yield make_finding(
                    code="ran_without_approval",
                    events=view.refs(start, *_resumptions(run)),
                    state=lines[-1].label if lines else None,
                    run=run.label,
                    tool=start.tool,
                    call_id=start.call_id,
                )


_Asked = Mapping[tuple[str | None, str | None], Sequence[ApprovalAsked]]
"""What callbacks were asked, by run and call id: inside of an agent as a tool the SDK's context names that
tool, so the tool's name tells nothing."""


def _asked_for(view: View) -> _Asked:
    asked: dict[tuple[str | None, str | None], list[ApprovalAsked]] = {}
    for event in view.of(ApprovalAsked):
        asked.setdefault((event.run, event.call_id), []).append(event)
    return asked


def _needed_approval(start: ToolStarted, run: Run, asked: _Asked, view: View) -> bool:
    """Whether the tool needed approval for this call: by the SDK's own asking in this run, else in those that
    it continues, else as the tool declares it. False where that is not known."""
    own = [e for e in asked.get((run.label, start.call_id), ()) if view.happens_before(e, start)]
    runs = [run]
    if asked and not own:
        runs = [one for top in view.lineage.before(run.top()) for one in top.tree()]
        known = (e for one in runs for e in asked.get((one.label, start.call_id), ()))
        own = [event for event in known if view.happens_before(event, start)]
    if not own:
        return start.needs_approval is True
    if len({event.answer for event in own}) > 1 and times_asked(runs, start.call_id or "") > 1:
        return False
    return max(own, key=lambda event: event.seq).answer is True


def _resumptions(run: Run) -> list[Event]:
    return [owner.started for owner in run.owners() if owner.started.state is not None]


def _resumed(view: View) -> Iterator[Finding | None]:
    """Parts 2 and 3: one item for each decided call of a resumed state."""
    for run in view.top:
        line = view.states[run.started.state] if run.started.state is not None else None
        if line is None:
            continue
        is_accountable = run.returned or _blames_no_model(run, line)
        guarded = _guarded(run)
        for call, decision in last_decisions(line, view, before=run.started).items():
            if decision.decision == "reject":
                yield _rejected(run, call, decision, view)
            elif is_accountable and not guarded & {None, call} and _must_run(line, decision, view):
                yield _approved(run, line, call, decision, view)


def _blames_no_model(run: Run, line: StateLine) -> bool:
    """Whether the run says that a model behaved badly, although it asked none and began nothing."""
    if isinstance(line.birth, StateRestored) and line.birth.lacking:
        return False
    error = run.ended.error if run.ended is not None and run.ended.outcome == "raised" else None
    if error is None or error.type not in {sdk.model_error for sdk in KNOWN.values()}:
        return False
    return not any(one.model_calls() or one.tools_started() for one in run.tree())


def _guarded(run: Run) -> set[str | None]:
    """The calls that a guardrail of a tool's input looked at, and may have refused; None for one not told."""
    return {
        event.call_id
        for one in run.tree()
        for event in one.events
        if isinstance(event, GuardrailRan) and event.guardrail_kind == "tool_input"
    }


def _must_run(line: StateLine, decision: StateDecided, view: View) -> bool:
    """Whether an approved call can be expected to run, unless a guardrail refused it: it is one of a function
    tool, and was not executed when the state was born."""
    if not is_function_call(line, view, decision):
        return False
    born = line.birth
    return born is None or not was_executed(view.state(born.snapshot), decision.call_id or "")


def _rejected(run: Run, call: str, decision: StateDecided, view: View) -> Finding | None:
    for start in _started(run, call):
        if not _asked_again(run, call, before=start):
            return make_finding(
                code="ran_although_rejected",
                events=view.refs(decision, run.started, start),
                state=decision.state,
                run=run.label,
                tool=start.tool,
                call_id=call,
            )
    return None


def _approved(run: Run, line: StateLine, call: str, decision: StateDecided, view: View) -> Finding | None:
    if run.ended is None:
        return None
    earlier = [one for one in line.runs if one.ended is not None and one.ended.seq < run.started.seq]
    ran = any(_started(one, call) for one in (run, *earlier))
    asked = call in run.interrupted_calls()
    if ran and not (asked and not _asked_again(run, call, before=run.ended)):
        return None
    return make_finding(
        code="asked_again" if asked else "approved_but_not_run",
        events=view.refs(decision, run.started, run.ended),
        state=decision.state,
        run=run.label,
        tool=decision.tool,
        call_id=call,
    )


def _started(run: Run, call: str) -> list[ToolStarted]:
    return [start for one in run.tree() for start in one.tools_started() if start.call_id == call]


def _asked_again(run: Run, call: str, *, before: Event) -> bool:
    """Whether the model gave this call id again in the run, before this event."""
    return any(
        answer.seq < before.seq and call_id_of(item) == call
        for one in run.tree()
        for answer, item in one.asked_calls()
    )


def explain(finding: Finding) -> str:
    """What ran, or did not, against which decision."""
    call, state, run = finding.call_id, finding.state, finding.run
    match finding.code:
        case "ran_without_approval" if state is None:
            return f"tool {finding.tool} ran for {call}, which needs approval; no state was resumed"
        case "ran_without_approval":
            return f"tool {finding.tool} ran for {call}; the resumed state {state} held no approval"
        case "ran_although_rejected":
            return f"tool {finding.tool} ran for {call}, which was rejected on {state}"
        case "asked_again":
            return f"{call} was approved on {state}, and run {run} asks for it again"
        case _:
            return f"{call} was approved on {state}; run {run} ended without running it"
