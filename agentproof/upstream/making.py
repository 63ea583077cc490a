"""Make the test of a bundle, and run it before anybody gets it.

1. The script is taken apart (`program`), and for each violated claim assertions are proposed (`assertions`).
2. Each proposal is a test of its own, run by pytest in the environment of the bundle and held in as a
   recording is: kept is what fails there by its assertion, and passes where it is said to be repaired.
3. What is kept becomes one test; where the script's model only plays answers back, it is exchanged for a
   shorter one. That very text is run again on both, and is what is written.
4. Nothing is written that does not fail where the bug is.
5. What is printed otherwise on the repaired release says nothing of a claim that is still violated there.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

import libcst as cst

from ..bundle.store import Bundle
from ..check.bundle import CheckedBundle
from ..claims import EXPECTED, INVARIANTS, wanted
from ..environment import wheel_store
from ..environment.locking import Lock
from ..errors import AgentproofError, CannotDoError, UsageError
from ..models.events import ModelAnswered, ScriptWrote
from ..models.items import fields_of
from ..models.manifest import ClaimResult, Manifest, name_of_build
from ..models.trace import Trace
from ..models.values import text_of
from ..record.conditions import Conditions
from ..record.progress import Progress
from ..record.recording import locked
from ..record.replay import lock_of, sound
from ..record.reproduction import Reproduction
from ..record.target import Target
from ..record.trials import trials
from ..render.scripted import answers_of, scripted
from . import bench as benches
from .assertions import Candidate, Printed, Proposer
from .bench import PYTEST, Bench, Ended
from .formatting import formatted
from .program import (
    Edits,
    Program,
    Statement,
    children,
    code_of,
    fresh,
    is_harmless,
    nodes,
    reads,
    statements_in,
    take_apart,
    written,
)
from .scripted import exchanged, has_scripted_model

_MOST: Final = 48
"""Proposals that are tried."""
_MOST_OF_ONE: Final = 12
_AT_ONCE: Final = 3
_OURS: Final = re.compile("agentproof", re.I)


@dataclass(frozen=True)
class MadeTest:
    """A test that was run."""

    name: str
    """Its file's."""
    source: str
    failed: Ended
    """How it ended on the bundle's release."""
    base: str
    repaired: str | None
    """The release on which it passed."""
    asserted: tuple[str, ...]
    """The claims that it asserts."""
    left_out: tuple[str, ...]
    """Violated claims for which nothing could be asserted."""


def make_test(
    checked: CheckedBundle, repaired: Target | None, *, conditions: Conditions, progress: Progress
) -> MadeTest:
    """The test for what a bundle shows.

    Raises:
        BundleError: it is not sound.
        UsageError: it shows nothing, or an option makes no sense.
        CannotDoError: no assertion can be made of it, or an environment cannot be had.
    """
    _, bundle, recorded, judged = sound(checked)
    claims = _violated(judged.claims)
    if not claims:
        raise UsageError(
            f"{checked.report.bundle}: nothing is violated, so there is nothing to test",
            hint="`agentproof show` says what it holds",
        )
    reproduction, lock = lock_of(bundle, recorded, conditions=conditions, progress=progress, also=PYTEST)
    if reproduction.arguments:
        raise CannotDoError("the script takes arguments, which a test has none of", hint="record it without")
    if not reproduction.tests and starts_itself(reproduction.files[reproduction.entry]):
        raise CannotDoError(
            "the script starts itself again by its file's name, which a test cannot",
            hint="let one process do it, or put what the other one does into a file beside the script",
        )
    wheel = wheel_store.default_store().read(lock.target.sha256)
    with ExitStack() as stack:
        here = stack.enter_context(benches.opened(lock, conditions, progress))
        progress.done(
            "built", f"{lock.target.name} {name_of_build(lock.target)}, with {' and '.join(PYTEST)}"
        )
        there: Bench | None = None
        still: frozenset[str] = frozenset()
        if repaired is not None:
            same = replace(conditions, python=str(lock.python.path))
            other = locked(reproduction.requiring(PYTEST), repaired, same, progress)
            there = stack.enter_context(benches.opened(other, conditions, progress))
            if len(claims) > 1 and reproduction.exchanges is None and not reproduction.tests:
                still = _still_violated(reproduction.requiring(PYTEST), other, claims, conditions, progress)
        maker = _Maker(bundle, recorded, reproduction, claims, wheel, here, there, progress, still)
        return maker.made()


