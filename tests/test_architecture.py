"""The import graph is the architecture: every arrow points down a layer (docs/architecture.md)."""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "agentproof"

DOCUMENT = PACKAGE.parent / "docs" / "architecture.md"
_LISTED = DOCUMENT.read_text("utf-8").partition("```layers\n")[2].partition("```")[0]
LAYERS = [line.split() for line in reversed(_LISTED.splitlines())]
"""Folders and modules of the package, the lowest first."""
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer} | {
    "__init__": -1,
    "__main__": len(LAYERS),
}
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
OFFLINE = {name for name, rank in RANK.items() if rank <= RANK["check"]}
REACHING_OUT = {"system/children.py", "system/processes.py", "trust/agent.py", "check/many.py"}
"""Children of ours are told how to end; ssh-agent is asked on its socket; many bundles are checked by forked
workers."""
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not {"_recorder", "_locator"} & {*path.parts})


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
        same_floor = RANK[rest[0]] == RANK[_unit(path)] and rest[0] != _unit(path)
        assert not same_floor or rest[0] in LAYERS[0], f"{path}:{line}: {_unit(path)} stands beside {rest[0]}"


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if _unit(path) in OFFLINE and _name(path) not in REACHING_OUT],
    ids=_name,
)
def test_what_checks_a_bundle_imports_nothing_that_reaches_out(path: Path) -> None:
    used = {name.partition(".")[0] for name, _ in _imports_of(path)}
    assert not used & EFFECTS


@pytest.mark.parametrize(
    "path",
    sorted(
        [
            *(PACKAGE / "_recorder").rglob("*.py"),
            *(PACKAGE / "_locator").rglob("*.py"),
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


def test_every_module_has_a_layer_and_every_layer_its_module_and_its_paragraph() -> None:
    assert {_unit(path) for path in MODULES} == RANK.keys()
    paragraphs = DOCUMENT.read_text("utf-8").partition("## The folders")[2]
    for name in RANK:
        assert name.startswith("__") or re.search(rf"^- \*\*.*\b{name}\b.*\*\*", paragraphs, re.M), name


def test_no_module_at_the_top_is_private_but_what_runs_beside_a_script() -> None:
    tops = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    private = {name for name in tops if name.startswith("_") and not name.startswith("__")}
    assert private == {"_recorder", "_locator"}


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Nor for types alone: `TYPE_CHECKING` hides a cycle from Python, not from a reader."""
    sorter = graphlib.TopologicalSorter(_graph())
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def _graph() -> dict[str, set[str]]:
    names = {_dotted(path): path for path in PACKAGE.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        imported = set()
        for found, _ in _imports_of(path):
            known = found if found in names else found.rpartition(".")[0]
            # A package's own face is no step on the way to a module in it.
            if known in names and known != name:
                imported.add(known)
        graph[name] = imported
    return graph


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


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
