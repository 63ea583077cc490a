"""Builds a valid bundle in memory, then lets a test break one thing and seal it again.

A `Draft` is plain data: the manifest's shape, members, traces as shapes, states as documents. `seal`
recomputes whatever the forger is said to recompute, signs with the given keys and gives the bundle:
by default everything, so that the only thing wrong with the bundle is what the test broke.
"""

import base64
import copy
import hashlib
import io
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic_core import from_json

from agentproof import __version__
from agentproof.bundle.store import Bundle
from agentproof.bundle.wheel import read_wheel
from agentproof.check.source import HeldWheel, Sources
from agentproof.claims import read_claims
from agentproof.claims.judge import Answers, judge
from agentproof.models import manifest as m
from agentproof.models import pylock
from agentproof.models.exchanges import EXCHANGES, Exchanges
from agentproof.models.expectations import NOTHING, Expectations
from agentproof.models.header import read_header
from agentproof.models.projection import evidence_id
from agentproof.models.statement import AGREED, EvidenceReplay, Replay, Uri
from agentproof.models.trace import Trace
from agentproof.models.wire import encode
from agentproof.trust import signing
from agentproof.trust.allowed_signers import Trust, parse_trust

REPRODUCTION = b"""# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "Approving one state approves its sibling"
# reference = "openai/openai-agents-python#4413"
# ///
print("PAID 100")
"""

Shape = dict[str, Any]  # Any: a JSON document to be broken


def key(number: int) -> signing.HeldKey:
    """A key that is the same in every run."""
    return signing.HeldKey(
        Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"forge %d" % number).digest())
    )


REPORTER, STRANGER, MAINTAINER = key(1), key(2), key(3)


def trust_in(*keys: signing.HeldKey, options: str = "") -> Trust:
    """An `allowed_signers` file that names these keys."""
    lines = [f"{name_of(each)} {options} {each.public.line}\n" for each in keys]
    return parse_trust("".join(lines).encode(), source="reporters")


def name_of(key: signing.HeldKey) -> str:
    """The principal that `trust_in` gives a key."""
    return f"{key.public.short}@example"


