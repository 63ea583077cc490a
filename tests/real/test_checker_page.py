"""`agentproof-check.html` in Chromium: a second reader of the format, held to what the command says."""

import base64
import json
import lzma
import math
import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from agentproof.bundle.store import as_text, bundle_id, files_of, from_zip_bytes, zip_bytes
from agentproof.bundle.text import BEGIN
from agentproof.bundle.zip import stored_zip
from agentproof.check.bundle import Reader, check_bundle, check_path
from agentproof.errors import BundleError, FormatError
from agentproof.limits import MAX_STATE_BYTES
from agentproof.models.report import Report
from agentproof.models.wire import decode, encode
from tests import forge, texts, vectors
from tests.chromium import WIDTHS, contrast, in_chromium, show
from tests.command import agentproof
from tests.forge import draft
from tests.forgeries import FORGERIES, forged
from tests.hostile import hostile
from tests.mutations import mutated

pytestmark = in_chromium

MADE = ("members", "encoding", "signature")
FOLDERS = sorted(path.parent for path in vectors.PLACE.glob("*/expected.json"))

_JUDGE = """async (zips) => {
  const found = [];
  for (const zip of zips) {
    const bytes = Uint8Array.from(atob(zip), letter => letter.charCodeAt(0));
    const report = await checkBundle(async () => readZip(bytes));
    found.push([wordOf(report), report.checks.map(({name, status, reason}) => [name, status, reason])]);
  }
  return found;
}"""
_JUDGE_TEXTS = """async (texts) => {
  const found = [];
  for (const text of texts) {
    const read = [];
    for (const block of findBlocks(text)) {
      const report = await checkBundle(() => filesInBlock(block));
      read.push([wordOf(report), report.id]);
    }
    found.push(read);
  }
  return found;
}"""
_PARSE = """(documents) => documents.map(given => {
  const bytes = Uint8Array.from(atob(given), letter => letter.charCodeAt(0));
  try {
    parseCanonical(bytes, LIMITS.state, "x");
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
})"""
_UNPACK = """(streams) => streams.map(given => {
  const bytes = Uint8Array.from(atob(given), letter => letter.charCodeAt(0));
  try {
    return base64(unpackXz(bytes, 2 ** 20));
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
})"""


