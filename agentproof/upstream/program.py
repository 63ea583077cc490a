"""A script taken apart: what it defines stays at module level, what it does becomes the body of one test.

Rules:
1. Nodes are moved as they are, with their comments; what is put between them is code of ours (`Edits`).
2. `asyncio.run(main())` becomes the body of `main` where that is called once, takes nothing and returns
   nothing; every other `asyncio.run(…)` becomes an `await`. A script that uses `Runner.run_sync` has a test
   that is not asynchronous, and keeps both.
3. What a script says to the whole process and a test must not (`set_tracing_disabled(True)`) is left out, and
   so is its header.
4. A name that the body binds and a function reads stays the module's.
"""

import builtins
import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import libcst as cst
import libcst.matchers as m

from ..errors import CannotDoError

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement

_RUN: Final = m.Call(func=m.Attribute(value=m.Name("asyncio"), attr=m.Name("run")), args=[m.Arg()])
_SILENCED: Final = m.SimpleStatementLine(
    body=[m.Expr(m.Call(func=m.Name("set_tracing_disabled"), args=[m.Arg(value=m.Name("True"))]))]
)
_GUARD: Final = m.If(
    test=m.Comparison(
        left=m.Name("__name__"),
        comparisons=[m.ComparisonTarget(operator=m.Equal(), comparator=m.SimpleString())],
    ),
    orelse=None,
)
_FUTURE: Final = m.SimpleStatementLine(body=[m.ImportFrom(module=m.Name("__future__"))])


@dataclass
class Edits:
    """What is put between a program's nodes, which are known by identity."""

    before: dict[cst.CSTNode, list[str]] = field(default_factory=dict)
    after: dict[cst.CSTNode, list[str]] = field(default_factory=dict)
    instead: dict[cst.CSTNode, list[str]] = field(default_factory=dict)
    """Statements in the place of one."""
    replaced: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    """Expressions in the place of one."""
    removed: set[cst.CSTNode] = field(default_factory=set)
    top: list[str] = field(default_factory=list)
    """Statements at module level, before the test."""
    imports: list[str] = field(default_factory=list)
    begin: list[str] = field(default_factory=list)
    end: list[str] = field(default_factory=list)
    """Statements of the test, before and after its own."""
    fixtures: list[str] = field(default_factory=list)
    """Names of pytest's fixtures that the test takes."""
    decorated: str | None = None
    """What the whole body stands in, as `with pytest.raises(ValueError)`."""

    def joined(self, other: "Edits") -> "Edits":
        """Both of them."""
        before = {node: list(lines) for node, lines in self.before.items()}
        after = {node: list(lines) for node, lines in self.after.items()}
        for mine, others in ((before, other.before), (after, other.after)):
            for node, lines in others.items():
                mine[node] = [
                    *mine.get(node, []),
                    *(each for each in lines if each not in mine.get(node, [])),
                ]
        return Edits(
            before=before,
            after=after,
            instead={
                node: list(dict.fromkeys((*self.instead.get(node, []), *other.instead.get(node, []))))
                for node in (*self.instead, *other.instead)
            },
            replaced={**self.replaced, **other.replaced},
            removed=self.removed | other.removed,
            top=list(dict.fromkeys((*self.top, *other.top))),
            imports=list(dict.fromkeys((*self.imports, *other.imports))),
            begin=list(dict.fromkeys((*self.begin, *other.begin))),
            end=list(dict.fromkeys((*self.end, *other.end))),
            fixtures=list(dict.fromkeys((*self.fixtures, *other.fixtures))),
            decorated=self.decorated or other.decorated,
        )