def wheel(
    files: dict[str, bytes], *, name: str = "openai_agents", version: str = "0.20.0", record: bool = True
) -> bytes:
    """A wheel of these files, with METADATA and a true RECORD unless one is given."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    content = {f"{info}/METADATA": metadata.encode(), **files}
    if record:
        content[f"{info}/RECORD"] = record_of(content, f"{info}/RECORD")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(content.items()):
            archive.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def record_of(files: dict[str, bytes], own: str) -> bytes:
    """The RECORD of these files."""
    lines = []
    for path, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{own},,\n"]).encode()


WHEEL_FILES = {
    "agents/__init__.py": b"from .run import Runner\n",
    "agents/run.py": b"class Runner: ...\n",
    "agents/models/__init__.py": b"",
}
WHEEL_NAME = "openai_agents-0.20.0-py3-none-any.whl"
WHEEL = wheel(WHEEL_FILES)


def sources(data: bytes = WHEEL, name: str = WHEEL_NAME) -> Sources:
    """A reader who holds this wheel."""
    return Sources(wheels=(HeldWheel(f"./{name}", data, read_wheel(data, name)),))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _state(approved: Sequence[str]) -> Shape:
    return {
        "$schemaVersion": "1.9",
        "context": {
            "approvals": {"pay": {"approved": list(approved), "rejected": []}},
            "usage": {"requests": 1},
        },
        "current_step": {"data": {"interruptions": [{"raw_item": {"call_id": "call_1", "name": "pay"}}]}},
        "original_input": "Pay 100.",
        "temperature": 0.7,
    }


def _events(mode: str, *, before: str, after: str, leaks: bool) -> list[Shape]:
    streamed = mode == "streamed"
    routed = {"routed": True} if streamed else {}
    item = {"arguments": '{"amount": 100}', "call_id": "call_1", "name": "pay", "type": "function_call"}
    answer = {"role": "assistant", "content": [{"type": "output_text", "text": "Paid."}], "type": "message"}
    asked = [{"agent": "clerk", "arguments": '{"amount": 100}', "call_id": "call_1", "tool": "pay"}]
    user = {"role": "user", "content": "Pay 100."}
    output = {"call_id": "call_1", "output": "paid 100", "type": "function_call_output"}
    items = [{"agent": "clerk", "raw": item, "type": "tool_call_item"}]

    def hook(run: str, name: str, **more: object) -> Shape:
        return {"kind": "hook.called", "run": run, "scope": "run", "hook": name, "agent": "clerk", **more}

    events: list[Shape] = [
        {"kind": "script.started", "entry": "reproduction.py"},
        {"kind": "sdk.imported", "module": "agents"},
        {
            "kind": "run.started",
            "run": "R1",
            "agent": "clerk",
            "streamed": streamed,
            "input": "Pay 100.",
            **routed,
        },
        hook("R1", "on_agent_start", agent_has_hooks=False),
        hook("R1", "on_llm_start", agent_has_hooks=False),
        {
            "kind": "model.called",
            "run": "R1",
            "call": "M1",
            "model": "__main__:Scripted",
            "streamed": streamed,
            "input": [user],
            "tools": ["pay"],
        },
        {"kind": "model.answered", "run": "R1", "call": "M1", "output": [item]},
        hook("R1", "on_llm_end", agent_has_hooks=False),
        {
            "kind": "run.ended",
            "run": "R1",
            "outcome": "returned",
            "result": "Q1",
            "last_agent": "clerk",
            "interruptions": asked,
            "items": items,
            "snapshot": before,
        },
        {"kind": "state.made", "state": "S1", "snapshot": before, "result": "Q1"},
        {"kind": "state.made", "state": "S2", "snapshot": before, "result": "Q1"},
        {
            "kind": "state.decided",
            "state": "S1",
            "decision": "approve",
            "call_id": "call_1",
            "tool": "pay",
            "options": {},
            "before": before,
            "snapshot": after,
        },
    ]
    if leaks:
        events.append(
            {
                "kind": "state.observed",
                "state": "S2",
                "snapshot": after,
                "before": before,
                "moment": "decision",
            }
        )
    resumed = {"state": "S2", "snapshot": after} if leaks else {"state": "S1", "snapshot": after}
    events += [
        {"kind": "run.started", "run": "R2", "agent": "clerk", "streamed": streamed, **resumed, **routed},
        {
            "kind": "tool.started",
            "run": "R2",
            "agent": "clerk",
            "tool": "pay",
            "tool_kind": "function",
            "call_id": "call_1",
            "call_id_source": "hook",
            "arguments": '{"amount": 100}',
            "needs_approval": True,
        },
        {
            "kind": "tool.ended",
            "run": "R2",
            "agent": "clerk",
            "tool": "pay",
            "call_id": "call_1",
            "output": "paid 100",
            "output_type": "builtins:str",
        },
        hook("R2", "on_llm_start", agent_has_hooks=False),
        {
            "kind": "model.called",
            "run": "R2",
            "call": "M2",
            "model": "__main__:Scripted",
            "streamed": streamed,
            "input": [user, item, output],
            "tools": ["pay"],
        },
        {"kind": "model.answered", "run": "R2", "call": "M2", "output": [answer]},
        hook("R2", "on_llm_end", agent_has_hooks=False),
        hook("R2", "on_agent_end", agent_has_hooks=False, output="Paid."),
        {
            "kind": "run.ended",
            "run": "R2",
            "outcome": "returned",
            "result": "Q2",
            "last_agent": "clerk",
            "final_output": "Paid.",
            "output_type": "builtins:str",
        },
        {"kind": "script.wrote", "stream": "stdout", "text": "PAID 100\n", "size": 9, "truncated": False},
        {"kind": "script.ended", "outcome": "exited", "code": 0},
    ]
    return [{"seq": seq, **event} for seq, event in enumerate(events, start=1)]


class Draft:
    """A bundle in the making; every attribute may be broken before `seal`."""

    def __init__(self, *, leaks: bool = True) -> None:
        states = [encode(_state(())), encode(_state(("call_1",)))]
        before, after = map(sha256, states)
        self.files: dict[str, bytes] = {"reproduction.py": REPRODUCTION}
        self.states: dict[str, bytes] = dict(zip((before, after), states, strict=True))
        self.traces: dict[str, Shape] = {
            mode: {
                "format": "agentproof/trace",
                "version": 0,
                "mode": mode,
                "events": _events(mode, before=before, after=after, leaks=leaks),
            }
            for mode in ("as-written", "streamed")
        }
        self.wheel: bytes | None = WHEEL
        self.extra: dict[str, bytes] = {}
        """Further members, which `seal` lists."""
        self.manifest: Shape = {
            "format": "agentproof/bundle",
            "version": 0,
            "target": {
                "name": "openai-agents",
                "version": "0.20.0",
                "wheel": WHEEL_NAME,
                "sha256": sha256(WHEEL),
                "size": len(WHEEL),
                "origin": {"kind": "index"},
            },
            "reproduction": {
                "entry": "reproduction.py",
                "files": ["reproduction.py"],
                "title": "Approving one state approves its sibling",
                "reference": "openai/openai-agents-python#4413",
            },
            "environment": {
                "python": {"implementation": "cpython", "version": "3.12.1"},
                "platform": {"system": "Linux", "machine": "x86_64", "libc": "glibc 2.36"},
                "as_of": "2026-08-12",
                "packages": [
                    {
                        "name": "annotated-types",
                        "version": "0.7.0",
                        "wheel": "annotated_types-0.7.0-py3-none-any.whl",
                        "sha256": "1f02e8b43a8fbbc3f3e0d4f0f4bfc8131bcb4eebe8849b8e5c773f3a1c582a53",
                        "size": 13643,
                    },
                    {
                        "name": "openai-agents",
                        "version": "0.20.0",
                        "wheel": WHEEL_NAME,
                        "sha256": sha256(WHEEL),
                        "size": len(WHEEL),
                    },
                ],
                "installed_files": 12,
            },
            "recorder": {"agentproof": __version__, "sha256": "ab" * 32},
            "isolation": {
                "network": "namespace",
                "files": "landlock",
                "user": "dropped",
                "self_test": "refused",
            },
            "recordings": [
                {"mode": mode, "trace": f"traces/{mode}.json", "repeats": 2, "agreement": "same"}
                for mode in ("as-written", "streamed")
            ],
            "loaded": [
                {
                    "module": "agents",
                    "path": "agents/__init__.py",
                    "sha256": sha256(WHEEL_FILES["agents/__init__.py"]),
                },
                {
                    "module": "agents.run",
                    "path": "agents/run.py",
                    "sha256": sha256(WHEEL_FILES["agents/run.py"]),
                },
            ],
            "conduct": {},
            "judgement": {"verdict": "holds", "claims": []},
            "evidence_id": "00" * 32,
            "members": [],
        }

    def copy(self) -> "Draft":
        """An independent copy."""
        return copy.deepcopy(self)

    def event(self, kind: str, *, mode: str = "as-written", nth: int = 0) -> Shape:
        """The nth event of a kind, to be broken in place."""
        found: list[Shape] = [event for event in self.traces[mode]["events"] if event["kind"] == kind]
        return found[nth]

    def judged(self) -> "Draft":
        """Compute the evidence id and the judgement from what the draft holds now."""
        traces = {trace.mode: trace for trace in map(Trace.from_shape, self.traces.values())}
        states = {digest: from_json(data) for digest, data in self.states.items()}
        shape = {**self.manifest, "members": []}
        parsed = m.Manifest.from_shape(shape)
        expectations = parsed.reproduction.expectations or NOTHING
        entry = parsed.reproduction.entry
        header = read_header(self.files[entry], path=entry)
        self.manifest["judgement"] = judge(
            traces=traces,
            state=states.__getitem__,
            recordings=parsed.recordings,
            conduct=parsed.conduct,
            isolation=parsed.isolation,
            coverage=parsed.coverage,
            answers=Answers.of(parsed.provider, parsed.target.sha256),
            authored=read_claims(header.claims, modes=traces, path=entry, expectations=expectations),
        ).to_shape()
        return self.reidentified()

    def reidentified(self) -> "Draft":
        """Compute the evidence id alone."""
        traces = {mode: Trace.from_shape(shape) for mode, shape in self.traces.items()}
        states = {digest: from_json(data) for digest, data in self.states.items()}
        expected = self.manifest["reproduction"].get("expectations", {})
        self.manifest["evidence_id"] = evidence_id(
            target_sha256=self.manifest["target"]["sha256"],
            reproduction={path: sha256(data) for path, data in self.files.items()},
            tests=self.manifest["reproduction"].get("tests", ()),
            traces=traces.values(),
            state=states.__getitem__,
            expectations=Expectations.from_shape(expected),
            exchanges=self._exchanged(),
        )
        return self

    def _exchanged(self) -> str | None:
        data = self.extra.get(EXCHANGES)
        return None if data is None else sha256(encode(Exchanges.from_bytes(data).timeless()))

    def members(self) -> dict[str, bytes]:
        """The members as they are now."""
        found = dict(self.files)
        environment = m.Environment.from_shape(self.manifest["environment"])
        found["pylock.toml"] = pylock.render(environment)
        found.update({f"states/{digest}.json": data for digest, data in self.states.items()})
        found.update({f"traces/{mode}.json": encode(shape) for mode, shape in self.traces.items()})
        if self.wheel is not None:
            target = self.manifest["target"]
            name = target.get("wheel", WHEEL_NAME) if isinstance(target, dict) else WHEEL_NAME
            found[f"wheels/{name}"] = self.wheel
        return {**found, **self.extra}

    def seal_unparsed(self) -> Bundle:
        """Seal a manifest that our own models refuse: the attestation is that of a valid one."""
        content = self.members()
        self._list(content)
        valid = draft().seal()
        return Bundle(encode(self.manifest), content, valid.attestations)

    def _list(self, content: dict[str, bytes]) -> None:
        self.manifest["members"] = [
            {"path": path, "sha256": sha256(data), "size": len(data)}
            for path, data in sorted(content.items())
        ]

    def seal(self, *keys: signing.HeldKey, members: dict[str, bytes] | None = None) -> Bundle:
        """List the members and sign the whole as `record` does, by REPORTER unless told otherwise."""
        content = self.members() if members is None else members
        self.manifest["members"] = [
            {"path": path, "sha256": sha256(data), "size": len(data)}
            for path, data in sorted(content.items())
        ]
        return sign(Bundle(encode(self.manifest), content), keys or (REPORTER,))


def sign(bundle: Bundle, keys: Iterable[signing.HeldKey] = (REPORTER,)) -> Bundle:
    """The bundle with a `recorded` attestation by each key, and no other."""
    return Bundle(
        bundle.manifest,
        bundle.members,
        dict(signing.attest_recorded(bundle.manifest, each) for each in keys),
        bundle.shelf,
    )


def replay_of(
    bundle: Bundle, *, evidence_alone: bool = False, bodies: bool = True
) -> Replay | EvidenceReplay:
    """What a replayer states who saw this bundle again on a machine like its recorder's."""
    manifest = m.Manifest.from_bytes(bundle.manifest)
    shape: Shape = {
        "timeCreated": "2026-11-30T02:00:00Z",
        "bundle_id": sha256(bundle.manifest),
        "evidence_id": manifest.evidence_id,
        "python": manifest.environment.python.to_shape(),
        "platform": manifest.environment.platform.to_shape(),
        "lock": sha256(bundle.members["pylock.toml"]),
        "isolation": manifest.isolation.to_shape(),
        "recorder": manifest.recorder.to_shape(),
    }
    if evidence_alone:
        first = {"verifier": {"id": Uri.EVIDENCE_VERIFIER.value}, "properties": list(AGREED[:1])}
        return EvidenceReplay.from_shape({**shape, **first})
    now = {"verifier": {"id": Uri.VERIFIER.value}, "properties": list(AGREED)}
    return Replay.from_shape({**shape, **now, "not_captured": [] if bodies else ["bodies"]})


