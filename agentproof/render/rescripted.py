"""A reproduction's script with a scripted model in the place of the one that it asks.

Its text stays as it is, but for the keyword `model` where agents are made, and the scripted model itself,
which is written behind the imports at its beginning.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..errors import CannotDoError
from ..models.events import ModelCalled
from ..models.trace import Trace
from .scripted import Source, answers_of, literal, scripted

_PACKAGE: Final = "agents"
_AGENTS: Final = frozenset({"Agent", "SandboxAgent"})
_CONFIG: Final = "RunConfig"
_ONE: Final = "scripted_model"
_BY_AGENT: Final = "scripted_models"


@dataclass(frozen=True)
class Rescripted:
    """What became of a script."""

    source: bytes
    answers: int
    classes: tuple[str, ...]
    """The classes of models that were asked when this was recorded, as `module:Class`."""
    by_agent: bool
    """Whether each agent has a model of its own; else all share one."""


def rescripted(source: bytes, trace: Trace, *, version: str, variables: Iterable[str]) -> Rescripted:
    """The script with a model that gives the answers of `trace`.

    `version` is the SDK's release, `variables` the environment variables that held keys.

    Raises:
        CannotDoError: no agent is made in it, the model was asked nothing, or an answer is nothing that
            source text can say.
    """
    answers = answers_of(trace)
    if not answers:
        raise CannotDoError(
            "no model answered in this recording, so there is nothing to script",
            hint="a bundle that was recorded with --live has answers",
        )
    tree = ast.parse(source)
    names = _Names(tree)
    sites = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and names.makes_model(node)]
    if not any(names.makes_agent(site) for site in sites):
        raise CannotDoError(
            "the script makes no agent (`Agent(…)`), so nothing says where a scripted model belongs",
            hint="its agents may be made in another file: give them the model there",
        )
    written = [_name_of(site) for site in sites]
    asking = list(dict.fromkeys(each.agent for each in answers))
    by_agent = len(asking) > 1 and None not in written and {*asking} <= {*written}
    groups = [[each for each in answers if each.agent == name] for name in asking] if by_agent else [answers]
    text, lines = source.decode(), _Lines(source)
    model = _free(_BY_AGENT if by_agent else _ONE, names.bound)
    made = scripted(groups, version=version, script=text)
    head = _head(made, model, asking if by_agent else None, names)
    keys = dict.fromkeys(each for each in variables if each in text or "OpenAI(" in text)
    if keys:
        unused = "".join(f'os.environ.setdefault({literal(each)}, "unused")\n' for each in keys)
        head = f"import os\n\n{unused}\n{head}"
    edits = [
        _Edit(_behind_imports(tree, lines), 0, f"\n# What the model answered in the recording.\n{head}\n")
    ]
    for site in sites:
        name = _name_of(site)
        if not by_agent:
            edits.append(_edit(site, model, lines))
        elif name is not None and name in asking:
            edits.append(_edit(site, f"{model}[{literal(name)}]", lines))
    return Rescripted(
        source=_edited(source, edits),
        answers=len(answers),
        classes=tuple(sorted({event.model for event in trace.events if isinstance(event, ModelCalled)})),
        by_agent=by_agent,
    )


@dataclass(frozen=True)
class _Edit:
    at: int
    """A byte of the source."""
    length: int
    text: str


class _Names:
    """What the SDK's classes are called in a script."""

    def __init__(self, tree: ast.Module) -> None:
        self._agents: set[str] = set()
        self._configs: set[str] = set()
        self._modules: set[str] = set()
        self.bound: set[str] = set()
        """Everything that the script gives a name to, but for what it imports from the SDK or its client."""
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._note(node)
        for node in nodes:
            if isinstance(node, ast.ClassDef) and any(
                self._is(each, self._agents, _AGENTS) for each in node.bases
            ):
                self._agents.add(node.name)

    def makes_agent(self, call: ast.Call) -> bool:
        """Whether an agent is made here, or copied with another model."""
        clones = isinstance(call.func, ast.Attribute) and call.func.attr == "clone" and _model_of(call)
        return bool(clones) or self._is(call.func, self._agents, _AGENTS)

    def makes_model(self, call: ast.Call) -> bool:
        """Whether a model is given here, or could be."""
        if self._is(call.func, self._configs, {_CONFIG}):
            return _model_of(call) is not None
        return self.makes_agent(call)

    def _is(self, node: ast.expr, names: set[str], attributes: Iterable[str]) -> bool:
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.value.id in self._modules and node.attr in attributes
        return isinstance(node, ast.Name) and node.id in names

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.ImportFrom(module=str() as module, names=aliases):
                for alias in aliases:
                    name = alias.asname or alias.name
                    if module.partition(".")[0] == _PACKAGE and alias.name in _AGENTS:
                        self._agents.add(name)
                    if module.partition(".")[0] == _PACKAGE and alias.name == _CONFIG:
                        self._configs.add(name)
                    if module.partition(".")[0] not in {_PACKAGE, "openai"}:
                        self.bound.add(name)
            case ast.Import(names=aliases):
                self._modules |= {each.asname or each.name for each in aliases if each.name == _PACKAGE}
                self.bound |= {(each.asname or each.name).partition(".")[0] for each in aliases}
            case ast.Name(id=name, ctx=ast.Store()):
                self.bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.bound.add(name)
            case ast.arg(arg=name):
                self.bound.add(name)


