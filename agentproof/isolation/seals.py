"""Whether the lines of a file are the recorder's own: each ends in a code of itself and the line before.

The recorder is given a key by a file that it removes before the script begins. Its twin is
`agentproof/_recorder/events.py`.
"""

import hashlib
import hmac
import re
from typing import Final

_SEALED: Final = re.compile(rb'^(?P<body>.*),"mac":"(?P<mac>[0-9a-f]{32})"\}$', re.DOTALL)
_LAST: Final = 1000
"""Lines that may be written after the last word: by threads, and by what the interpreter takes apart."""


class UnsealedError(Exception):
    """A line that was not written by the recorder, or not after the line before it."""


class Chain:
    """The lines of one process, in their order; without a key every line passes as it is."""

    def __init__(self, key: str, process: int) -> None:
        self._key = bytes.fromhex(key if not process or not key else seal_of_children(key))
        self._codes = [str(process)]

    def take(self, line: bytes) -> bytes:
        """The next line without its code.

        Raises:
            UnsealedError: it is not the next line that the recorder wrote.
        """
        if not self._key:
            return line
        body, code = _split(line)
        if not hmac.compare_digest(_code(self._key, self._codes[-1], body), code):
            raise UnsealedError("it does not come from the recorder, or not after the line before it")
        self._codes.append(code)
        return body

    def last_word(self, line: bytes) -> bytes:
        """The last word of the process without its code.

        Raises:
            UnsealedError: it is not the one that the recorder wrote after these lines.
        """
        if not self._key:
            return line
        body, code = _split(line)
        if not any(hmac.compare_digest(_code(self._key, each, body), code) for each in self._codes[-_LAST:]):
            raise UnsealedError("it does not come from the recorder, or events before it are missing")
        return body


def _split(line: bytes) -> tuple[bytes, str]:
    match = _SEALED.match(line)
    if match is None:
        raise UnsealedError("it does not come from the recorder: it has no code")
    return match["body"] + b"}", match["mac"].decode("ascii")


def _code(key: bytes, before: str, line: bytes) -> str:
    return hashlib.blake2b(before.encode("ascii") + b"\n" + line, key=key, digest_size=16).hexdigest()


def seal_of_children(key: str) -> str:
    """The key of all other processes of a run."""
    return hashlib.blake2b(b"children", key=bytes.fromhex(key), digest_size=32).hexdigest()
