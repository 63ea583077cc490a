"""The journal: one event a line, written through at once, never raising (standard library only).

Rules:
1. An event has a name `process:count`, its lane, and the events that it directly follows (`lanes`).
2. A field without a value is absent; a few fields hold a value that may be null (`_NULLABLE`).
3. Every line is one `write` on a descriptor opened for appending, so a killed process loses nothing.
4. A fault of the recorder is written as `recorder.failed`, once for each place it came from.
5. Each line ends in a code (`mac`) of itself and the line before under the run's key, which no file holds
   once the script runs: the host refuses a line that was not written here. A script that takes the key out
   of this process's memory is not found out.
"""

import contextlib
import contextvars
import fcntl
import functools
import hashlib
import json
import os
import sys
import threading
import traceback
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, TypeVar

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


def _ignore() -> None:
    return


before_emitting: Callable[[], None] = _ignore
"""Called before an event is written."""


on_work: Callable[[], None] = _ignore
"""Called where the SDK is at work for the script (`_WORK`)."""
_WORK = frozenset({"run.started", "model.called", "run.ended", "state.decided"})


on_event: List[Callable[[str, Dict[str, Any]], None]] = []
"""Called with each event's kind and fields once it is written."""


def label(letter: str, number: object) -> Dict[str, str]:
    """A name that the host numbers by first appearance."""
    return {"$label": "{}:{}".format(letter, number)}


class Journal:
    """Where the events of one process go."""

    def __init__(self, directory: str, mode: str, process: str, seal: str = "") -> None:
        self.directory = directory
        self.mode = mode
        self.process = process
        self.lanes = Lanes(process)
        self._count = 0
        self._notes = 0
        self._numbers: Dict[str, int] = {}
        self._lock = threading.RLock()
        self._failures: Dict[str, int] = {}
        self._silent = False
        self._seal = bytes.fromhex(seal)
        self._chain = process
        self.strangers = False
        """True once somebody else has called `emit`."""
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
            if self._seal and self.process == "0":
                self._seal = bytes.fromhex(seal_of_children(self._seal.hex()))
            self.process = process
            self._chain = process
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
        if not patching.is_own(sys._getframe(1)):
            self.strangers = True
        nullable = _NULLABLE.get(kind, ())
        body = {key: item for key, item in fields.items() if item is not None or key in nullable}
        innermost = run.get() if of_run is ... else of_run
        if innermost is not None:
            body["run"] = innermost
        body["kind"] = kind
        if kind in _WORK:
            on_work()
        with Held(), self._lock:
            lane = lane if lane is not None else self.lanes.current()
            self._count += 1
            name = "{}:{}".format(self.process, self._count)
            predecessors = self.lanes.happened(lane, name)
            predecessors += [other for other in after if other and other not in predecessors]
            head: Dict[str, Any] = {"n": name, "lane": self.lanes.name(lane), "after": predecessors}
            self._write(self.sealed({**head, **body}))
            for listener in on_event:
                listener(kind, body)
        return name

    def note(self, kind: str, fields: Dict[str, Any]) -> None:
        """Write a line that is no event: it happened in no lane, and nothing comes after it."""
        if not self.is_silent:
            with Held(), self._lock:
                self._notes += 1
                name = "{}:note-{}".format(self.process, self._notes)
                self._write(self.sealed({"n": name, "kind": kind, **fields}))

    def sealed(self, document: Dict[str, Any], *, last: bool = False) -> str:
        """A line of JSON with its code, which the next one's rests on but for that of the last word."""
        line = json.dumps(document, separators=(",", ":"))
        if self._seal:
            code = mac(self._seal, self._chain, line.encode("ascii"))
            self._chain = self._chain if last else code
            line = '{},"mac":"{}"}}'.format(line[:-1], code)
        return line + "\n"

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


def mac(seal: bytes, chain: str, line: bytes) -> str:
    """The code of a line (or of the last word) after what `chain` stands for."""
    return hashlib.blake2b(chain.encode("ascii") + b"\n" + line, key=seal, digest_size=16).hexdigest()


def seal_of_children(seal: str) -> str:
    """The key of all other processes of a run: what they are given may be read by the script."""
    return hashlib.blake2b(b"children", key=bytes.fromhex(seal), digest_size=32).hexdigest()


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


def open_journal(directory: str, mode: str, process: str, seal: str = "") -> Journal:
    """Open the journal of this process; `seal` is its key, 32 bytes in hexadecimal, or empty."""
    global _journal
    _journal = Journal(directory, mode, process, seal)
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


def note(kind: str, fields: Dict[str, Any]) -> None:
    """Write a line that is no event, where there is a journal (`Journal.note`)."""
    if _journal is not None:
        _journal.note(kind, fields)


def has_strangers() -> bool:
    """Whether anybody but the recorder wrote to the journal by its own function."""
    return _journal is not None and _journal.strangers


at_work: List[Callable[[bool], None]] = []
"""Called with True where the recorder begins to work on the script's time, and with False at its end."""


class _Work:
    __slots__ = ()

    def __enter__(self) -> None:
        for each in at_work:
            each(True)

    def __exit__(self, *_: object) -> None:
        for each in at_work:
            each(False)


def guarded(part: str) -> Callable[[Function], Function]:
    """Turn a fault of the recorder's own in the decorated function into an event."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with Held(), _Work():
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
    with Held(), _Work():
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
