"""`python -m tests.coverage`: what a recording tells of public entry points (docs/coverage.md).

    python -m tests.coverage                  write the page anew, from the wheels of all releases since 0.8
    python -m tests.coverage --wheels DIR     keep the wheels there (default: the user's cache)
    python -m tests.coverage --measure        first ask the recorder again which methods it replaces

Wheels are read, not imported (`tests/entry_points.py`). `recorded` rests on `tests/hooked.json`: what the
recorder replaced in the environments of `MEASURED` (`tests/hooked.py`). A test in the slow set compares both
with the newest release and with what is replaced today.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import Final, Literal

from packaging.version import Version

from agentproof.environment import interpreters, locking, releases, venv, wheel_store

from . import entry_points as rules
from .entry_points import PACKAGE, EntryPoint, entry_points

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "coverage.md"
HOOKED: Final = Path(__file__).parent / "hooked.json"
MEASURED: Final = ("0.8.0", "0.20.0", "0.24.0")
_SINCE: Final = Version("0.8.0")

Status = Literal["recorded", "seen from outside", "not watched"]

_IMPLEMENTED: Final = {
    "agents.tracing.spans:Span": "agents.tracing.spans:SpanImpl",
    "agents.tracing.traces:Trace": "agents.tracing.traces:TraceImpl",
}
"""Public abstract classes whose one working implementation is not public."""

_OUTSIDE: Final = (
    (
        "agents.agent:*.get_*",
        "`model.called` and `model.offered`: instructions, prompt and tools as the model gets them",
    ),
    (
        "agents.computer:AsyncComputer.*",
        "`tool.started` and `tool.ended` of the computer tool, with the action",
    ),
    ("agents.editor:*", "`tool.started` and `tool.ended` of the tool that calls it"),
    ("agents.extensions.models.*:*.close", "requests that come after it, as exchanges"),
    ("agents.mcp.util:MCPUtil.*", "`model.offered` and `mcp.called`: what it listed and what it called"),
    ("agents.repl.run_demo_loop", "`run.started` and `run.ended` of its runs"),
    ("agents.responses_websocket_session:*.run*", "`run.started` and `run.ended` of its runs"),
    ("agents.tool_guardrails:ToolGuardrailFunctionOutput.*", "`guardrail.ran`: the behavior"),
    ("agents.tracing.spans:Span.start", "`span.ended`"),
    ("agents.tracing.traces:Trace.start", "`trace.ended`"),
    ("agents.voice.workflow:*.run", "`run.started` and `run.ended` of its runs"),
    (
        "agents.extensions.memory.advanced_sqlite_session:*.*branch*",
        "`session.used`: that branches may change it",
    ),
)
"""What is not told itself, and which events tell what it does: a pattern, and the events."""

_WHY_NOT: Final = (
    ("agents.extensions.sandbox.*", "a provider's own service; it needs an account there"),
    ("agents.extensions.experimental.*", "experimental; that one was made is counted"),
    ("agents.tracing*", "it ends exporters, which have no part in what a run does"),
    ("agents.models*", "it ends connections; what is asked afterwards is seen to fail"),
    ("agents.tool.*", "what a computer does is seen in its tool's events"),
)
"""By pattern: why it is not watched, where that is not only that nobody has come to it."""

_SURFACES: Final = (
    ("Realtime", ("agents.realtime",)),
    ("Voice", ("agents.voice",)),
    ("Sandbox agents", ("agents.sandbox", "agents.extensions.sandbox")),
    ("MCP", ("agents.mcp",)),
    ("Sessions", ("agents.memory", "agents.extensions.memory")),
    ("Models", ("agents.models", "agents.extensions.models", "agents.responses_websocket_session")),
    ("Tracing", ("agents.tracing",)),
    ("Experimental", ("agents.extensions.experimental",)),
    ("Runs, states, tools and guardrails", (PACKAGE,)),
)
"""By the beginning of a module's name; the first that fits."""


