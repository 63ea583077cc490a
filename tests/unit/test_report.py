"""Reports of a checked bundle: what they say, and that nothing in a bundle gets out of its place."""

import re
import time
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agentproof.bundle.store import Bundle
from agentproof.check.bundle import CheckedBundle, Reader, check_bundle
from agentproof.diff.rows import Attempt, Series, build_rows
from agentproof.errors import BundleError
from agentproof.models.report import CheckResult
from agentproof.models.text import visible
from agentproof.models.wire import encode
from agentproof.render import overview, terminal
from agentproof.render.beside import beside, tells_the_same
from agentproof.render.groups import Attachment, Group, grouped
from agentproof.render.html import render_page
from agentproof.render.markdown import MAX_LENGTH, render_issue
from agentproof.render.markup import code, fence, length, prose, sentence
from agentproof.render.sides import side_by_side
from agentproof.render.steps import Branch
from agentproof.render.story import Story, tell
from tests.changes import changed
from tests.forge import REPORTER, STRANGER, draft, sources, trust_in
from tests.hostile import EVIL, hostile

TEXTS = st.text(st.characters() | st.sampled_from("`~<>&[]()*_|\\#@\n\t\r \u202e"))


def checked(bundle: Bundle) -> CheckedBundle:
    return check_bundle(bundle, reader=Reader(trust=trust_in(REPORTER), sources=sources()))


def a_group(*stories: Story) -> list[Group]:
    return grouped(Attachment(story, f"{index}.zip") for index, story in enumerate(stories))


@cache
def several() -> list[Group]:
    """Two reproductions on three targets, one of which could not be recorded; one of the two means harm."""
    failed = Attempt(f"9.9{EVIL}", failed=EVIL)
    harmless = [Attempt("0.20.0", draft().seal()), Attempt("0.21.0", draft(holds=True).seal()), failed]
    harmful = [Attempt("0.20.0", hostile(huge=False)), failed]
    rows = build_rows([Series("harmless", tuple(harmless)), Series(EVIL, tuple(harmful))])
    first, fixed, lost = rows[0].cells
    # The forge knows one release; the second recording stands for a later one.
    cells = (first, changed(fixed, target="0.21.0"), lost)
    rows = (changed(rows[0], cells=cells), rows[1])
    told = [(a_story(), a_story(holds=True)), (a_hostile_story(),)]
    return [
        Group(row.reproduction, tuple(Attachment(story, "c.zip") for story in stories), row)
        for row, stories in zip(rows, told, strict=True)
    ]


@cache
def a_story(*, holds: bool = False) -> Story:
    return tell(checked(draft(holds=holds).seal()))


@cache
def a_hostile_story() -> Story:
    return tell(checked(hostile(huge=False)))


# The story


def test_an_invalid_bundle_is_not_told() -> None:
    broken = draft()
    broken.manifest["evidence_id"] = "0" * 64
    with pytest.raises(BundleError, match="INVALID, so nothing of it is shown"):
        tell(checked(broken.seal()))


def test_an_untrusted_bundle_is_not_told_unless_it_was_judged_without_trust() -> None:
    bundle = draft().seal(STRANGER)
    told = checked(bundle)
    assert told.status == "UNTRUSTED"
    with pytest.raises(BundleError):
        tell(told)
    story = tell(check_bundle(bundle, reader=Reader(sources=sources())), as_shown=told.report)
    assert story.report.status == "UNTRUSTED"
    assert story.verdict.status == "violated"


def test_a_violated_claim_is_told_once_for_both_modes_with_its_whole_change() -> None:
    claim = next(claim for claim in a_story().violated if claim.id == "state-integrity")
    assert claim.modes == ("as-written", "streamed")
    (reason,) = claim.reasons
    assert reason.text == "S2 changed while only S1 was decided"
    assert [(change.pointer, change.after) for change in reason.changes] == [
        ("/context/approvals/pay/approved/0", "call_1")
    ]
    assert {ref.mode for ref in reason.refs} == {"as-written", "streamed"}


