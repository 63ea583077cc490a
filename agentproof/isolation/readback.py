"""What the recorder left in a control directory, read with bounds and believed only as far as it parses.

The script's process can write here too. A line that is no event, a name that occurs twice or a file of
another kind is an error that names file and line; a forged but well-formed event is not found out here
(the script is part of what a reader judges: README, "What a bundle proves").
"""

import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from ..errors import CannotDoError, FormatError, RecorderError, UsageError
from ..limits import MAX_EVENT_DEPTH, MAX_EVENTS, MAX_TOLD_BYTES, MAX_TOLD_VALUES
from ..models.manifest import Conduct, Gap, LoadedModule
from ..models.trace import Mode
from ..models.wire import Count, ListOf, Text, Wire
from .control import read_member
from .seals import Chain, UnsealedError

Outcome = Literal["ended", "killed", "timed_out", "too_much_output", "out_of_memory"]

MAX_EVENT_BYTES: Final = 64 * 2**20
"""All events of one mode of one run."""
MAX_LOCATED_BYTES: Final = 64 * 2**20
"""What the probe of `explain` writes of one process in one mode."""
_MAX_END_BYTES = 8 * 2**20
_NOTE: Final = "conduct.found"
"""The kind of a line that is no event: what a process did to the SDK, told before its last word."""
_LAST_LINE = 2**12
"""Where the end of a stream that is cut off is looked for; of a longer line the beginning is kept."""
_MOST_MISSED = 256
_JSONL = re.compile(r"^(?P<mode>as-written|streamed)(?:\.(?P<child>[0-9]{1,6}))?\.jsonl$", re.ASCII)


@dataclass(frozen=True)
class StreamBytes:
    """The bytes of one stream, as far as they are kept."""

    data: bytes
    size: int
    truncated: bool


@dataclass(frozen=True)
class RawRecording:
    """One run of the script in one mode, as the recorder wrote it down."""

    mode: Mode
    events: tuple[dict[str, Any], ...]  # Any: JSON as the recorder wrote it
    """Of the main process, then of each process that it started, each in raw order."""
    stdout: StreamBytes
    stderr: StreamBytes
    outcome: Outcome
    exit_code: int | None
    loaded: tuple[LoadedModule, ...]
    conduct: Conduct
    files: tuple[str, ...]
    coverage: tuple[Gap, ...]
    unforked: str | None
    """Why the modes did not share one process up to the SDK's import."""
    missed: tuple[str, ...]
    """What it opened or started and did not find, relative to its root or working directory."""
    paths: dict[str, str]
    """Absolute paths of this run and the tokens that stand for them."""
    observed_ms: int = 0
    """Milliseconds for which the recorder held the script up to look at it, of `passed_ms` in all."""
    passed_ms: int = 0
    located: tuple[bytes, ...] = ()
    """What the probe of `explain` wrote, one document a process; of an ordinary recording nothing."""


class _End(Wire):
    """`<mode>.end.json`: the recorder's last word about a mode."""

    loaded: ListOf[LoadedModule] = ()
    conduct: Conduct = Conduct()
    files: ListOf[Text] = ()
    coverage: ListOf[Gap] = ()
    observed_ms: Count = 0
    passed_ms: Count = 0
    missed: ListOf[Text] = ()
    exit_code: int | None = None


def has_begun(control: Path, mode: Mode) -> bool:
    """True once the recorder has written anything for a mode."""
    return os.path.lexists(control / f"{mode}.jsonl") or has_ended(control, mode)


def has_ended(control: Path, mode: Mode) -> bool:
    """True once the recorder has written its last word about a mode."""
    return os.path.lexists(control / f"{mode}.end.json")


def unforked(control: Path) -> str | None:
    """Why the recorder did not fork, if it says so.

    Raises:
        RecorderError: the file is not what the recorder writes.
    """
    found = read_member(control, "unforked.json", limit=2**16)
    if found is None:
        return None
    document = _parse(found[0], "unforked.json", 1)
    why = document.get("why")
    if not isinstance(why, str):
        _malformed("unforked.json", 1, "no `why`")
    return why


_NO_LAST_WORD: Final = Gap(
    what="conduct",
    why="the script's process was gone before the recorder could say what had been done to the SDK",
)


