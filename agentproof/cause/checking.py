"""Check the file that `explain` wrote: each quoted line is a line of the wheel that it names. Pure."""

from collections.abc import Callable, Iterator

from ..bundle.store import short
from ..models.explanation import ExplainedWheel, Explanation, SourceLine
from ..models.manifest import Target
from ..models.wire import Sha256
from ..sdk import KNOWN
from .source import Source, read_source


def problems(
    explanation: Explanation,
    *,
    bundle_id: Sha256,
    evidence_id: Sha256,
    target: Target,
    wheel_of: Callable[[ExplainedWheel], bytes | None],
) -> tuple[list[str], list[str]]:
    """What is wrong, and what could not be checked for want of a wheel.

    The ids and the target are the bundle's; `wheel_of` gives the bytes of a wheel by its SHA-256, or None.
    """
    wrong: list[str] = []
    missing: list[str] = []
    if explanation.bundle_id != bundle_id:
        wrong.append(f"it is about bundle {short(explanation.bundle_id)}, and this is {short(bundle_id)}")
    if explanation.evidence_id != evidence_id:
        wrong.append("it is about other evidence")
    sources: dict[str, Source | None] = {}
    for wheel in explanation.wheels:
        if wheel.side == "bundle" and wheel.sha256 != target.sha256:
            wrong.append(f"{wheel.filename} is not the bundle's wheel")
            continue
        data = wheel_of(wheel)
        if data is None or wheel.name not in KNOWN:
            missing.append(f"{wheel.filename} (SHA-256 {short(wheel.sha256)}) is not at hand")
            continue
        known = target.model_copy(update={"version": wheel.version, "sha256": wheel.sha256})
        sources[wheel.side] = read_source(data, known, KNOWN[wheel.name].package)
        base = sources[wheel.side]
        told = base.repository if base is not None else None
        if wheel.base is not None and wheel.base != f"{told}/blob/v{wheel.version}":
            wrong.append(
                f"links lead to {wheel.base}, which is not where {wheel.filename} says that it is from"
            )
    wrong += [problem for line in lines_of(explanation) for problem in _wrong_line(line, sources)]
    for each in explanation.functions:
        for side, blob in (("bundle", each.blob), ("other", each.other_blob)):
            source = sources.get(side)
            file = source.files.get(each.file) if source is not None else None
            if source is not None and blob is not None and (file is None or file.blob != blob):
                wrong.append(f"{each.file} of the {side} wheel has not the git id {blob}")
        mine_source = sources.get("bundle")
        function = (
            mine_source.files[each.file].functions.get(each.function)
            if (mine_source is not None and each.file in mine_source.files)
            else None
        )
        if mine_source is not None and (function is None or function.first != each.first):
            wrong.append(f"{each.file} has no function {each.function} at line {each.first}")
    return wrong, missing


def lines_of(explanation: Explanation) -> Iterator[SourceLine]:
    """Every line that is quoted."""
    for function in explanation.functions:
        yield from function.lines
    for shared in explanation.shared:
        yield from filter(None, (shared.made, *shared.held, *shared.written))
    for event in explanation.events:
        if event.sdk is not None:
            yield event.sdk


def _wrong_line(line: SourceLine, sources: dict[str, Source | None]) -> Iterator[str]:
    source = sources.get(line.side)
    if source is None:
        return
    text = source.text(line.file, line.line)
    if text != line.text:
        yield f"{line.file}:{line.line} of the {line.side} wheel is {text!r}, not {line.text!r}"