def _free(name: str, bound: set[str]) -> str:
    while name in bound:
        name += "_"
    return name


def _model_of(call: ast.Call) -> ast.keyword | None:
    return next((each for each in call.keywords if each.arg == "model"), None)


def _name_of(call: ast.Call) -> str | None:
    """The agent's name, where it is written there."""
    given = next((each.value for each in call.keywords if each.arg == "name"), None)
    given = given or (call.args[0] if call.args else None)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _head(made: Source, model: str, agents: Sequence[str] | None, names: _Names) -> str:
    """The scripted models, under their name; in a function of their own where the script has such names."""
    value = made.models[0]
    if agents is not None:
        pairs = zip(agents, made.models, strict=True)
        value = "{\n" + "".join(_indented(f"{literal(name)}: {each},") for name, each in pairs) + "}"
    parts = ["\n".join(made.imports), *(each.rstrip() for each in made.definitions)]
    if not _introduced(made) & names.bound:
        return "\n\n\n".join([*parts, f"{model} = {value}"]) + "\n"
    maker = _free(f"_make_{model}", names.bound)
    body = "\n\n".join([*parts, f"return {value}"])
    return f"def {maker}():\n{_indented(body)}\n\n{model} = {maker}()\n"


def _introduced(made: Source) -> set[str]:
    text = "\n".join([*made.imports, *made.definitions])
    return {
        name
        for node in ast.parse(text).body
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.ImportFrom)
            else [node.name]
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            else [
                each.id
                for each in ast.walk(node)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            ]
        )
    }


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))


class _Lines:
    """Where the places of a syntax tree are in a source."""

    def __init__(self, source: bytes) -> None:
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def begin(self, node: ast.expr | ast.keyword) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.keyword) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def behind(self, node: ast.stmt) -> int:
        """Where the line begins that follows it."""
        return self._starts[min(node.end_lineno or node.lineno, len(self._starts) - 1)]

    def before(self, node: ast.stmt) -> int:
        return self._starts[node.lineno - 1]


def _edit(call: ast.Call, value: str, lines: _Lines) -> _Edit:
    """The model `value` where this call has another one, or none."""
    if (given := _model_of(call)) is not None:
        begin, end = lines.begin(given.value), lines.end(given.value)
        return _Edit(begin, end - begin, value)
    given_too: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    last = max(given_too, key=lines.end, default=None)
    if last is None:
        return _Edit(lines.end(call) - 1, 0, f"model={value}")
    return _Edit(lines.end(last), 0, f", model={value}")


def _behind_imports(tree: ast.Module, lines: _Lines) -> int:
    """Behind the imports that a script begins with."""
    place = lines.before(tree.body[0])
    for number, each in enumerate(tree.body):
        is_docstring = number == 0 and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if not (is_docstring or isinstance(each, ast.Import | ast.ImportFrom)):
            break
        place = lines.behind(each)
    return place


def _edited(source: bytes, edits: Iterable[_Edit]) -> bytes:
    for edit in sorted(edits, key=lambda each: each.at, reverse=True):
        source = source[: edit.at] + edit.text.encode() + source[edit.at + edit.length :]
    return source
