"""The import graph is the architecture: every arrow points down a layer (DESIGN §4)."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "agentproof"

LAYERS: list[set[str]] = [
    {"probe", "errors", "_digests", "_files", "_limits", "_memo", "_remove", "_scratch", "_signals"},
    {"models"},
    {"claims", "signing", "judge", "store", "_folder", "_tree", "_wheel", "_zip", "keyring", "trust"},
    {"source", "check", "_align", "_checks", "_comparison", "_pairs", "_saved"},
    {"_canonical", "_children", "_environment", "_isolation", "_seal", "_secrets"},
    {
        "_assemble",
        "_bisection",
        "_dispatch",
        "_executors",
        "_holdings",
        "_many",
        "_member_names",
        "_named",
        "_observe",
        "_place",
        "_processes",
        "_results",
        "_signer",
        "_sound",
        "_subjects",
        "_targets",
        "_tested",
        "bisect",
        "compare",
        "matrix",
        "record",
        "replay",
    },
    {
        "_render",
        "_render_ending",
        "_render_compare",
        "_junit",
        "_pytest_plugin",
        "_pytest_failures",
        "_pytest_shared",
        "report",
        "cli",
    },
    {"__init__", "__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
EFFECTS = {
    "asyncio",
    "click",
    "http",
    "multiprocessing",
    "requests",
    "rich",
    "socket",
    "ssl",
    "subprocess",
    "urllib",
    "uv",
    "venv",
}
OFFLINE = set().union(*LAYERS[:4])
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_recorder" not in path.parts)


def _imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that `path` imports, absolute, at any depth, with its line."""
    package = ("agentproof", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((f"{stem}.{alias.name}", node.lineno) for alias in node.names)


def _unit(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_point_down(path: Path) -> None:
    for name, line in _imports_of(path):
        head, *rest = name.split(".")
        if head != "agentproof" or not rest or rest[0] == "__version__":
            continue
        assert rest[0] in RANK, f"{path}:{line}: {name} has no layer"
        assert RANK[rest[0]] <= RANK[_unit(path)], f"{path}:{line}: {_unit(path)} must not import {rest[0]}"


@pytest.mark.parametrize("path", [path for path in MODULES if _unit(path) in OFFLINE], ids=_name)
def test_what_checks_a_bundle_imports_nothing_that_reaches_out(path: Path) -> None:
    used = {name.partition(".")[0] for name, _ in _imports_of(path)}
    assert not used & EFFECTS


@pytest.mark.parametrize(
    "path",
    sorted(
        [
            *(PACKAGE / "_recorder").rglob("*.py"),
            PACKAGE / "isolation" / "launcher.py",
            PACKAGE / "isolation" / "confine.py",
            PACKAGE / "isolation" / "syscalls.py",
            PACKAGE / "system" / "remove.py",
        ]
    ),
    ids=_name,
)
def test_what_runs_in_another_process_needs_the_standard_library_alone(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            # What adapts to a package is imported only where the environment under test has it.
            adapted = ("adapters" in path.parts and top in {"agents", "openai"}) or (
                path.name == "pytests.py" and top in {"pytest", "_pytest"}
            )
            assert adapted or top in sys.stdlib_module_names, f"{path}:{node.lineno}: {name}"


def test_every_module_has_a_layer() -> None:
    assert {_unit(path) for path in MODULES} <= RANK.keys()


def test_temporary_files_are_made_in_one_way_which_a_kill_cannot_leave_behind() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        made = re.findall(r"mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile", text)
        assert not made or path.name == "temporary.py", path


def test_no_case_lives_in_the_package() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert b"sibling-approval" not in path.read_bytes(), path


_REFUSING = """
import sys
def refuse(event, _arguments):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")):
        raise RuntimeError("refused: " + event)
sys.addaudithook(refuse)
from agentproof.check.bundle import check_bundle
heavy = {"agents", "asyncio", "click", "requests", "rich", "subprocess"} & sys.modules.keys()
assert not heavy, heavy
"""


def test_the_checker_imports_with_processes_and_sockets_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _REFUSING], capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    assert done.returncode == 0, done.stderr
