"""Run the reproduction's tests by node id, each one a run with an outcome (standard library only).

Rules:
1. pytest is the environment's own and is run as `python -m pytest NODE-ID …` in the reproduction's root
   would be: with the project's configuration, its conftest files and the plugins that are installed.
2. What pytest itself would print is left out: it holds times, the terminal's width and this machine's
   paths. What the tests print is the script's own, and pytest does not capture it (`--capture=no`).
3. All tests are run in this one process, in the order in which they are named.
4. Nothing is written below the root.
5. What cannot be imported (a test file, a conftest) is a test of that file's name, with outcome `error`.
6. What agentproof's own pytest plugin brings (options, a marker, a fixture) is there too: a project that uses
   it is recorded as it is.
7. Where no test could begin for a reason that is none of the SDK's, `tests.refused` says why; the host
   then records nothing.
"""

import io
import logging
import os
import sys
from importlib import util
from typing import Any, Dict, Iterator, List, Optional

from . import conduct, frames, probe
from .events import guarded, journal, watching
from .plan import Plan
from .values import failure, text

_PLUGIN_OPTIONS = {
    "xdist": ["-n", "0"],
    "pytest_cov": ["--no-cov"],
    "pytest_randomly": ["-p", "no:randomly"],
}
"""What keeps a plugin that happens to be installed from running tests elsewhere or in another order."""


def run(plan: Plan) -> int:
    """Run the tests and give pytest's exit code."""
    sys.argv = ["pytest", *plan.tests]
    sys.path.insert(0, plan.root)
    # Without this, the assertion rewriter writes bytecode of tests that this run alone uses.
    sys.dont_write_bytecode = True
    import pytest  # type: ignore[import-not-found,unused-ignore]  # the environment's, not ours

    reporter = _Reporter(plan)
    mark: Any = pytest.hookimpl
    for name, options in _HOOK_OPTIONS.items():
        mark(**options)(getattr(_Reporter, name))
    _forget_user()
    code = int(pytest.main([*_options(plan), *plan.tests], plugins=[reporter, _own_plugin(pytest)]))
    # Until here handlers of pytest's took what is logged. A thread of the SDK's may log later, or not, as
    # time has it (its trace exporter does, without a key): not to stderr, where it would be the script's.
    logging.getLogger().addHandler(logging.NullHandler())
    reporter.done(code)
    return code


def _options(plan: Plan) -> List[str]:
    """Options that override what the project's configuration says; all else is left to it."""
    # Where agentproof itself is installed, its plugin is replaced by `_own_plugin`.
    options = ["--rootdir", plan.root, "--capture=no", "--tb=native", "-p", "no:agentproof"]
    # `tempfile` would try the directory by writing to it; what has written cannot be forked.
    options += ["-o", "cache_dir=" + os.path.join(os.environ["TMPDIR"], "pytest-cache")]
    if _needs_importlib(plan):
        options.append("--import-mode=importlib")
    for name, more in _PLUGIN_OPTIONS.items():
        if util.find_spec(name) is not None:
            options += more
    return options


def _needs_importlib(plan: Plan) -> bool:
    """Two test files of one name in folders without `__init__.py` cannot be imported the usual way."""
    seen: Dict[str, str] = {}
    for name in plan.tests:
        file = os.path.join(plan.root, name.partition("::")[0])
        folder, base = os.path.split(file)
        if not os.path.exists(os.path.join(folder, "__init__.py")) and seen.setdefault(base, file) != file:
            return True
    return False


def _forget_user() -> None:
    """The directory of `tmp_path` has the user's name in its own; what a machine's user is called is no
    part of what a test does."""
    with watching("tests"):
        from _pytest import tmpdir  # type: ignore[import-not-found,unused-ignore]

        if hasattr(tmpdir, "get_user"):
            tmpdir.get_user = lambda: "nobody"


