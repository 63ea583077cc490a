"""Reading one file of bounded size."""

import os
from pathlib import Path

import pytest

from agentproof.errors import UsageError
from agentproof.system.files import read_bounded


@pytest.mark.parametrize(("make", "said"), [(os.mkdir, "a directory"), (os.mkfifo, "no regular file")])
def test_what_is_no_file_is_refused_by_name_and_no_descriptor_stays_open(
    make: object, said: str, tmp_path: Path
) -> None:
    assert callable(make)
    place = tmp_path / "it"
    make(place)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(UsageError, match=f"trust file {place}: {said}"):
        read_bounded(place, limit=10, what="trust file")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"12345")
    assert read_bounded(tmp_path / "it", limit=5, what="wheel") == b"12345"
    with pytest.raises(UsageError, match="more than 4 bytes"):
        read_bounded(tmp_path / "it", limit=4, what="wheel")
