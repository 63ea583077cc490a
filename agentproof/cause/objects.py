"""Which object two holders share, selected by the pointer of a finding; pure but for what it is given.

1. The first run tells, at each event, who else reaches the objects along the pointer. Of those that belong
   to the finding's own state or result, the outermost counts: it is the one that should have been two. What
   another state or result, the script's variables or something that the SDK returned to the script reach
   comes before a second path in the same one, and that before a container of a module.
2. The second run follows the paths to it. The statement by which it came to lie at the second path holds it
   twice; the first statement after which it lay anywhere that is followed made it; what changed it between
   then and the finding's event wrote it.
3. Where no object along the pointer is shared, or none is seen twice in the second run, nothing is claimed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ..models.explanation import SharedObject, Side, Statement
from ..models.manifest import ClaimResult, Finding
from ..models.trace import Mode, Trace
from .located import Located
from .source import Source

ABOUT_OBJECTS: Final = frozenset({"state-integrity", "result-integrity"})
"""The rules whose findings point into an object."""
_MOST: Final = 4
_MOST_WRITES: Final = 3


@dataclass(frozen=True)
class Selected:
    """A finding, and the outermost shared object along its pointer."""

    claim: str
    mode: Mode
    finding: Finding
    shared: Sequence[Mapping[str, Any]]  # Any: JSON of the probe
    """One entry a pair of paths to the one object, that with the finding's cause first."""


def pointers(claims: Sequence[ClaimResult]) -> list[tuple[str, str]]:
    """What the first run is asked for: the holder's letter and the pointer of each finding."""
    asked = {
        ("S" if claim.kind == "state-integrity" else "Q", finding.pointer)
        for claim in claims
        for finding in claim.because
        if finding.pointer
    }
    return sorted(asked)


def select(
    claims: Sequence[ClaimResult], modes: Mapping[Mode, Located], traces: Mapping[Mode, Trace]
) -> tuple[list[Selected], list[str]]:
    """The shared objects of the findings by rule 1; and for the others why there is none."""
    found: dict[tuple[Any, ...], Selected] = {}
    missing: list[str] = []
    for claim in claims:
        for finding in claim.because:
            mode = finding.events[0].mode if finding.events else None
            if mode is None or mode not in modes or not finding.pointer:
                continue
            located = modes[mode]
            label = _label(finding, traces.get(mode))
            named = [
                each
                for each in located.shared
                if located.names.get(each["holder"]) == label and each["pointer"] == finding.pointer
            ]
            if not named:
                missing.append(
                    f"{claim.kind}, {label or 'its holder'} {finding.pointer}: no object along this "
                    "pointer was seen in another holder, so none is named"
                )
                continue
            nearest = min(map(_kind, named))
            named = [each for each in named if _kind(each) == nearest]
            outermost = min(each["depth"] for each in named)
            pairs = [each for each in named if each["depth"] == outermost]
            pairs.sort(
                key=lambda each: (
                    each["other"] == each["holder"],
                    located.names.get(each["other"]) != finding.subject,
                    each["other"],
                    each["other_path"],
                )
            )
            key = (claim.kind, tuple(pairs[0]["path"]))
            found.setdefault(key, Selected(claim.kind, mode, finding, pairs))
    return list(found.values())[:_MOST], sorted(set(missing))[:_MOST]


def _kind(pair: Mapping[str, Any]) -> int:
    if pair["other"].startswith("module:"):
        return 2
    return int(pair["other"] == pair["holder"])


def slots(selected: Sequence[Selected]) -> dict[str, list[list[str]]]:
    """What the second run is asked for: attribute paths by class."""
    asked: dict[str, list[list[str]]] = {}

    def ask(name: str, path: Sequence[str]) -> None:
        paths = asked.setdefault(name, [])
        if path and list(path) not in paths:
            paths.append(list(path))

    for each in selected:
        for pair in each.shared:
            ask(pair["classes"][0], pair["path"])
            if not pair["other"].startswith(("returned:", "module:")):
                ask(pair["classes"][1], pair["other_path"])
            if pair["class"].partition(".")[0] == pair["classes"][0].partition(".")[0]:
                asked.setdefault(pair["class"], [])
            if (
                len(pair["path"]) > 1
                and pair["owner"].partition(".")[0] == pair["classes"][0].partition(".")[0]
            ):
                ask(pair["owner"], pair["path"][-1:])
    return asked


