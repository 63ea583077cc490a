"""The check of one bundle: five words, in an order, resting on what the reader brings."""

import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import click
import pytest

from agentproof.bundle.folder import read_beside
from agentproof.bundle.store import Bundle, bundle_id, write_bundle, zip_bytes
from agentproof.check.bundle import CheckedBundle, Reader, check_bundle, check_path, exit_code
from agentproof.check.content import check_judgement
from agentproof.check.source import Sources
from agentproof.environment.wheel_store import Provenance, WheelStore
from agentproof.errors import BundleError, Exit, UsageError
from agentproof.models.manifest import Finding, Manifest
from agentproof.models.report import ON_REQUEST, REQUIRED
from agentproof.models.statement import Role, build_replayed_statement
from agentproof.render.console import render_report
from agentproof.trust.allowed_signers import Trust, parse_trust
from agentproof.trust.signing import HeldKey, attest_endorsed, attest_replayed
from tests import forge
from tests.changes import changed

BUNDLE = forge.draft().seal()
HOLDS = forge.draft(holds=True).seal()
TRUSTING = forge.trust_in(forge.REPORTER)
READER = Reader(trust=TRUSTING, sources=forge.sources())


def _statuses(checked: CheckedBundle) -> dict[str, str]:
    return {check.name: check.status for check in checked.report.checks}


def _reason(checked: CheckedBundle, name: str) -> str | None:
    return next(check.reason for check in checked.report.checks if check.name == name)


def _endorsed(bundle: Bundle, *keys: HeldKey) -> Bundle:
    more = dict(attest_endorsed(bundle.manifest, key) for key in keys)
    return Bundle(bundle.manifest, bundle.members, {**bundle.attestations, **more})


def test_trusted_and_compared_is_current() -> None:
    checked = check_bundle(BUNDLE, reader=READER)
    assert checked.status == "CURRENT"
    assert _statuses(checked) == dict.fromkeys(REQUIRED, "passed") | dict.fromkeys(ON_REQUEST, "not_made")
    assert checked.report.verdict is not None
    assert checked.report.verdict.status == "violated"
    assert checked.report.bundle_id == bundle_id(BUNDLE)
    assert exit_code(checked.report) is Exit.YES


@pytest.mark.parametrize(
    ("reader", "missing"),
    [
        (Reader(), {"signature", "source"}),
        (Reader(trust=TRUSTING), {"source"}),
        (Reader(sources=forge.sources()), {"signature"}),
    ],
)
def test_without_trust_or_a_source_of_the_readers_it_is_intact(reader: Reader, missing: set[str]) -> None:
    checked = check_bundle(BUNDLE, reader=reader)
    assert checked.status == "INTACT"
    not_made = {name for name, status in _statuses(checked).items() if status == "not_made"}
    assert not_made - set(ON_REQUEST) == missing
    assert exit_code(checked.report) is Exit.INTACT
    assert exit_code(checked.report, allow_intact=True) is Exit.YES


def test_a_good_signature_of_nobody_in_particular_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Journey 11: it read "not checked: the signature is good"; and nothing is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = [click.unstyle(line) for line in render_report(check_bundle(BUNDLE, reader=Reader()).report)]
    (said,) = (
        " ".join(f"{line} {after}".split())
        for line, after in pairwise(lines)
        if line.startswith("  \N{EN DASH} signature")
    )
    assert re.fullmatch(
        r"\N{EN DASH} signature signed by a key that you do not know yet \(SHA256:\S+\): nothing", said
    )
    assert [line for line in lines if len(line) > 80] == []


def test_a_signer_whom_the_reader_does_not_name_is_untrusted() -> None:
    checked = check_bundle(BUNDLE, reader=Reader(trust=forge.trust_in(forge.STRANGER)))
    assert checked.status == "UNTRUSTED"
    assert exit_code(checked.report, allow_intact=True) is Exit.INVALID
    assert checked.report.verdict is None
    assert {status for name, status in _statuses(checked).items() if name in ("source", "claims")} == {
        "not_made"
    }


def test_ones_own_key_is_trusted_without_naming_anybody() -> None:
    own = Trust(keys=TRUSTING.keys)
    assert check_bundle(BUNDLE, reader=Reader(trust=own, sources=forge.sources())).status == "CURRENT"
    strange = forge.sign(BUNDLE, [forge.STRANGER])
    assert check_bundle(strange, reader=Reader(trust=own)).status == "INTACT"


