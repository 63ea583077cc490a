"""Comparisons: what became of a verdict, and a bundle that is checked without running anything."""

from dataclasses import replace
from pathlib import Path

import click
import pytest

from agentproof.bundle.store import Bundle, bundle_id, from_zip_bytes, read_bundle, sha256, zip_bytes
from agentproof.check.bundle import Reader
from agentproof.check.comparison import check_comparison, report_comparison
from agentproof.check.members import is_comparison
from agentproof.check.trees import Tree
from agentproof.compare.comparison import Expected, SignedComparison, exit_code, packed, write, write_all
from agentproof.compare.subjects import find_subjects
from agentproof.diff import rows as _comparison
from agentproof.diff.rows import Attempt, Series, build_rows, outcome, pack, parts
from agentproof.errors import BundleError, CannotDoError, Exit, UsageError
from agentproof.models.comparison import Cell, ClaimChange, Comparison, RecordingSummary, Row
from agentproof.models.manifest import ClaimResult, Judgement, Manifest
from agentproof.record.replay import write_attested
from agentproof.render.console_comparison import render_comparison, render_table
from agentproof.trust.allowed_signers import Trust
from tests import forge
from tests.changes import changed

VIOLATED, HOLDS = forge.draft().seal(forge.REPORTER), forge.draft(holds=True).seal(forge.REPORTER)
SERIES = Series("case", (Attempt("0.20.0", VIOLATED), Attempt("0.21.0", HOLDS)))


def judgement(verdict: str, **statuses: str) -> Judgement:
    claims = [
        {"id": name, "kind": name, "version": 1, "mode": "both", "status": status, "sites": 1}
        for name, status in statuses.items()
    ]
    return Judgement(
        verdict=verdict,  # type: ignore[arg-type]  # a parameter of the tests below
        claims=tuple(ClaimResult.from_shape(claim) for claim in claims),
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (judgement("violated", a="violated"), judgement("holds", a="holds"), "fixed"),
        (judgement("violated", a="violated", b="violated"), judgement("holds", a="holds"), "fixed"),
        (
            judgement("violated", a="violated"),
            judgement("holds", a="not_observed", b="holds"),
            "unobservable",
        ),
        (judgement("violated", a="violated"), judgement("violated", a="violated"), "still_violated"),
        (judgement("violated", a="violated"), judgement("violated", a="holds", b="violated"), "regressed"),
        (judgement("holds", a="holds"), judgement("violated", a="violated"), "regressed"),
        (judgement("holds", a="holds"), judgement("holds", a="holds"), "still_holds"),
        (judgement("violated", a="violated"), judgement("inconclusive"), "inconclusive"),
        (judgement("inconclusive"), judgement("holds", a="holds"), "inconclusive"),
    ],
)
def test_a_verdict_becomes_what_the_two_judgements_give(
    before: Judgement, after: Judgement, expected: str
) -> None:
    assert outcome(before, after) == expected


def test_rows_name_claims_and_trace_that_changed() -> None:
    (row,) = build_rows([SERIES])
    baseline, other = row.cells
    assert baseline.outcome == "baseline"
    assert other.outcome == "fixed"
    assert ("approval-respected", "violated", "holds") in {
        (change.id, change.before, change.after) for change in other.claims
    }
    assert any("a change in S2" in each.subject for each in other.differences)


def test_what_says_most_is_told_first() -> None:
    other = forge.draft()
    for trace in other.traces.values():
        trace["events"] = [
            {**event, "arguments": '{"amount": 999}'} if event["kind"] == "tool.started" else event
            for event in trace["events"]
        ]
        next(each for each in trace["events"] if each["kind"] == "model.called")["input"] = []
    (row,) = build_rows([Series("case", (Attempt("0.20.0", VIOLATED), Attempt("0.21.0", other.seal())))])
    told = [(each.about, each.mode) for each in row.cells[1].differences]
    assert told[:2] == [("tool", "as-written"), ("tool", "streamed")]
    assert told.index(("tool", "as-written")) < told.index(("input", "as-written"))


def test_a_claim_that_is_still_violated_is_among_the_changes() -> None:
    (row,) = build_rows([Series("case", (Attempt("0.20.0", VIOLATED), Attempt("0.20.1", VIOLATED)))])
    assert ("approval-respected", "violated", "violated") in {
        (change.id, change.before, change.after) for change in row.cells[1].claims
    }


def _told(*attempts: Attempt, verbose: bool = False) -> list[str]:
    comparison, _ = pack([Series("case", attempts)], forge.MAINTAINER)
    return [click.unstyle(line) for line in render_comparison(comparison.rows, verbose=verbose)]