@dataclass(frozen=True)
class Hooked:
    """What the recorder replaces."""

    trees: Mapping[str, frozenset[str]]
    """By class: the methods that are replaced there and in every class below it."""
    replaced: frozenset[str]
    """`module:Class.method` as found replaced."""

    @classmethod
    def read(cls) -> "Hooked":
        """As it was measured last."""
        return cls.of(json.loads(HOOKED.read_text("utf-8")).values())

    @classmethod
    def of(cls, measured: Iterable[Mapping[str, object]]) -> "Hooked":
        """What several environments have, together."""
        trees: dict[str, set[str]] = {}
        replaced: set[str] = set()
        for each in measured:
            shape = _Measured.of(each)
            replaced |= set(shape.replaced)
            for name, methods in shape.trees.items():
                trees.setdefault(name, set()).update(methods)
        return cls({name: frozenset(found) for name, found in trees.items()}, frozenset(replaced))

    def has(self, point: EntryPoint) -> bool:
        """Whether the recorder stands in the place of this entry point."""
        own = _IMPLEMENTED.get(point.owner, point.owner)
        is_below = any(point.method in self.trees.get(cls, ()) for cls in point.ancestry)
        return is_below or f"{own}.{point.method}" in self.replaced


@dataclass(frozen=True)
class _Measured:
    trees: Mapping[str, list[str]]
    replaced: list[str]

    @classmethod
    def of(cls, shape: Mapping[str, object]) -> "_Measured":
        trees, replaced = shape["trees"], shape["replaced"]
        if not isinstance(trees, dict) or not isinstance(replaced, list):
            raise TypeError(f"{HOOKED.name} is not what tests/hooked.py prints")
        return cls(trees, replaced)


def status(point: EntryPoint, hooked: Hooked) -> tuple[Status, str]:
    """What a recording tells of it; and by which events, or why not."""
    name = _name(point)
    if hooked.has(point):
        return "recorded", ""
    for pattern, events in _OUTSIDE:
        if fnmatchcase(name, pattern):
            return "seen from outside", events
    return "not watched", next((why for pattern, why in _WHY_NOT if fnmatchcase(name, pattern)), "")


def _name(point: EntryPoint) -> str:
    return f"{point.owner}.{point.method}"


# The page.


@dataclass(frozen=True)
class _Row:
    owner: str
    status: Status
    since: str
    until: str
    """The last release that has it; empty where that is the newest."""
    said: str


def page(found: Mapping[Version, tuple[EntryPoint, ...]], hooked: Hooked) -> str:
    """docs/coverage.md: the entry points of these releases."""
    versions = sorted(found)
    lines = [_HEAD.format(rule=_rule(), since=versions[0], newest=versions[-1], measured=", ".join(MEASURED))]
    lines += [
        "| releases | entry points | recorded | seen from outside | not watched |",
        "|---|---|---|---|---|",
    ]
    alike = groupby(versions, key=lambda version: _counts(found[version], hooked))
    for counts, group in alike:
        first, *_, last = [*(members := list(group)), members[-1]]
        span = str(first) if first == last else f"{first} to {last}"
        lines.append(f"| {span} | {' | '.join(map(str, counts))} |")
    rows = _rows(found, versions, hooked)
    for title, _ in _SURFACES:
        of_surface = {row: names for row, names in rows.items() if _surface(row.owner) == title}
        lines += [
            "",
            f"## {title}",
            "",
            "| class or module | entry points | releases | told | how, or why not |",
        ]
        lines.append("|---|---|---|---|---|")
        for row, names in of_surface.items():
            span = f"{row.since} to {row.until}" if row.until else f"since {row.since}"
            listed = " ".join(f"`{name}`" for name in names)
            lines.append(f"| `{row.owner}` | {listed} | {span} | {row.status} | {row.said} |")
    return "\n".join(lines) + "\n"


def _counts(points: tuple[EntryPoint, ...], hooked: Hooked) -> tuple[int, ...]:
    told = [status(point, hooked)[0] for point in points]
    return len(points), *(told.count(each) for each in ("recorded", "seen from outside", "not watched"))


def _rows(
    found: Mapping[Version, tuple[EntryPoint, ...]], versions: list[Version], hooked: Hooked
) -> Mapping[_Row, list[str]]:
    points = {_name(point): point for version in versions for point in found[version]}
    where = {version: {_name(point) for point in found[version]} for version in versions}
    rows: dict[_Row, list[str]] = {}
    for name, point in sorted(points.items()):
        told, said = status(point, hooked)
        for since, until in _spans([name in where[version] for version in versions]):
            is_newest = until == len(versions) - 1
            last = "" if is_newest else str(versions[until])
            row = _Row(point.owner, told, str(versions[since]), last, said)
            rows.setdefault(row, []).append(point.method)
    return rows


def _spans(there: list[bool]) -> Iterator[tuple[int, int]]:
    """The first and the last place of each stretch of True."""
    for is_there, group in groupby(enumerate(there), key=lambda pair: pair[1]):
        places = [place for place, _ in group]
        if is_there:
            yield places[0], places[-1]


