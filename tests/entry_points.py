"""The public entry points of a release of the SDK, read from its files without importing any of them.

What counts, in this order:

1. *Public.* A name that a package lists in its `__all__`, where no part of the package's path begins with
   `_` or is one of {INNER}; below `agents.extensions`, where packages list little, also
   each public name of a module that defines it. A protocol is a shape for the script's own classes, and is
   none.
2. *Callable.* A function of that name; or a method that the class itself defines and whose name does not
   begin with `_`. What the SDK calls and the script writes (`on_…`, a method that only raises
   `NotImplementedError`) is none, and neither are properties and validators.
3. *Starts, steers or ends work.* It is `async` (all work of the SDK that waits is); or the first word of its
   name is one of {VERBS}; or, of a class that decides or gives what decides, it is one of
   {CARRIED}, by which a paused run is carried on. Types and settings are none.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

PACKAGE: Final = "agents"
INNER: Final = frozenset({"run_internal", "testing", "util"})
"""Parts of a path below which nothing is for scripts, or only stand-ins."""
VERBS: Final = frozenset(
    {
        *("run", "start", "stop", "begin", "end", "finish", "close", "shutdown", "cancel", "abort"),
        *("interrupt", "resume", "approve", "reject", "connect", "disconnect", "cleanup", "dispose"),
        *("flush", "force", "delete", "kill", "send", "stream"),
    }
)
CARRIED: Final = frozenset({"to_state", "to_json", "to_string", "from_json", "from_string"})

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class EntryPoint:
    """A function or a method, by where it is defined."""

    module: str
    name: str
    """`function`, or `Class.method`."""
    ancestry: tuple[str, ...]
    """The classes that have the method, as `module:Class`: its own and those above it."""

    @property
    def owner(self) -> str:
        """`module:Class`, or the module of a function."""
        cls = self.name.rpartition(".")[0]
        return f"{self.module}:{cls}" if cls else self.module

    @property
    def method(self) -> str:
        """Its own name alone."""
        return self.name.rpartition(".")[2]


def entry_points(site: Path) -> tuple[EntryPoint, ...]:
    """What counts in the release whose `agents/` lies in this directory, sorted."""
    sources = _Sources(site)
    found = {
        each
        for module, name in sources.public()
        for each in sources.entry_points_of(module, name, sources.modules[module].defined[name])
    }
    return tuple(sorted(found, key=lambda each: (each.module, each.name)))


@dataclass(frozen=True)
class _Module:
    name: str
    is_package: bool
    tree: ast.Module

    @cached_property
    def defined(self) -> Mapping[str, Definition]:
        """The classes and functions at its top, and in conditions there."""
        return {node.name: node for node in _top(self.tree.body) if isinstance(node, Definition)}

    @cached_property
    def imported(self) -> Mapping[str, tuple[str, str]]:
        """What it imports from the SDK, in functions too: the module and the name there, by the name here."""
        found = {}
        package = self.name if self.is_package else self.name.rpartition(".")[0]
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                found[alias.asname or alias.name] = source, alias.name
        return found

    @cached_property
    def listed(self) -> frozenset[str]:
        """What `__all__` says, whatever adds to it."""
        told = (node for node in _top(self.tree.body) if _is_about(node, "__all__"))
        return frozenset(text for node in told for each in ast.walk(node) for text in _texts(each))


def _is_about(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        held = node.value.func
        return isinstance(held, ast.Attribute) and getattr(held.value, "id", "") == name
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return isinstance(target, ast.Name) and target.id == name


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            handlers = node.handlers if isinstance(node, ast.Try) else []
            ends = node.finalbody if isinstance(node, ast.Try) else []
            for block in (node.body, node.orelse, ends, *(each.body for each in handlers)):
                yield from _top(block)


_last: dict[tuple[str, bytes], _Module] = {}
"""The modules of the release that was read last, by name and content: most are the same in the next one."""


class _Sources:
    """The modules of one release."""

    def __init__(self, site: Path) -> None:
        self.modules: dict[str, _Module] = {}
        before = dict(_last)
        _last.clear()
        for path in sorted((site / PACKAGE).rglob("*.py")):
            parts = list(path.relative_to(site).with_suffix("").parts)
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            key = name, path.read_bytes()
            found = before.get(key) or _Module(name, is_package, ast.parse(key[1]))
            self.modules[name] = _last[key] = found

    def public(self) -> Iterator[tuple[str, str]]:
        """Each public class and function, where it is defined."""
        for module in self.modules.values():
            parts = module.name.split(".")
            if any(part.startswith("_") or part in INNER for part in parts):
                continue
            if module.is_package:
                for name in sorted(module.listed):
                    found = self._where(module.name, name)
                    if found is not None:
                        yield found
            elif parts[1] == "extensions":
                yield from ((module.name, name) for name in module.defined if not name.startswith("_"))

    def _where(self, module: str, name: str, depth: int = 0) -> tuple[str, str] | None:
        """Where a name of a module is defined; None where that is no class or function of the SDK."""
        found = self.modules.get(module)
        if found is None or depth > 8:
            return None
        if name in found.defined:
            return module, name
        if name in found.imported:
            return self._where(*found.imported[name], depth + 1)
        # A package that imports lazily names its modules in other ways.
        below = (each for each in self.modules.values() if each.name.startswith(f"{module}."))
        return next(((each.name, name) for each in below if name in each.defined), None)

    def entry_points_of(self, module: str, name: str, node: Definition) -> Iterator[EntryPoint]:
        """Those of a public class or function."""
        if isinstance(node, Function):
            if _counts(node, carries=False):
                yield EntryPoint(module, name, ())
            return
        if "Protocol" in _bases(node):
            return
        methods = [each for each in node.body if isinstance(each, Function)]
        carries = any(each.name in ("approve", "to_state") for each in methods)
        for each in methods:
            if _counts(each, carries=carries):
                above = tuple(self._ancestry(module, name))
                yield EntryPoint(module, f"{name}.{each.name}", above)

    def _ancestry(self, module: str, name: str, depth: int = 0) -> Iterator[str]:
        yield f"{module}:{name}"
        node = self.modules[module].defined.get(name)
        for base in _bases(node) if isinstance(node, ast.ClassDef) and depth < 12 else ():
            found = self._where(module, base)
            if found is not None and found != (module, name):
                yield from self._ancestry(*found, depth + 1)


def _bases(node: ast.ClassDef) -> list[str]:
    found = []
    for base in node.bases:
        inner = base.value if isinstance(base, ast.Subscript) else base
        found.append(inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", ""))
    return found


def _counts(node: Function, *, carries: bool) -> bool:
    decorators = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
    if decorators & {"property", "setter", "getter", "overload", "field_validator", "model_validator"}:
        return False
    if node.name.startswith(("_", "on_")) or _only_refuses(node, decorators):
        return False
    if isinstance(node, ast.AsyncFunctionDef):
        return True
    return node.name.split("_")[0] in VERBS or (carries and node.name in CARRIED)


def _only_refuses(node: Function, decorators: set[str]) -> bool:
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    is_raise = len(body) == 1 and isinstance(body[0], ast.Raise)
    return "abstractmethod" not in decorators and is_raise and "NotImplementedError" in ast.unparse(body[0])
