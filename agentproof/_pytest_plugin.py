"""The pytest plugin: bundles as regression tests.

    pytest bundles/ --agentproof-target installed

Each bundle below the given paths is one test: its reproduction is recorded on the target, and the test
fails in the claims that are violated there. Without the option nothing is collected. Several bundles of one
reproduction are one test. Everything else of agentproof is imported when the first test runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .store import Bundle

_HEAD = b'"format": "agentproof/bundle"'
_MAX_MANIFEST = 4 * 2**20
_SUFFIX = ".agentproof.zip"


class ViolationError(Exception):
    """The reproduction shows violations on the target; the text names them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one option."""
    group = parser.getgroup("agentproof")
    group.addoption(
        "--agentproof-target",
        metavar="TARGET",
        help="Run collected bundles as regression tests on this: `installed` (the release in this "
        "environment), a version, `latest`, a wheel file, or a checkout as DIR or DIR@REV.",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A bundle, as its zip or by its manifest."""
    if parent.config.getoption("--agentproof-target") is None:
        return None
    if file_path.name.endswith(_SUFFIX):
        return _File.from_parent(parent, path=file_path)
    if file_path.name == "manifest.json" and _is_manifest(file_path):
        return _File.from_parent(parent, path=file_path)
    return None


def _is_manifest(path: Path) -> bool:
    if path.stat().st_size > _MAX_MANIFEST:
        return False
    return _HEAD in path.read_bytes()


_SEEN = pytest.StashKey[set[str]]()


class _File(pytest.File):
    """One bundle."""

    def collect(self) -> Iterable[pytest.Item]:
        from .compare import find_subjects
        from .errors import AgentproofError
        from .models.manifest import Manifest
        from .report._groups import reproduction_key

        bundle = self.path.parent if self.path.name == "manifest.json" else self.path
        try:
            (subject,) = find_subjects(bundle)
        except AgentproofError as error:
            raise self.CollectError(f"{error.message}\n{error.hint or ''}") from error
        if subject.bundle is None:
            raise self.CollectError(f"{bundle}: no bundle")
        seen = self.config.stash.setdefault(_SEEN, set())
        script = reproduction_key(Manifest.from_bytes(subject.bundle.manifest))
        if script not in seen:
            seen.add(script)
            yield _Item.from_parent(self, name=subject.name, subject=subject)


class _Item(pytest.Item):
    """A bundle's reproduction on the target."""

    def __init__(self, *, subject: Any, **kwargs: Any) -> None:  # Any: as pytest passes it on
        super().__init__(**kwargs)
        self.subject = subject
        self.target: str = self.config.getoption("--agentproof-target")

    def runtest(self) -> None:
        told = list(_told(record_on(self.subject, self.target)))
        if told:
            raise ViolationError("\n".join(told))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from ._render import printable
        from .errors import AgentproofError

        if isinstance(excinfo.value, ViolationError):
            return str(excinfo.value)
        if isinstance(excinfo.value, AgentproofError):
            hint = f"\nnext: {printable(excinfo.value.hint)}" if excinfo.value.hint else ""
            return f"could not be recorded on {self.target}: {printable(excinfo.value.message)}{hint}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.name} on {self.target}"


class _Silence:
    """Nobody listens to the steps of a recording."""

    def working(self, text: str) -> None:
        """A step has begun."""

    def done(self, label: str, text: str) -> None:
        """A step is done."""


def record_on(subject: Any, target: str) -> Bundle:  # Any: a compare.Subject, imported late
    """The reproduction recorded on the target; signed by a key that is thrown away, for nobody keeps it.

    Raises:
        AgentproofError: it could not be recorded.
    """
    from . import compare, signing
    from ._targets import parse_target, request_for
    from .record import record

    story = _Silence()
    key = signing.generate_key()
    recorder = compare.Recorder(compare.Options(), key=key, story=story)
    version = _installed_version() if target == "installed" else target
    with recorder.request_of(subject) as asked:
        # "As installed" are the versions of everything, on this very interpreter.
        base = replace(asked, like=sys.executable, python=None) if target == "installed" else asked
        with request_for(base, parse_target(version), story) as request:
            return record(request, key=key, story=story).bundle


def _installed_version() -> str:
    """The release of the SDK in this environment.

    Raises:
        CannotDoError: there is none, or it is not one of the index.
    """
    from ._targets import DISTRIBUTION
    from .errors import CannotDoError

    try:
        found = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError as error:
        raise CannotDoError(f"{DISTRIBUTION} is not installed here", hint="name a target") from error
    if found.read_text("direct_url.json") is not None:
        raise CannotDoError(
            f"{DISTRIBUTION} here is not from an index",
            hint="--agentproof-target WHEEL, or DIR of its checkout",
        )
    return found.version


def _told(bundle: Bundle) -> Iterator[str]:
    """What is violated, in words; nothing where the verdict holds."""
    from . import claims
    from .judge import explain_reason
    from .models.manifest import Manifest
    from .report._text import visible

    manifest = Manifest.from_bytes(bundle.manifest)
    judgement, target = manifest.judgement, manifest.target
    if judgement.verdict == "holds":
        return
    yield f"{judgement.verdict} on {target.name} {target.version}"
    yield from map(explain_reason, judgement.reasons)
    for claim in judgement.claims if judgement.verdict == "violated" else ():
        for finding in claim.because if claim.status == "violated" else ():
            where = f" at {finding.pointer}" if finding.pointer is not None else ""
            yield visible(f"{claim.id} ({claim.mode}): {claims.explain(claim, finding)}{where}")
