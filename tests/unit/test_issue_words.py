"""What an issue's body is for: read at the desk, in the maintainers' words, and run from itself alone."""

import json
import shlex
import sys
import webbrowser
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from agentproof import claims
from agentproof.bundle.store import find_bundles, read_bundle, shelf_of, without_wheel, zip_bytes
from agentproof.bundle.text import find_blocks, zip_in
from agentproof.check.bundle import Reader, check_bundle
from agentproof.cli import cli
from agentproof.environment import own
from agentproof.errors import CannotDoError
from agentproof.models.manifest import ClaimResult
from agentproof.render.console import render_verdict
from agentproof.render.effects import EFFECTS_OF, Weight
from agentproof.render.embedded import MAX_COMMENT, as_sent, folded
from agentproof.render.getting import DISTRIBUTION, Getting
from agentproof.render.issue import Part
from agentproof.render.markdown import MAX_ADDRESS, render_issue
from agentproof.render.reasons import claims_told
from agentproof.render.story import Story, tell
from agentproof.render.terminal import render_story
from agentproof.render.terms import first_sentence, named, proposed_title, reason_in_words
from tests import committed, forge
from tests.copying import files_in
from tests.forge import REPORTER, Draft, draft, sources, trust_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def story_of(made: Draft) -> Story:
    reader = Reader(trust=trust_in(REPORTER), sources=sources())
    return tell(check_bundle(made.judged().seal(), reader=reader))


# The first sentence, the title, the way


def test_the_first_sentence_can_be_shown_wrong_and_needs_no_label() -> None:
    text = render_issue(story_of(draft()), attachment="x.zip").text
    first = text.split("\n\n")[1]
    assert first == (
        "With openai-agents 0.20.0: tool pay ran for call_1; the resumed state (the 2nd RunState) held no "
        "approval."
    )
    assert "- **Trigger**: the 2nd run of clerk resumes the 2nd RunState (step" in text
    assert "`result.to_state()` twice, `state.approve()`, `Runner.run(state)`, with a tool that needs" in text
    assert "- **Observable effect**: a tool's side effect: " in text


def test_a_violation_of_what_the_reporter_expects_is_the_first_sentence() -> None:
    made = draft()
    made.manifest["reproduction"]["expectations"] = dict(forge.EXPECTED)
    story = story_of(made)
    assert story.lead is not None
    text = render_issue(story, attachment="x.zip").text
    first = text.split("\n\n")[1]
    assert first.replace("`", "") == f"With openai-agents 0.20.0: {story.lead}"


@pytest.mark.parametrize(
    ("docstring", "title"),
    [
        ("A decision reaches its sibling.", "A decision reaches its sibling"),
        ("Minimal reproduction", "With openai-agents 0.20.0: tool pay ran for call_1"),
        ("Repro for issue #4413.", "With openai-agents 0.20.0: tool pay ran for call_1"),
        ('"Quoted" titles are kept', '"Quoted" titles are kept'),
        (r"It\'s lost", "It's lost"),
        ("x" * 60 + " and " + "y" * 60 + " " + "z" * 60, f"{'x' * 60} and {'y' * 60}…"),
    ],
)
def test_a_title_is_what_its_author_calls_it_or_what_is_wrong(docstring: str, title: str) -> None:
    made = draft()
    made.files["reproduction.py"] = f"'''{docstring}'''\n".encode()
    for field in ("title", "reference"):
        del made.manifest["reproduction"][field]
    assert proposed_title(story_of(made)).startswith(title)


def violated(kind: str, code: str, *events: str, mode: str = "as-written", **more: object) -> ClaimResult:
    """A violated claim that rests on the first events of these kinds."""
    trace = draft().traces["as-written" if mode == "both" else mode]["events"]
    at = [next(event["seq"] for event in trace if event["kind"] == each) for each in events]
    in_mode = "as-written" if mode == "both" else mode
    refs = [{"mode": in_mode, "seq": seq} for seq in at]
    finding = {"code": code, "events": refs, "subject": "x", "run": "R1", **more}
    version = claims.INVARIANTS[kind].VERSION
    shape = {"id": kind, "kind": kind, "version": version, "mode": mode, "status": "violated", "sites": 1}
    return ClaimResult.model_validate({**shape, "because": [finding]})


