"""Rules about sessions: positive and silent cases."""

import pytest

from tests.claims.builder import Json, Script, evaluate, function_call, function_output, message, told

# call-output-linkage, in sessions


def _with_session(after: list[object], **end: object) -> Script:
    """A run that calls call_1 and leaves `after` in its session."""
    script = Script()
    run = script.run(session="D1")
    script.model(run, "go", function_call())
    script.model(run, [function_call(), function_output()], message("done"))
    script.end(run, session="D1", session_after=after, **end)  # type: ignore[arg-type] # fields of any type
    return script.exit()


def test_a_session_that_keeps_a_call_without_its_output_is_violated() -> None:
    script = _with_session([message("go", "user"), function_call()])
    assert told("call-output-linkage", script) == ["in the session of run R1, call call_1 has no output"]


def test_a_session_may_wait_for_an_output_while_its_run_does() -> None:
    script = _with_session([message("go", "user"), function_call()], waits_for=["call_1"])
    assert evaluate("call-output-linkage", script).because == ()


def test_a_session_may_hold_open_calls_of_another_line() -> None:
    script = _with_session([function_call("old"), function_call(), function_output()])
    assert evaluate("call-output-linkage", script).because == ()


def test_a_session_that_the_script_popped_is_not_judged() -> None:
    script = Script()
    run = script.run(session="D1")
    script.model(run, "go", function_call())
    script.session("D1", "pop_item", by_sdk=False)
    script.end(run, session="D1", session_after=[function_call()])
    assert evaluate("call-output-linkage", script.exit()).because == ()


def test_runs_on_one_session_may_use_an_id_again() -> None:
    script = Script()
    for _ in range(2):
        run = script.run(session="D1")
        script.model(run, "go", function_call())
        held = [function_call(), function_output()] * 2
        script.model(run, held, message("done"))
        script.end(run, session="D1", session_after=held)
    assert evaluate("call-output-linkage", script.exit()).because == ()


def test_what_the_script_stored_itself_is_excused() -> None:
    script = Script()
    script.stores("D1", function_output("old"), by_sdk=False)
    run = script.run(session="D1")
    script.model(run, [function_output("old")], message("done"))
    script.end(run, session="D1", session_after=[function_output("old")])
    assert evaluate("call-output-linkage", script.exit()).because == ()


# result-in-session

CALL_ITEM = {"type": "tool_call_item", "raw": function_call()}
OUTPUT_ITEM = {"type": "tool_call_output_item", "raw": function_output()}


def test_an_item_of_the_result_that_was_not_stored_is_violated() -> None:
    script = _with_session([function_call()], items=[CALL_ITEM, OUTPUT_ITEM])
    assert told("result-in-session", script) == [
        "the function_call_output of call_1 in the result of run R1 was not stored in its session"
    ]


def test_items_that_were_added_or_are_still_there_hold() -> None:
    script = Script()
    run = script.run(session="D1")
    script.stores("D1", function_call())
    script.end(run, session="D1", session_after=[function_output()], items=[CALL_ITEM, OUTPUT_ITEM])
    outcome = evaluate("result-in-session", script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 2)


def test_two_objects_over_one_database_are_one_store() -> None:
    script = Script()
    run = script.run(session="D1")
    for session in ("D1", "D2"):
        script.session(session, "get_items", session_id="s", database="<work>/s.db", result=[])
    script.stores("D2", function_call(), session_id="s", database="<work>/s.db")
    script.end(run, session="D1", session_after=[], items=[CALL_ITEM])
    assert evaluate("result-in-session", script.exit()).status == "holds"


def test_an_addition_that_failed_does_not_count() -> None:
    script = Script()
    run = script.run(session="D1")
    script.stores("D1", function_call(), error={"type": "sqlite3:OperationalError", "message": "locked"})
    script.end(run, session="D1", session_after=[], items=[CALL_ITEM])
    assert evaluate("result-in-session", script.exit()).status == "violated"


@pytest.mark.parametrize(
    "end",
    [{"outcome": "raised"}, {"waits_for": ["call_1"]}, {"session_after": None}, {"session": None}],
    ids=["raised", "waits", "unread", "no session"],
)
def test_runs_that_need_not_have_stored_all_are_not_observed(end: dict[str, object]) -> None:
    script = Script()
    run = script.run(session="D1")
    fields = {"session": "D1", "session_after": [], "items": [CALL_ITEM], **end}
    script.end(run, **fields)  # type: ignore[arg-type] # fields of any type
    assert evaluate("result-in-session", script.exit()).status == "not_observed"


def test_a_server_that_keeps_the_conversation_is_not_judged() -> None:
    script = Script()
    run = script.run(session="D1", settings={"server_managed": True})
    script.end(run, session="D1", session_after=[], items=[CALL_ITEM])
    assert evaluate("result-in-session", script.exit()).status == "not_observed"


# blocked-stays-out


