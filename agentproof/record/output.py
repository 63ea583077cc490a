"""Where a recording goes: the repository store above the script, or one zip in the current directory.

A repository store is a directory `bundles/` whose folders are cases:

    bundles/<case>/reproduction.py      the authored script
    bundles/<case>/<version>.agentproof.zip   its bundles, without wheels; or each as a directory
    bundles/wheels/                     each target wheel once
    bundles/allowed_signers
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from ..errors import CannotDoError, UsageError
from ..models.manifest import Manifest
from ..system.files import is_stream
from .selection import ENTRIES

SUFFIX = ".agentproof.zip"
STORE_PYTHON = "cp312"
"""A bundle recorded on another Python carries its tag in the name."""
_LONGEST: Final = 60
_ARCHIVES: Final = frozenset({".tar", ".gz", ".tgz", ".xz", ".bz2", ".7z", ".rar", ".json", ".html", ".md"})
"""Ends of names that nobody gives to a directory."""


@dataclass(frozen=True)
class OutputPaths:
    """The paths that a recording is written to."""

    archive: Path | None
    stored: Path | None
    """A directory, or a zip in the repository store."""
    wheels: Path | None
    """`bundles/wheels` of the repository store; what is stored is then written without its wheel."""


def store_above(script: Path, *, root: Path | None = None) -> Path | None:
    """The repository store that holds this script, or None; `root` where it is not the script's directory."""
    store = _root(script, root).parent
    return store if store.name == "bundles" else None


def _root(script: Path, root: Path | None) -> Path:
    return root.resolve() if root is not None else script.resolve().parent


def place_for(
    document: Manifest, *, script: Path, output: Path | None, root: Path | None = None
) -> OutputPaths:
    """Where the bundle of `document`, recorded from `script` (in `root`), is written."""
    if output is not None:
        if output.name.endswith(".zip") or is_stream(output):
            return OutputPaths(archive=output, stored=None, wheels=None)
        return OutputPaths(archive=None, stored=output, wheels=None)
    store = store_above(script, root=root)
    version = version_label(document)
    # What shows nothing yet does not take the name of what will.
    failed = "-inconclusive" if document.judgement.verdict == "inconclusive" else ""
    if store is None:
        name = case_name(document.reproduction.title, script, root=root, tests=document.reproduction.tests)
        return OutputPaths(archive=Path(f"{name}-{version}{failed}{SUFFIX}"), stored=None, wheels=None)
    case = _root(script, root)
    # As the case has it: directories are for reading recordings in a browser.
    as_directory = any((each / "manifest.json").is_file() for each in case.iterdir() if each.is_dir())
    return OutputPaths(
        archive=Path(f"{case.name}-{version}{failed}{SUFFIX}"),
        stored=case / (version if as_directory else f"{version}{SUFFIX}"),
        wheels=store / "wheels",
    )


def beside(archive: Path, bundle_id: str) -> Path:
    """The zip's name with its bundle id in it, for when the usual name is taken by another recording."""
    return archive.with_name(f"{archive.name.removesuffix(SUFFIX)}-{bundle_id[:8]}{SUFFIX}")


def version_label(document: Manifest) -> str:
    """`0.20.0`, `0.20.0-at-7f7a44f8dc` for a build of a checkout, `0.20.0+aaff662b` for a wheel file, and
    `-cp311` for another Python."""
    target = document.target
    label = target.version
    if target.origin.kind == "checkout" and target.origin.commit is not None:
        changed = f".{target.sha256[:8]}" if target.origin.dirty else ""
        label = f"{label.replace('+', '.')}-at-{target.origin.commit[:10]}{changed}"
    elif target.origin.kind != "index":
        label = f"{label.replace('+', '.')}+{target.sha256[:8]}"
    major, minor = document.environment.python.version.split(".")[:2]
    tag = f"cp{major}{minor}"
    return label if tag == STORE_PYTHON else f"{label}-{tag}"


def case_name(title: str | None, script: Path, *, root: Path | None = None, tests: Sequence[str] = ()) -> str:
    """A name for a case outside of any store: from its title, else its tests, its directory or its file."""
    if title is None and tests:
        return tests_name(tests)
    name = script.stem
    if root is not None:
        name = root.resolve().name if script.name in ENTRIES else f"{root.resolve().name} {name}"
    return _slug(title or name)[:_LONGEST] or "reproduction"


def tests_name(tests: Sequence[str]) -> str:
    """A name for tests, from their files and names; a long one ends in a digest."""
    parts: dict[str, None] = {}
    for test in tests:
        file, _, name = test.partition("::")
        parts.update(dict.fromkeys((_slug(PurePosixPath(file).stem), _slug(name))))
    whole = "-".join(part for part in parts if part)
    if len(whole) <= _LONGEST and len(tests) == 1:
        return whole
    digest = hashlib.sha256("\n".join(tests).encode()).hexdigest()[:8]
    return f"{whole[: _LONGEST - 9].rstrip('-')}-{digest}"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def check_writable(*, script: Path, output: Path | None, root: Path | None = None) -> None:
    """Fail before a recording rather than after it.

    Raises:
        UsageError: what `output` names is there and is no bundle.
        CannotDoError: a directory that the recording would be written to cannot be.
    """
    if output is not None:
        _check_bundle(output)
    places = [output.parent] if output is not None else [Path()]
    store = store_above(script, root=root)
    if output is None and store is not None:
        places += [_root(script, root), store / "wheels"]
    for place in places:
        existing = next(each for each in (place.absolute(), *place.absolute().parents) if each.exists())
        if not existing.is_dir():
            raise CannotDoError(f"{existing} is not a directory", hint="choose another place with --output")
        if not os.access(existing, os.W_OK | os.X_OK):
            raise CannotDoError(f"{existing} cannot be written to", hint="choose another place with --output")


def _check_bundle(output: Path) -> None:
    """That what is at `output` by now is a bundle, an empty directory or nothing."""
    if is_stream(output):
        return
    if output.is_dir():
        if output.name.endswith(".zip"):
            raise UsageError(
                f"--output {output}: that is a directory", hint="name a zip that is not there yet"
            )
        if any(output.iterdir()) and not (output / "manifest.json").is_file():
            raise UsageError(
                f"--output {output}: that directory holds other things than a bundle",
                hint=f"name a directory that is empty or not there yet, such as {output / 'bundle'}",
            )
    elif output.exists() and not output.name.endswith(".zip"):
        raise UsageError(f"--output {output}: that is a file", hint="name a .zip, or a directory")
    elif output.suffix in _ARCHIVES:
        raise UsageError(f"--output {output}: bundles are written as .zip", hint=f"{output.stem}{SUFFIX}")
