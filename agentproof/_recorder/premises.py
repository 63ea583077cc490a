"""Whether an error is about what the script takes for granted, and not about the SDK (standard library only).

A script is read by the Python that runs it, as text: nothing is looked up in it, and nothing is called.
"""

import ast
import os
import re
from types import CodeType
from typing import Any, Iterator, List, Optional, Sequence, Set, Tuple

from .plan import Plan

Place = Tuple[CodeType, int]
"""Where a frame of the reproduction's own stands: its code, and the line that it is at."""

_KEY = re.compile(r"\b[A-Z][A-Z0-9_]*(?:API_?KEY|_TOKEN|_SECRET)\b")
_ENVIRON = frozenset({"environ", "environb", "getenv", "getenvb"})
_MACHINE = frozenset({("sys", "version_info"), ("sys", "platform"), ("shutil", "which"), ("os", "name")})
_MAX_SOURCE = 2**20
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def of(error: BaseException, own: Sequence[Place], *, through_sdk: bool, plan: Plan) -> Optional[str]:
    """`environment`: the error is about a variable, a file, a module or a key that is not there.
    `before_sdk`: an assertion failed before the script called the SDK. None: neither, as far as the script's
    text tells.

    `own` are the places in the reproduction's files, innermost last; `through_sdk`: a frame of the SDK stands
    between them.
    """
    if not own:
        return None
    if isinstance(error, ImportError):
        return None if (error.name or "").partition(".")[0] == plan.package else "environment"
    if isinstance(error, (FileNotFoundError, EOFError)):
        return "environment"
    code, line = own[-1]
    tree = _parse(code.co_filename)
    if tree is None:
        return None
    statement = _statement(tree, line)
    if statement is None or through_sdk:
        return None
    from_sdk = _derived(tree, _imported(tree, plan.package))
    if not _mentions(statement, from_sdk):
        variables = _derived(tree, set(), about=_is_about_machine)
        text = str(error.args[0]) if error.args and isinstance(error.args[0], str) else ""
        if _KEY.search(text) or _is_about_machine(statement) or _mentions(statement, variables):
            return "environment"
        if isinstance(error, AssertionError) and not plan.tests and _is_first(own, plan):
            return "before_sdk"
    return None


def _parse(path: str) -> Optional[ast.Module]:
    try:
        if os.path.getsize(path) > _MAX_SOURCE:
            return None
        with open(path, "rb") as stream:
            return ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the file was changed meanwhile


def _statement(tree: ast.AST, line: int) -> Optional[ast.stmt]:
    """The innermost statement that holds a line."""
    found: Optional[ast.stmt] = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or node.lineno):
            continue
        if found is None or node.lineno >= found.lineno:
            found = node
    return found


def _imported(tree: ast.AST, package: str) -> Set[str]:
    """The names under which the file has the SDK or a part of it."""
    names: Set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            own = [each for each in node.names if each.name.partition(".")[0] == package]
            names.update(each.asname or package for each in own)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package:
            names.update(each.asname or each.name for each in node.names)
    return names


def _derived(tree: ast.AST, names: Set[str], about: Any = None) -> Set[str]:
    """These names, and all that are made from them somewhere in the file, whatever the order."""
    made: List[Tuple[Set[str], ast.AST]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and about is None:
            made.append(({node.name}, node))
        elif isinstance(node, ast.Assign):
            made.append((_targets(node.targets), node.value))
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            made.append((_targets([node.target]), node.value))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            made.append((_targets([node.target]), node.iter))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            named = [item for item in node.items if item.optional_vars is not None]
            made += [
                (_targets([item.optional_vars]), item.context_expr) for item in named if item.optional_vars
            ]
    found, before = set(names), -1
    while len(found) != before:
        before = len(found)
        for targets, value in made:
            if _mentions(value, found) or (about is not None and about(value)):
                found |= targets
    return found


def _targets(nodes: Sequence[ast.AST]) -> Set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _mentions(node: ast.AST, names: Set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def _is_about_machine(node: ast.AST) -> bool:
    """Whether it reads the environment's variables, or asks which Python or machine this is."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            owner = part.value.id if isinstance(part.value, ast.Name) else ""
            if part.attr in _ENVIRON or owner == "platform" or (owner, part.attr) in _MACHINE:
                return True
        elif isinstance(part, ast.Name) and part.id in _ENVIRON:
            return True
    return False


def _is_first(own: Sequence[Place], plan: Plan) -> bool:
    """Whether nothing that stands before these places, in their functions, uses the SDK."""
    for code, line in own:
        tree = _parse(code.co_filename)
        if tree is None:
            return False
        names = _derived(tree, _imported(tree, plan.package))
        if _imports_own(tree, plan):
            return False
        scope = _scope(tree, code)
        if scope is None or any(_uses(each, names) for each in _before(scope, line)):
            return False
    return True


def _imports_own(tree: ast.AST, plan: Plan) -> bool:
    """Whether it imports a file of the reproduction, which may use the SDK as well."""
    for node in ast.walk(tree):
        modules = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.level:
                return True
        for module in modules:
            place = os.path.join(plan.root, *module.split("."))
            if os.path.exists(place + ".py") or os.path.isdir(place):
                return True
    return False


def _scope(tree: ast.Module, code: CodeType) -> Optional[ast.AST]:
    if code.co_name == "<module>":
        return tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _before(scope: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements of a function, or of a module, that end before a line."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt) and (node.end_lineno or node.lineno) < line:
            yield node
        elif not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _uses(node: ast.stmt, names: Set[str]) -> bool:
    """Whether to run this statement may call the SDK; a definition alone does not."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return False
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return any(_mentions(each, names) for each in node.decorator_list)
    return _mentions(node, names)
