"""A notebook as a script: its code cells in order, as `jupyter nbconvert --to script` writes them.

Rules:
1. The output is nbconvert's, cell by cell: Markdown as comments, `# In[3]:` above code, outputs left out.
2. Where a cell awaits at its top, what stands from there to the cell's end is a coroutine function that is
   run to its end on one event loop of the notebook, and its names stay global, as in a notebook. A statement
   that starts a task needs the running loop too. All else stays as it is, at the top of the script.
3. Lines that make the environment or set up the display (`%pip`, `!pip`, `%matplotlib`, `%autoreload` …)
   become comments, and are told: a recording makes its own environment.
4. Any other line for IPython alone is refused by cell, line and text, before anything is built.
"""

import ast
import json
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..errors import UsageError

SUFFIX: Final = ".ipynb"
_HEAD: Final = "#!/usr/bin/env python\n# coding: utf-8\n\n"
_LOOP: Final = "_notebook_loop"
_IPYTHON: Final = re.compile(r"[%!?]|.*\?\s*$|[\w., ]+=\s*[%!]")
_NEEDLESS: Final = re.compile(
    r"[%!]\s*(?:(?:uv |python3? -m )?pip|conda|mamba|uv)\b"
    r"|%(?:matplotlib|autoreload|config|load_ext\s+autoreload)\b"
)
_TASKS: Final = frozenset({"create_task", "ensure_future", "get_running_loop", "current_task", "TaskGroup"})
_AWAITS: Final = (ast.Await, ast.AsyncFor, ast.AsyncWith)
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class NotebookScript:
    """What a notebook comes to."""

    source: bytes
    left_out: tuple[str, ...]
    """The lines that became comments."""


def script_of(data: bytes, name: str) -> NotebookScript:
    """The script of the notebook `data`; `name` names it in errors.

    Raises:
        UsageError: it is no notebook in Python (nbformat 4), or a cell cannot run as plain Python.
    """
    cells = _cells(data, name)
    left_out: list[str] = []
    code = [
        _plain(_text(cell), f"{name}, code cell {number}", left_out)
        for number, cell in enumerate(filter(_is_code, cells), start=1)
    ]
    sources, needs_loop = iter(code), any(map(_awaits, code))
    parts, number = [_HEAD], 0
    if needs_loop:
        parts.append(
            f"import asyncio as _notebook_asyncio\n\n{_LOOP} = _notebook_asyncio.new_event_loop()\n"
            f"_notebook_asyncio.set_event_loop({_LOOP})\n\n"
        )
    for cell in cells:
        if _is_code(cell):
            number += 1
            source = next(sources)
            source = _run_to_end(source, f"_notebook_cell_{number}") if needs_loop else source
            parts.append(f"# In[{cell.get('execution_count') or ' '}]:\n\n\n{source}\n\n\n")
        elif cell.get("cell_type") == "markdown":
            lines = _text(cell).split("\n")
            parts.append("\n".join(f"# {line}" if line else "# " for line in lines) + "\n\n")
    return NotebookScript(("".join(parts).rstrip("\n") + "\n").encode(), tuple(left_out))


def _cells(data: bytes, name: str) -> list[dict[str, Any]]:  # Any: JSON
    try:
        document = json.loads(data)
        cells, metadata = document["cells"], document.get("metadata", {})
        spec, info = metadata.get("kernelspec", {}), metadata.get("language_info", {})
        language = str(spec.get("language") or info.get("name") or "python")
        texts = [_text(cell) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{name} is no notebook of nbformat 4", hint="`jupyter nbconvert --to notebook` writes one"
        ) from error
    if language.lower() not in ("python", "ipython"):
        raise UsageError(f"{name} is a notebook in {language}", hint="reproductions are in Python")
    if not any(_is_code(cell) for cell in cells) or not any(texts):
        raise UsageError(f"{name} has no code cell", hint="write the reproduction into a code cell")
    return list(cells)


def _is_code(cell: dict[str, Any]) -> bool:  # Any: JSON
    return cell.get("cell_type") == "code"


def _text(cell: dict[str, Any]) -> str:  # Any: JSON
    source = cell["source"]
    return (source if isinstance(source, str) else "".join(source)).replace("\r\n", "\n")


