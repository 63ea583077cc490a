"""Matrices: jobs by content, results whatever the order, lost workers, failures that stop nothing."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentproof.bundle.store import WHEELS, Bundle, zip_bytes
from agentproof.compare import executors, matrix
from agentproof.compare.matrix import Job, JobResult, jobs_of, run_matrix
from agentproof.compare.subjects import Subject
from agentproof.errors import CannotDoError, UsageError
from agentproof.models.header import Header
from agentproof.record.conditions import Conditions
from agentproof.record.reproduction import Reproduction, read_reproduction
from agentproof.record.selection import Selection
from agentproof.record.target import parse_target
from tests import forge
from tests.command import Told


class Inline(Executor):
    """Runs a job when it is handed out, in this thread."""

    def __init__(self, lose: Sequence[str] = ()) -> None:
        self.lose = list(lose)
        self.handed_out: list[str] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        (job,) = arguments
        name = f"{job.row} {job.target}"
        self.handed_out.append(name)
        future: Future[Any] = Future()
        if name in self.lose:
            self.lose.remove(name)
            future.set_exception(BrokenExecutor("the worker was killed"))
        else:
            future.set_result(function(job))
        return future


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run_job` gives a forged recording by the job's target."""

    def thin(bundle: Bundle) -> bytes:
        members = {path: data for path, data in bundle.members.items() if not path.startswith(WHEELS)}
        return zip_bytes(Bundle(bundle.manifest, members))

    made = {"0.20.0": thin(forge.draft().seal()), "0.21.0": thin(forge.draft(holds=True).seal())}

    def run_job(job: Job) -> JobResult:
        if job.target not in made:
            return JobResult(None, f"the index has no {job.target} at /some/path", 0.5, 0.1)
        return JobResult(made[job.target], None, 1.0, 0.5)

    monkeypatch.setattr(matrix, "run_job", run_job)


def jobs(*names: str, targets: Sequence[str] = ("0.20.0", "0.21.0")) -> list[Job]:
    return [
        Job(
            name,
            Reproduction("reproduction.py", {"reproduction.py": name.encode()}, Header()),
            target,
            Conditions(),
            f"openai-agents=={target}",
        )
        for name in names
        for target in targets
    ]


def run(work: list[Job], output: Path, executor: Inline, progress: Told) -> matrix.MatrixResult:
    return run_matrix(
        work,
        make_executor=lambda: executor,
        workers=1,
        output=output,
        key=forge.REPORTER,
        progress=progress,
    )


@pytest.mark.usefixtures("recordings")
def test_each_row_is_compared_with_its_first_target(tmp_path: Path) -> None:
    finished = run(jobs("one", "two"), tmp_path, Inline(), Told())
    outcomes = {row.reproduction: [cell.outcome for cell in row.cells] for row in finished.rows}
    assert outcomes == {"one": ["baseline", "fixed"], "two": ["baseline", "fixed"]}
    document = json.loads((tmp_path / "matrix.json").read_bytes())
    assert document["format"] == "agentproof/matrix"
    assert len(list((tmp_path / "recordings").iterdir())) == 2


@pytest.mark.usefixtures("recordings")
def test_a_lost_worker_s_job_is_tried_again_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    run(jobs("one", "two"), tmp_path / "calm", Inline(), Told())
    progress, executor = Told(), Inline(lose=["one 0.21.0", "two 0.20.0"])
    run(jobs("one", "two"), tmp_path / "rough", executor, progress)
    assert (tmp_path / "calm" / "matrix.json").read_bytes() == (
        tmp_path / "rough" / "matrix.json"
    ).read_bytes()
    assert any(line.startswith("lost a worker died") for line in progress.lines)


@pytest.mark.usefixtures("recordings")
def test_a_job_that_kills_every_worker_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    executor = Inline(lose=["one 0.20.0"] * 3)
    finished = run(jobs("one", "two"), tmp_path, executor, Told())
    outcomes = {row.reproduction: [cell.outcome for cell in row.cells] for row in finished.rows}
    assert outcomes["two"] == ["baseline", "fixed"]
    assert finished.rows[0].cells[0].failed == "its worker was lost 3 times; is there enough memory?"
    assert executor.handed_out.count("one 0.20.0") == 3