def told(selected: Selected, first: Located, second: Located, source: Source) -> SharedObject | str:
    """What is said of one object; a sentence where the second run does not show it."""
    paths = list(dict.fromkeys(_paths(selected, first, source)))
    head = selected.shared[0]
    holder, other = head["holder"], head["other"]
    mine = _objects_at(second, head["path"], label=holder)
    theirs: Mapping[int, Mapping[str, Any]]
    if other.startswith("returned:"):
        theirs = {found: {"step": each["step"], "stack": head["stack"]} for found, each in mine.items()}
    elif other.startswith("variable:"):
        theirs = _objects_at(second, head["other_path"], made_as=head["classes"][1])
    else:
        theirs = _objects_at(second, head["other_path"], label=other)
    both = [each for each in mine if each in theirs]
    look = second.events.get(selected.finding.events[0].seq)
    if not both:
        return f"{' and '.join(paths[:2])} are one {head['type']}; by which statement was not seen"
    found = both[0]
    last = max(mine[found], theirs[found], key=lambda each: each["step"])
    if other.startswith("returned:"):
        last = theirs[found]
    if not last["stack"]:
        return f"{' and '.join(paths[:2])} are one {head['type']}, by a statement of the script's own"
    births = [each for each in second.births if each["object"] == found and each["step"] <= last["step"]]
    slots_of_it = [each for each in second.slots if each["object"] == found]
    birth = births[-1] if births else min(slots_of_it, key=lambda each: each["step"])
    until = look.step if look is not None else None
    writes = [
        each
        for each in second.writes
        if each["object"] == found
        and each["step"] >= last["step"]
        and (until is None or each["step"] <= until)
    ]
    return SharedObject(
        claim=selected.claim,
        pointer=selected.finding.pointer or "",
        type=head["type"],
        paths=tuple(paths[:6]),
        made=next(_statements(birth, second, source), None),
        held=tuple(with_argument(list(_statements(last, second, source)), source))[:3],
        outside=any(not each["stack"] for each in writes),
        written=tuple(_distinct(writes, second, source))[-_MOST_WRITES:],
    )


def _label(finding: Finding, trace: Trace | None) -> str | None:
    if finding.state is not None or trace is None:
        return finding.state
    seqs = {ref.seq for ref in finding.events}
    for event in json.loads(trace.to_bytes())["events"]:
        if event["seq"] in seqs and isinstance(event.get("result"), str):
            return str(event["result"])
    return None


def _paths(selected: Selected, located: Located, source: Source) -> Iterator[str]:
    for pair in selected.shared:
        yield _path(located.names.get(pair["holder"], pair["holder"]), pair["path"])
        kind, _, name = pair["other"].partition(":")
        if kind == "returned":
            (number, line), (file, at) = pair["stack"][0], pair["script"]
            function = source.function_at(located.files[number], line)
            inside = _path("", pair["other_path"])
            yield f"what {function.name if function else '?'} returned at {file}:{at}{inside}"
        elif kind == "variable":
            yield f"{_path(name, pair['other_path'])} in the script"
        elif kind == "module":
            yield _path(f"{name}[…]", pair["other_path"])
        else:
            yield _path(located.names.get(pair["other"], pair["other"]), pair["other_path"])


def _path(label: str, path: Sequence[str]) -> str:
    steps = [
        f".{step}" if step.isidentifier() else f"[{step if step.isdigit() else repr(step)}]" for step in path
    ]
    return label + "".join(steps)


def _objects_at(
    located: Located, path: Sequence[str], *, label: str | None = None, made_as: str | None = None
) -> dict[int, Mapping[str, Any]]:
    """The objects that ever lay at a path of a holder, with the change that put each there first; of all
    instances of a class, that by which the last of them came to hold it."""
    found: dict[int, Mapping[str, Any]] = {}
    seen: set[tuple[int, int]] = set()
    for each in located.slots:
        if each["path"] != list(path) or not each["object"]:
            continue
        if label is not None and located.holders.get(each["holder"]) == label:
            found.setdefault(each["object"], each)
        elif (
            made_as is not None and each["class"] == made_as and (each["holder"], each["object"]) not in seen
        ):
            seen.add((each["holder"], each["object"]))
            found[each["object"]] = each
    return found


def _statements(change: Mapping[str, Any], located: Located, source: Source) -> Iterator[Statement]:
    side: Side = "bundle"
    for number, line in change["stack"]:
        file = located.files[number]
        found = source.files.get(file)
        function = source.function_at(file, line)
        if found is None or function is None:
            continue
        first = found.statement_at(line)
        text = source.text(file, first)
        if text is not None:
            yield Statement(side=side, file=file, line=first, text=text, ran=True, function=function.name)


def with_argument(held: Sequence[Statement], source: Source) -> Iterator[Statement]:
    """The statements, innermost first; where it stores a parameter, the caller's line that gives it."""
    yield from held[:1]
    for inner, outer in pairwise(held[:2]):
        file = source.files[outer.file]
        parameter = source.files[inner.file].assigned_parameter(inner.line)
        *_, owner, name = ("", *inner.function.split("."))
        callee = owner if name == "__init__" else name
        line = file.passed(outer.line, callee, parameter) if parameter is not None else None
        text = source.text(outer.file, line) if line is not None else None
        if line is None or text is None:
            yield outer
        else:
            yield outer.model_copy(update={"line": line, "text": text})
    yield from held[2:]


def _distinct(writes: Sequence[Mapping[str, Any]], located: Located, source: Source) -> Iterator[Statement]:
    found: dict[tuple[str, int], Statement] = {}
    for each in writes:
        statement = next(_statements(each, located, source), None)
        if statement is not None:
            found.pop((statement.file, statement.line), None)
            found[statement.file, statement.line] = statement
    yield from found.values()