def _blocked(kind: str, after: list[object], before: list[object] | None = None) -> Script:
    """A run whose answer a guardrail refused."""
    script = Script()
    run = script.run(session="D1", session_before=before)
    script.model(run, "go", message("SECRET"))
    error = {"type": f"agents.exceptions:{kind}GuardrailTripwireTriggered", "message": ""}
    script.end(run, "raised", error=error, session="D1", session_after=after)
    return script


@pytest.mark.parametrize("kind", ["Output", "Input"])
def test_a_refused_answer_in_the_session_is_violated(kind: str) -> None:
    script = _blocked(kind, [message("go", "user"), message("SECRET")]).exit()
    assert told("blocked-stays-out", script) == ["'SECRET', blocked in run R1, is in the session of run R1"]


def test_a_refused_answer_in_the_next_request_is_violated() -> None:
    script = _blocked("Output", [])
    run = script.run(session="D1")
    script.model(run, [message("SECRET")], message("done"))
    script.end(run, session="D1", session_after=[])
    assert told("blocked-stays-out", script.exit()) == [
        "'SECRET', blocked in run R1, is in the model input of run R2"
    ]


def test_what_was_there_before_or_is_said_again_is_silent() -> None:
    script = _blocked("Output", [message("SECRET")], [message("SECRET")]).exit()
    assert evaluate("blocked-stays-out", script).because == ()
    script = _blocked("Output", [])
    run = script.run(session="D1")
    script.model(run, "again", message("SECRET"))
    script.end(run, session="D1", session_after=[message("SECRET")])
    assert evaluate("blocked-stays-out", script.exit()).status == "holds"


def test_another_error_blocks_nothing() -> None:
    script = _blocked("Other", [message("SECRET")]).exit()
    assert evaluate("blocked-stays-out", script).status == "not_observed"


# session-is-its-log


def test_a_session_that_loses_items_is_violated() -> None:
    script = Script()
    script.stores("D1", message("a", "user"), message("b"))
    script.session("D1", "get_items", result=[message("b")])
    assert told("session-is-its-log", script.exit()) == [
        "reading session D1 gave 1 items; 2 were stored and not removed"
    ]


def test_a_pop_that_gives_nothing_is_violated() -> None:
    script = Script()
    script.stores("D1", message("a", "user"))
    script.session("D1", "pop_item")
    assert evaluate("session-is-its-log", script.exit()).status == "violated"


def test_a_session_that_keeps_what_was_stored_holds() -> None:
    script = Script()
    script.stores("D1", message("a", "user"), message("b"), message("c"))
    script.session("D1", "get_items", limit=2, result=[message("b"), message("c")])
    script.session("D1", "pop_item", result=message("c"))
    script.session("D1", "get_items", result=[message("a", "user"), message("b")])
    script.session("D1", "clear_session")
    script.session("D1", "get_items", result=[])
    outcome = evaluate("session-is-its-log", script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 4)


@pytest.mark.parametrize("beyond", ["expiry", "branches", "connections", "processes"])
def test_a_store_that_others_may_change_is_judged_up_to_then(beyond: str) -> None:
    script = Script()
    script.stores("D1", message("a", "user"))
    script.session("D1", "get_items", result=[message("a", "user")])
    script.session("D1", "get_items", result=[], beyond=beyond)
    outcome = evaluate("session-is-its-log", script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 1)


def test_two_tables_of_one_file_are_two_stores() -> None:
    script = Script()
    for label, table in (("D1", "shop_m"), ("D2", "support_m")):
        script.session(label, "clear_session", **FILE, table=table)
    script.stores("D1", message("a", "user"), **FILE, table="shop_m")
    script.session("D2", "get_items", result=[], **FILE, table="support_m")
    script.session("D1", "get_items", result=[message("a", "user")], **FILE, table="shop_m")
    assert evaluate("session-is-its-log", script.exit()).status == "holds"


FILE: Json = {"session_id": "s", "database": "<work>/s.db"}
OLD, NEW = message("old"), message("a", "user")


def test_a_store_that_was_filled_before_is_known_from_its_first_whole_reading() -> None:
    script = Script()
    script.stores("D1", NEW, **FILE)  # what it held before is not known
    script.session("D1", "get_items", limit=1, result=[NEW], **FILE)
    script.session("D1", "get_items", result=[OLD, NEW], **FILE)
    outcome = evaluate("session-is-its-log", script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 1)
    script = Script()
    script.session("D1", "get_items", result=[OLD], **FILE)
    script.stores("D1", NEW, **FILE)
    script.session("D1", "get_items", result=[NEW], **FILE)
    assert told("session-is-its-log", script.exit()) == [
        "reading session D1 gave 1 items; 2 were stored and not removed"
    ]


def test_what_was_added_to_a_store_must_be_there_whatever_it_held_before() -> None:
    script = Script()
    script.stores("D1", NEW, message("b"), **FILE)
    script.session("D2", "get_items", result=[OLD, message("b")], **FILE)
    assert told("session-is-its-log", script.exit()) == [
        "reading session D2 gave 2 items that are not those stored"
    ]


