"""The probe beside the recorder: lines, where each event came from, who shares what (standard library only).

1. It begins after the recorder's hooks are in and the modes are processes of their own. What runs while
   the recorder itself uses the SDK does not count, nor what a forked child does.
2. Lines and starts of functions are told of the SDK's package alone; of the script, the line that led to
   an event.
3. A fault of ours ends the probe, is told in its own file, and never reaches the script.

`<mode>.located.json`: `files` (paths in the package), `segments` (name, and by file the lines that ran),
`starts` (file and first line of each function, in the order in which they were entered), `events` (by the
journal's name: how many starts and steps lay before it, the SDK's stack, the script's line), `shared`,
`steps`, `slots` and `writes` (see `sharing`), `gaps`.
"""

import array
import asyncio
import asyncio.base_events
import asyncio.events
import contextvars
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

from . import sharing, watching
from .wanted import WANTED

if TYPE_CHECKING:
    from .._recorder import audit, events, main, summary
else:  # in the archive, these modules are a package of the recorder's
    from .. import audit, events, main, summary

_MOST_STARTS = 400_000
_MOST_EVENTS = 5_000
_DEEPEST = 40

_Place = Tuple[int, int]
"""A file's number and a line."""

_creator: "contextvars.ContextVar[Tuple[Tuple[_Place, ...], Optional[Tuple[str, int]]]]" = (
    contextvars.ContextVar("agentproof_creator", default=((), None))
)
"""Where the task or thread that runs was made."""


class Probe:
    """What one process tells."""

    def __init__(self, package: str, root: str) -> None:
        self.package = package
        self.root = root
        self.process = os.getpid()
        self.files: List[str] = []
        self._numbers: Dict[str, int] = {}
        self.segments: List[Tuple[str, Set[_Place]]] = [("", set())]
        self.functions: List[_Place] = []
        self._known: Dict[Any, int] = {}
        self.starts = array.array("l")
        self.events: Dict[str, Any] = {}
        self.gaps: Set[str] = set()
        self.sharing = sharing.Sharing(self, WANTED)
        self._written = 0.0
        self._cost = 0.0
        self.over = False

    @property
    def is_quiet(self) -> bool:
        """True while the recorder itself uses the SDK, and in its children."""
        return self.over or events.paused.get() or events.journal().is_silent or os.getpid() != self.process

    def is_sdk(self, code: Any) -> bool:
        """True for a function of the SDK: not the body of a module or class."""
        return bool(code.co_flags & 1) and code.co_filename.startswith(self.package)

    def is_script(self, code: Any) -> bool:
        """True for code of the reproduction."""
        return bool(code.co_filename.startswith(self.root))

    def file(self, path: str) -> int:
        """The number of a file of the package."""
        name = path[len(self.package) :]
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.files)
            self.files.append(name.replace(os.sep, "/"))
        return number

    def entered(self, code: Any) -> None:
        """A function of the SDK begins or goes on."""
        number = self._known.get(code)
        if number is None:
            number = self._known[code] = len(self.functions)
            self.functions.append((self.file(code.co_filename), code.co_firstlineno))
        if len(self.starts) < _MOST_STARTS:
            self.starts.append(number)
        else:
            self.gaps.add("more functions were entered than are told")

    def line(self, code: Any, line: int) -> None:
        """A line of the SDK is about to run."""
        self.segments[-1][1].add((self.file(code.co_filename), line))

    def happened(self, name: str, kind: str, fields: Dict[str, Any], frame: Any) -> None:
        """The recorder wrote an event."""
        if os.getpid() != self.process or len(self.events) >= _MOST_EVENTS:
            return
        if kind == "probe.observed" and WANTED.get("segments"):
            self.segments.append((str(fields.get("label")), set()))
            watching.again()
        sdk, script = self.stack(frame)
        self.events[name] = {
            "kind": kind,
            "starts": len(self.starts),
            "step": self.sharing.step,
            "sdk": sdk[:_DEEPEST],
            "script": script,
        }
        self.sharing.at_event(kind)
        now = time.monotonic()
        if now - self._written > 0.02 + 10 * self._cost:
            self.write()

    def stack(self, frame: Any) -> Tuple[List[_Place], Optional[Tuple[str, int]]]:
        """The frames of the SDK, innermost first, and the innermost line of the script."""
        sdk: List[_Place] = []
        script: Optional[Tuple[str, int]] = None
        while frame is not None:
            code = frame.f_code
            if self.is_sdk(code):
                sdk.append((self.file(code.co_filename), frame.f_lineno))
            elif script is None and self.is_script(code):
                script = (code.co_filename[len(self.root) :], frame.f_lineno)
            elif code.co_name == "_run" and code.co_filename == asyncio.events.__file__:
                break  # below stands whoever runs the loop; the task's creator is in its context
            frame = frame.f_back
        created, by = _creator.get()
        return sdk + list(created), script if script is not None else by

    def write(self) -> None:
        """Write what is known so far; a process that is killed leaves the last of it."""
        if os.getpid() != self.process or events.journal().is_silent:
            return
        began = time.monotonic()
        document = {
            "files": self.files,
            # Copied whole: other threads go on.
            "segments": [[name, sorted(lines.copy())] for name, lines in list(self.segments)],
            "functions": self.functions,
            "starts": self.starts.tolist(),
            "events": self.events.copy(),
            "gaps": sorted(self.gaps),
            **self.sharing.told(),
        }
        path = events.journal().member("located.json")
        with audit.Unwatched():
            with open(path + ".part", "w", encoding="utf-8") as stream:
                json.dump(document, stream, separators=(",", ":"))
            os.replace(path + ".part", path)
        self._written = time.monotonic()
        self._cost = self._written - began

    def failed(self, error: BaseException) -> None:
        """End the probe."""
        self.over = True
        watching.stop()
        self.gaps.add("the probe failed: {}: {}".format(type(error).__name__, str(error)[:200]))