def starts_itself(source: bytes) -> bool:
    """Whether a script runs Python with its own file; what is not understood is refused later."""
    try:
        module = cst.parse_module(source)
    except (cst.ParserSyntaxError, UnicodeDecodeError, RecursionError):
        return False
    attributes = (code_of(node) for node in nodes(module) if isinstance(node, cst.Attribute))
    return "__file__" in reads(module) and "sys.executable" in attributes


def _still_violated(
    reproduction: Reproduction,
    lock: Lock,
    claims: Sequence[ClaimResult],
    conditions: Conditions,
    progress: Progress,
) -> frozenset[str]:
    """The claims that are violated there, too, in the same mode; none where all are, or nobody knows."""
    progress.working("recording the script on the other release")
    try:
        with trials(lock, conditions, progress) as tried:
            seen = tried.record(reproduction)
    except AgentproofError:
        return frozenset()
    judged = seen.document.judgement.claims
    there = {(each.id, each.mode) for each in judged if each.status == "violated"}
    still = frozenset(claim.id for claim in claims if (claim.id, claim.mode) in there)
    return still if len(still) < len(claims) else frozenset()


def _violated(claims: Sequence[ClaimResult]) -> list[ClaimResult]:
    """The violated claims, each once: as written where it is violated there."""
    found: dict[str, ClaimResult] = {}
    for claim in claims:
        if claim.status == "violated" and (claim.id not in found or found[claim.id].mode == "streamed"):
            found[claim.id] = claim
    return list(found.values())


