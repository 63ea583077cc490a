"""Which recording a saved state comes from: a reproduction may carry states that an older release wrote.

A state is kept in a bundle under the SHA-256 of its bytes, so a file is that state if it has that digest,
and the bundle that holds it says which release wrote it. A recording that restored the file is not where
it comes from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..bundle.digests import sha256
from ..bundle.store import (
    MANIFEST,
    ZIP_SUFFIX,
    bundle_id,
    check_exists,
    find_bundles,
    is_text,
    read_bundle,
    shelf_of,
)
from ..diff.rows import target_name
from ..errors import BundleError, UsageError
from ..limits import MAX_STATE_BYTES
from ..models.events import StateRestored
from ..models.report import BundleStatus
from ..models.trace import Mode, Trace
from ..models.wire import Sha256
from ..sdk import KNOWN
from ..system.files import read_bounded
from .bundle import CheckedBundle, Reader, check_path
from .members import check_members, check_places, parse_manifest

_MARKS = tuple(sdk.state_mark for sdk in KNOWN.values())


@dataclass(frozen=True)
class StateOrigin:
    """A bundle that holds a state."""

    bundle: Path
    status: BundleStatus
    """What the bundle's check came to; of an INVALID one nothing else is known."""
    release: str | None = None
    states: Mapping[Mode, tuple[str, ...]] | None = None
    """The labels under which it is seen there, such as S2."""


@dataclass(frozen=True)
class SavedState:
    """A file, and where the state in it was recorded."""

    name: str
    sha256: Sha256
    origins: tuple[StateOrigin, ...]

    @property
    def is_known(self) -> bool:
        """Whether a sound bundle holds it."""
        return any(origin.status != "INVALID" for origin in self.origins)


def read_saved(path: Path) -> Mapping[str, bytes]:
    """The states in a file, or those that the reproduction in a bundle carries, by their names.

    Raises:
        UsageError: there is nothing, or no RunState in it.
        BundleError: the bundle cannot be read.
    """
    check_exists(path)
    if path.is_dir() or path.name.endswith(ZIP_SUFFIX):
        carried = _carried(path)
    elif is_text(path):
        carried = {name: data for each in find_bundles(path) for name, data in _carried(each).items()}
    else:
        data = read_bounded(path, limit=MAX_STATE_BYTES, what="saved state")
        carried = {str(path): data} if _has_mark(data) else {}
    if not carried:
        raise UsageError(
            f"{path}: no RunState's JSON in it", hint="`agentproof show BUNDLE --state S1` gives one"
        )
    return carried


def _carried(path: Path) -> dict[str, bytes]:
    bundle = read_bundle(path, wheels=shelf_of(path))
    manifest = parse_manifest(bundle.manifest, digest=bundle_id(bundle))
    check_members(manifest, bundle)
    check_places(manifest)
    files = {name: bundle.members[name] for name in manifest.reproduction.files}
    return {f"{path}/{name}": data for name, data in files.items() if _has_mark(data)}


def _has_mark(data: bytes) -> bool:
    return any(mark in data for mark in _MARKS)


def find_origins(
    saved: Mapping[str, bytes], bundles: Sequence[Path], *, reader: Reader
) -> Iterator[SavedState]:
    """For each saved state the bundles among `bundles` that hold it, with what their check comes to."""
    wanted = {name: sha256(data) for name, data in saved.items()}
    holders = dict(_holders(frozenset(wanted.values()), bundles))
    checked = {path: check_path(path, reader=reader, wheels=shelf_of(path)) for path in holders}
    for name, digest in wanted.items():
        origins = (_origin(path, checked[path], digest) for path, held in holders.items() if digest in held)
        yield SavedState(name, digest, tuple(origin for origin in origins if origin is not None))


def _holders(wanted: frozenset[Sha256], bundles: Iterable[Path]) -> Iterator[tuple[Path, frozenset[Sha256]]]:
    for path in (each for given in bundles for each in find_bundles(given)):
        if path.is_dir() and (path / MANIFEST).exists():
            held = {digest for digest in wanted if (path / "states" / f"{digest}.json").exists()}
        else:
            try:
                members = read_bundle(path).members
            except BundleError:  # it holds nothing that could be shown
                continue
            held = {digest for digest in wanted if f"states/{digest}.json" in members}
        if held:
            yield path, frozenset(held)


def _origin(path: Path, checked: CheckedBundle, digest: Sha256) -> StateOrigin | None:
    if checked.status == "INVALID" or checked.manifest is None:
        return StateOrigin(path, "INVALID")
    states = {mode: labels for mode, trace in checked.traces.items() if (labels := _labels(trace, digest))}
    return StateOrigin(path, checked.status, target_name(checked.manifest), states) if states else None


def _labels(trace: Trace, digest: Sha256) -> tuple[str, ...]:
    """The states that came to have this digest in the recording, rather than by being restored with it."""
    came: dict[str, None] = {}
    restored: set[str] = set()
    for event in trace.events:
        shape = event.to_shape()
        if "state" in shape and digest in shape.values():
            came.setdefault(str(shape["state"]))
            if isinstance(event, StateRestored):
                restored.add(str(shape["state"]))
    return tuple(label for label in came if label not in restored)