UNAPPROVED = violated("approval-respected", "ran_without_approval", "run.started", "tool.started")
NOT_RUN = violated("approval-respected", "approved_but_not_run", "run.ended")
NOT_OFFERED = violated("offered-tools-only", "not_offered", "model.called", "tool.started")
HOOKS = violated("hooks-complete", "agent_end", "run.ended")
RESULT = violated("result-integrity", "changed", "run.ended")
STATE = violated("state-integrity", "changed", "state.made", state="S1")
ASSERTED = violated("script-completed", "assertion_failed", "script.ended")
TWICE = violated("told-once", "twice", "model.called")
TWICE_STREAMED = violated("told-once", "twice", "model.called", mode="streamed")
PARITY = violated("stream-parity", "differ", "script.started", mode="both")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (UNAPPROVED, HOOKS),
        (NOT_OFFERED, HOOKS),  # what a tool did, though hooks stand before it in time and by name
        (NOT_OFFERED, NOT_RUN),
        (TWICE, NOT_RUN),  # the one that is shown first
        (NOT_RUN, RESULT),
        (TWICE, STATE),
        (STATE, ASSERTED),
        (NOT_RUN, TWICE_STREAMED),  # as the script was written before what only streaming shows
        (TWICE_STREAMED, PARITY),
    ],
)
def test_the_first_sentence_is_about_what_got_farthest_and_then_what_came_first(
    first: ClaimResult, then: ClaimResult
) -> None:
    story = story_of(draft())
    tellings = {each.mode: each for each in story.tellings}
    for results in ((first, then), (then, first)):
        told = replace(story, claims=tuple(claims_told(results, results, tellings)))
        assert [claim.id for claim in told.claims] == [first.id, then.id]
        sentence = first_sentence(told)
        assert sentence is not None
        assert sentence.partition(": ")[2].startswith(reason_in_words(told, told.violated[0].reasons[0]))


def test_the_steps_are_those_that_the_first_sentence_names() -> None:
    story = story_of(draft())
    tellings = {each.mode: each for each in story.tellings}
    streamed = [TWICE_STREAMED, violated("session-is-its-log", "read", "model.called", mode="streamed")]
    for results, words in (([TWICE, *streamed], "as written"), (streamed, "streamed")):
        told = replace(story, claims=tuple(claims_told(results, results, tellings)))
        assert f"What happened {words}, step by step" in render_issue(told, attachment="x.zip").text


def test_of_the_findings_of_a_claim_the_same_one_is_first() -> None:
    story = story_of(draft())
    both = UNAPPROVED.model_copy(update={"because": (*NOT_RUN.because, *UNAPPROVED.because)})
    (claim,) = claims_told([both], [both], {each.mode: each for each in story.tellings})
    assert [reason.place[0] for reason in claim.reasons] == [Weight.DONE, Weight.GIVEN]


def test_what_is_not_shown_is_said() -> None:
    bad, good = story_of(draft()), story_of(draft(holds=True))
    alone = render_issue(bad, attachment="x.zip").text
    for words in (
        "- how often a real model does this: the answers are scripted",
        "- a known-good control: no build on which it does not show was recorded",
        "- the current development branch: no commit of it was recorded",
        "- why: nothing here names lines of the SDK",
    ):
        assert words in alone
    with_control = render_issue(bad, attachment="x.zip", others=[good]).text
    assert "a known-good control: no build" not in with_control
    assert "- Known-good control: on `0.20.0` no (evidence" in with_control


def test_each_effect_is_of_a_rule_that_there_is() -> None:
    assert EFFECTS_OF.keys() <= claims.INVARIANTS.keys()


def test_a_recording_that_violates_nothing_says_so_first() -> None:
    text = render_issue(story_of(draft(holds=True)), attachment="x.zip").text
    assert text.split("\n\n")[1].startswith("With `openai-agents` `0.20.0` no rule is violated in this")