@dataclass(frozen=True)
class _Maker:
    bundle: Bundle
    recorded: Manifest
    reproduction: Reproduction
    claims: Sequence[ClaimResult]
    wheel: bytes
    here: Bench
    there: Bench | None
    progress: Progress
    still: frozenset[str] = frozenset()
    """The claims that are violated where it is repaired, too."""

    def made(self) -> MadeTest:
        source = self.reproduction.files[self.reproduction.entry]
        if self.reproduction.tests:
            return self._of_tests(source)
        program = take_apart(source, path=self.reproduction.entry)
        trace = self.bundle.traces["as-written"]
        if all(claim.mode == "streamed" for claim in self.claims):
            program, trace = _streamed(program), self.bundle.traces["streamed"]
        answers = Edits()
        if self.reproduction.exchanges is not None:
            program, answers = _answered(program, trace, self.recorded.target.version)
        proposer = Proposer(program, trace, self._printed(trace), self.still)
        proposals = list(self._proposals(proposer))
        if not proposals:
            raise self._nothing("no assertion in the SDK's own terms is known for it")
        chosen: dict[str, Candidate] = {}
        tried = ""
        while proposals and len(chosen) < len(self.claims):
            # The plainest first: what follows is tried for the claims that have none yet.
            now: list[Candidate] = []
            for claim in self.claims:
                if claim.id not in chosen:
                    now += [each for each in proposals if each.claim == claim.id][:_AT_ONCE]
            proposals = [each for each in proposals if each not in now and each.claim not in chosen]
            if not now:
                break
            kept, tried = self._kept(program, answers, now)
            for candidate in kept:
                chosen.setdefault(candidate.claim, candidate)
        if not chosen:
            raise self._nothing(f"of the assertions that were tried {tried}")
        return self._final(program, answers, chosen)

    def _nothing(self, why: str) -> CannotDoError:
        names = ", ".join(claim.id for claim in self.claims)
        hint = "a script that says it itself, by `assert`, becomes a test as it is"
        if self.there is None:
            hint = "--fixed RELEASE, where it is repaired: what is printed there is asserted then"
        return CannotDoError(f"no test was written for {names}: {why}", hint=hint)

    def _printed(self, trace: Trace) -> Printed:
        wrote = (
            event for event in trace.events if isinstance(event, ScriptWrote) and event.stream == "stdout"
        )
        here = "".join(text_of(event.text) for event in wrote)
        if self.there is None or self.reproduction.exchanges is not None:
            return Printed(here, None)
        self.progress.working("running the script on the other release")
        return Printed(here, self.there.printed(self.reproduction))

    def _proposals(self, proposer: Proposer) -> Iterator[Candidate]:
        count = 0
        for claim in self.claims:
            for number, candidate in enumerate(proposer.of(claim)):
                if number < _MOST_OF_ONE and count < _MOST and (candidate.follows or self.there is not None):
                    count += 1
                    yield candidate

    def _kept(
        self, program: Program, answers: Edits, proposals: Sequence[Candidate]
    ) -> tuple[list[Candidate], str]:
        """Those that fail here by their assertion and pass there; and what became of the others, in words."""
        self.progress.working(f"trying {len(proposals)} assertions")
        kept: list[Candidate] = []
        told: dict[str, None] = {}
        for each in proposals:
            text = written(program, answers.joined(each.edits), name="test_it", docstring="A proposal.")
            ended = self.here.test(text, self._beside())
            if not _fails(ended, each.errors):
                told[f"one {ended.words()}"] = None
                continue
            passed = self.there.test(text, self._beside()) if self.there is not None else None
            if passed is None or passed.outcome == "passed":
                kept.append(each)
                continue
            told[f"one fails here, and on the other release {passed.words()}"] = None
        return kept, "; ".join(list(told)[:3])

    def _beside(self) -> dict[str, bytes]:
        """The other files of the reproduction, which the test would find beside it."""
        names = {self.reproduction.entry, *self.reproduction.tests}
        return {f"tests/{name}": data for name, data in self.reproduction.files.items() if name not in names}

    def _final(self, program: Program, answers: Edits, chosen: Mapping[str, Candidate]) -> MadeTest:
        together = answers
        for candidate in chosen.values():
            together = together.joined(candidate.edits)
        errors = frozenset().union(*(candidate.errors for candidate in chosen.values()))
        name = test_name(self.recorded, program)
        docstring = self._docstring(program, chosen)
        own = not has_scripted_model(self.wheel)
        usage = _usage(self.bundle.traces["as-written"])
        ways = [Edits()]
        if self.reproduction.exchanges is None:
            ways = [*exchanged(program, own=own, usage=usage), Edits()]
        quiet = Edits() if any(each.printed for each in chosen.values()) else _quiet(program, together)
        texts = dict.fromkeys(
            formatted(written(program, edits, name=name, docstring=docstring, is_final=True))
            for edits in (together.joined(each).joined(way) for way in ways for each in (quiet, Edits()))
        )
        told, speaks = "", False
        for text in sorted(texts, key=lambda each: each.count("\n")):
            if _OURS.search(text):
                speaks = True
                continue
            ended = self._confirmed(text, errors)
            told = ended.words()
            if _fails(ended, errors):
                break
        else:
            if speaks and not told:
                raise CannotDoError(
                    "the script speaks of agentproof, and the test would too",
                    hint="take it out of the script",
                )
            raise self._nothing(f"together the assertions do not fail here and pass there ({told})")
        return MadeTest(
            name=f"{name}.py",
            source=text,
            failed=ended,
            base=self._base(),
            repaired=self._repaired(),
            asserted=tuple(chosen),
            left_out=tuple(claim.id for claim in self.claims if claim.id not in chosen),
        )

    def _confirmed(self, text: str, errors: frozenset[str]) -> Ended:
        """How a test ends here, where it passes on the other release, and does so in processes of its own."""
        ended = Ended("not run")
        for alone in (False, True):
            ended = self.here.test(text, self._beside(), alone=alone)
            if not _fails(ended, errors):
                return ended
            passed = self.there.test(text, self._beside(), alone=alone) if self.there is not None else None
            if passed is not None and passed.outcome != "passed":
                return Ended(f"on the other release {passed.words()}")
        return ended

    def _of_tests(self, source: bytes) -> MadeTest:
        """A reproduction that is tests already: those that fail here, in one file."""
        module = cst.parse_module(source)
        names = [each.partition("::") for each in self.reproduction.tests]
        functions = [each for each in module.body if isinstance(each, cst.FunctionDef)]
        tests = [each for each in functions if each.name.value.startswith("test")]
        listed = {name.partition("[")[0] for _, _, name in names if name}
        tests = [each for each in tests if not listed or each.name.value in listed]
        kept: list[cst.FunctionDef] = []
        for each in tests:
            others = {other for other in tests if other is not each}
            alone = module.with_changes(body=[one for one in module.body if one not in others])
            ended = self.here.test(alone.code, self._beside())
            if ended.outcome == "failed":
                kept.append(each)
        if not kept:
            raise self._nothing("none of its tests fails here by itself")
        dropped = {each for each in tests if each not in kept}
        text = formatted(module.with_changes(body=[one for one in module.body if one not in dropped]).code)
        if _OURS.search(text):
            raise CannotDoError("the tests speak of agentproof", hint="take it out of them")
        name = self.reproduction.entry.rpartition("/")[2]
        here = self.here.test(text, self._beside(), alone=True)
        if self.there is not None:
            passed = self.there.test(text, self._beside(), alone=True)
            if passed.outcome != "passed":
                raise self._nothing(f"the tests do not pass on the other release ({passed.words()})")
        if here.outcome != "failed":
            raise self._nothing(f"the tests do not fail here ({here.words()})")
        claims = tuple(claim.id for claim in self.claims)
        return MadeTest(name, text, here, self._base(), self._repaired(), claims, ())

    def _base(self) -> str:
        return f"{self.recorded.target.name} {name_of_build(self.recorded.target)}"

    def _repaired(self) -> str | None:
        return (
            f"{self.there.lock.target.name} {name_of_build(self.there.lock.target)}" if self.there else None
        )

    def _docstring(self, program: Program, chosen: Mapping[str, Candidate]) -> str:
        title = self.recorded.reproduction.title or (program.docstring or "").partition("\n\n")[0]
        told = [_sentence(_contract(claim)) for claim in self.claims if claim.id in chosen]
        first = _sentence(" ".join(title.split())) if title else told.pop(0) if told else "It fails."
        passes = f" and passes on {self._repaired()}" if self.there is not None else ""
        ends = f"Fails on {self._base()}{passes}."
        if self.recorded.reproduction.reference is not None:
            ends += f" See {self.recorded.reproduction.reference}."
        parts = [first, " ".join((*told[:2], ends))]
        return (
            "\n\n".join(textwrap.fill(" ".join(part.split()), 92, break_on_hyphens=False) for part in parts)
            + "\n"
        )


