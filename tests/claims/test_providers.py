"""Rules about what goes over the wire between a model adapter and its provider."""

import pytest

from tests.claims.builder import Json, Script, evaluate, function_call, told

WEATHER = {"name": "weather", "arguments": '{"city": "Oslo"}'}
ADDED = {"type": "response.output_item.added", "output_index": 0}
DONE = {**ADDED, "type": "response.output_item.done"}
END = {"type": "response.completed"}


def said(text: str = "Rain.", refusal: str | None = None) -> dict[str, Json]:
    parts: list[dict[str, Json]] = [{"type": "output_text", "text": text}] if text else []
    parts += [{"type": "refusal", "refusal": refusal}] if refusal else []
    return {"type": "message", "role": "assistant", "content": parts}


def completion(finish: str = "stop", **message: Json) -> dict[str, Json]:
    return {"choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}]}


def chunks(*deltas: dict[str, Json], finish: str = "stop") -> list[Json]:
    found: list[Json] = [{"choices": [{"index": 0, "delta": each, "finish_reason": None}]} for each in deltas]
    return [*found, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, {"choices": []}]


def asked(
    *,
    path: str = "/v1/chat/completions",
    output: tuple[Json, ...] = (),
    made: list[Json] | None = None,
    counts: int = 1,
    called: Json = None,
    **wire: Json,
) -> Script:
    """A run whose model asks a provider once; the run's result counts this many requests."""
    script = Script()
    run = script.run(usage={"requests": 0})
    script.add("model.offered", run=run, tools=[{"name": "weather", "kind": "function"}])
    fields = {"model": "agents.models.x:Adapter", "streamed": made is not None, "input": "hi"}
    script.add("model.called", run=run, call="M1", **{**fields, **(called or {})})
    sent = {"method": "POST", "host": "gw", "path": path, "status": 200, "request": {"model": "m"}}
    script.add("model.exchanged", run=run, call="M1", **{**sent, **wire})
    if made is not None:
        script.add("model.streamed", run=run, call="M1", events=made)
    script.add("model.answered", run=run, call="M1", output=list(output))
    script.end(run, usage={"requests": counts})
    return script.exit()


# requests-counted


def test_a_request_that_was_answered_and_is_not_counted_is_violated() -> None:
    wire = asked(counts=0, response=completion(content="Rain."), output=(said(),))
    expected = "a provider answered 1 request of run R1; its result counts 0"
    assert told("requests-counted", wire) == [expected]


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (asked(counts=1), "holds"),
        (asked(counts=3), "holds"),
        (asked(counts=0, status=500), "not_observed"),
        (asked(counts=0, error={"type": "builtins:OSError", "message": "reset"}), "not_observed"),
    ],
    ids=["counted", "retries counted too", "refused", "broken off"],
)
def test_only_answered_requests_must_count(wire: Script, status: str) -> None:
    assert evaluate("requests-counted", wire).status == status


# answer-kept

CALL = {"id": "call_1", "type": "function", "function": WEATHER}
MADE = {**function_call("call_1", "weather"), "arguments": WEATHER["arguments"]}
HALVES = [{"index": 0, **CALL, "function": {**WEATHER, "arguments": '{"city"'}}]
REST = [{"index": 0, "function": {"arguments": ': "Oslo"}'}}]
LOST: list[tuple[str, Script, str]] = [
    (
        "text",
        asked(response=completion(content="Rain.")),
        "the text Rain. came over the wire; the items hold ",
    ),
    ("refusal", asked(response=completion(refusal="No.")), "the refusal No. came over the wire"),
    ("a call", asked(response=completion(tool_calls=[CALL])), "the call of weather with"),
    ("one of two calls", asked(response=completion(tool_calls=[CALL, CALL]), output=(MADE,)), "the call of"),
    ("a filter", asked(response=completion("content_filter", content="")), "a content filter withheld"),
    (
        "a filter, streamed",
        asked(events=chunks({"content": ""}, finish="content_filter")),
        "a content filter",
    ),
    (
        "a chunk",
        asked(events=chunks({"content": "Ra"}, {"content": "in."}), output=(said("Ra"),)),
        "the text",
    ),
    ("arguments", asked(events=chunks({"tool_calls": HALVES}, {"tool_calls": REST})), "the call of weather"),
]


@pytest.mark.parametrize(("wire", "words"), [case[1:] for case in LOST], ids=[case[0] for case in LOST])
def test_what_came_and_is_in_no_item_is_violated(wire: Script, words: str) -> None:
    (sentence,) = told("answer-kept", wire)
    assert words in sentence


KEPT: list[tuple[str, Script, str]] = [
    ("text", asked(response=completion(content="Rain."), output=(said(),)), "holds"),
    ("a refusal", asked(response=completion(refusal="No."), output=(said("", "No."),)), "holds"),
    ("a filter told", asked(response=completion("content_filter"), output=(said("", "Withheld."),)), "holds"),
    ("calls", asked(events=chunks({"tool_calls": HALVES}, {"tool_calls": REST}), output=(MADE,)), "holds"),
    ("two choices", asked(response={"choices": [*completion()["choices"]] * 2}), "not_observed"),
    ("another API", asked(path="/v1/responses", response=completion(content="Rain.")), "not_observed"),
    ("not to its end", asked(events=chunks({"content": "Rain."}), cut=True), "not_observed"),
    ("no JSON", asked(response="<html>"), "not_observed"),
]


