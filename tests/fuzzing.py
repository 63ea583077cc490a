"""Fuzzing of every entry point that takes a stranger's bytes: an error of ours, or a report; never another.

`python -m tests.fuzzing SECONDS` goes on for that long with new examples; the tests run a few of each.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from agentproof.bundle.store import bundle_id, from_zip_bytes, zip_bytes
from agentproof.bundle.wheel import read_wheel
from agentproof.bundle.zip import stored_zip
from agentproof.check import saved_states
from agentproof.check.bundle import Reader, check_bundle, check_path
from agentproof.errors import AgentproofError, BundleError, FormatError, TrustError, UsageError
from agentproof.isolation.readback import read_mode
from agentproof.models import events as vocabulary
from agentproof.models.header import read_header
from agentproof.models.manifest import Manifest
from agentproof.models.statement import build_endorsed_statement, build_replayed_statement
from agentproof.models.trace import Trace
from agentproof.models.values import check_value
from agentproof.models.wire import decode, encode
from agentproof.record import assemble
from agentproof.trust.allowed_signers import parse_trust
from agentproof.trust.signing import attestation_name, sign_statement, verify_envelope
from tests import forge

BUNDLE = forge.draft().seal()
ZIP = zip_bytes(BUNDLE)
MANIFEST = Manifest.from_bytes(BUNDLE.manifest)
KINDS = [*sorted(get_args(each.__annotations__["kind"])[0] for each in vocabulary.KINDS), "x"]
"""Of events, and one that is none."""
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


REQUIREMENTS = ["pytest", "pytest>=8", "x @ https://x.example/y", "x[", "./x", "-e ."]

EVENT = st.fixed_dictionaries(
    {"n": st.sampled_from(["0:1", "0:2", "0:3", "end", ""]), "kind": st.sampled_from(KINDS)},
    optional={
        "lane": st.sampled_from(["0:1", "L", 5, None]) | JSON,
        "after": st.lists(st.sampled_from(["0:0", "0:1", "0:2", "end"]), max_size=3) | JSON,
        "ports": JSON,
        "label": st.just("x") | JSON,
        "passed": st.booleans() | JSON,
        "value": JSON,
        "run": st.just({"$label": "R:1"}) | JSON,
        "state": st.just({"$label": "S:1"}) | JSON,
        "snapshot": JSON.map(lambda document: {"$state": document}) | JSON,
        "outcome": st.sampled_from(["exited", "killed", 3]),
        "code": JSON,
        "error": JSON,
    },
)
"""What a script may write into its recorder's file."""


@given(st.lists(EVENT, max_size=5), st.just({"exit_code": 0}) | JSON, st.binary(max_size=8), st.booleans())
def fuzz_events(events: list[dict[str, Any]], end: Any, torn: bytes, died: bool) -> None:
    """Any events as those of the recorder, any end; a script can write into its recorder's files."""
    start = {
        "n": "0:0",
        "lane": "0:1",
        "after": [],
        "kind": "script.started",
        "entry": "r.py",
        "arguments": [],
    }
    with tempfile.TemporaryDirectory() as directory:
        control = Path(directory)
        lines = [json.dumps(event).encode() for event in (start, *events)]
        (control / "as-written.jsonl").write_bytes(b"\n".join([*lines, torn]))
        (control / "as-written.end.json").write_text(json.dumps(end))
        with suppress(AgentproofError):
            raw = read_mode(
                control,
                "as-written",
                died="killed" if died else None,
                kept=64,
                most=128,
                why_unforked=None,
                paths={"/home": "<home>"},
            )
            assemble._canonical("as-written", [raw, raw], lambda: None, [], [], missing=False)


@given(st.text(max_size=20) | st.sampled_from(REQUIREMENTS))
def fuzz_requires(text: str) -> None:
    """Any text as a requirement of a bundle's reproduction: refused, or one that a replay can parse."""
    draft = forge.draft()
    draft.manifest["reproduction"]["requires"] = [text]
    with suppress(BundleError):
        checked = check_bundle(draft.judged().seal(), reader=READER)
        assert checked.status == "INVALID" or Requirement(text).url is None


@given(st.data())
def fuzz_attestations(data: st.DataObject) -> None:
    """Statements of each role with any part exchanged for anything, well signed by anybody."""
    endorsed = json.loads(build_endorsed_statement(MANIFEST, bundle_id=bundle_id(BUNDLE)))
    replays = [
        json.loads(
            build_replayed_statement(
                MANIFEST, forge.replay_of(BUNDLE, evidence_alone=alone), bundle_id=bundle_id(BUNDLE)
            )
        )
        for alone in (False, True)
    ]
    statement = data.draw(st.sampled_from([endorsed, *replays]))
    for _ in range(data.draw(st.integers(0, 2))):
        path = data.draw(st.sampled_from(_leaves(statement)))
        statement = _replaced(statement, path, data.draw(JSON))
    payload = _encoded(statement)
    key = data.draw(st.sampled_from([forge.MAINTAINER, forge.STRANGER]))
    role = data.draw(st.sampled_from(["endorsed", "replayed", "recorded", "x"]))
    name = attestation_name(role, key.public)  # type: ignore[arg-type]  # also what is none
    attestations = {**BUNDLE.attestations, name: sign_statement(payload, key)}
    status = check_bundle(replace(BUNDLE, attestations=attestations), reader=READER).status
    assert status in ("CURRENT", "INVALID")
    strangers = {**forge.sign(BUNDLE, [forge.STRANGER]).attestations, name: attestations[name]}
    trusting = replace(READER, trust=forge.trust_in(forge.MAINTAINER))
    assert check_bundle(replace(BUNDLE, attestations=strangers), reader=trusting).status != "CURRENT"


FILE_NAMES = st.sampled_from(
    ["manifest.json", "pylock.toml", "attestations", "traces", "states", "wheels", "x", "r.py", "a.zip"]
)
FILE_PATHS = st.lists(FILE_NAMES, min_size=1, max_size=3).map("/".join)


@given(st.dictionaries(FILE_PATHS, st.integers(0, 6), max_size=6))
def fuzz_folders(files: dict[str, int]) -> None:
    """Folders of any files, links and pipes, as bundles, as stores and as files that hold states."""
    contents = (b"", BUNDLE.manifest, b'{"$schemaVersion": "1.0"}', b"{}", None, None, None)
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory) / "bundles"
        top.mkdir()
        for name, kind in files.items():
            place = top / name
            with suppress(OSError):
                place.parent.mkdir(parents=True, exist_ok=True)
                if contents[kind] is not None:
                    place.write_bytes(contents[kind] or b"")
                elif kind == 4:
                    place.symlink_to(top / "manifest.json")
                elif kind == 5:
                    place.symlink_to("/dev/zero")
                else:
                    os.mkfifo(place)
        for path in (top, *sorted(top.rglob("*"))):
            with suppress(AgentproofError):
                check_path(path, reader=READER)
            with suppress(AgentproofError):
                saved_states.read_saved(path)
        with suppress(AgentproofError):
            list(saved_states.find_origins({"x": b"{}"}, [top], reader=READER))


ENTRIES: tuple[Callable[[], None], ...] = (
    fuzz_attestations,
    fuzz_events,
    fuzz_folders,
    fuzz_requires,
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
