"""Many bundles in one go: in order, each with its own report, whichever process made it."""

import os
import signal
from pathlib import Path

import pytest

from agentproof.bundle.store import write_bundle, zip_bytes
from agentproof.check.bundle import Reader
from agentproof.check.many import FEW, Checker, check_many
from agentproof.errors import CannotDoError, UsageError
from agentproof.models.report import Report
from agentproof.system.files import read_bounded
from tests import forge

READER = Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources())


def _bundles(root: Path, count: int) -> list[Path]:
    good = zip_bytes(forge.draft().seal())
    paths = []
    for number in range(count):
        path = root / f"{number:03}.agentproof.zip"
        path.write_bytes(good if number % 5 else good[:-1])
        paths.append(path)
    return paths


@pytest.mark.parametrize("workers", [1, 2])
def test_reports_come_in_order_with_one_or_several_workers(tmp_path: Path, workers: int) -> None:
    paths = _bundles(tmp_path, FEW)
    reports = list(check_many(paths, reader=READER, workers=workers))
    assert [report.bundle for report in reports] == [str(path) for path in paths]
    assert [report.status for report in reports] == ["CURRENT" if n % 5 else "INVALID" for n in range(FEW)]


def test_a_path_that_is_not_there_is_an_error_and_no_report(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        list(check_many([tmp_path / "absent"], reader=READER))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_name_that_is_no_text_spoils_no_report(tmp_path: Path, workers: int) -> None:
    paths = _bundles(tmp_path, FEW)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.agentproof.zip"))
    try:
        odd.write_bytes(zip_bytes(forge.draft().seal()))
    except OSError:
        pytest.skip("this file system has text for names")
    reports = list(check_many([*paths, odd], reader=READER, workers=workers))
    assert len(reports) == FEW + 1
    assert (reports[-1].bundle, reports[-1].status) == (f"{tmp_path}/\\udcff.agentproof.zip", "CURRENT")


def test_a_worker_that_is_killed_ends_the_check_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(_checker: Checker, _path: Path) -> Report:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    monkeypatch.setattr(Checker, "__call__", kill)
    with pytest.raises(CannotDoError, match="was killed"):
        list(check_many(_bundles(tmp_path, FEW), reader=READER, workers=2))


def test_bundles_of_a_store_share_their_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "bundles"
    for number in range(3):
        write_bundle(forge.draft().seal(), store / f"case-{number}" / "0.20.0", wheels=store / "wheels")
        (store / f"case-{number}" / "reproduction.py").write_bytes(forge.REPRODUCTION)
    read: list[Path] = []

    def counting(path: Path, *, limit: int, what: str) -> bytes:
        read.append(path)
        return read_bounded(path, limit=limit, what=what)

    monkeypatch.setattr("agentproof.bundle.store.read_bounded", counting)
    reports = list(check_many(sorted(store.glob("case-*/*.0")), reader=READER))
    assert [report.status for report in reports] == ["CURRENT"] * 3
    assert read == [store / "wheels" / forge.WHEEL_NAME]
