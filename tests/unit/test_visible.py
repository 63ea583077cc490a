"""The first difference that a user can see from where it worked."""

from typing import Any

import pytest

from agentproof.bundle.store import Bundle
from agentproof.diff.rows import Attempt, Series, build_rows, target_name
from agentproof.models.comparison import VisibleDifference
from agentproof.models.manifest import Manifest
from agentproof.render.outcomes import visible_words, words_of
from tests import forge


def drafted(**changes: Any) -> Bundle:  # Any: fields of events
    draft = forge.draft(holds=True)
    for trace in draft.traces.values():
        events = trace["events"]
        for event in events:
            event.update(changes.get(event["kind"].replace(".", "_"), {}))
        if "script_wrote" in changes:
            text = changes["script_wrote"]["text"]
            events[:] = [event for event in events if event["kind"] != "script.wrote"]
            wrote = {"kind": "script.wrote", "stream": "stdout", "text": text, "size": len(text)}
            events.append({**wrote, "truncated": False})
        trace["events"] = [{**event, "seq": seq} for seq, event in enumerate(events, start=1)]
    return draft.judged().seal()


def seen(good: Bundle, other: Bundle) -> VisibleDifference | None:
    (row,) = build_rows([Series("case", (Attempt("a", good), Attempt("b", other)), good=True)])
    return row.cells[1].visible


def test_what_is_the_same_is_as_there() -> None:
    assert seen(drafted(), drafted()) is None


@pytest.mark.parametrize(
    ("changes", "about", "before", "after"),
    [
        ({"script_wrote": {"text": "balance: 90\n"}}, "printed", "balance: 100", "balance: 90"),
        ({"script_wrote": {"text": "balance: 100\nmore\n"}}, "printed", "nothing", "more"),
        ({"script_ended": {"code": 3}}, "ended", "came to its end", "exited with 3"),
        ({"tool_started": {"arguments": '{"amount": 7}'}}, "tools", None, None),
        ({"run_ended": {"final_output": "Nothing was paid."}}, "output", None, "Nothing was paid."),
    ],
)
def test_what_a_user_sees_is_told_with_both_values(
    changes: dict[str, Any], about: str, before: str | None, after: str | None
) -> None:
    good = drafted(script_wrote={"text": "balance: 100\n"})
    found = seen(good, drafted(**{"script_wrote": {"text": "balance: 100\n"}, **changes}))
    assert found is not None
    assert found.about == about
    assert before in (None, found.before)
    assert after in (None, found.after)


def test_what_is_printed_comes_before_how_it_ended() -> None:
    other = drafted(script_wrote={"text": "x\n"}, script_ended={"code": 3})
    found = seen(drafted(script_wrote={"text": "y\n"}), other)
    assert found is not None
    assert found.about == "printed"


def test_what_varies_from_one_run_to_the_next_is_no_difference() -> None:
    one, other = (drafted(script_wrote={"text": text}) for text in ("took <varies>\n", "took 0.07s\n"))
    assert seen(one, other) is None


def test_what_differs_only_inside_is_no_difference_unless_it_is_a_state_or_a_request() -> None:
    asked = drafted(model_called={"input": [{"role": "user", "content": "Pay 7."}]})
    found = seen(drafted(), asked)
    assert found is not None
    assert found.about == "model"


def test_a_row_says_it_in_words_and_is_checked_like_any_other() -> None:
    good, other = (drafted(script_wrote={"text": text}) for text in ("balance: 100\n", "balance: 90\n"))
    (row,) = build_rows([Series("case", (Attempt("a", good), Attempt("b", other)), good=True)])
    words = visible_words(row.cells[1], row)
    assert words == 'on 0.20.0 it printed "balance: 100", on 0.20.0 it prints "balance: 90"'
    assert words_of(row.cells[1], row) == "not as on 0.20.0"
    # Without being asked nobody looks.
    (plain,) = build_rows([Series("case", (Attempt("a", good), Attempt("b", other)))])
    assert (plain.good, plain.cells[1].visible) == (None, None)


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"kind": "index"}, "0.20.0"),
        ({"kind": "index", "revision": "latest"}, "0.20.0"),
        (
            {"kind": "checkout", "commit": "7f7a44f8dc" + "0" * 30, "revision": "main"},
            "0.20.0 at 7f7a44f8dc (main)",
        ),
        (
            {"kind": "checkout", "commit": "7f7a44f8dc" + "0" * 30, "dirty": True},
            "0.20.0 at 7f7a44f8dc with changes",
        ),
        ({"kind": "file"}, f"0.20.0+{forge.sha256(forge.WHEEL)[:8]}"),
    ],
)
def test_a_build_is_called_by_its_commit(origin: dict[str, Any], name: str) -> None:
    """Journey 3: the columns of two builds of one version read `0.22.0 | 0.22.0`."""
    draft = forge.draft()
    draft.manifest["target"]["origin"] = origin
    manifest = Manifest.from_bytes(draft.judged().seal().manifest)
    assert target_name(manifest) == name
