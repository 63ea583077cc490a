"""What the script did to the SDK itself: objects replaced, private names used (standard library only).

1. At the end of the SDK's import every function, method and class of its modules is noted; at the
   script's end each must still be the same object. The recorder's own hooks are left out.
2. A module's constants count too, except those that the SDK's own functions assign (`global`).
3. What lies behind a name is compared with the SDK's files too, also in modules that were imported later
   (`genuine`), the insides of functions and classes with what the import made (`baseline`), and what stands
   around the SDK is looked at (`surroundings`). While the SDK works a glance finds what is put back later.
4. Private names (`_x`) are found in the source of the reproduction's files: attributes, imports, keys of
   `vars(x)` and `x.__dict__`, and texts such as `mock.patch("agents._run_impl.…")`, when the SDK knows that
   name and the file does not define it itself. In files of tests, those tests are left out that were not
   run.
"""

import ast
import functools
import os
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from . import baseline, events, genuine, patching, surroundings
from .events import watching
from .plan import Plan

_CONSTANTS = (str, int, float, bool, bytes, tuple, frozenset, type(None))
_HELD = (type, types.FunctionType, *_CONSTANTS)


def _nothing() -> List[str]:
    return []


written: Callable[[], List[str]] = _nothing
"""Gives what the script wrote into the SDK's objects; set by the adapter."""

_modules: Set[str] = set()
_during: Set[str] = set()
_tests_run: Set[str] = set()


def begin(plan: Plan) -> None:
    """Hold the SDK's code before the script begins, and listen to what it executes."""
    genuine.hold(plan)
    surroundings.install()


def imported(plan: Plan) -> None:
    """Note what the import made, and what stood around it."""
    before(plan.package)
    found = {
        each for name, module in baseline.modules(plan.package) for each in genuine.differences(name, module)
    }
    _tell(found | surroundings.before(plan))


def _tell(names: Set[str]) -> None:
    """Note what was found, at once: a script may see to it that this process has no last word."""
    if names - _during:
        events.note("conduct.found", {"changed": sorted(names - _during)})
    _during.update(names)


def before(package: str) -> None:
    """Note what the import made."""
    baseline.note(package)
    _modules.update(space.module for space in baseline.noted)


def forget() -> None:
    """Let go of everything that was noted, so that the interpreter cleans up as it would without us."""
    baseline.forget()
    surroundings.forget()


def test_run(node_id: str) -> None:
    """Note that a test was run."""
    _tests_run.add(node_id.partition("[")[0])


def during(plan: Plan) -> None:
    """Note what differs now, though it may be put back before the end, as a test's patches are."""
    if _modules:
        _tell({*_changed(), *baseline.changed()})


def watch(plan: Plan) -> None:
    """The recorder's own hooks are in place: glance at the SDK whenever it works."""
    baseline.watch()
    events.on_work = functools.partial(glance, plan)


def glance(plan: Plan) -> None:
    """The same where something stands elsewhere than when last looked at: the SDK is at work now."""
    with watching("conduct"):
        if _modules and baseline.glance():
            during(plan)


def after(plan: Plan, files: List[str]) -> Dict[str, List[Any]]:
    """What differs from that, and the private names in the reproduction's Python files."""
    changed = _during | set(_changed()) | set(baseline.changed())
    if _modules:
        for name, module in baseline.modules(plan.package):
            if name not in _modules:
                changed.update(genuine.differences(name, module))
        changed.update(written())
        if events.has_strangers():
            changed.add("the recorder's journal")
        changed.update(surroundings.after(plan))
    writes: List[Dict[str, Any]] = []
    reads: List[Dict[str, Any]] = []
    tested = {name.partition("::")[0] for name in (*plan.tests, *_tests_run)}
    if _modules:
        known: Optional[Set[str]] = None
        for file in files:
            if not file.endswith(".py"):
                continue
            tests = file if file in tested else None
            used = _private_uses(os.path.join(plan.root, file), plan.package, tests)
            if used and known is None:
                known = _private_names(plan.package)
            for name, line, is_write in used:
                if known is not None and (name in known or name.startswith(plan.package + ".")):
                    (writes if is_write else reads).append({"name": name, "file": file, "line": line})
    return {"changed": sorted(changed), "private_writes": writes, "private_reads": reads}


def _changed() -> Iterator[str]:
    """What the SDK's modules hold under other names, or no more; their classes are `baseline`'s."""
    own = {(id(owner), name): new for owner, name, new in patching.replaced}
    for name in _modules.difference(space.module for space in baseline.noted):  # somebody let go of them
        yield name
        yield from genuine.differences(name, sys.modules.get(name, types.ModuleType(name)))
    for space in baseline.noted:
        name, holder = space.module, sys.modules.get(space.module)
        if not isinstance(space.owner, types.ModuleType) or not isinstance(holder, types.ModuleType):
            continue
        if holder is space.owner and space.is_as_noted():
            continue
        before, now = dict(zip(space.keys, space.values, strict=True)), dict(vars(holder))
        assigned: Optional[Set[str]] = None
        for key in {*before, *now}:
            noted, member = (
                each if isinstance(each, _HELD) else _ABSENT
                for each in (before.get(key, _ABSENT), now.get(key, _ABSENT))
            )
            if key.startswith("__") or noted is member or own.get((id(holder), key), own) is member:
                continue
            if isinstance(member, _CONSTANTS) or isinstance(noted, _CONSTANTS) or member is _ABSENT:
                if noted is not _ABSENT and type(noted) is type(member) and noted == member:
                    continue
                assigned = _assigned(holder) if assigned is None else assigned
                if key in assigned:
                    continue
            if noted is _ABSENT and _is_submodule_export(member, name.partition(".")[0]):
                continue
            yield "{}.{}".format(name, key)