def test_targets_on_which_the_same_changed_are_told_at_once() -> None:
    told = _told(Attempt("0.20.0", VIOLATED), Attempt("a", HOLDS), Attempt("b", HOLDS))
    assert [line for line in told if "→ 0.2" in line] == ["case: 0.20.0 → 0.20.0, 0.20.0  fixed"]
    assert sum("claim" in line and "approval-respected" in line for line in told) == 1


def test_claims_that_were_never_violated_are_counted_unless_all_is_asked_for() -> None:
    comparison, _ = _packed()
    (row,) = comparison.rows
    lost = tuple(
        ClaimChange.from_shape({"id": name, "mode": "both", "before": "holds", "after": "not_observed"})
        for name in ("one", "two")
    )
    cell = changed(row.cells[1], claims=(*row.cells[1].claims, *lost))
    fewer = changed(comparison, rows=(changed(row, cells=(row.cells[0], cell)),))
    few = [click.unstyle(line) for line in render_comparison(fewer.rows)]
    assert "              2 other claims have nothing to judge any more" in few
    assert not any("one: holds" in line for line in few)
    everything = [click.unstyle(line) for line in render_comparison(fewer.rows, verbose=True)]
    assert "  claim       one: holds → not observed" in everything


def test_a_change_in_a_state_that_one_trace_lacks_is_told_by_place_with_both_values() -> None:
    told = _told(Attempt("0.20.0", VIOLATED), Attempt("0.21.0", HOLDS))
    at = next(number for number, line in enumerate(told) if "no longer: a change in S2" in line)
    assert told[at + 1].split() == ["/context/approvals/pay/approved/0", "nothing", "→", '"call_1"']


def test_what_still_holds_is_passed_over_unless_all_is_asked_for() -> None:
    attempts = Attempt("0.21.0", HOLDS), Attempt("0.21.1", HOLDS)
    assert _told(*attempts)[-1] == "  1 still hold; --verbose tells what changed in their traces"
    assert any(line.endswith("still holds") for line in _told(*attempts, verbose=True))


def test_a_script_that_could_not_do_its_work_is_told_by_its_reason_alone() -> None:
    manifest = Manifest.from_bytes(VIOLATED.manifest)
    nothing = Judgement(verdict="inconclusive", reasons=("nothing_observed",), claims=())
    silent = Bundle(changed(manifest, judgement=nothing).to_bytes(), VIOLATED.members)
    told = _told(Attempt("0.20.0", VIOLATED), Attempt("0.2.9", silent))
    assert any(line.startswith("  because") for line in told)
    assert not any(line.startswith("  claim") for line in told)


def test_comparisons_below_a_directory_are_no_reproductions(tmp_path: Path) -> None:
    (tmp_path / "one.agentproof.zip").write_bytes(zip_bytes(VIOLATED))
    (tmp_path / "comparison.agentproof.zip").write_bytes(zip_bytes(_packed()[1]))
    assert [subject.name for subject in find_subjects(tmp_path)] == ["one"]
    with pytest.raises(UsageError, match="a comparison, no reproduction"):
        find_subjects(tmp_path / "comparison.agentproof.zip")


def test_a_target_that_could_not_be_recorded_is_a_cell_with_its_reason() -> None:
    (row,) = build_rows([Series("case", (Attempt("0.20.0", VIOLATED), Attempt("9.9", failed="no such")))])
    assert (row.cells[1].outcome, row.cells[1].failed) == ("not_recorded", "no such")
    text = "\n".join(render_comparison(_packed()[0].rows))
    assert "fixed" in text


def _packed() -> tuple[Comparison, Bundle]:
    return pack([SERIES], forge.MAINTAINER)


def _reader() -> Reader:
    return Reader(trust=forge.trust_in(forge.MAINTAINER, forge.REPORTER), sources=forge.sources())


def test_a_comparison_is_checked_from_its_own_zip() -> None:
    comparison, bundle = _packed()
    again = from_zip_bytes(zip_bytes(bundle))
    assert is_comparison(again)
    assert not is_comparison(VIOLATED)
    checked = check_comparison(again, reader=_reader())
    assert checked.comparison == comparison
    assert [signer.principals for signer in checked.signers] == [(forge.name_of(forge.MAINTAINER),)]
    assert {each.status for each in checked.recordings.values()} == {"CURRENT"}


