"""Make a script smaller by whole statements, names, arguments and answers, as long as it shows what it shows.

Rules:
1. A pass takes the module as it is and lists what could be taken away; what may go together is tried together
   first, in halves, then in ever smaller parts (delta debugging: Zeller and Hildebrandt, 2002).
2. What could not run (a name that nothing binds, a syntax error) and what was asked before is not asked.
3. Nothing is renamed, reordered or put in words of its own, so that what is left is the author's. The first
   sentence of the script's docstring stays: it says what the script is about.
4. A method that a class must have, and that does nothing, is no method any more: `stream_response = None`.
"""

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import libcst as cst

from .program import bound_in, children, code_of, nodes, reads

Accepts = Callable[[str], bool]
"""Whether a script still shows it; may be asked hundreds of times."""


class EnoughError(Exception):
    """No more is to be asked."""


@dataclass(frozen=True)
class Step:
    """Something that could be taken away: nodes, or nodes whose statements stay."""

    removed: frozenset[cst.CSTNode] = frozenset()
    unwrapped: frozenset[cst.CSTNode] = frozenset()
    otherwise: frozenset[cst.CSTNode] = frozenset()
    """Conditions of which the statements after `else` stay."""
    replaced: tuple[tuple[cst.CSTNode, cst.CSTNode], ...] = ()