def test_a_call_is_named_with_its_tool_and_a_session_by_its_class() -> None:
    made = draft()
    used = {
        "kind": "session.used",
        "operation": "get_items",
        "by_sdk": False,
        "session_class": "agents.memory:SQLiteSession",
        "result": [],
        "after": [1],
    }
    for trace in made.traces.values():
        events = trace["events"]
        events[-2:-2] = [{**used, "session": "D1"}, {**used, "session": "D2"}]
        for seq, event in enumerate(events, start=1):
            event["seq"] = seq
    story = story_of(made)
    telling = story.tellings[0]
    assert named("S2 and run R1 of session D2", telling) == (
        "the 2nd RunState and the 1st run of the 2nd SQLiteSession"
    )
    assert named("S2 (M1) stays", telling, only=()) == "S2 stays"
    reason = replace(story.violated[0].reasons[0], text="call_1 was lost; call_1 is", calls=("call_1",))
    assert reason_in_words(story, reason) == "call_1 (pay) was lost; call_1 is"


def test_an_entry_that_a_result_lost_is_told_as_one_change() -> None:
    made = draft()
    items = [{"type": "message_output_item", "raw": {"id": f"m{n}", "content": "x"}} for n in range(20)]
    seen = {"kind": "result.observed", "result": "Q2", "of_run": "R2", "moment": "exit"}
    changed = {"before": {"items": items}, "now": {"items": items[1:]}}
    for trace in made.traces.values():
        events = trace["events"]
        events[-2:-2] = [{**seen, **changed}]
        for seq, event in enumerate(events, start=1):
            event["seq"] = seq
    story = story_of(made)
    claim = next(claim for claim in story.violated if claim.id == "result-integrity")
    assert [change.pointer for reason in claim.reasons for change in reason.changes] == ["/items/0"]
    assert "@@ result of R2 /items/0 @@" in render_issue(story, attachment="x.zip").text


def test_a_part_of_the_sdk_that_is_not_watched_is_named_wherever_no_tool_is() -> None:
    made = draft(holds=True)
    gap = {"what": "realtime", "why": "RealtimeSession was made once; its tools are not recorded"}
    made.manifest["coverage"] = [{**gap, "code": "not_watched"}]
    story = story_of(made)
    words = "realtime: RealtimeSession was made once; its tools are not recorded"
    assert f"- {words}" in render_issue(story, attachment="x.zip").text
    shown = render_story(story, tellings=story.tellings, diffs=False, everything=False)
    assert f"  not recorded: {words}" in list(shown)
    assert "not recorded  realtime:" in "\n".join(render_verdict(story.manifest))


# Run from the report alone


def with_files(files: dict[str, bytes]) -> Draft:
    made = draft()
    made.files |= files
    made.manifest["reproduction"]["files"] = sorted({*made.files})
    return made


def test_every_file_of_a_small_reproduction_is_in_the_report() -> None:
    files = {"helper.py": b"def f():\n    return `1`\n", "data/prices.json": b'{"a": 1}\n', "a.bin": b"\xff"}
    text = render_issue(story_of(with_files(files)), attachment="x.zip").text
    found = files_in(text)
    assert found["helper.py"].encode() == files["helper.py"]
    assert found["data/prices.json"].encode() == files["data/prices.json"]
    assert found["reproduction.py"].encode() == draft().files["reproduction.py"]
    assert "Not shown here, and in the bundle: `a.bin`." in text


def test_what_cannot_be_copied_from_the_report_is_said_to_be_so() -> None:
    text = render_issue(story_of(with_files({"odd.py": b"x = '\x1b'\n"})), attachment="x.zip").text
    assert "`odd.py` (what cannot be printed is written as an escape):" in text
    text = render_issue(story_of(with_files({"big.py": b"x = 1\n" * 9000})), attachment="x.zip").text
    assert "Not shown here, and in the bundle: `big.py`." in text


@pytest.mark.parametrize(
    "place", find_bundles(committed.STORE)[3::20], ids=lambda place: f"{place.parent.name}-{place.name[:6]}"
)
def test_the_files_of_a_committed_bundle_can_be_copied_from_its_report(place: Path) -> None:
    check_report(place)


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", find_bundles(committed.STORE), ids=lambda place: f"{place.parent.name}-{place.name[:6]}"
)
def test_the_files_of_all_committed_bundles_can_be_copied_from_their_reports(place: Path) -> None:
    check_report(place)