_VALID = Draft().judged()
_HOLDS = Draft(leaks=False).judged()


def draft(*, holds: bool = False) -> Draft:
    """A valid draft: one that shows the violation, or one that holds."""
    return (_HOLDS if holds else _VALID).copy()


EXPECTED: Shape = {
    "should": "The tool should wait for its own approval.",
    "should_print": ["PAID 100"],
    "should_not_print": ["Traceback"],
    "should_raise": ["MaxTurnsExceeded"],
    "should_run": [{"tool": "pay", "times": 2}],
    "should_not_run": ["refund"],
    "should_output": ["refused"],
}
"""Expectations of which some are met, some are not, and one had nothing to be seen in."""


def exchange(number: int, *, text: str = "Hello.") -> Shape:
    """One request of a script, and a provider's answer."""
    return {
        "host": "api.openai.com",
        "method": "POST",
        "path": "/v1/responses",
        "headers": {"content-type": "application/json"},
        "body": {"json": {"model": "gpt-4o", "input": f"question {number}", "temperature": 0.5}},
        "asked": 2 * number + 1,
        "done": 2 * number + 2,
        "answer": {
            "status": 200,
            "headers": {"content-type": "application/json", "x-request-id": f"req_{number}"},
            "chunks": [[12, f'{{"output": "{text}"}}']],
            "end": "complete",
        },
    }


