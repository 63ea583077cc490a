"""The user's own package index: where it is and how to reach it.

Rules:
1. Index settings are the user's: uv's (environment, user and system `uv.toml`), and where uv has
   none, pip's (`PIP_*`, `pip.conf`). Project files of the working directory are not read, so that a
   lock does not depend on where it was made.
2. Settings that change what is resolved (constraints, overrides, resolution, pre-releases, …) are not
   inherited (`uv`).
3. Credentials travel by environment, never by argument list, and are cut from every message.
"""

import configparser
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import platformdirs

from ..errors import CannotDoError


def without_credentials(text: str) -> str:
    """`text` with the user part of every URL cut out."""
    return re.sub(r"(://)[^/@\s`'\"]+@", r"\1", text)


@dataclass(frozen=True)
class IndexLocation:
    """An index, or a place with links to files."""

    url: str
    """May hold credentials."""
    name: str | None = None
    """uv's name for it, by which credentials are given in the environment."""


@dataclass(frozen=True)
class _Settings:
    """What one source of settings says; None and empty where it says nothing."""

    default: IndexLocation | None = None
    indexes: tuple[IndexLocation, ...] = ()
    links: tuple[IndexLocation, ...] = ()
    no_index: bool = False
    strategy: str | None = None
    keyring: bool = False
    insecure: tuple[str, ...] = ()
    system_certs: bool = False
    proxy: str | None = None
    certificates: str | None = None

    @property
    def places(self) -> tuple[IndexLocation, ...]:
        return (*([self.default] if self.default else ()), *self.indexes, *self.links)


@dataclass(frozen=True)
class IndexSettings:
    """The user's index settings, as uv takes them."""

    environment: Mapping[str, str]
    """What uv's environment must hold; may hold credentials."""
    places: tuple[str, ...]
    """Index URLs and find-links without credentials, in order: what a resolution depends on."""
    credentials: Mapping[tuple[str, str, int | None], tuple[str, str]]
    """(scheme, host, port) → (user, password)."""
    insecure_hosts: frozenset[str]
    keyring: bool


def index_settings() -> IndexSettings:
    """Read the user's index settings from uv's places, else from pip's."""
    found = _merged([_uv_environment(), *(_uv_file(path) for path in _uv_files())])
    if not found.places and not found.no_index:
        pip = _pip()
        found = _merged([replace(found, proxy=pip.proxy, certificates=pip.certificates), pip])
    return IndexSettings(
        environment=_as_environment(found),
        places=(*(_bare(place.url) for place in found.places), *(["--no-index"] if found.no_index else [])),
        credentials=dict(_credentials(found.places)),
        insecure_hosts=frozenset(found.insecure),
        keyring=found.keyring,
    )


def _merged(sources: Sequence[_Settings]) -> _Settings:
    """uv's precedence: the first default wins, lists are joined in order."""
    return _Settings(
        default=next((each.default for each in sources if each.default), None),
        indexes=tuple(place for each in sources for place in each.indexes),
        links=tuple(place for each in sources for place in each.links),
        no_index=any(each.no_index for each in sources),
        strategy=next((each.strategy for each in sources if each.strategy), None),
        keyring=any(each.keyring for each in sources),
        insecure=tuple(host for each in sources for host in each.insecure),
        system_certs=any(each.system_certs for each in sources),
        proxy=next((each.proxy for each in sources if each.proxy), None),
        certificates=next((each.certificates for each in sources if each.certificates), None),
    )


def _as_environment(found: _Settings) -> dict[str, str]:
    """The settings in uv's variables, and nothing else of its files."""
    variables = {
        "UV_DEFAULT_INDEX": _spelled(found.default) if found.default else "",
        "UV_INDEX": " ".join(_spelled(place) for place in found.indexes),
        "UV_FIND_LINKS": ",".join(place.url for place in found.links),
        "UV_NO_INDEX": "1" if found.no_index else "",
        "UV_INDEX_STRATEGY": found.strategy or "",
        "UV_KEYRING_PROVIDER": "subprocess" if found.keyring else "",
        "UV_INSECURE_HOST": " ".join(found.insecure),
        # The newer name and the older one.
        "UV_SYSTEM_CERTS": "1" if found.system_certs else "",
        "UV_NATIVE_TLS": "1" if found.system_certs else "",
    }
    if found.proxy:
        for name in ("HTTPS_PROXY", "HTTP_PROXY"):
            if not os.environ.get(name) and not os.environ.get(name.lower()):
                variables[name] = found.proxy
    if found.certificates and not os.environ.get("SSL_CERT_FILE"):
        variables["SSL_CERT_FILE"] = found.certificates
    return {name: value for name, value in variables.items() if value}


def _spelled(place: IndexLocation) -> str:
    return f"{place.name}={place.url}" if place.name else place.url


