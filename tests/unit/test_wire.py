"""The one encoding: what is accepted is what would be written, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentproof.errors import FormatError
from agentproof.models.events import Event
from agentproof.models.manifest import Member
from agentproof.models.trace import Trace
from agentproof.models.wire import decode, encode

MEMBER = Member(path="traces/as-written.json", sha256="0" * 64, size=3)
RAW = MEMBER.to_bytes()


def test_what_is_written_is_accepted() -> None:
    assert Member.from_bytes(RAW) == MEMBER


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (RAW.replace(b"\n}", b'\n,  "size": 3}'), "duplicate key"),
        (RAW.replace(b'"size": 3', b'"size":  3'), "white space"),
        (RAW + b"\n", "trailing byte"),
        (b" " + RAW, "leading byte"),
        (b"\xef\xbb\xbf" + RAW, "byte order mark"),
        (RAW.decode().encode("utf-16"), "UTF-16"),
        (RAW.replace(b'"size": 3', b'"size": 3.0'), "a float for an integer"),
        (RAW.replace(b'"size": 3', b'"size": -3'), "a negative size"),
        (RAW.replace(b'"size": 3', b'"size": 9007199254740993'), "over 2^53-1"),
        (RAW.replace(b'"size": 3', b'"size": 3, "x": 1'), "unknown field"),
        (RAW.replace(b"traces/", b"../"), "a path that leaves"),
        (RAW.replace(b"traces/", b"tr\\u0061ces/"), "another spelling of a letter"),
        (RAW.replace(b'  "size": 3\n', b'  "size": null\n'), "null"),
        (RAW[:-1], "no LF at the end"),
        (b"", "nothing"),
        (b"[" * 200_000, "deep nesting"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_any_other_bytes_are_refused(raw: bytes, why: str) -> None:
    with pytest.raises(FormatError):
        Member.from_bytes(raw)


def test_a_document_over_its_limit_is_not_parsed() -> None:
    with pytest.raises(FormatError, match="over the limit"):
        Trace.from_bytes(b" " * (Trace.MAX_BYTES + 1))


@pytest.mark.parametrize(
    "raw",
    [b"NaN\n", b"1e999\n", b"-Infinity\n", b"1" * 5000 + b"\n", b'"\\ud800"\n', b"[" * 201 + b"]" * 201],
)
def test_a_state_holds_no_number_or_text_that_json_cannot_carry(raw: bytes) -> None:
    with pytest.raises(FormatError):
        decode(raw, limit=10_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_every_json_document_has_one_encoding(document: object) -> None:
    raw = encode(document)
    assert encode(decode(raw, limit=len(raw))) == raw


def test_events_count_from_one() -> None:
    event = {"kind": "script.started", "entry": "r.py", "arguments": [], "seq": 2}
    document = {"format": "agentproof/trace", "version": 0, "mode": "as-written", "events": [event]}
    with pytest.raises(FormatError, match="event 1 has seq 2"):
        Trace.from_bytes(encode(document))


@pytest.mark.parametrize("kind", Event.__subclasses__(), ids=lambda kind: str(kind.__name__))
def test_no_kind_of_event_redefines_the_envelope(kind: type[Event]) -> None:
    assert not {"seq", "run", "after"} & kind.__annotations__.keys()
