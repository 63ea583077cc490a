"""Run the reproduction as `__main__` and write down what it does (standard library only).

1. The script sees the process that `python script.py` would give it: `__main__`, `sys.argv`,
   `sys.path[0]`, exit code, traceback, clean-up at the end.
2. The hooks go in at the end of its own import of the SDK; there one child a mode is forked.
3. What ends the script is written before the interpreter's own clean-up; the summary at the very end
   of it says that the mode ended by itself.
"""

import atexit
import os
import sys
import threading
import types
from typing import Any, Dict, Optional, Tuple

from . import (
    audit,
    bodies,
    collector,
    conduct,
    forkserver,
    frames,
    importing,
    interrupts,
    lanes,
    patching,
    probe,
    processes,
    pytests,
    warned,
)
from .adapters import Adapter, adapter_for
from .events import open_journal, watching
from .forking import Streams, enter_work, split
from .plan import Plan
from .summary import Summary
from .values import failure


def main(path: str) -> None:
    """Run the plan at `path`; does not return."""
    plan = Plan.read(path)
    if plan.serves:
        plan, is_recorded = forkserver.next_plan(plan)
        if not is_recorded:
            forkserver.run_bare(plan)
    Recording(plan).run()


class Recording:
    """One process that is being recorded."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._mode = plan.modes[0]
        self._ended = False
        process = "0" if plan.child is None else str(plan.child["number"])
        self._journal = open_journal(plan.control, self._mode, process, plan.seal)
        self._summary = Summary(plan)
        self._adapter: Optional[Adapter] = None
        """That of the SDK, once the script has imported it."""

    def run(self) -> None:
        """Run the script and leave by its exit code."""
        plan = self._plan
        if plan.child is None:
            self._streams: Optional[Streams] = Streams(plan, self._mode)
            enter_work(plan, self._mode)
        else:
            self._streams = None
            self._journal.lanes.current().frontier.append(plan.child["after"])
        interrupts.install()
        lanes.install(self._journal.lanes)
        patching.hide_everywhere()
        atexit.register(self._summarise)
        importing.finder.when_loaded(plan.package, self._imported)
        sys.meta_path.insert(0, importing.finder)
        sys.meta_path.insert(0, importing.ProbeFinder(probe.make(plan.root)))
        if not plan.is_trial:
            with watching("conduct"):
                conduct.begin(plan)
        with watching("warnings"):
            self._summary.gaps += warned.install(plan)
        audit.install(plan)
        processes.install(plan)
        processes.on_leave = self._leave
        if plan.seeded:
            import random

            random.seed(0)
        if plan.child is None:
            started = {"entry": plan.entry, "arguments": plan.arguments, "tests": plan.tests or None}
            self._journal.emit("script.started", started)
        if plan.package in sys.modules:  # a fork server imported it
            with watching("import"):
                self._imported(sys.modules[plan.package])
        code, error = self._execute()
        self._end(code, error)
        sys.exit(code)

    def _imported(self, module: types.ModuleType) -> None:
        """The script's import of the SDK is done: hook it, then become one process a mode."""
        plan = self._plan
        if not plan.is_trial:
            with watching("conduct"):
                conduct.imported(plan)
            collector.rest(plan)
        adapter = self._adapter = adapter_for(plan.adapter)
        self._summary.gaps += adapter.install()
        if self._streams is not None:
            self._mode = processes.mode = split(plan, self._streams)
        self._summary.gaps += adapter.enter(self._mode)
        with watching("bodies"):
            self._summary.gaps += bodies.install(plan)
        self._summary.is_hooked = True
        if not plan.is_trial:
            with watching("conduct"):
                conduct.watch(plan)
        fields = {"module": module.__name__, "hooks": adapter.known_hooks()}
        self._journal.emit("sdk.imported", fields)

    def _execute(self) -> Tuple[Any, Optional[BaseException]]:
        """Run the script; give what `sys.exit` would take, and an exception that nobody caught."""
        plan = self._plan
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [path for path in sys.path if path != here]
        own = {"kind": "script", "path": plan.script, "argv": [plan.script, *plan.arguments]}
        target: Dict[str, Any] = plan.child or own
        try:
            if plan.tests and plan.child is None:
                return pytests.run(plan), None
            sys.argv = list(target["argv"])
            processes.execute(target)
        except SystemExit as left:
            return left.code, None
        except BaseException as error:
            return 1, error
        return None, None

    def _end(self, code: Any, error: Optional[BaseException]) -> None:
        """Tell how the script ended, after the threads that Python waits for."""
        if error is not None:
            patching.clean(error)
            sys.excepthook(type(error), error, error.__traceback__)
        threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter itself calls here
        with watching("runs"):
            if self._adapter is not None and self._summary.is_hooked:
                self._adapter.finish()
        self._tell_end(code, error)

    def _leave(self, code: int) -> None:
        """The script calls `os._exit`: no clean-up follows, so this is the last word."""
        if not self._ended:
            self._tell_end(code, None)
            self._ended = True
            self._summary.write()

    def _tell_end(self, code: Any, error: Optional[BaseException]) -> None:
        self._summary.gaps += bodies.stop()
        if self._adapter is not None:
            self._summary.gaps += self._adapter.gaps()
        audit.seen.resolve_ports()
        if audit.seen.ports:
            self._journal.emit("loopback.bound", {"ports": sorted(audit.seen.ports)})
        fields: Dict[str, Any] = {"outcome": "exited", "code": _status(code)}
        if error is not None:
            fields = {"outcome": "raised", "error": failure(error), **frames.of(error, self._plan)}
        kind = "script.ended" if self._journal.process == "0" else "process.ended"
        self._journal.emit(kind, fields)

    def _summarise(self) -> None:
        """The last of the clean-up functions: registered first, before any of the script's."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the script closed them
        if not self._ended:
            self._ended = True
            self._summary.write()
        conduct.forget()
        if not self._plan.is_trial:
            collector.wake(self._plan)


def _status(code: Any) -> int:
    """The exit status that `sys.exit(code)` gives."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1
