"""Makes the bundles of the conformance vectors."""

import copy
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agentproof.bundle.store import Bundle, bundle_id, files_of
from agentproof.bundle.zip import stored_zip
from agentproof.models.exchanges import EXCHANGES
from agentproof.models.manifest import Manifest
from agentproof.models.statement import build_replayed_statement
from agentproof.models.wire import encode
from agentproof.trust.signing import HeldKey, attest_endorsed, attest_replayed
from tests import forge
from tests.changes import changed
from tests.forgeries import FORGERIES, ORIGINAL, forged


def _zipped(bundle: Bundle) -> bytes:
    """As `zip_bytes`, which writes nothing that a reader refuses."""
    return stored_zip(files_of(bundle))


def as_zip(bundle: Bundle) -> Callable[[], bytes]:
    return lambda: _zipped(bundle)


def forgery(name: str) -> Callable[[], bytes]:
    """A forgery of `tests/forgeries`, by its name there."""
    return lambda: _zipped(forged(next(each for each in FORGERIES if each.name == name)))


def by_the_reporter(name: str) -> Callable[[], bytes]:
    """The same, but signed by the reporter, whom readers trust."""

    def make() -> bytes:
        draft = forge.draft()
        next(each for each in FORGERIES if each.name == name).make(draft)
        return _zipped(draft.seal())

    return make


def changed_zip(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    return lambda: change(_zipped(ORIGINAL))


def changed_manifest(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    """Change the manifest's bytes and nothing else."""
    return lambda: _zipped(replace(ORIGINAL, manifest=change(ORIGINAL.manifest)))


def between(raw: bytes) -> bytes:
    second = raw.index(b"PK\x03\x04", 4)
    return raw[:second] + b"hidden" + raw[second:]


def detached() -> Bundle:
    members = {path: data for path, data in ORIGINAL.members.items() if not path.startswith("wheels/")}
    return replace(ORIGINAL, members=members)


def endorsed() -> Bundle:
    more = dict([attest_endorsed(ORIGINAL.manifest, forge.MAINTAINER)])
    return replace(ORIGINAL, attestations={**ORIGINAL.attestations, **more})


def replayed(
    *keys: HeldKey, evidence: str | None = None, evidence_alone: bool = False, bodies: bool = True
) -> Bundle:
    """The original with a replay by each key, about its own evidence unless another is given.

    `evidence_alone`: by the first version of the predicate. Without `bodies`, by a machine that cannot see
    functions' bodies.
    """
    manifest = Manifest.from_bytes(ORIGINAL.manifest)
    about = manifest if evidence is None else changed(manifest, evidence_id=evidence)
    statement = build_replayed_statement(
        about,
        forge.replay_of(ORIGINAL, evidence_alone=evidence_alone, bodies=bodies),
        bundle_id=bundle_id(ORIGINAL),
    )
    replays = dict(attest_replayed(statement, key) for key in keys)
    return replace(ORIGINAL, attestations={**ORIGINAL.attestations, **replays})


def replayed_by_another() -> Bundle:
    """The original recorded by a stranger, with a replay by somebody else."""
    bundle = replayed(forge.MAINTAINER)
    recorded = forge.sign(ORIGINAL, [forge.STRANGER]).attestations
    replays = {name: data for name, data in bundle.attestations.items() if name.startswith("replayed")}
    return replace(bundle, attestations={**recorded, **replays})


def endorsed_by_another() -> Bundle:
    """The original recorded by a stranger, and endorsed by somebody else."""
    more = dict([attest_endorsed(ORIGINAL.manifest, forge.MAINTAINER)])
    recorded = forge.sign(ORIGINAL, [forge.STRANGER])
    return replace(recorded, attestations={**recorded.attestations, **more})


def every_rule_of_the_evidence() -> Bundle:
    """Whatever the evidence id leaves out, renames or writes in another way, in states and in events."""
    draft = forge.draft()
    first, second = (json.loads(data) for data in draft.states.values())
    entry = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 1}}
    first |= {"$escaped": {"$a": 1}, "big": 1, "gone": [1, 1.0, True], "small": 1e-07, "was": 1}
    second |= {"$escaped": {"$a": 2}, "big": 10**20, "small": 1e16, "was": None}
    second |= {"id": "span_000000000000000000000002", "same": ["trace_" + "0" * 31 + "1", "\u00e9 \u2028"]}
    second["gone"] = [True, 1, 1.0]
    second["context"]["usage"] = {
        "requests": 2,
        "input_tokens_details": {"cached_tokens": 7},
        "request_usage_entries": [entry],
    }
    states = [encode(first), encode(second)]
    digests = dict(zip(draft.states, map(forge.sha256, states), strict=True))
    draft.states = dict(zip(digests.values(), states, strict=True))
    traces = json.dumps(draft.traces)
    for old, new in digests.items():
        traces = traces.replace(old, new)
    draft.traces = json.loads(traces)
    texts = ["trace_" + "0" * 31 + "1", "a 00000000-0000-4000-8000-000000000007 b", "<o at 0x000000000001>"]
    for mode in draft.traces:
        # Runs that are told in another order have other numbers, which are their first appearances.
        draft.traces[mode] = _renamed(draft.traces[mode], {"R1": "R7", "S2": "S9"})
        draft.event("model.called", mode=mode, nth=1)["input"] += [texts, {"$float": "0.5"}, None]
    return draft.judged().seal()


