"""A journal of the recorder's in a directory of the test's own."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentproof._recorder import events, lanes


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[events.Journal]:
    monkeypatch.setattr(events, "_journal", None)
    token = lanes._current.set(None)
    opened = events.open_journal(str(tmp_path), "as-written", "0")
    yield opened
    os.close(opened._descriptor)
    lanes._current.reset(token)


@pytest.fixture
def told(journal: events.Journal) -> Callable[[], list[dict[str, Any]]]:
    """What the journal holds by now."""

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for line in Path(journal.path).read_text().splitlines()]

    return read
