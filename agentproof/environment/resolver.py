"""Ask uv what a requirement resolves to, and put its refusals into words for the user."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from ..errors import AgentproofError, CannotDoError, UsageError
from . import index, uv
from .interpreters import Interpreter
from .pins import Pin

_SECONDS: Final = 300


@dataclass(frozen=True)
class ResolvedWheel:
    """The one wheel of a package that fits."""

    name: str
    version: str
    filename: str
    sha256: str
    location: str | None
    """Where it can be had: a URL, or the path of a file. Never written anywhere."""
    uploaded: date | None = None
    """The day (UTC), when the index says so."""
    served: bool = True
    """Whether the user's index serves it; else it is a file that was given."""


def rank(filename: str, tags: Sequence[str]) -> tuple[int, tuple[int, str]] | None:
    """How well a wheel fits (less is better), or None when it does not."""
    try:
        _, _, build, of_wheel = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return None
    spelled = {str(tag) for tag in of_wheel}
    for place, tag in enumerate(tags):
        if tag in spelled:
            number, rest = build or (0, "")
            return place, (-number, rest)
    return None


class Resolver:
    """uv's resolver for one interpreter and the user's index."""

    def __init__(self, *, interpreter: Interpreter, settings: index.IndexSettings, cache: Path) -> None:
        self._interpreter = interpreter
        self._settings = settings
        self._cache = cache

    def release(
        self, wanted: Requirement, *, until: date | None = None, constraints: Sequence[str] = ()
    ) -> ResolvedWheel:
        """The newest release that `wanted` allows, whatever it depends on.

        Raises:
            UsageError: there is none, or none for this Python.
            CannotDoError: the index cannot be asked.
        """
        plain = f"{canonicalize_name(wanted.name)}{wanted.specifier}"
        done = self._compile([plain], ["--no-deps", *_until(until)], constraints=constraints)
        if done.returncode != 0:
            self._refuse(done, wanted)
        (only,) = self._pins(done.stdout)
        return only

    def uploaded(self, name: str, version: str) -> date | None:
        """The day that version was uploaded; None when the index does not have it or does not say."""
        done = self._compile([f"{name}=={version}"], ["--no-deps"])
        if done.returncode != 0:
            if _missing(done.stderr):
                return None
            self._refuse(done, Requirement(f"{name}=={version}"))
        return self._pins(done.stdout)[0].uploaded

    def resolve(
        self,
        requirements: Sequence[str],
        *,
        until: date | None,
        constraints: Sequence[str] = (),
        leave_out: Collection[str] = (),
    ) -> tuple[ResolvedWheel, ...]:
        """One wheel for everything that the requirements need, as of the end of the day `until`."""
        done = self._compile(requirements, _until(until), constraints=constraints)
        if done.returncode != 0:
            self._refuse(done, None, until=until)
        # Only a warning of uv's.
        if found := re.search(r"package `([^`]+)` does not have an extra named `([^`]+)`", done.stderr):
            raise UsageError(f"{found[1]} has no extra {found[2]}", hint="check the name of the extra")
        return self._pins(done.stdout, leave_out=leave_out)

    def locate(self, pins: Sequence[Pin]) -> tuple[ResolvedWheel, ...]:
        """Where the index has the packages of a lock that was given.

        Raises:
            UsageError: a version is not there.
            CannotDoError: the index has that version with other digests only, or cannot be asked.
        """
        done = self._compile([f"{pin.name}=={pin.version}" for pin in pins], ["--no-deps"])
        if done.returncode != 0:
            self._refuse(done, None)
        allowed = {pin.name: pin.sha256 for pin in pins}
        return self._pins(done.stdout, allowed=allowed)

    def _compile(
        self, requirements: Sequence[str], options: Sequence[str], *, constraints: Sequence[str] = ()
    ) -> uv.UvResult:
        files = {}
        if constraints:
            files["constraints.txt"] = "\n".join(constraints) + "\n"
            options = [*options, "--constraints", "constraints.txt"]
        return uv.run_uv(
            [
                *("pip", "compile", "-", "--format", "pylock.toml", "--generate-hashes", "--no-header"),
                *("--no-annotate", "--only-binary", ":all:", "--no-sources"),
                *("--python", str(self._interpreter.path), *options),
            ],
            stdin="\n".join(requirements) + "\n",
            files=files,
            environment=self._settings.environment,
            cache=self._cache,
            seconds=_SECONDS,
        )

    def _pins(
        self,
        text: str,
        *,
        leave_out: Collection[str] = (),
        allowed: Mapping[str, frozenset[str]] | None = None,
    ) -> tuple[ResolvedWheel, ...]:
        try:
            packages = tomllib.loads(text).get("packages", [])
        except tomllib.TOMLDecodeError as error:
            raise CannotDoError("uv wrote no pylock.toml", hint="is this a very old uv?") from error
        pins = [
            self._pin(package, allowed)
            for package in packages
            if canonicalize_name(package["name"]) not in leave_out
        ]
        return tuple(sorted(pins, key=lambda pin: pin.name))

    def _pin(
        self,
        package: dict[str, Any],  # Any: one table of uv's TOML
        allowed: Mapping[str, frozenset[str]] | None,
    ) -> ResolvedWheel:
        name, version = canonicalize_name(package["name"]), package.get("version")
        if version is None or not package.get("wheels"):
            raise CannotDoError(
                f"{name} resolves to a directory, archive or repository, not to a wheel of an index",
                hint="choose a release of it with --with",
            )
        fitting = []
        for wheel in package["wheels"]:
            location = wheel.get("url") or wheel.get("path")
            filename = wheel.get("name") or unquote(urlsplit(location).path).rpartition("/")[2]
            place = rank(filename, self._interpreter.tags)
            sha256 = wheel.get("hashes", {}).get("sha256", "").lower()
            if place is not None and sha256 and (allowed is None or sha256 in allowed[name]):
                fitting.append((place, filename, location, wheel))
        if not fitting and allowed is not None:
            raise CannotDoError(
                f"{name} {version}: the index has no wheel with a digest of the lock for Python "
                f"{self._interpreter.version} here",
                hint="choose another with --python, or give the versions only with --like",
            )
        if not fitting:
            raise CannotDoError(
                f"{name} {version} has no wheel with a SHA-256 for Python {self._interpreter.version} here",
                hint=f"choose another version of it (--with '{name}!={version}') or another --python",
            )
        _, filename, location, wheel = min(fitting, key=lambda item: item[:2])
        time = wheel.get("upload-time")
        return ResolvedWheel(
            name=name,
            version=str(version),
            filename=filename,
            sha256=wheel["hashes"]["sha256"].lower(),
            location=location,
            uploaded=time.astimezone(UTC).date() if isinstance(time, datetime) else None,
        )

    def _refuse(
        self, done: uv.UvResult, wanted: Requirement | None, *, until: date | None = None
    ) -> NoReturn:
        raise self._refusal(done.stderr, wanted, until=until)

    def _refusal(self, said: str, wanted: Requirement | None, *, until: date | None) -> AgentproofError:  # noqa: PLR0911 - a table
        reason = _reason(said)
        if re.search(r"401 Unauthorized|403 Forbidden|authentication credentials", said):
            return CannotDoError(
                "the package index asks for credentials, or refuses those that were given",
                hint="give them as for uv or pip: in the index URL, netrc, UV_INDEX_<NAME>_USERNAME and "
                "_PASSWORD, or a keyring",
            )
        if uv.NOT_WRITABLE.search(said):
            return CannotDoError(
                f"uv cannot write its files: {reason}", hint="make room there, or set TMPDIR"
            )
        if re.search(
            r"Failed to fetch|error sending request|[Cc]onnection refused|dns error|timed out", said
        ):
            where = ", ".join(self._settings.places) or "the default index (PyPI)"
            return CannotDoError(
                f"no package index in reach: {reason}",
                hint=f"asked: {where}; uv's and pip's index settings, proxies and CA bundles are honoured; "
                "--offline works when everything is in the cache",
            )
        if unknown := re.search(r"([\w.-]+) was not found in the package registry", said):
            where = f"; asked: {', '.join(self._settings.places)}" if self._settings.places else ""
            return UsageError(f"the index has no project {unknown[1]}", hint=f"check the name{where}")
        if wanted is not None and "there is no version of" in said:
            return UsageError(f"the index has no {wanted}", hint=self._neighbours(wanted))
        if re.search(r"does not satisfy Python|Python ABI tag|platform tag", said):
            return UsageError(
                f"Python {self._interpreter.version} does not fit: {reason}",
                hint="choose another with --python",
            )
        if found := re.search(r"([\w.-]+)(?:==(\S+))? has no (?:usable )?wheels", said):
            return CannotDoError(
                f"{found[1]} {found[2] or ''}".rstrip()
                + " has no wheel on the index, and nothing is built from source",
                hint=f"choose a version that has one (--with '{found[1]}…'), or build one and put it where "
                "UV_FIND_LINKS points",
            )
        if until is not None and "is missing an upload date" in said and _missing(said):
            return CannotDoError(
                f"the index gives no upload times, so nothing can be resolved as of {until}: {reason}",
                hint="choose --as-of now, give --lock FILE, or take the environment of a Python with --like",
            )
        return UsageError(f"cannot be resolved: {reason}", hint="change --with, --as-of, --like or --python")

    def _neighbours(self, wanted: Requirement) -> str:
        """Name the nearest and the newest release, since a version that is not there is mostly a slip."""
        name = canonicalize_name(wanted.name)
        known = []
        pinned = [item.version for item in wanted.specifier if item.operator in ("==", "===")]
        questions: list[tuple[str, tuple[str, ...]]] = [(f"{name}", ())]
        if pinned:
            questions += [(f"{name}<{pinned[0]}", ()), (f"{name}>{pinned[0]}", ("--resolution", "lowest"))]
        for question, options in questions:
            done = self._compile([question], ["--no-deps", *options])
            if done.returncode == 0:
                known.append(self._pins(done.stdout)[0].version)
        if not known:
            return "check the name and the version"
        newest, *nearest = dict.fromkeys(known)
        return f"newest: {newest}" + (f"; nearest: {', '.join(nearest)}" if nearest else "")


def _until(day: date | None) -> list[str]:
    if day is None:
        return []
    # A full timestamp: uv reads a bare date in the machine's own time zone.
    return ["--exclude-newer", f"{(day + timedelta(days=1)).isoformat()}T00:00:00Z"]


def _missing(said: str) -> bool:
    return (
        "there is no version of" in said
        or "there are no versions of" in said
        or "was not found in the package registry" in said
    )


def _reason(said: str) -> str:
    """uv's own explanation, on one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("warning:")]
    text = " ".join(lines).removeprefix("error: ")
    text = re.sub(r"\s*Consider using `exclude-newer-package`.*", "", text)
    return re.sub(r"^No solution found when resolving dependencies\s*(?:cause:)?\s*", "", text)[:1200]
