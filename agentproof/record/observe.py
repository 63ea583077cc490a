"""Run a reproduction in the environment of a lock and assemble what was seen, unsigned.

Record, replay, compare, bisect and matrix differ in where the lock comes from and in what they do
with the result; between the two they all come through `observe`.
"""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pydantic_core

from ..bundle.store import MANIFEST, WHEELS, Bundle, is_limit, refused
from ..environment import venv
from ..environment.locking import Lock
from ..environment.wheel_store import WheelStore
from ..errors import BundleError, CannotDoError, RecorderError
from ..isolation import levels, runner
from ..live.keys import find_key
from ..models.manifest import Isolation, Manifest
from ..models.wire import first_problem
from ..sdk import KNOWN
from . import live, notebook, test_results
from .assemble import AGREEMENTS, assemble
from .beside import tell_files
from .conditions import Conditions
from .progress import Progress
from .reproduction import Reproduction
from .secrets import Redactor, SecretMatch, SecretPatterns, find_secrets, host_secrets, patterns
from .variables import check_unwritten

_MAX_VARIED = 3
"""Lines shown of those that differ."""


def observe(
    lock: Lock, reproduction: Reproduction, *, store: WheelStore, conditions: Conditions, progress: Progress
) -> Bundle:
    """Build the environment of `lock`, run the script in it under isolation, and judge what happened.

    Raises:
        CannotDoError: the environment cannot be built or isolated as asked for, or a secret was seen.
        RecorderError: our own recorder failed.
    """
    check_unwritten(conditions.variables, reproduction.files, reproduction.arguments)
    varied: list[tuple[str, str]] = []
    if reproduction.script.suffix == notebook.SUFFIX:
        progress.done("named", f"{reproduction.entry} in the bundle: the notebook's cells, as a script")
        if reproduction.left_out:
            progress.done("left out", f"{'; '.join(reproduction.left_out)} (--with REQUIREMENT installs)")
    elif reproduction.entry.rpartition("/")[2] not in ("", reproduction.script.name):
        progress.done("named", f"{reproduction.entry} in the bundle, whose names are ASCII")
    with ThreadPoolExecutor(max_workers=1) as beside:
        choosing = beside.submit(levels.choose, conditions.require_isolation)
        if conditions.require_isolation is not None:
            choosing.result()  # what cannot be had is said before anything is built
        with venv.prepare(lock, store, progress=progress.working) as environment:
            progress.done(
                "built",
                f"venv in {environment.seconds:.1f} s; {_spaced(environment.installed_files)} installed "
                "files match their wheels' RECORD",
            )
            isolation = choosing.result()
            if conditions.live is not None or reproduction.exchanges is not None:
                live.check_isolated(isolation)
            if reproduction.only_entry:
                progress.working(_left_out(reproduction))
            progress.working("running the tests" if reproduction.tests else "running the script")
            mask = mask_of(conditions)
            if conditions.live is not None and reproduction.exchanges is None:
                reproduction = live.ask(
                    environment,
                    reproduction,
                    conditions.live,
                    target=lock.target,
                    isolation=isolation,
                    limits=conditions.limits,
                    variables=conditions.variables,
                    redact=mask,
                    progress=progress,
                )
            started = time.monotonic()
            run = runner.run_recordings(
                environment,
                reproduction,
                sdk=KNOWN[lock.target.name],
                isolation=isolation,
                limits=conditions.limits,
                repeats=conditions.repeats,
                side_by_side=conditions.side_by_side,
                variables=conditions.variables.values,
                progress=progress.working,
                provider=live.sealed(reproduction.exchanges, mask=mask),
            )
            seconds = time.monotonic() - started
            environment.discard()
            _check_tests_ran(reproduction, run)
            progress.done("observed", _observed_line(run))
            progress.done("isolated", _isolation_line(run.isolation))
            if run.isolation.files == "none":
                progress.done(
                    "not held in", "the script could read and write what you can: read it before you run it"
                )
            bundle = _assembled(
                lock,
                reproduction,
                run,
                wheel=store.read(lock.target.sha256),
                installed_files=environment.installed_files,
                allow_sdk_changes=conditions.allow_sdk_changes,
                redact=_secrets_wanted(conditions) if conditions.redact else None,
                variables=conditions.variables,
                provider=live.provider_of(reproduction.exchanges, run),
                varied=varied,
            )
    progress.done("sealed" if reproduction.exchanges else "ran", _ran_line(bundle.document, seconds))
    if bundle.document.provider is not None:
        for line in bundle.document.provider.asked_otherwise():
            progress.done("asked", line)
    tell_files(
        bundle.document.reproduction.files,
        reproduction,
        run,
        progress,
        shown=Redactor(_secrets_wanted(conditions)),
    )
    if bundle.document.redactions:
        progress.done("redacted", f"{bundle.document.redactions} texts that look like secrets")
    refuse_secrets(bundle, conditions)
    for line in _varied_lines(bundle, tuple(dict.fromkeys(varied))):
        progress.done("differs", line)
    return bundle


