"""Which level is chosen, what a report means, what the sandbox holds."""

import os
import sys
import venv
from pathlib import Path

import pytest

from agentproof.errors import CannotDoError, UsageError
from agentproof.isolation import levels, sandbox
from agentproof.isolation.levels import Choice, Probe, SelfTest
from agentproof.isolation.sandbox import Level


def machine_with(monkeypatch: pytest.MonkeyPatch, *working: Level) -> None:
    """A machine on which these levels work."""

    def tried(level: Level) -> Probe:
        works = level in working
        return Probe(level, works=works, why="self-test" if works else "forbidden here", landlock=5 * works)

    monkeypatch.setattr(levels, "_try", tried)


def test_the_best_level_that_works_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, "seccomp", "audit-hook")
    chosen = levels.choose()
    assert chosen.level == "seccomp"
    assert [each.level for each in chosen.refused] == ["namespace"]


def test_a_better_level_than_required_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, "namespace", "seccomp", "audit-hook")
    assert levels.choose("seccomp").level == "namespace"


def test_less_than_required_is_refused_with_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, "audit-hook")
    with pytest.raises(
        CannotDoError, match=r"seccomp.*namespace: forbidden here; seccomp: forbidden"
    ) as caught:
        levels.choose("seccomp")
    assert caught.value.hint is not None


def test_an_unknown_level_is_misuse() -> None:
    with pytest.raises(UsageError, match="total"):
        levels.choose("total")


def test_this_machine_has_a_level_and_its_probe_says_why() -> None:
    probes = levels.probe()
    assert [each.level for each in probes] == list(levels.LEVELS)
    assert probes[-1].works
    assert all(each.why for each in probes)
    assert all(each.self_test == "refused" for each in probes[:-1] if each.works)


@pytest.mark.parametrize(
    ("choice", "network", "files", "self_test"),
    [
        (Choice("namespace", landlock=7), "namespace", "landlock", "refused"),
        (Choice("namespace", landlock=0), "namespace", "mounts", "refused"),
        (Choice("seccomp", landlock=0), "seccomp", "none", "refused"),
        (Choice("audit-hook", landlock=1), "audit-hook", "landlock", "not_made"),
    ],
)
def test_the_manifest_says_no_more_than_was_applied(
    choice: Choice, network: str, files: str, self_test: str
) -> None:
    recorded = choice.recorded(user="own")
    assert (recorded.network, recorded.files, recorded.self_test) == (network, files, self_test)


HELD = b"started 2\nlandlock 7\ntested network refused\ntested files refused\nexit 0\n"


def test_a_passed_self_test_holds() -> None:
    report = SelfTest.parse(HELD)
    assert report.held("namespace") is None
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b"network refused", b"network reached", "connected to a listener outside"),
        (b"network refused", b"network silent", "connected to a listener outside"),
        (b"tested network refused\n", b"", "not made"),
        (b"files refused", b"files reached", "opened a file outside"),
        (b"tested files refused\n", b"", "not made"),
        (b"exit 0", b"failed namespaces 1", "user namespaces are refused"),
        (b"exit 0", b"failed mount:/proc 1", "may not mount"),
        (b"exit 0", b"failed RLIMIT_AS 22", "RLIMIT_AS: Invalid argument"),
    ],
)
def test_a_failed_self_test_does_not_hold(before: bytes, after: bytes, said: str) -> None:
    assert before in HELD
    wrong = SelfTest.parse(HELD.replace(before, after)).held("namespace")
    assert wrong is not None
    assert said in wrong


def test_without_landlock_the_file_test_means_nothing_below_a_namespace() -> None:
    report = SelfTest.parse(
        HELD.replace(b"landlock 7", b"landlock 0").replace(b"files refused", b"files reached")
    )
    assert report.held("seccomp") is None
    assert report.held("namespace") is not None


def test_a_traceback_of_the_launcher_is_noise_and_no_success() -> None:
    report = SelfTest.parse(b"Traceback (most recent call last):\n  boom\n")
    assert "boom" in report.noise
    assert not report.probe("audit-hook").works


def test_a_signal_is_a_negative_exit_code() -> None:
    assert SelfTest.parse(b"started 2\nsignal 9\n").exit_code == -9


def test_links_on_the_way_are_kept_as_links(tmp_path: Path) -> None:
    (tmp_path / "real" / "bin").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "real" / "bin" / "python").symlink_to(tmp_path / "alias" / "bin" / "python3")
    (tmp_path / "real" / "bin" / "python3").write_text("")
    links, real = sandbox.follow(tmp_path / "alias" / "bin" / "python")
    base = os.path.realpath(tmp_path)
    assert real == f"{base}/real/bin/python3"
    assert {f"{base}/alias": "real"}.items() <= links.items()
    assert f"{base}/real/bin/python" in links


def test_a_circle_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    sandbox.follow(tmp_path / "a" / "c")


def test_a_new_root_holds_what_is_listed_top_down_and_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    base = os.path.realpath(tmp_path)
    mounts = sandbox._mounts(
        [tmp_path / "tree", tmp_path / "tree" / "deep"],
        [tmp_path / "own", tmp_path / "tree" / "deep"],
        [],
        {},
    )
    paths = [path for path, _, _ in mounts]
    assert paths == sorted(paths, key=lambda each: (each.count("/"), each))
    kinds = {path: kind for path, kind, _ in mounts}
    assert kinds[f"{base}/tree"] == "read"
    assert kinds[f"{base}/tree/deep"] == kinds[f"{base}/own"] == "write"
    assert len(paths) == len(set(paths))


def test_an_interpreter_has_its_own_files_and_nothing_above_them(tmp_path: Path) -> None:
    """`~/.local/bin/python3` is a link, as uv makes them; the rest of `~/.local` is the user's."""
    base = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    local = tmp_path / ".local"
    (local / "bin").mkdir(parents=True)
    (local / "share" / "keyrings").mkdir(parents=True)
    (local / "bin" / "python3").symlink_to(base)
    venv.create(tmp_path / "venv", symlinks=True)
    (tmp_path / "venv" / "bin" / "python").unlink()
    (tmp_path / "venv" / "bin" / "python").symlink_to(local / "bin" / "python3")
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {local}/bin\nversion = {sys.version.split()[0]}\n")
    found = sandbox.interpreter(tmp_path / "venv")
    assert found.minor == sys.version_info[:2]
    below = [each for each in found.trees if each.is_relative_to(tmp_path)]
    assert set(below) == {tmp_path / "venv" / "bin" / "python", local / "bin" / "python3"}
    assert not any(local.is_relative_to(each) for each in found.trees)


@pytest.mark.parametrize(
    "text", ["", "home = /usr/bin\n", "version = 3.12.1\n", "home = /usr/bin\nversion = x\n"]
)
def test_an_environment_that_names_no_python_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyvenv.cfg").write_text(text)
    with pytest.raises(CannotDoError, match=r"pyvenv\.cfg"):
        sandbox.interpreter(tmp_path)


def test_a_directory_that_others_cannot_read_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "shut" / "open").mkdir(parents=True)
    (tmp_path / "shut").chmod(0o700)
    (tmp_path / "shut" / "open").chmod(0o755)
    assert sandbox.closed_to_others([tmp_path / "shut" / "open"], ancestors=False) is None
    shut = sandbox.closed_to_others([tmp_path / "shut" / "open"], ancestors=True)
    assert shut == Path(os.path.realpath(tmp_path / "shut"))