def read_mode(
    control: Path,
    mode: Mode,
    *,
    died: Outcome | None,
    kept: int,
    most: int,
    why_unforked: str | None,
    paths: dict[str, str],
    seal: str = "",
) -> RawRecording:
    """Read back one mode. `died` says how it was ended from outside, if it was; `seal` is the key that the
    recorder was given, in hexadecimal, or empty.

    A stream that was ended for its size counts `most` bytes: what it came to beyond is chance.

    Raises:
        UsageError: the script had something else in the SDK's place.
        CannotDoError: the script made more events than a mode may have, or larger ones.
        RecorderError: a file is not what the recorder writes; file and line are named.
    """
    found = read_member(control, f"{mode}.end.json", limit=_MAX_END_BYTES + 1)
    # A last word from a mode that was still running is not the recorder's.
    ended = found is not None and died is None
    chain = Chain(seal, 0)
    lines = tuple(_events(control, mode, whole=ended, seal=seal, main=chain))
    end = (
        None
        if found is None
        else _read_end(found, f"{mode}.end.json", paths, chain if ended else Chain("", 0))
    )
    notes = {name for line in lines if line["kind"] == _NOTE for name in _changed(line)}
    events = tuple(line for line in lines if line["kind"] != _NOTE)
    last = end or _End()
    if ended:
        _require_last_words(control, mode, events)
    return RawRecording(
        mode=mode,
        events=events,
        stdout=captured(control, f"{mode}.stdout", kept=kept, most=most),
        stderr=captured(control, f"{mode}.stderr", kept=kept, most=most),
        outcome="ended" if ended else died or "killed",
        exit_code=(last.exit_code if last.exit_code is not None else _exit_code(events)) if ended else None,
        loaded=last.loaded,
        conduct=Conduct(
            changed=tuple(sorted({*last.conduct.changed, *notes})),
            private_writes=last.conduct.private_writes,
            private_reads=last.conduct.private_reads,
        ),
        files=last.files,
        coverage=last.coverage if found is not None or died is not None else (_NO_LAST_WORD,),
        unforked=why_unforked,
        missed=last.missed[:_MOST_MISSED],
        paths=paths,
        observed_ms=last.observed_ms,
        passed_ms=last.passed_ms,
        located=tuple(_located(control, mode)),
    )


def _located(control: Path, mode: Mode) -> Iterator[bytes]:
    for name in sorted(os.listdir(control)):
        if name.startswith(f"{mode}.") and name.endswith(".located.json"):
            data, size = read_member(control, name, limit=MAX_LOCATED_BYTES) or (b"", 0)
            if size > len(data):
                raise RecorderError(f"{name}: {size} bytes is over the limit of {MAX_LOCATED_BYTES}")
            yield data


def captured(control: Path, name: str, *, kept: int, most: int) -> StreamBytes:
    """The first `kept` bytes of a stream's file, of `most` at the most, up to the end of a line.

    An absent file is an empty stream.

    Raises:
        RecorderError: the file is of another kind.
    """
    data, size = read_member(control, name, limit=kept) or (b"", 0)
    if size > len(data):
        # Half a line may hold half a secret, which nobody recognises.
        data = data[: data.rfind(b"\n", max(0, len(data) - _LAST_LINE)) + 1] or data
    return StreamBytes(data=data, size=min(size, most), truncated=size > len(data))


def _read_end(found: tuple[bytes, int], name: str, paths: Mapping[str, str], chain: Chain) -> _End:
    data, size = found
    if size > _MAX_END_BYTES:
        raise RecorderError(f"{name}: {size} bytes is over the limit of {_MAX_END_BYTES}")
    try:
        data = chain.last_word(data.rstrip(b"\n"))
    except UnsealedError as error:
        _malformed(name, 1, str(error))
    document = _parse(data, name, 1)
    document.pop("mac", None)
    _check_to_the_wheel(document.get("loaded"), paths)
    try:
        return _End.from_shape(document)
    except FormatError as error:
        raise RecorderError(f"{name}: {error.message}") from error


def _changed(note: Mapping[str, Any]) -> Iterator[str]:  # Any: JSON
    names = note.get("changed")
    return (name for name in (names if isinstance(names, list) else ()) if isinstance(name, str) and name)


def _require_last_words(control: Path, mode: Mode, events: Iterable[Mapping[str, Any]]) -> None:  # Any: JSON
    """A process that told of its end also said what it did to the SDK."""
    for event in events:
        process = str(event["n"]).partition(":")[0]
        name = f"{mode}.{process}.end.json"
        if event["kind"] == "process.ended" and process.isdigit() and not os.path.lexists(control / name):
            raise RecorderError(
                f"{name} is missing: process {process} told of its end, its last word was taken away",
                hint="the script may have removed it; otherwise this is our bug",
            )


def _check_to_the_wheel(loaded: object, paths: Mapping[str, str]) -> None:
    """Nothing is recorded as the SDK that is not: modules from elsewhere have their whole path."""
    for module in loaded if isinstance(loaded, list) else ():
        path = module.get("path") if isinstance(module, dict) else None
        if not isinstance(path, str) or not os.path.isabs(path):
            continue
        for place, token in sorted(paths.items(), key=lambda item: -len(item[0])):
            path = path.replace(place, token)
        raise UsageError(
            f"the script imported {module.get('module')} from {path}, not from the wheel that is recorded",
            hint="rename what stands in the SDK's place, so that the SDK is imported",
        )


