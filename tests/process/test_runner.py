"""Running a script: what it is given, what comes back, what is not believed."""

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentproof.errors import CannotDoError, RecorderError, UsageError
from agentproof.isolation import control as _control
from agentproof.isolation import readback, runner
from agentproof.isolation.levels import Choice
from agentproof.models.manifest import Conduct
from agentproof.models.trace import Mode
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import Selection
from agentproof.system import remove
from tests.sandboxed import Environment, make_environment, run_script, standin

if os.name != "posix":
    pytest.skip("these tests run scripts under a POSIX launcher", allow_module_level=True)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("environment"))


# ---- the recorder's archive


def test_the_recorder_is_packed_to_the_same_bytes_wherever_it_is_packed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = runner.recorder_archive()
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    again = subprocess.run(
        [
            sys.executable,
            "-c",
            "import agentproof.isolation.runner as r, sys; sys.stdout.buffer.write(r.recorder_archive())",
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    )
    assert again.stdout == ours
    with zipfile.ZipFile(io.BytesIO(ours)) as archive:
        names = archive.namelist()
        assert "__main__.py" in names
        assert names == sorted(names)
        assert all(each.compress_type == zipfile.ZIP_STORED for each in archive.infolist())
        assert not any("__pycache__" in name for name in names)


# ---- a run


SHOW = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv, "here": os.listdir("."), "cwd": os.getcwd(), "input": sys.stdin.read(),
    "environment": dict(os.environ), "file": __file__,
}))
open("mine", "w").close()
sys.exit(3)
"""


def test_a_script_gets_its_arguments_and_an_environment_built_from_nothing(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not for the script")
    run = run_script(SHOW, environment, tmp_path / "case", arguments=("one", "two words"))
    recording = run.repeats[0]["as-written"]
    seen = json.loads(recording.stdout.data)
    assert seen["arguments"][1:] == ["one", "two words"]
    assert seen["input"] == ""
    assert seen["here"] == []
    assert set(seen["environment"]) - {"LC_CTYPE"} == {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "TZ",
        "PYTHONHASHSEED",
    }
    assert recording.outcome == "ended"
    assert recording.exit_code == 3
    assert recording.paths[seen["cwd"]] == "<work>"
    assert recording.paths[os.path.dirname(seen["file"])] == "<script>"
    assert recording.files == ("script.py",)
    assert not os.path.exists(os.path.dirname(seen["file"]))


def test_both_modes_of_both_repeats_come_back_from_one_process_each(
    environment: Environment, tmp_path: Path
) -> None:
    source = "# standin: fork\nimport os\nprint(os.getcwd())"
    run = run_script(source, environment, tmp_path, repeats=2, modes=("as-written", "streamed"))
    assert [list(repeat) for repeat in run.repeats] == [["as-written", "streamed"]] * 2
    where = [each.stdout.data for repeat in run.repeats for each in repeat.values()]
    assert len(set(where)) == 4
    assert all(each.unforked is None for repeat in run.repeats for each in repeat.values())


_TIMED = """# standin: fork
import json, os, time
repeat = os.getcwd().split(os.sep)[-3]
started = time.monotonic()
time.sleep(600 if repeat == "1" and HANGS else 1)
print(json.dumps([started, time.monotonic()]))
"""


def _times(repeat: dict[Mode, readback.RawRecording]) -> list[list[float]]:
    return [json.loads(each.stdout.data) for each in repeat.values()]


def test_repeats_run_side_by_side_or_one_after_the_other(environment: Environment, tmp_path: Path) -> None:
    source = _TIMED.replace("HANGS", "False")
    for side_by_side in (True, False):
        run = run_script(
            source,
            environment,
            tmp_path,
            repeats=2,
            side_by_side=side_by_side,
            modes=("as-written", "streamed"),
        )
        assert [list(repeat) for repeat in run.repeats] == [["as-written", "streamed"]] * 2
        first, second = map(_times, run.repeats)
        ended, begun = max(end for _, end in first), min(start for start, _ in second)
        assert (begun > ended) is not side_by_side


def test_a_repeat_that_never_ends_takes_nothing_of_the_next_ones_time(
    environment: Environment, tmp_path: Path
) -> None:
    run = run_script(
        _TIMED.replace("HANGS", "True"),
        environment,
        tmp_path,
        repeats=2,
        side_by_side=False,
        modes=("as-written", "streamed"),
        limits=runner.Limits(seconds=5),
    )
    outcomes = [[each.outcome for each in repeat.values()] for repeat in run.repeats]
    assert outcomes == [["timed_out", "timed_out"], ["ended", "ended"]]


def test_what_could_not_be_forked_is_run_again_before_the_next_repeat(
    environment: Environment, tmp_path: Path
) -> None:
    source = "# standin: unforked\nimport os\nprint(os.getcwd().split(os.sep)[-3])"
    run = run_script(
        source, environment, tmp_path, repeats=2, side_by_side=False, modes=("as-written", "streamed")
    )
    assert [list(repeat) for repeat in run.repeats] == [["as-written", "streamed"]] * 2
    where = [each.stdout.data for repeat in run.repeats for each in repeat.values()]
    assert where == [b"1\n", b"2\n", b"3\n", b"4\n"]


def test_a_script_that_never_imports_the_sdk_has_one_mode(environment: Environment, tmp_path: Path) -> None:
    run = run_script("print(1)", environment, tmp_path, modes=("as-written", "streamed"))
    assert list(run.repeats[0]) == ["as-written"]


def test_a_script_that_kills_itself_was_killed(environment: Environment, tmp_path: Path) -> None:
    run = run_script("import os\nos.kill(os.getpid(), 9)", environment, tmp_path)
    assert run.repeats[0]["as-written"].outcome == "killed"
    assert run.repeats[0]["as-written"].events[0]["kind"] == "script.started"


def test_a_recorder_that_does_not_start_is_our_fault_and_says_why(
    environment: Environment, tmp_path: Path
) -> None:
    with pytest.raises(RecorderError, match="this recorder does not start"):
        run_script("# standin: crash", environment, tmp_path)


def test_a_missing_script_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.py"):
        read_reproduction(Selection(tmp_path / "absent.py"))


# ---- the copy of the reproduction


def _copied(source: Path, entry: str, target: Path) -> tuple[Mapping[str, bytes], bool]:
    files, only_entry = _control.read_reproduction_files(source, entry)
    _control.copy_reproduction(files, target)
    return files, only_entry


def test_what_was_read_with_the_header_is_what_is_run(environment: Environment, tmp_path: Path) -> None:
    """Someone edits the script while its environment is built."""
    script = tmp_path / "script.py"
    script.write_text("# standin: crash")
    read = read_reproduction(Selection(script))
    script.write_text("pass")
    (tmp_path / "new.py").write_text("")
    with pytest.raises(RecorderError, match="this recorder does not start"):
        runner.run_recordings(
            environment, read, isolation=Choice("audit-hook", landlock=0), recorder=standin()
        )
    assert read.files == {"script.py": b"# standin: crash"}


def test_what_is_no_part_of_a_reproduction_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "case"
    for name in ("script.py", "data/rows.json", "helper.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    for name in (
        ".git/config",
        ".env",
        "__pycache__/helper.pyc",
        "0.20.0/manifest.json",
        "0.20.0/traces/as-written.json",
        "old.agentproof.zip",
        "x.whl",
        "venv/pyvenv.cfg",
    ):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("left out")
    (tmp_path / "secret").write_text("secret")
    (source / "leads-out").symlink_to(tmp_path / "secret")
    (source / "leads-out-too").symlink_to(tmp_path)
    (source / "stays").symlink_to("helper.py")
    os.mkfifo(source / "pipe")
    files, only_entry = _copied(source, "script.py", tmp_path / "copy")
    assert sorted(files) == ["data/rows.json", "helper.py", "script.py", "stays"]
    assert not only_entry
    found = {str(p.relative_to(tmp_path / "copy")) for p in (tmp_path / "copy").rglob("*") if p.is_file()}
    assert found == set(files)
    remove.remove_tree(str(tmp_path / "copy"))


@pytest.mark.parametrize("cap", ["MAX_ROOT_BYTES", "MAX_ROOT_FILES"])
def test_from_a_directory_over_the_caps_the_script_alone_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cap: str
) -> None:
    monkeypatch.setattr(_control, cap, 2)
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("abc")
    (tmp_path / "script.py").write_text("pass")
    files, only_entry = _copied(tmp_path, "script.py", tmp_path / "copy")
    assert only_entry
    assert files == {"script.py": b"pass"}
    remove.remove_tree(str(tmp_path / "copy"))


# ---- what is left of a killed run


def test_the_directory_of_a_dead_process_is_swept_and_a_living_ones_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_control, "_places", lambda: (tmp_path,))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    abandoned = tmp_path / f"agentproof-tmp-run-{dead.pid}-x"
    (abandoned / "1" / "work").mkdir(parents=True)
    (abandoned / "1" / "work" / "shut").mkdir(mode=0)
    living = tmp_path / f"agentproof-tmp-run-{os.getppid()}-x"
    living.mkdir()
    other = tmp_path / "agentproof-tmp-run-notes"
    other.mkdir()
    assert _control.sweep() == 1
    assert not abandoned.exists()
    assert living.exists()
    assert other.exists()


def test_a_process_left_in_an_abandoned_directory_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("no Linux /proc")
    monkeypatch.setattr(_control, "_places", lambda: (tmp_path,))
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    abandoned = tmp_path / f"agentproof-tmp-run-{dead.pid}-x"
    abandoned.mkdir()
    with subprocess.Popen(
        ["/bin/cat"],
        env={"PATH": "/usr/bin:/bin", "HOME": f"{abandoned}/1/home"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as left:
        assert left.stdin is not None
        assert left.stdout is not None
        # Until it answers, the kernel may not show its environment yet.
        left.stdin.write(b"x")
        assert left.stdout.read(1) == b"x"
        try:
            assert _control.sweep() == 1
            assert left.wait(10) == -9
        finally:
            left.kill()


# ---- what the recorder wrote

EVENT = b'{"n":"0:1","lane":"0:0","after":[],"kind":"script.started","entry":"script.py"}\n'
END = b'{"loaded":[],"conduct":{},"files":[],"coverage":[]}'


def read(control: Path, *, died: readback.Outcome | None = None) -> readback.RawRecording:
    return readback.read_mode(control, "as-written", died=died, kept=10, most=99, why_unforked=None, paths={})


def test_a_mode_with_a_last_word_ended_by_itself(tmp_path: Path) -> None:
    (tmp_path / "as-written.jsonl").write_bytes(EVENT)
    (tmp_path / "as-written.2.jsonl").write_bytes(EVENT.replace(b"0:1", b"2:1"))
    (tmp_path / "as-written.10.jsonl").write_bytes(EVENT.replace(b"0:1", b"10:1"))
    (tmp_path / "as-written.end.json").write_bytes(END)
    found = read(tmp_path)
    assert found.outcome == "ended"
    assert [event["n"] for event in found.events] == ["0:1", "2:1", "10:1"]
    assert found.conduct == Conduct()


def test_a_process_that_was_gone_before_its_last_word_says_nothing_of_conduct(tmp_path: Path) -> None:
    (tmp_path / "as-written.jsonl").write_bytes(EVENT)
    assert [gap.what for gap in read(tmp_path).coverage] == ["conduct"]
    assert read(tmp_path, died="timed_out").coverage == ()


def test_half_a_line_is_forgiven_only_to_a_process_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "as-written.jsonl").write_bytes(EVENT + b'{"n":"0:2","la')
    assert [event["n"] for event in read(tmp_path).events] == ["0:1"]
    (tmp_path / "as-written.end.json").write_bytes(END)
    with pytest.raises(RecorderError, match=r"as-written\.jsonl:2"):
        read(tmp_path)


def test_a_last_word_from_a_mode_that_had_to_be_ended_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "as-written.jsonl").write_bytes(EVENT)
    (tmp_path / "as-written.end.json").write_bytes(END)
    assert read(tmp_path, died="timed_out").outcome == "timed_out"


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[]\n",
        b'{"kind":"x"}\n',
        b'{"n":"0:2"}\n',
        b'{"n":"0:2","kind":"x","value":NaN}\n',
        b'{"n":"0:2","kind":"x","value":' + b"9" * 5000 + b"}\n",
        b"[" * 100_000 + b"\n",
        b"\xff\n",
        b"\n",
        EVENT,
    ],
)
def test_a_line_that_is_no_event_is_named_by_file_and_line(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "as-written.jsonl").write_bytes(EVENT + line)
    with pytest.raises(RecorderError, match=r"as-written\.jsonl:2"):
        read(tmp_path)


@pytest.mark.parametrize("text", [b"", b"[]", b'{"loaded":1}', b'{"files":["a"],"more":1}', b"\xff"])
def test_a_last_word_of_another_shape_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "as-written.jsonl").write_bytes(EVENT)
    (tmp_path / "as-written.end.json").write_bytes(text)
    with pytest.raises(RecorderError, match=r"as-written\.end\.json"):
        read(tmp_path)


def test_more_events_than_the_cap_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readback, "MAX_EVENT_BYTES", len(EVENT) + 10)
    (tmp_path / "as-written.jsonl").write_bytes(EVENT)
    (tmp_path / "as-written.1.jsonl").write_bytes(EVENT.replace(b"0:1", b"1:1"))
    with pytest.raises(CannotDoError, match=r"as-written\.1\.jsonl: the script made events of more than"):
        read(tmp_path)


def test_a_line_that_ends_at_the_cap_was_cut_off_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readback, "MAX_EVENT_BYTES", len(EVENT) + 10)
    (tmp_path / "as-written.jsonl").write_bytes(EVENT + b'{"n":"0:2"')
    (tmp_path / "as-written.end.json").write_bytes(END)
    with pytest.raises(CannotDoError, match=r"as-written\.jsonl: the script made events of more than"):
        read(tmp_path)


def test_events_that_just_fit_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readback, "MAX_EVENT_BYTES", len(EVENT))
    (tmp_path / "as-written.jsonl").write_bytes(EVENT)
    (tmp_path / "as-written.end.json").write_bytes(END)
    assert [event["n"] for event in read(tmp_path).events] == ["0:1"]


@pytest.mark.parametrize("kind", ["link", "hard link", "fifo", "directory"])
def test_a_planted_file_of_another_kind_is_not_read(tmp_path: Path, kind: str) -> None:
    control = tmp_path / "control"
    control.mkdir()
    (tmp_path / "secret").write_bytes(EVENT)
    planted = control / "as-written.jsonl"
    if kind == "link":
        planted.symlink_to(tmp_path / "secret")
    elif kind == "hard link":
        planted.hardlink_to(tmp_path / "secret")
    elif kind == "fifo":
        os.mkfifo(planted)
    else:
        planted.mkdir()
    with pytest.raises(RecorderError, match=r"as-written\.jsonl"):
        read(control)


def test_a_stream_is_kept_up_to_its_cap_and_its_size_is_told(tmp_path: Path) -> None:
    (tmp_path / "as-written.stdout").write_bytes(b"0123456789abc")
    found = readback.captured(tmp_path, "as-written.stdout", kept=10, most=99)
    assert (found.data, found.size, found.truncated) == (b"0123456789", 13, True)
    nothing = readback.captured(tmp_path, "as-written.stderr", kept=10, most=99)
    assert (nothing.data, nothing.size, nothing.truncated) == (b"", 0, False)


# ---- removing what a script left


def test_a_tree_that_is_deep_shut_and_full_of_links_is_removed_without_following_any(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    base = Path(tempfile.mkdtemp(dir=_control._places()[0]))
    (base / "link").symlink_to(tmp_path / "kept")
    (base / "dangling").symlink_to("nowhere")
    (base / "not utf-8 \udcff").write_text("")
    here = os.open(base, os.O_RDONLY)
    shut = []
    for _ in range(1200):  # deeper than a path can be long, and than Python recurses
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        shut.append(here)
        if len(shut) > 1:
            os.fchmod(shut[-2], 0)
            os.close(shut.pop(-2))
        here = below
    os.close(here)
    os.close(shut.pop())
    remove.remove_tree(str(base))
    assert not base.exists()
    assert (tmp_path / "kept" / "file").read_text() == "kept"


def test_what_cannot_be_removed_ends_the_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    (tmp_path / "base" / "directory").mkdir(parents=True)
    (tmp_path / "base" / "file").write_text("")
    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(os, "rmdir", refuse)
    remove.remove_tree(str(tmp_path / "base"))
    assert (tmp_path / "base" / "file").exists()
