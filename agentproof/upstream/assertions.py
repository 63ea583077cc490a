"""From violated claims to assertions that a test can make of them, in the SDK's own terms.

Rules:
1. A candidate says what should have been so. One that follows from its claim alone needs no other release;
   one that takes what a repaired release printed for what should be so needs that release.
2. Every candidate is tried: what does not fail where the bug is, or fails where it is not, is dropped by the
   run, so that several may be proposed for one claim, the plainest first.
3. What a candidate quotes is a literal, or an expression of the script's own.
"""

import ast
import builtins
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import libcst as cst

from ..claims.authored import last_output, printed, probe_check, raised, tool_ran
from ..claims.rules import (
    approval_respected,
    disabled_never_runs,
    error_has_origin,
    guardrails_reported,
    script_completed,
    state_integrity,
)
from ..models.events import RunEnded, RunRefused, ScriptEnded, TestEnded, ToolStarted
from ..models.manifest import ClaimResult, Finding
from ..models.trace import Trace
from .program import Edits, Program, Statement, blocks, bound_in, code_of, fresh, nodes, reads
from .scripted import literal

ASSERTION: Final = "builtins:AssertionError"
_OUTCOME: Final = "builtins:Failed"
"""pytest's own, where something should have been raised."""
_NOT_RAISED: Final = frozenset({_OUTCOME, "_pytest.outcomes:Failed"})
_MAX_OUTPUT: Final = 1000
"""A longer output is not asserted as a whole."""
_DECIDES: Final = (".approve", ".reject")
_MAKES: Final = (".to_state", ".from_json", ".from_string")


SAID_BY_THE_CLAIM: Final = frozenset(
    {
        script_completed.NAME,
        probe_check.NAME,
        error_has_origin.NAME,
        raised.NAME,
        approval_respected.NAME,
        disabled_never_runs.NAME,
        tool_ran.NAME,
        last_output.NAME,
        printed.NAME,
        state_integrity.NAME,
        guardrails_reported.NAME,
    }
)
"""The kinds of claims of which assertions follow; of others a test asserts what the script prints."""


@dataclass(frozen=True)
class Candidate:
    """An assertion, as edits of the program, and how a test with it fails where the bug is."""

    claim: str
    edits: Edits
    follows: bool = True
    """By rule 1: it follows from the claim alone."""
    errors: frozenset[str] = frozenset({ASSERTION})
    """`module:Class` of what ends the test."""
    printed: bool = False
    """It is about what is printed, so that prints stay."""


@dataclass(frozen=True)
class Printed:
    """What the script printed here, and on the release where it is repaired."""

    here: str
    repaired: str | None


@dataclass(frozen=True)
class _Site:
    """A print that happens once, and what it printed on both releases."""

    statement: cst.SimpleStatementLine
    expression: cst.BaseExpression
    here: Any  # Any: JSON, or a text
    repaired: Any
    is_json: bool
    lead: str = ""


