"""A page in a real browser: Debian's Chromium, driven by Playwright's Python client (`browser` in
`tests/real/conftest.py`)."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")

in_chromium = [
    pytest.mark.real,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium"),
]
"""Marks of a module whose tests need it."""

WIDTHS = [390, 1280]


@dataclass
class Shown:
    """A page, and all that it did."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def show(browser: Browser, path: Path, *, width: int = 1280, scheme: str = "light") -> Shown:
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    shown = Shown(page)
    page.on("request", lambda request: shown.requests.append(request.url))
    page.on("console", lambda message: shown.complaints.append(message.text))
    page.on("pageerror", lambda error: shown.complaints.append(str(error)))
    page.on("dialog", lambda dialog: shown.complaints.append(dialog.message))
    page.goto(path.as_uri())
    return shown


def contrast(page: Page) -> dict[str, float | str]:
    """The lowest contrast of a text on the page with what is behind it: `ratio`, and `text`."""
    found: dict[str, float | str] = page.evaluate(_CONTRAST)
    return found


_CONTRAST = """() => {
  const linear = c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const channel = value => linear(value / 255);
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let worst = {ratio: 21};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    const [one, two] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(one, two) + .05) / (Math.min(one, two) + .05);
    if (ratio < worst.ratio) worst = {ratio, text: walker.currentNode.textContent.trim().slice(0, 60)};
  }
  return worst;
}"""
