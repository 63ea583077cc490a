"""The journal: one event a line, written through at once, never raising (standard library only).

Rules:
1. An event has a name `process:count`, its lane, and the events that it directly follows (`lanes`).
2. A field without a value is absent; a few fields hold a value that may be null (`_NULLABLE`).
3. Every line is one `write` on a descriptor opened for appending, so a killed process loses nothing.
4. A fault of the recorder is written as `recorder.failed`, once for each place it came from.
"""

import contextlib
import contextvars
import fcntl
import functools
import json
import os
import threading
import traceback
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, TypeVar

from . import patching
from .interrupts import Held
from .lanes import Lane, Lanes
from .values import text

Function = TypeVar("Function", bound=Callable[..., Any])

_NULLABLE = {
    "model.called": ("input",),
    "model.answered": ("output",),
    "state.decided": ("options",),
    "tool.ended": ("output",),
    "body.returned": ("value",),
    "probe.observed": ("value",),
}
_HIGH_DESCRIPTOR = 700
"""Our descriptors lie above those that the script gets, whose numbers it may print."""

run: "contextvars.ContextVar[Optional[Dict[str, str]]]" = contextvars.ContextVar(
    "agentproof_run", default=None
)
"""The label of the innermost run."""

paused: "contextvars.ContextVar[bool]" = contextvars.ContextVar("agentproof_paused", default=False)
"""True while the recorder itself uses the SDK."""


def _nothing() -> None:
    return


before_emitting: Callable[[], None] = _nothing
"""Called before an event is written."""


def label(letter: str, number: object) -> Dict[str, str]:
    """A name that the host numbers by first appearance."""
    return {"$label": "{}:{}".format(letter, number)}


class Journal:
    """Where the events of one process go."""

    def __init__(self, directory: str, mode: str, process: str) -> None:
        self.directory = directory
        self.mode = mode
        self.process = process
        self.lanes = Lanes(process)
        self._count = 0
        self._numbers: Dict[str, int] = {}
        self._lock = threading.RLock()
        self._failures: Dict[str, int] = {}
        self._silent = False
        self._descriptor = self._open()

    @property
    def path(self) -> str:
        """The file of this process."""
        return self.member("jsonl")

    def member(self, ending: str) -> str:
        """A file of this process and mode in the control directory."""
        return self._member(self.mode, ending)

    def _member(self, mode: str, ending: str) -> str:
        name = mode if self.process == "0" else "{}.{}".format(mode, self.process)
        return os.path.join(self.directory, "{}.{}".format(name, ending))

    def silence(self) -> None:
        """Write nothing any more: called in a child that only answers a question."""
        self._silent = True

    @property
    def is_silent(self) -> bool:
        """True in a child that only answers a question."""
        return self._silent or paused.get()

    def copy(self, mode: str) -> None:
        """Begin the file of another mode with what happened so far."""
        with open(self.path, "rb") as mine, open(self._member(mode, "jsonl"), "wb") as other:
            other.write(mine.read())

    def move(self, mode: str, process: Optional[str] = None) -> None:
        """Go on under another mode (after the fork at the import) or as another process."""
        self.mode = mode
        if process is not None:
            self.process = process
            self._count = 0
            self.lanes.restart(process)
        self._lock = threading.RLock()
        self._reopen()

    def happened_since(self, name: Optional[str]) -> int:
        """How many events this process has written after `name`."""
        if name is None or not name.startswith(self.process + ":"):
            return self._count
        return self._count - int(name.rpartition(":")[2])

    def new_label(self, letter: str) -> Dict[str, str]:
        """A label that nothing else in this recording has."""
        with self._lock:
            number = self._numbers[letter] = self._numbers.get(letter, 0) + 1
        return label(letter, "{}.{}".format(self.process, number))

    def emit(
        self,
        kind: str,
        fields: Dict[str, Any],
        *,
        lane: Optional[Lane] = None,
        after: Iterable[Optional[str]] = (),
        of_run: Any = ...,
    ) -> Optional[str]:
        """Write one event and return its name; None where this process is silent."""
        if self.is_silent:
            return None
        before_emitting()
        nullable = _NULLABLE.get(kind, ())
        body = {key: item for key, item in fields.items() if item is not None or key in nullable}
        innermost = run.get() if of_run is ... else of_run
        if innermost is not None:
            body["run"] = innermost
        body["kind"] = kind
        with Held(), self._lock:
            lane = lane if lane is not None else self.lanes.current()
            self._count += 1
            name = "{}:{}".format(self.process, self._count)
            predecessors = self.lanes.happened(lane, name)
            predecessors += [other for other in after if other and other not in predecessors]
            head: Dict[str, Any] = {"n": name, "lane": self.lanes.name(lane), "after": predecessors}
            self._write(json.dumps({**head, **body}, separators=(",", ":")) + "\n")
        return name

    def failed(self, part: str, error: BaseException) -> None:
        """Say that the recorder itself failed in `part`."""
        try:
            place = _place(error)
            told = "{}: {}{}".format(type(error).__name__, str(error)[:300], place)
            key = part + place
            with self._lock:
                self._failures[key] = self._failures.get(key, 0) + 1
                first = self._failures[key] == 1
            if first:
                self.emit("recorder.failed", {"part": part, "error": text(told, 1000)})
        except Exception:
            return  # nothing is left that could be told

    def _write(self, line: str) -> None:
        data = line.encode("utf-8")
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            self._reopen()  # a script may close every descriptor, as daemons do
            written = os.write(self._descriptor, data)
        while written < len(data):
            written += os.write(self._descriptor, data[written:])

    def _open(self) -> int:
        low = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return raise_descriptor(low)

    def _reopen(self) -> None:
        earlier = self._descriptor
        self._descriptor = self._open()
        if earlier != self._descriptor:
            with contextlib.suppress(OSError):
                os.close(earlier)


def raise_descriptor(low: int) -> int:
    """Move a descriptor to where no script looks."""
    try:
        high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
    except OSError:
        return low
    os.close(low)
    return high


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " ({}:{})".format(os.path.basename(frames[-1].filename), frames[-1].lineno) if frames else ""


_journal: Optional[Journal] = None


def open_journal(directory: str, mode: str, process: str) -> Journal:
    """Open the journal of this process."""
    global _journal
    _journal = Journal(directory, mode, process)
    patching.fault = _journal.failed
    return _journal


def journal() -> Journal:
    """The journal of this process.

    Raises:
        RuntimeError: none was opened.
    """
    if _journal is None:
        raise RuntimeError("the recorder has no journal yet")
    return _journal


def guarded(part: str) -> Callable[[Function], Function]:
    """Turn a fault of the recorder's own in the decorated function into an event."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with Held():
                try:
                    return function(*args, **kwargs)
                except Exception as error:
                    journal().failed(part, error)
            return None

        return call  # type: ignore[return-value]  # the same signature, None on a fault

    return decorate


@contextlib.contextmanager
def watching(part: str) -> Iterator[None]:
    """The same as `guarded` for a block."""
    with Held():
        try:
            yield
        except Exception as error:
            journal().failed(part, error)


@contextlib.contextmanager
def pause() -> Iterator[None]:
    """Let the recorder use the SDK without recording itself."""
    token = paused.set(True)
    try:
        yield
    finally:
        paused.reset(token)


class During:
    """Set a context variable for a block, also one that is left from another context.

    The end of an async generator may be run by the event loop's own clean-up, where the token of the
    context that began it is not accepted.
    """

    def __init__(self, variable: "contextvars.ContextVar[Any]", value: Any) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ValueError):
            self._variable.reset(self._token)