def check_report(place: Path) -> None:
    bundle = read_bundle(place, wheels=shelf_of(place))
    story = tell(check_bundle(bundle, reader=Reader()))
    for block in (None, folded(bundle)):
        issue = render_issue(story, attachment="x.zip", block=block)
        assert as_sent(issue.text) <= MAX_COMMENT
        if Part.SCRIPT in issue.left_out:
            continue
        found = {path: text.encode() for path, text in files_in(issue.text).items()}
        files = story.manifest.reproduction.files
        whole = {path: bundle.members[path] for path in files}
        assert found[story.manifest.reproduction.entry] == whole[story.manifest.reproduction.entry]
        assert found.items() <= whole.items()


# With the bundle in it


def noisy(count: int) -> Draft:
    """A draft whose bundle is long as text: what it holds cannot be packed."""
    made = draft()
    letters = "".join(f"{n * n * 2654435761 % 2**64:016x}"[::-1] for n in range(1, count))
    made.files["reproduction.py"] += f"NOISE = '{letters}'\n".encode()
    return made


def test_the_bundle_is_in_the_report_and_comes_back_from_it() -> None:
    bundle = without_wheel(draft().seal())
    issue = render_issue(story_of(draft()), attachment="x.zip", block=folded(bundle))
    (block,) = find_blocks(issue.text)
    assert zip_in(block)[0] == zip_bytes(bundle)
    assert "agentproof check-current-bundle issue.md" in issue.text
    assert "Attached" not in issue.text
    assert issue.left_out == ()


def test_parts_are_left_out_in_their_order_and_it_is_said_which() -> None:
    story = story_of(draft())
    whole = render_issue(story, attachment="x.zip").text
    seen: list[int] = []
    for most in range(as_sent(whole) - 1, 3000, -500):
        try:
            issue = render_issue(story, attachment="x.zip", most=most)
        except CannotDoError:
            break
        assert as_sent(issue.text) <= most
        assert issue.left_out == tuple(part for part in Part if part in issue.left_out)
        assert all(part.value in issue.text for part in issue.left_out)
        seen.append(list(Part).index(issue.left_out[-1]))
    assert seen == sorted(seen), "what matters more is left out later"
    assert len(set(seen)) > 1


def test_what_fits_after_something_larger_was_left_out_is_put_back() -> None:
    story = story_of(with_files({"big.json": b'"x" \n' * 3000}))
    issue = render_issue(story, attachment="x.zip", most=12_000)
    assert issue.left_out == (Part.FILES,)


def test_a_block_is_refused_rather_than_cut() -> None:
    block = folded(without_wheel(noisy(4000).judged().seal()))
    assert 2 * len(block) > MAX_COMMENT
    with pytest.raises(CannotDoError, match="of them the bundle; 65,536 are taken") as caught:
        render_issue(story_of(draft()), attachment="x.zip", block=block * 2)
    assert caught.value.hint == "leave --with-bundle out and attach the zip"


# Where it comes from


def lines_of(getting: Getting) -> list[str]:
    return [getting.words(), *getting.commands("x.zip")]


def test_no_line_names_a_project_to_an_index() -> None:
    place = "https://git.example/a/b"
    for getting in (Getting(), Getting(place), Getting(place, COMMIT)):
        for line in lines_of(getting):
            assert "pip install" not in line
            assert "uvx agentproof" not in line
            assert "uvx" not in line or f'--from "{DISTRIBUTION} @ git+{place}@{COMMIT}"' in line
    unknown = lines_of(Getting())
    assert f"It is the distribution `{DISTRIBUTION}`, version `" in unknown[0]
    assert "installed from a checkout of its repository" in unknown[0]
    assert unknown[1] == "agentproof check-current-bundle x.zip"
    known = lines_of(Getting("https://git.example/a/b", COMMIT))
    assert known[1] == (
        f'uvx --from "{DISTRIBUTION} @ git+https://git.example/a/b@{COMMIT}" agentproof '
        "check-current-bundle x.zip"
    )


