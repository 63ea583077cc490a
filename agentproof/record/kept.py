"""Recordings that were made before, so that an interrupted comparison, bisection or matrix goes on.

Rules:
1. A recording is kept under all that it depends on: every file that the script can see, its arguments,
   the locked wheels, the exact Python, our own code, the isolation, limits and repeats.
2. It is kept unsigned and without wheels, as its one zip, sealed for this user. What does not open or
   does not parse is made again.
3. Only whole recordings are kept. Whatever is interrupted loses what it was just making, nothing else.

    <cache>/recordings/<key>
"""

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path

from .. import __version__
from ..bundle.digests import sha256
from ..bundle.store import Bundle, from_zip_bytes, without_target_wheel, zip_bytes
from ..environment import wheel_store
from ..environment.locking import Lock
from ..errors import BundleError
from ..isolation import levels
from ..models.wire import Sha256, encode
from ..system.files import write_atomic
from ..trust.seal import kept, seal
from .conditions import Conditions
from .reproduction import Reproduction


def default_results() -> "ResultStore":
    """The user's own."""
    return ResultStore(wheel_store.cache_root() / "recordings")


class ResultStore:
    """Recordings by what they depend on."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, key: Sha256) -> Bundle | None:
        """The recording that was kept under `key`, without its wheel."""
        data = kept(self.root / key, what=f"recording {key}")
        if data is None:
            return None
        try:
            bundle = from_zip_bytes(data)
            _ = bundle.document
        except BundleError:  # of an older format
            return None
        return bundle

    def put(self, key: Sha256, bundle: Bundle) -> None:
        """Keep a recording.

        Raises:
            CannotDoError: the cache cannot be written.
        """
        sealed = seal(
            zip_bytes(replace(without_target_wheel(bundle), attestations={})), what=f"recording {key}"
        )
        if sealed is not None:
            write_atomic(self.root / key, sealed)


def result_key(lock: Lock, reproduction: Reproduction, conditions: Conditions) -> Sha256:
    """What a recording depends on, as one digest.

    Raises:
        CannotDoError: the isolation that is asked for cannot be had.
    """
    choice = levels.choose(conditions.require_isolation)
    document = {
        "agentproof": own_sources(),
        "files": {name: sha256(data) for name, data in reproduction.files.items()},
        "entry": reproduction.entry,
        "arguments": list(reproduction.arguments),
        "tests": list(reproduction.tests),
        "requires": list(reproduction.requires),
        "exchanges": reproduction.exchanges and sha256(reproduction.exchanges.to_bytes()),
        "expectations": reproduction.expectations.to_shape(),
        "variables": [sorted(conditions.variables.values.items()), sorted(conditions.variables.public)],
        "environment": lock.environment(installed_files=0).to_shape(),
        "target": lock.target.to_shape(),
        "python": str(lock.python.path),
        "isolation": [choice.level, choice.landlock],
        "conditions": {
            name: str(getattr(conditions, name))
            for name in ("allow_sdk_changes", "repeats", "redact", "redact_patterns", "limits")
        },
    }
    return sha256(encode(document))


@cache
def own_sources() -> Sha256:
    """The code that records and judges: between releases a version number does not tell it."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in ("cli", "render"):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
