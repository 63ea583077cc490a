"""The one encoding is recognised without writing it again: the fast way and the plain way agree."""

import json
import tracemalloc
from typing import Any

import pydantic_core
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.errors import FormatError
from agentproof.limits import MAX_LINES
from agentproof.models.manifest import Conduct, Manifest, SourceLine
from agentproof.models.trace import Trace
from agentproof.models.wire import decode, encode
from tests import forge

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
LIMIT = 10**6


def _is_accepted(raw: bytes) -> bool:
    try:
        decode(raw, limit=LIMIT)
    except FormatError:
        return False
    return True


def _is_plainly_the_encoding(raw: bytes) -> bool:
    try:
        return encode(pydantic_core.from_json(raw, allow_inf_nan=False)) == raw
    except (ValueError, FormatError):
        return False


@settings(max_examples=50)
@given(JSON)
def test_whatever_is_encoded_is_recognised(document: Any) -> None:
    assert decode(encode(document), limit=LIMIT) == document


@settings(max_examples=50)
@given(JSON, st.booleans(), st.sampled_from([None, 1, 2, 4]), st.booleans())
def test_other_json_writers_are_recognised_only_where_they_write_the_same(
    document: Any, ascii_only: bool, indent: int | None, sort: bool
) -> None:
    raw = json.dumps(document, ensure_ascii=ascii_only, indent=indent, sort_keys=sort).encode() + b"\n"
    assert _is_accepted(raw) == _is_plainly_the_encoding(raw)
    rust = pydantic_core.to_json(document, indent=indent) + b"\n"
    assert _is_accepted(rust) == _is_plainly_the_encoding(rust)


@settings(max_examples=50)
@given(JSON, st.data())
def test_a_changed_byte_is_accepted_only_where_it_gives_another_documents_encoding(
    document: Any, data: st.DataObject
) -> None:
    raw = bytearray(encode(document))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    assert _is_accepted(bytes(raw)) == _is_plainly_the_encoding(bytes(raw))


@pytest.mark.parametrize(
    "raw",
    [
        b'{\n  "a": 1,\n  "a": 1\n}\n',
        b'{\n  "b": 1,\n  "a": 1\n}\n',
        b"1e999\n",
        b"NaN\n",
        b"1.0e1\n",
        b"1E5\n",
        b"-0\n",
        b"01\n",
        b"9" * 5000 + b"\n",
        b"\xef\xbb\xbf{}\n",
        "{}\n".encode("utf-16"),
        b"\xff\n",
        b'"\xff"\n',
        b'"\\ud800"\n',
        b'"\xed\xa0\x80"\n',
        b'"\\u0041"\n',
        b'"\\/"\n',
        b'"\x00"\n',
        b"[" * 200_000,
        b"[\n" * 200_000,
        b'{"a":' * 200_000,
        b"\n" * 200_000,
        b" " * 200_000,
        b"[" + b"0," * 400_000 + b"0]\n",
        b"{}\n{}\n",
        b"{}",
        b"{}\r\n",
        b"[ ]\n",
        b"// {}\n{}\n",
        b"",
    ],
    ids=lambda raw: repr(raw[:16]),
)
def test_hostile_json_is_refused_within_bounds(raw: bytes) -> None:
    tracemalloc.start()
    try:
        assert not _is_accepted(raw)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * 2**20


def test_the_number_of_lines_is_capped_before_parsing() -> None:
    raw = b"[\n" + b"  0,\n" * MAX_LINES + b"  0\n]\n"
    with pytest.raises(FormatError) as caught:
        decode(raw, limit=len(raw))
    assert caught.value.reason == "too_large"


def test_the_line_that_is_wrong_is_named() -> None:
    raw = encode({"a": 1, "b": 2, "c": 3}).replace(b'"b": 2', b'"b":2')
    with pytest.raises(FormatError, match="line 3 "):
        decode(raw, limit=LIMIT)


@pytest.mark.parametrize(
    "shape",
    [
        {"changed": []},
        {"allowed": False},
        {"private_reads": [{"name": "_x", "file": "r.py", "line": 1}], "private_writes": []},
    ],
)
def test_a_default_that_is_written_out_is_refused(shape: object) -> None:
    with pytest.raises(FormatError, match="default"):
        Conduct.from_bytes(encode(shape))


def test_a_default_that_is_written_out_deep_inside_is_refused_by_its_name() -> None:
    trace = forge.draft().traces["as-written"]
    trace["events"][2]["routed"] = False
    with pytest.raises(FormatError, match=r"events\.routed"):
        Trace.from_bytes(encode(trace))


def test_what_is_accepted_is_written_again_as_it_was() -> None:
    bundle = forge.draft().seal()
    assert Manifest.from_bytes(bundle.manifest).to_bytes() == bundle.manifest
    for mode in ("as-written", "streamed"):
        raw = bundle.members[f"traces/{mode}.json"]
        assert Trace.from_bytes(raw).to_bytes() == raw
    place = Conduct(private_reads=(SourceLine(name="_x", file="r.py", line=1),))
    assert Conduct.from_bytes(place.to_bytes()) == place


@settings(max_examples=50)
@given(JSON)
def test_the_fast_encoder_writes_what_the_plain_one_writes(document: Any) -> None:
    plain = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    assert encode(document) == plain.encode() + b"\n"


@pytest.mark.parametrize(
    "document", [1e16, 1e-7, 5e-324, 1.7976931348623157e308, [[]] * 3, {"": {}}, "\x7f\u2028"]
)
def test_what_two_writers_spell_differently_is_spelled_as_the_standard_library_does(document: Any) -> None:
    assert encode(document) == json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
    assert decode(encode(document), limit=LIMIT) == document


def test_deep_documents_are_encoded_too() -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    assert encode(deep).count(b"[") == 301