def test_the_same_recordings_give_the_same_bytes() -> None:
    assert zip_bytes(_packed()[1]) == zip_bytes(_packed()[1])


def test_a_comparison_without_its_wheels_is_the_same_comparison() -> None:
    comparison, bundle = _packed()
    thin = Bundle(
        bundle.manifest,
        {path: data for path, data in bundle.members.items() if not path.startswith("wheels/")},
        bundle.attestations,
    )
    assert check_comparison(thin, reader=_reader()).comparison == comparison


def _resigned(comparison: Comparison, bundle: Bundle) -> Bundle:
    """The bundle with another comparison, signed by the same hand over the same recordings."""
    from agentproof.models.statement import build_comparison_statement  # noqa: PLC0415
    from agentproof.trust import signing  # noqa: PLC0415

    recordings = {
        cell.recorded.bundle_id: cell.recorded.evidence_id
        for row in comparison.rows
        for cell in row.cells
        if cell.recorded is not None
    }
    raw = comparison.to_bytes()
    statement = build_comparison_statement(sha256(raw), recordings=recordings)
    name = signing.attestation_name("endorsed", forge.MAINTAINER.public)
    return Bundle(raw, bundle.members, {name: signing.sign_statement(statement, forge.MAINTAINER)})


def test_a_signed_lie_about_an_outcome_is_found() -> None:
    comparison, bundle = _packed()
    shape = comparison.to_shape()
    shape["rows"][0]["cells"][1]["outcome"] = "still_violated"
    with pytest.raises(BundleError) as caught:
        check_comparison(_resigned(Comparison.from_shape(shape), bundle), reader=_reader())
    assert caught.value.reason == "other_comparison"
    assert "/rows/0/cells/1/outcome" in caught.value.args[0]


def test_a_changed_recording_is_found() -> None:
    _, bundle = _packed()
    path = next(path for path in bundle.members if path.endswith("traces/streamed.json"))
    broken = Bundle(bundle.manifest, {**bundle.members, path: b"{}\n"}, bundle.attestations)
    with pytest.raises(BundleError) as caught:
        check_comparison(broken, reader=_reader())
    assert caught.value.reason == "other_bytes"


def test_a_comparison_that_nobody_signed_is_refused() -> None:
    _, bundle = _packed()
    with pytest.raises(BundleError) as caught:
        check_comparison(Bundle(bundle.manifest, bundle.members, {}), reader=_reader())
    assert caught.value.reason == "no_attestation"


def test_a_signature_over_another_comparison_is_refused() -> None:
    _, bundle = _packed()
    _, other = pack([Series("another", SERIES.attempts)], forge.MAINTAINER)
    with pytest.raises(BundleError) as caught:
        check_comparison(Bundle(bundle.manifest, bundle.members, other.attestations), reader=_reader())
    assert caught.value.reason == "other_statement"


def test_targets_stand_in_the_order_of_their_versions() -> None:
    rows = build_rows(
        [Series("case", tuple(Attempt(each, failed="no") for each in ("0.9.0", "0.21.0", "0.10.0", "main")))]
    )
    heading = click.unstyle(next(iter(render_table(rows))))
    assert heading.split() == ["reproduction", "0.9.0", "0.10.0", "0.21.0", "main"]


def test_recordings_of_two_scripts_are_no_row() -> None:
    other = forge.draft(holds=True)
    other.files["reproduction.py"] = forge.REPRODUCTION + b"# another script\n"
    with pytest.raises(BundleError) as caught:
        build_rows([Series("case", (Attempt("0.20.0", VIOLATED), Attempt("0.21.0", other.seal())))])
    assert caught.value.reason == "other_reproduction"


def test_a_comparison_of_no_recordings_is_invalid() -> None:
    _, empty = pack([Series("case", (Attempt("0.20.0", failed="no such"),))], forge.MAINTAINER)
    report = report_comparison(empty, reader=_reader(), label="x").report
    assert report.status == "INVALID"
    assert report.checks[0].reason == "nothing_recorded"


def test_a_wheel_that_no_recording_is_about_is_refused() -> None:
    comparison, bundle = _packed()
    extra = {"wheels/" + "0" * 64 + "/x-1-py3-none-any.whl": b"PK"}
    members = {**bundle.members, **extra}
    shape = comparison.to_shape()
    shape["members"] = [
        {"path": path, "sha256": sha256(data), "size": len(data)} for path, data in sorted(members.items())
    ]
    lie = _resigned(Comparison.from_shape(shape), Bundle(b"", members, {}))
    with pytest.raises(BundleError, match="no recording is about it"):
        check_comparison(lie, reader=_reader())


