"""The pytest plugin: bundles as regression tests, and failing tests as bundles.

    pytest bundles/ --agentproof-target installed
    pytest tests/ --agentproof-record-failures failures/

Each bundle below the given paths is one test: its reproduction is recorded on the target, and the test
fails in the claims that are violated there. Several bundles of one reproduction are one test. The other way
round, each test of one's own that fails is recorded as a bundle (`failures`). Without the options
nothing is collected or recorded, and nothing else of agentproof is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..bundle.store import Bundle
    from ..compare.subjects import Subject

_HEAD = b'"format": "agentproof/bundle"'
_MAX_MANIFEST = 4 * 2**20
_SUFFIX = ".agentproof.zip"


class ViolationError(Exception):
    """The reproduction shows violations on the target; the text names them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Both options."""
    group = parser.getgroup("agentproof")
    group.addoption(
        "--agentproof-record-failures",
        metavar="DIR",
        type=Path,
        help="After the session record the tests that failed, those with the marker or fixture `agentproof` "
        "where there are any, and write them to DIR as bundles.",
    )
    group.addoption(
        "--agentproof-target",
        metavar="TARGET",
        help="Run collected bundles as regression tests on this: `installed` (the release in this "
        "environment), a version, `latest`, a wheel file, or a checkout as DIR or DIR@REV.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line(
        "markers", "agentproof: record this test, rather than every one, with --agentproof-record-failures."
    )
    _check_target(config.getoption("--agentproof-target"))
    directory: Path | None = config.getoption("--agentproof-record-failures")
    # A worker of pytest-xdist reports to the process that started it, which records.
    if directory is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Failures(directory, config), "agentproof-failures")


def _check_target(target: str | None) -> None:
    """Once for the session, and not as a failure of every bundle."""
    if target is None or target == "installed":
        return
    from ..errors import UsageError
    from ..record.target import parse_target

    try:
        parse_target(target)
    except UsageError as error:
        text = error.message.replace("--with", "--agentproof-target")
        raise pytest.UsageError(f"{text}; next: {error.hint}, or installed") from error


@pytest.fixture(name="agentproof")
def _probe() -> ModuleType:
    """`check` and `observe` of `agentproof.probe`, whose answers a recording holds."""
    from .. import probe

    return probe


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A bundle, as its zip or by its manifest."""
    if parent.config.getoption("--agentproof-target") is None:
        return None
    if file_path.name.endswith(_SUFFIX):
        return _File.from_parent(parent, path=file_path)
    if file_path.name == "manifest.json" and _is_manifest(file_path):
        return _File.from_parent(parent, path=file_path)
    return None


def _is_manifest(path: Path) -> bool:
    if path.stat().st_size > _MAX_MANIFEST:
        return False
    return _HEAD in path.read_bytes()


_SEEN = pytest.StashKey[set[str]]()


class _File(pytest.File):
    """One bundle."""

    def collect(self) -> Iterable[pytest.Item]:
        from ..compare.subjects import find_subjects
        from ..errors import AgentproofError
        from ..render.groups import reproduction_key

        bundle = self.path.parent if self.path.name == "manifest.json" else self.path
        try:
            (subject,) = find_subjects(bundle)
        except AgentproofError as error:
            raise self.CollectError(f"{error.message}\n{error.hint or ''}") from error
        if subject.bundle is None:
            raise self.CollectError(f"{bundle}: no bundle")
        seen = self.config.stash.setdefault(_SEEN, set())
        script = reproduction_key(subject.bundle.document)
        if script not in seen:
            seen.add(script)
            yield _Item.from_parent(self, name=subject.name, subject=subject)


