"""What `--with` names: a release, `latest`, a wheel file, or a checkout with an optional revision."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..environment import checkout, interpreters, wheel_store
from ..errors import UsageError
from ..models.manifest import Origin
from ..sdk import DEFAULT
from .conditions import Conditions
from .progress import Progress

_VERSION: Final = re.compile(r"v?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[A-Za-z0-9.]+)?)")


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
    origin: Origin | None = None
    """Where `wheel` came from, when not just from a file."""
    sha256: str | None = None
    """The SHA-256 that the target wheel must have."""

    @property
    def label(self) -> str:
        """Its name while it has not been recorded: no path of this machine."""
        if self.checkout is not None:
            return f"{self.checkout.name}@{self.revision}" if self.revision else self.checkout.name
        return self.wheel.name if self.wheel is not None else self.text


def parse_release(text: str) -> tuple[str, bool]:
    """The requirement that `--sdk` names, as a version, `latest` or itself; and whether it is the latest."""
    if text == "latest":
        return DEFAULT.distribution, True
    if match := _VERSION.fullmatch(text):
        return f"{DEFAULT.distribution}=={match[1]}", False
    return text, False


def parse_target(text: str, *, dirty: bool = False, option: str = "--with") -> Target:
    """Understand one `--with`; with `dirty`, a checkout without a revision is built as it stands.

    Raises:
        UsageError: it is none of the four.
    """
    release, newest = parse_release(text)
    if newest or release != text:
        return Target(text, requirement=release)
    if text.startswith((f"{DEFAULT.distribution}==", f"{DEFAULT.distribution}[")):
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
            checkout.look(target.checkout, target.revision, dirty=target.dirty)


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


def chosen_target(
    *,
    sdk: str | None,
    wheel: Path | None,
    source: str | None,
    dirty: bool,
    sha256: str | None,
    as_of: str | None,
) -> Target | None:
    """The target that `record` is told; None: the one that the script's header names.

    Raises:
        UsageError: two options name it, or one of them makes no sense.
    """
    given = {"--sdk": sdk, "--wheel": wheel, "--source": source}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} both name the target", hint="give one of them")
    if dirty and source is None:
        raise UsageError("--dirty is about the changes of a checkout", hint="name it: --source DIR --dirty")
    if source is not None:
        return replace(parse_checkout(source, dirty=dirty), sha256=sha256)
    if wheel is not None:
        return Target(wheel.name, wheel=wheel, sha256=sha256)
    if sdk is None:
        return None if sha256 is None else Target("", sha256=sha256)
    requirement, newest = parse_release(sdk)
    # The newest of another day is not the newest of now.
    text = "latest" if newest and as_of is None else requirement
    return Target(text, requirement=requirement, sha256=sha256)


@contextmanager
def built(target: Target, conditions: Conditions, progress: Progress) -> Iterator[Target]:
    """The target with its wheel, where it is a checkout; a wheel that is built lasts as long as the block.

    Raises:
        UsageError: there is no such checkout or commit.
        CannotDoError: it cannot be built.
    """
    if target.checkout is None:
        yield target
        return
    with checkout.built(
        target.checkout,
        target.revision,
        dirty=target.dirty,
        offline=conditions.offline,
        interpreter=interpreters.find(conditions.python),
        store=wheel_store.default_store(),
        progress=progress.working,
    ) as made:
        yield replace(target, wheel=made.wheel, origin=made.origin)
