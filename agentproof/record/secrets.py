"""Finds secrets before anything is written: token shapes, and the host's own key-like variables.

A recording that holds one stops, unless the user asked for redaction. What is reported is where it
is and which rule or variable it matches, never the text itself. Looked at are texts as they are, as they
stand in JSON (also in JSON within JSON, as in a tool's arguments) and in URLs, and what our own values
spell in another way (bytes, text that is not valid Unicode). Whatever a program encodes by itself, in
base64 for instance, is not.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..live.keys import spellings

_SHAPES = {
    "an OpenAI key": r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    "an Anthropic key": r"sk-ant-[A-Za-z0-9_-]{20,}",
    "a GitHub token": r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}",
    "an AWS access key": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "a Slack token": r"xox[abprs]-[A-Za-z0-9-]{10,}",
    "a Google API key": r"AIza[A-Za-z0-9_-]{35}",
    "a PyPI token": r"pypi-AgEI[A-Za-z0-9_-]{50,}",
    "a JSON web token": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----)?",
    # Not what a script has in the place of a key (`live.providers.placeholder`).
    "a bearer token": r"[Bb]earer (?!agentproof-)[A-Za-z0-9._~+/-]{24,}",
}
_SHAPE = re.compile(
    "|".join(f"(?<![A-Za-z0-9_-])(?P<s{index}>{shape})" for index, shape in enumerate(_SHAPES.values()))
)
_SHAPE_IN_BYTES = re.compile(_SHAPE.pattern.encode())
_NAMES = tuple(_SHAPES)
_KEY_LIKE = re.compile(
    r"KEY(?!BOARD|MAP|RING)|TOKEN(?!IZ)|SECRET|PASSW|CREDENTIAL|AUTH(?!OR(?!I[SZ]))", re.IGNORECASE
)
"""Not a keyboard, nor git's author."""
_MIXED = re.compile(r"(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*[0-9])")
"""Somewhere between two slashes there are small letters, capitals and digits."""
_MIN_VALUE = 16


@dataclass(frozen=True)
class SecretMatch:
    """A secret's place: the file, the line (from 1), and what it matches."""

    path: str
    line: int
    rule: str


@dataclass(frozen=True)
class SecretPatterns:
    """What counts as a secret beside the shapes of tokens."""

    values: Mapping[str, str]
    """Values of the host's variables, by name."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """The user's own."""


def host_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The values of variables that are named like keys, where they are long enough to be told apart."""
    return {
        name: value
        for name, value in environment.items()
        if _KEY_LIKE.search(name) and len(value) >= _MIN_VALUE and not _is_path(value)
    }


def _is_path(value: str) -> bool:
    """Whether a value names a place; one in 64 keys in base64 begins with a slash as well."""
    if not value.startswith(("/", "./")):
        return False
    return os.path.lexists(value) or not _MIXED.search(value)


def patterns(expressions: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """The user's own patterns.

    Raises:
        UsageError: one is no regular expression, or matches the empty text.
    """
    found = []
    for expression in expressions:
        try:
            pattern = re.compile(expression)
        except re.error as error:
            raise UsageError(
                f"--redact-pattern {expression}: {error}", hint="write a regular expression as Python's `re`"
            ) from error
        if pattern.match(""):
            raise UsageError(
                f"--redact-pattern {expression}: it matches the empty text",
                hint="write what has to be there, such as acme_[0-9a-f]{32}",
            )
        found.append(pattern)
    return tuple(found)


def find_secrets(files: Iterable[tuple[str, bytes]], *, wanted: SecretPatterns) -> Iterator[SecretMatch]:
    """Yield every sighting in these files."""
    for path, data in files:
        for rule, at in _found(data, wanted):
            yield SecretMatch(path, _line(data, at), rule)
        for at, hidden in _spelled_otherwise(data):
            for rule, _ in _found(hidden, wanted):
                yield SecretMatch(path, _line(data, at), rule)


def _found(data: bytes, wanted: SecretPatterns) -> Iterator[tuple[str, int]]:
    """(rule, offset) of each secret."""
    for match in _SHAPE_IN_BYTES.finditer(data):
        yield _NAMES[int(str(match.lastgroup)[1:])], match.start()
    for name, value in wanted.values.items():
        places = [data.find(_encoded(each)) for each in spellings(value)]
        if at := [place for place in places if place >= 0]:
            yield f"the value of ${name}", min(at)
    if wanted.patterns:
        text = data.decode("utf-8", "surrogateescape")
        for pattern in wanted.patterns:
            for hit in pattern.finditer(text):
                yield "a --redact-pattern", len(_encoded(text[: hit.start()]))


_OTHERWISE = re.compile(rb'"\$bytes":\s*"(?P<hex>[0-9a-f]*)"|"\$str":\s*\[(?P<points>[0-9,\s]*)\]')


def _spelled_otherwise(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(offset, the bytes) of what values spell as hex digits or code points."""
    for match in _OTHERWISE.finditer(data):
        if match["points"] is None:
            yield match.start(), bytes.fromhex(match["hex"].decode("ascii")[: len(match["hex"]) // 2 * 2])
        else:
            points = [int(point) for point in match["points"].split(b",") if point.strip()]
            text = "".join(chr(point) for point in points if point <= sys.maxunicode)
            yield match.start(), _encoded(text)


class Redactor:
    """Replaces secrets by `<redacted-1>`, `<redacted-2>`, …, so that equality stays visible."""

    def __init__(
        self, wanted: SecretPatterns, *, variables: Mapping[str, str] | None = None, shapes: bool = True
    ) -> None:
        """`variables` are masked by their names, `<env:NAME>`; with `shapes` what looks like a token goes
        too."""
        self.count = 0
        """How many were replaced."""
        self._variables = {value: name for name, value in (variables or {}).items()}
        self._seen: dict[str, str] = {}
        values = (*wanted.values.values(), *self._variables)
        self._secrets = {spelled: value for value in values for spelled in spellings(value)}
        longest_first = sorted(self._secrets, key=lambda spelled: (-len(spelled), spelled))
        named = [re.compile(re.escape(spelled)) for spelled in longest_first]
        self._patterns = (*named, *([_SHAPE] if shapes else []), *wanted.patterns)

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        for pattern in self._patterns:
            text = pattern.sub(self._replace, text)
        return text

    def in_value(self, value: Mapping[str, Any]) -> Any:  # Any: a value of ours
        """A value of bytes or of broken text (`$bytes`, `$str`) without secrets; any other as it is."""
        match value:
            case {"$bytes": str(digits)}:
                text = self(bytes.fromhex(digits).decode("utf-8", "surrogateescape"))
                return {"$bytes": text.encode("utf-8", "surrogateescape").hex()}
            case {"$str": list(points)}:
                text = self("".join(map(chr, points)))
                is_broken = any(0xD800 <= ord(letter) <= 0xDFFF for letter in text)
                return {"$str": [ord(letter) for letter in text]} if is_broken else text
        return value

    def _replace(self, match: re.Match[str]) -> str:
        self.count += 1
        found = self._secrets.get(match.group(0), match.group(0))
        if found in self._variables:
            return f"<env:{self._variables[found]}>"
        return self._seen.setdefault(found, f"<redacted-{len(self._seen) + 1}>")


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # as the operating system gave it
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")  # a text of the script's that is not valid


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
