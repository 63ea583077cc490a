"""Finds secrets before anything is written: token shapes, and the host's own key-like variables.

A recording that holds one stops. What is reported is where it is and which rule or variable it
matches, never the text itself.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_SHAPES = {
    "an OpenAI key": rb"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    "an Anthropic key": rb"sk-ant-[A-Za-z0-9_-]{20,}",
    "a GitHub token": rb"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}",
    "an AWS access key": rb"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "a Slack token": rb"xox[abprs]-[A-Za-z0-9-]{10,}",
    "a Google API key": rb"AIza[A-Za-z0-9_-]{35}",
    "a PyPI token": rb"pypi-AgEI[A-Za-z0-9_-]{50,}",
    "a JSON web token": rb"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "a bearer token": rb"[Bb]earer [A-Za-z0-9._~+/-]{24,}",
}
_SHAPE = re.compile(
    b"|".join(
        b"(?<![A-Za-z0-9_-])(?P<s%d>%s)" % (index, shape) for index, shape in enumerate(_SHAPES.values())
    )
)
_NAMES = tuple(_SHAPES)
_KEY_LIKE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_MIN_VALUE = 16


@dataclass(frozen=True)
class Sighting:
    """A secret's place: the file, the line (from 1), and what it matches."""

    path: str
    line: int
    rule: str


def host_secrets(environment: Mapping[str, str]) -> dict[str, bytes]:
    """The values of variables that are named like keys, where they are long enough to be told apart."""
    return {
        name: value.encode("utf-8", "surrogateescape")
        for name, value in environment.items()
        if _KEY_LIKE.search(name) and len(value) >= _MIN_VALUE and not value.startswith(("/", "./"))
    }


def find_secrets(files: Iterable[tuple[str, bytes]], *, secrets: Mapping[str, bytes]) -> Iterator[Sighting]:
    """Yield every sighting in these files."""
    for path, data in files:
        for match in _SHAPE.finditer(data):
            yield Sighting(path, _line(data, match.start()), _NAMES[int(str(match.lastgroup)[1:])])
        for name, value in secrets.items():
            at = min((found for each in _spellings(value) if (found := data.find(each)) >= 0), default=None)
            if at is not None:
                yield Sighting(path, _line(data, at), f"the value of ${name}")


def _spellings(value: bytes) -> tuple[bytes, bytes]:
    """A value as it is, and as it stands in JSON."""
    text = value.decode("utf-8", "surrogateescape")
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    return value, escaped.encode("utf-8", "surrogateescape")


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
