"""Tests of every outcome, for the recorder: they are run by `tests/real/test_pytest_reproductions.py`."""

import pytest
from prices import price

from agents import Runner


@pytest.mark.money
async def test_only_the_approved_state_pays(clerk, capsys):
    paused = await Runner.run(clerk, "Pay 100.")
    decided, untouched = paused.to_state(), paused.to_state()
    decided.approve(decided.get_interruptions()[0])
    resumed = await Runner.run(clerk, untouched)
    assert resumed.interruptions, "a state that nobody approved was resumed, and paid"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["tea", "cake", "pie"], ids=["a-b", "c d::e/f", "none"])
async def test_prices(name, tmp_path):
    (tmp_path / "bill").write_text(price(name))
    print(f"{name} costs {(tmp_path / 'bill').read_text()}, written to {tmp_path}")


class TestOther:
    async def test_a_pause(self, clerk):
        assert len((await Runner.run(clerk, "Pay 100.")).interruptions) == 1

    def test_not_async(self, clerk):
        assert Runner.run_sync(clerk, "Pay 100.").interruptions


def test_a_broken_fixture(broken):
    raise AssertionError("never begins")


@pytest.fixture
def broken_end():
    yield
    raise ValueError("its end fails")


def test_a_broken_end(broken_end):
    pass


@pytest.mark.skip(reason="not today")
def test_skipped():
    raise AssertionError("never begins")


@pytest.mark.xfail(reason="known, and waiting")
def test_known():
    raise AssertionError("fails, as it may")


@pytest.mark.xfail(strict=True, reason="was known")
def test_unexpected():
    pass