def _fails(ended: Ended, errors: frozenset[str]) -> bool:
    return ended.outcome == "failed" and ended.error in errors


def _contract(claim: ClaimResult) -> str:
    """What a claim asks, in one sentence."""
    if claim.id in INVARIANTS:
        return (INVARIANTS[claim.id].__doc__ or "").partition("\n")[0]
    return wanted(claim) if claim.kind in EXPECTED else claim.id


def _sentence(text: str) -> str:
    text = text[:400].strip()
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def test_name(recorded: Manifest, program: Program) -> str:
    """The name of the test and of its file: an identifier, from the title."""
    entry = recorded.reproduction.entry.rpartition("/")[2].removesuffix(".py")
    words = recorded.reproduction.title or (program.docstring or "").partition("\n")[0]
    if not words and entry not in ("repro", "reproduction"):
        words = entry
    # What is somebody's is no word of its own.
    parts = re.findall(r"[a-z0-9]+", re.sub(r"['\u2019](?:s\b)?", "", words.lower()))
    parts = [part for part in parts if part != "agentproof"]
    kept: list[str] = []
    for part in parts:
        if len("_".join((*kept, part))) > 55:
            break
        kept.append(part)
    if len(kept) < len(parts):
        while kept and kept[-1] in _NOT_LAST.split():
            kept.pop()
    return f"test_{'_'.join(kept) or 'reproduction'}"


_NOT_LAST: Final = """
a an and are as at but by for from if in into is it its not of on or that the then to when which while with
without
"""
"""With none of these ends a name that was cut."""


test_name.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name


def _usage(trace: Trace) -> str:
    """The usage that the script's model tells, where it is the same in each answer."""
    names = ("requests", "input_tokens", "output_tokens", "total_tokens")
    told = {
        tuple(fields_of(event.usage).get(name) for name in names)
        for event in trace.events
        if isinstance(event, ModelAnswered) and event.usage is not None
    }
    for values in told if len(told) == 1 else ():
        numbers = [(name, value) for name, value in zip(names, values, strict=True) if isinstance(value, int)]
        return f"Usage({', '.join(f'{name}={value}' for name, value in numbers if value)})"
    return "Usage(requests=1)"