def test_no_attestation_is_invalid_whatever_is_trusted() -> None:
    unsigned = Bundle(BUNDLE.manifest, BUNDLE.members, {})
    for reader in (Reader(), READER):
        checked = check_bundle(unsigned, reader=reader)
        assert (checked.status, _reason(checked, "signature")) == ("INVALID", "no_attestation")


def test_an_endorsement_alone_is_no_recording() -> None:
    only = dict([attest_endorsed(BUNDLE.manifest, forge.REPORTER)])
    checked = check_bundle(Bundle(BUNDLE.manifest, BUNDLE.members, only), reader=READER)
    assert (checked.status, _reason(checked, "signature")) == ("INVALID", "not_recorded")


def test_another_wheel_of_the_readers_makes_it_stale_and_says_what_differs() -> None:
    newer = forge.wheel(forge.WHEEL_FILES, version="0.21.0")
    sources = forge.sources(newer, "openai_agents-0.21.0-py3-none-any.whl")
    checked = check_bundle(BUNDLE, reader=Reader(trust=TRUSTING, sources=sources))
    assert checked.status == "STALE"
    assert exit_code(checked.report) is Exit.STALE
    (difference,) = checked.report.differences
    assert "0.20.0" in difference.bundle
    assert "0.21.0" in difference.yours
    assert _statuses(checked)["claims"] == "passed"


def test_a_broken_bundle_about_another_source_is_invalid_not_stale() -> None:
    newer = forge.wheel(forge.WHEEL_FILES, version="0.21.0")
    sources = forge.sources(newer, "openai_agents-0.21.0-py3-none-any.whl")
    draft = forge.draft()
    draft.manifest["judgement"]["verdict"] = "holds"
    checked = check_bundle(draft.seal(), reader=Reader(trust=TRUSTING, sources=sources))
    assert (checked.status, _reason(checked, "claims")) == ("INVALID", "other_verdict")


def test_a_reproduction_that_changed_beside_its_bundle_makes_it_stale(tmp_path: Path) -> None:
    case = tmp_path / "bundles" / "case"
    write_bundle(BUNDLE, case / "0.20.0", wheels=tmp_path / "bundles" / "wheels")
    (case / "reproduction.py").write_bytes(forge.REPRODUCTION)
    assert check_path(case / "0.20.0", reader=READER).status == "CURRENT"
    (case / "reproduction.py").write_bytes(forge.REPRODUCTION + b"# changed\n")
    stale = check_path(case / "0.20.0", reader=READER)
    assert stale.status == "STALE"
    assert stale.report.differences[0].what == "reproduction.py beside the bundle"
    (case / "reproduction.py").unlink()
    assert check_path(case / "0.20.0", reader=READER).status == "STALE"


@pytest.mark.parametrize("kind", ["link", "pipe", "sparse", "directory"])
def test_what_lies_beside_a_bundle_is_read_within_bounds_and_no_link_is_followed(
    tmp_path: Path, kind: str
) -> None:
    case = tmp_path / "bundles" / "case"
    write_bundle(BUNDLE, case / "0.20.0", wheels=tmp_path / "bundles" / "wheels")
    authored = case / "reproduction.py"
    (tmp_path / "private").write_bytes(b"of the reader's own")
    if kind == "link":
        authored.symlink_to(tmp_path / "private")
    elif kind == "pipe":
        os.mkfifo(authored)
    elif kind == "sparse":
        authored.touch()
        os.truncate(authored, 40 * 2**30)
    else:
        authored.mkdir()
    report = check_path(case / "0.20.0", reader=READER).report
    assert report.status == "STALE"
    (difference,) = report.differences
    told = {"link": "a symbolic link, or no regular file", "sparse": f"{40 * 2**30} bytes"}
    assert difference.yours == told.get(kind, "no regular file")


def test_no_directory_beside_a_bundle_is_followed_either(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "file.py").write_bytes(b"of the reader's own")
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "inner").symlink_to("../private")
    assert read_beside(tmp_path / "case", "inner/file.py") == "a symbolic link, or no regular file"
    assert read_beside(tmp_path / "case", "other/file.py") is None
    assert read_beside(tmp_path, "private/file.py") == b"of the reader's own"


def test_without_the_wheels_bytes_modules_are_not_compared() -> None:
    detached = Bundle(
        BUNDLE.manifest,
        {path: data for path, data in BUNDLE.members.items() if not path.startswith("wheels/")},
        BUNDLE.attestations,
    )
    checked = check_bundle(detached, reader=Reader(trust=TRUSTING))
    assert (checked.status, _reason(checked, "source")) == ("INTACT", "wheel_absent")
    assert check_bundle(detached, reader=READER).status == "CURRENT"