def test_a_pop_of_what_a_store_held_before_is_no_loss() -> None:
    script = Script()
    script.stores("D1", NEW, **FILE)
    for popped in (NEW, OLD):
        script.session("D1", "pop_item", result=popped, **FILE)
    script.session("D1", "pop_item", **FILE)
    script.session("D1", "get_items", result=[], **FILE)
    outcome = evaluate("session-is-its-log", script.exit())
    assert (outcome.status, outcome.sites) == ("holds", 1)
    script = Script()
    script.stores("D1", NEW, **FILE)
    script.session("D1", "pop_item", **FILE)
    assert evaluate("session-is-its-log", script.exit()).status == "violated"


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("get_items", {"result": []}),
        ("get_items", {"result": [OLD], "limit": 2}),
        ("clear_session", {}),
        ("pop_item", {}),
    ],
    ids=["a reading", "fewer than the limit", "cleared", "nothing to pop"],
)
def test_what_shows_all_that_a_store_holds_begins_its_log(operation: str, fields: dict[str, Json]) -> None:
    script = Script()
    script.session("D1", operation, **fields, **FILE)
    script.stores("D1", NEW, **FILE)
    script.session("D1", "get_items", result=[], **FILE)
    assert evaluate("session-is-its-log", script.exit()).status == "violated"


def test_a_session_without_a_known_database_may_have_been_filled_before() -> None:
    script = Script()
    script.add(
        "session.used",
        session="D1",
        operation="add_items",
        by_sdk=False,
        session_class="agents.extensions.memory.sqlalchemy_session:SQLAlchemySession",
        items=[NEW],
    )
    script.add(
        "session.used",
        session="D1",
        operation="get_items",
        by_sdk=True,
        session_class="agents.extensions.memory.sqlalchemy_session:SQLAlchemySession",
        result=[OLD, NEW],
    )
    assert evaluate("session-is-its-log", script.exit()).status == "holds"


def test_a_session_in_memory_that_is_first_read_may_hold_something() -> None:
    script = Script()
    script.session("D1", "get_items", result=[OLD])
    script.stores("D1", NEW)
    script.session("D1", "get_items", result=[OLD, NEW])
    assert evaluate("session-is-its-log", script.exit()).status == "holds"


@pytest.mark.parametrize("spelled", ["s.db", "./s.db", "<work>/x/../s.db", "<work>//s.db"])
def test_one_database_is_one_store_however_its_path_is_spelled(spelled: str) -> None:
    script = Script()
    script.session("D1", "get_items", result=[], **FILE)
    script.stores("D1", NEW, **FILE)
    script.stores("D2", message("b"), session_id="s", database=spelled)
    script.session("D1", "get_items", result=[NEW, message("b")], **FILE)
    assert evaluate("session-is-its-log", script.exit()).status == "holds"


def test_nothing_is_judged_after_an_operation_that_failed() -> None:
    script = Script()
    script.stores("D1", message("a", "user"), error={"type": "builtins:OSError", "message": ""})
    script.session("D1", "get_items", result=[message("a", "user")])
    assert evaluate("session-is-its-log", script.exit()).status == "not_observed"


def test_a_session_of_the_scripts_own_class_may_keep_its_items_in_another() -> None:
    script = Script()
    script.stores("D1", message("a", "user"), session_class="__main__:Wrapper")
    script.session("D2", "pop_item", result=message("a", "user"))
    script.session("D1", "get_items", result=[], session_class="__main__:Wrapper")
    assert evaluate("session-is-its-log", script.exit()).status == "not_observed"


def test_operations_in_parallel_have_no_order() -> None:
    script = Script()
    with script.lane() as one:
        script.stores("D1", message("a", "user"))
    with script.lane() as other:
        script.session("D1", "get_items", result=[message("b", "user")])
    script.join(one, other)
    assert evaluate("session-is-its-log", script.exit()).status == "not_observed"


# compaction


def _compacted(*, is_compacted: bool) -> Script:
    """A run after which a session holds what a provider made of it; the one behind it is replaced unseen."""
    script = Script()
    run = script.run(session="D1", session_before=[], usage={"requests": 0, "input_tokens": 0})
    script.session("D2", "add_items", items=[message("go", "user")], session_id="s")
    script.model(run, [message("go", "user")], message("done"))
    script._events[-1]["usage"] = {"requests": 1, "input_tokens": 3, "output_tokens": 1}
    if is_compacted:
        wrapped = {"session": "D1", "session_class": "m:Session", "by_sdk": True}
        script.add("session.called", run=run, operation="run_compaction", arguments={}, **wrapped)
    short: Json = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}
    total = {"requests": 2, "input_tokens": 9, "output_tokens": 4}
    script.end(run, usage=total, session="D1", session_after=[short])
    script.session("D2", "get_items", result=[short, short], session_id="s")
    return script.exit()


@pytest.mark.parametrize("rule", ["session-is-its-log", "session-feeds-model", "usage-is-sum"])
def test_what_a_compaction_replaces_and_counts_is_no_violation(rule: str) -> None:
    assert evaluate(rule, _compacted(is_compacted=False)).status == "violated"
    assert evaluate(rule, _compacted(is_compacted=True)).status != "violated"
