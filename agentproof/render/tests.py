"""A reproduction that pytest runs: the command, what it needs, the tests' own source, and how they ended.

Source text is searched, never parsed by Python: it may be anybody's.
"""

import re
import shlex
from collections.abc import Iterable, Iterator

from ..models.events import Event, TestEnded
from ..models.manifest import Manifest

_ALWAYS = ("pytest", "pytest-asyncio")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def command(tests: Iterable[str]) -> str:
    """What runs these tests in the reproduction's root."""
    return shlex.join(["python", "-m", "pytest", *tests])


def needed(manifest: Manifest) -> list[str]:
    """What must be installed beside the target, by the versions that were."""
    reproduction = manifest.reproduction
    names = [match[0].lower() for each in reproduction.requires if (match := _NAME.match(each.strip()))]
    if reproduction.tests:
        names += _ALWAYS
    versions = {package.name: package.version for package in manifest.environment.packages}
    wanted = dict.fromkeys(re.sub(r"[-_.]+", "-", name) for name in names)
    return [f"{name}=={versions[name]}" for name in wanted if name in versions]


def excerpt(source: str, tests: Iterable[str]) -> str | None:
    """The named tests of a file with their decorators; None where one is not found."""
    lines = source.splitlines()
    parts: dict[str, None] = {}
    for test in tests:
        name = test.partition("[")[0].rpartition("::")[2]
        part = _definition(lines, name)
        if part is None:
            return None
        parts.setdefault(part)
    return "\n\n\n".join(parts) or None


def _definition(lines: list[str], name: str) -> str | None:
    """A function or class of this name: from its decorators to the line before what is indented no more."""
    head = re.compile(rf"(?P<indent>[ \t]*)(?:async[ \t]+def|def|class)[ \t]+{re.escape(name)}\b")
    found = next(((at, match) for at, line in enumerate(lines) if (match := head.match(line))), None)
    if found is None:
        return None
    first, match = found
    indent = match["indent"]
    end = first + 1
    while end < len(lines) and (not lines[end].strip() or _is_within(lines[end], indent)):
        end += 1
    while first and lines[first - 1].strip() and _is_decoration(lines[first - 1], indent):
        first -= 1
    return "\n".join(lines[first:end]).rstrip()


def _is_within(line: str, indent: str) -> bool:
    """A deeper line, or the end of a parameter list that was broken over lines."""
    return line.startswith((f"{indent} ", f"{indent}\t", f"{indent})"))


def _is_decoration(line: str, indent: str) -> bool:
    return line.startswith((f"{indent}@", f"{indent} ", f"{indent}\t", f"{indent})", f"{indent}]"))


def ended(events: Iterable[Event]) -> list[TestEnded]:
    """The ends of the tests."""
    return [event for event in events if isinstance(event, TestEnded)]


def counted(tests: Iterable[TestEnded]) -> Iterator[str]:
    """How many ended how."""
    outcomes = [test.outcome for test in tests]
    for outcome in dict.fromkeys(outcomes):
        yield f"{outcomes.count(outcome)} {outcome}"


__all__ = ["command", "counted", "ended", "excerpt", "needed"]
