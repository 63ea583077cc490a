"""Approvals: what a state held when it was born, what the script decided on it, what a run may rest on.

Where a state's JSON keeps them is the SDK's own (`sdk`): a list of call ids, or `true` for a sticky one. A
state's own later JSON is never asked: what leaks into it is what the rules look for.
"""

from typing import Any, Literal

from ...models.events import Event, StateDecided
from ...models.items import find_calls, is_id
from ...models.wire import MAX_TEXT
from ...sdk import sdk_of
from .evidence import View
from .states import StateLine

Side = Literal["approved", "rejected"]

_STICKY = {"approve": "always_approve", "reject": "always_reject"}


def is_sticky(decision: StateDecided) -> bool:
    """Whether it was made for all later calls of the tool."""
    options = decision.options
    return isinstance(options, dict) and bool(options.get(_STICKY[decision.decision]))


def covers(decision: StateDecided, *, tool: str | None, call_id: str) -> bool:
    """Whether a decision speaks of this call, by its id or for its tool."""
    return decision.call_id == call_id or (is_sticky(decision) and tool is not None and decision.tool == tool)


def last_decisions(line: StateLine, view: View, *, before: Event) -> dict[str, StateDecided]:
    """For each call that was decided on this state before this event, the last decision on it.

    A call is left out when a sticky decision the other way followed on its tool (which of the two counts
    is the SDK's to say), or when a decision on it stands beside the event in the partial order.
    """
    made = [one for one in line.accepted() if view.happens_before(one, before)]
    beside = [one for one in line.accepted() if one not in made and not view.happens_before(before, one)]
    last = {one.call_id: one for one in made if one.call_id is not None}
    return {
        call: one
        for call, one in last.items()
        if not _is_countered(one, made) and not any(covers(x, tool=one.tool, call_id=call) for x in beside)
    }


def _is_countered(decision: StateDecided, all_of_them: list[StateDecided]) -> bool:
    later = [one for one in all_of_them if one.seq > decision.seq and one.decision != decision.decision]
    return any(covers(one, tool=decision.tool, call_id=decision.call_id or "") for one in later)


def holds_approval(line: StateLine, view: View, *, tool: str, call_id: str, by: Event) -> bool | None:
    """Whether the state may have held an approval for this call by its own operations, or held one when it
    was born.

    None: where the state came from was not seen.
    """
    given = [one for one in line.accepted() if one.decision == "approve" and not view.happens_before(by, one)]
    if any(covers(one, tool=tool, call_id=call_id) for one in given):
        return True
    if line.birth is None:
        return None
    born = view.state(line.birth.snapshot)
    return any(
        (decided is True and name == tool)
        or (isinstance(decided, list) and any(is_id(one, call_id) for one in decided))
        for name, decided in sdk_of(born).approved_in(born)
    )


def is_function_call(line: StateLine, view: View, decision: StateDecided) -> bool:
    """Whether the decided call is one of a function tool, as the state's JSON tells."""
    found = list(find_calls(view.state(decision.before), decision.call_id or ""))
    return bool(found) and all(item.get("type") == "function_call" for item in found)


def was_executed(document: Any, call_id: str) -> bool:  # Any: a state's JSON
    """Whether a state's JSON says that this call was executed."""
    sdk = sdk_of(document)
    calls = sdk.calls_in(document)
    # Only an id that events shorten is not there as they name it.
    whole = call_id if len(call_id) < MAX_TEXT else next((one for one in calls if is_id(one, call_id)), None)
    return sdk.was_executed(calls.get(whole) if whole is not None else None)