@dataclass(frozen=True)
class Program:
    """A script, taken apart."""

    definitions: tuple[Statement, ...]
    body: tuple[Statement, ...]
    is_async: bool
    docstring: str | None
    """The script's own first words."""
    future: bool = False
    """Whether its annotations are texts."""

    @property
    def module(self) -> cst.Module:
        """All of its statements, for whoever looks through them."""
        return cst.Module(body=[*self.definitions, *self.body])

    def functions(self) -> Iterator[cst.FunctionDef]:
        """Every function that it defines, at any depth."""
        yield from (node for node in nodes(self.module) if isinstance(node, cst.FunctionDef))


def take_apart(source: bytes, *, path: str) -> Program:
    """Understand a script that compiles.

    Raises:
        CannotDoError: it is written in a way that is not understood, or it does nothing.
    """
    try:
        module = cst.parse_module(source)
    except (cst.ParserSyntaxError, UnicodeDecodeError, RecursionError) as error:
        raise CannotDoError(f"{path}: its syntax is not understood: {str(error)[:200]}") from error
    future = any(m.matches(each, _FUTURE) for each in module.body)
    statements = [each for each in module.body if not _is_left_out(each)]
    docstring = module.get_docstring()
    if docstring is not None:
        statements = statements[1:] if _is_text(module.body[0]) else statements
    statements = list(_unguarded(statements))
    keeps_loops = any(
        isinstance(node, cst.Attribute) and node.attr.value == "run_sync" for node in nodes(module)
    )
    definitions, body = _divided(statements)
    if not keeps_loops:
        definitions, body = _inlined(definitions, body)
    is_async = False
    if not keeps_loops:
        body, is_async = _awaited(body)
    definitions, body = _localised(definitions, body)
    if not body:
        raise CannotDoError(f"{path}: it defines things and does nothing", hint="call what shows the bug")
    shared = sorted(_shared(definitions, body))
    if shared:
        line = cst.parse_statement(f"global {', '.join(shared)}")
        body = [_statement(line), *body]
    return Program(tuple(definitions), tuple(body), is_async, docstring, future)


def written(program: Program, edits: Edits, *, name: str, docstring: str, is_final: bool = False) -> str:
    """The program as the source of a test, with the edits; `name` is a checked identifier and `docstring` any
    text. In the final one nothing is left that nobody reads."""
    if not name.isidentifier():
        raise ValueError(name)
    body: list[Statement] = [*_parsed(edits.begin), *program.body, *_parsed(edits.end)]
    if edits.decorated is not None:
        wrapped = cst.parse_statement(f"{edits.decorated}:\n    pass\n")
        if not isinstance(wrapped, cst.With):
            raise TypeError(edits.decorated)
        body = [wrapped.with_changes(body=cst.IndentedBlock(body=body))]
    words = cst.parse_statement(docstring_literal(docstring))
    taken = ", ".join(edits.fixtures)
    head = "async def" if program.is_async else "def"
    mark = "@pytest.mark.asyncio\n" if program.is_async else ""
    function = cst.parse_statement(f"{mark}{head} {name}({taken}):\n    pass\n")
    if not isinstance(function, cst.FunctionDef):
        raise TypeError(name)
    function = function.with_changes(body=cst.IndentedBlock(body=[_statement(words), *body]))
    parts = [*_parsed(["import pytest", *edits.imports]), *program.definitions, *_parsed(edits.top), function]
    parts.sort(key=lambda each: not _is_import(each))
    changed = cst.Module(body=parts).visit(_Applied(edits))
    future = list(_parsed(["from __future__ import annotations"] if program.future else []))
    whole = changed.with_changes(body=[*future, *changed.body])
    return pruned(whole).code if is_final else whole.code


def applied(module: cst.Module, edits: Edits) -> str:
    """A script's source with edits; what they import stands before its first statement that is no text."""
    changed = module.visit(_Applied(edits))
    place = 1 if changed.body and _is_text(changed.body[0]) else 0
    first, rest = changed.body[:place], changed.body[place:]
    added = list(_parsed(edits.imports))
    imports = [each for each in added if _is_import(each)]
    # A class of ours needs the script's imports no less than its own.
    end = max((number for number, each in enumerate(rest, 1) if _is_import(each)), default=0)
    others = [each for each in added if not _is_import(each)]
    return changed.with_changes(body=[*first, *imports, *rest[:end], *others, *rest[end:]]).code