def _renamed(trace: Any, names: dict[str, str]) -> Any:  # Any: a trace's JSON
    """The trace with other labels of its runs and states."""
    renamed = copy.deepcopy(trace)
    for event in renamed["events"]:
        for key in ("run", "state"):
            if event.get(key) in names:
                event[key] = names[event[key]]
    return renamed


def changed_state(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    """A state in another spelling, under the digest of that spelling."""

    def make() -> bytes:
        draft = forge.draft()
        old = next(iter(draft.states))
        data = change(draft.states.pop(old))
        new = forge.sha256(data)
        draft.states[new] = data
        draft.traces = json.loads(json.dumps(draft.traces).replace(old, new))
        return _zipped(draft.seal())

    return make


def in_another_order(data: bytes) -> bytes:
    """A document with the keys of its top the other way round."""
    return json.dumps(dict(reversed(json.loads(data).items())), indent=2).encode() + b"\n"


def changed_trace(change: Callable[[Any], object]) -> Callable[[], bytes]:  # Any: a trace's JSON
    def make() -> bytes:
        draft = forge.draft()
        change(draft.traces["as-written"])
        return _zipped(draft.seal())

    return make


def hidden_record() -> bytes:
    """A wheel with a record that its directory does not have: who reads it as it streams in finds it."""
    out = io.BytesIO(forge.WHEEL)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(zipfile.ZipInfo("agents/evil.py", (2026, 1, 1, 0, 0, 0)), b"import os")
        del archive.filelist[-1]
    draft = forge.draft()
    draft.wheel = out.getvalue()
    about = {"sha256": forge.sha256(draft.wheel), "size": len(draft.wheel)}
    draft.manifest["target"] |= about
    draft.manifest["environment"]["packages"][1] |= about
    return _zipped(draft.judged().seal())


def short_name() -> bytes:
    files = {"manifest.json": ORIGINAL.manifest, "MANIFE~1.JSO": b"{}", **ORIGINAL.members}
    return stored_zip(files.items())


def with_default() -> bytes:
    draft = forge.draft()
    draft.manifest["conduct"] = {"allowed": False}
    return _zipped(draft.seal_unparsed())


def case_collision() -> bytes:
    files = {"manifest.json": ORIGINAL.manifest, "A.py": b"", "a.py": b"", **ORIGINAL.members}
    return stored_zip(files.items())


def changed_wheel() -> Bundle:
    draft = forge.draft()
    next(each for each in FORGERIES if each.name == "wheel changed with its RECORD and all digests").make(
        draft
    )
    return draft.seal()


def without_an_expectation() -> Bundle:
    """A bundle whose author leaves out that a tool should run twice, and cannot make the evidence fit."""
    draft = forge.draft_of_expectations()
    evidence = draft.manifest["evidence_id"]
    del draft.manifest["reproduction"]["expectations"]["should_run"]
    draft.judged().manifest["evidence_id"] = evidence
    return draft.seal()


def live(
    *answers: dict[str, Any], to: str | None = None, change: Callable[[forge.Draft], None] = lambda _: None
) -> Callable[[], bytes]:  # Any: what a model was given
    """A bundle of a script that asked a provider twice."""

    def make() -> bytes:
        draft = forge.draft_of_live(*answers, to=to)
        change(draft)
        return _zipped(draft.seal())

    return make


def another_letter(draft: forge.Draft) -> None:
    """Change what a provider answered."""
    draft.extra[EXCHANGES] = draft.extra[EXCHANGES].replace(b"Hello.", b"Hallo.", 1)


def another_host(draft: forge.Draft) -> None:
    """Say that another provider answered."""
    draft.manifest["provider"]["hosts"] = [{"host": "api.anthropic.com", "port": 443}]