def _letters(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, as the command writes it."""
    path = tmp_path_factory.mktemp("checker") / "agentproof-check.html"
    ran = agentproof("report", "--checker", "--output", path)
    assert ran.returncode == 0, ran.stderr
    return path


@pytest.fixture(scope="module")
def page(browser: Browser, file: Path) -> Page:
    """One page that is given one bundle after another."""
    return show(browser, file).page


def judged(page: Page, zips: Sequence[bytes]) -> list[tuple[str, list[list[str | None]]]]:
    found: list[Any] = page.evaluate(_JUDGE, [_letters(each) for each in zips])
    return [(word, checks) for word, checks in found]


def _three(report: Report) -> list[list[str | None]]:
    """The command's checks of those that the page makes, as a reader without trust sees them."""
    return [
        [each.name, *(("passed", None) if each.reason == "no_trust" else (each.status, each.reason))]
        for each in report.checks
        if each.name in MADE
    ]


def test_every_vector_is_judged_as_by_the_command_for_the_checks_that_the_page_makes(page: Page) -> None:
    zips = [(folder / "bundle.zip").read_bytes() for folder in FOLDERS]
    for folder, (word, checks) in zip(FOLDERS, judged(page, zips), strict=True):
        report = check_path(folder / "bundle.zip", reader=Reader()).report
        command = _three(report)
        assert checks[:3] == command, folder.name
        fails = any(status == "failed" for _, status, _ in command)
        assert word == ("INVALID" if fails else "3 of 6 checks passed"), folder.name
        assert {name for name, _, reason in checks[3:] if reason == "command_only"} == {
            each.name for each in report.checks if each.name not in MADE
        }


@pytest.mark.slow  # the vectors above have one change of each kind
def test_no_change_of_a_few_bytes_is_accepted(page: Page) -> None:
    data = zip_bytes(draft(holds=True).seal())
    changed = list(mutated(data, step=len(data) // 64))
    assert len(changed) > 300
    found = judged(page, [each for _, each in changed])
    assert [name for (name, _), (word, _) in zip(changed, found, strict=True) if word != "INVALID"] == []


@pytest.mark.slow  # the vectors above have some
def test_every_forgery_that_is_signed_again_is_judged_as_by_the_command(page: Page) -> None:
    names, zips, command = [], [], []
    for forgery in FORGERIES:
        bundle = forged(forgery)
        try:
            data = stored_zip(files_of(bundle))
            read = from_zip_bytes(data)
        except (BundleError, UnicodeEncodeError):
            continue  # no zip holds it, so the page is given none
        names.append(forgery.name)
        zips.append(data)
        command.append(_three(check_bundle(read, reader=Reader()).report))
    assert len(names) > 100
    found = [checks[:3] for _, checks in judged(page, zips)]
    different = [each for each in zip(names, found, command, strict=True) if each[1] != each[2]]
    assert different == []


def test_a_bundle_is_restored_from_what_copies_of_its_text_become(page: Page) -> None:
    bundle = draft().seal()
    block = as_text(bundle)
    good = dict(texts.copied(block))
    for name, found in zip(good, page.evaluate(_JUDGE_TEXTS, list(good.values())), strict=True):
        assert found == [["3 of 6 checks passed", bundle_id(bundle)]], name
    bad = dict(texts.spoilt(block))
    for name, found in zip(bad, page.evaluate(_JUDGE_TEXTS, list(bad.values())), strict=True):
        assert [word for word, _ in found if word != "INVALID"] == [], name
    other = dict(texts.changed(block, positions=60))
    for name, found in zip(other, page.evaluate(_JUDGE_TEXTS, list(other.values())), strict=True):
        accepted = [identity for word, identity in found if word != "INVALID"]
        assert {*accepted} <= {bundle_id(bundle)}, name


def _documents() -> Iterator[bytes]:
    """Documents in the one encoding, and others that are nearly so."""
    chosen = random.Random(18)  # noqa: S311 (documents to try, the same each time)
    floats = [struct.unpack("<d", chosen.randbytes(8))[0] for _ in range(400)]
    floats += [round(chosen.uniform(-1e6, 1e18), chosen.randrange(6)) for _ in range(200)]
    floats += [0.0, -0.0, 1e16, 1e15, 123456789012345680.0, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308, 1e22]
    whole = [each for each in floats if math.isfinite(each)]
    yield from (encode({"x": each}) for each in whole)
    yield encode({"\uffff": 1, "\U0001f600": 2, "a": {}, "": [], "\x7f": '\x00\x1f"\\\b\f\n\r\t\u2028'})
    yield b'{\n  "\xf0\x9f\x98\x80": 2,\n  "\xef\xbf\xbf": 1\n}\n'
    yield encode([2**53, -(2**53), 2**53 - 1, 10**4299, -1, 0, True, None])
    yield encode(json.loads("[" * 200 + "]" * 200))
    nested: Any = []
    for _ in range(200):
        nested = [nested]
    yield json.dumps(nested, indent=2).encode() + b"\n"
    yield from (
        f"{text}\n".encode() for text in ("-0", "01", "1.", "1.50", "1e5", "1E+16", "1e+016", "1e999")
    )
    yield from (
        f"{text}\n".encode() for text in ("NaN", "Infinity", "nul", '"\\/"', '"\\u0041"', '"\\u001F"')
    )
    yield from (f"{text}\n".encode() for text in ('"\\u000a"', '"\\ud800"', '"\t"', '"\\u007f"', '""', "[ ]"))
    yield from (b"\xef\xbb\xbf1\n", b"1", b"1\n\n", b"\n", b"", b'"\xff"\n', b'"\xed\xa0\x80"\n', b"1\r\n")
    yield from (b'{\n  "a": 1,\n  "a": 1\n}\n', b"[\n  1,\n]\n", b"[\n 1\n]\n", b'{\n  "__proto__": 1\n}\n')


def test_the_one_encoding_of_json_is_the_commands(page: Page) -> None:
    documents = list(_documents())
    for document, accepted in zip(
        documents, page.evaluate(_PARSE, list(map(_letters, documents))), strict=True
    ):
        try:
            decode(document, limit=MAX_STATE_BYTES)
            canonical = True
        except FormatError:
            canonical = False
        assert accepted == canonical, document[:200]


def _streams() -> Iterator[tuple[bytes, bytes]]:
    chosen = random.Random(18)  # noqa: S311 (documents to try, the same each time)
    words = [chosen.randbytes(chosen.randrange(1, 12)) for _ in range(300)]
    text = b"".join(chosen.choice(words) for _ in range(40_000))
    for data in (b"", b"a", b"ab" * 90_000, chosen.randbytes(150_000), text, text[:1000] + bytes(300_000)):
        for options in (
            {"preset": 0},
            {"preset": 8},
            {"preset": 6, "lc": 0, "lp": 2, "pb": 0, "dict_size": 4096},
        ):
            chain = [{"id": lzma.FILTER_LZMA2, **options}]
            yield data, lzma.compress(data, check=lzma.CHECK_CRC32, filters=chain)


def test_xz_is_unpacked_as_by_its_library_and_nothing_else_is_taken(page: Page) -> None:
    streams = list(_streams())
    found = page.evaluate(_UNPACK, [_letters(packed) for _, packed in streams])
    assert [_letters(data) for data, _ in streams] == found
    data, packed = streams[4]
    delta = [{"id": lzma.FILTER_DELTA, "dist": 1}, {"id": lzma.FILTER_LZMA2, "preset": 6}]
    large = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 2**26}]
    refused = {
        "another check": (lzma.compress(data, check=lzma.CHECK_CRC64), "malformed"),
        "another filter": (lzma.compress(data, check=lzma.CHECK_CRC32, filters=delta), "malformed"),
        "a larger dictionary": (lzma.compress(data, check=lzma.CHECK_CRC32, filters=large), "malformed"),
        "two streams": (packed + packed, "not_canonical"),
        "padding": (packed + bytes(4), "not_canonical"),
        "too much": (lzma.compress(bytes(2**20 + 1), check=lzma.CHECK_CRC32), "too_large"),
        "LZMA alone": (lzma.compress(data, format=lzma.FORMAT_ALONE), "malformed"),
        **{f"cut at {at}": (packed[:at], "truncated") for at in (0, 5, 13, 20, len(packed) - 1)},
    }
    answers = page.evaluate(_UNPACK, [_letters(each) for each, _ in refused.values()])
    assert dict(zip(refused, answers, strict=True)) == {name: why for name, (_, why) in refused.items()}
    packed = streams[13][1]
    for at in range(0, len(packed), len(packed) // 60):
        spoilt = packed[:at] + bytes([packed[at] ^ 0x10]) + packed[at + 1 :]
        (answer,) = page.evaluate(_UNPACK, [_letters(spoilt)])
        assert answer in ("malformed", "truncated", "not_canonical", "too_large"), at


def test_a_file_and_a_pasted_text_are_shown_without_a_request(
    browser: Browser, file: Path, tmp_path: Path
) -> None:
    bundle = draft().seal()
    (tmp_path / "x.agentproof.zip").write_bytes(zip_bytes(bundle))
    shown = show(browser, file)
    page = shown.page
    page.context.set_offline(True)
    page.set_input_files("#file", tmp_path / "x.agentproof.zip")
    result = page.locator("#results article")
    result.wait_for()
    assert result.get_by_role("heading", name="Approving one state approves its sibling").is_visible()
    assert result.get_by_text(forge.REPORTER.public.fingerprint).is_visible()
    assert result.get_by_text(f"sha256:{bundle_id(bundle)}").is_visible()
    assert "not recomputed here" in result.inner_text()
    assert result.locator("[data-status=passed]").count() == 3
    assert "CURRENT" not in page.inner_text("#status")
    quoted = dict(texts.copied(as_text(bundle)))["quoted three times, CRLF"]
    page.fill("#text", quoted + "\r\n\r\n" + as_text(draft(holds=True).seal())[:-4000])
    page.get_by_role("button", name="Check the text").click()
    expect(page.locator("#results article")).to_have_count(2, timeout=30_000)
    assert page.inner_text("#status") == "2 bundles: 3 of 6 checks passed; INVALID"
    assert "its end is cut off" in page.locator("#results article").nth(1).inner_text()
    page.fill("#text", "no bundle")
    page.get_by_role("button", name="Check the text").click()
    expect(page.locator("#status")).to_contain_text(BEGIN, timeout=30_000)
    assert shown.requests == [file.as_uri()]
    assert shown.complaints == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_hostile_bundle_is_shown_and_does_nothing(
    browser: Browser, file: Path, tmp_path: Path, width: int
) -> None:
    (tmp_path / "harm.agentproof.zip").write_bytes(zip_bytes(hostile(huge=False)))
    shown = show(browser, file, width=width)
    page = shown.page
    page.set_input_files("#file", tmp_path / "harm.agentproof.zip")
    page.locator("#results article").wait_for()
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert "<script>window.pwned = 1</script>" in page.inner_text("#results h2")
    assert page.evaluate("window.pwned") is None
    assert page.locator("#results").locator("script, img, svg, iframe, a, style, link").count() == 0
    assert "\u202e" not in page.content()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.requests == [file.as_uri()]
    assert shown.complaints == []


def test_the_policy_lets_nothing_out_and_nothing_in(browser: Browser, file: Path) -> None:
    page = show(browser, file).page
    outcomes = page.evaluate(
        """async () => {
          const found = {};
          const attempt = async (name, act) => {
            try { await act(); found[name] = "done"; } catch (error) { found[name] = error.name; }
          };
          await attempt("fetch", () => fetch("http://127.0.0.1:9/"));
          await attempt("markup", () => { document.body.innerHTML = "<b>x</b>"; });
          await attempt("policy", () => trustedTypes.createPolicy("p", {createHTML: text => text}));
          const script = document.createElement("script");
          await attempt("script", () => {
            script.textContent = "window.pwned = 1";
            document.body.append(script);
          });
          found.pwned = window.pwned ?? null;
          return found;
        }"""
    )
    assert outcomes["fetch"] == outcomes["markup"] == outcomes["policy"] == "TypeError"
    assert outcomes["pwned"] is None


def test_the_keyboard_reaches_all_of_it_and_each_field_has_a_name(browser: Browser, file: Path) -> None:
    page = show(browser, file, width=390).page
    seen = []
    for _ in range(3):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
            )
        )
    assert seen == [["file", "solid"], ["text", "solid"], ["check", "solid"]]
    assert page.get_by_label("A file").get_attribute("id") == "file"
    assert page.get_by_label("Or a text").get_attribute("id") == "text"
    page.keyboard.press("Shift+Tab")
    page.keyboard.insert_text(as_text(draft().seal()))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#results article").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "ARTICLE"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_the_light_and_in_the_dark(
    browser: Browser, file: Path, tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "x.zip").write_bytes(zip_bytes(draft().seal()))
    page = show(browser, file, scheme=scheme).page
    page.set_input_files("#file", tmp_path / "x.zip")
    page.locator("#results article").wait_for()
    worst = contrast(page)
    assert float(worst["ratio"]) >= 4.5, worst


@pytest.mark.parametrize(
    ("lacking", "word"),
    [
        (
            "crypto.subtle.importKey = () => Promise.reject(new DOMException('', 'NotSupportedError'))",
            "1 of 6 checks passed",
        ),
        ("Object.defineProperty(Crypto.prototype, 'subtle', {value: undefined})", "no WebCrypto"),
    ],
)
def test_a_browser_without_the_means_says_so(
    browser: Browser, file: Path, tmp_path: Path, lacking: str, word: str
) -> None:
    (tmp_path / "x.zip").write_bytes(zip_bytes(draft().seal()))
    page = browser.new_page()
    page.add_init_script(lacking)
    page.goto(file.as_uri())
    page.set_input_files("#file", tmp_path / "x.zip")
    expect(page.locator("#status")).to_contain_text(word, timeout=30_000)
    if word.startswith("1"):
        assert "no Ed25519" in page.inner_text("[data-check=encoding]")
        assert page.locator("[data-status=passed]").count() == 1
        assert "nobody that was verified" in page.inner_text("#results")