def pruned(module: cst.Module) -> cst.Module:
    """Without the functions, classes and plain values at module level that nothing reads; tests stay."""
    module = _without_dead(module)
    while True:
        counted = [(each, set(_bound_at_top(each)), reads(each)) for each in module.body]
        kept = [
            each
            for each, names, _ in counted
            if not names or any(names & read for other, _, read in counted if other is not each)
        ]
        if len(kept) == len(module.body):
            return module
        module = module.with_changes(body=kept)


_HARMLESS: Final = frozenset(
    [
        "json.dumps",
        "json.loads",
        "str",
        "repr",
        "len",
        "type",
        "bool",
        "list",
        "sorted",
        "print",
        "dict",
        "int",
        "set",
        "tuple",
        "isinstance",
        "getattr",
    ]
)
_READING: Final = (".to_json", ".get", ".items", ".keys", ".values", ".get_interruptions", ".copy", ".dumps")


def is_harmless(node: cst.CSTNode) -> bool:
    """Whether it only reads, as far as can be seen."""
    if any(isinstance(each, cst.Await | cst.Yield | cst.NamedExpr) for each in nodes(node)):
        return False
    called = [code_of(each.func) for each in nodes(node) if isinstance(each, cst.Call)]
    return all(name in _HARMLESS or name.endswith(_READING) for name in called)


def _without_dead(module: cst.Module) -> cst.Module:
    """Without what is computed and read by nobody, and lists that are only written."""
    module = module.visit(_Passing())
    while True:
        names = Counter(each.value for each in nodes(module) if isinstance(each, cst.Name))
        lists = _only_written(module, names)
        dead = {each for each in nodes(module) if _is_dead(each, names, lists)}
        if not dead:
            return module
        changed = module.visit(_Applied(Edits(instead={key: ["pass"] for key in dead})))
        changed = changed.visit(_Passing())
        module = changed


