"""What of a script's folder goes along with it, and what it asked for that does not.

Told before anything is signed: whoever attaches the bundle should know what of their folder is in it.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..isolation import runner
from .progress import Progress
from .reproduction import Reproduction

_MOST_NAMED: Final = 8
_NO_MODULE: Final = re.compile(r"No module named '(\w+)'.*", re.DOTALL)


def tell_files(
    files: Iterable[str],
    reproduction: Reproduction,
    run: runner.Observation,
    progress: Progress,
    *,
    shown: Callable[[str], str] = str,
) -> None:
    """Tell which `files` are members beside the entry, and the option that adds what was missed.

    `shown` takes secrets out: a file's name may be one.
    """
    entry, root = reproduction.entry, reproduction.root
    tell_members(map(shown, files), entry, progress)
    if root is None:
        return
    if run.is_blind:
        progress.done("not seen", f"which files other programs read that {entry} started")
    raws = [raw for repeat in run.repeats for raw in repeat.values()]
    asked = {name for raw in raws for name in (*raw.missed, *_modules_missed(raw.events))}
    there = [name for name in sorted(asked) if name not in reproduction.files and _is_beside(root, name)]
    if there:
        named = [shlex.quote(shown(os.path.relpath(root / name))) for name in there[:_MOST_NAMED]]
        options = " ".join(["record", *(f"--file {name}" for name in named)])
        why = "of a kind that is left out"
        if reproduction.is_alone:
            why = "in no project, so it is not taken along"
        what = f"{entry} asks for {_listed([*map(shown, there)])} beside it, {why}"
        progress.done("left out", f"{what}: `{options}` adds {'it' if len(there) == 1 else 'them'}")
    elif "." in asked and reproduction.is_alone:
        progress.done(
            "left out", f"{entry} looks for files beside it: `record --root DIR` takes a folder along"
        )


def tell_members(files: Iterable[str], entry: str, progress: Progress) -> None:
    """Tell which `files` are members beside the entry."""
    others = [path for path in files if path != entry]
    if others:
        progress.done("files", f"with {entry}: {_listed(others)}")


def _modules_missed(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:  # Any: the recorder's JSON
    """Files that would have been the module that an import did not find."""
    for event in events:
        error = event.get("error") if event.get("kind") == "script.ended" else None
        message = error.get("message") if isinstance(error, dict) else None
        found = _NO_MODULE.fullmatch(message) if isinstance(message, str) else None
        if found is not None:
            yield from (found[1], f"{found[1]}.py")


def _is_beside(root: Path, name: str) -> bool:
    """Whether there is such a file or folder below the script's; other names are nobody's business."""
    top = Path(os.path.realpath(root))
    path = Path(os.path.realpath(top / name)) if name.isprintable() else top
    return path != top and path.is_relative_to(top) and os.path.exists(path)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"
