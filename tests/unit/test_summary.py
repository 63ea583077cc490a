"""The summary of many bundles: what its tables say, and that nothing of a bundle gets out of its cell."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentproof.bundle.store import Bundle, zip_bytes
from agentproof.check.any import check_any
from agentproof.check.bundle import Reader, check_bundle
from agentproof.diff.rows import Attempt, Series, pack
from agentproof.render import summary
from agentproof.render.summary import Entry, render_summary
from tests.changes import changed
from tests.forge import REPORTER, STRANGER, draft, sources, trust_in
from tests.hostile import EVIL, hostile

READER = Reader(trust=trust_in(REPORTER), sources=sources())
TEXTS = st.text(st.characters() | st.sampled_from("`~<>&[]()*_|\\#@\n\t\r \u202e"))


def entry(name: str, bundle: Bundle) -> Entry:
    return Entry(name, check_bundle(bundle, reader=READER).report)


def compared(place: Path, *series: Series) -> Entry:
    _, bundle = pack(list(series), REPORTER)
    (place / "c.zip").write_bytes(zip_bytes(bundle))
    checked = check_any(place / "c.zip", reader=READER)
    return Entry("c.zip", checked.report, checked.rows)


def named(compared: Entry, *targets: str) -> Entry:
    """As if the second recordings were of these releases: the forge knows one."""
    rows = [
        changed(row, cells=(row.cells[0], changed(row.cells[1], target=target)))
        for row, target in zip(compared.rows, targets, strict=True)
    ]
    return replace(compared, rows=tuple(rows))


def cells(text: str) -> list[list[str]]:
    """The tables as GitHub reads them, a list for each line."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines: list[list[str]] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            lines.append([])
        elif token.type in ("td_open", "th_open"):
            lines[-1].append(tokens[at + 1].content)
    return lines


def test_a_recording_is_a_line_with_its_verdict_its_check_and_its_id() -> None:
    broken = draft()
    broken.manifest["evidence_id"] = "0" * 64
    text = render_summary(
        [
            entry("leak/0.20.0", draft().seal()),
            entry("leak/0.21.0", draft(holds=True).seal()),
            entry("stranger", draft().seal(STRANGER)),
            entry("broken", broken.seal()),
        ]
    )
    head, violated, holds, stranger, invalid = cells(text)
    assert head == ["bundle", "recorded on", "verdict", "violated", "check", "evidence id"]
    assert violated[:4] == [
        "`leak/0.20.0`",
        "`openai-agents 0.20.0`",
        "violated",
        "`approval-respected`, `state-integrity`",
    ]
    assert violated[4] == "CURRENT"
    assert holds[2:5] == ["holds", "", "CURRENT"]
    assert stranger[2:5] == ["not judged", "", "UNTRUSTED"]
    assert invalid[1:] == ["", "", "", "INVALID (`other_evidence`)", ""]


def test_an_inconclusive_recording_says_why() -> None:
    shaky = draft()
    for recording in shaky.manifest["recordings"]:
        recording |= {"agreement": "differ", "differences": ["/events/7/output"]}
    line = cells(render_summary([entry("shaky", shaky.judged().seal())]))[1]
    assert line[2:4] == ["inconclusive", "two recordings of the same script differ"]


def test_a_comparison_is_a_table_of_targets_with_what_changed_below_it(tmp_path: Path) -> None:
    violated, holds = draft().seal(), draft(holds=True).seal()
    found = compared(
        tmp_path,
        Series("fixed-here", (Attempt("0.20.0", violated), Attempt("0.21.0", holds))),
        Series("broken-here", (Attempt("0.20.0", holds), Attempt("0.21.0", violated))),
        Series("lost", (Attempt("0.20.0", violated), Attempt("9.9", failed="no such release"))),
    )
    text = render_summary([named(found, "0.21.0", "0.21.0", "9.9")])
    assert cells(text) == [
        ["reproduction", "`0.20.0`", "`0.21.0`", "`9.9`"],
        ["`fixed-here`", "<ins>violated</ins>", "fixed", "\N{EN DASH}"],
        ["`broken-here`", "<ins>holds</ins>", "**REGRESSED**", "\N{EN DASH}"],
        ["`lost`", "<ins>violated</ins>", "\N{EN DASH}", "not recorded"],
    ]
    assert "- `fixed-here`, `0.20.0` → `0.21.0`: fixed\n  - approval-respected: violated → holds" in text
    assert "- `lost`, `0.20.0` → `9.9`: not recorded\n  - `no such release`" in text


@pytest.mark.parametrize("name", [EVIL, "a|b", "a\\|b", "a`|`b"])
def test_a_hostile_bundle_stays_in_its_cells(name: str, tmp_path: Path) -> None:
    failed = Attempt(f"9.9{name}", failed=name)
    text = render_summary(
        [
            entry(name, hostile(huge=False)),
            compared(tmp_path, Series(name, (Attempt(f"0.20.0{name}", hostile(huge=False)), failed))),
        ]
    )
    assert [len(line) for line in cells(text)] == [6, 6, 3, 3]
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    known = {"text", "code_inline", "html_inline", "softbreak", "strong_open", "strong_close"}
    assert {child.type for child in inner} <= known
    markup = {
        child.content for token in tokens for child in token.children or () if child.type == "html_inline"
    }
    assert markup <= {"<ins>", "</ins>"}
    assert not {token.type for token in tokens} & {"html_block", "fence", "heading_open"}


@settings(max_examples=80, deadline=None)
@given(TEXTS)
def test_no_name_of_a_file_breaks_the_table(name: str) -> None:
    line = cells(render_summary([entry_of_the_draft(name)]))[1]
    assert len(line) == 6
    assert line[2] == "violated"


REPORT = entry("x", draft().seal()).report


def entry_of_the_draft(name: str) -> Entry:
    return Entry(name, REPORT)


def test_a_summary_stays_below_what_github_takes() -> None:
    entries = [Entry(f"{number:04}" + "\N{SNOWMAN}" * 200, REPORT) for number in range(9000)]
    text = render_summary(entries)
    assert len(text.encode()) < 500_000
    assert "and 8500 more" in text


def test_a_longer_one_is_cut_between_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_BYTES", 700)
    lines = render_summary([Entry("x", REPORT) for _ in range(20)]).splitlines()
    assert lines[-1] == "The rest is left out for its size."
    assert lines[-3] == lines[2]