def test_what_the_modes_differ_in_is_told_with_both_sides() -> None:
    parted = draft()
    for event in parted.traces["streamed"]["events"]:
        if event["kind"] == "run.ended" and event["run"] == "R2":
            event["final_output"] = "Not paid."
    story = tell(checked(parted.judged().seal()))
    claim = next(claim for claim in story.violated if claim.id == "stream-parity")
    changes = [change for reason in claim.reasons for change in reason.changes]
    assert ("final output", "Paid.", "Not paid.") in [
        (change.pointer, change.before, change.after) for change in changes
    ]
    assert (
        '@@ R2 final output: - as written, + streamed @@\n-"Paid."\n+"Not paid."'
        in render_issue(story, attachment="x.zip").text
    )


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ('"""What goes wrong.\n\nMore."""\n', "What goes wrong."),
        ("# a comment\n\nr'''It's lost.'''\n", "It's lost."),
        ("import agents\n", "reproduction.py"),
    ],
)
def test_a_reproduction_without_a_title_is_called_by_its_docstring(source: str, title: str) -> None:
    plain = draft()
    plain.files["reproduction.py"] = source.encode()
    for field in ("title", "reference"):
        del plain.manifest["reproduction"][field]
    assert tell(checked(plain.judged().seal())).title == title


def test_runs_are_branches_and_what_is_outside_of_them_is_not() -> None:
    parts = a_story().tellings[0].parts
    runs = [part.run for part in parts if isinstance(part, Branch)]
    kinds = [part.event.__class__.__name__ for part in parts if not isinstance(part, Branch)]
    assert runs == ["R1", "R2"]
    assert kinds == [
        "ScriptStarted",
        "SdkImported",
        "StateMade",
        "StateMade",
        "StateDecided",
        "StateObserved",
        "ScriptWrote",
        "ScriptEnded",
    ]


def test_every_step_of_a_trace_is_in_its_tree_once() -> None:
    def seqs(parts: object) -> list[int]:
        assert isinstance(parts, tuple | list)
        return [n for part in parts for n in (seqs(part.parts) if isinstance(part, Branch) else [part.seq])]

    telling = a_story().tellings[0]
    assert sorted(seqs(telling.parts)) == [step.seq for step in telling.steps]


def test_modes_that_did_the_same_tell_the_same_and_releases_that_did_not_differ() -> None:
    first, second = a_story().tellings
    assert tells_the_same(first, second)
    assert all(pair.same for pair in beside(first, second))
    fixed = a_story(holds=True).tellings[0]
    assert not tells_the_same(first, fixed)
    texts = [pair.left.text for pair in beside(first, fixed) if pair.left and not pair.same]
    assert "S2 has changed, seen when a decision was made" in texts


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(JSON, JSON)
def test_two_documents_beside_each_other_show_a_change_just_where_they_differ(
    one: object, other: object
) -> None:
    rows, complete = side_by_side(one, other)
    assert complete
    assert any(row.mark == "changed" for row in rows) == (encode(one) != encode(other))


# Markdown


def _tokens(text: str) -> list[Token]:
    found = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [*found, *(child for token in found for child in token.children or ())]


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_code_is_one_code_span_whatever_it_holds(text: str) -> None:
    kinds = [token.type for token in _tokens(f"- {code(text)} end")]
    assert kinds.count("code_inline") == 1
    assert not {"html_inline", "html_block", "link_open", "image", "em_open", "fence", "heading_open"} & {
        *kinds
    }


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_a_fence_is_one_fence_whatever_it_holds(text: str) -> None:
    kinds = [token.type for token in _tokens(f"before\n\n{fence(text)}\n\nafter")]
    assert [kind for kind in kinds if not kind.endswith(("_open", "_close"))] == [
        "inline",
        "fence",
        "inline",
        "text",
        "text",
    ]


