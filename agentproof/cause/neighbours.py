"""What healthy scenarios run on a release: recorded once a wheel, kept in the cache under a MAC.

Never from another release: lines that a fix changed would look as if nobody ran them, which gives it away.

    <cache>/neighbours/<key>
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from ..bundle.digests import sha256
from ..environment import wheel_store
from ..models.header import read_header
from ..models.trace import Mode
from ..models.wire import encode
from ..record.kept import own_sources
from ..record.reproduction import Reproduction
from ..trust import seal
from .located import Line, Located, Prepared

_ENTRY: Final = "healthy.py"
_BEGIN: Final = "begin "
_LEFT_OUT: Final = "left out "
_OVER: Final = "over"


def scenarios(environment: Prepared) -> Mapping[Mode, list[frozenset[Line]]]:
    """The lines that each healthy scenario runs, by mode.

    Raises:
        CannotDoError: the script cannot be held in, or the cache cannot be written.
        RecorderError: our own recorder failed.
    """
    script = files("agentproof.cause").joinpath("healthy.txt").read_bytes()
    lock = environment.lock
    key = sha256(
        encode(
            {
                "agentproof": own_sources(),
                "script": sha256(script),
                "environment": lock.environment(installed_files=0).to_shape(),
                "target": lock.target.sha256,
            }
        )
    )
    place = wheel_store.cache_root() / "neighbours" / key
    kept = _read(place, key)
    if kept is None:
        run = environment.run(_reproduction(script), {"segments": True}, repeats=1)
        kept = {mode: _scenarios(located) for mode, located in run.modes.items()}
        # A run that was cut by its time limit has only some of them, and the next one may have all.
        if kept and all(_OVER in dict(located.segments) for located in run.modes.values()):
            _write(place, key, kept)
    return kept


def _reproduction(script: bytes) -> Reproduction:
    header = read_header(script, path=_ENTRY)
    return Reproduction(entry=_ENTRY, files={_ENTRY: script}, header=header, script=Path(_ENTRY))


def _scenarios(located: Located) -> list[frozenset[Line]]:
    named = dict(located.segments)
    left_out = {name.removeprefix(_LEFT_OUT) for name in named if name.startswith(_LEFT_OUT)}
    # What is made once is made by whatever comes first, and what ends with the process belongs to all.
    setup = named.get("", frozenset()) | named.get(_OVER, frozenset())
    return [
        lines | setup
        for name, lines in named.items()
        if name.startswith(_BEGIN) and name.removeprefix(_BEGIN) not in left_out and lines
    ]


def _read(place: Path, key: str) -> dict[Mode, list[frozenset[Line]]] | None:
    data = seal.kept(place, what=f"neighbours {key}")
    if data is None:
        return None
    return {
        mode: [frozenset((file, line) for file, line in lines) for lines in each]
        for mode, each in json.loads(data).items()
    }


def _write(place: Path, key: str, kept: Mapping[Mode, list[frozenset[Line]]]) -> None:
    shape = {mode: [sorted(lines) for lines in each] for mode, each in kept.items()}
    seal.keep(place, json.dumps(shape, separators=(",", ":")).encode(), what=f"neighbours {key}")
