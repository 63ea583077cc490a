"""Where the real tests keep keys and wheels: one place a session, shared by the workers of pytest-xdist.

What a wheel store says of a wheel's origin is sealed under the key in the configuration beside it, so two
configurations must not share one store at the same time.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def _own_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTPROOF_CONFIG_DIR", str(base / "agentproof" / "config"))
        patch.setenv("AGENTPROOF_CACHE_DIR", str(base / "agentproof" / "cache"))
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("NO_COLOR", "1")
        # Another worker may make the key at the same moment; one of the two finds it there.
        subprocess.run([sys.executable, "-m", "agentproof", "keygen"], check=False, capture_output=True)
        yield


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Chromium; what needs it is marked with `tests.chromium.in_chromium`."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (0.3 s, for two modules)

    from tests.chromium import CHROMIUM  # noqa: PLC0415 (as above)

    with sync_playwright() as playwright:
        # As root, Chromium refuses its own sandbox; the pages under test come from these tests.
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()