def _bare(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def realm(url: str) -> tuple[str, str, int | None]:
    """What credentials belong to: scheme, host and port, as in uv."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


def _credentials(
    places: Sequence[IndexLocation],
) -> Iterator[tuple[tuple[str, str, int | None], tuple[str, str]]]:
    for place in places:
        parts = urlsplit(place.url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if place.name:
            key = re.sub(r"[^A-Za-z0-9]", "_", place.name).upper()
            user = os.environ.get(f"UV_INDEX_{key}_USERNAME", user)
            password = os.environ.get(f"UV_INDEX_{key}_PASSWORD", password)
        if user or password:
            yield realm(place.url), (user, password)


_NAMED: Final = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)=(?P<url>.+)")
"""uv's `name=https://…`; in a bare URL the first `=` comes after a colon or slash."""


def _place(text: str) -> IndexLocation:
    match = _NAMED.fullmatch(text)
    return IndexLocation(match["url"], match["name"]) if match else IndexLocation(text)


def _uv_environment() -> _Settings:
    def words(variable: str, separator: str = r"\s+") -> tuple[str, ...]:
        return tuple(filter(None, re.split(separator, os.environ.get(variable, ""))))

    default = (*words("UV_DEFAULT_INDEX"), *words("UV_INDEX_URL"))
    indexes = (*words("UV_INDEX"), *words("UV_EXTRA_INDEX_URL"))
    return _Settings(
        default=_place(default[0]) if default else None,
        indexes=tuple(_place(text) for text in indexes),
        links=tuple(IndexLocation(text) for text in words("UV_FIND_LINKS", r"[\s,]+")),
        no_index=_is_true(os.environ.get("UV_NO_INDEX")),
        strategy=os.environ.get("UV_INDEX_STRATEGY"),
        keyring=os.environ.get("UV_KEYRING_PROVIDER") == "subprocess",
        insecure=words("UV_INSECURE_HOST"),
        system_certs=_is_true(os.environ.get("UV_SYSTEM_CERTS") or os.environ.get("UV_NATIVE_TLS")),
    )


def _is_true(text: object) -> bool:
    return str(text).lower() in {"1", "true", "yes", "on", "y", "t"}


def _uv_file(path: Path) -> _Settings:
    """The index settings of a `uv.toml`, at its top and in its `[pip]` table."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError:
        return _Settings()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotDoError(f"uv's settings {path} are not TOML: {error}", hint="correct the file") from error
    pip = document.get("pip")
    return _merged([_uv_table(pip if isinstance(pip, dict) else {}), _uv_table(document)])


def _uv_table(table: Mapping[str, Any]) -> _Settings:  # Any: another tool's configuration
    def texts(key: str) -> list[str]:
        value = table.get(key, [])
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    indexes = [
        index
        for index in table.get("index", [])
        if isinstance(index, dict) and isinstance(index.get("url"), str)
    ]
    # An explicit index serves only packages that a project assigns to it.
    used = [index for index in indexes if not index.get("explicit")]
    defaults = [IndexLocation(index["url"], index.get("name")) for index in used if index.get("default")]
    if isinstance(url := table.get("index-url"), str):
        defaults.append(IndexLocation(url))
    flat = [IndexLocation(index["url"]) for index in used if index.get("format") == "flat"]
    return _Settings(
        default=defaults[0] if defaults else None,
        indexes=(
            *(
                IndexLocation(index["url"], index.get("name"))
                for index in used
                if not index.get("default") and index.get("format") != "flat"
            ),
            *map(IndexLocation, texts("extra-index-url")),
        ),
        links=(*flat, *map(IndexLocation, texts("find-links"))),
        no_index=table.get("no-index") is True,
        strategy=table["index-strategy"] if isinstance(table.get("index-strategy"), str) else None,
        keyring=table.get("keyring-provider") == "subprocess",
        insecure=tuple(texts("allow-insecure-host")),
        system_certs=table.get("system-certs") is True or table.get("native-tls") is True,
    )


def _uv_files() -> Iterator[Path]:
    if os.environ.get("UV_NO_CONFIG"):
        return
    if explicit := os.environ.get("UV_CONFIG_FILE"):
        yield Path(explicit)
        return
    # uv uses XDG directories on macOS too.
    if sys.platform == "win32":
        yield Path(platformdirs.user_config_dir("uv", appauthor=False, roaming=True)) / "uv.toml"
        yield Path(os.environ.get("PROGRAMDATA", "C:/ProgramData")) / "uv" / "uv.toml"
        return
    yield Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "uv" / "uv.toml"
    for directory in (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":"):
        yield Path(directory) / "uv" / "uv.toml"
    yield Path("/etc/uv/uv.toml")


def _pip() -> _Settings:
    """pip's settings by its precedence: environment, then site, user and system files."""
    settings: dict[str, str] = {}
    for path in _pip_files():
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue  # pip itself reports a broken file
        for section in ("global", "download", "install"):
            if parser.has_section(section):
                settings |= {name.replace("_", "-"): value for name, value in parser.items(section) if value}
    for name, value in os.environ.items():
        if name.startswith("PIP_") and value:
            settings[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    index, extra = settings.get("index-url", "").split(), settings.get("extra-index-url", "").split()
    return _Settings(
        default=IndexLocation(index[0]) if index else None,
        indexes=tuple(map(IndexLocation, extra)),
        links=tuple(map(IndexLocation, settings.get("find-links", "").split())),
        no_index=_is_true(settings.get("no-index")),
        # pip takes the best version of all its indexes; uv's default is the first index that has the name.
        strategy="unsafe-best-match" if extra else None,
        keyring=settings.get("keyring-provider") == "subprocess",
        insecure=tuple(settings.get("trusted-host", "").split()),
        proxy=settings.get("proxy"),
        certificates=settings.get("cert"),
    )


def _pip_files() -> Iterator[Path]:
    """Least precedence first (pip's own order)."""
    explicit = os.environ.get("PIP_CONFIG_FILE")
    if explicit == os.devnull:
        return
    name = "pip.ini" if os.name == "nt" else "pip.conf"
    for directory in platformdirs.site_config_dir("pip", appauthor=False, multipath=True).split(os.pathsep):
        yield Path(directory) / name
    if os.name != "nt":
        yield Path("/etc") / name
    yield Path.home() / ("pip" if os.name == "nt" else ".pip") / name
    yield Path(platformdirs.user_config_dir("pip", appauthor=False, roaming=True)) / name
    yield Path(sys.prefix) / name
    if explicit:
        yield Path(explicit)