def exchanges(*each: Shape, to: str | None = None) -> Shape:
    """What a provider was asked."""
    host = {"name": "api.openai.com", "variable": "OPENAI_API_KEY", **({"to": to} if to else {})}
    return {
        "format": "agentproof/exchanges",
        "version": 0,
        "recorded": "2026-11-30T12:00:00Z",
        "target": sha256(WHEEL),
        "hosts": [host],
        "exchanges": list(each),
    }


def draft_of_live(*answers: Shape, to: str | None = None, target: str | None = None) -> Draft:
    """A valid draft of a script that asked a provider twice; `answers` is what its runs were given."""
    made = draft()
    document = exchanges(exchange(0), exchange(1), to=to)
    document["target"] = target or document["target"]
    made.extra[EXCHANGES] = encode(document)
    made.manifest["provider"] = {
        "hosts": [{"host": "api.openai.com", "port": 443, **({"to": to} if to else {})}],
        "recorded": document["recorded"],
        "target": document["target"],
        "requests": 2,
        "request_ids": ["req_0", "req_1"],
        "answers": list(answers),
    }
    return made.judged()


def draft_of_expectations(**changed: Any) -> Draft:  # Any: a shape of expectations; None leaves one out
    """A valid draft of a reproduction with expectations."""
    made = draft()
    expected = {name: part for name, part in {**EXPECTED, **changed}.items() if part is not None}
    made.manifest["reproduction"]["expectations"] = expected
    return made.judged()


