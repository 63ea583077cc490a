"""Which releases of a project the user's index has (simple API, PEP 503 and PEP 691).

uv resolves requirements and does not list versions, so the project's one page is asked for here, by
the same settings, credentials, proxies and CA bundles.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import requests
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from ..errors import CannotDoError, UsageError
from ..system.files import read_bounded
from . import index
from .download import index_session
from .interpreters import Interpreter

_ACCEPT: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_DEFAULT: Final = "https://pypi.org/simple"
_MAX_BYTES: Final = 32 * 2**20
_TIMEOUT: Final = (20, 60)


@dataclass(frozen=True)
class Release:
    """A release that has a wheel."""

    version: Version
    yanked: str | None
    """Why it was yanked (may be empty); None where it was not."""
    fits: bool
    """Whether it says that it runs on the interpreter."""


def releases(project: str, *, interpreter: Interpreter) -> tuple[Release, ...]:
    """The releases with a wheel, oldest first, from the first index that has the project.

    Raises:
        UsageError: no index has the project.
        CannotDoError: no index can be reached, or an answer cannot be understood.
    """
    settings = index.index_settings()
    places = list(settings.places)
    chosen = {**os.environ, **settings.environment}
    if not any(chosen.get(each) for each in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_NO_INDEX")):
        places.append(_DEFAULT)
    name = canonicalize_name(project)
    found: dict[Version, Release] = {}
    with index_session(settings) as session:
        for place in places:
            files = list(_files(session, place, name))
            for version, release in _by_version(files, name, interpreter).items():
                found.setdefault(version, release)
            if found:
                break
    if not found:
        raise UsageError(f"no index has a wheel of {name}", hint=f"asked: {', '.join(places) or 'nothing'}")
    return tuple(found[version] for version in sorted(found))


def _files(session: requests.Session, place: str, name: str) -> Iterator[Mapping[str, Any]]:  # Any: JSON
    parts = urlsplit(place)
    if parts.scheme in ("", "file"):
        yield from _local_files(Path(url2pathname(parts.path)), name)
        return
    url = f"{place.rstrip('/')}/{name}/"
    try:
        with session.get(url, headers={"Accept": _ACCEPT}, stream=True, timeout=_TIMEOUT) as answer:
            if answer.status_code in (404, 410):
                return
            answer.raise_for_status()
            data = answer.raw.read(_MAX_BYTES + 1, decode_content=True)
            kind = answer.headers.get("Content-Type", "")
    except requests.RequestException as error:
        raise CannotDoError(
            f"the index cannot be asked for {name}: {index.without_credentials(str(error))}",
            hint="is the network up? proxies and CA bundles are taken from the environment",
        ) from error
    if len(data) > _MAX_BYTES:
        raise CannotDoError(f"the index's page of {name} is larger than {_MAX_BYTES} bytes")
    if "json" in kind:
        try:
            yield from json.loads(data).get("files", [])
        except (ValueError, AttributeError) as error:
            raise CannotDoError(f"the index's page of {name} is not JSON of PEP 691") from error
    else:
        yield from _links(data)


def _local_files(directory: Path, name: str) -> Iterator[Mapping[str, Any]]:  # Any: JSON
    """An index in a directory has a page a project; a find-links directory just has wheels."""
    page = directory / name / "index.html"
    if page.is_file():
        yield from _links(read_bounded(page, limit=_MAX_BYTES, what="index page"))
    elif directory.is_dir():
        yield from ({"filename": path.name} for path in directory.glob("*.whl"))


def _links(page: bytes) -> list[dict[str, object]]:
    parser = _Page()
    parser.feed(page.decode("utf-8", "replace"))
    return parser.files


class _Page(HTMLParser):
    """The links of a PEP 503 page."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[dict[str, object]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            return
        of = dict(attrs)
        filename = unquote(urlsplit(of.get("href") or "").path).rpartition("/")[2]
        self.files.append(
            {
                "filename": filename,
                "yanked": of["data-yanked"] or True if "data-yanked" in of else False,
                "requires-python": of.get("data-requires-python"),
            }
        )


def _by_version(
    files: Iterable[Mapping[str, Any]],  # Any: JSON
    name: str,
    interpreter: Interpreter,
) -> dict[Version, Release]:
    found: dict[Version, Release] = {}
    for file in files:
        try:
            project, version, _, _ = parse_wheel_filename(str(file.get("filename", "")))
        except InvalidWheelFilename:
            continue
        if project != name:
            continue
        yanked = file.get("yanked") or False
        reason = None if yanked is False else (yanked if isinstance(yanked, str) else "")
        release = Release(version, reason, _fits(file.get("requires-python"), interpreter))
        known = found.get(version)
        # A release is yanked when all its wheels are.
        if known is None or (known.yanked is not None and release.yanked is None):
            found[version] = release
    return found


def _fits(requires: object, interpreter: Interpreter) -> bool:
    if not isinstance(requires, str) or not requires:
        return True
    try:
        return SpecifierSet(requires).contains(interpreter.version, prereleases=True)
    except InvalidSpecifier:
        return True
