"""Tell the cache files that this user's agentproof wrote from all others.

A digest beside a file catches damage; whoever can change the file can change the digest too. Caches
get changed: they are restored by CI services, shared, cleaned half. So what must be believed from the
cache (locks, bytecode, where a wheel came from) carries a MAC under a key that lies beside the user's
own signing key, outside the cache. What does not open is made again. Somebody who can read that key
can act as the user anyway.

    hmac-sha256 <64 hex digits>\\n<the bytes>
"""

import hashlib
import hmac
import os
from functools import cache
from pathlib import Path
from typing import Final

from ..system import temporary
from .signing import config_dir

_NAME: Final = "cache.key"
_MARK: Final = b"hmac-sha256 "
_HEAD: Final = len(_MARK) + 64 + 1


def seal(data: bytes, *, what: str) -> bytes | None:
    """`data` with its MAC, as `what`; None when no key can be kept here, so nothing can be believed later."""
    key = _key(config_dir() / _NAME)
    return _MARK + _mac(key, data, what) + b"\n" + data if key is not None else None


def unseal(sealed: bytes, *, what: str) -> bytes | None:
    """The data that was sealed as `what` under this user's key; None for anything else."""
    key = _key(config_dir() / _NAME)
    if key is None or not sealed.startswith(_MARK):
        return None
    # Not copied before it is checked: an archive of bytecode has tens of megabytes.
    view = memoryview(sealed)[_HEAD:]
    if sealed[_HEAD - 1 : _HEAD] != b"\n" or not hmac.compare_digest(
        sealed[len(_MARK) : _HEAD - 1], _mac(key, view, what)
    ):
        return None
    return bytes(view)


def keep(path: Path, data: bytes, *, what: str) -> bool:
    """Write `data` with its MAC to `path`; whether that was possible. A read-only cache costs time only."""
    sealed = seal(data, what=what)
    if sealed is None:
        return False
    try:
        temporary.write(path, sealed)
    except OSError:
        return False
    return True


def kept(path: Path, *, what: str, is_use: bool = True) -> bytes | None:
    """What `keep` wrote to `path` as `what`, if it is as it was written. Pruning goes by the last use."""
    try:
        sealed = path.read_bytes()
        if is_use:
            os.utime(path)
    except OSError:
        return None
    return unseal(sealed, what=what)


def _mac(key: bytes, data: bytes | memoryview, what: str) -> bytes:
    # Hashed first, so that `what` and the data cannot run into each other.
    message = what.encode() + b"\0" + hashlib.sha256(data).digest()
    return hmac.digest(key, message, "sha256").hex().encode()


@cache
def _key(path: Path) -> bytes | None:
    """The key at `path`, made on first use; None where it cannot be kept to oneself."""
    for _ in range(2):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            _make(path)
            continue
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as stream:
            if os.name == "posix" and os.fstat(descriptor).st_mode & 0o077:
                return None
            key = stream.read(33)
        return key if len(key) == 32 else None
    return None


def _make(path: Path) -> None:
    """Write a new key; whoever comes second uses the first one's."""
    import secrets  # noqa: PLC0415 (2 ms, once a store)

    new = path.with_name(f".{_NAME}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(32))
            os.link(new, path)  # fails when another process was first
        finally:
            os.unlink(new)
    except OSError:
        return