def installed(place: Path, *, urls: list[str], direct: dict[str, Any] | None = None) -> None:
    info = place / "some_tool-1.0.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.4", "Name: some-tool", "Version: 1.0"]
    (info / "METADATA").write_text("\n".join([*lines, *(f"Project-URL: {url}" for url in urls)]) + "\n")
    if direct is not None:
        (info / "direct_url.json").write_text(json.dumps(direct))


@pytest.mark.parametrize(
    ("urls", "direct", "expected"),
    [
        ([], {"vcs_info": {"commit_id": COMMIT}, "url": "https://git.example/x/y"}, (None, None)),
        (["Documentation, https://docs.example/a"], None, (None, None)),
        (["Repository, http://git.example/a/b"], None, (None, None)),
        (["Repository, https://git.example/a/b; rm -rf x"], None, (None, None)),
        (["Homepage, https://h.example/a", "Repository, https://git.example/a/b.git"], None, ("b", None)),
        (
            ["source code, https://git.example/a/b/"],
            {"vcs_info": {"vcs": "git", "commit_id": COMMIT}, "url": "https://git.example/a/b"},
            ("b", COMMIT),
        ),
        (["Repository, https://git.example/a/b"], {"vcs_info": {"commit_id": "main"}}, ("b", None)),
        (["Repository, https://git.example/a/b"], {"dir_info": {}, "url": "file:///nowhere"}, ("b", None)),
    ],
)
def test_the_address_is_the_metadatas_and_the_commit_the_installers(
    urls: list[str],
    direct: dict[str, Any] | None,
    expected: tuple[str | None, str | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(tmp_path, urls=urls, direct=direct)
    monkeypatch.syspath_prepend(tmp_path)
    address, commit = own.address_and_commit("some-tool")
    assert (address and address.removeprefix("https://git.example/a/"), commit) == expected


def test_the_distribution_is_this_one() -> None:
    assert metadata.distribution(DISTRIBUTION).metadata["Name"] == DISTRIBUTION
    assert own.address_and_commit("no-such-distribution-of-anybody") == (None, None)


# The browser

URLS = (
    b"Project-URL: Homepage, https://openai.github.io/openai-agents-python/\n"
    b"Project-URL: Repository, https://github.com/openai/openai-agents-python\n"
)
METADATA = "openai_agents-0.20.0.dist-info/METADATA"
HEAD = b"Metadata-Version: 2.1\nName: openai-agents\nVersion: 0.20.0\n"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that holds the addresses which the browser was opened at."""
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    script, seen = tmp_path / "browser.py", tmp_path / "opened"
    script.write_text(f"import sys\nopen({str(seen)!r}, 'a').write(sys.argv[1] + '\\n')\n")
    monkeypatch.setenv("BROWSER", f"{shlex.quote(sys.executable)} {script} %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    return seen


def of_a_wheel(made: Draft, metadata: bytes) -> bytes:
    """Let the draft be about a wheel with this METADATA; return the wheel."""
    files = {**forge.WHEEL_FILES, METADATA: HEAD + metadata}
    data = forge.wheel(files)
    shape = json.dumps(made.manifest).replace(forge.sha256(forge.WHEEL), forge.sha256(data))
    made.manifest = json.loads(shape)
    for package in (made.manifest["target"], *made.manifest["environment"]["packages"]):
        if package["sha256"] == forge.sha256(data):
            package["size"] = len(data)
    made.wheel = data
    return data


def web(made: Draft, held: bytes | None, *arguments: str, answer: str = "y\n") -> Result:
    Path("x.agentproof.zip").write_bytes(zip_bytes(made.judged().seal()))
    if held is not None:
        Path(forge.WHEEL_NAME).write_bytes(held)
        arguments = ("--wheel", forge.WHEEL_NAME, *arguments)
    given = ("report", "x.agentproof.zip", "--web", *arguments)
    return CliRunner().invoke(cli, given, prog_name="agentproof", input=answer)


def test_the_browser_opens_at_the_repository_of_the_wheel_that_the_reader_holds(opened: Path) -> None:
    made = draft()
    told = web(made, of_a_wheel(made, URLS), "--output", "issue.md")
    assert told.exit_code == 0, told.output
    (address,) = opened.read_text().splitlines()
    assert len(address) <= MAX_ADDRESS
    parts = urlsplit(address)
    assert (parts.scheme, parts.netloc) == ("https", "github.com")
    assert parts.path == "/openai/openai-agents-python/issues/new"
    filled = parse_qs(parts.query)
    assert filled["title"] == ["Approving one state approves its sibling"]
    assert filled["body"][0].startswith("### Describe the bug\n\nWith openai-agents 0.20.0: tool pay ran for")
    assert "repository    https://github.com/openai/openai-agents-python  (METADATA of openai_agents-" in (
        told.stderr
    )
    assert "Open a new issue at https://github.com/openai/openai-agents-python? [y/N]" in told.stderr


def test_nothing_is_opened_unasked_and_it_is_said_where_to_paste(opened: Path) -> None:
    made = draft()
    held = of_a_wheel(made, URLS)
    told = web(made, held, "--output", "issue.md", answer="n\n")
    assert (told.exit_code, opened.exists()) == (0, False)
    assert "paste issue.md at https://github.com/openai/openai-agents-python/issues/new" in told.stderr
    told = web(made, held, "--output", "issue.md", answer="")
    assert (told.exit_code, opened.exists()) == (0, False)
    assert web(made, held, "--yes", answer="").exit_code == 0
    assert opened.exists()


@pytest.mark.parametrize(
    ("metadata", "is_held"),
    [
        (URLS, False),
        (b"", True),
        (b"Project-URL: Repository, https://gitlab.com/openai/x\n", True),
        (b"Project-URL: Repository, https://github.com/openai/x/issues/new?a=b\n", True),
        (b"Project-URL: Repository, https://github.com.evil.example/a/b\n", True),
        (b"Project-URL: Docs, https://github.com/a/b\n", True),
    ],
)
def test_what_a_bundle_or_an_odd_address_says_opens_nothing(
    metadata: bytes, is_held: bool, opened: Path
) -> None:
    made = draft()
    data = of_a_wheel(made, metadata)
    told = web(made, data if is_held else None)
    assert (told.exit_code, opened.exists()) == (4, False)
    assert "that you hold names a repository on github.com" in told.stderr
    assert "paste what was printed into an issue of the SDK's" in told.stderr


def test_nothing_of_a_live_recording_is_put_into_an_address(opened: Path) -> None:
    held = of_a_wheel(draft(), URLS)
    made = forge.draft_of_live(target=forge.sha256(held))
    of_a_wheel(made, URLS)
    told = web(made, held, "--output", "issue.md")
    assert told.exit_code == 0, told.output
    filled = parse_qs(urlsplit(opened.read_text()).query)
    said = filled["title"][0] + filled["body"][0]
    for payload in ("Pay 100", "Paid", "paid 100", "Hello", "call_1", "amount", "req_0"):
        assert payload not in said
    assert "paste issue.md in its place" in told.stderr


def test_where_no_browser_can_be_opened_it_is_said_where_to_paste(
    opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    made = draft()
    told = web(made, of_a_wheel(made, URLS), "--yes")
    assert "no browser could be opened\n" in told.stderr
    assert "paste what was printed at https://github.com/openai" in told.stderr
    assert not opened.exists()


@pytest.mark.usefixtures("opened")
def test_the_bundle_is_in_what_report_writes() -> None:
    Path("x.agentproof.zip").write_bytes(zip_bytes(draft().seal()))
    told = CliRunner().invoke(cli, ["report", "x.agentproof.zip", "--with-bundle", "--output", "issue.md"])
    assert told.exit_code == 0, told.output
    assert "  title         Approving one state approves its sibling\n" in told.stderr
    again = CliRunner().invoke(cli, ["report", "-", "--with-bundle"], input=Path("issue.md").read_text())
    assert (again.exit_code, again.stdout) == (0, Path("issue.md").read_text())
    Path("good.agentproof.zip").write_bytes(zip_bytes(draft(holds=True).seal()))
    both = CliRunner().invoke(cli, ["report", "x.agentproof.zip", "good.agentproof.zip"])
    assert "\nOn other builds, attached too: `good.agentproof.zip`.\n" in both.stdout
    refused = CliRunner().invoke(cli, ["report", "issue.md", "--format", "html", "--web"])
    assert refused.exit_code == 2