class _Passing(cst.CSTTransformer):
    """Takes `pass` away where it does not stand alone."""

    def leave_IndentedBlock(  # noqa: N802
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(body=_needed(updated_node.body) or updated_node.body[:1])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:  # noqa: N802
        return updated_node.with_changes(body=_needed(updated_node.body))


def _needed(statements: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    return [each for each in statements if not m.matches(each, m.SimpleStatementLine(body=[m.Pass()]))]


def _is_dead(statement: cst.CSTNode, names: Counter[str], lists: set[str]) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    match small:
        case cst.Expr(value=cst.Call() as call) if _written_list(call) in lists:
            return all(map(is_harmless, call.args))
        case cst.Expr(value=value):
            return (
                isinstance(value, cst.Call)
                and code_of(value.func) in _HARMLESS - {"print"}
                and is_harmless(value)
            )
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
            called = any(isinstance(each, cst.Call) for each in nodes(value))
            return names[name] == 1 and called and is_harmless(value)
    return False


def _written_list(call: cst.Call) -> str | None:
    """The list that a call appends to or clears."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value in ("append", "clear"):
        return function.value.value if isinstance(function.value, cst.Name) else None
    return None


def _only_written(module: cst.Module, names: Counter[str]) -> set[str]:
    """The lists at module level that begin empty, and that nobody reads."""
    writes = Counter(
        _written_list(each.value)
        for each in nodes(module)
        if isinstance(each, cst.Expr) and isinstance(each.value, cst.Call)
    )
    found: set[str] = set()
    for each in module.body:
        small = each.body[0] if isinstance(each, cst.SimpleStatementLine) else None
        match small:
            case (
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.List(elements=[])
                )
                | cst.AnnAssign(target=cst.Name(value=name), value=cst.List(elements=[]))
            ):
                if names[name] == writes[name] + 1:
                    found.add(name)
    return found


def _bound_at_top(statement: cst.CSTNode) -> Iterator[str]:
    """The names for which alone a statement is there: of imports, tests and what is called none."""
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        if not statement.name.value.startswith("test"):
            yield statement.name.value
    elif isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        if isinstance(small, cst.Assign | cst.AnnAssign) and not any(
            isinstance(each, cst.Call | cst.Subscript | cst.Attribute) for each in nodes(small)
        ):
            yield from _bound(statement)


def statements_in(module: cst.Module) -> list[Statement]:
    """The statements of a module."""
    return [_statement(each) for each in module.body]


def statements_of(text: str) -> list[Statement]:
    """Statements of ours, from their source."""
    return list(_parsed([text]))


def docstring_literal(text: str) -> str:
    """Any text as a docstring: whatever it holds, it ends where it should."""
    kept = "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)
    kept = "".join(each if each.isascii() or each.isalnum() else ascii(each)[1:-1] for each in kept)
    kept = kept.strip().replace("\\", "\\\\").replace('"', "'")
    lines = [line.rstrip() for line in kept.split("\n")]
    return '"""' + "\n".join(lines) + ('\n"""' if len(lines) > 1 else '"""')


def nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, but for white space and brackets."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        todo += reversed(children(each))


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes just below; libcst's own `children` visits white space, too, and takes ten times as long."""
    found: list[cst.CSTNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += [each for each in value if isinstance(each, cst.CSTNode)]
    return found


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    left_out = (
        "whitespace",
        "leading_lines",
        "lines_after",
        "lpar",
        "rpar",
        "header",
        "footer",
        "comma",
        "equal",
    )
    names = (each.name for each in dataclasses.fields(kind))
    return tuple(name for name in names if not name.startswith(left_out))


def code_of(node: cst.CSTNode) -> str:
    """A node's source."""
    return cst.Module(body=[]).code_for_node(node)


def bound_in(statements: Iterable[cst.CSTNode]) -> set[str]:
    """The names that statements bind, but for those that functions and classes below bind for themselves."""
    found: set[str] = set()
    for statement in statements:
        found |= set(_bound(statement))
    return found


def reads(node: cst.CSTNode) -> set[str]:
    """Every name that stands in a node as a whole expression."""
    attributes = {each.attr for each in nodes(node) if isinstance(each, cst.Attribute)}
    keywords = {
        each.keyword for each in nodes(node) if isinstance(each, cst.Arg) and each.keyword is not None
    }
    return {
        each.value
        for each in nodes(node)
        if isinstance(each, cst.Name) and each not in attributes and each not in keywords
    }


def fresh(wanted: str, program: Program) -> str:
    """A name like `wanted` that the program does not use."""
    taken = {each.value for each in nodes(program.module) if isinstance(each, cst.Name)} | set(dir(builtins))
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def blocks(program: Program) -> Iterator[tuple[cst.FunctionDef | None, Sequence[Statement]]]:
    """The test's own statements, and those of each function, with that function."""
    yield None, program.body
    for function in program.functions():
        if isinstance(function.body, cst.IndentedBlock):
            yield function, [_statement(each) for each in function.body.body]


class _Applied(cst.CSTTransformer):
    def __init__(self, edits: Edits) -> None:
        super().__init__()
        self._edits = edits

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        edits = self._edits
        updated = super().on_leave(original_node, updated_node)
        if original_node in edits.removed:
            return cst.RemoveFromParent()
        if original_node in edits.replaced:
            updated = edits.replaced[original_node]  # type: ignore[assignment]  # a node of the same kind
        before, after = edits.before.get(original_node), edits.after.get(original_node)
        instead = edits.instead.get(original_node)
        if not before and not after and instead is None:
            return updated
        middle = [updated] if instead is None else list(_parsed(instead))
        return cst.FlattenSentinel([*_parsed(before or []), *middle, *_parsed(after or [])])


def _is_left_out(statement: cst.CSTNode) -> bool:
    return m.matches(statement, _SILENCED) or m.matches(statement, _FUTURE)


def _is_text(statement: cst.CSTNode) -> bool:
    return m.matches(
        statement, m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())])
    )