@pytest.mark.parametrize(("same", "status"), [(True, "CURRENT"), (False, "STALE")])
@pytest.mark.parametrize("where", ["checkouts", "installed"])
def test_a_comparison_is_compared_with_the_trees_that_were_asked_for(
    where: str, same: bool, status: str
) -> None:
    files = {path: data if same else data + b"# changed" for path, data in forge.WHEEL_FILES.items()}
    tree = Tree("mine", files, lambda path: sha256(files[path]), sha256)
    trees = (tree,) if where == "checkouts" else ()
    reader = replace(_reader(), checkouts=trees, installed=() if trees else (tree,))
    report = report_comparison(_packed()[1], reader=reader, label="x").report
    assert report.status == status


def test_what_was_not_recomputed_is_not_said_to_be() -> None:
    reader = replace(_reader(), trust=forge.trust_in(forge.MAINTAINER))
    report = report_comparison(_packed()[1], reader=reader, label="x").report
    statuses = {check.name: check.status for check in report.checks}
    assert report.status == "UNTRUSTED"
    assert statuses["claims"] == "not_made"


def test_a_revoked_signer_is_untrusted_even_where_nobody_is_trusted() -> None:
    revoked = Trust(revoked=frozenset({forge.MAINTAINER.public.fingerprint}))
    report = report_comparison(_packed()[1], reader=Reader(trust=revoked), label="x").report
    assert report.status == "UNTRUSTED"


def test_a_bad_signature_is_a_failure_of_the_signature() -> None:
    _, bundle = _packed()
    (name,) = bundle.attestations
    broken = Bundle(bundle.manifest, bundle.members, {name: bundle.attestations[name][:-20]})
    report = report_comparison(broken, reader=_reader(), label="x").report
    assert [check.name for check in report.checks if check.status == "failed"] == ["signature"]


INCONCLUSIVE = "inconclusive"


def _recorded(verdict: str) -> RecordingSummary:
    return RecordingSummary(
        bundle_id="0" * 64,
        evidence_id="1" * 64,
        target="openai-agents 0.20.0",
        wheel="2" * 64,
        python="3.12.1",
        verdict=verdict,  # type: ignore[arg-type]  # a parameter of the test
    )


def _row_of(*verdicts: str) -> Row:
    """A row of recordings with these verdicts; the first is what the others are compared with."""
    outcomes = {
        ("violated", "holds"): "fixed",
        ("violated", "violated"): "still_violated",
        ("holds", "holds"): "still_holds",
        ("holds", "violated"): "regressed",
    }
    cells = []
    for number, verdict in enumerate(verdicts):
        outcome = outcomes.get((verdicts[0], verdict), verdict) if number else "baseline"
        failed = verdict == "not_recorded"
        recorded = None if failed else _recorded(verdict)
        cells.append(
            Cell(
                target=f"0.{number}.0",
                outcome="not_recorded" if failed else outcome,  # type: ignore[arg-type]  # of the test
                recorded=recorded,
            )
        )
    return Row(reproduction="case", cells=tuple(cells))


@pytest.mark.parametrize(
    ("verdicts", "expect", "all_asked", "code"),
    [
        (("violated", "holds"), None, False, Exit.YES),
        (("violated", "violated"), None, False, Exit.YES),
        (("holds", "violated"), None, False, Exit.NO),
        (("violated", "holds"), "fixed", False, Exit.YES),
        (("violated", "violated"), "fixed", False, Exit.NO),
        (("violated", "holds", INCONCLUSIVE), "fixed", False, Exit.NO),
        (("holds", "holds"), "fixed", False, Exit.YES),
        # The target that was asked for is the recording's own: its verdict answers.
        (("violated",), "fixed", False, Exit.NO),
        (("holds",), "fixed", False, Exit.YES),
        (("violated",), "holds", True, Exit.NO),
        (("holds",), "holds", True, Exit.YES),
        ((INCONCLUSIVE,), "holds", True, Exit.NO),
        # A matrix was asked for its first target too.
        (("violated", "holds"), "holds", True, Exit.NO),
        (("violated", "holds"), "holds", False, Exit.YES),
        (("violated", "holds"), "fixed", True, Exit.YES),
        (("violated", "not_recorded"), "fixed", False, Exit.CANNOT),
        (("not_recorded",), "holds", True, Exit.CANNOT),
    ],
)
def test_a_gate_answers_for_every_target_that_was_asked_for(
    verdicts: tuple[str, ...], expect: Expected | None, all_asked: bool, code: Exit
) -> None:
    assert exit_code([_row_of(*verdicts)], expect=expect, all_asked=all_asked) is code


