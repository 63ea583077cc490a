"""One process that has imported the SDK and becomes, by forking, each script that it is asked for.

The import is most of what a short script costs. A search that runs hundreds of them (`minimise`, `hunt`)
pays it once:

    host → requests   {"plan": <what the recorder is to run>, "seconds": 5, "recorded": true}
    host ← answers    {"ready": true} once, then for each
                      {"outcome": "ended" | "timed_out", "status": 0, "cpu": 0.1}

The two are FIFOs in the control directory. What is forked stands where any script does that has imported
the SDK in its first line, but for what the import would have read from an environment that the script sets
before. An ordinary recording confirms what a search found. Standard library only.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import select
import signal
import sys
import time
from typing import Any, Dict, Iterator, Tuple

from . import forking, processes
from .adapters import adapter_for
from .plan import Plan

_PIECE = 1 << 16


def next_plan(plan: Plan) -> Tuple[Plan, bool]:
    """The next script to be run, and whether it is to be recorded: returns in each forked child only.

    The server itself ends where the host closes its end of `requests`.
    """
    for name in plan.serves["imports"]:
        with contextlib.suppress(ImportError):  # what this release does not have
            importlib.import_module(name)
    adapter_for(plan.adapter)
    _warm_up(plan)
    gc.collect()
    gc.freeze()
    requests = os.open(os.path.join(plan.control, "requests"), os.O_RDONLY)
    answers = os.open(os.path.join(plan.control, "answers"), os.O_WRONLY)
    _write(answers, {"ready": True})
    for request in _lines(requests):
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(requests)
            os.close(answers)
            wanted = Plan(request["plan"])
            wanted.seal = plan.seal
            return wanted, bool(request["recorded"])
        _write(answers, _wait(child, float(request["seconds"])))
    os._exit(0)


def _warm_up(plan: Plan) -> None:
    """Run a script here, so that what is imported or built late is there in every child."""
    path = plan.serves["warm"]
    if path is None:
        return
    before = dict(sys.modules)["__main__"]
    with open(path, encoding="utf-8") as stream:
        code = compile(stream.read(), path, "exec")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(code, {"__name__": "__main__", "__file__": path})  # noqa: S102  # the host's own text
        except BaseException as error:  # it makes the children quicker; they do without it
            os.write(2, "warm-up: {!r}\n".format(error).encode("utf-8", "replace"))
    sys.modules["__main__"] = before


def _lines(descriptor: int) -> Iterator[Dict[str, Any]]:
    held = b""
    while True:
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return
        held += piece
        while b"\n" in held:
            line, _, held = held.partition(b"\n")
            yield json.loads(line)


def _wait(child: int, seconds: float) -> Dict[str, Any]:
    """Wait for the end of a child, and end what is left of its session."""
    deadline = time.monotonic() + seconds
    outcome = "ended"
    descriptor = os.pidfd_open(child) if hasattr(os, "pidfd_open") else None
    if descriptor is not None:
        if not select.select([descriptor], [], [], seconds)[0]:
            outcome = "timed_out"
        os.close(descriptor)
    else:
        while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                outcome = "timed_out"
                break
            time.sleep(0.002)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    cpu = used.ru_utime + used.ru_stime
    return {"outcome": outcome, "status": os.waitstatus_to_exitcode(status), "cpu": cpu}


def _write(descriptor: int, document: Dict[str, Any]) -> None:
    os.write(descriptor, json.dumps(document).encode("ascii") + b"\n")


def run_bare(plan: Plan) -> None:
    """Run the script of a plan without recording it; does not return."""
    forking.Streams(plan, plan.modes[0])
    forking.enter_work(plan, plan.modes[0])
    sys.argv = [plan.script, *plan.arguments]
    code: Any = 0
    try:
        processes.execute({"kind": "script", "path": plan.script, "argv": sys.argv})
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code or 0)
