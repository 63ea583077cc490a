"""Fuzzing of every entry point that takes a stranger's bytes: an error of ours, or a report; never another.

`python -m tests.fuzzing SECONDS` goes on for that long with new examples; the tests run a few of each.
"""

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agentproof.bundle.store import from_zip_bytes, zip_bytes
from agentproof.bundle.wheel import read_wheel
from agentproof.bundle.zip import stored_zip
from agentproof.check.bundle import Reader, check_bundle
from agentproof.errors import BundleError, FormatError, TrustError, UsageError
from agentproof.models.header import read_header
from agentproof.models.manifest import Manifest
from agentproof.models.trace import Trace
from agentproof.models.values import check_value
from agentproof.models.wire import decode, encode
from agentproof.trust.allowed_signers import parse_trust
from agentproof.trust.signing import verify_envelope
from tests import forge

BUNDLE = forge.draft().seal()
ZIP = zip_bytes(BUNDLE)
READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
SPLICE = st.tuples(st.integers(0, 2**20), st.integers(0, 64), st.binary(max_size=64))


HEADER = (
    b"# /// script",
    b"# ///",
    b"#",
    b"# [tool.agentproof]",
    b"# [[tool.agentproof.claims]]",
    b'# kind = "tool-runs"',
    b"# title = 1",
    b"# x = [",
    b"# dependencies = [1]",
    b"# tool = 3",
    b"\xff",
    b"",
)


def _spliced(raw: bytes, splices: list[tuple[int, int, bytes]]) -> bytes:
    for at, length, more in splices:
        place = at % (len(raw) + 1)
        raw = raw[:place] + more + raw[place + length :]
    return raw


def _leaves(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [path, *(leaf for key, value in items for leaf in _leaves(value, (*path, key)))]


def _replaced(shape: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    place = shape
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return shape


@given(st.binary(max_size=512) | st.lists(SPLICE, min_size=1, max_size=3).map(lambda s: _spliced(ZIP, s)))
def fuzz_zip(raw: bytes) -> None:
    """Any bytes as a zip."""
    try:
        bundle = from_zip_bytes(raw)
    except BundleError:
        return
    status = check_bundle(bundle, reader=READER).status
    assert raw == ZIP or status in ("INVALID", "UNTRUSTED")


NAME = st.text("AaBb./\\:é\0 ", min_size=1, max_size=12).filter(lambda name: name.isascii())


@given(st.dictionaries(NAME | st.just("manifest.json"), st.binary(max_size=64), min_size=1))
def fuzz_names(files: dict[str, bytes]) -> None:
    """Well-formed zips of any names."""
    with suppress(BundleError):
        bundle = from_zip_bytes(stored_zip(files.items()))
        assert check_bundle(bundle, reader=READER).status == "INVALID"


@given(st.sampled_from([Manifest, Trace]), JSON | st.binary())
def fuzz_models(model: type[Manifest] | type[Trace], document: Any) -> None:
    """Any document, or bytes, as a manifest or trace."""
    raw = document if isinstance(document, bytes) else _encoded(document)
    for parse in (model.from_bytes, lambda data: decode(data, limit=10**6), verify_envelope):
        with suppress(BundleError):
            parse(raw)


def _encoded(document: Any) -> bytes:
    try:
        return encode(document)
    except FormatError:
        return b""


@given(JSON)
def fuzz_values(document: Any) -> None:
    """Any document as a value."""
    with suppress(ValueError):
        check_value(document)


@given(st.data())
def fuzz_shapes(data: st.DataObject) -> None:
    """A valid manifest or trace with any part exchanged for anything, every id computed again."""
    draft = forge.draft()
    which = data.draw(st.sampled_from(["manifest", "as-written", "streamed"]))
    shape = draft.manifest if which == "manifest" else draft.traces[which]
    path = data.draw(st.sampled_from([path for path in _leaves(shape) if path]))
    _replaced(shape, path, data.draw(JSON))
    with suppress(BundleError, KeyError):  # what is no trace, and a state that nobody has
        draft.judged()
    members = _members(draft)
    if members is None:
        return
    try:
        bundle = draft.seal(members=members)
    except (BundleError, KeyError):
        with suppress(FormatError):
            bundle = draft.seal_unparsed()
            assert check_bundle(bundle, reader=READER).status == "INVALID"
        return
    check_bundle(bundle, reader=READER)


@given(st.data())
def fuzz_states(data: st.DataObject) -> None:
    """Valid states with any parts exchanged for anything, and what follows from them computed again."""
    draft = forge.draft()
    changed = {}
    for digest, raw in draft.states.items():
        state = json.loads(raw)
        for _ in range(data.draw(st.integers(0, 3))):
            path = data.draw(st.sampled_from([path for path in _leaves(state) if path]))
            state = _replaced(state, path, data.draw(JSON))
        changed[digest] = _encoded(state)
    traces = json.dumps(draft.traces)
    for digest, raw in changed.items():
        traces = traces.replace(digest, forge.sha256(raw))
    draft.traces = json.loads(traces)
    draft.states = {forge.sha256(raw): raw for raw in changed.values()}
    if all(changed.values()):
        status = check_bundle(draft.judged().seal(), reader=READER).status
        assert status == "CURRENT"


@given(st.binary(max_size=64) | st.lists(st.sampled_from(HEADER), max_size=12).map(b"\n".join))
def fuzz_header(source: bytes) -> None:
    """Any bytes as a script with a header."""
    with suppress(UsageError):
        read_header(source, path="fuzz")


def _members(draft: forge.Draft) -> dict[str, bytes] | None:
    """The members, unless they cannot even be written."""
    members = dict(BUNDLE.members)
    try:
        members.update({f"traces/{mode}.json": encode(shape) for mode, shape in draft.traces.items()})
    except FormatError:
        return None
    return members


@given(
    st.binary(max_size=256) | st.lists(SPLICE, min_size=1, max_size=3).map(lambda s: _spliced(forge.WHEEL, s))
)
def fuzz_wheel(raw: bytes) -> None:
    """Any bytes as a wheel."""
    with suppress(BundleError):
        read_wheel(raw, forge.WHEEL_NAME)


LINE = st.lists(
    st.sampled_from(
        [
            "a@b",
            "ssh-ed25519",
            "ssh-rsa",
            forge.REPORTER.public.line,
            "namespaces=",
            '"x"',
            "valid-after=",
            "#",
            ",",
        ]
    )
    | st.text(max_size=6),
    max_size=5,
).map(" ".join)


@given(st.lists(LINE, max_size=4).map("\n".join) | st.binary())
def fuzz_trust(text: str | bytes) -> None:
    """Any text as a trust file."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    with suppress(TrustError):
        parse_trust(data, source="fuzz")


ENTRIES: tuple[Callable[[], None], ...] = (
    fuzz_zip,
    fuzz_names,
    fuzz_models,
    fuzz_values,
    fuzz_shapes,
    fuzz_states,
    fuzz_header,
    fuzz_wheel,
    fuzz_trust,
)


def main(seconds: float) -> None:
    """Fuzz each entry in turn until the time is over."""
    endless = settings(
        max_examples=200,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    ends = time.monotonic() + seconds
    rounds = 0
    fuzzers = [endless(entry) for entry in ENTRIES]
    while time.monotonic() < ends:
        for fuzz in fuzzers:
            fuzz()
        rounds += 1
    print(f"{rounds * 200 * len(ENTRIES)} examples, no crash")


if __name__ == "__main__":
    main(float(sys.argv[1]))