def test_an_older_release_did_not_regress_and_has_a_verdict_of_its_own() -> None:
    newest, older = _row_of("holds", "violated").cells
    row = Row(
        reproduction="case",
        cells=(
            changed(newest, target="0.24.0"),
            changed(older, target="0.9.0"),
            changed(older, target="0.24.1"),
        ),
    )
    _, line = (click.unstyle(line) for line in render_table([row]))
    assert line.split() == ["case", "violated", "holds", "REGRESSED"]
    assert exit_code([changed(row, cells=row.cells[:2])]) is Exit.YES
    assert exit_code([row]) is Exit.NO
    # A build is not known to be older than a release.
    built = changed(older, target="0.9.0@0123456789")
    assert exit_code([changed(row, cells=(row.cells[0], built))]) is Exit.NO


def test_what_an_older_release_violates_too_is_not_told_as_if_it_came_after() -> None:
    (row,) = build_rows([Series("case", (Attempt("0.24.0", VIOLATED), Attempt("0.9.0", VIOLATED)))])
    first, other = (
        changed(cell, target=target) for cell, target in zip(row.cells, ("0.24.0", "0.9.0"), strict=True)
    )
    comparison = changed(_packed()[0], rows=(changed(row, cells=(first, other)),))
    told = [click.unstyle(line) for line in render_comparison(comparison.rows)]
    assert "case: 0.24.0 → 0.9.0  violated" in told
    assert "  claim       approval-respected: violated there too" in told


def test_another_comparison_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    comparison, bundle = _packed()
    other = pack([Series("another", SERIES.attempts)], forge.MAINTAINER)
    first = SignedComparison(comparison, bundle, bundle_id(bundle), (), comparison.rows)
    second = SignedComparison(*other, bundle_id(other[1]), (), other[0].rows)
    usual = write(first, None, replace=False)
    assert write(first, None, replace=False) == usual
    beside = write(second, None, replace=False)
    assert beside != usual
    assert second.bundle_id[:8] in beside.name
    with pytest.raises(CannotDoError, match="exists"):
        write(second, usual, replace=False)
    assert write(second, usual, replace=True) == usual
    assert bundle_id(read_bundle(usual)) == second.bundle_id


def test_rows_that_are_too_large_for_one_bundle_are_several_that_each_can_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"case{number}" for number in range(5)]
    series = [Series(name, SERIES.attempts) for name in names]
    assert [len(part) for part in parts(series)] == [5]
    row, _ = map(sum, zip(*map(_comparison._weight, (VIOLATED, HOLDS)), strict=True))
    monkeypatch.setattr(_comparison, "_PART_BYTES", 2 * row)
    assert [[each.reproduction for each in part] for part in parts(series)] == [
        names[:2],
        names[2:4],
        names[4:],
    ]
    made = [packed(part, forge.MAINTAINER) for part in parts(series)]
    places = write_all(made, tmp_path / "all.agentproof.zip", replace=False)
    assert [place.name for place in places] == [f"all-{number}.agentproof.zip" for number in (1, 2, 3)]
    for place in places:
        assert check_comparison(read_bundle(place), reader=_reader()).comparison.rows
    with pytest.raises(CannotDoError, match=r"all-1\.agentproof\.zip exists"):
        write_all(made, tmp_path / "all.agentproof.zip", replace=False)
    assert write_all(made, tmp_path / "all.agentproof.zip", replace=True) == places


def test_a_row_that_is_too_large_for_a_bundle_alone_is_refused_and_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_comparison, "MAX_BUNDLE_BYTES", 50_000)
    with pytest.raises(CannotDoError, match=r"the comparison of case would have 0\.\d MB") as caught:
        packed([SERIES], forge.MAINTAINER)
    assert caught.value.hint is not None
    assert "what was recorded is kept" in caught.value.hint


def test_a_replay_writes_over_its_own_bundle_only(tmp_path: Path) -> None:
    place = tmp_path / "x.agentproof.zip"
    assert write_attested(VIOLATED, place) == place
    assert write_attested(VIOLATED, place) == place
    with pytest.raises(CannotDoError, match="holds something else"):
        write_attested(HOLDS, place)
    (tmp_path / "notes.zip").write_text("mine")
    with pytest.raises(CannotDoError, match="holds something else"):
        write_attested(HOLDS, tmp_path / "notes.zip")