@dataclass
class Proposer:
    """Proposes candidates for claims of one recording."""

    program: Program
    trace: Trace
    printed: Printed
    still: frozenset[str] = frozenset()
    """Claims that are violated where it is repaired, too: of them nothing follows from what is printed."""
    _sites: list[_Site] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._sites = list(_sites(self.program, self.printed))

    def of(self, claim: ClaimResult) -> Iterator[Candidate]:
        """What a test could assert for a violated claim, the plainest first; nothing where that shows in the
        other mode alone."""
        if claim.mode not in (self.trace.mode, "both"):
            return
        for edits, errors in self._own(claim):
            yield Candidate(claim.id, edits, errors=errors or frozenset({ASSERTION}))
        if claim.kind == printed.NAME:
            yield from self._expected_print(claim)
        if claim.id in self.still:
            return
        for edits in self._raised_as_repaired():
            yield Candidate(claim.id, edits, follows=False, errors=_NOT_RAISED)
        for edits in self._as_repaired():
            yield Candidate(claim.id, edits, follows=False)
        for edits in self._whole_output():
            yield Candidate(claim.id, edits, follows=False, printed=True)

    def _own(self, claim: ClaimResult) -> Iterator[tuple[Edits, frozenset[str] | None]]:
        findings = claim.because
        match claim.kind:
            case script_completed.NAME | probe_check.NAME:
                yield Edits(), None
            case error_has_origin.NAME:
                yield Edits(), frozenset(self._errors())
            case raised.NAME:
                yield from self._raising(claim)
            case approval_respected.NAME | disabled_never_runs.NAME:
                yield from ((edits, None) for edits in self._tools(findings))
                yield from ((edits, None) for edits in self._asked_again(findings))
            case tool_ran.NAME:
                yield from ((edits, None) for edits in self._counted(claim))
            case last_output.NAME:
                yield from ((edits, None) for edits in self._output(claim))
            case state_integrity.NAME:
                yield from ((edits, None) for edits in self._unchanged(findings))
            case guardrails_reported.NAME:
                yield from ((edits, None) for edits in self._reported(findings))

    # What was raised

    def _errors(self) -> set[str]:
        ends = (ScriptEnded, RunEnded, RunRefused, TestEnded)
        found = (event.error for event in self.trace.events if isinstance(event, ends))
        return {error.type for error in found if error is not None}

    def _raising(self, claim: ClaimResult) -> Iterator[tuple[Edits, frozenset[str] | None]]:
        arguments = claim.arguments if isinstance(claim.arguments, dict) else {}
        name = arguments.get("error")
        if name is None:  # nothing should be raised
            yield Edits(), frozenset(self._errors())
            return
        place = _class_named(str(name), self.program)
        if place is not None:
            imports, expression = place
            edits = Edits(decorated=f"with pytest.raises({expression})", imports=imports)
            yield edits, _NOT_RAISED

    # What ran

    def _tools(self, findings: Sequence[Finding]) -> Iterator[Edits]:
        """The tools that ran, in their order, without what should not have run."""
        wrong = {
            reference.seq
            for finding in findings
            if finding.code in ("ran_without_approval", "ran_although_rejected", "ran_while_disabled")
            for reference in finding.events
        }
        missing = [each.tool for each in findings if each.code in ("approved_but_not_run", "asked_again")]
        tools = {each.tool for each in findings if each.tool is not None}
        name = fresh("tool_runs", self.program)
        noted = _noted(self.program, tools, name)
        if noted is None:
            return
        starts = [
            event for event in self.trace.events if isinstance(event, ToolStarted) and event.tool in tools
        ]
        right = [event.tool for event in starts if event.seq not in wrong]
        if missing:
            lines = [
                f"assert {name}.count({tool!a}) == {right.count(tool) + missing.count(tool)}"
                for tool in dict.fromkeys(missing)
                if tool is not None
            ]
            yield noted.joined(Edits(end=lines))
        elif len(right) < len(starts):
            yield noted.joined(Edits(end=[f"assert {name} == {literal(list(right))}"]))

    def _counted(self, claim: ClaimResult) -> Iterator[Edits]:
        arguments = claim.arguments if isinstance(claim.arguments, dict) else {}
        tool, times = arguments.get("tool"), arguments.get("times")
        if not isinstance(tool, str):
            return
        name = fresh("tool_runs", self.program)
        noted = _noted(self.program, {tool}, name)
        if noted is not None:
            wanted = f"assert {tool!a} in {name}"
            if isinstance(times, int):
                wanted = (
                    f"assert {name}.count({tool!a}) == {times}" if times else f"assert {tool!a} not in {name}"
                )
            yield noted.joined(Edits(end=[wanted]))

    def _asked_again(self, findings: Sequence[Finding]) -> Iterator[Edits]:
        if not any(each.code == "asked_again" for each in findings):
            return
        for function, statements in blocks(self.program):
            states = _states(function, statements)
            for statement in _lines(statements):
                name = _single_target(statement)
                if name is None:
                    continue
                calls = [node for node in nodes(statement) if isinstance(node, cst.Call)]
                if any(reads(arg) & states for call in calls for arg in call.args) and not _made(statement):
                    yield Edits(after={statement: [f"assert {name}.interruptions == []"]})

    # What states say

    def _unchanged(self, findings: Sequence[Finding]) -> Iterator[Edits]:
        """A state's JSON, before and after what was done to another one."""
        pointers = list(dict.fromkeys(each.pointer for each in findings if each.pointer))
        paths = list(dict.fromkeys((*map(_path_above, pointers), "")))
        kept = fresh("before", self.program)
        for path in paths:
            for function, statements in blocks(self.program):
                states = _states(function, statements)
                for place, statement in enumerate(statements):
                    if not _acts(statement):
                        continue
                    known = {name for name in states if name in bound_in(statements[:place])}
                    for name in sorted(known - reads(statement)):
                        yield Edits(
                            before={statement: [f"{kept} = {name}.to_json(){path}"]},
                            after={statement: [f"assert {name}.to_json(){path} == {kept}"]},
                        )

    # What results list

    def _reported(self, findings: Sequence[Finding]) -> Iterator[Edits]:
        for finding in findings:
            found = re.fullmatch(
                r"(tool input|tool output|input|output) guardrail .*", finding.subject or "", re.S
            )
            if found is None or finding.code != "not_listed":
                continue
            attribute = f"{found[1].replace(' ', '_')}_guardrail_results"
            for _, statements in blocks(self.program):
                # A streamed result is filled until its stream has ended: what follows it last says so.
                for statement in _lines(statements):
                    name = _single_target(statement)
                    if name is None or not any(_starts_run(node) for node in nodes(statement)):
                        continue
                    last = _stream_end(statements, statement, name)
                    times = finding.before if isinstance(finding.before, int) else 1
                    yield Edits(after={last: [f"assert len({name}.{attribute}) == {times}"]})

    def _output(self, claim: ClaimResult) -> Iterator[Edits]:
        arguments = claim.arguments if isinstance(claim.arguments, dict) else {}
        text = arguments.get("text")
        for statement in reversed(list(_lines(self.program.body))):
            name = _single_target(statement)
            if name is not None and any(_starts_run(node) for node in nodes(statement)):
                last = _stream_end(self.program.body, statement, name)
                yield Edits(after={last: [f"assert {literal(text)} in str({name}.final_output)"]})

    # What was printed

    def _expected_print(self, claim: ClaimResult) -> Iterator[Candidate]:
        arguments = claim.arguments if isinstance(claim.arguments, dict) else {}
        text, never = str(arguments.get("text", "")), arguments.get("never") is True
        operator = "!=" if never else "=="
        for site in self._sites:
            for found in _in_print(site, text, operator):
                yield Candidate(claim.id, found)
        inside = "not in" if never else "in"
        yield Candidate(
            claim.id,
            Edits(end=[f"assert {literal(text)} {inside} capsys.readouterr().out"], fixtures=["capsys"]),
            printed=True,
        )

    def _as_repaired(self) -> Iterator[Edits]:
        """What the repaired release prints, where this one prints something else."""
        if self.printed.repaired is None:
            return
        together = Edits()
        for site in self._sites:
            if site.here != site.repaired:
                together = together.joined(next(_in_site(site), Edits()))
        if together.instead:
            yield together
        for site in self._sites:
            if site.here != site.repaired:
                yield from _in_site(site)

    def _raised_as_repaired(self) -> Iterator[Edits]:
        """What the repaired release raises, where the script catches it and prints its class."""
        here, there = self.printed.here.splitlines(), (self.printed.repaired or "").splitlines()
        told = [line for line in there if line not in here]
        for _, statements in blocks(self.program):
            for place, statement in enumerate(statements):
                handler = _catching(statement)
                if handler is None or not isinstance(statement, cst.Try):
                    continue
                for name in dict.fromkeys(_classes_told(handler, told)):
                    found = _class_named(name, self.program)
                    if found is None:
                        continue
                    imports, expression = found
                    # What follows a handler that returns was not reached there.
                    left = isinstance(_last_small(handler), cst.Return)
                    rest: set[cst.CSTNode] = {*statements[place + 1 :]} if left else set()
                    lines = [f"with pytest.raises({expression}):", *_unassigned(statement.body.body, rest)]
                    yield Edits(instead={statement: ["\n".join(lines)]}, removed=rest, imports=imports)

    def _whole_output(self) -> Iterator[Edits]:
        """All that the repaired release prints, where no single print says it."""
        text = self.printed.repaired
        if text is None or text == self.printed.here or any(s.here != s.repaired for s in self._sites):
            return
        value = _json(text)
        if len(text) > _MAX_OUTPUT or not text.strip():
            return
        if isinstance(value, dict | list):
            line = f"assert json.loads(capsys.readouterr().out) == {literal(value)}"
            yield Edits(end=[line], imports=["import json"], fixtures=["capsys"])
        else:
            yield Edits(
                end=[f"assert capsys.readouterr().out.splitlines() == {literal(text.splitlines())}"],
                fixtures=["capsys"],
            )


