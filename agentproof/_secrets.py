"""Finds secrets before anything is written: token shapes, and the host's own key-like variables.

A recording that holds one stops, unless the user asked for redaction. What is reported is where it
is and which rule or variable it matches, never the text itself.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .errors import UsageError

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
    "a bearer token": r"[Bb]earer [A-Za-z0-9._~+/-]{24,}",
}
_SHAPE = re.compile(
    "|".join(f"(?<![A-Za-z0-9_-])(?P<s{index}>{shape})" for index, shape in enumerate(_SHAPES.values()))
)
_SHAPE_IN_BYTES = re.compile(_SHAPE.pattern.encode())
_NAMES = tuple(_SHAPES)
_KEY_LIKE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_MIN_VALUE = 16


@dataclass(frozen=True)
class Sighting:
    """A secret's place: the file, the line (from 1), and what it matches."""

    path: str
    line: int
    rule: str


@dataclass(frozen=True)
class Wanted:
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
        if _KEY_LIKE.search(name) and len(value) >= _MIN_VALUE and not value.startswith(("/", "./"))
    }


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
            raise UsageError(f"--redact-pattern {expression}: {error}") from error
        if pattern.match(""):
            raise UsageError(f"--redact-pattern {expression}: it matches the empty text")
        found.append(pattern)
    return tuple(found)


def find_secrets(files: Iterable[tuple[str, bytes]], *, wanted: Wanted) -> Iterator[Sighting]:
    """Yield every sighting in these files."""
    for path, data in files:
        for match in _SHAPE_IN_BYTES.finditer(data):
            yield Sighting(path, _line(data, match.start()), _NAMES[int(str(match.lastgroup)[1:])])
        for name, value in wanted.values.items():
            at = min((found for each in _spellings(value) if (found := data.find(each)) >= 0), default=None)
            if at is not None:
                yield Sighting(path, _line(data, at), f"the value of ${name}")
        if wanted.patterns:
            text = data.decode("utf-8", "surrogateescape")
            for pattern in wanted.patterns:
                for hit in pattern.finditer(text):
                    line = text.count("\n", 0, hit.start()) + 1
                    yield Sighting(path, line, "a --redact-pattern")


class Redactor:
    """Replaces secrets by `<redacted-1>`, `<redacted-2>`, …, so that equality stays visible."""

    def __init__(self, wanted: Wanted) -> None:
        self.count = 0
        """How many were replaced."""
        self._seen: dict[str, str] = {}
        values = sorted(wanted.values.values(), key=len, reverse=True)
        named = [re.compile(re.escape(value)) for value in values]
        self._patterns = (*named, _SHAPE, *wanted.patterns)

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        for pattern in self._patterns:
            text = pattern.sub(self._replace, text)
        return text

    def _replace(self, match: re.Match[str]) -> str:
        self.count += 1
        found = match.group(0)
        return self._seen.setdefault(found, f"<redacted-{len(self._seen) + 1}>")


def _spellings(value: str) -> tuple[bytes, bytes]:
    """A value as it is, and as it stands in JSON."""
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    return value.encode("utf-8", "surrogateescape"), escaped.encode("utf-8", "surrogateescape")


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
