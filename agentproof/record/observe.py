"""Run a reproduction in the environment of a lock and assemble what was seen, unsigned.

Record, replay, compare, bisect and matrix differ in where the lock comes from and in what they do
with the result; between the two they all come through `observe`.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from ..environment import venv
from ..environment.locking import Lock
from ..environment.wheel_store import WheelStore
from ..errors import CannotDoError, UsageError
from ..isolation import levels, runner
from ..isolation.control import read_reproduction_files
from ..models.expectations import NOTHING, Expectations, combine
from ..models.header import Header, read_header
from ..models.manifest import Isolation, Manifest
from ..system.files import read_bounded
from . import test_results
from .assemble import AGREEMENTS, Recipe, UnsignedBundle, assemble
from .secrets import Redactor, SecretPatterns, find_secrets, host_secrets, patterns
from .variables import Variables, check_unwritten

_MAX_SCRIPT = 4 * 2**20
_MAX_VARIED = 3
"""Lines shown of those that differ."""


class Progress(Protocol):
    """Somebody to whom the steps are told."""

    def working(self, text: str) -> None:
        """A step that may take a while has begun."""

    def done(self, label: str, text: str) -> None:
        """A step is done."""


@dataclass(frozen=True)
class Reproduction:
    """A script on disk whose header was read; it compiles."""

    script: Path
    arguments: tuple[str, ...]
    header: Header
    root: Path | None = None
    """The directory that is the reproduction; None: the script's own."""
    tests: tuple[str, ...] = ()
    """pytest node ids below `root`; then these are run, and `script` is the file of the first."""
    extra: tuple[str, ...] = ()
    """Requirements that it needs beyond its header's."""
    expectations: Expectations = NOTHING
    """The header's, and those that were given beside it."""
    source: runner.ReproductionSource = field(kw_only=True)
    """What the runner takes: the files are read once, with the header, whatever becomes of them on disk."""

    @property
    def name(self) -> str:
        """What it is called in errors."""
        return ", ".join(self.tests) if self.tests else str(self.script)

    @property
    def requires(self) -> SpecifierSet:
        """The Python that the header asks for.

        Raises:
            UsageError: that makes no sense.
        """
        text = self.header.requires_python or ""
        try:
            return SpecifierSet(text)
        except InvalidSpecifier as error:
            raise UsageError(f"{self.script}: requires-python {text!r}: {error}") from error


@dataclass(frozen=True)
class Conditions:
    """How a reproduction is run, whatever it runs on."""

    require_isolation: str | None = None
    allow_sdk_changes: bool = False
    repeats: int = 2
    redact: bool = False
    """Take secrets out of the recording instead of stopping."""
    redact_patterns: tuple[str, ...] = ()
    """More of what counts as a secret, as regular expressions."""
    variables: Variables = field(default_factory=Variables)
    """Environment variables that it is given."""
    limits: runner.Limits = field(default_factory=runner.Limits)
    side_by_side: bool = True
    """Whether repeats run at the same time. What is recorded does not depend on it, nor is kept under it."""