@pytest.mark.usefixtures("recordings")
def test_jobs_beside_one_that_kills_its_worker_are_not_given_up(tmp_path: Path) -> None:
    class Pool(Inline):
        """Loses all that was handed out when the first of it kills its worker."""

        def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
            future: Future[Any] = Future()
            self.handed_out.append(arguments[0].row)
            beside_it = self.handed_out[-3:].count("killer") and len(self.handed_out) <= 3
            if arguments[0].row == "killer" or beside_it:
                future.set_exception(BrokenExecutor("the worker was killed"))
            else:
                future.set_result(function(arguments[0]))
            return future

    finished = run(jobs("killer", "calm", targets=("0.20.0",)), tmp_path, Pool(), Told())
    assert [(row.reproduction, row.cells[0].outcome) for row in finished.rows] == [
        ("killer", "not_recorded"),
        ("calm", "baseline"),
    ]


@pytest.mark.usefixtures("recordings")
def test_an_interrupted_matrix_goes_on_where_it_was_and_gives_the_same_bytes(tmp_path: Path) -> None:
    class Interrupted(Inline):
        """Stops at the third job, as Ctrl-C would."""

        def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
            if len(self.handed_out) == 2:
                raise KeyboardInterrupt
            return super().submit(function, *arguments, **options)

    work = jobs("one", "two")
    progress = Told()
    with pytest.raises(KeyboardInterrupt):
        run_matrix(
            work,
            make_executor=Interrupted,
            workers=-1,  # one job at a time
            output=tmp_path / "rough",
            key=forge.REPORTER,
            progress=progress,
        )
    assert progress.lines[-1] == "stopped 2 of 4 are done; the same command goes on from there"
    again = Inline()
    finished = run(work, tmp_path / "rough", again, Told())
    assert finished.kept == 2
    assert again.handed_out == ["two 0.20.0", "two 0.21.0"]
    run(work, tmp_path / "calm", Inline(), Told())
    assert _files(tmp_path / "rough") == _files(tmp_path / "calm")


def test_how_repeats_were_run_is_no_part_of_what_was_recorded() -> None:
    (job,) = jobs("one", targets=("0.20.0",))
    at_once, in_turn = (
        replace(job, conditions=Conditions(side_by_side=side_by_side)) for side_by_side in (True, False)
    )
    assert matrix._digest(at_once) == matrix._digest(in_turn)
    assert matrix._digest(replace(job, conditions=Conditions(repeats=3))) != matrix._digest(job)


