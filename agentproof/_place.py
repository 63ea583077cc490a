"""Where a recording goes: the repository store above the script, or one zip in the current directory.

A repository store is a directory `bundles/` whose folders are cases:

    bundles/<case>/reproduction.py      the authored script
    bundles/<case>/<version>/           its bundles, without wheels
    bundles/wheels/                     each target wheel once
    bundles/allowed_signers
"""

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from .errors import CannotDoError
from .models.manifest import Manifest

SUFFIX = ".agentproof.zip"
STORE_PYTHON = "cp312"
"""A bundle recorded on another Python carries its tag in the name."""


@dataclass(frozen=True)
class Place:
    """The paths that a recording is written to."""

    archive: Path | None
    directory: Path | None
    wheels: Path | None
    """`bundles/wheels` of the repository store; the directory is then written without its wheel."""


def store_above(script: Path) -> Path | None:
    """The repository store that holds this script, or None."""
    store = script.resolve().parent.parent
    return store if store.name == "bundles" else None


def place_for(document: Manifest, *, script: Path, output: Path | None) -> Place:
    """Where the bundle of `document`, recorded from `script`, is written."""
    if output is not None:
        if output.name.endswith(".zip"):
            return Place(archive=output, directory=None, wheels=None)
        return Place(archive=None, directory=output, wheels=None)
    store = store_above(script)
    version = version_label(document)
    if store is None:
        name = case_name(document.reproduction.title, script)
        return Place(archive=Path(f"{name}-{version}{SUFFIX}"), directory=None, wheels=None)
    case = script.resolve().parent
    return Place(
        archive=Path(f"{case.name}-{version}{SUFFIX}"), directory=case / version, wheels=store / "wheels"
    )


def version_label(document: Manifest) -> str:
    """`0.20.0`, with `+aaff662b` for a wheel that is no release and `-cp311` for another Python."""
    target = document.target
    label = target.version
    if target.origin.kind != "index":
        label = f"{label.replace('+', '.')}+{target.sha256[:8]}"
    major, minor = document.environment.python.version.split(".")[:2]
    tag = f"cp{major}{minor}"
    return label if tag == STORE_PYTHON else f"{label}-{tag}"


def case_name(title: str | None, script: Path) -> str:
    """A name for a case outside of any store: from its title, else from its file."""
    text = unicodedata.normalize("NFKD", title or script.stem).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")[:60] or "reproduction"


def check_writable(*, script: Path, output: Path | None) -> None:
    """Fail before a recording rather than after it.

    Raises:
        CannotDoError: a directory that the recording would be written to cannot be.
    """
    places = [output.parent] if output is not None else [Path()]
    store = store_above(script)
    if output is None and store is not None:
        places += [script.resolve().parent, store / "wheels"]
    for place in places:
        existing = next(each for each in (place.absolute(), *place.absolute().parents) if each.exists())
        if not existing.is_dir():
            raise CannotDoError(f"{existing} is not a directory", hint="choose another place with --output")
        if not os.access(existing, os.W_OK | os.X_OK):
            raise CannotDoError(f"{existing} cannot be written to", hint="choose another place with --output")
