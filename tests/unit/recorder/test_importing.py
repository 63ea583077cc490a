"""Noticing an import: rules of `agentproof._recorder.importing`."""

import contextlib
import gc
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentproof._recorder import probe as recorded_probe
from agentproof._recorder.events import Journal
from agentproof._recorder.importing import Finder, ProbeFinder

Told = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_the_end_of_an_import_is_noticed_once(folder: Path) -> None:
    (folder / "tinypkg").mkdir()
    (folder / "tinypkg" / "__init__.py").write_text("VALUE = 1\n")
    (folder / "tinypkg" / "later.py").write_text("VALUE = 2\n")
    finder = Finder()
    sys.meta_path.insert(0, finder)
    seen: list[tuple[str, int]] = []
    for name in ("tinypkg", "tinypkg.later"):
        finder.when_loaded(name, lambda module: seen.append((module.__name__, module.VALUE)))
    module = importlib.import_module("tinypkg")
    assert seen == [("tinypkg", 1)]
    assert type(module.__spec__.loader) is importlib.machinery.SourceFileLoader  # type: ignore[union-attr]
    assert "exec_module" not in vars(module.__spec__.loader)  # type: ignore[union-attr]
    importlib.import_module("tinypkg.later")
    importlib.reload(module)
    assert seen == [("tinypkg", 1), ("tinypkg.later", 2)]


def test_an_import_that_fails_is_the_scripts_own_affair(folder: Path) -> None:
    (folder / "brokenpkg.py").write_text("raise RuntimeError('broken')\n")
    finder = Finder()
    sys.meta_path.insert(0, finder)
    seen: list[types.ModuleType] = []
    finder.when_loaded("brokenpkg", seen.append)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            importlib.import_module("brokenpkg")
    assert seen == []


@pytest.mark.parametrize("collecting", [True, False])
@pytest.mark.parametrize("body", ["import gc\nSEEN = gc.isenabled()\n", "raise RuntimeError('broken')\n"])
def test_the_collector_rests_while_the_sdk_is_imported_and_is_then_as_the_script_left_it(
    folder: Path, collecting: bool, body: str
) -> None:
    (folder / "restingpkg.py").write_text(body)
    finder = Finder()
    sys.meta_path.insert(0, finder)
    finder.when_loaded("restingpkg", lambda module: None)
    (gc.enable if collecting else gc.disable)()
    try:
        with contextlib.suppress(RuntimeError):
            assert importlib.import_module("restingpkg").SEEN is False
        assert gc.isenabled() is collecting
    finally:
        gc.enable()


def test_the_probe_of_a_recording_writes_down_what_is_stated(
    folder: Path, journal: Journal, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "agentproof"]:
        monkeypatch.delitem(sys.modules, name)
    sys.meta_path.insert(0, ProbeFinder(recorded_probe.make(str(folder))))
    (folder / "script.py").write_text(
        "from agentproof import probe\nchecked = probe.check('x', [])\nseen = probe.observe('y', (1,))\n"
    )
    script = importlib.import_module("script")
    assert (script.checked, script.seen) == (False, (1,))
    checked, observed = told()
    assert (checked["kind"], checked["label"], checked["passed"]) == ("probe.checked", "x", False)
    assert checked["frame"] == {"file": "script.py", "line": 2, "function": "<module>"}
    assert observed["value"] == {"$object": "builtins:tuple", "fields": {"items": [1]}}
    with pytest.raises(TypeError, match="label"):
        script.probe.check(1, True)


def test_the_stand_in_on_the_host_gives_back_what_it_was_given() -> None:
    from agentproof import probe  # noqa: PLC0415  # as a script imports it

    assert probe.check("x", "yes") is True
    assert probe.observe("y", (1,)) == (1,)
    for function in (probe.check, probe.observe):
        with pytest.raises(TypeError, match="label"):
            function(1, True)  # type: ignore[arg-type]  # what is refused
