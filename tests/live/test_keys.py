"""A key in what comes in: found in every spelling, and taken out wherever a stream is cut."""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.live.keys import KeyRemover, find_key, key_spellings

from .provider import Provider, serving
from .relayed import KEY, PLACEHOLDER, VARIABLE, capturing

KEYS = {VARIABLE: KEY}
SPELLINGS = {
    "as it is": KEY,
    "base64": base64.b64encode(KEY.encode()).decode().rstrip("=")[:-1],
    "base64 of a pair": base64.b64encode(b"user:" + KEY.encode()).decode(),
    "base64 of another pair": base64.b64encode(b"ab:" + KEY.encode() + b"tail").decode(),
    "base64url": base64.urlsafe_b64encode(b"x" + KEY.encode() + b"yz").decode(),
    "percent-encoded": quote(KEY, safe=""),
    "in JSON": json.dumps({"key": KEY}),
    "in JSON in JSON": json.dumps(json.dumps({"key": KEY})),
    "hexadecimal": KEY.encode().hex(),
    "capital hexadecimal": KEY.encode().hex().upper(),
    "reversed": KEY[::-1],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_key_is_found_and_taken_out_in_each_spelling(name: str) -> None:
    text = f"before {SPELLINGS[name]} after".encode()
    assert find_key(text, KEYS) == VARIABLE
    clean = KeyRemover({KEY: PLACEHOLDER}).whole(text)
    assert find_key(clean, KEYS) is None
    assert PLACEHOLDER.encode() in clean


VISIBLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60)


@settings(max_examples=80, deadline=None)
@given(VISIBLE, st.data())
def test_wherever_a_stream_is_cut_it_is_as_clean_as_the_whole(key: str, data: st.DataObject) -> None:
    spelled = data.draw(st.lists(st.sampled_from([*key_spellings(key), key.encode()[:5], b"~"]), max_size=5))
    stream = b" ".join(spelled)
    remover = KeyRemover({key: "agentproof-key"})
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = remover.pieces()
    ends = zip([0, *cuts], [*cuts, len(stream)], strict=True)
    came = b"".join([*(pieces.feed(stream[start:end]) for start, end in ends), pieces.end()])
    assert find_key(came, {"K": key}) is None
    assert came == remover.whole(stream)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with serving() as found:
        yield found


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br"])
def test_a_compressed_answer_is_read_or_refused_never_passed_on(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, encoding: str, streamed: bool
) -> None:
    """Whoever compresses what was not asked to be compressed could hide the key there."""
    said = json.dumps({"key": KEY}).encode()
    data = {"gzip": gzip.compress(said), "deflate": zlib.compress(said)}.get(encoding, b"\x28\xb5" + said)

    def fault(handler: "object", _: object) -> None:
        headers = {"content-type": "application/json", "content-encoding": encoding}
        handler.raw(data, headers)  # type: ignore[attr-defined]

    monkeypatch.setattr("tests.live.provider._Handler.fault_packed", fault, raising=False)
    with capturing(provider.url) as (relayed, capture):
        body = {"model": "packed", "input": "hello", "stream": streamed}
        status, answer, headers = relayed.ask(body, headers={"accept-encoding": encoding})
    written = answer + repr(headers).encode() + capture.exchanges().to_bytes()
    assert find_key(written, KEYS) is None
    if encoding in ("gzip", "deflate"):
        assert (status, json.loads(answer)) == (200, {"key": PLACEHOLDER})
        assert "content-encoding" not in headers
    else:
        assert status == 502
        assert f"answered in {encoding}" in capture.summary().refused[0].reason