@pytest.mark.parametrize(
    ("count", "processors", "fills"),
    [(1, 1, False), (1, 2, False), (2, 2, True), (2, 4, False), (3, 4, True)],
)
def test_a_pool_knows_whether_its_recordings_fill_the_processors(
    count: int, processors: int, fills: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_processors", lambda: processors)
    with executors.processes(count) as pool:
        assert pool.fills is fills


@pytest.mark.parametrize(
    ("threads", "processors", "fills"),
    [
        ({"tcp://a:1": 1, "tcp://b:1": 1}, {"tcp://a:1": 2, "tcp://b:1": 2}, False),
        ({"tcp://a:1": 1, "tcp://a:2": 1}, {"tcp://a:1": 2, "tcp://a:2": 2}, True),
        ({"tcp://a:1": 2, "tcp://b:1": 1}, {"tcp://a:1": 2, "tcp://b:1": 8}, True),
        ({"tcp://a:1": 2, "tcp://b:1": 1}, {"tcp://a:1": 4, "tcp://b:1": 1}, False),
        ({"tcp://a:1": 2}, {}, True),
    ],
)
def test_a_cluster_knows_whether_recordings_fill_one_of_its_hosts(
    threads: dict[str, int], processors: dict[str, int], fills: bool
) -> None:
    assert executors._fill_a_host(threads, processors) is fills


@pytest.mark.usefixtures("recordings")
def test_what_an_interrupted_matrix_recorded_of_another_script_is_not_taken(tmp_path: Path) -> None:
    (job,) = jobs("one", targets=("0.20.0",))
    log = matrix._RecordingLog(tmp_path)
    run([job], tmp_path, Inline(), Told())
    log.note(job, next((tmp_path / "recordings").iterdir()))
    assert matrix._RecordingLog(tmp_path).recording(job) is not None
    other = replace(job, reproduction=replace(job.reproduction, files={"reproduction.py": b"another"}))
    assert matrix._RecordingLog(tmp_path).recording(other) is None
    newest = replace(job, target="latest")
    log.note(newest, next((tmp_path / "recordings").iterdir()))
    assert matrix._RecordingLog(tmp_path).recording(newest) is None


@pytest.mark.usefixtures("recordings")
def test_what_somebody_changed_in_an_interrupted_matrix_is_recorded_again(tmp_path: Path) -> None:
    (job,) = jobs("one", targets=("0.20.0",))
    run([job], tmp_path, Inline(), Told())
    (place,) = (tmp_path / "recordings").iterdir()
    log = matrix._RecordingLog(tmp_path)
    log.note(job, place)
    assert matrix._RecordingLog(tmp_path).recording(job) is not None
    draft = forge.draft()
    judgement = draft.manifest["judgement"]
    judgement["verdict"] = "holds"
    judgement["claims"] = [each for each in judgement["claims"] if each["status"] != "violated"]
    place.write_bytes(zip_bytes(draft.seal()))
    assert matrix._RecordingLog(tmp_path).recording(job) is None


def _files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.mark.usefixtures("recordings")
def test_what_cannot_be_recorded_is_a_cell_without_paths_of_this_machine(tmp_path: Path) -> None:
    finished = run(jobs("one", targets=("0.20.0", "9.9")), tmp_path, Inline(), Told())
    cell = finished.rows[0].cells[1]
    assert (cell.outcome, cell.failed) == ("not_recorded", "the index has no 9.9 at <path>")


@pytest.mark.usefixtures("recordings")
def test_a_place_that_cannot_be_written_is_said_before_anything_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    executor = Inline()
    with pytest.raises(CannotDoError, match="cannot write to"):
        run(jobs("one"), tmp_path / "file" / "matrix", executor, Told())
    assert executor.handed_out == []


@pytest.mark.usefixtures("recordings")
def test_no_more_jobs_than_the_window_are_handed_out_at_a_time(tmp_path: Path) -> None:
    class Counting(Inline):
        """Leaves each job to be done when somebody waits for it."""

        def __init__(self) -> None:
            super().__init__()
            self.open: list[tuple[Future[Any], Any]] = []
            self.most = 0

        def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
            self.open = [(future, result) for future, result in self.open if not future.done()]
            future: Future[Any] = Future()
            self.open.append((future, function(arguments[0])))
            self.most = max(self.most, len(self.open))
            if len(self.open) == 3:
                for waiting, result in self.open:
                    waiting.set_result(result)
            return future

    executor = Counting()
    run(jobs("one", "two", "three"), tmp_path, executor, Told())
    assert executor.most == 3


def test_two_reproductions_of_one_name_are_refused(tmp_path: Path) -> None:
    script = tmp_path / "reproduction.py"
    script.write_text("pass\n")
    subjects = [Subject("same", read_reproduction(Selection(script)))] * 2
    with pytest.raises(UsageError, match="two reproductions are named same"):
        jobs_of(subjects, [parse_target("0.20.0")], [None], conditions=Conditions(), progress=Told())


def test_jobs_carry_files_by_content_and_no_path(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    script = tmp_path / "case" / "reproduction.py"
    script.write_text("pass\n")
    (tmp_path / "case" / "data.json").write_text("{}")
    (tmp_path / "case" / "pyproject.toml").write_text("")
    (job, other) = jobs_of(
        [Subject("case", read_reproduction(Selection(script)))],
        [parse_target("0.20.0")],
        ["3.11", "3.12"],
        conditions=Conditions(),
        progress=Told(),
    )
    assert job.reproduction.files == {"reproduction.py": b"pass\n", "data.json": b"{}", "pyproject.toml": b""}
    assert (job.row, other.row) == ("case on 3.11", "case on 3.12")
    assert str(tmp_path) not in repr(job)
