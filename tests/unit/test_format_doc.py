"""`docs/format.md` says what the code does: reason codes, limits, predicate types."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from agentproof import limits
from agentproof.models.statement import Uri

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
CHECKING = (
    "bundle/folder",
    "bundle/store",
    "bundle/wheel",
    "bundle/zip",
    "check/bundle",
    "check/content",
    "check/members",
    "check/reporting",
    "check/signers",
    "check/source",
    "claims/judge",
    "models/wire",
    "trust/signing",
)


def _reasons() -> Iterator[str]:
    """Every reason code in the source of the checker."""
    for name in CHECKING:
        for node in ast.walk(ast.parse((ROOT / "agentproof" / f"{name}.py").read_bytes())):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                first = node.args[0] if called == "BundleError" and node.args else None
                given = [first, *(word.value for word in node.keywords if word.arg == "reason")]
            elif isinstance(node, ast.Tuple) and len(node.elts) == 3:
                status, reason, _ = node.elts
                made = isinstance(status, ast.Constant) and status.value in ("failed", "not_made")
                given = [reason] if made else []
            else:
                continue
            yield from (
                each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )


def test_every_reason_code_is_documented_and_no_other() -> None:
    listed = DOC.partition("Reason codes of a failed check:")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z0-9_]+)`", listed)) == set(_reasons())


def test_the_limits_are_those_of_the_code() -> None:
    table = DOC.partition("## 10. Limits")[2].partition("\n## ")[0]
    sizes = {
        f"| {limits.MAX_MEMBERS:,}; {limits.MAX_FILES:,} |",
        f"{limits.MAX_PATH_DEPTH} |",
        f"| {limits.MAX_BUNDLE_BYTES // 2**20} MiB |",
        f"| {limits.MAX_MANIFEST_BYTES // 2**20} MiB |",
        f"| {limits.MAX_STATE_BYTES // 2**20} MiB |",
        f"{limits.MAX_LINES:,}; {limits.MAX_KEYS:,}",
        f"| {limits.MAX_REFERRED_BYTES // 2**20} MiB |",
        f"| {limits.MAX_CHANGES_BYTES // 2**20} MiB; {limits.MAX_POINTERS // 2**20} MiB |",
        f"{limits.MAX_ATTESTATIONS}; {limits.MAX_ATTESTATION_BYTES // 2**10} KiB",
        f"{limits.MAX_WHEEL_BYTES // 2**20} MiB; {limits.MAX_WHEEL_FILES:,}; "
        f"{limits.MAX_WHEEL_UNPACKED // 2**20} MiB; {limits.MAX_WHEEL_TEXT // 2**20} MiB",
        f"| {limits.MAX_CLAIMS:,}; {limits.MAX_CLAIM_LOOKS:,} |",
        f"| {limits.MAX_LOOKED_AT_BYTES // 2**20} MiB |",
        f"MiB; {limits.MAX_EVENTS:,} |",
        f"| {limits.MAX_EVENT_EDGES:,} |",
        f"| {limits.MAX_LANE_DEPTH} deep |",
        f"| {limits.MAX_EVENT_DEPTH} levels |",
        f"| {limits.MAX_TOLD_BYTES // 2**20} MiB; {limits.MAX_TOLD_VALUES:,} |",
    }
    assert [size for size in sizes if size not in table] == []
    assert limits.MAX_MEMBER_BYTES == limits.MAX_BUNDLE_BYTES


def test_every_uri_is_documented() -> None:
    assert [uri for uri in Uri if uri.value not in DOC and uri is not Uri.STATEMENT] == []
