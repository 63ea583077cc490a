"""What bundles/README.md says of the committed bundles is what they say themselves."""

import re
from pathlib import Path

from agentproof.bundle.store import ZIP_SUFFIX, find_bundles, read_bundle
from agentproof.models.manifest import Manifest

STORE = Path(__file__).parents[2] / "bundles"
README = (STORE / "README.md").read_text("utf-8")
RELEASES = ("0.20.0", "0.21.0", "0.24.0")
_SOURCE = "legacy-states"
"""Only writes what others restore, and is told in a line of its own."""


def _manifests() -> dict[str, dict[str, Manifest]]:
    """Each case's recordings by release."""
    found: dict[str, dict[str, Manifest]] = {}
    for path in find_bundles(STORE):
        version = path.name.removesuffix(ZIP_SUFFIX)
        found.setdefault(path.parent.name, {})[version] = read_bundle(path).document
    return found


def test_the_table_before_and_after_is_what_the_bundles_say() -> None:
    rows = []
    for case, manifests in _manifests().items():
        if case == _SOURCE:
            continue
        verdicts = [manifests[release].judgement.verdict for release in RELEASES]
        violated = sorted(
            {
                claim.id
                for release in RELEASES
                for claim in manifests[release].judgement.claims
                if claim.status == "violated"
            }
        )
        rows.append(f"| `{case}` | {' | '.join(verdicts)} | {', '.join(violated)} |")
    said = re.findall(r"^\| `[a-z-]+` \| (?:violated|holds|inconclusive) \|.*$", README, re.MULTILINE)
    assert said == rows


def test_the_readme_counts_the_bundles_and_names_every_case() -> None:
    manifests = _manifests()
    count = sum(map(len, manifests.values()))
    assert f"all {count} of them" in README
    assert {case for case in manifests if f"`{case}`" not in README} == set()


def test_the_releases_that_only_write_states_are_named_with_their_verdicts() -> None:
    for release, manifest in _manifests()[_SOURCE].items():
        assert f"{release} {manifest.judgement.verdict}" in README