@pytest.mark.parametrize(
    ("project", "status", "reason"),
    [("openai-agents", "CURRENT", None), ("other", "INTACT", "no_source")],
)
def test_a_thin_bundle_takes_its_wheel_from_the_readers_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: str, status: str, reason: str | None
) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    store = WheelStore(tmp_path / "cache")
    path = store.add(
        forge.WHEEL, name=forge.WHEEL_NAME, provenance=Provenance(origin="index", project=project)
    )
    thin = replace(BUNDLE, members={p: d for p, d in BUNDLE.members.items() if not p.startswith("wheels/")})
    reader = Reader(trust=TRUSTING, sources=Sources(provenance=store.provenance, stored=store.bytes_of))
    checked = check_bundle(thin, reader=reader)
    assert (checked.status, _reason(checked, "source")) == (status, reason)
    path.write_bytes(b"changed")
    checked = check_bundle(thin, reader=reader)
    assert (checked.status, _reason(checked, "source")) == ("INTACT", "wheel_absent")


def test_expecting_another_verdict_is_a_no_but_never_hides_a_fault() -> None:
    current = check_bundle(BUNDLE, reader=READER).report
    assert exit_code(current, expect="violated") is Exit.YES
    assert exit_code(current, expect="holds") is Exit.NO
    invalid = check_bundle(Bundle(BUNDLE.manifest, BUNDLE.members, {}), reader=READER).report
    assert exit_code(invalid, expect="holds") is Exit.INVALID
    assert exit_code(check_bundle(HOLDS, reader=READER).report, expect="holds") is Exit.YES


def test_nothing_is_checked_after_a_failure() -> None:
    members = {**BUNDLE.members, "extra.py": b""}
    checked = check_bundle(Bundle(BUNDLE.manifest, members, BUNDLE.attestations), reader=READER)
    assert checked.status == "INVALID"
    statuses = list(_statuses(checked).values())
    assert statuses == ["failed"] + ["not_made"] * 8
    assert checked.report.signers == ()


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("alice@x,alice@work {0}", "alice@x {1}"), "UNTRUSTED"),
        (("alice@x {0}", "a@y,alice@x {1}"), "UNTRUSTED"),
        (("a@x,b@x {0}", "b@x,c@x {1}"), "UNTRUSTED"),
        (("alice@x,alice@work {0}", "bob@x {1}"), "CURRENT"),
    ],
)
def test_lines_that_share_a_name_are_one_person(lines: tuple[str, str], status: str) -> None:
    keys = [key.public.line for key in (forge.REPORTER, forge.MAINTAINER)]
    text = "\n".join(line.format(*keys) for line in lines)
    signed = forge.draft().seal(forge.REPORTER, forge.MAINTAINER)
    reader = Reader(
        trust=parse_trust(text.encode(), source="t"), sources=forge.sources(), thresholds={"recorded": 2}
    )
    assert check_bundle(signed, reader=reader).status == status


def test_a_true_in_place_of_a_one_is_another_judgement() -> None:
    """Python has 1 == True, so that values are compared by their bytes."""
    one, true = (Finding(code="x", events=(), before=value) for value in (1, True))
    assert one == true
    judged = Manifest.from_bytes(BUNDLE.manifest).judgement
    sides = [
        changed(judged, claims=(changed(judged.claims[0], because=(finding,)),)) for finding in (one, true)
    ]
    with pytest.raises(BundleError, match="the manifest says"):
        check_judgement(*sides)


@pytest.mark.parametrize(
    ("signers", "threshold", "status"),
    [
        ((forge.REPORTER,), {"recorded": 1}, "CURRENT"),
        ((forge.REPORTER,), {"recorded": 2}, "UNTRUSTED"),
        ((forge.REPORTER, forge.MAINTAINER), {"recorded": 2}, "CURRENT"),
        ((forge.REPORTER, forge.STRANGER), {"recorded": 2}, "UNTRUSTED"),
        ((forge.REPORTER,), {"endorsed": 1}, "UNTRUSTED"),
        ((forge.REPORTER,), {"replayed": 1}, "UNTRUSTED"),
    ],
)
def test_a_threshold_counts_trusted_signers_of_its_role(
    signers: tuple[HeldKey, ...], threshold: dict[Role, int], status: str
) -> None:
    reader = Reader(
        trust=forge.trust_in(forge.REPORTER, forge.MAINTAINER), sources=forge.sources(), thresholds=threshold
    )
    assert check_bundle(forge.sign(BUNDLE, signers), reader=reader).status == status


