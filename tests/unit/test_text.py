"""A bundle as text: it comes back from what people copy, or is refused by name."""

import base64
import lzma
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

from agentproof.bundle import text as texts
from agentproof.bundle.store import (
    as_text,
    bundle_id,
    find_bundles,
    from_zip_bytes,
    read_bundle,
    without_wheel,
    zip_bytes,
)
from agentproof.bundle.text import BEGIN, END, find_blocks, zip_in
from agentproof.cli import cli
from agentproof.errors import BundleError
from agentproof.limits import MAX_BUNDLE_BYTES, MAX_TEXT_BLOCKS
from agentproof.render.embedded import folded
from tests import committed, forge
from tests.texts import copied, outcome, spoilt, thin, try_bundle

BUNDLE = without_wheel(forge.draft().seal())
ZIP = zip_bytes(BUNDLE)
TEXT = as_text(BUNDLE)


def block_of(packed: bytes, *, names: str = bundle_id(BUNDLE)) -> str:
    letters = base64.b64encode(packed).decode()
    return f"{BEGIN}\nbundle: sha256:{names}\nlength: {len(letters)}\n{letters}\n{END}\n"


def refused(text: str) -> BundleError:
    (block,) = find_blocks(text)
    with pytest.raises(BundleError) as caught:
        zip_in(block)
    return caught.value


@pytest.mark.parametrize(("name", "text"), list(copied(TEXT)), ids=[name for name, _ in copied(TEXT)])
def test_a_bundle_comes_back_from_what_was_copied(name: str, text: str) -> None:
    assert outcome(text, ZIP) == "restored"


@pytest.mark.parametrize(("name", "text"), list(spoilt(TEXT)), ids=[name for name, _ in spoilt(TEXT)])
def test_what_cannot_be_restored_is_refused(name: str, text: str) -> None:
    assert outcome(text, ZIP) not in ("restored", "other", "nothing")


def test_no_change_of_a_text_is_another_bundle() -> None:
    counts, wrong = try_bundle(BUNDLE, positions=60)
    assert wrong == []
    assert counts["changed: refused"] > 100
    assert counts["changed: restored"] > 20, "blanks are no part of a block"


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", find_bundles(committed.STORE), ids=lambda place: f"{place.parent.name}-{place.name[:6]}"
)
def test_no_text_of_a_committed_bundle_is_another_bundle(place: Path) -> None:
    _, wrong = try_bundle(thin(place), positions=200)
    assert wrong == []


def test_what_is_missing_is_named() -> None:
    lines = TEXT.split("\n")
    cut = refused("Hi\n\n" + "\n".join(lines[:20]))
    assert cut.reason == "truncated"
    whole = int(lines[2].removeprefix("length: "))
    had = f"at most 1,700 of {whole:,} characters are there"
    assert cut.message == f"block 1, at line 3: its end is cut off; {had}"
    assert "its beginning is cut off" in refused("\n".join(lines[10:])).message
    assert "characters are there" in refused("\n".join(lines[:9] + lines[10:])).message
    assert "'.' is no letter of base64" in refused(TEXT.replace(lines[9], "." * 100)).message
    assert f"copy it again, from {BEGIN} to {END}" == cut.hint


def test_one_stream_of_xz_and_nothing_behind_it() -> None:
    packed = lzma.compress(ZIP, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32)
    assert outcome(block_of(packed), ZIP) == "restored", "whatever the library makes of it"
    delta = [{"id": lzma.FILTER_DELTA, "dist": 1}, {"id": lzma.FILTER_LZMA2, "preset": 6}]
    for other in ({"check": lzma.CHECK_SHA256}, {"check": lzma.CHECK_CRC32, "filters": delta}):
        assert refused(block_of(lzma.compress(ZIP, **other))).reason == "malformed"
    for more in (b"\0\0\0\0", packed, b"PK"):
        assert refused(block_of(packed + more)).reason == "not_canonical"
    assert refused(block_of(packed[:-4])).reason == "truncated"
    assert refused(block_of(lzma.compress(ZIP, format=lzma.FORMAT_ALONE))).reason == "malformed"


def test_neither_memory_nor_size_is_the_texts_to_choose() -> None:
    big = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 2**26}]
    greedy = refused(block_of(lzma.compress(ZIP, format=lzma.FORMAT_XZ, filters=big)))
    assert (greedy.reason, "emory" in greedy.message) == ("malformed", True)
    bomb = lzma.compress(bytes(MAX_BUNDLE_BYTES + 1), format=lzma.FORMAT_XZ, preset=0)
    assert len(bomb) < 10_000
    assert refused(block_of(bomb)).reason == "too_large"
    with pytest.raises(BundleError, match="more than 64 bundles"):
        find_blocks(f"{BEGIN}\n{END}\n" * (MAX_TEXT_BLOCKS + 1))