def _catching(statement: cst.CSTNode) -> cst.ExceptHandler | None:
    """The handler of a `try` that has one alone."""
    if not isinstance(statement, cst.Try) or len(statement.handlers) != 1 or statement.finalbody is not None:
        return None
    handler = statement.handlers[0]
    named = handler.name is not None and isinstance(handler.name.name, cst.Name)
    return handler if named and isinstance(handler.body, cst.IndentedBlock) else None


def _classes_told(handler: cst.ExceptHandler, lines: Sequence[str]) -> Iterator[str]:
    """The classes that a handler's prints named in these lines."""
    if handler.name is None:
        return
    wanted = f"type({code_of(handler.name.name)}).__name__"
    for _, call in _prints(handler.body.body):
        read = _reader(call)
        if read is None:
            continue
        expression, is_json, lead = read
        entries = _entries(expression) if isinstance(expression, cst.Dict) else None
        for line in lines:
            told = line.removeprefix(lead)
            value: Any = _json(told) if is_json else told  # Any: JSON or a text
            if entries is not None and isinstance(value, dict) and value.keys() == entries.keys():
                yield from (str(value[key]) for key, each in entries.items() if code_of(each) == wanted)
            elif code_of(expression) == wanted and isinstance(value, str):
                yield value


def _last_small(handler: cst.ExceptHandler) -> cst.CSTNode | None:
    last = handler.body.body[-1]
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None


