"""A matrix on real wheels: on this machine's processes and on a dask cluster that loses a worker."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from agentproof import _executors, compare, matrix, signing
from agentproof._targets import parse_target

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bundles" / "sibling-approval" / "reproduction.py"

pytestmark = [pytest.mark.real, pytest.mark.slow]


class Story:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def working(self, text: str) -> None:
        """Nothing."""

    def done(self, label: str, text: str) -> None:
        self.lines.append(f"{label} {text}")


def _jobs() -> list[matrix.Job]:
    return matrix.jobs_of(
        compare.find_subjects(SCRIPT),
        [parse_target("0.20.0"), parse_target("0.21.0")],
        [None],
        options=compare.Options(),
        story=Story(),
    )


def _run(pool: _executors.Pool, output: Path, key: signing.PrivateKey) -> Story:
    story = Story()
    matrix.run_matrix(
        _jobs(), make_executor=pool.make, workers=pool.workers, output=output, key=key, story=story
    )
    return story


def _bytes(output: Path) -> dict[str, bytes]:
    return {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in sorted(output.rglob("*"))
        if path.is_file()
    }


@pytest.mark.filterwarnings("default")  # distributed's own, at the loss of a worker
def test_a_cluster_that_loses_a_worker_gives_the_same_bytes_as_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    key = signing.generate_key()
    with _executors.processes(2) as pool:
        _run(pool, tmp_path / "here", key)
    # Another seal, so that the cluster makes its own recordings instead of taking the kept ones.
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "other"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        victim = cluster.workers[0].process.pid
        reaper = threading.Thread(target=_kill_later, args=(victim,))
        reaper.start()
        with _executors.cluster(cluster.scheduler_address) as pool:
            _run(pool, tmp_path / "there", key)
        reaper.join()
    assert _bytes(tmp_path / "here") == _bytes(tmp_path / "there")


def _kill_later(process: int) -> None:
    time.sleep(5)
    os.kill(process, signal.SIGKILL)


def test_no_cluster_is_said_with_what_to_start(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from agentproof.errors import CannotDoError  # noqa: PLC0415

    with (
        pytest.raises(CannotDoError, match="no dask cluster"),
        _executors.cluster("tcp://127.0.0.1:9"),
    ):
        pass
