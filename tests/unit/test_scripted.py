"""A scripted model as source text answers as the trace says, and nothing gets out of its literals."""

import ast
import builtins
from typing import Any

import pytest

from agentproof.errors import CannotDoError
from agentproof.models.trace import Trace
from agentproof.render.scripted import Source, answers_of, scripted

CALL = {
    "type": "function_call",
    "id": "fc_7e11464fdc354f98a226c618e17c8bf9",
    "call_id": "call_433acf49265c4be5ac37998488d8fb7e",
    "name": "weather",
    "arguments": '{"city": "Oslo"}',
    "status": "completed",
}


def message(text: str) -> dict[str, Any]:  # Any: an item
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def trace(*told: Any) -> Trace:  # Any: outputs, or errors
    """A run of clerk, which hands over to boss after its first answer."""
    events: list[dict[str, Any]] = [
        {"kind": "run.started", "run": "R1", "agent": "clerk", "streamed": False, "input": "hi"}
    ]
    for number, each in enumerate(told, start=1):
        call = {"run": "R1", "call": f"M{number}"}
        events.append({"kind": "model.called", **call, "model": "agents:M", "streamed": False, "input": "hi"})
        if isinstance(each, dict):
            events.append({"kind": "model.failed", **call, "error": each})
        else:
            usage = {"requests": 1, "input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
            events.append({"kind": "model.answered", **call, "output": each, "usage": usage})
        if number == 1:
            handed = {"kind": "handoff.made", "run": "R1", "from_agent": "clerk", "to_agent": "boss"}
            events.append(handed)
    numbered = [{**event, "seq": seq} for seq, event in enumerate(events, start=1)]
    return Trace.from_shape(
        {"format": "agentproof/trace", "version": 0, "mode": "as-written", "events": numbered}
    )


def made(*told: Any, version: str = "0.24.0", **given: Any) -> tuple[str, Source]:  # Any: as above
    source = scripted([answers_of(trace(*told))], version=version, **given)
    text = "\n".join([*source.imports, *source.definitions, f"model = {source.models[0]}"])
    ast.parse(text)
    return text, source


def test_an_answer_is_the_agent_s_that_had_the_run() -> None:
    assert [each.agent for each in answers_of(trace([CALL], [message("done")]))] == ["clerk", "boss"]


def test_calls_and_texts_are_written_with_the_sdk_s_own_helpers_where_it_has_them() -> None:
    text, source = made([CALL], [message("rain")])
    assert source.definitions == ()
    assert "from agents.testing import ScriptedModel, assistant_message, function_call" in source.imports
    assert 'function_call("weather", \'{"city": "Oslo"}\', call_id="call_1", item_id="fc_1")' in text
    assert 'assistant_message("rain", item_id="msg_1")' in text
    assert "Usage(requests=1, input_tokens=11, output_tokens=7, total_tokens=18)" in text


def test_an_older_release_gets_a_model_of_a_few_lines_under_the_same_names() -> None:
    text, source = made([CALL], [message("rain")], version="0.20.0")
    names = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert names == {"ScriptedModel", "function_call", "assistant_message"}
    assert source.models == made([CALL], [message("rain")])[1].models
    assert not any("agents.testing" in line for line in source.imports)


def test_what_is_neither_call_nor_text_is_written_whole() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "weight": {"$float": "0.5"}, "$$ref": "x"}
    text, _ = made([reasoning])
    assert "TypeAdapter(ResponseOutputItem).validate_python" in text
    found = next(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "output_item"
    )
    assert ast.literal_eval(found.args[0]) == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "weight": 0.5,
        "$ref": "x",
    }


def test_ids_that_the_script_names_stay_as_they_are() -> None:
    text, _ = made([CALL], script=f"approve({CALL['call_id']!r})")
    assert CALL["call_id"] in text
    assert CALL["id"] not in text


@pytest.mark.parametrize(
    ("error", "written"),
    [
        ({"type": "openai:BadRequestError", "message": "no"}, 'provider_error(BadRequestError, 400, "no")'),
        ({"type": "openai:APITimeoutError", "message": "late"}, "APITimeoutError(request=None)"),
        ({"type": "builtins:RuntimeError", "message": "no"}, 'RuntimeError("no")'),
        ({"type": "agents.exceptions:ModelBehaviorError", "message": "no"}, 'ModelBehaviorError("no")'),
    ],
)
def test_a_failure_is_raised_again(error: dict[str, Any], written: str) -> None:
    assert written in made(error)[0]


@pytest.mark.parametrize("name", ["builtins:eval", "builtins:exit", "os:system", "agents.exceptions:a.b"])
def test_no_name_of_a_trace_becomes_code(name: str) -> None:
    with pytest.raises(CannotDoError, match="raised"):
        made({"type": name, "message": "__import__('os')"})


@pytest.mark.parametrize(
    "text",
    [
        '"""',
        "'''\"",
        "\\",
        "a\nb",
        "\u202egnirts",
        "\x00",
        "{x}",
        '")]\nimport os #',
        "a\u2028b",
        "\r",
        "é🌍",
    ],
)
@pytest.mark.parametrize("version", ["0.24.0", "0.8.0"])
def test_every_text_is_a_literal_of_printable_letters(text: str, version: str) -> None:
    written, _ = made([{**CALL, "name": text, "arguments": text}], [message(text)], version=version)
    assert all(letter.isprintable() or letter == "\n" for letter in written)
    calls = [
        node
        for node in ast.walk(ast.parse(written))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    (call,) = (node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "function_call")
    assert [ast.literal_eval(each) for each in call.args] == [text, text]
    used = {node.func.id for node in calls if isinstance(node.func, ast.Name)}
    assert not used & {*dir(builtins)} - {"list", "len", "isinstance", "enumerate"}


def test_what_was_left_or_never_answered_is_refused() -> None:
    given = trace([CALL])
    events = [event for event in given.events if event.kind != "model.answered"]
    with pytest.raises(CannotDoError, match="never answered M1"):
        answers_of(given.model_copy(update={"events": tuple(events)}))


def test_what_no_text_can_say_is_refused() -> None:
    with pytest.raises(CannotDoError, match="no text can say"):
        made([{"type": "reasoning", "id": "rs_1", "summary": [{"$opaque": "m:C"}]}])