@pytest.mark.parametrize(("wire", "status"), [case[1:] for case in KEPT], ids=[case[0] for case in KEPT])
def test_what_is_in_the_items_holds_and_what_is_not_told_is_not_judged(wire: Script, status: str) -> None:
    assert evaluate("answer-kept", wire).status == status


def test_an_item_with_values_that_no_provider_sends_is_no_call() -> None:
    odd: list[Json] = [{**MADE, "name": []}, {**MADE, "arguments": {"$object": "m:C", "fields": {}}}]
    wire = asked(response=completion(tool_calls=[CALL]), output=tuple(odd))
    assert evaluate("answer-kept", wire).status == "violated"


# raw-items-paired

PART = {"type": "response.content_part.added", "output_index": 0, "content_index": 0}
PAIRED = [ADDED, PART, {**PART, "type": "response.content_part.done"}, DONE, END]
UNPAIRED: list[tuple[str, list[Json], str]] = [
    ("not done", [ADDED, END], "response.output_item was added at output_index 0 and never done"),
    ("not added", [DONE, END], "response.output_item was done at output_index 0 and had not been added"),
    ("done before", [DONE, ADDED, END], "had not been added"),
    ("one place twice", [ADDED, ADDED, DONE, DONE, END], "response.output_item was added twice"),
    ("twice in a row", [{**ADDED, "times": 2}, {**DONE, "times": 2}, END], "added twice"),
    ("a part", [ADDED, PART, DONE, END], "content_part was added at output_index 0, content_index 0"),
    ("no end", [ADDED, DONE], "0 events end the response"),
    ("two ends", [ADDED, DONE, END, END], "2 events end the response"),
    ("after the end", [ADDED, END, DONE], "events come after the end"),
]


@pytest.mark.parametrize(
    ("made", "words"), [case[1:] for case in UNPAIRED], ids=[case[0] for case in UNPAIRED]
)
def test_events_that_do_not_pair_up_are_violated(made: list[Json], words: str) -> None:
    assert words in told("raw-items-paired", asked(made=made, events=chunks({"content": "x"})))[0]


def test_events_that_pair_up_hold_and_those_of_another_api_are_not_judged() -> None:
    assert evaluate("raw-items-paired", asked(made=PAIRED, events=[])).status == "holds"
    other = asked(made=[ADDED], events=[], path="/v1/responses")
    assert evaluate("raw-items-paired", other).status == "not_observed"


def test_events_with_values_that_no_provider_sends_are_judged_all_the_same() -> None:
    often = {**ADDED, "times": 2**53 - 1}
    for event in (often, {**ADDED, "type": []}, {**END, "type": {"$opaque": "m:C"}}):
        assert evaluate("raw-items-paired", asked(made=[event], events=[])).status == "violated"


# settings-sent

CHAT_TOOL = {"type": "function", "function": {"name": "weather"}}


def _set(settings: Json, request: Json, **fields: Json) -> Script:
    return asked(called={"settings": settings, **fields}, request={"model": "m", **request})


def test_a_setting_that_is_set_and_not_sent_is_violated() -> None:
    wire = _set({"top_p": {"$float": "0.5"}, "max_tokens": 9}, {"max_completion_tokens": 9})
    (sentence,) = told("settings-sent", wire)
    assert sentence.startswith("top_p was set to ")
    assert "R1, and the request" in sentence


def test_a_tool_that_is_offered_and_not_sent_is_violated() -> None:
    (sentence,) = told("settings-sent", _set({}, {"tools": []}, tools=["weather"]))
    assert sentence == "weather was offered in run R1, and the request to the provider does not hold it"
    (sentence,) = told("settings-sent", _set({}, {"tools": [CHAT_TOOL]}, handoffs=["transfer_to_b"]))
    assert sentence.startswith("transfer_to_b was offered")


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (_set({"top_p": 1}, {"top_p": 1, "tools": [CHAT_TOOL]}, tools=["weather"]), "holds"),
        (_set({}, {"tools": [{"type": "function", "name": "weather"}]}, tools=["weather"]), "holds"),
        (_set({}, {}, tools=["web_search_preview"]), "not_observed"),
        (_set({"top_p": 1}, {}, model="agents.extensions.models.litellm_model:LitellmModel"), "not_observed"),
        (asked(called={"settings": {"top_p": 1}}, request=None, request_size=999_999), "not_observed"),
        (asked(path="/v1/messages", called={"settings": {"top_p": 1}}), "not_observed"),
    ],
    ids=["chat", "responses", "hosted", "left to LiteLLM", "too large", "another API"],
)
def test_what_is_sent_holds_and_what_need_not_be_is_not_judged(wire: Script, status: str) -> None:
    assert evaluate("settings-sent", wire).status == status
