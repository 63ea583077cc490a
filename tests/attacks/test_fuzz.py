"""A few examples of each fuzzer; `python -m tests.fuzzing 600` goes on for ten minutes."""

from collections.abc import Callable

import pytest
from hypothesis import settings

from tests import fuzzing


@pytest.mark.parametrize("entry", fuzzing.ENTRIES, ids=lambda entry: entry.__name__)
def test_a_strangers_bytes_end_in_a_report_or_an_error_of_ours(entry: Callable[[], None]) -> None:
    settings(max_examples=25, deadline=None, database=None)(entry)()