def _count(names: dict[str, HeldKey]) -> int:
    lines = "".join(f"{name} {key.public.line}\n" for name, key in names.items())
    trust = parse_trust(lines.encode(), source="x")
    signed = forge.sign(BUNDLE, names.values())
    for demanded in range(1, 4):
        if (
            check_bundle(signed, reader=Reader(trust=trust, thresholds={"recorded": demanded})).status
            != "INTACT"
        ):
            return demanded - 1
    return 3


def test_one_key_under_two_names_and_two_keys_of_one_name_count_once() -> None:
    assert _count({"a@x": forge.REPORTER, "b@x": forge.REPORTER}) == 1
    two_keys = forge.sign(BUNDLE, [forge.REPORTER, forge.MAINTAINER])
    lines = "".join(f"a@x {key.public.line}\n" for key in (forge.REPORTER, forge.MAINTAINER))
    trust = parse_trust(lines.encode(), source="x")
    reader = Reader(trust=trust, thresholds={"recorded": 2})
    assert check_bundle(two_keys, reader=reader).status == "UNTRUSTED"
    assert _count({"a@x": forge.REPORTER, "b@x": forge.MAINTAINER}) == 2
    assert _count({"a@x": forge.REPORTER, "b@x": forge.REPORTER, "c@x": forge.MAINTAINER}) == 2


def _with_replay(bundle: Bundle, key: HeldKey, *, evidence_alone: bool = False) -> Bundle:
    statement = build_replayed_statement(
        Manifest.from_bytes(bundle.manifest),
        forge.replay_of(bundle, evidence_alone=evidence_alone),
        bundle_id=bundle_id(bundle),
    )
    name, envelope = attest_replayed(statement, key)
    return Bundle(bundle.manifest, bundle.members, {**bundle.attestations, name: envelope})


@pytest.mark.parametrize("role", ["replayed", "endorsed"])
def test_a_role_beside_recorded_is_enough_only_for_who_accepts_it(role: Role) -> None:
    strangers = forge.sign(BUNDLE, [forge.STRANGER])
    add = _with_replay if role == "replayed" else _endorsed
    bundle = add(strangers, forge.MAINTAINER)
    reader = Reader(trust=forge.trust_in(forge.MAINTAINER), sources=forge.sources())
    report = check_bundle(bundle, reader=reader).report
    assert report.status == "UNTRUSTED"
    assert report.rests_on == role
    assert f"--accept {role}" in (report.hint or "")
    assert "nobody whom you trust recorded" in "\n".join(map(click.unstyle, render_report(report)))
    other: Role = "endorsed" if role == "replayed" else "replayed"
    assert check_bundle(bundle, reader=replace(reader, accept=frozenset({other}))).status == "UNTRUSTED"
    accepting = replace(reader, accept=frozenset({role}))
    report = check_bundle(bundle, reader=accepting).report
    assert report.status == "CURRENT"
    text = " ".join("\n".join(map(click.unstyle, render_report(report))).split())
    last = "".join(text.rpartition("CURRENT")[1:])
    assert last.startswith("CURRENT")
    assert f"you accept that somebody {role} it" in last
    demanding = replace(accepting, thresholds={"recorded": 1})
    assert check_bundle(bundle, reader=demanding).status == "UNTRUSTED"


def test_a_replay_of_the_evidence_alone_is_told_so_and_counts_for_nothing() -> None:
    bundle = _with_replay(forge.sign(BUNDLE, [forge.STRANGER]), forge.MAINTAINER, evidence_alone=True)
    reader = Reader(
        trust=forge.trust_in(forge.MAINTAINER),
        sources=forge.sources(),
        accept=frozenset({"replayed", "endorsed"}),
    )
    report = check_bundle(bundle, reader=reader).report
    assert report.status == "UNTRUSTED"
    assert report.rests_on is None
    assert "the evidence alone (replay-v0)" in "\n".join(render_report(report))
    trusted = _with_replay(BUNDLE, forge.MAINTAINER, evidence_alone=True)
    both = replace(reader, trust=forge.trust_in(forge.REPORTER, forge.MAINTAINER))
    assert check_bundle(trusted, reader=both).status == "CURRENT"
    assert check_bundle(trusted, reader=replace(both, thresholds={"replayed": 1})).status == "UNTRUSTED"


