"""Compare a reproduction on several targets: is it fixed there, did something break, what else changed.

1. A bundle is compared as it was recorded; a script is recorded on the release that its header names first.
   That recording is what all others are compared with.
2. On each target the same script is recorded anew, on the same minor version of Python, as of the
   target's own day. A recording that was made before under the same conditions is used again.
3. What cannot be recorded on a target is said with its reason; the others go on.
4. The comparison is one bundle, signed, made of the bundles that it rests on (`diff.rows`).
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..bundle.store import ZIP_SUFFIX, Bundle, bundle_id, holds_another, write_bundle, zip_bytes
from ..diff.rows import Attempt, Series, build_rows, is_older, pack, parts
from ..errors import AgentproofError, CannotDoError, Exit, UsageError
from ..models.comparison import Comparison, Row
from ..record.conditions import Conditions
from ..record.final_check import check_sound
from ..record.kept import ResultStore, default_results
from ..record.output import beside, case_name
from ..record.progress import Progress
from ..record.recording import names_target, record
from ..record.reproduction import Reproduction
from ..record.target import Target, check_targets
from ..system.files import is_stream, write_atomic
from ..trust import signing
from .subjects import Subject


@dataclass(frozen=True)
class SignedComparison:
    """A signed comparison, or a part of one, not yet written anywhere."""

    comparison: Comparison
    bundle: Bundle
    bundle_id: str
    failures: tuple[str, ...]
    """What could not be recorded, in full, for whoever asked."""
    rows: tuple[Row, ...]
    """The comparison's rows; where a bundle was recorded by other rules, as this tool judges it."""


def compare(
    subjects: Sequence[Subject],
    targets: Sequence[Target],
    *,
    conditions: Conditions,
    baseline: Target | None = None,
    key: signing.PrivateKey,
    progress: Progress,
    results: ResultStore | None = None,
) -> list[SignedComparison]:
    """Record every subject on every target, and compare each with its first recording.

    `baseline` is what scripts are recorded on first, where it is not the release that their header names.

    The rows are those of one comparison, or of several where one would be larger than a bundle may be.

    Raises:
        UsageError: nothing to compare, a checkout that is none, or a script that says something senseless.
        CannotDoError: nothing could be recorded, or one row alone is too large.
    """
    if not subjects:
        raise UsageError("nothing to compare")
    names = Counter(subject.name for subject in subjects)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(f"two reproductions are called {twice[0]}", hint="compare them one by one")
    check_targets(targets)
    for subject in subjects:
        _check_baseline(subject, targets, baseline)
    recorder = Recorder(conditions, key=key, progress=progress, results=results)
    series = [recorder.series(subject, targets, baseline) for subject in subjects]
    if not any(attempt.bundle for each in series for attempt in each.attempts):
        raise CannotDoError(
            f"nothing could be recorded: {recorder.failures[0] if recorder.failures else 'no target'}"
        )
    return [packed(part, key, failures=recorder.failures) for part in parts(series)]


def _check_baseline(subject: Subject, targets: Sequence[Target], baseline: Target | None) -> None:
    """Refuse to compare a target with itself, or a recording with another baseline than itself."""
    if subject.bundle is not None:
        if baseline is not None:
            raise UsageError(
                f"--sdk {baseline.text}: {subject.name} is a recording, which is compared as it is",
                hint="leave --sdk out, or name the script",
            )
    elif baseline is None and len(targets) < 2 and not names_target(subject.reproduction):
        raise UsageError(
            f"{subject.place or subject.name} names no release, so that {targets[0].text} would be compared "
            "with itself",
            hint="say what it is compared with: --sdk VERSION",
        )


def against(
    recorded: Bundle,
    reproduction: Reproduction,
    conditions: Conditions,
    *,
    good: Target | None,
    latest: Target | None,
    key: signing.PrivateKey,
    progress: Progress,
) -> SignedComparison:
    """A recording beside one of where it worked, and one on the newest release, as one bundle.

    Raises:
        CannotDoError: it could not be recorded there.
    """
    recorder = Recorder(replace(conditions, as_of=None, lock_file=None), key=key, progress=progress)
    title = recorded.document.reproduction.title
    name = case_name(title, reproduction.script, root=reproduction.directory, tests=reproduction.tests)
    subject = Subject(name, reproduction)
    attempts = [Attempt(name, bundle=recorded)]
    if good is not None:
        attempts.insert(0, recorder.attempt(subject, good))
    if latest is not None:
        attempts.append(recorder.attempt(subject, latest))
    failed = next((attempt for attempt in attempts if attempt.bundle is None), None)
    if failed is not None:
        raise CannotDoError(f"on {failed.target} it could not be recorded: {failed.failed}", hint=failed.hint)
    return packed([Series(name, tuple(attempts), good=good is not None)], key)


def packed(
    series: Sequence[Series], key: signing.PrivateKey, *, failures: Sequence[str] = ()
) -> SignedComparison:
    """The signed comparison of recordings that were made."""
    comparison, bundle = pack(series, key)
    check_sound(bundle)
    judged = [attempt.judgement for each in series for attempt in each.attempts if attempt.bundle]
    rows = build_rows(series) if any(judged) else comparison.rows
    return SignedComparison(comparison, bundle, bundle_id(bundle), tuple(failures), rows)