@dataclass
class Reducer:
    """The smallest text so far, and what was asked."""

    text: str
    accepts: Accepts
    told: Callable[[str], None] = lambda _: None
    _known: dict[str, bool] = field(default_factory=dict)
    _unbound: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._unbound = frozenset(unbound(self.text))

    def reduce(self) -> None:
        """Go through all passes until none of them takes anything away.

        Raises:
            EnoughError: whoever is asked has had enough; `text` is the best so far.
        """
        while True:
            before = self.text
            for each in (_words, _names, _statements, _stubs, _wrappers, _parts):
                self._take(each)
            if self.text == before:
                return

    def offer(self, text: str) -> bool:
        """Take this text if it is shorter, or as long in fewer characters, and still shows it."""
        if _size(text) >= _size(self.text) or not self._ask(text):
            return False
        self._now(text)
        return True

    def _take(self, listing: Callable[[cst.Module], Sequence[Step]]) -> None:
        module = cst.parse_module(self.text)
        steps = list(listing(module))
        taken: list[Step] = []
        size = max(1, len(steps) // 2)
        while steps:
            place = 0
            while place < len(steps):
                chunk = steps[place : place + size]
                text = _without(module, [*taken, *chunk])
                if text is not None and text != self.text and self._ask(text):
                    taken += chunk
                    del steps[place : place + size]
                    self._now(text)
                else:
                    place += size
            if size == 1:
                return
            size = max(1, size // 2)

    def _now(self, text: str) -> None:
        self.text = text
        self.told(text)

    def _ask(self, text: str) -> bool:
        if text not in self._known:
            self._known[text] = self._could_run(text) and self.accepts(text)
        return self._known[text]

    def _could_run(self, text: str) -> bool:
        try:
            return unbound(text) <= self._unbound
        except (SyntaxError, ValueError):
            return False


def unbound(text: str) -> set[str]:
    """The names that a script reads and nowhere binds.

    Raises:
        SyntaxError: it does not compile.
    """
    tree = ast.parse(text)
    compile(tree, "script.py", "exec", dont_inherit=True)
    bound = set(dir(builtins)) | {"__file__", "__name__", "__doc__"}
    read: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {each.asname or each.name.partition(".")[0] for each in names}
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.Global(names=listed) | ast.Nonlocal(names=listed):
                # A name that only others bind is still to be bound by them.
                read |= set(listed)
    return read - bound


def _size(text: str) -> tuple[int, int]:
    return sum(1 for line in text.splitlines() if line.strip()), len(text)


class _Taking(cst.CSTTransformer):
    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__()
        self._removed = {node for step in steps for node in step.removed}
        self._unwrapped = {node for step in steps for node in step.unwrapped}
        self._otherwise = {node for step in steps for node in step.otherwise}
        self._replaced = {old: new for step in steps for old, new in step.replaced}

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node not in self._removed

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        if original_node in self._removed:
            return cst.RemoveFromParent()
        if original_node in self._replaced:
            return self._replaced[original_node]  # type: ignore[return-value]  # a node of the same kind
        updated = super().on_leave(original_node, updated_node)
        if original_node in self._otherwise and isinstance(updated, cst.If):
            other = updated.orelse.body if isinstance(updated.orelse, cst.Else) else None
            if isinstance(other, cst.IndentedBlock):
                return cst.FlattenSentinel(other.body)  # type: ignore[arg-type]  # statements for a statement
        if original_node in self._unwrapped and isinstance(updated, cst.CSTNode):
            body = getattr(updated, "body", None)
            if isinstance(body, cst.IndentedBlock):
                return cst.FlattenSentinel(body.body)  # type: ignore[arg-type]  # statements for a statement
        return updated


def _without(module: cst.Module, steps: Sequence[Step]) -> str | None:
    """The module's source without all that; None where that is no source."""
    try:
        return module.visit(_Taking(steps)).code
    except (cst.CSTValidationError, TypeError, ValueError, AttributeError):
        return None


def _lines_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements below a node, the outer ones first."""
    level = [node]
    while level:
        inner: list[cst.CSTNode] = []
        for each in level:
            if isinstance(each, cst.Module | cst.IndentedBlock):
                yield from each.body
                inner += each.body
            else:
                inner += children(each)
        level = inner


def _is_text(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return False
    small = node.body[0]
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)


def _words(module: cst.Module) -> list[Step]:
    """Docstrings, but for the script's first sentence, and comments but for the header's."""
    own = _own_words(module)
    texts = [
        Step(removed=frozenset({each})) for each in _lines_in(module) if _is_text(each) and each is not own
    ]
    shorter = _first_sentence(own) if own is not None else None
    if own is not None and shorter is not None:
        texts.append(Step(replaced=((own, shorter),)))
    comments: list[Step] = []
    for each in _lines_in(module):
        leading = getattr(each, "leading_lines", ())
        if any(line.comment is not None for line in leading):
            kept = [line for line in leading if line.comment is None][:1]
            comments.append(Step(replaced=((each, each.with_changes(leading_lines=kept)),)))
    return texts + comments


def _own_words(module: cst.Module) -> cst.CSTNode | None:
    """The script's docstring."""
    return module.body[0] if module.body and _is_text(module.body[0]) else None


_SENTENCE: Final = re.compile(r"(?s:.+?)(?:[.!?](?=\s+[^\sa-z]|\s*$)|(?=\n\s*\n|$))")


def _first_sentence(own: cst.CSTNode) -> cst.CSTNode | None:
    """A docstring's first sentence as a docstring, broken as its author broke it; None where it is all."""
    small = own.body[0] if isinstance(own, cst.SimpleStatementLine) else None
    text = small.value if isinstance(small, cst.Expr) else None
    if not isinstance(text, cst.SimpleString) or not isinstance(own, cst.SimpleStatementLine):
        return None
    inner = text.raw_value.strip()
    found = _SENTENCE.match(inner)
    if found is None or found[0] == inner:
        return None
    value = f"{text.prefix}{text.quote}{found[0]}{text.quote}"
    return own.with_changes(body=[cst.Expr(cst.SimpleString(value))])


def _names(module: cst.Module) -> list[Step]:
    """A function, class, value or import with all that speaks of it: statements, arguments, entries."""
    steps: list[tuple[int, Step]] = []
    for statement in module.body:
        for name in sorted(bound_in([statement])):
            removed: set[cst.CSTNode] = set()
            for other in module.body:
                if name in bound_in([other]) and len(bound_in([other])) == 1:
                    removed.add(other)
                elif name in bound_in([other]):
                    removed |= {
                        alias
                        for alias in nodes(other)
                        if isinstance(alias, cst.ImportAlias)
                        and name in (code_of(alias.name), alias.asname and code_of(alias.asname.name))
                    }
                else:
                    removed |= set(_speaking(other, name))
            steps.append((-sum(len(code_of(each)) for each in removed), Step(removed=frozenset(removed))))
    return [step for _, step in sorted(steps, key=lambda each: each[0])]


def _speaking(node: cst.CSTNode, name: str) -> Iterator[cst.CSTNode]:
    """The smallest parts of a statement that can go and speak of a name."""
    if name not in reads(node):
        return
    inner: list[cst.CSTNode] = []
    for child in children(node):
        inner += _speaking(child, name)
    here = [each for each in children(node) if isinstance(each, cst.Name) and each.value == name]
    if (
        isinstance(node, cst.Arg | cst.Element | cst.DictElement | cst.Decorator) and (here or not inner)
    ) or (isinstance(node, cst.BaseStatement | cst.SimpleStatementLine) and not inner):
        yield node
    else:
        yield from inner


def _statements(module: cst.Module) -> list[Step]:
    own = _own_words(module)
    return [Step(removed=frozenset({each})) for each in _lines_in(module) if each is not own]


def _stubs(module: cst.Module) -> list[Step]:
    """Methods of which nothing but their name is left, as plain attributes."""
    steps: list[Step] = []
    for each in nodes(module):
        if isinstance(each, cst.ClassDef) and isinstance(each.body, cst.IndentedBlock):
            for method in each.body.body:
                if isinstance(method, cst.FunctionDef) and not method.decorators and _does_nothing(method):
                    line = cst.parse_statement(f"{method.name.value} = None\n")
                    steps.append(Step(replaced=((method, line),)))
    return steps


def _does_nothing(method: cst.FunctionDef) -> bool:
    if not isinstance(method.body, cst.IndentedBlock):
        return False
    # A body of which all was taken away is written as `pass`.
    small = [part for each in method.body.body for part in getattr(each, "body", [each])]
    return all(isinstance(part, cst.Pass | cst.Raise) for part in small)


def _wrappers(module: cst.Module) -> list[Step]:
    """What stands around statements, and branches."""
    steps: list[Step] = []
    for each in nodes(module):
        if isinstance(each, cst.If | cst.With | cst.Try | cst.For | cst.While):
            steps.append(Step(unwrapped=frozenset({each})))
        if isinstance(each, cst.If) and isinstance(each.orelse, cst.Else):
            steps.append(Step(otherwise=frozenset({each})))
        if isinstance(each, cst.Else | cst.Finally | cst.ExceptHandler):
            steps.append(Step(removed=frozenset({each})))
    return steps


def _parts(module: cst.Module) -> list[Step]:
    """Arguments, parameters, entries, decorators and single imports, each by itself; and loops once.

    A dictionary that names its type is an item of the API, and stays as a provider sends it.
    """
    kinds = (cst.Arg, cst.Element, cst.DictElement, cst.ImportAlias, cst.Decorator, cst.Param)
    whole = {entry for each in nodes(module) if _is_item(each) for entry in children(each)}
    found = [
        Step(removed=frozenset({each}))
        for each in nodes(module)
        if isinstance(each, kinds) and each not in whole
    ]
    for each in nodes(module):
        if isinstance(each, cst.BooleanOperation | cst.IfExp):
            inner = (
                (each.left, each.right)
                if isinstance(each, cst.BooleanOperation)
                else (each.body, each.orelse)
            )
            found += [Step(replaced=((each, part),)) for part in inner]
    return found


def _is_item(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Dict) and any(
        isinstance(each, cst.DictElement)
        and isinstance(each.key, cst.SimpleString)
        and each.key.evaluated_value == "type"
        for each in node.elements
    )