def test_prose_about_bundles_holds_none() -> None:
    assert find_blocks(f"It begins with {BEGIN}.") == []
    assert find_blocks(f"It ends with {END}.") == []
    assert "the first and the last line" in texts.why_none("\n".join(TEXT.split("\n")[3:-1]))


@pytest.mark.slow
def test_the_largest_bundle_can_be_read_again() -> None:
    """The dictionary grows with what is packed, and the limit on memory lets it through."""
    packed = texts.text_of(bytes(MAX_BUNDLE_BYTES), bundle_id="0" * 64)
    assert zip_in(find_blocks(packed)[0])[0] == bytes(MAX_BUNDLE_BYTES)


# As a user meets it


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.agentproof.zip").write_bytes(zip_bytes(forge.draft().seal()))
    other = forge.draft(holds=True).seal()
    (tmp_path / "two.md").write_text(f"Hi\n\n{folded(BUNDLE)}\n\n> quoted:\n\n{folded(other)}\n")
    (tmp_path / "cut.md").write_text("\n".join(folded(BUNDLE).split("\n")[:30]))
    return tmp_path


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="agentproof", input=stdin)


@pytest.mark.usefixtures("place")
def test_a_bundle_is_packed_as_text_and_read_from_it() -> None:
    packed = run("pack", "x.agentproof.zip", "--text")
    assert packed.exit_code == 0, packed.stderr
    assert "characters" in packed.stderr
    tokens = MarkdownIt("commonmark").parse(packed.stdout)
    assert [token.type for token in tokens] == ["html_block", "fence", "html_block"]
    (block,) = find_blocks(packed.stdout)
    assert zip_in(block)[0] == ZIP, "without the target's wheel"
    checked = run("check-current-bundle", "-", "--json", stdin=packed.stdout)
    assert bundle_id(BUNDLE) in checked.stdout
    assert run("check-current-bundle", "-", "--allow-intact", stdin=ZIP).exit_code == 0, (
        "a zip may come in too"
    )


@pytest.mark.usefixtures("place")
def test_each_of_two_bundles_is_checked_and_one_is_named() -> None:
    checked = run("check-current-bundle", "two.md", "-q")
    assert [line for line in checked.stdout.splitlines() if "#" in line] == ["two.md#1", "two.md#2"]
    several = run("show", "two.md")
    assert (several.exit_code, "name one" in several.stderr, "two.md#1" in several.stderr) == (2, True, True)
    assert run("show", "two.md#2").exit_code == 0
    assert "holds 2 of them" in run("show", "two.md#3").stderr
    assert run("report", "two.md", "--format", "summary").stdout.count("two.md#") == 2
    assert run("report", "two.md", "--format", "html").exit_code == 0


@pytest.mark.usefixtures("place")
def test_what_is_cut_is_invalid_and_a_text_without_a_bundle_is_none() -> None:
    cut = run("check-current-bundle", "cut.md")
    assert (cut.exit_code, "its end is cut off" in cut.stdout) == (5, True)
    assert run("report", "cut.md").exit_code == 5
    none = run("show", "-", stdin="hello")
    assert (none.exit_code, "the standard input: no bundle in this text" in none.stderr) == (2, True)
    Path("some.zip").write_text("hello")
    assert "no zip of a bundle" in run("check-current-bundle", "some.zip").stdout


def test_a_text_is_unpacked_packed_and_signed_as_text(place: Path) -> None:
    assert run("unpack", "two.md#1").stdout == "two-1\n"
    assert read_bundle(place / "two-1").manifest == BUNDLE.manifest
    assert run("pack", "two.md#2", "--thin").stdout == "two-2.agentproof.zip\n"
    one = folded(BUNDLE)
    assert run("unpack", "-", stdin=one).stdout == f"bundle-{bundle_id(BUNDLE)[:8]}\n"
    signed = run("sign", "-", stdin=one)
    (block,) = find_blocks(signed.stdout)
    roles = Counter(name.partition("-")[0] for name in from_zip_bytes(zip_in(block)[0]).attestations)
    assert roles == {"endorsed": 1, "recorded": 1}
    assert "endorsed " in signed.stderr
    assert "nothing is written into a text" in run("replay", "two.md#1", "--sign").stderr


@pytest.mark.usefixtures("place")
def test_a_text_that_is_in_the_way_stays() -> None:
    assert run("pack", "x.agentproof.zip", "--text", "--output", "c.md").exit_code == 0
    assert run("pack", "x.agentproof.zip", "--text", "--output", "c.md").exit_code == 0, "the same"
    assert run("pack", "x.agentproof.zip", "--text", "--output", "two.md").exit_code == 4
    assert run("pack", "x.agentproof.zip", "--text", "--output", "two.md", "--replace").exit_code == 0