_ABSENT = object()


def _is_submodule_export(member: Any, package: str) -> bool:
    """Lazily exported names (`__getattr__` of a package) turn up as its globals later."""
    module = getattr(member, "__module__", None)
    return isinstance(module, str) and (module == package or module.startswith(package + "."))


def _assigned(module: types.ModuleType) -> Set[str]:
    """The globals that a module's own functions assign."""
    names: Set[str] = set()
    path = getattr(module, "__file__", None)
    try:
        with open(str(path), "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            names.update(node.names)
    return names


def _private_names(package: str) -> Set[str]:
    """Every `_x` that the SDK's own code defines or touches."""
    names: Set[str] = set()
    for module_name, module in baseline.modules(package):
        names.update(vars(module))
        for item in list(vars(module).values()):
            if isinstance(item, type) and item.__module__ == module_name:
                names.update(vars(item))
    for space in baseline.noted:
        names.update(space.place.split("."), space.keys)
        fields = vars(space.owner).get("__dataclass_fields__")
        if isinstance(fields, dict):
            names.update(fields)
    names = {name for name in names if _is_private(name)}
    waiting = [function.__code__ for function in baseline.functions()]
    while waiting:
        code = waiting.pop()
        names.update(name for name in code.co_names if _is_private(name))
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return names


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _private_uses(path: str, package: str, tests: Optional[str]) -> List[Tuple[str, int, bool]]:
    """(name, line, whether it is written) of each use of a private name that the file does not define.

    `tests` is what node ids call a file of tests.
    """
    try:
        with open(path, "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return []
    defined = _defined(tree)
    found: List[Tuple[str, int, bool]] = []
    if tests is not None:
        _leave_out_tests(tree, tests)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in defined:
            found.append((node.attr, node.lineno, not isinstance(node.ctx, ast.Load)))
        elif isinstance(node, ast.Call):
            found += _named_in_call(node, defined)
        elif isinstance(node, ast.Subscript) and _is_dictionary(node.value):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(key, str) and _is_private(key) and key not in defined:
                found.append((key, node.lineno, not isinstance(node.ctx, ast.Load)))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            found += [(part, node.lineno, False) for part in parts if _is_private(part)]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == package:
                    parts = alias.name.split(".")
                    found += [(part, node.lineno, False) for part in parts if _is_private(part)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = node.value.split(".")
            if parts[0] == package and len(parts) > 1 and any(_is_private(part) for part in parts):
                found.append((node.value[:200], node.lineno, False))
    return sorted(set(found), key=lambda use: (use[1], use[0], use[2]))


def _leave_out_tests(scope: Any, name: str) -> None:
    """Take the tests that were not run out of a module or class."""
    kept: List[ast.stmt] = []
    for node in scope.body:
        if isinstance(node, ast.ClassDef):
            _leave_out_tests(node, "{}::{}".format(name, node.name))
        is_test = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test")
        if not is_test or "{}::{}".format(name, node.name) in _tests_run:
            kept.append(node)
    scope.body = kept


def _named_in_call(node: ast.Call, defined: Set[str]) -> List[Tuple[str, int, bool]]:
    """`getattr(x, "_y")`, `setattr(x, "_y", …)`, `object.__setattr__(x, "_y", …)`, `vars(x).update(_y=…)`."""
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    names: List[str] = []
    if name in _BY_NAME:
        names = [
            each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
    elif name in _OF_DICTIONARIES and _is_dictionary(getattr(node.func, "value", None)):
        keys = [key for each in node.args if isinstance(each, ast.Dict) for key in each.keys]
        constants = [each for each in (*keys, *node.args) if isinstance(each, ast.Constant)]
        names = [each.value for each in constants if isinstance(each.value, str)]
        names += [each.arg for each in node.keywords if each.arg is not None]
    return [
        (text, node.lineno, name not in ("getattr", "get"))
        for text in names
        if _is_private(text) and text not in defined
    ]


_BY_NAME = frozenset(
    {"getattr", "setattr", "delattr", "object", "__setattr__", "__delattr__", "setitem", "delitem"}
)
_OF_DICTIONARIES = frozenset({"update", "setdefault", "pop", "get", "__setitem__", "__delitem__", "__ior__"})


def _is_dictionary(node: Any) -> bool:
    """True for `vars(x)` and `x.__dict__`."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "vars" and len(node.args) == 1
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _defined(tree: ast.AST) -> Set[str]:
    """Private names that the file itself gives to functions, class members and `self`."""
    names: Set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        ):
            names.add(node.attr)
    return {name for name in names if _is_private(name)}