_probe: Optional[Probe] = None


def install() -> None:
    """Put the probe beside the recorder: before the script begins."""
    original_emit, original_imported = events.Journal.emit, main.Recording._imported
    original_write = summary.Summary.write

    def emit(self: Any, kind: str, fields: Dict[str, Any], **options: Any) -> Any:
        name = original_emit(self, kind, fields, **options)
        if name is not None and _probe is not None and not _probe.over:
            try:
                _probe.happened(name, kind, fields, sys._getframe(1))
            except Exception as error:
                _probe.failed(error)
        return name

    def imported(self: Any, module: Any) -> None:
        global _probe
        original_imported(self, module)
        with events.watching("locator"):
            package = os.path.join(os.path.dirname(os.path.abspath(module.__file__)), "")
            _probe = Probe(package, os.path.join(self._plan.root, ""))
            _tell_creators(_probe)
            watching.start(_probe)

    def write(self: Any) -> None:
        if _probe is not None:
            try:
                watching.finish(_probe)
                _probe.write()
            except Exception as error:
                _probe.failed(error)
        original_write(self)

    events.Journal.emit = emit  # type: ignore[method-assign]  # beside the recorder, not in it
    main.Recording._imported = imported  # type: ignore[method-assign]  # as above
    summary.Summary.write = write  # type: ignore[method-assign]  # as above


def _tell_creators(probe: Probe) -> None:
    """A task's stack begins with itself; who made it is kept in its context."""
    create, to_thread = asyncio.base_events.BaseEventLoop.create_task, asyncio.to_thread

    def create_task(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = _creator.set(_short(probe, sys._getframe(1)))
        try:
            return create(self, *args, **kwargs)
        finally:
            _creator.reset(token)

    async def in_thread(func: Any, /, *args: Any, **kwargs: Any) -> Any:
        token = _creator.set(_short(probe, sys._getframe(1)))
        try:
            return await to_thread(func, *args, **kwargs)
        finally:
            _creator.reset(token)

    asyncio.base_events.BaseEventLoop.create_task = create_task  # type: ignore[method-assign]  # as above
    asyncio.to_thread = asyncio.threads.to_thread = in_thread


def _short(probe: Probe, frame: Any) -> Tuple[Tuple[_Place, ...], Optional[Tuple[str, int]]]:
    try:
        sdk, script = probe.stack(frame)
    except Exception as error:
        probe.failed(error)
        return (), None
    return tuple(sdk[:_DEEPEST]), script
