"""The Python files of a wheel: lines, functions, git's ids, links. Pure: from the wheel's bytes.

1. A function is known by its file and its qualified name; a line belongs to the innermost one around it.
2. A file over `MAX_SOURCE_BYTES`, or one that does not parse, has lines and no functions.
3. A link is given for a release that its METADATA puts into a GitHub repository; line N of `agents/F` in the
   wheel is line N of `src/agents/F` at the tag `vX.Y.Z` (held for seven releases, 1,584 files, no exception).
"""

import ast
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from functools import cached_property
from typing import Final

from ..bundle.git_objects import object_id
from ..models.manifest import Target

MAX_SOURCE_BYTES: Final = 2**20
_MAX_PACKAGE_BYTES: Final = 64 * 2**20
_REPOSITORY = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+?(?:\.git)?/?")
_Node = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """A function of a file, by lines; decorators count."""

    file: str
    name: str
    first: int
    last: int
    shape: str
    """Its own syntax without comments, docstring and the functions inside of it."""
    parameters: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by."""
        return self.file, self.name


@dataclass(frozen=True)
class SourceFile:
    """A Python file of a wheel."""

    name: str
    data: bytes

    @cached_property
    def blob(self) -> str:
        """Git's id of the file."""
        return object_id("blob", self.data, like="0" * 40)

    @cached_property
    def lines(self) -> list[str]:
        """Its lines; line N is `lines[N - 1]`."""
        return self.data.decode("utf-8", "replace").split("\n")

    @property
    def is_told(self) -> bool:
        """False where rule 2 leaves its functions out."""
        return self._tree is not None

    @cached_property
    def _tree(self) -> ast.Module | None:
        if len(self.data) > MAX_SOURCE_BYTES:
            return None
        try:
            return ast.parse(self.data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """By qualified name; of two with one name, the last."""
        return {found.name: found for found in self._found()}

    @cached_property
    def _owners(self) -> dict[int, Function]:
        owners: dict[int, Function] = {}
        for each in sorted(self.functions.values(), key=lambda each: each.first - each.last):
            owners.update(dict.fromkeys(range(each.first, each.last + 1), each))
        return owners

    def function_at(self, line: int) -> Function | None:
        """The innermost function around a line."""
        return self._owners.get(line)

    def statement_at(self, line: int) -> int:
        """The first line of the innermost statement around a line."""
        return self._statements.get(line, line)

    @cached_property
    def _statements(self) -> dict[int, int]:
        found: dict[int, int] = {}
        spans = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(self._tree or ast.Module([], []))
            if isinstance(node, ast.stmt) and not hasattr(node, "body")
        ]
        for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
            found.update(dict.fromkeys(range(first, last + 1), first))
        return found

    def passed(self, line: int, callee: str, parameter: str) -> int | None:
        """The line on which the call of `callee` in the statement at `line` gives an argument for
        `parameter` by its name; None where there is no such argument."""
        first = self.statement_at(line)
        for node in ast.walk(self._tree or ast.Module([], [])):
            if isinstance(node, ast.Call) and self.statement_at(node.lineno) == first:
                called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
                name = called.id if isinstance(called, ast.Name) else called
                for each in node.keywords:
                    if name == callee and each.arg == parameter:
                        return each.value.lineno
        return None

    def assigned_parameter(self, line: int) -> str | None:
        """The parameter of the function around a line that an assignment there stores as it is."""
        function = self.function_at(line)
        for node in ast.walk(self._tree or ast.Module([], [])):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno == line:
                name = node.value.id if isinstance(node.value, ast.Name) else None
                return name if function is not None and name in function.parameters else None
        return None

    def _found(self) -> Iterator[Function]:
        if self._tree is not None:
            yield from _functions(self.name, self._tree, "")


@dataclass(frozen=True)
class Source:
    """The package of a wheel."""

    target: Target
    files: Mapping[str, SourceFile]
    """Its Python files, by path in the wheel."""
    repository: str | None
    """The GitHub repository that METADATA names."""

    @property
    def base(self) -> str | None:
        """What `/src/agents/F#LN` follows in a link; None for what is no release."""
        if self.repository is None or self.target.origin.kind != "index":
            return None
        return f"{self.repository}/blob/v{self.target.version}"

    def text(self, file: str, line: int) -> str | None:
        """A line, or None where there is no such line."""
        found = self.files.get(file)
        if found is None or not 1 <= line <= len(found.lines):
            return None
        return found.lines[line - 1].removesuffix("\r")

    def function_at(self, file: str, line: int) -> Function | None:
        """The innermost function around a line."""
        found = self.files.get(file)
        return found.function_at(line) if found is not None else None


def read_source(wheel: bytes, target: Target, package: str) -> Source:
    """Read the package out of a wheel that was checked."""
    files: dict[str, SourceFile] = {}
    repository: str | None = None
    left = _MAX_PACKAGE_BYTES
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for info in archive.infolist():
            if info.filename.startswith(f"{package}/") and info.filename.endswith(".py"):
                left -= info.file_size
                if left >= 0:
                    files[info.filename] = SourceFile(info.filename, archive.read(info))
            elif info.filename.endswith(".dist-info/METADATA"):
                repository = _repository(archive.read(info))
    return Source(target, files, repository)


def _repository(metadata: bytes) -> str | None:
    urls = BytesParser().parsebytes(metadata, headersonly=True).get_all("Project-URL") or []
    for each in urls:
        name, _, url = str(each).partition(",")
        if name.strip().lower() in {"repository", "source", "source code", "homepage"} and (
            found := _REPOSITORY.fullmatch(url.strip())
        ):
            return found[0].removesuffix("/").removesuffix(".git")
    return None


def _functions(file: str, scope: ast.AST, prefix: str) -> Iterator[Function]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, _Node):
            name = prefix + node.name
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield Function(
                file,
                name,
                first,
                node.end_lineno or node.lineno,
                _shape(node),
                frozenset(each.arg for each in arguments),
            )
            yield from _functions(file, node, f"{name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from _functions(file, node, f"{prefix}{node.name}.")
        else:
            yield from _functions(file, node, prefix)


def _shape(node: _Node) -> str:
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    parts = [*node.decorator_list, node.args, *([node.returns] if node.returns else []), *body]
    return type(node).__name__ + "".join(_dump(part) for part in parts)


def _dump(node: object) -> str:
    """`ast.dump` without the bodies of functions inside."""
    if isinstance(node, _Node):
        return f"def {node.name}"
    if isinstance(node, ast.AST):
        fields = ",".join(f"{name}={_dump(value)}" for name, value in ast.iter_fields(node))
        return f"{type(node).__name__}({fields})"
    if isinstance(node, list):
        return f"[{','.join(map(_dump, node))}]"
    return repr(node)