def read_reproduction(
    script: Path,
    arguments: tuple[str, ...] = (),
    *,
    root: Path | None = None,
    tests: tuple[str, ...] = (),
    extra: tuple[str, ...] = (),
    expectations: Expectations = NOTHING,
) -> Reproduction:
    """Read the script's header, or that of the file of the first of the tests.

    Raises:
        UsageError: the script is missing, does not compile, or its header makes no sense; or it expects what
            contradicts the `expectations` that are given beside it.
    """
    source = read_bounded(script, limit=_MAX_SCRIPT, what="reproduction")
    header = read_header(source, path=str(script))
    try:
        compile(source, str(script), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise UsageError(
            f"{script}:{error.lineno}: {error.msg}", hint="the script does not compile; nothing was recorded"
        ) from error
    except ValueError as error:  # null bytes
        raise UsageError(f"{script}: {error}") from error
    place, entry = script.resolve().parent, script.name
    if root is not None:
        place, entry = root, script.relative_to(root).as_posix()
    files, only_entry = read_reproduction_files(place, entry, tests=tests)
    read = runner.ReproductionSource(
        root=place,
        entry=entry,
        arguments=arguments,
        tests=tests,
        held=({**files, entry: source}, only_entry),
    )
    expected = combine(header.expectations, expectations)
    return Reproduction(script, arguments, header, root, tests, extra, expected, source=read)


def observe(
    lock: Lock, reproduction: Reproduction, *, store: WheelStore, conditions: Conditions, story: Progress
) -> UnsignedBundle:
    """Build the environment of `lock`, run the script in it under isolation, and judge what happened.

    Raises:
        CannotDoError: the environment cannot be built or isolated as asked for, or a secret was seen.
        RecorderError: our own recorder failed.
    """
    source = reproduction.source
    check_unwritten(conditions.variables, source.read()[0], source.arguments)
    with ThreadPoolExecutor(max_workers=1) as beside:
        choosing = beside.submit(levels.choose, conditions.require_isolation)
        if conditions.require_isolation is not None:
            choosing.result()  # what cannot be had is said before anything is built
        with venv.prepare(lock, store, progress=story.working) as environment:
            story.done(
                "built",
                f"venv in {environment.seconds:.1f} s; {_spaced(environment.installed_files)} installed "
                "files match their wheels' RECORD",
            )
            isolation = choosing.result()
            story.working("running the tests" if source.tests else "running the script")
            started = time.monotonic()
            run = runner.run_recordings(
                environment,
                source,
                isolation=isolation,
                limits=conditions.limits,
                repeats=conditions.repeats,
                side_by_side=conditions.side_by_side,
                variables=conditions.variables.values,
                progress=story.working,
            )
            seconds = time.monotonic() - started
            environment.discard()
            _check_tests_ran(reproduction, run)
            story.done("isolated", _isolation_line(run.isolation))
            if run.isolation.files == "none":
                story.done(
                    "not held in", "the script could read and write what you can: read it before you run it"
                )
            recipe = _recipe(
                lock,
                reproduction,
                run,
                store=store,
                conditions=conditions,
                installed_files=environment.installed_files,
            )
            assembled = assemble(recipe, run.repeats)
    story.done("ran", _ran_line(assembled.manifest, seconds))
    if assembled.manifest.redactions:
        story.done("redacted", f"{assembled.manifest.redactions} texts that look like secrets")
    refuse_secrets(assembled, conditions)
    for line in _varied_lines(assembled):
        story.done("differs", line)
    return assembled


def _varied_lines(assembled: UnsignedBundle) -> Iterator[str]:
    """What the repeats printed otherwise, where that is all that differs."""
    if not any(each.agreement == "text" for each in assembled.manifest.recordings):
        return
    yield "only what the script printed differs between the repeats:"
    for one, other in assembled.varied[:_MAX_VARIED]:
        yield f"`{one.strip()[:100]}` / `{other.strip()[:100]}`"
    if len(assembled.varied) > _MAX_VARIED:
        yield f"and {len(assembled.varied) - _MAX_VARIED} more lines"


def _recipe(
    lock: Lock,
    reproduction: Reproduction,
    run: runner.Observation,
    *,
    store: WheelStore,
    conditions: Conditions,
    installed_files: int,
) -> Recipe:
    wanted = SecretPatterns(host_secrets(os.environ), patterns(conditions.redact_patterns))
    source = reproduction.source
    return Recipe(
        lock=lock,
        installed_files=installed_files,
        isolation=run.isolation,
        recorder_sha256=run.recorder_sha256,
        entry=source.entry,
        arguments=source.arguments,
        tests=source.tests,
        requires=reproduction.extra,
        files=run.files,
        header=reproduction.header,
        wheel=store.read(lock.target.sha256),
        expectations=reproduction.expectations,
        allow_sdk_changes=conditions.allow_sdk_changes,
        redact=wanted if conditions.redact else None,
        variables=conditions.variables,
    )


def _check_tests_ran(reproduction: Reproduction, run: runner.Observation) -> None:
    source = reproduction.source
    for repeat in run.repeats:
        for raw in repeat.values():
            error = test_results.refusal(raw.events, root=source.root, tests=source.tests)
            if error is not None:
                raise error


def refuse_secrets(assembled: UnsignedBundle, conditions: Conditions) -> None:
    """Refuse a recording that holds a secret.

    Raises:
        CannotDoError: it does; the places are named, never the secret.
    """
    values = {**host_secrets(os.environ), **conditions.variables.masked}
    # What was given as public may be recorded, whatever it is called.
    shown_on_purpose = {conditions.variables.values[name] for name in conditions.variables.public}
    values = {name: value for name, value in values.items() if value not in shown_on_purpose}
    wanted = SecretPatterns(values, patterns(conditions.redact_patterns))
    files = [("manifest.json", assembled.bundle.manifest)]
    files += [
        (path, data) for path, data in assembled.bundle.members.items() if not path.startswith("wheels/")
    ]
    seen = list(find_secrets(files, wanted=wanted))
    if seen:
        # A file's name may be one.
        shown = Redactor(wanted)
        places = "; ".join(f"{shown(each.path)}:{each.line} looks like {each.rule}" for each in seen[:5])
        more = f" and {len(seen) - 5} more" if len(seen) > 5 else ""
        raise CannotDoError(
            f"the recording holds what looks like a secret, so nothing was written: {places}{more}",
            hint="take it out of the script; --redact takes it out of the recording, never out of the script",
        )


def _isolation_line(isolation: Isolation) -> str:
    tested = isolation.self_test.replace("_", " ")
    user = "; user: dropped" if isolation.user == "dropped" else ""
    return f"network: {isolation.network} (self-test: {tested}); files: {isolation.files}{user}"


def _ran_line(document: Manifest, seconds: float) -> str:
    words = {
        "same": "repeats agree",
        "order": "repeats agree but for the order of parallel events",
        "text": "repeats agree but for what the script printed",
        "differ": "repeats differ",
        "single": "not repeated",
    }
    worst = max((each.agreement for each in document.recordings), key=AGREEMENTS.index)
    modes = ", ".join(f"{each.mode} \N{MULTIPLICATION SIGN}{each.repeats}" for each in document.recordings)
    return f"{modes} in {seconds:.1f} s: {words[worst]}"


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")
