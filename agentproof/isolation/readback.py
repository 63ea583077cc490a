"""What the recorder left in a control directory, read with bounds and believed only as far as it parses.

The script's process can write here too. A line that is no event, a name that occurs twice or a file of
another kind is an error that names file and line; a forged but well-formed event is not found out here
(the script is part of what a reader judges: README, "What a bundle proves").
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from ..errors import FormatError, RecorderError, UsageError
from ..models.manifest import Conduct, Gap, LoadedModule
from ..models.trace import Mode
from ..models.wire import ListOf, Text, Wire
from .control import read_member

Outcome = Literal["ended", "killed", "timed_out", "too_much_output", "out_of_memory"]

MAX_EVENT_BYTES: Final = 64 * 2**20
"""All events of one mode of one run."""
MAX_LOCATED_BYTES: Final = 64 * 2**20
"""What the probe of `explain` writes of one process in one mode."""
_MAX_END_BYTES = 8 * 2**20
_LAST_LINE = 2**12
"""Where the end of a stream that is cut off is looked for; of a longer line the beginning is kept."""
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
    paths: dict[str, str]
    """Absolute paths of this run and the tokens that stand for them."""
    located: tuple[bytes, ...] = ()
    """What the probe of `explain` wrote, one document a process; of an ordinary recording nothing."""


class _End(Wire):
    """`<mode>.end.json`: the recorder's last word about a mode."""

    loaded: ListOf[LoadedModule] = ()
    conduct: Conduct = Conduct()
    files: ListOf[Text] = ()
    coverage: ListOf[Gap] = ()
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


def read_mode(
    control: Path,
    mode: Mode,
    *,
    died: Outcome | None,
    kept: int,
    most: int,
    why_unforked: str | None,
    paths: dict[str, str],
) -> RawRecording:
    """Read back one mode. `died` says how it was ended from outside, if it was.

    A stream that was ended for its size counts `most` bytes: what it came to beyond is chance.

    Raises:
        UsageError: the script had something else in the SDK's place.
        RecorderError: a file is not what the recorder writes; file and line are named.
    """
    end = _read_end(control, mode, paths)
    # A last word from a mode that was still running is not the recorder's.
    ended = end is not None and died is None
    events = tuple(_events(control, mode, whole=ended))
    last = end or _End()
    return RawRecording(
        mode=mode,
        events=events,
        stdout=captured(control, f"{mode}.stdout", kept=kept, most=most),
        stderr=captured(control, f"{mode}.stderr", kept=kept, most=most),
        outcome="ended" if ended else died or "killed",
        exit_code=(last.exit_code if last.exit_code is not None else _exit_code(events)) if ended else None,
        loaded=last.loaded,
        conduct=last.conduct,
        files=last.files,
        coverage=last.coverage,
        unforked=why_unforked,
        paths=paths,
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


def _read_end(control: Path, mode: Mode, paths: Mapping[str, str]) -> _End | None:
    name = f"{mode}.end.json"
    found = read_member(control, name, limit=_MAX_END_BYTES + 1)
    if found is None:
        return None
    data, size = found
    if size > _MAX_END_BYTES:
        raise RecorderError(f"{name}: {size} bytes is over the limit of {_MAX_END_BYTES}")
    document = _parse(data, name, 1)
    _check_to_the_wheel(document.get("loaded"), paths)
    try:
        return _End.from_shape(document)
    except FormatError as error:
        raise RecorderError(f"{name}: {error.message}") from error


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


def _events(control: Path, mode: Mode, *, whole: bool) -> Iterator[dict[str, Any]]:  # Any: JSON
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
    for _, name in names:
        data, size = read_member(control, name, limit=left) or (b"", 0)
        if size > left:
            raise RecorderError(f"{name}: the events are over the limit of {MAX_EVENT_BYTES} bytes")
        left -= size
        lines = data.split(b"\n")
        torn = lines.pop()
        # Only a process that was killed may leave half a line.
        if torn and whole and name == f"{mode}.jsonl":
            _malformed(name, len(lines) + 1, "the line has no end")
        for number, line in enumerate(lines, start=1):
            event = _parse(line, name, number)
            key = event.get("n")
            if not isinstance(key, str) or not isinstance(event.get("kind"), str):
                _malformed(name, number, "no `n` or no `kind`")
            if key in seen:
                _malformed(name, number, f"a second event named {key[:80]!r}")
            seen.add(key)
            yield event


def _parse(line: bytes, name: str, number: int) -> dict[str, Any]:  # Any: JSON
    try:
        document = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        _malformed(name, number, str(error) or type(error).__name__)
    if not isinstance(document, dict):
        _malformed(name, number, "not an object")
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
