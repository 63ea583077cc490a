"""The HTML page in a real browser: Debian's Chromium, driven by Playwright's Python client."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from agentproof.bundle.store import Bundle
from agentproof.check.bundle import Reader, check_bundle
from agentproof.render import terminal
from agentproof.render.groups import Attachment, grouped
from agentproof.render.html import render_page
from agentproof.render.markdown import MAX_LENGTH, render_issue
from agentproof.render.markup import length
from agentproof.render.story import Story, tell
from tests.chromium import WIDTHS, contrast, in_chromium, show
from tests.forge import REPORTER, draft, sources, trust_in
from tests.hostile import hostile
from tests.unit.test_report import several

pytestmark = in_chromium

SEEN: int = draft().event("state.observed")["seq"]
"""Where the trace tells that S2 has changed."""
START: int = draft().event("tool.started")["seq"]


def a_story(bundle: Bundle) -> Story:
    return tell(check_bundle(bundle, reader=Reader(trust=trust_in(REPORTER), sources=sources())))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages on disk: a violation, the same beside a release that holds, and one that means harm."""
    directory = tmp_path_factory.mktemp("pages")
    violated, holds = a_story(draft().seal()), a_story(draft(holds=True).seal())
    harm = a_story(hostile())
    stories = {"one": [violated], "two": [violated, holds], "hostile": [harm]}
    found = {name: directory / f"{name}.html" for name in stories}
    for name, path in found.items():
        names = [f"{number}.agentproof.zip" for number in range(len(stories[name]))]
        path.write_text(render_page(grouped(map(Attachment, stories[name], names))), encoding="utf-8")
    found["several"] = directory / "several.html"
    found["several"].write_text(render_page(several()), encoding="utf-8")
    (directory / "hostile.md").write_text(render_issue(harm, attachment="x.zip").text, encoding="utf-8")
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["one", "two", "hostile", "several"])
def test_a_page_loads_by_itself_quietly_and_fits(
    browser: Browser, files: dict[str, Path], name: str, width: int
) -> None:
    shown = show(browser, files[name], width=width)
    shown.page.wait_for_load_state("networkidle")
    assert shown.requests == [files[name].as_uri()]
    assert shown.complaints == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.page.evaluate("document.compatMode") == "CSS1Compat"