def _varied_lines(bundle: Bundle, varied: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What the repeats printed otherwise, where that is all that differs."""
    if not any(each.agreement == "text" for each in bundle.document.recordings):
        return
    yield "only what the script printed differs between the repeats:"
    for one, other in varied[:_MAX_VARIED]:
        yield f"`{one.strip()[:100]}` / `{other.strip()[:100]}`"
    if len(varied) > _MAX_VARIED:
        yield f"and {len(varied) - _MAX_VARIED} more lines"


def _assembled(
    lock: Lock, reproduction: Reproduction, run: runner.Observation, **given: Any
) -> Bundle:  # Any: what `assemble` takes
    """As `assemble`, with what a reader would refuse told as a limit, or as a fault of ours."""
    try:
        return assemble(lock, reproduction, run, **given)
    except BundleError as error:
        if is_limit(error.reason):
            raise refused(error) from error
        raise RecorderError(f"what was recorded cannot be written: {error.message}") from error
    except pydantic_core.ValidationError as error:
        raise RecorderError(f"what was recorded cannot be written: {first_problem(error)}") from error


def _left_out(reproduction: Reproduction) -> str:
    what = "the script runs without the files beside it, but for the modules that it imports"
    if reproduction.tests:
        what = "the tests run with the folders at its top that hold them, and the files beside these"
    return f"{reproduction.directory or reproduction.script.parent} is too large to be copied: {what}"


def _secrets_wanted(conditions: Conditions) -> SecretPatterns:
    keys = conditions.live.keys if conditions.live is not None else {}
    values = {**host_secrets(os.environ), **conditions.variables.masked, **keys}
    # What was given as public may be recorded, whatever it is called.
    public = {conditions.variables.values[name] for name in conditions.variables.public}
    wanted = {name: value for name, value in values.items() if value not in public}
    return SecretPatterns(wanted, patterns(conditions.redact_patterns))


def mask_of(conditions: Conditions) -> Redactor | None:
    """What is taken out of a provider's recorded answers, and of what is asked to be given them; None:
    nothing."""
    masked = conditions.variables.masked
    if not conditions.redact and not masked:
        return None
    wanted = _secrets_wanted(conditions) if conditions.redact else SecretPatterns({})
    return Redactor(wanted, variables=masked, shapes=conditions.redact)


def _check_tests_ran(reproduction: Reproduction, run: runner.Observation) -> None:
    for repeat in run.repeats:
        for raw in repeat.values():
            error = test_results.refusal(raw.events, reproduction.files, tests=reproduction.tests)
            if error is not None:
                raise error


def refuse_secrets(bundle: Bundle, conditions: Conditions) -> None:
    """Refuse a recording that holds a secret.

    Raises:
        CannotDoError: it does; the places are named, never the secret.
    """
    wanted = _secrets_wanted(conditions)
    files = [(MANIFEST, bundle.manifest)]
    files += [(path, data) for path, data in bundle.members.items() if not path.startswith(WHEELS)]
    seen = list(find_secrets(files, wanted=wanted))
    keys = conditions.live.keys if conditions.live is not None else {}
    hidden = ((path, find_key(data, keys)) for path, data in files)
    seen += [SecretMatch(path, 1, f"the key in {name}, spelled in some way") for path, name in hidden if name]
    if seen:
        # A file's name may be one.
        shown = Redactor(wanted)
        places = "; ".join(f"{shown(each.path)}:{each.line} looks like {each.rule}" for each in seen[:5])
        more = f" and {len(seen) - 5} more" if len(seen) > 5 else ""
        raise CannotDoError(
            f"the recording holds what looks like a secret, so nothing was written: {places}{more}",
            hint="take it out of the script; --redact takes it out of the recording, never out of the script",
        )


def _observed_line(run: runner.Observation) -> str:
    """What looking cost the recording that it cost most."""
    worst = max(
        (raw for repeat in run.repeats for raw in repeat.values()),
        key=lambda raw: raw.observed_ms / max(raw.passed_ms, 1),
    )
    return f"in {_spaced(worst.observed_ms)} ms of {worst.passed_ms / 1000:.1f} s"


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
    answered = " answered from the recording" if document.provider is not None else ""
    return f"{modes}{answered} in {seconds:.1f} s: {words[worst]}"


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")
