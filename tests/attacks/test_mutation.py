"""No small change of a bundle is accepted: a sample of them here, all in `tests/real`."""

import pytest

from agentproof.bundle.store import zip_bytes
from agentproof.check.bundle import Reader
from tests import forge, mutations

BUNDLE = forge.draft().seal()
READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())


@pytest.mark.parametrize("path", list(mutations.files_of(BUNDLE)))
def test_no_changed_file_is_accepted(path: str) -> None:
    step = max(len(mutations.file_of(BUNDLE, path)) // 8, 1)
    assert mutations.try_file(BUNDLE, path, READER, step=step).accepted == []


def test_no_changed_zip_is_accepted() -> None:
    raw = zip_bytes(BUNDLE)
    assert mutations.try_zip(raw, READER, step=len(raw) // 80).accepted == []


def test_a_change_is_never_the_bytes_themselves() -> None:
    data = b" \n{}\t"
    assert all(changed != data for _, changed in mutations.mutated(data))


def test_parts_of_the_work_are_the_whole_of_it() -> None:
    data = bytes(range(100))
    whole = sorted(mutations.mutated(data, step=7))
    in_parts = [
        change
        for start in range(0, 100, 30)
        for change in mutations.mutated(data, step=7, start=start, stop=start + 30)
    ]
    assert sorted(in_parts) == whole