class _Item(pytest.Item):
    """A bundle's reproduction on the target."""

    def __init__(self, *, subject: Any, **kwargs: Any) -> None:  # Any: as pytest passes it on
        super().__init__(**kwargs)
        self.subject = subject
        self.target: str = self.config.getoption("--agentproof-target")

    def runtest(self) -> None:
        from .shared import told

        lines = list(told(record_on(self.subject, self.target)))
        if lines:
            raise ViolationError("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from ..errors import AgentproofError
        from ..render.console import printable

        if isinstance(excinfo.value, ViolationError):
            return str(excinfo.value)
        if isinstance(excinfo.value, AgentproofError):
            hint = f"\nnext: {printable(excinfo.value.hint)}" if excinfo.value.hint else ""
            return f"could not be recorded on {self.target}: {printable(excinfo.value.message)}{hint}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.name} on {self.target}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Why nothing was run, where the paths hold no bundle."""
    if config.getoption("--agentproof-target") is None or _SEEN in config.stash:
        return
    places = [Path(config.invocation_params.dir, each.partition("::")[0]) for each in config.args]
    scripts = sorted(
        script
        for place in places
        for script in (place.rglob("reproduction.py") if place.is_dir() else [place])
        if script.suffix == ".py" and script.is_file()
    )
    terminalreporter.write_line(
        f"agentproof: no bundle in {', '.join(config.args)}, so nothing to record again"
    )
    if scripts:
        terminalreporter.write_line(
            f"next: `agentproof record {os.path.relpath(scripts[0])}` makes a bundle of a script, or "
            f"`agentproof compare {os.path.relpath(scripts[0])} --with TARGET` records it without"
        )
    else:
        terminalreporter.write_line(
            "next: name a directory with *.agentproof.zip, or `agentproof record SCRIPT`"
        )


# Failures


_CHOSEN = ("agentproof", "record")
"""Goes with the reports of a test that is marked: from a worker of pytest-xdist, too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note which tests are to be recorded."""
    for item in items:
        if item.get_closest_marker("agentproof") or "agentproof" in getattr(item, "fixturenames", ()):
            item.user_properties.append(_CHOSEN)


class _Failures:
    """Collects what failed, and records it when all is over."""

    def __init__(self, directory: Path, config: pytest.Config) -> None:
        self._directory = Path(config.invocation_params.dir, directory)
        self._config = config
        self._failed: dict[str, bool] = {}
        self._choose = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test is over."""
        chosen = _CHOSEN in map(tuple, report.user_properties)
        self._choose = self._choose or chosen
        if report.failed and report.nodeid.partition("::")[0].endswith(".py"):
            self._failed[report.nodeid] = chosen

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int | pytest.ExitCode
    ) -> None:
        """Record them."""
        tests = [test for test, chosen in self._failed.items() if chosen or not self._choose]
        if not tests:
            return
        terminalreporter.section("agentproof: recording what failed")
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            terminalreporter.write_line("nothing is recorded, since the session was interrupted")
            return
        self._record(tests, terminalreporter)

    def _record(self, tests: list[str], terminal: pytest.TerminalReporter) -> None:
        from ..errors import AgentproofError
        from . import failures

        target = self._config.getoption("--agentproof-target") or "installed"
        chosen, left = tests[: failures.MAX_FAILURES], tests[failures.MAX_FAILURES :]
        try:
            for outcome in failures.record_failures(
                chosen, root=self._config.rootpath, directory=self._directory, target=target
            ):
                terminal.write_line(outcome.test)
                for line in outcome.lines:
                    terminal.write_line(f"  {line}")
                if outcome.archive is not None:
                    terminal.write_line(f"  wrote {os.path.relpath(outcome.archive)}")
        except AgentproofError as error:
            terminal.write_line(f"{error.message}\nnext: {error.hint or 'agentproof doctor'}")
        for test in left:
            terminal.write_line(f"{test}\n  not recorded: only {failures.MAX_FAILURES} are, the rest by name")


def record_on(subject: Subject, target: str) -> Bundle:
    """The reproduction recorded on the target; signed by a key that is thrown away, for nobody keeps it.

    Raises:
        AgentproofError: it could not be recorded.
    """
    from ..record.conditions import Conditions
    from ..record.progress import Silent
    from ..record.recording import record
    from ..record.target import parse_target
    from ..trust import signing
    from .shared import installed_version

    installed = target == "installed"
    # "As installed" are the versions of everything, on this very interpreter.
    conditions = Conditions(like=sys.executable) if installed else Conditions(python=subject.python)
    version = parse_target(installed_version() if installed else target)
    return record(subject.reproduction, version, conditions, key=signing.generate_key(), progress=Silent())