@settings(max_examples=60, deadline=None)
@given(TEXTS | st.text(st.sampled_from("ab _-.:/@w1"), max_size=20))
def test_prose_is_plain_text_or_one_code_span(text: str) -> None:
    kinds = {token.type for token in _tokens(f"- begin {prose(text)}")}
    assert kinds <= {
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
        "inline",
        "text",
        "code_inline",
        "paragraph_close",
        "list_item_close",
        "bullet_list_close",
    }


@settings(max_examples=60, deadline=None)
@given(TEXTS | st.text(st.sampled_from("ab _-.:/@w1`*<"), max_size=40))
def test_a_sentence_is_plain_text_and_code_spans(text: str) -> None:
    kinds = {token.type for token in _tokens(f"begin {sentence(text)}")}
    assert kinds <= {"paragraph_open", "inline", "text", "code_inline", "paragraph_close"}


@pytest.mark.parametrize("letter", ["[", "{", '"', "“", "(", "`", "'", "[]", '"(', "a ["])
def test_a_sentence_of_many_of_one_letter_is_soon_written(letter: str) -> None:
    started = time.process_time()
    sentence(letter * (600 // len(letter)), limit=600)
    sentence(letter * 200_000)
    assert time.process_time() - started < 0.5


def test_a_sentence_keeps_its_plain_words_and_no_more() -> None:
    assert sentence('the run raised agents.X: no "a" @b') == 'the run raised `agents.X`: no "a" `@b`'
    assert sentence("see www.example.com and #1") == "see `www.example.com` and `#1`"
    assert sentence("a_ b_ c d_ e f_ g h_ i j_ k l_ m n_ o") == "`a_ b_ c d_ e f_ g h_ i j_ k l_ m n_ o`"


@pytest.mark.parametrize(
    "text", ["@octocat", "see www.example.com", "https://example.com", "a#1", ":tada:", "a:tada:b", "GH-12"]
)
def test_what_github_would_link_is_no_plain_prose(text: str) -> None:
    assert prose(text) == f"`{text}`"


def test_the_issue_has_the_shape_of_the_bug_template() -> None:
    text = render_issue(a_story(), attachment="x.agentproof.zip").text
    assert _headings(text) == [
        "Describe the bug",
        "Debug information",
        "Traceback",
        "Repro steps",
        "Expected behavior",
        "Not shown",
        "Evidence",
    ]
    assert "- **state-integrity** (as written and streamed): the 2nd RunState (S2) changed while only" in text
    assert '@@ S2 /context/approvals/pay/approved/0 @@\n-(absent)\n+"call_1"' in text
    assert '`pay({"amount": 100}) for call_1` (needs approval) gave `"paid 100"`' in text
    assert "- Agents SDK version: `v0.20.0`" in text
    assert "agentproof check-current-bundle x.agentproof.zip" in text
    assert REPORTER.public.line in text
    assert a_story().manifest.target.sha256 in text


def test_what_a_model_was_told_is_listed_where_that_decides_a_claim() -> None:
    orphaned = draft()
    for trace in orphaned.traces.values():
        last = [event for event in trace["events"] if event["kind"] == "model.called"][-1]
        last["input"] = [item for item in last["input"] if item.get("type") != "function_call"]
    story = tell(checked(orphaned.judged().seal()))
    assert "call-output-linkage" in {claim.id for claim in story.violated}
    text = render_issue(story, attachment="x.zip").text
    assert '- user: “Pay 100.”\n           - output of call_1: "paid 100"\n' in text


def test_what_shows_in_the_streamed_mode_alone_is_told_from_there() -> None:
    parted = draft(holds=True)
    for event in parted.traces["streamed"]["events"]:
        if event["kind"] == "model.called":
            event["input"] = [item for item in event["input"] if item.get("type") != "function_call"]
    story = tell(checked(parted.judged().seal()))
    text = render_issue(story, attachment="x.zip").text
    assert "What happened streamed, step by step" in text
    assert "✗" in text.split("```text")[1]
    assert not tells_the_same(*story.tellings)


def test_an_issue_about_repeats_that_differ_says_so_and_where() -> None:
    shaky = draft()
    for recording in shaky.manifest["recordings"]:
        recording |= {"agreement": "differ", "differences": ["/events/7/output"]}
    text = render_issue(tell(checked(shaky.judged().seal())), attachment="x.zip").text
    assert "inconclusive (two recordings of the same script differ)" in text
    assert "What one recording shows all the same:" in text
    assert "and the recordings differ (`as written /events/7/output`, `streamed /events/7/output`)" in text


def test_the_issue_says_whether_other_releases_show_it_too() -> None:
    fixed = a_story(holds=True)
    text = render_issue(a_story(), attachment="x.zip", others=[fixed]).text
    assert "- Known-good control: on `0.20.0` no (evidence" in text
    assert "a known-good control" not in text
    text = render_issue(a_story(), attachment="x.zip", others=[replace(a_story())]).text
    assert "- On other builds: on `0.20.0` yes (approval-respected, state-integrity)" in text
    assert "- a known-good control: no build" in text


def test_a_hostile_bundle_changes_nothing_about_the_issue_but_its_text() -> None:
    text = render_issue(a_hostile_story(), attachment="x.zip").text
    kinds = {token.type for token in _tokens(text)}
    assert not {"html_inline", "html_block", "link_open", "image", "table_open"} & kinds
    assert _headings(text) == _headings(render_issue(a_story(), attachment="x.zip").text)
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_an_issue_with_a_long_script_stays_below_what_github_takes() -> None:
    long = draft()
    long.files["reproduction.py"] += b"# \xf0\x9f\x90\x8d\xf0\x9f\x90\x8d ``````\n" * 20_000
    text = render_issue(tell(checked(long.judged().seal())), attachment="x.zip").text
    assert length(text) <= MAX_LENGTH < 65_536
    assert "more characters)" in text


def _headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]


# Terminal


def test_the_terminal_gets_printable_text_alone() -> None:
    story = a_hostile_story()
    seen = draft().event("state.observed")["seq"]
    lines = [
        *terminal.render_story(story, tellings=story.tellings, diffs=True, everything=True),
        *terminal.render_state(story.tellings[0], story, f"S2@{seen}", diffs=True),
        *terminal.render_state(story.tellings[0], story, "S2", diffs=False),
    ]
    text = "\n".join(lines)
    for escape in (
        "\x1b[31m",
        "\x1b[32m",
        "\x1b[33m",
        "\x1b[34m",
        "\x1b[35m",
        "\x1b[36m",
        "\x1b[0m",
        "\x1b[1m",
    ):
        text = text.replace(escape, "")  # our own colours
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "\\u202e" in text


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_visible_text_is_printable_and_leaves_printable_text_alone(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)


# The page


class _Reader(HTMLParser):
    """What a browser would see: elements with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {
        "one": render_page(a_group(a_story())),
        "two": render_page(a_group(a_story(), a_story(holds=True))),
        "hostile": render_page(a_group(a_hostile_story())),
        "several": render_page(several()),
    }


@pytest.mark.parametrize("name", ["one", "two", "hostile", "several"])
def test_a_page_holds_nothing_that_runs_or_is_fetched(pages: dict[str, str], name: str) -> None:
    for tag, attributes in _Reader(pages[name]).elements:
        assert tag not in {
            "script",
            "img",
            "svg",
            "iframe",
            "object",
            "embed",
            "link",
            "form",
            "base",
            "audio",
        }
        assert not [key for key in attributes if key.startswith("on") or key in {"style", "src", "srcset"}]
        target = attributes.get("href") or "#"
        assert target.startswith(("#", "https://github.com/openai/openai-agents-python/issues/"))


@pytest.mark.parametrize("name", ["one", "two", "hostile", "several"])
def test_every_link_inside_a_page_leads_somewhere_and_every_id_is_there_once(
    pages: dict[str, str], name: str
) -> None:
    elements = _Reader(pages[name]).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    links = {href[1:] for _, attributes in elements if (href := attributes.get("href") or "").startswith("#")}
    assert len(ids) == len(set(ids))
    assert links <= set(ids)


def test_a_hostile_bundle_has_the_same_elements_as_a_harmless_one(pages: dict[str, str]) -> None:
    def shape(page: str) -> set[str]:
        return {tag for tag, _ in _Reader(page).elements}

    assert shape(pages["hostile"]) <= shape(pages["one"])
    assert EVIL[:40] not in pages["hostile"]
    assert "\u202e" not in pages["hostile"]


def test_a_page_of_several_reproductions_leads_from_a_table_to_each(pages: dict[str, str]) -> None:
    page = pages["several"]
    assert "<h1" in page
    assert "2 reproductions on 3 targets" in page
    titled = 'harmless</a> <span class="modes">Approving one state approves its sibling</span></th>'
    assert f'<a href="#r1-compared">{titled}<td><span class="word violated">violated</span>' in page
    assert re.search(r"<summary>\d+ claims are the same on each</summary>", page)
    assert '<span class="word holds">fixed</span>' in page
    assert '<span class="word inconclusive">not recorded</span>' in page
    assert page.count("<main>") == 1
    assert page.count('<section class="group"') == 2
    assert '<tr class="violates differs">' in page


def test_several_recordings_are_one_story_with_columns_where_they_differ() -> None:
    page = render_page(a_group(a_story(), a_story(holds=True), a_story(holds=True)))
    assert page.index("violated on 0.20.0 (1); holds on 0.20.0 (2), 0.20.0 (3)") < page.index(
        "Claims on each"
    )
    assert '<p class="side">0.20.0 (2), 0.20.0 (3)</p>' in page, "those that tell the same share a column"
    assert page.count("the script reproduction.py begins") == 1
    assert page.count("S2 has changed, seen when a decision was made") == 1
    assert page.count("print(&#34;PAID 100&#34;)") == 1
    assert "Streamed: the same steps again, on each." in page
    assert "<article" in page
    assert len(page) < 2 * len(render_page(a_group(a_story())))


def test_files_of_several_reproductions_are_lines_by_their_titles() -> None:
    other = changed(
        a_story().manifest, reproduction=changed(a_story().manifest.reproduction, title="Another")
    )
    groups = [*a_group(a_story(), a_story(holds=True)), *a_group(replace(a_story(), manifest=other))]
    page = render_page(groups)
    assert '<a href="#r1-compared">Approving one state approves its sibling</a></th>' in page
    assert page.count('href="#r2-compared"') == 1
    assert page.index("2 reproductions on 1 target") < page.index("not the same on each (1)")


def test_the_steps_of_a_page_can_be_narrowed_to_a_run_or_a_state(pages: dict[str, str]) -> None:
    one = pages["one"]
    assert re.search(
        r'<select id="by-run" [^>]*><option>all</option><option>R1</option><option>R2</option>',
        one,
    )
    assert re.search(r'class="by-state"', one)
    assert 'class="by-tool"' not in one, "there is one tool, so nothing to choose"
    rule = ".steps:has(.by-run option:nth-child(3):checked) .tree li:not(.run-2)"
    assert rule in one
    assert '<li class="branch run-2' in one
    assert "by-run" not in pages["two"]


def test_a_page_tells_no_more_steps_than_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "_MAX_STEPS", 1)
    page = render_page(several())
    assert page.count("What happened</h3>") == 1  # the first reproduction is always told
    assert "The steps of these recordings are left out of this page for its size" in page


def test_the_policy_allows_the_one_style_sheet_and_nothing_else(pages: dict[str, str]) -> None:
    policy = next(
        attributes["content"] or ""
        for tag, attributes in _Reader(pages["one"]).elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_a_page_does_not_tell_where_its_maker_keeps_files() -> None:
    story = a_story()
    check = CheckResult(
        name="signature",
        status="passed",
        reason=None,
        detail="you, trusted by /home/somebody/.config/key.pub",
    )
    report = changed(story.report, checks=(check,))
    page = render_page(a_group(replace(story, report=report)))
    assert "trusted by key.pub" in page
    assert "somebody" not in page