def _surface(owner: str) -> str:
    module = owner.partition(":")[0]
    return next(
        title
        for title, modules in _SURFACES
        if any(module == each or module.startswith(f"{each}.") for each in modules)
    )


def listed() -> Mapping[str, frozenset[str]]:
    """The entry points that the page lists, of any release, with what it says of them."""
    row = re.compile(r"\| `([\w.:]+)` \| ((?:`\w+` ?)+)\| [^|]+ \| ([^|]+) \|")
    told: dict[str, frozenset[str]] = {}
    for owner, names, said in row.findall(PAGE.read_text("utf-8")):
        for name in re.findall(r"\w+", names):
            told[f"{owner}.{name}"] = told.get(f"{owner}.{name}", frozenset()) | {said}
    return told


def unlisted(site: Path) -> list[str]:
    """The entry points of the release in this directory that the page does not list."""
    known = listed()
    return [name for point in entry_points(site) if (name := _name(point)) not in known]


def _rule() -> str:
    rule = (rules.__doc__ or "").partition("What counts, in this order:\n")[2].strip()
    for name in ("INNER", "VERBS", "CARRIED"):
        listed = ", ".join(f"`{each}`" for each in sorted(getattr(rules, name)))
        rule = rule.replace(f"{{{name}}}", listed)
    return rule


_HEAD: Final = """\
# What a recording tells of the SDK

Written by `python -m tests.coverage` from the wheels of `openai-agents` {since} to {newest}, read without
importing them. A test of the slow set, which runs each night, fails where the newest release has an entry
point that is not listed here, or where the recorder replaces something else than `recorded` says.

What counts as a public entry point, in this order:

{rule}

What a recording tells of it:

- **recorded**: the recorder stands in its place, and tells it as an event. Measured: this is what was found
  replaced in environments with {measured} (`tests/hooked.json`), and the same method of each class
  below one whose subclasses are replaced too. It does not say that every field of it is told.
- **seen from outside**: not told itself; the events in the last column tell what it does.
- **not watched**: nothing of it is told. Where a script uses such a part, `show` and `report` say `not
  watched` too, as far as the recorder counts it (`agentproof/_recorder/adapters/openai_agents/unwatched.py`).
"""


# Getting there.


def _wheels(folder: Path) -> Iterator[tuple[Version, Path]]:
    """Each release's wheel, fetched by pip where it is not there."""
    here = interpreters.find(f"{sys.version_info.major}.{sys.version_info.minor}")
    folder.mkdir(parents=True, exist_ok=True)
    for each in releases.releases("openai-agents", interpreter=here):
        if each.version < _SINCE or each.yanked is not None or each.version.is_prerelease:
            continue
        path = folder / f"openai_agents-{each.version}-py3-none-any.whl"
        if not path.exists():
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
            subprocess.run(
                [*command, f"openai-agents=={each.version}"], check=True, stderr=subprocess.DEVNULL
            )
        yield each.version, path


def _read(wheel: Path) -> tuple[EntryPoint, ...]:
    with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory, [name for name in archive.namelist() if name.startswith(f"{PACKAGE}/")])
        return entry_points(Path(directory))


def measure(environment: venv.PreparedEnvironment) -> dict[str, object]:
    """What the recorder replaces in this environment."""
    with tempfile.TemporaryDirectory() as journal:
        command = [str(environment.python), "-s", "-X", f"pycache_prefix={environment.pycache_prefix}"]
        done = subprocess.run(
            [*command, str(ROOT / "tests" / "hooked.py"), journal],
            env={"PYTHONPATH": str(ROOT), "HOME": journal, "LANG": "C.UTF-8"},
            stdout=subprocess.PIPE,
            check=True,
        )
        found: dict[str, object] = json.loads(done.stdout)
        return found


def _measure_all() -> None:
    store = wheel_store.default_store()
    interpreter = interpreters.find("3.12")
    found = {}
    for version in MEASURED:
        locked = locking.lock(
            requirement=f"openai-agents[voice]=={version}", interpreter=interpreter, store=store
        )
        with venv.prepare(locked, store) as environment:
            found[version] = measure(environment)
    HOOKED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.coverage", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--wheels", type=Path, default=wheel_store.cache_root() / "releases")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.measure:
        _measure_all()
    found = {version: _read(wheel) for version, wheel in _wheels(options.wheels)}
    PAGE.write_text(page(found, Hooked.read()), "utf-8")


if __name__ == "__main__":
    main()
