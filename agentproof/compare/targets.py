"""What `--with` names: a release, `latest`, a wheel file, or a checkout with an optional revision."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..environment import checkout as _checkout
from ..environment import dates, interpreters, wheel_store
from ..errors import UsageError
from ..models.manifest import LATEST
from ..record.observe import Progress
from ..record.recording import Request

_VERSION: Final = re.compile(r"v?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[A-Za-z0-9.]+)?)")
DISTRIBUTION: Final = "openai-agents"


@dataclass(frozen=True)
class Target:
    """A target as it was asked for; nothing was looked up yet."""

    text: str
    requirement: str | None = None
    wheel: Path | None = None
    checkout: Path | None = None
    revision: str | None = None
    dirty: bool = False
    """Take the checkout as it stands, with what is not committed."""

    @property
    def label(self) -> str:
        """Its name while it has not been recorded: no path of this machine."""
        if self.checkout is not None:
            return f"{self.checkout.name}@{self.revision}" if self.revision else self.checkout.name
        return self.wheel.name if self.wheel is not None else self.text


def parse_release(text: str) -> tuple[str, bool]:
    """The requirement that `--sdk` names, as a version, `latest` or itself; and whether it is the latest."""
    if text == "latest":
        return DISTRIBUTION, True
    if match := _VERSION.fullmatch(text):
        return f"{DISTRIBUTION}=={match[1]}", False
    return text, False


def parse_target(text: str, *, dirty: bool = False, option: str = "--with") -> Target:
    """Understand one `--with`; with `dirty`, a checkout without a revision is built as it stands.

    Raises:
        UsageError: it is none of the four.
    """
    release, newest = parse_release(text)
    if newest or release != text:
        return Target(text, requirement=release)
    if text.startswith((f"{DISTRIBUTION}==", f"{DISTRIBUTION}[")):
        return Target(text, requirement=text)
    if text.endswith(".whl"):
        if not Path(text).is_file():
            raise UsageError(f"{option} {text}: no such file", hint="give a version, a wheel or a checkout")
        return Target(text, wheel=Path(text))
    found = _checkout_named(text)
    if found is not None:
        return replace(found, dirty=dirty and found.revision is None)
    if os.sep in text:
        directory, _, revision = text.rpartition("@")
        place = text if not directory or os.sep in revision else directory
        raise UsageError(
            f"{option} {text}: there is no directory {place}", hint="a checkout is given as DIR or DIR@REV"
        )
    raise UsageError(
        f"{option} {text}: neither a version, a wheel file nor a checkout",
        hint="such as 0.21.0, latest, dist/openai_agents-0.21.1-py3-none-any.whl or ../checkout@main",
    )


def check_targets(targets: Sequence[Target]) -> None:
    """Look every checkout up, so that a slip in one is said before anything is recorded or built.

    Raises:
        UsageError: there is no such checkout or commit, or it has changes and is not to be dirty.
    """
    for target in targets:
        if target.checkout is not None:
            _checkout.look(target.checkout, target.revision, dirty=target.dirty)


def parse_checkout(text: str, *, dirty: bool = False) -> Target:
    """Understand `record --source DIR[@REV]`.

    Raises:
        UsageError: there is no such directory, or a commit cannot be dirty.
    """
    found = _checkout_named(text)
    if found is None:
        raise UsageError(f"--source {text}: no such directory", hint="give a checkout: DIR or DIR@REV")
    if dirty and found.revision is not None:
        raise UsageError(f"--source {text}: a commit has no changes", hint="leave out --dirty, or @REV")
    return replace(found, dirty=dirty)


def _checkout_named(text: str) -> Target | None:
    # A directory may have an @ in its name; a revision never begins with a slash.
    if text and Path(text).is_dir():
        return Target(text, checkout=Path(text).resolve())
    directory, at, revision = text.rpartition("@")
    if at and revision and Path(directory).is_dir():
        return Target(text, checkout=Path(directory).resolve(), revision=revision)
    return None


@contextmanager
def request_for(base: Request, target: Target, story: Progress) -> Iterator[Request]:
    """The request that records `base` on `target`; a wheel that is built for it lasts as long as the block.

    Raises:
        UsageError: there is no such checkout or commit.
        CannotDoError: it cannot be built.
    """
    if target.checkout is not None:
        interpreter = interpreters.find(base.python)
        with _checkout.built(
            target.checkout,
            target.revision,
            dirty=target.dirty,
            offline=base.offline,
            interpreter=interpreter,
            store=wheel_store.default_store(),
            progress=story.working,
        ) as made:
            yield replace(base, wheel=made.wheel, origin=made.origin, sdk=None)
    elif target.wheel is not None:
        yield replace(base, wheel=target.wheel, origin=None, sdk=None)
    else:
        # The newest release is that of now, whatever day its neighbours are locked as of.
        newest = target.text == LATEST
        as_of = dates.NOW if newest else base.as_of
        yield replace(base, sdk=target.requirement, wheel=None, as_of=as_of, newest=newest)
