"""Each rule is shown violated by a real release or by a seeded fault; its docstring says which."""

import json
import re
import sys
from pathlib import Path

import pytest

from agentproof.bundle.store import Shelf, find_bundles
from agentproof.check.any import check_any
from agentproof.check.bundle import Reader
from agentproof.claims import INVARIANTS, Kind
from tests import seeded

ROOT = Path(__file__).parents[2]
_RELEASE = re.compile(r"\nShown by: `(?P<place>[^`]+)` on (?P<release>[0-9.]+)\.\n")
_SEEDED = re.compile(r"\nShown by: a fault seeded into (?P<release>[0-9.]+), `(?P<place>[^`]+)`\.\n")


def _doc(rule: Kind) -> str:
    return sys.modules[rule.__name__].__doc__ or ""


@pytest.mark.parametrize("rule", INVARIANTS.values(), ids=INVARIANTS)
def test_what_shows_a_rule_violated_is_there(rule: Kind) -> None:
    found, fault = _RELEASE.search(_doc(rule)), _SEEDED.search(_doc(rule))
    if fault is not None:
        assert fault["place"] == f"tests/seeded/{rule.NAME}.toml"
        assert seeded.faults()[rule.NAME].release == fault["release"]
        return
    assert found is not None, f"{rule.NAME}: say what shows it: a release, or a fault in tests/seeded"
    place = ROOT / found["place"]
    if place.parent.name == "bundles":
        (bundle,) = (each for each in find_bundles(place) if each.name.startswith(found["release"]))
        assert rule.NAME in _violated_in(bundle)
    else:
        case = json.loads((place / "case.json").read_text("utf-8"))
        assert case["buggy"] == found["release"]
        assert f"{rule.NAME} (" in _corpus_line(place.name, found["release"])


def _violated_in(bundle: Path) -> set[str]:
    """The rules that are violated in a committed bundle."""
    report = check_any(bundle, reader=Reader(), wheels=Shelf(ROOT / "bundles" / "wheels")).report
    assert report.verdict is not None
    return {claim.kind for claim in report.verdict.claims if claim.status == "violated"}


def _corpus_line(case: str, release: str) -> str:
    """What `python -m tests.corpus` printed of a case on this release (docs/corpus.md)."""
    lines = (ROOT / "docs" / "corpus.md").read_text("utf-8").splitlines()
    (line,) = (each for each in lines if each.startswith(f"| {case} |") and f"| {release} " in each)
    return line


def test_each_seeded_fault_is_one_of_a_rule_that_no_release_shows() -> None:
    without = {name for name, rule in INVARIANTS.items() if not _RELEASE.search(_doc(rule))}
    assert seeded.faults().keys() == without


@pytest.mark.parametrize("fault", seeded.faults().values(), ids=seeded.faults())
def test_a_fault_is_a_few_lines_of_its_release(fault: seeded.Fault, tmp_path: Path) -> None:
    assert seeded.patched_wheel(fault, tmp_path).stat().st_size
    assert all(hunk.new.count("\n") - hunk.old.count("\n") <= 6 for hunk in fault.hunks)
