"""A hunt on a real release, from the command to a bundle that confirms what it found."""

import json
from pathlib import Path

import pytest

from ..command import agentproof

pytestmark = pytest.mark.slow


def test_a_hunt_finds_what_is_wrong_in_an_old_release(tmp_path: Path) -> None:
    done = agentproof(
        "hunt",
        "--sdk",
        "0.19.2",
        "--minutes",
        "0.5",
        "--seed",
        "1",
        "--only",
        "approvals",
        "--json",
        cwd=tmp_path,
        timeout=2400,
    )
    hunted = json.loads(done.stdout)
    confirmed = [each for each in hunted["findings"] if each["problem"] is None and each["known"] is None]
    assert confirmed
    assert all(each["lines"] <= 130 for each in confirmed)
    for each in confirmed:
        checked = agentproof("check-current-bundle", each["bundle"], cwd=tmp_path)
        assert "CURRENT" in checked.stdout


def test_what_is_known_is_no_news(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    known.write_text('{"known": [{"signature": "*", "reason": "everything is"}]}')
    done = agentproof(
        "hunt", "--sdk", "0.19.2", "--minutes", "0.5", "--known", str(known), "--json", cwd=tmp_path
    )
    assert all(each["known"] == "everything is" for each in json.loads(done.stdout)["findings"])
    assert not (tmp_path / "hunt").exists()
