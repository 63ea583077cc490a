"""The optional header of a reproduction: inline script metadata (PEP 723).

# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0"]
#
# [tool.agentproof]
# title = "Approving one RunState approves its sibling"
# reference = "openai/openai-agents-python#4413"
# should-not-print = "PAID"
# ///
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from .expectations import NAMES, NOTHING, Expectations, Given

# PEP 723 has one regular expression for a block, which takes hours on some scripts. What it finds is, in each
# run of comment lines, from the first line that opens a block to the last one that closes one.
_RUN = re.compile(r"(?m)^(?:#(?: .*+)?+(?:\n|\Z))++")
_OPEN = re.compile(r"(?m)^# /// ([a-zA-Z0-9-]+)\n")
_CLOSE = "\n# ///"
_OURS = ("claims", "reference", *NAMES, "title")
_MAX_HEADER = 2**16


@dataclass(frozen=True)
class Header:
    """What a reproduction says about itself; everything is optional."""

    dependencies: tuple[str, ...] = ()
    """Requirements (PEP 508) as written."""
    requires_python: str | None = None
    title: str | None = None
    reference: str | None = None
    claims: tuple[Mapping[str, Any], ...] = field(default=())  # Any: TOML tables
    """The tables of `[[tool.agentproof.claims]]`, not yet understood."""
    expectations: Expectations = NOTHING
    """What should have happened."""


def read_header(source: bytes, *, path: str) -> Header:
    """The header of the script `source`; `path` names it in errors.

    Raises:
        UsageError: the script is not UTF-8, has two headers, the header is not TOML, or a key under
            `[tool.agentproof]` is unknown or of the wrong type, or two expectations contradict.
    """
    try:
        # PEP 723 speaks of lines; a script from Windows ends its own with CR LF.
        text = source.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte {error.start})") from error
    blocks = list(_script_blocks(text))
    if not blocks:
        return Header()
    if len(blocks) > 1:
        raise UsageError(f"{path}: {len(blocks)} `# /// script` headers; PEP 723 allows one")
    if len(blocks[0]) > _MAX_HEADER:
        raise UsageError(f"{path}: the `# /// script` header is longer than {_MAX_HEADER} characters")
    content = "".join(
        line[2:] if line.startswith("# ") else line[1:] for line in blocks[0].splitlines(keepends=True)
    )
    try:
        document = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: the `# /// script` header is not TOML: {error}") from error
    return _header(document, path)


def _script_blocks(text: str) -> Iterator[str]:
    """The contents of the blocks of type `script`, as comment lines."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        opened = _OPEN.search(text, start, end)
        if text.endswith(_CLOSE, start, end):
            closed = end - len(_CLOSE)
        else:
            closed = text.rfind(f"{_CLOSE}\n", start, end)
        if opened is not None and opened[1] == "script" and closed >= opened.end():
            yield text[opened.end() : closed + 1]


def _header(document: Mapping[str, Any], path: str) -> Header:  # Any: TOML
    tool = _table(document.get("tool", {}), "tool", path)
    ours = _table(tool.get("agentproof", {}), "tool.agentproof", path)
    for key in ours:
        if key not in _OURS:
            raise UsageError(
                f"{path}: unknown key `{key}` under [tool.agentproof]; there are {', '.join(_OURS)}"
            )
    claims = ours.get("claims", [])
    if not isinstance(claims, list) or not all(isinstance(claim, dict) for claim in claims):
        raise UsageError(f"{path}: claims are written as tables, [[tool.agentproof.claims]]")
    dependencies = document.get("dependencies", [])
    if not isinstance(dependencies, list) or not all(isinstance(each, str) for each in dependencies):
        raise UsageError(f"{path}: `dependencies` in the header is not a list of texts")
    return Header(
        dependencies=tuple(dependencies),
        requires_python=_text(document, "requires-python", path),
        title=_text(ours, "title", path),
        reference=_text(ours, "reference", path),
        claims=tuple(claims),
        expectations=Given({name: ours[name] for name in NAMES if name in ours}, f"{path}: ").read(),
    )


def _table(value: object, name: str, path: str) -> Mapping[str, Any]:  # Any: TOML
    if not isinstance(value, dict):
        raise UsageError(f"{path}: [{name}] in the header is not a table")
    return value


def _text(table: Mapping[str, Any], key: str, path: str) -> str | None:  # Any: TOML
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{path}: `{key}` in the header is not a text")
    return value
