"""For all tests: lines as wide as where nobody said how wide a terminal is, and a fair share of the work.

Hypothesis draws the same examples in every run, so that a change is accused of what it broke. The nightly
workflow draws others, with `HYPOTHESIS_PROFILE=default`.
"""

import os
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:  # Any: xdist is not typed
    """Files stay together, so that what a module shares is made once; who is done takes from others."""
    from xdist import scheduler  # type: ignore[import-untyped]  # noqa: PLC0415  only where there are workers

    return scheduler.WorkStealingScheduling(config, log) if config.option.dist == "load" else None