def _own_plugin(pytest: Any) -> Any:
    """What the pytest plugin brings to a project, as far as tests and configuration name it."""

    class Own:
        """A plugin of pytest's."""

        def pytest_addoption(self, parser: Any) -> None:
            """The options, which say nothing here."""
            group = parser.getgroup("agentproof")
            for name in ("target", "record-failures"):
                group.addoption("--agentproof-" + name)

        def pytest_configure(self, config: Any) -> None:
            """The marker, for projects whose markers are strict."""
            config.addinivalue_line("markers", "agentproof: recorded when it fails")

        @pytest.fixture  # type: ignore[untyped-decorator,unused-ignore]  # the environment's pytest
        def agentproof(self) -> Any:
            """`check` and `observe`, which the recorder answers."""
            return probe

    return Own()


_HOOK_OPTIONS: Dict[str, Dict[str, bool]] = {
    "pytest_load_initial_conftests": {"hookwrapper": True},
    "pytest_cmdline_parse": {"hookwrapper": True},
    "pytest_cmdline_main": {"hookwrapper": True},
    "pytest_sessionstart": {"tryfirst": True},
    "pytest_runtest_teardown": {"tryfirst": True},
}


class _Reporter:
    """A pytest plugin that tells the journal."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._errors: Dict[str, BaseException] = {}
        self._outcomes: Dict[str, str] = {}
        self._reasons: Dict[str, str] = {}
        self._began_any = False
        self._deselected = 0

    # Before the tests

    def pytest_load_initial_conftests(self) -> Iterator[None]:
        """A conftest that cannot be imported ends everything; its error is the outcome."""
        found: Any = yield  # pluggy sends the outcome
        error = _error_of(found)
        if type(error).__name__ == "ConftestImportFailure":
            self._conftest_failed(error)

    def pytest_cmdline_parse(self) -> Iterator[None]:
        """The options or the configuration may not be what pytest and its plugins accept."""
        found: Any = yield  # pluggy sends the outcome
        self._maybe_refused(_error_of(found))

    def pytest_cmdline_main(self) -> Iterator[None]:
        """There may be no test of that name."""
        found: Any = yield  # pluggy sends the outcome
        self._maybe_refused(_error_of(found))

    def pytest_sessionstart(self, session: Any) -> None:
        """From here on pytest would print."""
        self._silence(session.config)

    @guarded("tests")
    def _silence(self, config: Any) -> None:
        from _pytest.config import create_terminal_writer  # type: ignore[import-not-found,unused-ignore]

        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter._tw = create_terminal_writer(config, _Nowhere())

    def pytest_deselected(self, items: Any) -> None:
        """The project's configuration leaves out some of what was named."""
        self._deselected += len(items)

    def pytest_internalerror(self, excrepr: Any, excinfo: Any) -> None:
        """pytest or one of its plugins failed."""
        if not self._began_any:
            self._refuse("internal", "{}: {}".format(excinfo.typename, excinfo.value))

    def done(self, code: int) -> None:
        """pytest has ended."""
        if code == 5 and not self._began_any:  # ExitCode.NO_TESTS_COLLECTED
            self._refuse("deselected" if self._deselected else "none", str(self._deselected))

    def _maybe_refused(self, error: Optional[BaseException]) -> None:
        # A file that was skipped as a whole or could not be imported has no such test either.
        if type(error).__name__ == "UsageError" and error is not None and not self._began_any:
            said = "\n".join(str(each) for each in error.args)
            known = "not found: " in said
            self._refuse("not_found" if known else "usage", said)

    @guarded("tests")
    def _refuse(self, why: str, detail: str) -> None:
        detail = detail.replace(os.path.join(self._plan.root, ""), "").replace(self._plan.root, ".").strip()
        journal().emit("tests.refused", {"why": why, "detail": text(detail, 2000)})

    @guarded("tests")
    def _conftest_failed(self, error: Any) -> None:
        path = str(getattr(error, "path", "conftest.py"))
        name = os.path.relpath(path, self._plan.root).replace(os.sep, "/")
        self._tell(name, "error", error.__cause__ or error)

    # The tests

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        self._began_any = True
        self._began(nodeid)

    @guarded("tests")
    def _began(self, nodeid: str) -> None:
        conduct.test_run(nodeid)
        journal().emit("test.started", {"test": text(nodeid)})

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """A phase of a test (set-up, the test, tear-down) is over."""
        self._phase(item, call)

    @guarded("tests")
    def _phase(self, item: Any, call: Any) -> None:
        if call.excinfo is not None:
            self._errors.setdefault(item.nodeid, call.excinfo.value)

    def pytest_runtest_teardown(self, item: Any) -> None:
        """What the test put in the SDK's place is put back now: the last moment to see it."""
        with watching("conduct"):
            conduct.during(self._plan)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """The outcome of a phase."""
        self._reported(report)

    @guarded("tests")
    def _reported(self, report: Any) -> None:
        known = self._outcomes.get(report.nodeid)
        if report.outcome == "failed":
            # A test that failed and whose tear-down fails too has failed.
            failed = report.when == "call" or known == "failed"
            self._outcomes[report.nodeid] = "failed" if failed else "error"
            if isinstance(report.longrepr, str):  # no exception: it passed, and was to fail
                self._reasons[report.nodeid] = report.longrepr
        elif report.outcome == "skipped":
            self._outcomes[report.nodeid] = "xfailed" if hasattr(report, "wasxfail") else "skipped"
            self._reasons[report.nodeid] = _reason(report)
        elif known is None and report.when == "call":
            self._outcomes[report.nodeid] = "xpassed" if hasattr(report, "wasxfail") else "passed"

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        self._finished(nodeid)

    @guarded("tests")
    def _finished(self, nodeid: str) -> None:
        self._tell(
            nodeid,
            self._outcomes.pop(nodeid, "passed"),
            self._errors.pop(nodeid, None),
            self._reasons.pop(nodeid, ""),
        )

    # Files that cannot be collected

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        """The exception of a file that cannot be imported; of a test it is known already."""
        error = call.excinfo.value
        # pytest's own CollectError holds a text with paths; what it comes from is the error.
        self._errors.setdefault(node.nodeid, error.__cause__ or error)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected is an error of its own."""
        if report.outcome == "failed":
            self._uncollected(report)
        elif report.outcome == "skipped":
            self._skipped_whole(report)

    @guarded("tests")
    def _uncollected(self, report: Any) -> None:
        self._tell(report.nodeid, "error", self._errors.pop(report.nodeid, None))

    @guarded("tests")
    def _skipped_whole(self, report: Any) -> None:
        self._tell(report.nodeid, "skipped", None, _reason(report))

    def _tell(self, nodeid: str, outcome: str, error: Optional[BaseException], reason: str = "") -> None:
        self._began_any = True
        fields: Dict[str, Any] = {"test": text(nodeid), "outcome": outcome}
        if error is not None and outcome in ("failed", "error"):
            fields["error"] = failure(error)
            fields.update(frames.of(error, self._plan))
        if reason:
            fields["reason"] = text(reason, 400)
        journal().emit("test.ended", fields)


class _Nowhere(io.StringIO):
    """A stream that keeps nothing."""

    def write(self, text: str) -> int:
        """Take the text."""
        return len(text)


def _error_of(found: Any) -> Optional[BaseException]:
    """The exception with which the hooks that were wrapped ended."""
    excinfo = found.excinfo
    return excinfo[1] if excinfo is not None else None


def _reason(report: Any) -> str:
    """Why a test was skipped or may fail, in its author's words."""
    if hasattr(report, "wasxfail"):
        reason = str(report.wasxfail)
        return reason[len("reason: ") :] if reason.startswith("reason: ") else reason
    told = report.longrepr
    reason = str(told[2]) if isinstance(told, tuple) and len(told) == 3 else ""
    return reason[len("Skipped: ") :] if reason.startswith("Skipped: ") else reason