def _quiet(program: Program, edits: Edits) -> Edits:
    """Without prints, which nobody reads in a test; what they wait for is waited for still."""
    found = Edits()
    for node in nodes(program.module):
        for each in node.body if isinstance(node, cst.IndentedBlock | cst.Module) else ():
            if each in edits.instead or edits.before.get(each) or edits.after.get(each):
                continue
            awaited = _only_prints(each)
            if awaited is not None:
                found.instead[each] = awaited or ["pass"]
    return found


def _only_prints(statement: cst.CSTNode) -> list[str] | None:
    """What a print waits for, where it does nothing else."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not (isinstance(small, cst.Expr) and isinstance(small.value, cst.Call)):
        return None
    if code_of(small.value.func) != "print":
        return None
    awaited: list[cst.CSTNode] = []
    todo: list[cst.CSTNode] = [small.value]
    while todo:
        each = todo.pop()
        if isinstance(each, cst.Await):
            awaited.append(each)
        elif (
            (isinstance(each, cst.Call) and not is_harmless(each.func))
            or isinstance(each, cst.Lambda)
            or (isinstance(each, cst.BaseComp) and not is_harmless(each))
        ):
            return None
        else:
            calls = isinstance(each, cst.Call) and not is_harmless(each.with_changes(args=[]))
            if calls:
                return None
            todo += reversed(children(each))
    return [code_of(each.with_changes(lpar=[], rpar=[])) for each in awaited]


_STREAMING = """\
async def {name}(*args, **kwargs):
    result = Runner.run_streamed(*args, **kwargs)
    async for _ in result.stream_events():
        pass
    return result
"""


def _streamed(program: Program) -> Program:
    """The same with its runs streamed and drained."""
    name = fresh("run_streamed", program)
    helper = cst.parse_module(_STREAMING.format(name=name)).body[0]
    asked = [
        node
        for node in nodes(program.module)
        if isinstance(node, cst.Call) and code_of(node.func) == "Runner.run"
    ]
    replaced = {node.func: cst.Name(name) for node in asked}

    class Renamed(cst.CSTTransformer):
        def on_leave(self, original_node, updated_node):  # type: ignore[no-untyped-def]  # libcst's own
            return replaced.get(original_node) or super().on_leave(original_node, updated_node)

    def changed(statements: Sequence[Statement]) -> tuple[Statement, ...]:
        return _visited(statements, Renamed())

    return replace(program, definitions=(*changed(program.definitions), helper), body=changed(program.body))


def _answered(program: Program, trace: Trace, version: str) -> tuple[Program, Edits]:
    """The script with the answers that were recorded in the place of a provider's model."""
    name = fresh("scripted_model", program)
    source = scripted([answers_of(trace)], version=version)

    class Answered(cst.CSTTransformer):
        def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:  # noqa: N802
            called = code_of(original_node.func).rpartition(".")[2]
            if called not in ("Agent", "RunConfig"):
                return updated_node
            kept = [
                each for each in updated_node.args if each.keyword is None or each.keyword.value != "model"
            ]
            if called == "Agent":
                equal = cst.AssignEqual(
                    whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace("")
                )
                kept.append(cst.Arg(keyword=cst.Name("model"), value=cst.Name(name), equal=equal))
            return updated_node.with_changes(args=kept)

    def is_client(statement: cst.CSTNode) -> bool:
        calls = {
            code_of(node.func).rpartition(".")[2] for node in nodes(statement) if isinstance(node, cst.Call)
        }
        names = {"OpenAI", "AsyncOpenAI", "set_default_openai_client", "set_default_openai_key"}
        names |= {"set_default_openai_api"}
        return isinstance(statement, cst.SimpleStatementLine) and bool(calls & names)

    def changed(statements: Sequence[Statement]) -> tuple[Statement, ...]:
        return _visited([each for each in statements if not is_client(each)], Answered())

    program = replace(program, definitions=changed(program.definitions), body=changed(program.body))
    made = f"{name} = {source.models[0]}"
    return program, Edits(imports=[*source.imports, *source.definitions, made])


def _visited(statements: Sequence[Statement], transformer: cst.CSTTransformer) -> tuple[Statement, ...]:
    changed = cst.Module(body=list(statements)).visit(transformer)
    return tuple(statements_in(changed))