def _unassigned(statements: Sequence[cst.CSTNode], gone: Iterable[cst.CSTNode]) -> list[str]:
    """The lines of statements, indented; what is assigned for those that are gone is not assigned."""
    lines: list[str] = []
    read = {name for each in gone for name in reads(each)}
    for place, each in enumerate(statements):
        code = code_of(each)
        name = _single_target(each) if isinstance(each, cst.SimpleStatementLine) else None
        if name in read and not any(name in reads(other) for other in statements[place + 1 :]):
            small = each.body[0] if isinstance(each, cst.SimpleStatementLine) else None
            code = code_of(small.value) if isinstance(small, cst.Assign) else code
        lines += [f"    {line}" for line in code.strip("\n").splitlines()]
    return lines


def _in_site(site: _Site) -> Iterator[Edits]:
    """What a print shows, as assertions in its place."""
    if site.is_json and isinstance(site.expression, cst.Dict) and isinstance(site.repaired, dict):
        parts = _entries(site.expression)
        here = site.here if isinstance(site.here, dict) else {}
        if parts is not None and parts.keys() == site.repaired.keys():
            wanted = {key: value for key, value in site.repaired.items() if here.get(key, here) != value}
            yield Edits(instead={site.statement: _asserted(parts, wanted, "==", here=here)})
    elif site.is_json and (found := _narrowed(site.expression, site.here, site.repaired)) is not None:
        yield Edits(instead={site.statement: [_compared(found[0], "==", found[1])]})
    for value in _readings(site):
        yield Edits(instead={site.statement: [_compared(site.expression, "==", value)]})


def _in_print(site: _Site, text: str, operator: str) -> Iterator[Edits]:
    """What should be printed, as an assertion on what is."""
    if site.is_json and isinstance(site.expression, cst.Dict):
        parts = _entries(site.expression)
        whole = _json(text)
        wanted = whole if isinstance(whole, dict) else _json(f"{{{text}}}")
        if parts is not None and isinstance(wanted, dict) and wanted.keys() <= parts.keys():
            yield Edits(instead={site.statement: _asserted(parts, wanted, operator)})
    if site.is_json:
        wanted = _json(text)
        if wanted is not None:
            yield Edits(instead={site.statement: [_compared(site.expression, operator, wanted)]})
        return
    if site.lead and text.startswith(site.lead):
        told = text[len(site.lead) :]
        for value in _values(told):
            yield Edits(instead={site.statement: [_compared(site.expression, operator, value)]})


def _asserted(
    parts: dict[str, cst.BaseExpression],
    wanted: dict[str, Any],  # Any: plain data
    operator: str,
    *,
    here: Mapping[str, Any] = MappingProxyType({}),  # Any: plain data
) -> list[str]:
    """Assertions on some values of a dictionary; what others do before the last of these still happens."""
    lines: list[str] = []
    last = max((number for number, key in enumerate(parts) if key in wanted), default=-1)
    for number, (key, value) in enumerate(parts.items()):
        if key in wanted:
            part = _narrowed(value, here.get(key), wanted[key]) or (value, wanted[key])
            lines.append(_compared(part[0], operator, part[1]))
        elif number < last and any(isinstance(node, cst.Await) for node in nodes(value)):
            lines.append(code_of(value))
    return lines


