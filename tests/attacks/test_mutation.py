"""No small change of a bundle is accepted: a sample of them here, all in `tests/real`."""

import pytest

from agentproof.check import Reader
from agentproof.store import zip_bytes
from tests import forge, mutations

BUNDLE = forge.draft().seal()
READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())


@pytest.mark.parametrize("path", list(mutations.files_of(BUNDLE)))
def test_no_changed_file_is_accepted(path: str) -> None:
    step = max(len(mutations.file_of(BUNDLE, path)) // 8, 1)
    assert mutations.accepted_in_a_directory(BUNDLE, path, READER, step=step) == []


def test_no_changed_zip_is_accepted() -> None:
    raw = zip_bytes(BUNDLE)
    assert mutations.accepted_in_a_zip(raw, READER, step=len(raw) // 80) == []


def test_a_change_is_never_the_bytes_themselves() -> None:
    data = b" \n{}\t"
    assert all(changed != data for _, changed in mutations.mutated(data))
