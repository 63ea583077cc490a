"""`show`, `report`, `pack`, `unpack` and `init` as a user calls them."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agentproof.bundle.store import Bundle, Shelf, bundle_id, read_bundle, write_bundle, zip_bytes
from agentproof.check import bundle as checking
from agentproof.check.bundle import CheckedBundle, Reader
from agentproof.cli import cli
from agentproof.diff.rows import Attempt, Series, pack
from agentproof.models.header import read_header
from agentproof.record import recording
from agentproof.record.reproduction import reproduction_in
from tests.forge import REPORTER, STRANGER, WHEEL, WHEEL_NAME, draft, name_of


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.agentproof.zip").write_bytes(zip_bytes(draft().seal()))
    (tmp_path / "y.agentproof.zip").write_bytes(zip_bytes(draft(holds=True).seal()))
    (tmp_path / "reporters").write_text(f"{name_of(REPORTER)} {REPORTER.public.line}\n")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="agentproof")


# show


def test_show_tells_the_steps_and_what_decides_the_claims() -> None:
    shown = run("show", "x.agentproof.zip")
    assert shown.exit_code == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[:2] == [
        "Approving one state approves its sibling",
        "openai-agents 0.20.0, INTACT: shows 2 violations",
    ]
    told = "\n".join(lines)
    assert "call_1 (pay) is approved on S1\n          ✗ S2 changed while only S1 was decided" in told
    assert re.search(r"\d+   │ tool pay\(\{\"amount\": 100\}\) for call_1 starts, which needs approval", told)
    assert "streamed: the same steps" in lines


def test_show_prints_a_state_as_it_was_at_an_event_and_what_the_event_changed() -> None:
    decided = draft().event("state.decided")["seq"]
    before = run("show", "x.agentproof.zip", "--state", f"S2@{decided}")
    after = run("show", "x.agentproof.zip", "--state", "S2")
    assert '"approved": []' in before.stdout
    assert '"approved": [\n          "call_1"\n        ]' in after.stdout
    changed = run("show", "x.agentproof.zip", "--state", f"S2@{decided + 1}", "--diff")
    assert '  /context/approvals/pay/approved/0\n  - (absent)\n  + "call_1"' in changed.stdout


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("S9", "no state S9 in as-written"),
        ("S2@x", "'x' is no event number"),
        ("S2@1", "S2 does not exist yet at event 1"),
    ],
)
def test_show_says_which_states_there_are(spec: str, message: str) -> None:
    shown = run("show", "x.agentproof.zip", "--state", spec)
    assert shown.exit_code == 2
    assert message in shown.stderr


@pytest.mark.parametrize("command", [["show"], ["report"], ["unpack"], ["pack"]])
def test_an_invalid_bundle_is_neither_shown_nor_passed_on(command: list[str], tmp_path: Path) -> None:
    broken = draft().judged()
    broken.manifest["evidence_id"] = "0" * 64
    (tmp_path / "bad.agentproof.zip").write_bytes(zip_bytes(broken.seal()))
    done = run(*command, "bad.agentproof.zip")
    assert done.exit_code == 5
    assert done.stdout == ""
    assert "INVALID" in done.stderr


# report


def test_report_writes_the_issue_to_the_standard_output() -> None:
    done = run("report", "x.agentproof.zip", "--trust", "reporters")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("### Describe the bug\n")
    assert "Attached as `x.agentproof.zip`" in done.stdout


def test_report_of_a_stranger_says_that_nobody_trusts_it(tmp_path: Path) -> None:
    (tmp_path / "z.agentproof.zip").write_bytes(zip_bytes(draft().seal(STRANGER)))
    issue = run("report", "z.agentproof.zip", "--trust", "reporters")
    assert issue.exit_code == 0, issue.stderr
    assert "**UNTRUSTED**: nobody whom the checker trusts signed this bundle." in issue.stdout
    page = run("report", "z.agentproof.zip", "--trust", "reporters", "--format", "html")
    assert '<span class="word UNTRUSTED">UNTRUSTED</span>' in page.stdout


def test_report_compares_bundles_on_one_page(tmp_path: Path) -> None:
    done = run("report", "x.agentproof.zip", "y.agentproof.zip", "--format", "html", "--output", "page.html")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "2 recordings compared" in page
    verdicts = page.partition('<th scope="row">verdict</th>')[2].partition("</tr>")[0]
    assert verdicts.count("<td>") == 2


def write_comparison(place: Path, *names: str) -> None:
    attempts = tuple(Attempt("t", bundle=draft(holds=holds).seal()) for holds in (False, True))
    _, bundle = pack([Series(name, attempts) for name in names], REPORTER)
    place.write_bytes(zip_bytes(bundle))


def test_report_takes_the_recordings_of_a_comparison(tmp_path: Path) -> None:
    write_comparison(tmp_path / "comparison.agentproof.zip", "case")
    done = run("report", "comparison.agentproof.zip")
    assert done.exit_code == 0, done.stderr
    assert "- Known-good control: on `0.20.0` no" in done.stdout


def test_a_comparison_of_several_reproductions_is_a_page_and_a_table_but_no_issue(tmp_path: Path) -> None:
    write_comparison(tmp_path / "comparison.agentproof.zip", "one", "other")
    page = run("report", "comparison.agentproof.zip", "--format", "html").stdout
    assert "2 reproductions on" in page
    assert page.count('<section class="group"') == 2
    assert page.count('<th scope="row">verdict</th>') == 2
    table = run("report", "comparison.agentproof.zip", "--format", "summary").stdout
    assert "| `one` | <ins>violated</ins> |" in table
    done = run("report", "comparison.agentproof.zip")
    assert done.exit_code == 2
    assert "an issue is about one reproduction; these are 2: one, other" in done.stderr


def test_a_summary_takes_directories_and_names_what_is_invalid(tmp_path: Path) -> None:
    write_bundle(draft().seal(), Path("bundles/case/0.20.0"), wheels=Path("bundles/wheels"))
    broken = draft()
    broken.manifest["evidence_id"] = "0" * 64
    (tmp_path / "bad.agentproof.zip").write_bytes(zip_bytes(broken.seal()))
    done = run("report", "bundles", "bad.agentproof.zip", "--format", "summary")
    assert done.exit_code == 0, done.stderr
    assert "| `case/0.20.0` | `openai-agents 0.20.0` | violated |" in done.stdout
    assert "| `bad.agentproof.zip` |  |  |  | INVALID (`other_evidence`) |  |" in done.stdout


def test_report_is_about_one_bundle(tmp_path: Path) -> None:
    done = run("report", str(tmp_path))
    assert done.exit_code == 2
    assert "holds 2 bundles; name one" in done.stderr


# pack and unpack


def test_unpacked_and_packed_again_a_bundle_is_the_same_file(tmp_path: Path) -> None:
    assert run("unpack", "x.agentproof.zip").stdout == "x\n"
    assert (tmp_path / "x" / "manifest.json").is_file()
    assert run("pack", "x", "--output", "again.agentproof.zip").exit_code == 0
    assert (tmp_path / "again.agentproof.zip").read_bytes() == (tmp_path / "x.agentproof.zip").read_bytes()


def test_a_stored_bundle_is_packed_with_the_wheel_of_its_store(tmp_path: Path) -> None:
    write_bundle(draft().seal(), Path("bundles/case/0.20.0"), wheels=Path("bundles/wheels"))
    assert run("pack", "bundles/case/0.20.0").stdout == "case-0.20.0.agentproof.zip\n"
    packed = read_bundle(tmp_path / "case-0.20.0.agentproof.zip")
    assert packed.members[f"wheels/{WHEEL_NAME}"] == WHEEL


def test_a_thin_bundle_has_the_same_id_and_no_wheel(tmp_path: Path) -> None:
    assert run("pack", "x.agentproof.zip", "--thin", "--output", "thin.zip").exit_code == 0
    thin, whole = read_bundle(tmp_path / "thin.zip"), read_bundle(tmp_path / "x.agentproof.zip")
    assert bundle_id(thin) == bundle_id(whole)
    assert not [path for path in thin.members if path.startswith("wheels/")]
    done = run("pack", "thin.zip", "--output", "fat.zip")
    assert done.exit_code == 4
    assert "--thin packs it without the wheel" in done.stderr


@pytest.mark.parametrize("output", ["thin.agentproof.zip", "thin"])
def test_a_recording_is_written_thin_at_once(output: str) -> None:
    bundle = draft().seal()
    reproduction = reproduction_in(bundle)
    recording.write(bundle, reproduction, output=Path(output), replace=False, thin=True)
    thin = read_bundle(Path(output))
    assert bundle_id(thin) == bundle_id(bundle)
    assert not [path for path in thin.members if path.startswith("wheels/")]
    recording.write(bundle, reproduction, output=Path(output), replace=True)
    assert [path for path in read_bundle(Path(output)).members if path.startswith("wheels/")]


def test_packing_replaces_no_other_file_unless_told_to(tmp_path: Path) -> None:
    done = run("pack", "x.agentproof.zip", "--output", "y.agentproof.zip")
    assert done.exit_code == 4
    assert run("pack", "x.agentproof.zip", "--output", "y.agentproof.zip", "--replace").exit_code == 0
    assert (tmp_path / "y.agentproof.zip").read_bytes() == (tmp_path / "x.agentproof.zip").read_bytes()


# init


def test_init_writes_a_script_with_a_header_that_names_its_release(tmp_path: Path) -> None:
    done = run("init", "lost-approval", "--sdk", "0.20.0")
    assert done.stdout == "lost-approval.py\n"
    source = (tmp_path / "lost-approval.py").read_bytes()
    header = read_header(source, path="lost-approval.py")
    assert (header.title, header.dependencies) == ("Lost approval", ("openai-agents==0.20.0",))
    assert "main" in {getattr(node, "name", None) for node in ast.parse(source).body}
    assert b"@@" not in source


def test_init_uses_the_store_where_there_is_one_and_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "bundles").mkdir()
    assert run("init").stdout == "bundles/reproduction/reproduction.py\n"
    again = run("init")
    assert again.exit_code == 4
    assert "exists" in again.stderr


@pytest.mark.parametrize("arguments", [["../escape"], ["a b"], ["ok", "--sdk", "new\nline"]])
def test_init_takes_plain_names_and_versions_only(arguments: list[str], tmp_path: Path) -> None:
    assert run("init", *arguments).exit_code == 2
    assert not list(tmp_path.rglob("*.py"))


def test_the_package_ships_what_its_commands_read() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["agentproof"]
    package = Path(__file__).parents[2] / "agentproof"
    assert (package / "cli" / "skeleton.txt").is_file()
    assert (package / "render" / "templates" / "page.html").is_file()


@pytest.mark.parametrize("command", ["show", "replay"])
def test_what_is_about_one_recording_says_what_a_comparison_is(command: str, tmp_path: Path) -> None:
    write_comparison(tmp_path / "comparison.agentproof.zip", "case")
    refused = run(command, "comparison.agentproof.zip")
    assert refused.exit_code == 2
    assert "is a comparison of recordings" in refused.stderr
    assert "agentproof unpack" in refused.stderr


def test_a_comparison_is_unpacked_into_its_recordings_and_packed_again(tmp_path: Path) -> None:
    write_comparison(tmp_path / "comparison.agentproof.zip", "case")
    whole = (tmp_path / "comparison.agentproof.zip").read_bytes()
    assert run("unpack", "comparison.agentproof.zip").exit_code == 0
    recordings = sorted((tmp_path / "comparison" / "bundles").iterdir())
    assert len(recordings) == 2
    assert "INTACT" in run("show", str(recordings[0])).stdout
    assert run("pack", "comparison", "--output", "again.zip").exit_code == 0
    assert (tmp_path / "again.zip").read_bytes() == whole


# What the operating system refuses


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "LONG"),
        ("record", "LONG"),
        ("compare", "LONG", "--with", "0.21.0"),
        ("check-current-bundle", "LONG"),
        ("check-current-bundle", "x.agentproof.zip", "--trust", "LONG"),
        ("check-current-bundle", "x.agentproof.zip", "--installed", "LONG"),
        ("check-current-bundle", "x.agentproof.zip", "--source", "LONG"),
        ("pack", "x.agentproof.zip", "--output", "LONG"),
        ("report", "x.agentproof.zip", "--output", "LONG"),
    ],
)
def test_a_path_that_the_system_refuses_is_named_and_is_no_bug_of_ours(arguments: tuple[str, ...]) -> None:
    refused = run(*("x" * 300 if word == "LONG" else word for word in arguments))
    assert refused.exit_code in (2, 4), refused.stderr
    assert "xxxxxxxx" in refused.stderr
    assert "bug in agentproof" not in refused.stderr


# What is checked is what is used


def _exchange_after_the_check(monkeypatch: pytest.MonkeyPatch, path: Path, by: Bundle) -> None:
    real = checking.check_path

    def check_path(place: Path, *, reader: Reader, wheels: Path | Shelf | None = None) -> CheckedBundle:
        checked = real(place, reader=reader, wheels=wheels)
        path.write_bytes(zip_bytes(by))
        return checked

    monkeypatch.setattr(checking, "check_path", check_path)


def test_what_was_checked_is_signed_whatever_lies_there_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.agentproof.zip"
    _exchange_after_the_check(monkeypatch, path, draft(holds=True).seal())
    signed = run("sign", "x.agentproof.zip")
    assert signed.exit_code == 0, signed.stderr
    assert read_bundle(path).manifest == draft().seal().manifest
    assert len(read_bundle(path).attestations) == 2


def test_what_was_checked_is_shown_whatever_lies_there_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").write_text(f"other@example {STRANGER.public.line}\n")
    run("trust", "add", "others", "--as", "other@example", "--yes")
    _exchange_after_the_check(monkeypatch, tmp_path / "x.agentproof.zip", draft(holds=True).seal())
    shown = run("show", "x.agentproof.zip")
    assert "UNTRUSTED: shows 2 violations" in shown.stdout
