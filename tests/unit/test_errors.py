"""Errors cross processes whole."""

import pickle

import pytest

from agentproof.errors import AgentproofError, BundleError, FormatError, UsageError


@pytest.mark.parametrize(
    "error",
    [
        UsageError("no such file", hint="look again"),
        BundleError("truncated", "the zip ends", path="x.json", hint="get it again"),
        FormatError("not JSON", path="x.json", reason="not_canonical"),
    ],
)
def test_an_error_comes_back_whole_from_another_process(error: AgentproofError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
