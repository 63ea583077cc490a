"""Other processes of the script, and how code becomes `__main__` (standard library only).

A child whose program is this very Python goes through the recorder as well: its command is
exchanged where `subprocess` hands it to the operating system. All others are named, not observed.
"""

import importlib.machinery
import io
import os
import sys
import types
from typing import Any, Dict, Tuple

from . import audit
from .events import journal, watching
from .plan import Plan
from .values import text

mode = "as-written"


def install(plan: Plan) -> None:
    """Begin to watch for children."""
    global mode
    mode = plan.modes[0]
    audit.process_watcher = _started


def _started(event: str, arguments: Tuple[Any, ...]) -> None:
    if event == "os.fork":
        return
    program = arguments[0] if arguments else event
    if isinstance(program, bytes):
        program = os.fsdecode(program)
    with watching("processes"):
        journal().emit(
            "process.started",
            {
                "process": journal().new_label("P"),
                "program": text(program) if isinstance(program, str) else event,
                "observed": False,
            },
        )


def execute(target: Dict[str, Any]) -> None:
    """Run a script file as `python FILE` would."""
    path = target["path"]
    module = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module.__dict__.update(
        __file__=path, __loader__=loader, __spec__=None, __builtins__=sys.modules["builtins"], __cached__=None
    )
    sys.path.insert(0, os.path.dirname(path))
    sys.modules["__main__"] = module
    with io.open_code(path) as stream:
        source = stream.read()
    code = compile(source, path, "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102  # running the reproduction is what this program is for