TEST_FILE = b'''"""Payments."""
import pytest


@pytest.mark.parametrize("amount", [100])
async def test_pays(amount):
    assert await pay(amount) == "paid"


def test_else():
    pass
'''
TEST_NAME = "tests/test_pay.py::test_pays"


def draft_of_tests(*, outcome: str = "failed") -> Draft:
    """A valid draft of a test that pytest ran, as the recorder writes it, with one failing case."""
    made = draft()
    made.files = {"tests/test_pay.py": TEST_FILE}
    made.manifest["reproduction"] = {
        "entry": "tests/test_pay.py",
        "files": ["tests/test_pay.py"],
        "tests": [TEST_NAME],
        "requires": ["pytest"],
    }
    failed: Shape = {
        "error": {
            "type": "builtins:AssertionError",
            "message": "assert 'refused' == 'paid'\n  - paid",
            "bases": ["builtins:Exception"],
        },
        "frames": [{"file": "tests/test_pay.py", "line": 7, "function": "test_pays"}],
    }
    name = f"{TEST_NAME}[100]"
    ended: Shape = {"kind": "test.ended", "test": name, "outcome": outcome}
    if outcome == "failed":
        ended |= failed
    for trace in made.traces.values():
        events: list[Shape] = trace["events"]
        events[0] = {"kind": "script.started", "entry": "tests/test_pay.py", "tests": [TEST_NAME]}
        events.insert(2, {"kind": "test.started", "test": name})
        events.insert(-1, ended)
        events[-1]["code"] = 0 if outcome == "passed" else 1
        trace["events"] = [{**event, "seq": seq} for seq, event in enumerate(events, start=1)]
    return made.judged()
