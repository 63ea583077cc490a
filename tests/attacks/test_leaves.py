"""Every leaf of a manifest is bound or stated: changed alone, with all ids recomputed, it is noticed or
listed here as the recorder's word. `docs/format.md` has the same list."""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentproof.check.bundle import Reader, check_bundle
from agentproof.errors import BundleError
from tests import forge

STATED = {
    "conduct.allowed",
    "conduct.changed[]",
    "conduct.private_reads[].line",
    "conduct.private_reads[].name",
    "coverage[].code",
    "coverage[].what",
    "coverage[].why",
    "environment.as_of",
    "environment.installed_files",
    "environment.packages[].sha256",
    "environment.packages[].size",
    "environment.platform.libc",
    "environment.platform.machine",
    "environment.platform.system",
    "environment.python.version",
    "isolation.files",
    "isolation.network",
    "isolation.self_test",
    "isolation.user",
    "judgement.claims[].version",
    "provider.answers[].by",
    "provider.answers[].differences[].asked",
    "provider.answers[].differences[].pointer",
    "provider.answers[].differences[].recorded",
    "provider.answers[].exchange",
    "provider.answers[].mode",
    "provider.unused[]",
    "recorder.agentproof",
    "recorder.sha256",
    "recordings[].agreement",
    "recordings[].repeats",
    "redactions",
    "reproduction.expectations.should",
    "reproduction.variables[]",
    "target.origin.commit",
    "target.origin.dirty",
    "target.origin.kind",
    "target.origin.revision",
    "target.origin.tree",
}
"""Leaves that no member lets anybody recompute."""

ALTERNATIVES: dict[str, list[Any]] = {
    "by": ["items"],
    "agreement": ["order", "differ", "single"],
    "files": ["none", "mounts"],
    "kind": ["file", "index", "checkout"],
    "network": ["seccomp", "audit-hook"],
    "self_test": ["not_made"],
    "status": ["holds", "not_observed", "violated"],
    "user": ["own"],
    "verdict": ["holds", "inconclusive"],
    "mode": ["as-written", "streamed", "both"],
    "version": ["3.12.2", "0.7.1", 2],
}


def _full() -> forge.Draft:
    """A draft in which every optional field of the manifest is there."""
    draft = forge.draft()
    draft.manifest["target"]["origin"] = {
        "kind": "checkout",
        "commit": "1" * 40,
        "tree": "2" * 40,
        "dirty": True,
        "revision": "main",
    }
    draft.manifest["reproduction"]["variables"] = ["MY_SETTING"]
    draft.manifest["conduct"] = {
        "changed": ["agents.run:Runner.run"],
        "private_reads": [{"name": "_x", "file": "reproduction.py", "line": 3}],
        "allowed": True,
    }
    draft.manifest["coverage"] = [{"what": "spans", "why": "not asked", "code": "not_in_release"}]
    draft.manifest["redactions"] = 1
    answered = {"by": "question", "differences": [{"pointer": "/model", "recorded": "a", "asked": "b"}]}
    made = {"by": "exact", "synthesised": True}
    live = forge.draft_of_live(
        {"mode": "as-written", "exchange": 0, **answered},
        {"mode": "streamed", "exchange": 1, **made},
        to="http://127.0.0.1:4010",
        target="12" * 32,
    )
    draft.extra |= live.extra
    draft.manifest["provider"] = {**live.manifest["provider"], "unused": [0, 1]}
    draft.manifest["reproduction"]["expectations"] = copy.deepcopy(forge.EXPECTED)
    return draft.judged()


def _leaves(part: Any, path: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Each leaf as its path, its container, its key there and its value."""
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in list(items):
        where = f"{path}[]" if isinstance(part, list) else f"{path}.{key}".lstrip(".")
        if isinstance(value, dict | list):
            yield from _leaves(value, where)
        else:
            yield where, part, key, value


GONE = object()


def _others(key: Any, value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value, GONE]
    if isinstance(value, int):
        return [value + 1, GONE]
    text = str(value)
    similar = [text[:-1] + ("0" if text[-1] != "0" else "1")]
    return [*ALTERNATIVES.get(str(key), []), *similar, GONE]


def _is_noticed(draft: forge.Draft) -> bool:
    try:
        content = draft.members()
    except (BundleError, ValueError):  # an environment that the models refuse, or that has no lock
        return True
    try:
        bundle = draft.seal(forge.STRANGER, members=content)
    except (BundleError, KeyError):  # no statement can be built about such a manifest
        bundle = draft.seal_unparsed()
    return check_bundle(bundle, reader=Reader(sources=forge.sources())).status in ("INVALID", "STALE")


def _plain() -> forge.Draft:
    """A draft whose script touched nothing, but was allowed to."""
    draft = forge.draft()
    draft.manifest["conduct"] = {"allowed": True}
    return draft


def test_the_drafts_themselves_are_sound() -> None:
    assert not any(map(_is_noticed, (_full(), _plain())))


def test_every_leaf_of_a_manifest_is_bound_or_stated() -> None:
    unnoticed = (
        _unnoticed(_full(), "") | _unnoticed(_plain(), "conduct") | _unnoticed(_plain(), "target.origin")
    )
    assert unnoticed == STATED


def _unnoticed(original: forge.Draft, below: str) -> set[str]:
    """The leaves below a path that may be changed without notice."""
    found: set[str] = set()
    tried: set[str] = set()
    for number, (where, _, key, value) in enumerate(_leaves(original.manifest)):
        if where in tried or not where.startswith(below) or where.startswith("members"):
            continue  # members are listed anew by `seal`; `test_mutation` changes them
        tried.add(where)
        for other in _others(key, value):
            draft = original.copy()
            _, container, place, _ = list(_leaves(draft.manifest))[number]
            if other is not GONE:
                container[place] = other
            else:
                del container[place]
            if other != value and not _is_noticed(draft):
                found.add(where)
                break
    return found


def test_the_documentation_lists_the_same_leaves() -> None:
    text = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    listed = text.partition("<!-- stated leaves -->")[2].partition("<!-- end -->")[0]
    assert set(re.findall(r"`([a-z0-9_.\[\]]+)`", listed)) == STATED


@pytest.mark.parametrize("kind", ["run.ended", "tool.started", "state.decided", "script.started"])
def test_a_required_leaf_of_a_trace_cannot_be_left_out(kind: str) -> None:
    draft = forge.draft()
    del draft.event(kind)["kind"]
    assert _is_noticed(draft)
