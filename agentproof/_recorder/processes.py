"""Other processes of the script, and how code becomes `__main__` (standard library only).

1. A child whose program is this very Python goes through the recorder as well: its command is
   exchanged where `subprocess` hands it to the operating system. All others are named, not observed.
2. A process that the script forks goes on as one of its own, with its own file of events.
3. What a child did is before what its parent does once it has ended.
"""

import importlib
import importlib.machinery
import io
import json
import os
import sys
import types
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from . import audit, interrupts, snapshots
from .events import journal, watching
from .lanes import Lane, joiners
from .patching import hide, replaced
from .plan import Plan
from .values import text

mode = "as-written"
leave: Callable[[int], NoReturn] = os._exit
"""The function itself, before the recorder puts its own in its place."""

_plan: Optional[Plan] = None
_recorder = ""
_children: List[Tuple[Lane, str]] = []


def _ignore(code: int) -> None:
    return


on_leave: Callable[[int], None] = _ignore
"""Called before the script's own `os._exit`."""

_PLAIN_OPTIONS = "bBdEiIOPqsSuvx"
_OPTIONS_WITH_VALUE = "WX"


def install(plan: Plan) -> None:
    """Begin to watch for children."""
    global _plan, mode, _recorder
    _plan = plan
    mode = plan.modes[0]
    _recorder = os.path.dirname(os.path.abspath(__file__))
    audit.process_watcher = _started
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    _exchange_commands()
    _watch_exit()
    joiners.append(_finished_children)


def _started(event: str, arguments: Tuple[Any, ...]) -> None:
    """A process was started in a way that is only named."""
    if event in ("os.fork", "os.forkpty", "subprocess.Popen"):
        return  # told where it happens: `_after_fork`, `_exchange_commands`
    program = arguments[0] if arguments else event
    _tell(os.fsdecode(program) if isinstance(program, (str, bytes)) else event, observed=False)


def _tell(program: str, *, observed: bool) -> Optional[str]:
    with watching("processes"):
        fields = {"process": journal().new_label("P"), "program": text(program), "observed": observed}
        return journal().emit("process.started", fields)
    return None


def _watch_exit() -> None:
    def _exit(status: int) -> Any:
        with watching("processes"):
            if not snapshots.in_child:
                on_leave(status)
        return leave(status)

    os._exit = _exit
    replaced.append((os, "_exit", _exit))


def _exchange_commands() -> None:
    """`subprocess`, `asyncio` and `multiprocessing` all start children by this one function."""
    import _posixsubprocess
    import subprocess

    original = _posixsubprocess.fork_exec

    def fork_exec(args: Any, executables: Any, *rest: Any) -> Any:
        exchanged = None
        if not snapshots.in_child:
            with watching("processes"):
                exchanged = _exchanged(args)
            program = os.fsdecode(args[0]) if args else "?"
            if exchanged is None:
                _tell(program, observed=False)
        try:
            if exchanged is None:
                return original(args, executables, *rest)
            return original(exchanged, [os.fsencode(sys.executable)], *rest)
        except BaseException as raised:
            hide(raised)
            raise

    for module in (_posixsubprocess, subprocess):
        for name in ("fork_exec", "_fork_exec"):
            if getattr(module, name, None) is original:
                setattr(module, name, fork_exec)
                replaced.append((module, name, fork_exec))


def _exchanged(args: Sequence[Any]) -> Optional[List[bytes]]:
    """The command that runs this child through the recorder; None for another program."""
    plan = _plan
    command = [os.fsdecode(each) for each in args]
    if plan is None or not command or not _is_this_python(command[0]):
        return None
    parsed = _parse(command[1:])
    if parsed is None:
        return None
    options, target = parsed
    number, path = _claim_number(plan)
    after = _tell(command[0], observed=True)
    target.update(number=number, after=after)
    with audit.Unwatched(), open(path, "w", encoding="utf-8") as stream:
        json.dump(plan.for_child(mode, target), stream)
    _children.append((journal().lanes.current(), number))
    prefix = ["-X", "pycache_prefix={}".format(sys.pycache_prefix)] if sys.pycache_prefix else []
    return [os.fsencode(each) for each in (sys.executable, *options, *prefix, _recorder, path)]


