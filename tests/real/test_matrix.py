"""A matrix on real wheels: on this machine's processes and on a dask cluster that loses a worker."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentproof.compare import executors, matrix
from agentproof.compare.subjects import find_subjects
from agentproof.errors import CannotDoError
from agentproof.record.conditions import Conditions
from agentproof.record.target import parse_target
from agentproof.trust import signing
from tests.command import Told

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bundles" / "sibling-approval" / "reproduction.py"

pytestmark = [pytest.mark.real, pytest.mark.slow]


def _jobs(*, side_by_side: bool = True) -> list[matrix.Job]:
    return matrix.jobs_of(
        find_subjects(SCRIPT),
        [parse_target("0.20.0"), parse_target("0.21.0")],
        [None],
        conditions=Conditions(side_by_side=side_by_side),
        progress=Told(),
    )


def _run(pool: executors.Pool, output: Path, key: signing.PrivateKey, *, side_by_side: bool = True) -> Told:
    progress = Told()
    matrix.run_matrix(
        _jobs(side_by_side=side_by_side),
        make_executor=pool.make,
        workers=pool.workers,
        output=output,
        key=key,
        progress=progress,
    )
    return progress


def _bytes(output: Path) -> dict[str, bytes]:
    return {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in sorted(output.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def own_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes whoever records from now on do so with a seal of its own: nothing that was kept is taken."""

    def use(name: str) -> None:
        monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / name))

    return use


class Reaper(threading.Thread):
    """Kills a worker of a cluster in the middle of a job."""

    def __init__(self, cluster: Any) -> None:  # Any: dask has no types
        super().__init__()
        self._cluster = cluster
        self.killed: str | None = None
        """The job that it was at."""

    def run(self) -> None:
        """Wait until the first worker has been at one job for two seconds."""
        import distributed  # noqa: PLC0415  (an extra)

        victim = self._cluster.workers[0]
        with distributed.Client(self._cluster.scheduler_address) as client:  # type: ignore[no-untyped-call]
            while self.killed is None:
                job = self._job(client, victim)
                time.sleep(2)
                if job is not None and job == self._job(client, victim):
                    self.killed = job
                    os.kill(victim.process.pid, signal.SIGKILL)

    @staticmethod
    def _job(client: Any, victim: Any) -> str | None:  # Any: dask has no types
        at = client.processing().get(victim.worker_address) or ()
        return next(map(str, at), None)


@pytest.mark.filterwarnings("default")  # distributed's own, at the loss of a worker
def test_a_cluster_that_loses_a_worker_gives_the_same_bytes_as_this_machine(
    tmp_path: Path, own_recordings: Callable[[str], None]
) -> None:
    distributed = pytest.importorskip("distributed")
    own_recordings("config")
    key = signing.generate_key()
    with executors.processes(2) as pool:
        _run(pool, tmp_path / "here", key, side_by_side=False)
    own_recordings("other")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        reaper = Reaper(cluster)
        reaper.start()
        with executors.cluster(cluster.scheduler_address) as pool:
            assert pool.fills is (executors._processors() < 2 * 2)
            _run(pool, tmp_path / "there", key)
        reaper.join(60)
    assert reaper.killed is not None
    assert _bytes(tmp_path / "here") == _bytes(tmp_path / "there")


@pytest.mark.filterwarnings("default")  # distributed's own, at the loss of its scheduler
def test_a_cluster_that_goes_away_is_said_and_what_it_recorded_is_kept(
    tmp_path: Path, own_recordings: Callable[[str], None]
) -> None:
    distributed = pytest.importorskip("distributed")
    own_recordings("config")
    key, progress = signing.generate_key(), Told()
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    )

    class Ending(Told):
        """Ends the cluster once something is recorded."""

        def done(self, label: str, text: str) -> None:
            super().done(label, text)
            if label == "1 of 2":
                cluster.close()

    with executors.cluster(cluster.scheduler_address) as pool, pytest.raises(CannotDoError, match="is gone"):
        matrix.run_matrix(
            _jobs(), make_executor=pool.make, workers=1, output=tmp_path / "m", key=key, progress=Ending()
        )
    with executors.processes(1) as pool:
        finished = matrix.run_matrix(
            _jobs(), make_executor=pool.make, workers=1, output=tmp_path / "m", key=key, progress=progress
        )
    assert finished.kept == 1
    assert [cell.outcome for cell in finished.rows[0].cells] == ["baseline", "fixed"]


def test_no_cluster_is_said_with_what_to_start(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(CannotDoError, match="no dask cluster"),
        executors.cluster("tcp://127.0.0.1:9"),
    ):
        pass