class Recorder:
    """Records reproductions on targets; a failure of one is noted and the next one goes on."""

    def __init__(
        self,
        conditions: Conditions,
        *,
        key: signing.PrivateKey,
        progress: Progress,
        results: ResultStore | None = None,
    ) -> None:
        self.conditions = conditions
        self.progress = progress
        self._key = key
        self._results = results or default_results()
        self.failures: list[str] = []

    def series(self, subject: Subject, targets: Sequence[Target], baseline: Target | None = None) -> Series:
        """A subject on all targets, its own first."""
        attempts: list[Attempt] = []
        if subject.bundle is not None:
            attempts.append(Attempt(subject.name, bundle=subject.bundle, judgement=subject.judged_now))
        elif baseline is not None:
            attempts.append(self.attempt(subject, baseline))
        elif names_target(subject.reproduction):
            attempts.append(self.attempt(subject, None))
        attempts += [self.attempt(subject, target) for target in targets]
        return Series(subject.name, tuple(_distinct(attempts)))

    def attempt(self, subject: Subject, target: Target | None) -> Attempt:
        """Record on one target, or on the one that the header names."""
        label = target.label if target is not None else "its own release"
        self.progress.done("recording", f"{subject.name} on {label}")
        try:
            recorded = record(
                subject.reproduction,
                target,
                replace(self.conditions, python=self.conditions.python or subject.python),
                key=self._key,
                progress=self.progress,
                results=self._results,
            )
        except AgentproofError as error:
            self.failures.append(f"{subject.name} on {label}: {error.message}")
            self.progress.done("failed", error.message)
            if error.hint is not None:
                self.progress.done("next", error.hint)
            return Attempt(label, failed=publishable(error.message), hint=error.hint)
        return Attempt(label, bundle=recorded)


def publishable(message: str) -> str:
    """A reason that may stand in a bundle: without paths and URLs of this machine."""
    text = re.sub(r"\w+://\S+", "<url>", message)
    return re.sub(r"(?<![\w.])/[^\s:,;'\"`]+", "<path>", text)[:1000]


def _distinct(attempts: Sequence[Attempt]) -> Iterator[Attempt]:
    """The attempts, without a second recording of the same evidence on the same wheel and Python."""
    seen: set[tuple[str, str, str]] = set()
    for attempt in attempts:
        if attempt.bundle is not None:
            manifest = attempt.bundle.document
            identity = (
                manifest.target.sha256,
                manifest.environment.python.version,
                manifest.evidence_id,
            )
            if identity in seen:
                continue
            seen.add(identity)
        yield attempt


def check_place(path: Path, *, replace: bool) -> None:
    """Fail before the recordings rather than after them.

    Raises:
        CannotDoError: the place is taken, or cannot be written.
    """
    if is_stream(path):
        return
    if path.exists() and not replace:
        raise CannotDoError(f"{path} exists", hint="--replace, or another place with --output")
    parent = path.absolute().parent
    if parent.exists() and not os.access(parent, os.W_OK):
        raise CannotDoError(f"{parent} cannot be written to", hint="choose another place with --output")


def write(compared: SignedComparison, output: Path | None, *, replace: bool) -> Path:
    """Write the comparison bundle as a zip or directory; where it lies now.

    Without `output` it is `comparison.agentproof.zip`, with its bundle id in the name where another one
    has that name and `replace` was not given.

    Raises:
        CannotDoError: the place is taken, or cannot be written.
    """
    path = output or Path(f"comparison{ZIP_SUFFIX}")
    if output is None and not replace and holds_another(path, compared.bundle_id):
        path = beside(path, compared.bundle_id)
    elif output is not None:
        check_place(path, replace=replace)
    if path.name.endswith(".zip") or is_stream(path):
        write_atomic(path, zip_bytes(compared.bundle))
    else:
        write_bundle(compared.bundle, path, replace=replace)
    return path


def write_all(compared: Sequence[SignedComparison], output: Path | None, *, replace: bool) -> list[Path]:
    """Write a comparison, or each of its parts with its number in the name; where they lie now.

    Raises:
        CannotDoError: a place is taken, or cannot be written.
    """
    if len(compared) == 1:
        return [write(compared[0], output, replace=replace)]
    whole = output or Path(f"comparison{ZIP_SUFFIX}")
    ending = next((each for each in (ZIP_SUFFIX, ".zip") if whole.name.endswith(each)), "")
    stem = whole.name.removesuffix(ending)
    paths = [whole.with_name(f"{stem}-{number}{ending}") for number in range(1, len(compared) + 1)]
    for path, part in zip(paths, compared, strict=True):
        if output is not None or holds_another(path, part.bundle_id):
            check_place(path, replace=replace)
    return [write(part, path, replace=True) for path, part in zip(paths, compared, strict=True)]


Expected = Literal["fixed", "holds"]


def exit_code(rows: Sequence[Row], *, expect: Expected | None = None, all_asked: bool = False) -> Exit:
    """1 where something regressed or is not as expected, 4 where something could not be recorded.

    What an older release than the baseline violates did not regress.
    What the others are compared with is not expected to be anything, unless it is all that there is
    (the target that was asked for is the recording's own) or `all_asked` (a matrix, whose first target
    is one of those asked for); then its own verdict answers.
    """
    cells = [cell for row in rows for cell in row.cells]
    if any(
        cell.outcome == "regressed" and not is_older(cell, row.cells[0]) for row in rows for cell in row.cells
    ):
        return Exit.NO
    if expect is not None and not all(_is_as_expected(row, expect, all_asked=all_asked) for row in rows):
        return Exit.NO
    return Exit.CANNOT if any(cell.outcome == "not_recorded" for cell in cells) else Exit.YES


def _is_as_expected(row: Row, expect: Expected, *, all_asked: bool) -> bool:
    """Whether every target that was asked for is as expected, as far as it could be recorded."""
    others = [cell for cell in row.cells[1:] if cell.recorded is not None]
    if expect == "fixed" and len(row.cells) > 1:
        return all(cell.outcome in ("fixed", "still_holds") for cell in others)
    asked = row.cells if all_asked or len(row.cells) == 1 else others
    return all(cell.recorded is None or cell.recorded.verdict == "holds" for cell in asked)