def _narrowed(
    expression: cst.BaseExpression,
    here: Any,  # Any: plain data
    repaired: Any,  # Any: plain data
) -> tuple[cst.BaseExpression, Any] | None:  # Any: plain data
    """The one entry in which two dictionaries differ, as an expression, and what it should be."""
    found: cst.BaseExpression | None = None
    while isinstance(here, dict) and isinstance(repaired, dict) and here.keys() == repaired.keys():
        differ = [key for key in here if here[key] != repaired[key]]
        if len(differ) != 1:
            break
        (key,) = differ
        plain = isinstance(expression, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
        code = code_of(expression)
        expression = found = cst.parse_expression(f"{code if plain else f'({code})'}[{literal(key)}]")
        here, repaired = here[key], repaired[key]
    return None if found is None else (found, repaired)


def _compared(
    expression: cst.BaseExpression,
    operator: str,
    value: Any,  # Any: plain data
) -> str:
    """What is one of a kind is compared as linters want it."""
    if value is None or isinstance(value, bool):
        operator = {"==": "is", "!=": "is not"}.get(operator, operator)
    return f"assert {_bare(expression)} {operator} {literal(value)}"


def _bare(expression: cst.BaseExpression) -> str:
    code = code_of(expression)
    compared = (
        cst.Comparison,
        cst.BooleanOperation,
        cst.IfExp,
        cst.Lambda,
        cst.NamedExpr,
        cst.UnaryOperation,
    )
    return f"({code})" if isinstance(expression, compared) or "\n" in code else code


def _readings(site: _Site) -> Iterator[Any]:  # Any: plain data
    if site.is_json:
        yield site.repaired
    else:
        yield from _values(site.repaired)


def _values(text: str) -> Iterator[Any]:  # Any: plain data
    """What a printed text may be: the value that it spells, or itself."""
    try:
        value = ast.literal_eval(text)
        literal(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    else:
        if not isinstance(value, tuple):
            yield value
        else:
            yield list(value)
    yield text


def _json(text: str) -> Any:  # Any: JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _entries(expression: cst.Dict) -> dict[str, cst.BaseExpression] | None:
    found: dict[str, cst.BaseExpression] = {}
    for each in expression.elements:
        if not isinstance(each, cst.DictElement) or not isinstance(each.key, cst.SimpleString):
            return None
        key = each.key.evaluated_value
        if not isinstance(key, str):
            return None
        found[key] = each.value
    return found


def _sites(program: Program, told: Printed) -> Iterator[_Site]:
    """The prints of the test's own statements, each with its line; what functions and loops print is passed
    over, for it may be printed any number of times."""
    here = told.here.splitlines()
    there = told.repaired.splitlines() if told.repaired is not None else here
    at, at_there = 0, 0
    for statement, call in _prints(program.body):
        read = _reader(call)
        if read is None:
            continue
        mine, at = _next(here, at, read)
        others, at_there = _next(there, at_there, read)
        if mine is None or others is None:
            continue
        expression, is_json, lead = read
        yield _Site(statement, expression, mine[0], others[0], is_json, lead)


def _prints(statements: Iterable[cst.CSTNode]) -> Iterator[tuple[cst.SimpleStatementLine, cst.Call]]:
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
            small = statement.body[0]
            call = small.value if isinstance(small, cst.Expr) else None
            if isinstance(call, cst.Call) and code_of(call.func) == "print":
                yield statement, call
        elif isinstance(statement, cst.With | cst.Try | cst.If):
            yield from _prints(statement.body.body)


_Reader = tuple[cst.BaseExpression, bool, str]


def _reader(call: cst.Call) -> _Reader | None:
    """What a print shows: an expression, whether as JSON, and the text before it."""
    if not call.args or any(each.keyword is not None or each.star for each in call.args):
        return None
    *first, last = [each.value for each in call.args]
    lead = ""
    for each in first:
        if not isinstance(each, cst.SimpleString | cst.ConcatenatedString):
            return None
        text = each.evaluated_value
        if not isinstance(text, str):
            return None
        lead += f"{text} "
    if isinstance(last, cst.Call) and code_of(last.func) == "json.dumps" and last.args:
        return last.args[0].value, True, lead
    if isinstance(last, cst.SimpleString):
        return None
    return last, False, lead


def _next(
    lines: Sequence[str], at: int, read: _Reader
) -> tuple[tuple[Any] | None, int]:  # Any: JSON or a text
    _, is_json, lead = read
    for place in range(at, len(lines)):
        if not lines[place].startswith(lead):
            continue
        told = lines[place][len(lead) :]
        if not is_json:
            return (told,), place + 1
        try:
            return (json.loads(told),), place + 1
        except ValueError:
            continue
    return None, at


def _noted(program: Program, tools: set[str], name: str) -> Edits | None:
    """A list of the tools that ran, noted in their functions; None where one of them is no function here."""
    edits = Edits(top=[f"{name}: list[str] = []"], begin=[f"{name}.clear()"])
    found: set[str] = set()
    for function in program.functions():
        tool = _tool_name(function)
        if tool not in tools or not isinstance(function.body, cst.IndentedBlock):
            continue
        found.add(tool)
        first = function.body.body[0]
        is_text = isinstance(first, cst.SimpleStatementLine) and function.get_docstring() is not None
        line = [f"{name}.append({tool!a})"]
        if is_text:
            edits.after[first] = line
        else:
            edits.before[first] = line
    return edits if found == tools else None


def _tool_name(function: cst.FunctionDef) -> str | None:
    for each in function.decorators:
        decorator = each.decorator
        call = decorator if isinstance(decorator, cst.Call) else None
        name = code_of(call.func if call is not None else decorator)
        if name.rpartition(".")[2] != "function_tool":
            continue
        for argument in call.args if call is not None else ():
            if argument.keyword is not None and argument.keyword.value == "name_override":
                value = argument.value
                return str(value.evaluated_value) if isinstance(value, cst.SimpleString) else None
        return function.name.value
    return None


def _lines(statements: Iterable[cst.CSTNode]) -> Iterator[cst.SimpleStatementLine]:
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine):
            yield statement
        elif isinstance(statement, cst.With | cst.Try | cst.If | cst.Else | cst.For):
            yield from _lines(statement.body.body)
            orelse = getattr(statement, "orelse", None)
            if orelse is not None:
                yield from _lines([orelse])


def _single_target(statement: cst.SimpleStatementLine) -> str | None:
    small = statement.body[0]
    if len(statement.body) == 1 and isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
        return target.value if isinstance(target, cst.Name) else None
    return None


def _states(function: cst.FunctionDef | None, statements: Sequence[Statement]) -> set[str]:
    """The names that hold states in a block."""
    return {name for line in _lines(statements) if _made(line) for name in bound_in([line])}


def _made(statement: cst.CSTNode) -> bool:
    return any(
        isinstance(node, cst.Call) and code_of(node.func).endswith(_MAKES) for node in nodes(statement)
    )


def _acts(statement: cst.CSTNode) -> bool:
    """Whether it decides, makes a state or runs an agent."""
    return any(
        isinstance(node, cst.Call)
        and (_starts_run(node) or code_of(node.func).endswith((*_DECIDES, *_MAKES)))
        for node in nodes(statement)
    )


def _starts_run(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and code_of(node.func) in (
        "Runner.run",
        "Runner.run_sync",
        "Runner.run_streamed",
    )


def _stream_end(statements: Sequence[Statement], begun: cst.CSTNode, name: str) -> cst.CSTNode:
    """The statement after which a result is whole: the loop over its stream, where there is one."""
    for statement in statements:
        for node in nodes(statement):
            if isinstance(node, cst.For) and f"{name}.stream_events" in code_of(node.iter):
                return node
    return begun


def _path_above(pointer: str) -> str:
    """A pointer's parent as subscripts of `to_json()`."""
    tokens = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:-1]]
    return "".join(
        f"[{int(each)}]" if each.isascii() and each.isdigit() else f"[{each!a}]" for each in tokens
    )


def _class_named(name: str, program: Program) -> tuple[list[str], str] | None:
    """An exception's class as an expression, with the import that it needs."""
    plain = name.replace(":", ".")
    if not all(part.isidentifier() for part in plain.split(".")):
        return None
    module, _, last = plain.rpartition(".")
    if last in reads(program.module) | bound_in(program.definitions):
        return [], last
    if hasattr(builtins, last):
        return [], last
    if module and module != "builtins":
        return [f"from {module} import {last}"], last
    return [f"from agents import {last}"], last


__all__ = ["ASSERTION", "SAID_BY_THE_CLAIM", "Candidate", "Printed", "Proposer"]