def test_the_differing_pointer_and_both_values_are_visible_at_once(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = show(browser, files["one"]).page
    claim = page.locator(".claim", has_text="state-integrity")
    assert claim.get_by_text("/context/approvals/pay/approved/0").is_visible()
    assert claim.locator("del").first.is_visible()
    assert claim.locator("ins").first.inner_text() == '"call_1"'
    side = page.locator(f"#as-written-{SEEN}").locator("xpath=ancestor::details[1]").locator("ins").first
    assert side.is_visible()


def test_a_claim_leads_to_its_step_and_the_step_opens_by_the_keyboard(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = show(browser, files["one"]).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the claims"
    page.keyboard.press("Enter")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href')") == f"#as-written-{START}":
            break
    page.keyboard.press("Enter")
    assert page.url.endswith(f"#as-written-{START}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    before = page.evaluate("document.activeElement.parentElement.open")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open") is not before


def test_a_page_of_several_reproductions_leads_from_its_table_to_each(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = show(browser, files["several"], width=390).page
    assert page.get_by_role("main").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the table"
    page.get_by_role("link", name="harmless").click()
    page.wait_for_url("**#r1-compared")
    levels = page.eval_on_selector_all(
        "h1, h2, h3, h4, h5", "found => found.map(each => Number(each.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_the_steps_are_narrowed_to_one_run_by_the_keyboard(browser: Browser, files: dict[str, Path]) -> None:
    page = show(browser, files["one"]).page
    choice = page.get_by_label("run", exact=True)
    choice.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert choice.input_value() == "R2"
    assert page.locator(f"#as-written-{START}").is_visible()
    assert not page.locator("#as-written-1").is_visible()
    page.get_by_label("state", exact=True).select_option("S1")
    assert not page.locator(f"#as-written-{START}").is_visible()
    choice.select_option("all")
    page.get_by_label("state", exact=True).select_option("all")
    assert page.locator("#as-written-1").is_visible()


def test_the_lines_of_a_matrix_are_chosen_and_its_differing_steps_stand_beside_each_other(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = show(browser, files["several"]).page
    lines = page.locator("#overview tbody tr")
    assert [line.is_visible() for line in lines.all()] == [True, True]
    page.get_by_label("all (2)").focus()
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("violated somewhere (2)").is_checked()
    cells = page.locator(f"#r1-a-as-written-{SEEN}").locator("xpath=ancestor::li[1]").locator(".cell")
    boxes = [cell.bounding_box() for cell in cells.all()]
    assert len(boxes) == 2
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000


def test_a_folded_mode_opens_for_a_link_that_leads_into_it(browser: Browser, files: dict[str, Path]) -> None:
    page = show(browser, files["one"]).page
    target = page.locator(f"#streamed-{SEEN}")
    assert not target.is_visible()
    page.locator(f"a[href='#streamed-{SEEN}']").first.click()
    assert target.is_visible()


def test_a_screen_reader_is_given_landmarks_headings_and_named_tables(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = show(browser, files["one"]).page
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation").count() == 1
    assert page.get_by_role("heading", level=1).inner_text() == "Approving one state approves its sibling"
    levels = page.eval_on_selector_all("h1, h2, h3", "found => found.map(each => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    table = page.get_by_role("table", name=f"S2 before and after event {SEEN}; equal parts are folded").first
    assert [cell.inner_text().split()[0] for cell in table.get_by_role("columnheader").all()] == [
        "before",
        "after",
    ]
    assert page.evaluate("document.documentElement.lang") == "en"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_the_light_and_in_the_dark(
    browser: Browser, files: dict[str, Path], scheme: str
) -> None:
    worst = contrast(show(browser, files["one"], scheme=scheme).page)
    assert float(worst["ratio"]) >= 4.5, worst


def test_a_hostile_bundle_is_shown_and_does_nothing(browser: Browser, files: dict[str, Path]) -> None:
    shown = show(browser, files["hostile"])
    page = shown.page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("window.pwned") is None
    assert page.locator("script, img, svg, iframe").count() == 0
    assert "<script>window.pwned = 1</script>" in page.inner_text("h1")
    assert "\u202e" not in page.content()
    assert shown.requests == [files["hostile"].as_uri()]
    assert shown.complaints == []
    assert files["hostile"].stat().st_size < 12_000_000


def test_an_issue_about_a_bundle_of_huge_strings_stays_below_what_github_takes(
    files: dict[str, Path],
) -> None:
    text = files["hostile"].with_suffix(".md").read_text(encoding="utf-8")
    assert length(text) <= MAX_LENGTH


def test_a_trace_of_many_events_and_of_runs_in_runs_still_makes_a_page_of_some_megabytes() -> None:
    long = draft(holds=True)
    events = long.traces["as-written"]["events"]
    runs = [
        {"kind": "run.started", "run": f"R{n}", "parent": f"R{n - 1}", "agent": "a", "streamed": False}
        for n in range(3, 103)
    ]
    wrote = [{"kind": "probe.observed", "label": "again", "value": n} for n in range(2000)]
    events[-2:-2] = [*runs, *wrote]
    for seq, event in enumerate(events, start=1):
        event["seq"] = seq
    long.traces = {"as-written": long.traces["as-written"]}
    long.manifest["recordings"] = long.manifest["recordings"][:1]
    story = a_story(long.judged().seal())
    page = render_page(grouped([Attachment(story, "x.zip")]))
    assert "steps are left out of this page for its size" in page
    assert len(page) < 12_000_000
    assert length(render_issue(story, attachment="x.zip").text) <= MAX_LENGTH
    assert list(terminal.render_story(story, tellings=story.tellings, diffs=True, everything=True))