def _is_this_python(program: str) -> bool:
    import shutil

    found = program if os.sep in program else shutil.which(program)
    if found is None or not sys.executable:
        return False
    try:
        return found == sys.executable or os.path.samefile(found, sys.executable)
    except OSError:
        return False


def _parse(arguments: List[str]) -> Optional[Tuple[List[str], Dict[str, Any]]]:
    """Options of the interpreter, and what it is to run; None for what is not understood."""
    options: List[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "-c" and rest:
            return options, {"kind": "code", "code": rest[0], "argv": ["-c", *rest[1:]], "path": None}
        if word == "-m" and rest:
            return options, {"kind": "module", "module": rest[0], "argv": ["-m", *rest[1:]], "path": None}
        if word == "-":
            return None  # the program comes from stdin
        if word.startswith("-") and word[1] in _OPTIONS_WITH_VALUE:
            options.append(word)
            if len(word) == 2:
                if not rest:
                    return None
                options.append(rest.pop(0))
        elif len(word) > 1 and word.startswith("-") and all(letter in _PLAIN_OPTIONS for letter in word[1:]):
            options.append(word)
        elif word.startswith("-"):
            return None
        else:
            return options, {"kind": "script", "path": word, "argv": [word, *rest]}
    return None


def _claim_number(plan: Plan) -> Tuple[str, str]:
    """The next free number of a process in this mode, taken by creating its plan."""
    number = 0
    while True:
        number += 1
        path = os.path.join(plan.control, "{}.{}.plan.json".format(mode, number))
        try:
            with audit.Unwatched():
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return str(number), path


def _after_fork() -> None:
    """In a child that the script itself forked: go on as a process of its own."""
    if snapshots.forking or _plan is None:
        return
    interrupts.restart()
    with watching("processes"):
        number, _ = _claim_number(_plan)
        _children.clear()
        journal().move(mode, number)
        _tell("fork", observed=True)


def _finished_children(lane: Lane) -> List[str]:
    """The last events of children that `lane` started and that have ended by themselves."""
    found: List[str] = []
    for entry in list(_children):
        maker, number = entry
        if maker is not lane or _plan is None:
            continue
        base = os.path.join(_plan.control, "{}.{}".format(mode, number))
        if os.path.exists(base + ".end.json"):
            _children.remove(entry)
            with audit.Unwatched(), open(base + ".jsonl", "rb") as stream:
                lines = stream.read().splitlines()
            found += [str(json.loads(line)["n"]) for line in lines[-1:]]
    return found


def execute(target: Dict[str, Any]) -> None:
    """Run what the interpreter was asked to run, as `__main__`."""
    if target["kind"] == "module":
        import runpy

        sys.path.insert(0, os.getcwd())
        sys.argv[:1] = [target["module"]]
        runpy.run_module(target["module"], run_name="__main__", alter_sys=True)
        return
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    module.__dict__.update(__builtins__=sys.modules["builtins"], __spec__=None)
    if target["kind"] == "code":
        sys.path.insert(0, "")
        source, path = target["code"].encode("utf-8"), "<string>"
    else:
        path = os.path.join(os.getcwd(), target["path"])
        if _plan is not None and not os.path.lexists(path):
            # Its code stays where the reproduction's code is; the working directory has its other files.
            beside = os.path.join(_plan.root, target["path"])
            path = beside if os.path.isfile(beside) else path
        if _is_package(path):
            _execute_package(path)
            return
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        module.__dict__.update(__file__=path, __loader__=loader, __cached__=None)
        with io.open_code(path) as stream:
            source = stream.read()
    code = compile(source, path, "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102  # running the reproduction is what this program is for


def _is_package(path: str) -> bool:
    """True for a directory or an archive: Python runs the `__main__` in what something can import from."""
    import pkgutil

    return pkgutil.get_importer(path) is not None


def _execute_package(path: str) -> None:
    import runpy

    sys.path.insert(0, path)
    runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]  # as Python itself
