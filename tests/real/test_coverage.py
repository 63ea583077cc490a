"""docs/coverage.md lists the public entry points of the newest release, and what is recorded of them."""

import json
import sys
from collections.abc import Iterator

import pytest

from agentproof.environment import interpreters, releases, venv
from tests import coverage
from tests.entry_points import entry_points
from tests.real.test_recorder_identity import environment

pytestmark = [pytest.mark.real, pytest.mark.slow]


def _newest() -> str:
    here = interpreters.find(f"{sys.version_info.major}.{sys.version_info.minor}")
    found = releases.releases("openai-agents", interpreter=here)
    return str(max(each.version for each in found if each.yanked is None and not each.version.is_prerelease))


@pytest.fixture(scope="module")
def newest() -> Iterator[venv.PreparedEnvironment]:
    """An environment with the newest release that the index has."""
    with environment(_newest(), "3.12") as prepared:
        yield prepared


def test_the_newest_release_has_no_entry_point_that_is_not_listed(newest: venv.PreparedEnvironment) -> None:
    assert coverage.unlisted(newest.site_packages) == [], "python -m tests.coverage, and say what is recorded"


def test_what_is_recorded_of_the_newest_release_is_what_is_replaced(newest: venv.PreparedEnvironment) -> None:
    today = coverage.Hooked.of([coverage.measure(newest)])
    kept = coverage.Hooked.read()
    for point in entry_points(newest.site_packages):
        assert today.has(point) == kept.has(point), (
            f"{point.owner}.{point.method}: python -m tests.coverage --measure"
        )


@pytest.mark.parametrize("version", coverage.MEASURED)
def test_what_the_recorder_replaces_is_as_it_was_measured(version: str) -> None:
    with environment(version, "3.12") as prepared:
        assert coverage.measure(prepared) == json.loads(coverage.HOOKED.read_text("utf-8"))[version]
