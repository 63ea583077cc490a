"""Run the reproduction's tests by node id, each one a run with an outcome (standard library only).

pytest is the environment's own. Its report is left out: it holds times and colours, and what a test
prints is the script's. Nothing is written below the reproduction's root.
"""

import os
import sys
from typing import Any, Dict, List, Optional

from .events import guarded, journal
from .plan import Plan
from .values import failure, text


def run(plan: Plan) -> int:
    """Run the tests and give pytest's exit code."""
    sys.argv = ["pytest", *plan.tests]
    sys.path.insert(0, plan.root)
    # Without this, the assertion rewriter writes bytecode of tests that this run alone uses.
    sys.dont_write_bytecode = True
    import pytest  # type: ignore[import-not-found,unused-ignore]  # the environment's, not ours

    options = ["--rootdir", plan.root, "-p", "no:cacheprovider", "-p", "no:terminal", "--capture=no"]
    options += ["--import-mode=importlib" if _needs_importlib(plan) else "--import-mode=prepend"]
    names = [os.path.join(plan.root, name) for name in plan.tests]
    return int(pytest.main([*options, *names], plugins=[_Reporter(plan)]))


def _needs_importlib(plan: Plan) -> bool:
    """Two test files of one name in folders without `__init__.py` cannot be imported the old way."""
    files = {name.partition("::")[0] for name in plan.tests}
    return len({os.path.basename(file) for file in files}) != len(files)


class _Reporter:
    """A pytest plugin that tells the journal."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._errors: Dict[str, BaseException] = {}
        self._outcomes: Dict[str, str] = {}

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        self._began(nodeid)

    @guarded("tests")
    def _began(self, nodeid: str) -> None:
        journal().emit("test.started", {"test": text(nodeid)})

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """A phase of a test (set-up, the test, tear-down) is over."""
        self._phase(item, call)

    @guarded("tests")
    def _phase(self, item: Any, call: Any) -> None:
        if call.excinfo is not None:
            self._errors.setdefault(item.nodeid, call.excinfo.value)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """The outcome of a phase."""
        self._reported(report)

    @guarded("tests")
    def _reported(self, report: Any) -> None:
        known = self._outcomes.get(report.nodeid)
        if report.outcome == "failed":
            self._outcomes[report.nodeid] = "failed" if report.when == "call" else known or "error"
        elif report.outcome == "skipped":
            self._outcomes[report.nodeid] = "xfailed" if hasattr(report, "wasxfail") else "skipped"
        elif known is None and report.when == "call":
            self._outcomes[report.nodeid] = "xpassed" if hasattr(report, "wasxfail") else "passed"

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        self._finished(nodeid)

    @guarded("tests")
    def _finished(self, nodeid: str) -> None:
        outcome = self._outcomes.pop(nodeid, "passed")
        error = self._errors.pop(nodeid, None)
        fields: Dict[str, Any] = {"test": text(nodeid), "outcome": outcome}
        if error is not None and outcome in ("failed", "error"):
            fields["error"] = failure(error)
            fields["frames"] = self._frames(error)
        journal().emit("test.ended", fields)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected is an error of its own."""
        if report.outcome == "failed":
            self._uncollected(report)

    @guarded("tests")
    def _uncollected(self, report: Any) -> None:
        journal().emit("test.ended", {"test": text(report.nodeid), "outcome": "error"})

    def _frames(self, error: BaseException) -> List[Dict[str, Any]]:
        root = os.path.join(self._plan.root, "")
        frames: List[Dict[str, Any]] = []
        trace: Optional[Any] = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename.startswith(root):
                name = getattr(code, "co_qualname", code.co_name)
                place = {"file": code.co_filename[len(root) :], "line": trace.tb_lineno, "function": name}
                frames.append(place)
            trace = trace.tb_next
        return frames
