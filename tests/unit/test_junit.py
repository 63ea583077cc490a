"""JUnit XML: its schema, and what counts as a failure."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from agentproof.check.bundle import Reader, check_bundle
from agentproof.diff.rows import Attempt, Series, build_rows
from agentproof.models.report import Report
from agentproof.render import junit
from agentproof.render.junit import Suite, check_suite, row_suite, to_xml
from tests.forge import REPORTER, draft, sources, trust_in
from tests.hostile import hostile


@cache
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(Path(__file__).parents[1] / "junit.xsd")


def parsed(suites: Sequence[Suite]) -> ET.Element:
    """The XML, valid by the schema."""
    xml = to_xml(suites)
    schema().validate(xml.decode())
    return ET.fromstring(xml)  # noqa: S314 (our own bytes)


def cases(root: ET.Element) -> dict[str, str]:
    """Each testcase with what became of it."""
    return {
        case.attrib["name"]: next((child.tag for child in case), "passed") for case in root.iter("testcase")
    }


@cache
def report(*, trusting: bool = True, holds: bool = False) -> Report:
    reader = Reader(trust=trust_in(REPORTER), sources=sources()) if trusting else Reader()
    return check_bundle(draft(holds=holds).seal(), reader=reader, label="x.agentproof.zip").report


def test_a_violated_claim_that_was_to_hold_is_a_failure_with_its_events_in_words() -> None:
    root = parsed([check_suite(report(), expect="holds")])
    found = {
        case.attrib["name"]: failure.text or ""
        for case in root.iter("testcase")
        for failure in case.iter("failure")
    }
    decided, seen = (draft().event(kind)["seq"] for kind in ("state.decided", "state.observed"))
    assert "state-integrity (as-written)" in found
    assert found["state-integrity (as-written)"].split("\n") == [
        "S2 changed while only S1 was decided",
        '  /context/approvals/pay/approved/0: absent -> "call_1"',
        f"  events as-written {decided}, as-written {seen}",
    ]


def test_bundles_of_a_bug_and_of_its_repair_are_both_sound_and_their_file_fails_as_little_as_the_check() -> (
    None
):
    root = parsed([check_suite(each) for each in (report(), report(holds=True))])
    assert {"failure", "error"}.isdisjoint(cases(root).values())
    bug, _ = root.iter("testsuite")
    said = next(case for case in bug if case.attrib.get("name") == "state-integrity (as-written)")
    assert said[0].tag == "skipped"
    assert said[0].attrib["message"] == "violated, as recorded: S2 changed while only S1 was decided"


def test_a_violation_that_was_expected_is_no_failure() -> None:
    root = parsed([check_suite(report(), expect="violated")])
    assert "failure" not in cases(root).values()
    assert cases(root)["is violated"] == "passed"


def test_another_verdict_than_the_expected_one_is_a_failure() -> None:
    assert cases(parsed([check_suite(report(holds=True), expect="violated")]))["is violated"] == "failure"
    assert cases(parsed([check_suite(report(), expect="holds")]))["is holds"] == "failure"


def test_what_keeps_a_bundle_from_being_current_is_a_failure_unless_it_is_allowed() -> None:
    intact = report(trusting=False)
    assert intact.status == "INTACT"
    assert cases(parsed([check_suite(intact)]))["signature"] == "failure"
    assert cases(parsed([check_suite(intact, allow_intact=True)]))["signature"] == "skipped"


def test_a_broken_bundle_fails_where_it_is_broken_and_skips_the_rest() -> None:
    broken = draft().seal()
    bundle = type(broken)(broken.manifest, {**broken.members, "stray.txt": b""}, broken.attestations)
    found = cases(parsed([check_suite(check_bundle(bundle, reader=Reader()).report)]))
    assert found["members"] == "failure"
    assert found["claims"] == "skipped"


def test_the_counts_are_those_of_the_cases() -> None:
    root = parsed([check_suite(report()), check_suite(report(trusting=False))])
    for element in (root, *root.iter("testsuite")):
        outcomes = list(cases_below(element))
        assert int(element.attrib["tests"]) == len(outcomes)
        assert int(element.attrib["failures"]) == outcomes.count("failure")
        assert int(element.get("skipped", "0")) == outcomes.count("skipped")


def cases_below(element: ET.Element) -> list[str]:
    return [next((child.tag for child in case), "passed") for case in element.iter("testcase")]


def test_a_hostile_bundle_gives_valid_xml() -> None:
    reader = Reader(trust=trust_in(REPORTER), sources=sources())
    hostile_report = check_bundle(hostile(huge=False), reader=reader, label="\x00<&>\u202e").report
    root = parsed([check_suite(hostile_report)])
    assert root[0].attrib["name"] == "\\u0000<&>\\u202e"


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [(True, False, "failure"), (False, True, "passed"), (False, False, "failure"), (True, True, "passed")],
)
def test_a_comparison_fails_where_something_is_violated_on_another_target(
    first: bool, second: bool, outcome: str
) -> None:
    attempts = tuple(Attempt("target", bundle=draft(holds=holds).seal()) for holds in (first, second))
    (row,) = build_rows([Series("case", attempts)])
    root = parsed([row_suite(row)])
    assert cases_below(root) == ["passed", outcome]


def test_what_could_not_be_recorded_is_an_error() -> None:
    attempts = (Attempt("first", bundle=draft().seal()), Attempt("second", failed="no such release"))
    (row,) = build_rows([Series("case", attempts)])
    suite = row_suite(row)
    assert [case.status for case in suite.cases] == ["passed", "error"]
    assert "no such release" in suite.cases[1].text


def test_the_file_appears_whole(tmp_path: Path) -> None:
    junit.write(tmp_path / "junit.xml", [check_suite(report())])
    assert (tmp_path / "junit.xml").read_bytes() == to_xml([check_suite(report())])