def _events(
    control: Path, mode: Mode, *, whole: bool, seal: str, main: Chain
) -> Iterator[dict[str, Any]]:  # Any: JSON
    try:
        present = os.listdir(control)
    except OSError as error:
        raise RecorderError(f"the control directory cannot be read any more: {error.strerror}") from error
    names = sorted(
        (int(match["child"] or 0), name)
        for name in present
        if (match := _JSONL.match(name)) and match["mode"] == mode
    )
    left = MAX_EVENT_BYTES
    seen: set[str] = set()
    told = _Told()
    for process, name in names:
        chain = Chain(seal, process) if process else main
        data, size = read_member(control, name, limit=left) or (b"", 0)
        # No file of a run may be larger: at the cap the recorder's own line is cut off (`Limits.file_bytes`).
        if size > left or (size == left and not data.endswith(b"\n")):
            raise CannotDoError(
                f"{name}: the script made events of more than {MAX_EVENT_BYTES} bytes in one mode",
                hint="let it do less, or with less data",
            )
        left -= size
        # Only a process that was killed may leave half a line.
        if whole and name == f"{mode}.jsonl" and data and not data.endswith(b"\n"):
            _malformed(name, data.count(b"\n") + 1, "the line has no end")
        for number, line in enumerate(io.BytesIO(data), start=1):
            if not line.endswith(b"\n"):
                break
            try:
                event = _parse(chain.take(line[:-1]), name, number)
            except UnsealedError as error:
                _malformed(name, number, str(error))
            key = event.get("n")
            if not isinstance(key, str) or not isinstance(event.get("kind"), str):
                _malformed(name, number, "no `n` or no `kind`")
            if key in seen:
                _malformed(name, number, f"a second event named {key[:80]!r}")
            seen.add(key)
            if len(seen) > MAX_EVENTS:
                raise CannotDoError(
                    f"the script made more than {MAX_EVENTS} events in one mode",
                    hint="let it do less: no check takes a trace of so many",
                )
            told.take(event)
            yield event


class _Told:
    """How much the events of one run tell, each state once; equal states become one object."""

    def __init__(self) -> None:
        self._states: dict[bytes, Any] = {}  # Any: a state's JSON
        self._bytes = 0
        self._values = 0

    def take(self, event: dict[str, Any]) -> None:  # Any: JSON
        """Count what an event tells.

        Raises:
            CannotDoError: with all before it that is too much.
        """
        for key, item in event.items():
            if not isinstance(item, dict) or item.keys() != {"$state"}:
                self._weigh(item)
                continue
            text = _STATE.encode(item["$state"]).encode("utf-8", "surrogatepass")
            digest = hashlib.sha256(text).digest()
            if digest not in self._states:
                self._states[digest] = item
                self._weigh(item)
            event[key] = self._states[digest]

    def _weigh(self, part: object) -> None:
        todo = [part]
        while todo:
            each = todo.pop()
            self._values += 1
            if isinstance(each, str):
                # An interpreter gives each letter of a text as much room as the widest one needs.
                width = 1 if each.isascii() else 2 if max(each) <= "\uffff" else 4
                self._bytes += width * len(each)
            elif isinstance(each, list):
                todo += each
            elif isinstance(each, dict):
                todo += each
                todo += each.values()
        if self._bytes > MAX_TOLD_BYTES or self._values > MAX_TOLD_VALUES:
            raise CannotDoError(
                f"the events of one mode tell more than {MAX_TOLD_BYTES} bytes of text or "
                f"{MAX_TOLD_VALUES} values",
                hint="let the script do less, or with less data",
            )


_STATE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def _is_too_deep(document: object) -> bool:
    """Whether it is nested so that walking through it would need too many calls."""
    level = [document]
    for _ in range(MAX_EVENT_DEPTH):
        inner: list[object] = []
        for part in level:
            if isinstance(part, list):
                inner += part
            elif isinstance(part, dict):
                inner += part.values()
        level = [part for part in inner if isinstance(part, list | dict)]
        if not level:
            return False
    return True


def _parse(line: bytes, name: str, number: int) -> dict[str, Any]:  # Any: JSON
    try:
        document = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        _malformed(name, number, str(error) or type(error).__name__)
    if not isinstance(document, dict):
        _malformed(name, number, "not an object")
    if line.count(b"[") + line.count(b"{") > MAX_EVENT_DEPTH and _is_too_deep(document):
        _malformed(name, number, f"nested more than {MAX_EVENT_DEPTH} deep")
    return document


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _malformed(name: str, number: int, why: str) -> NoReturn:
    raise RecorderError(
        f"{name}:{number}: not an event that the recorder writes ({why[:200]})",
        hint="the script may have written into the recorder's directory; otherwise this is our bug",
    )


def _exit_code(events: tuple[dict[str, Any], ...]) -> int | None:  # Any: JSON
    for event in reversed(events):
        if event["kind"] == "script.ended":
            code = event.get("code")
            return code if isinstance(code, int) and not isinstance(code, bool) else None
    return None