def _plain(source: str, where: str, left_out: list[str]) -> str:
    """The cell as Python, without the lines that are not needed here."""
    lines = source.split("\n")
    for _ in range(len(lines) + 1):
        text = "\n".join(lines)
        try:
            compile(text, where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            number = _told_apart(lines, (error.lineno or 1) - 1)
            if number is None:
                raise UsageError(
                    f"{where}, line {error.lineno}: {error.msg}",
                    hint="the cell does not compile; nothing was recorded",
                ) from error
            line = lines[number].strip()
            if not _NEEDLESS.match(line):
                raise UsageError(
                    f"{where}, line {number + 1}: `{line[:200]}` is for IPython and cannot run in a script",
                    hint="write it in Python, or leave it out of the notebook",
                ) from error
            left_out.append(line)
            indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
            lines[number] = f"{indent}pass  # {line}" if indent else f"# {line}"
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error
        else:
            return text
    return source


def _told_apart(lines: list[str], number: int) -> int | None:
    """Which line is IPython's, where the compiler stumbles at `number`: that one, or one shortly before."""
    if lines and lines[0].lstrip().startswith("%%"):
        return 0
    for each in (number, number - 1):
        if 0 <= each < len(lines) and _IPYTHON.match(lines[each].strip()):
            return each
    return None


def _parsed(source: str) -> ast.Module:
    tree: ast.Module = compile(
        source, "<cell>", "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    return tree


def _awaits(source: str) -> bool:
    return any(isinstance(node, _AWAITS) or _is_async(node) for node in _own(_parsed(source)))


def _is_async(node: ast.AST) -> bool:
    return isinstance(node, ast.comprehension) and bool(node.is_async)


def _own(top: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run in the scope of `top` itself."""
    for node in ast.iter_child_nodes(top):
        yield node
        if not isinstance(node, _SCOPES):
            yield from _own(node)


def _needs_loop(statement: ast.stmt) -> bool:
    if isinstance(statement, _SCOPES):
        return False
    return any(
        isinstance(node, _AWAITS)
        or _is_async(node)
        or (isinstance(node, ast.Attribute) and node.attr in _TASKS)
        or (isinstance(node, ast.Name) and node.id in _TASKS)
        for node in (statement, *_own(statement))
    )


def _run_to_end(source: str, name: str) -> str:
    """The cell, with what needs the running loop, and all that comes after it, as a coroutine that is run."""
    statements = _parsed(source).body
    first = next((place for place, each in enumerate(statements) if _needs_loop(each)), None)
    if first is None:
        return source
    held = statements[first:]
    start = held[0].lineno - 1
    lines = source.split("\n")
    if first and (statements[first - 1].end_lineno or 0) > start:  # `a = 1; await b` on one line
        held, start = statements, statements[0].lineno - 1
    lines = _without_annotations(lines, held)
    # What a string holds is not to be indented with the code.
    inside = {
        number
        for each in held
        for node in ast.walk(each)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
        for number in range(node.lineno, node.end_lineno or node.lineno)
    }
    body = [
        line if number in inside or not line.strip() else f"    {line}"
        for number, line in enumerate(lines)
        if number >= start
    ]
    names = _bound(body, name)
    told = [f"    global {', '.join(names)}"] if names else []
    return "\n".join(
        [
            *lines[:start],
            f"async def {name}():",
            *told,
            *body,
            "",
            "",
            f"{_LOOP}.run_until_complete({name}())",
        ]
    )


def _without_annotations(lines: list[str], held: list[ast.stmt]) -> list[str]:
    """Without those of global names, which a function may not have; last first, since columns move."""
    changed = list(lines)
    found = [
        node
        for each in held
        for node in (each, *_own(each))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    for node in sorted(found, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        end = node.annotation
        first, last = node.lineno - 1, (end.end_lineno or end.lineno) - 1
        head = changed[first].encode()[: node.target.end_col_offset].decode()
        tail = changed[last].encode()[end.end_col_offset or 0 :].decode()
        if node.value is None:
            head, tail = changed[first].encode()[: node.col_offset].decode(), f"pass{tail}"
        changed[first : last + 1] = [head + tail, *("" for _ in range(last - first))]
    return changed


def _bound(body: list[str], name: str) -> list[str]:
    """The names that the body gives something to."""
    table = symtable.symtable("\n".join([f"async def {name}():", *body]), "<cell>", "exec")
    (function,) = table.get_children()
    return sorted(
        symbol.get_name()
        for symbol in function.get_symbols()
        if (symbol.is_local() or symbol.is_imported()) and not symbol.is_declared_global()
    )