def test_a_replay_is_counted_under_its_own_role() -> None:
    reader = Reader(
        trust=forge.trust_in(forge.REPORTER, forge.MAINTAINER),
        sources=forge.sources(),
        thresholds={"recorded": 1, "replayed": 1},
    )
    report = check_bundle(_with_replay(BUNDLE, forge.MAINTAINER), reader=reader).report
    assert report.status == "CURRENT"
    assert [signer.covers for signer in report.signers] == ["recording", "observations"]
    text = "\n".join(map(click.unstyle, render_report(report)))
    assert ": judgement, conduct and every event, which agreed" in text


def test_changes_to_the_sdk_that_were_allowed_are_told_with_the_verdict() -> None:
    draft = forge.draft()
    draft.manifest["conduct"] = {"changed": ["agents.run:Runner.run"], "allowed": True}
    reader = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())
    report = check_bundle(draft.judged().seal(), reader=reader).report
    assert (report.status, report.sdk_changes) == ("CURRENT", "allowed")
    *_, last = map(click.unstyle, render_report(report, quiet=True))
    assert "--allow-sdk-changes" in last


def test_keys_are_judged_as_of_the_time_that_the_reader_names() -> None:
    trust = forge.trust_in(forge.REPORTER, options='valid-before="20260101Z"')
    now = Reader(trust=trust, sources=forge.sources())
    then = Reader(trust=trust, sources=forge.sources(), at=datetime(2025, 1, 1, tzinfo=UTC))
    assert check_bundle(BUNDLE, reader=now).status == "UNTRUSTED"
    assert check_bundle(BUNDLE, reader=then).status == "CURRENT"


def test_a_zip_and_its_directory_give_the_same_report(tmp_path: Path) -> None:
    (tmp_path / "b.agentproof.zip").write_bytes(zip_bytes(BUNDLE))
    write_bundle(BUNDLE, tmp_path / "b")
    first = check_path(tmp_path / "b.agentproof.zip", reader=READER).report
    second = check_path(tmp_path / "b", reader=READER).report
    assert changed(first, bundle=None) == changed(second, bundle=None)


def test_an_unreadable_bundle_is_a_report_and_an_absent_one_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 what")
    checked = check_path(tmp_path / "b.zip", reader=READER)
    assert (checked.status, checked.report.bundle_id) == ("INVALID", None)
    with pytest.raises(UsageError):
        check_path(tmp_path / "absent", reader=READER)


def test_the_json_has_every_key_and_each_check_by_name() -> None:
    for bundle in (BUNDLE, Bundle(b"", {}, {})):
        shape = json.loads(check_bundle(bundle, reader=Reader()).report.to_bytes())
        assert {
            "status",
            "bundle_id",
            "evidence_id",
            "target",
            "verdict",
            "checks",
            "signers",
        } <= shape.keys()
        assert [check["name"] for check in shape["checks"]] == [*REQUIRED, *ON_REQUEST]
        assert all(check["status"] == "passed" or check["reason"] for check in shape["checks"])


def test_what_rests_on_the_recorders_word_is_said() -> None:
    text = " ".join(check_bundle(BUNDLE, reader=READER).report.stated)
    for word in ("3.12.1", "12 installed files", "namespace", "2026-08-12", "index", "2 repeats"):
        assert word in text


def test_the_next_step_is_that_of_the_failure_and_of_no_earlier_check() -> None:
    draft = forge.draft()
    draft.manifest["judgement"]["verdict"] = "holds"
    assert check_bundle(draft.seal(), reader=Reader()).report.hint is None
    assert check_bundle(BUNDLE, reader=Reader()).report.hint is not None


def test_a_newer_schema_is_told_apart_from_damage() -> None:
    draft = forge.draft()
    draft.manifest["version"] = 7
    checked = check_bundle(draft.seal_unparsed(), reader=READER)
    assert _reason(checked, "members") == "unknown_version"
    assert "a newer agentproof" in str(checked.report.hint)


def test_sources_of_another_project_leave_it_intact() -> None:
    other = forge.sources(forge.wheel({}, name="other"), "other-0.20.0-py3-none-any.whl")
    checked = check_bundle(BUNDLE, reader=Reader(trust=TRUSTING, sources=other))
    assert checked.status == "INTACT"
    assert "is other" in next(check.detail for check in checked.report.checks if check.name == "source")
    assert Sources().wheels == ()