def _unguarded(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        if m.matches(statement, _GUARD) and isinstance(statement, cst.If):
            yield from (_statement(each) for each in statement.body.body)
        else:
            yield statement


def _statement(node: cst.CSTNode) -> Statement:
    if isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
        return node
    raise CannotDoError("a block on one line is not understood", hint="write it on lines of its own")


def _parsed(lines: Iterable[str]) -> Iterator[Statement]:
    for line in lines:
        yield from (_statement(each) for each in cst.parse_module(line + "\n").body)


def _is_definition(statement: Statement) -> bool:
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return True
    if isinstance(statement, cst.If | cst.Try):
        inner = statement.body.body
        return all(isinstance(each, Statement) and _is_definition(each) for each in inner)
    small = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    if all(isinstance(each, cst.Import | cst.ImportFrom) for each in small):
        return bool(small)
    if not all(isinstance(each, cst.Assign | cst.AnnAssign) for each in small):
        return False
    return bool(small) and not _does(statement)


def _does(statement: cst.CSTNode) -> bool:
    """Whether it runs an agent or an event loop, or prints."""
    for each in nodes(statement):
        if isinstance(each, cst.Await):
            return True
        if isinstance(each, cst.Call):
            called = code_of(each.func)
            if called in ("print", "asyncio.run") or called.endswith((".run_sync", ".run_until_complete")):
                return True
            if called.startswith("Runner."):
                return True
    return False


def _divided(statements: Iterable[Statement]) -> tuple[list[Statement], list[Statement]]:
    definitions: list[Statement] = []
    body: list[Statement] = []
    for statement in statements:
        uses = reads(statement) & bound_in(body)
        if _is_definition(statement) and not (
            isinstance(statement, cst.SimpleStatementLine) and uses and not _is_import(statement)
        ):
            definitions.append(statement)
        else:
            body.append(statement)
    return definitions, body


def _is_import(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(each, cst.Import | cst.ImportFrom) for each in statement.body
    )


def _inlined(definitions: list[Statement], body: list[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Rule 2, of a function that is called once."""
    for place, statement in enumerate(body):
        if not (isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1):
            continue
        expression = statement.body[0]
        if not isinstance(expression, cst.Expr) or not m.matches(expression.value, _RUN):
            continue
        call = cst.ensure_type(expression.value, cst.Call).args[0].value
        if not (isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and not call.args):
            continue
        name = call.func.value
        main = next(
            (each for each in definitions if isinstance(each, cst.FunctionDef) and each.name.value == name),
            None,
        )
        if main is None or main.asynchronous is None or main.decorators or not _takes_nothing(main):
            continue
        uses = sum(
            isinstance(each, cst.Name) and each.value == name
            for one in (*definitions, *body)
            for each in nodes(one)
        )
        if uses != 2 or _returns(main) or not isinstance(main.body, cst.IndentedBlock):
            continue
        inner = [_statement(each) for each in main.body.body]
        if inner and _is_text(inner[0]):
            inner = inner[1:]
        return [each for each in definitions if each is not main], [*body[:place], *inner, *body[place + 1 :]]
    return definitions, body


def _takes_nothing(function: cst.FunctionDef) -> bool:
    given = function.params
    return not (given.params or given.kwonly_params or given.posonly_params) and not (
        isinstance(given.star_arg, cst.Param) or given.star_kwarg is not None
    )


def _own(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and what is below it, but for what functions and classes hold."""
    yield node
    for child in children(node):
        if not isinstance(child, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            yield from _own(child)


def _returns(function: cst.FunctionDef) -> bool:
    return any(isinstance(each, cst.Return) for each in _own(function.body))


class _Awaiting(cst.CSTTransformer):
    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:  # noqa: N802
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:  # noqa: N802
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:  # noqa: N802
        return False

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:  # noqa: N802
        if not m.matches(original_node, _RUN):
            return updated_node
        return cst.Await(
            expression=updated_node.args[0].value,
            lpar=[cst.LeftParen()],
            rpar=[cst.RightParen()],
        )


class _Bare(cst.CSTTransformer):
    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr:  # noqa: N802
        value = updated_node.value
        return (
            updated_node.with_changes(value=value.with_changes(lpar=[], rpar=[]))
            if isinstance(value, cst.Await)
            else updated_node
        )


def _awaited(body: Sequence[Statement]) -> tuple[list[Statement], bool]:
    changed: list[Statement] = []
    for each in body:
        if any(m.matches(node, _RUN) for node in _own(each)):
            visited = each.visit(_Awaiting())
            inner = visited.visit(_Bare()) if isinstance(visited, cst.CSTNode) else visited
            if not isinstance(inner, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                raise TypeError(inner)
            changed.append(inner)
        else:
            changed.append(each)
    waits = (cst.Await, cst.Asynchronous)
    return changed, any(isinstance(node, waits) for each in changed for node in _own(each))


def _localised(
    definitions: Sequence[Statement], body: Sequence[Statement]
) -> tuple[list[Statement], list[Statement]]:
    """Objects that are made at module level for the test alone become its own."""
    kept: list[Statement] = []
    moved: list[Statement] = []
    for place in range(len(definitions) - 1, -1, -1):
        statement = definitions[place]
        names = set(_bound(statement))
        is_made = (
            isinstance(statement, cst.SimpleStatementLine)
            and not _is_import(statement)
            and any(isinstance(each, cst.Call) for each in nodes(statement))
        )
        if is_made and not any(names & reads(each) for each in kept):
            moved.insert(0, statement)
        else:
            kept.insert(0, statement)
    return kept, [*moved, *body]


def _bound(statement: cst.CSTNode) -> Iterator[str]:
    for each in _own(statement):
        match each:
            case cst.FunctionDef(name=name) | cst.ClassDef(name=name):
                yield name.value
            case cst.AssignTarget(target=target) | cst.AnnAssign(target=target) | cst.For(target=target):
                yield from _targets(target)
            case cst.NamedExpr(target=target) | cst.AugAssign(target=target):
                yield from _targets(target)
            case cst.AsName(name=target):
                yield from _targets(target)
            case cst.ImportAlias(name=name, asname=None):
                yield code_of(name).partition(".")[0]
    for child in children(statement):
        if isinstance(child, cst.FunctionDef | cst.ClassDef):
            yield child.name.value


def _targets(target: cst.CSTNode) -> Iterator[str]:
    match target:
        case cst.Name(value=value):
            yield value
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for each in elements:
                yield from _targets(each.value)
        case cst.StarredElement(value=value):
            yield from _targets(value)


def _shared(definitions: Iterable[Statement], body: Sequence[Statement]) -> set[str]:
    """Rule 4."""
    functions = [each for each in definitions if isinstance(each, cst.FunctionDef | cst.ClassDef)]
    own: set[str] = set()
    for each in functions:
        inner = [node for node in nodes(each) if isinstance(node, cst.FunctionDef)]
        parameters = {p.name.value for node in inner for p in nodes(node.params) if isinstance(p, cst.Param)}
        local = {name for node in inner for name in bound_in([node.body])}
        own |= reads(each) - parameters - local
    return own & bound_in(body) - bound_in(functions)


__all__ = [
    "Edits",
    "Program",
    "Statement",
    "applied",
    "blocks",
    "bound_in",
    "children",
    "code_of",
    "docstring_literal",
    "fresh",
    "nodes",
    "pruned",
    "reads",
    "statements_in",
    "statements_of",
    "take_apart",
    "written",
]
