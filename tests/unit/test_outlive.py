"""A bundle outlives the tool that made it: rules are added, get new versions, are superseded and removed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from click.testing import CliRunner

from agentproof import claims
from agentproof.bundle.store import Bundle, Shelf, find_bundles, zip_bytes
from agentproof.check import bundle as check
from agentproof.check.any import check_any
from agentproof.check.bundle import Reader, check_bundle, exit_code
from agentproof.check.comparison import check_comparison, report_comparison
from agentproof.check.memo import Memo
from agentproof.claims import Evidence, Kind, Outcome, judge, old
from agentproof.cli import cli
from agentproof.compare.comparison import exit_code as compare_exit_code
from agentproof.compare.comparison import packed
from agentproof.compare.subjects import find_subjects
from agentproof.diff.rows import Attempt, Series, pack
from agentproof.errors import Exit
from agentproof.models.manifest import Finding
from agentproof.models.report import Report
from agentproof.render import junit
from agentproof.render.console import render_report
from agentproof.render.groups import Attachment, Group
from agentproof.render.html import render_page
from agentproof.render.markdown import render_issue
from agentproof.render.story import tell
from agentproof.render.summary import Entry, render_summary
from agentproof.render.terminal import render_story
from tests import forge
from tests.forge import Draft, Shape

STORE = Path(__file__).parents[2] / "bundles"
READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())
Rules = Callable[..., None]


@dataclass(frozen=True)
class Rule:
    """A rule that says the same of every recording."""

    NAME: str
    VERSION: int
    status: str = "holds"
    SCOPE: str = "each"
    NEEDS: frozenset[str] = frozenset()
    __name__: str = __name__

    def evaluate(self, evidence: Evidence) -> Outcome:
        because = (Finding(code="seen", events=()),) if self.status == "violated" else ()
        return Outcome(self.status, 1, because)  # type: ignore[arg-type] # one of the three

    def explain(self, finding: Finding) -> str:
        return "this rule is violated by everything"


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Rules:
    """Exchanges rules of this tool: by name those that it has, `kept` those that it still reads."""

    def exchange(*new: Rule, removed: str | None = None, kept: bool = True) -> None:
        had: dict[str, Kind] = dict(claims.INVARIANTS)
        names = {rule.NAME for rule in new} | {removed}
        gone = {(name, rule.VERSION): rule for name, rule in had.items() if name in names and kept}
        has: dict[str, Any] = {name: rule for name, rule in had.items() if name not in names}
        has |= {rule.NAME: rule for rule in new}
        for module in (claims, judge):
            monkeypatch.setattr(module, "INVARIANTS", MappingProxyType(has))
        monkeypatch.setattr(old, "RULES", MappingProxyType({**old.RULES, **gone}))
        monkeypatch.setattr(check, "_JUDGED", Memo(limit=16))

    return exchange


def _committed() -> Mapping[str, Report]:
    """The report on each committed bundle and comparison."""
    shelf = Shelf(STORE / "wheels")
    return {
        str(place): check_any(place, reader=Reader(), wheels=shelf).report for place in find_bundles(STORE)
    }


@pytest.fixture(scope="module")
def committed() -> Mapping[str, Report]:
    return _committed()


def _soundness(reports: Mapping[str, Report]) -> list[tuple[str, str, str | None, list[str]]]:
    """What of them may not depend on the rules that the reader has."""
    return [
        (place, report.status, report.evidence_id, [check.status for check in report.checks])
        for place, report in reports.items()
    ]


def test_every_committed_bundle_stays_valid_when_rules_are_added_superseded_and_removed(
    rules: Rules, committed: Mapping[str, Report]
) -> None:
    rules(
        Rule("a-new-rule", 1),
        Rule("zz-violated-by-all", 1, "violated"),
        Rule("exactly-once", 99),
        Rule("state-integrity", 99, "violated"),
        removed="round-trip",
    )
    now = _committed()
    assert _soundness(now) == _soundness(committed)
    assert all({"zz-violated-by-all"} < {each.id for each in report.also} for report in now.values())


def test_the_committed_bundles_are_judged_whole(committed: Mapping[str, Report]) -> None:
    """A rule of theirs that is superseded or removed is kept in `claims/old` (docs/decisions/0034)."""
    assert len(committed) >= 40
    for report in committed.values():
        assert report.status == "INTACT"
        assert not report.not_recomputed
        assert not [check for check in report.checks if check.name == "claims" and check.status != "passed"]


def _holding() -> Bundle:
    """A sound bundle in which every claim holds."""
    return forge.draft(holds=True).seal()


def test_a_violation_of_a_rule_that_came_later_changes_the_verdict_and_the_exit_code(rules: Rules) -> None:
    bundle = _holding()
    before = check_bundle(bundle, reader=READER).report
    assert exit_code(before, expect="holds") is Exit.YES
    rules(Rule("a-new-rule", 1, "violated"))
    report = check_bundle(bundle, reader=READER).report
    assert report.status == "CURRENT"
    assert report.verdict is not None
    assert report.verdict.status == "violated"
    assert [(each.id, each.mode, each.status) for each in report.also] == [
        ("a-new-rule", "as-written", "violated"),
        ("a-new-rule", "streamed", "violated"),
    ]
    assert set(report.also) <= set(report.verdict.claims)
    assert exit_code(report, expect="holds") is Exit.NO
    assert exit_code(report, expect="violated") is Exit.YES


@pytest.mark.parametrize("kept", [True, False], ids=["still read", "no longer read"])
def test_a_new_version_is_judged_beside_the_recorded_one(rules: Rules, kept: bool) -> None:
    rules(Rule("state-integrity", 99, "violated"), kept=kept)
    report = check_bundle(_holding(), reader=READER).report
    assert {(each.id, each.version) for each in report.also} == {("state-integrity", 99)}
    assert report.verdict is not None
    assert report.verdict.status == "violated"
    assert report.status == ("CURRENT" if kept else "INTACT")
    assert bool(report.not_recomputed) is not kept


def test_a_superseded_version_must_come_out_as_it_was_recorded(rules: Rules) -> None:
    draft = forge.draft()
    for claim in draft.manifest["judgement"]["claims"]:
        if claim["kind"] == "state-integrity":
            claim["status"] = "holds"
            claim.pop("because")
    rules(Rule("state-integrity", 99))
    (failed,) = (
        each for each in check_bundle(draft.seal(), reader=READER).report.checks if each.status == "failed"
    )
    assert (failed.name, failed.reason) == ("claims", "other_claims")


def _without(drop: Callable[[Shape], bool], *, verdict: str = "holds") -> Draft:
    draft = forge.draft()
    judgement = draft.manifest["judgement"]
    judgement["verdict"] = verdict
    judgement["claims"] = [each for each in judgement["claims"] if not drop(each)]
    return draft


@pytest.mark.parametrize("version", ["0.0.1", "99.0.0", None], ids=["older", "newer", "the same"])
def test_what_was_left_out_counts_whatever_version_is_stated(version: str | None) -> None:
    draft = _without(lambda claim: bool(claim["status"] == "violated"))
    if version is not None:
        draft.manifest["recorder"]["agentproof"] = version
    report = check_bundle(draft.seal(), reader=READER).report
    assert report.status == "CURRENT"
    assert {each.id for each in report.also} == {"approval-respected", "state-integrity"}
    assert exit_code(report, expect="holds", allow_intact=True) is Exit.NO
    assert exit_code(report, expect="violated") is Exit.YES


def test_what_was_left_out_in_one_mode_is_judged_in_that_mode() -> None:
    draft = _without(
        lambda claim: bool(claim["status"] == "violated" and claim["mode"] == "streamed"), verdict="violated"
    )
    report = check_bundle(draft.seal(), reader=READER).report
    assert report.status == "CURRENT"
    assert {(each.id, each.mode) for each in report.also} == {
        ("approval-respected", "streamed"),
        ("state-integrity", "streamed"),
    }


def test_a_claim_that_this_tool_lacks_counts_for_nothing_and_is_told() -> None:
    draft = forge.draft(holds=True)
    claim: Shape = {"id": "zz", "kind": "zz", "version": 7, "mode": "streamed", "sites": 1}
    draft.manifest["judgement"]["claims"].append(
        {**claim, "status": "violated", "because": [{"code": "x", "events": []}]}
    )
    draft.manifest["judgement"]["verdict"] = "violated"
    report = check_bundle(draft.seal(), reader=READER).report
    assert report.status == "INTACT"
    assert report.verdict is not None
    assert report.verdict.status == "holds"
    assert [each.to_shape() for each in report.not_recomputed] == [
        {"id": "zz", "kind": "zz", "version": 7, "mode": "streamed", "stated": "violated"}
    ]
    assert exit_code(report) is Exit.INTACT
    text = " ".join("\n".join(render_report(report)).split())
    assert "zz 7 (streamed): the bundle says violated" in text
    assert "shows no violation of a rule that this tool has" in text


def test_the_stated_verdict_follows_from_the_stated_claims_known_or_not() -> None:
    draft = forge.draft(holds=True)
    claim: Shape = {"id": "zz", "kind": "zz", "version": 7, "mode": "streamed", "sites": 1}
    draft.manifest["judgement"]["claims"].append(
        {**claim, "status": "violated", "because": [{"code": "x", "events": []}]}
    )
    (failed,) = (
        each for each in check_bundle(draft.seal(), reader=READER).report.checks if each.status == "failed"
    )
    assert failed.reason == "other_verdict"


def _authored(draft: Draft, *, kind: str = "tool-runs") -> Draft:
    """With a header that authors a claim, which does not hold."""
    table = f'# [[tool.agentproof.claims]]\n# kind = "{kind}"\n# tool = "pay"\n# times = 7\n# ///\nprint'
    source = draft.files["reproduction.py"].replace(b"# ///\nprint", table.encode())
    draft.files["reproduction.py"] = source
    return draft.judged() if kind == "tool-runs" else draft


def test_an_authored_claim_cannot_be_left_out() -> None:
    draft = _authored(forge.draft(holds=True))
    assert check_bundle(draft.seal(), reader=READER).report.verdict is not None
    judgement = draft.manifest["judgement"]
    judgement["claims"] = [each for each in judgement["claims"] if "arguments" not in each]
    judgement["verdict"] = "holds"
    (failed,) = (
        each for each in check_bundle(draft.seal(), reader=READER).report.checks if each.status == "failed"
    )
    assert (failed.name, failed.reason) == ("claims", "other_claims")


def test_an_authored_claim_of_a_version_to_come_is_judged_as_this_tool_reads_it() -> None:
    draft = _authored(forge.draft(holds=True))
    judgement = draft.manifest["judgement"]
    for claim in judgement["claims"]:
        if "arguments" in claim:
            claim.update(version=99, status="holds", sites=1)
            claim.pop("because", None)
    judgement["verdict"] = "holds"
    report = check_bundle(draft.seal(), reader=READER).report
    assert report.status == "INTACT"
    assert {each.version for each in report.not_recomputed} == {99}
    assert {(each.kind, each.status) for each in report.also} == {("tool-runs", "violated")}
    assert exit_code(report, expect="holds", allow_intact=True) is Exit.NO


def test_an_authored_claim_of_a_kind_that_this_tool_lacks_is_told() -> None:
    draft = _authored(_authored(forge.draft(holds=True)), kind="speed-limit")
    judgement = draft.manifest["judgement"]
    known = [each for each in judgement["claims"] if each["id"] == "tool-runs-1"]
    shape = {**known[0], "status": "not_observed", "kind": "speed-limit", "id": "speed-limit-2"}
    shape.pop("because")
    # As a later version of this tool writes it: in each mode, behind what the header authors first.
    judgement["claims"] += [{**shape, "mode": mode} for mode in ("as-written", "streamed")]
    report = check_bundle(draft.reidentified().seal(), reader=READER).report
    assert report.status == "INTACT"
    assert {each.kind for each in report.not_recomputed} == {"speed-limit"}
    judgement["claims"].pop()
    (failed,) = (
        each for each in check_bundle(draft.seal(), reader=READER).report.checks if each.status == "failed"
    )
    assert (failed.name, failed.reason) == ("claims", "other_claims")


def test_every_place_that_shows_a_verdict_tells_what_was_left_out() -> None:
    draft = _without(lambda claim: bool(claim["status"] == "violated"))
    checked = check_bundle(draft.seal(), reader=READER)
    report, story = checked.report, tell(checked)
    heading = "eyond what was recorded"
    for verbose in (False, True):
        text = " ".join("\n".join(render_report(report, verbose=verbose)).split())
        assert text.count(heading) == 2
        assert "shows 2 violations (approval-respected, state-integrity); beyond what was recorded" in text
    assert heading in "\n".join(render_report(report, quiet=True))
    assert heading in "\n".join(render_story(story, tellings=story.tellings, diffs=False, everything=False))
    assert heading in render_issue(story, attachment="x.zip").text
    assert heading in render_page([Group("x", (Attachment(story, "x.zip"),))])
    assert heading in render_summary([Entry("x", report)])
    suite = junit.check_suite(report, expect="holds")
    beyond = [case for case in suite.cases if case.group == "claim beyond what was recorded"]
    assert {case.status for case in beyond} == {"failure"}
    assert any(case.status == "failure" and case.group == "verdict" for case in suite.cases)
    assert dict(suite.properties)["verdict"] == "violated"


def test_the_command_says_no_where_the_bundle_says_holds(tmp_path: Path) -> None:
    place = tmp_path / "left-out.agentproof.zip"
    place.write_bytes(zip_bytes(_without(lambda claim: bool(claim["status"] == "violated")).seal()))
    (tmp_path / "reporters").write_text(f"reporter@example {forge.REPORTER.public.line}\n")
    (tmp_path / forge.WHEEL_NAME).write_bytes(forge.WHEEL)
    given = ["--trust", str(tmp_path / "reporters"), "--wheel", str(tmp_path / forge.WHEEL_NAME)]
    asked = ["check-current-bundle", str(place), *given, "--expect", "holds"]
    assert CliRunner().invoke(cli, asked).exit_code == Exit.NO
    said = CliRunner().invoke(cli, [*asked, "--json"])
    assert said.exit_code == Exit.NO
    shape = json.loads(said.output)
    assert (shape["status"], shape["verdict"]["status"]) == ("CURRENT", "violated")


def test_the_rows_of_a_comparison_are_judged_by_this_tool_too() -> None:
    left_out = _without(lambda claim: bool(claim["status"] == "violated")).seal()
    series = Series(
        "pay",
        (Attempt("0.20.0", bundle=forge.draft().seal()), Attempt("x", left_out)),
    )
    comparison, bundle = pack([series], forge.REPORTER)
    assert comparison.rows[0].cells[1].outcome != "still_violated"
    found = check_comparison(bundle, reader=READER)
    assert found.rows[0].cells[1].outcome == "still_violated"
    report = report_comparison(bundle, reader=READER, label="c").report
    assert report.status == "CURRENT"
    assert {each.id for each in report.also} == {"approval-respected", "state-integrity"}
    assert "beyond what was recorded: approval-respected" in list(render_report(report))[-1]


def test_a_bundle_that_is_compared_with_is_judged_by_this_tool(tmp_path: Path) -> None:
    place = tmp_path / "left-out.agentproof.zip"
    place.write_bytes(zip_bytes(_without(lambda claim: bool(claim["status"] == "violated")).seal()))
    (subject,) = find_subjects(place)
    assert subject.judged_now is not None
    attempt = Attempt("x", subject.bundle, judgement=subject.judged_now)
    compared = packed([Series("pay", (attempt,))], forge.REPORTER)
    (said,), (shown,) = (each[0].cells for each in (compared.comparison.rows, compared.rows))
    assert said.recorded is not None
    assert shown.recorded is not None
    assert (said.recorded.verdict, shown.recorded.verdict) == ("holds", "violated")
    assert compare_exit_code(compared.rows, expect="holds") is Exit.NO
