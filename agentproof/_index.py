"""uv, and the user's own package index: where it is, how to reach it, and fetching from it.

Rules:
1. Index settings are the user's: uv's (environment, user and system `uv.toml`), and where uv has
   none, pip's (`PIP_*`, `pip.conf`). Project files of the working directory are not read, so that a
   lock does not depend on where it was made.
2. Settings that change what is resolved (constraints, overrides, resolution, pre-releases, …) are
   not the user's to inherit: they are left out of uv's environment and given explicitly.
3. Credentials travel by environment, never by argument list, and are cut from every message.
"""

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import platformdirs

from . import _scratch
from .errors import CannotDoError

_UV_KEEPS: Final = re.compile(
    r"UV_(?:DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|INDEX_STRATEGY"
    r"|INDEX_\w+_(?:USERNAME|PASSWORD)|KEYRING_PROVIDER|INSECURE_HOST|NATIVE_TLS|SYSTEM_CERTS"
    r"|HTTP_TIMEOUT|HTTP_CONNECT_TIMEOUT|REQUEST_TIMEOUT|HTTP_RETRIES|CONFIG_FILE|NO_CONFIG|NO_NETRC"
    r"|CREDENTIALS_DIR|CONCURRENT_DOWNLOADS)"
)
"""uv's settings about where the index is and how to reach it; all other `UV_*` are dropped."""

_DROPPED: Final = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "CLICOLOR_FORCE",
)


@dataclass(frozen=True)
class UvResult:
    """What one call of uv came to."""

    returncode: int
    stdout: str
    stderr: str
    """Without credentials."""


def run_uv(
    arguments: Sequence[str],
    *,
    stdin: str = "",
    files: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = 600,
) -> UvResult:
    """Run uv with the user's index settings, in an empty directory that holds only `files`.

    Raises:
        CannotDoError: uv is not there, or does not end in time.
    """
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and (not name.startswith("UV_") or _UV_KEEPS.fullmatch(name))
    }
    variables |= {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
    variables |= environment or {}
    with _scratch.directory("uv") as nowhere:
        for name, text in (files or {}).items():
            nowhere.joinpath(name).write_text(text, "utf-8")
        try:
            done = subprocess.run(
                [*_dying_with_us(), _uv(), *arguments],
                input=stdin.encode(),
                capture_output=True,
                check=False,
                env=variables,
                cwd=nowhere,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise CannotDoError(
                f"uv {arguments[0]} did not end in {seconds:.0f} s", hint="is the package index slow?"
            ) from error
        except OSError as error:
            raise CannotDoError(f"uv cannot be run: {error.strerror}") from error
    return UvResult(
        returncode=done.returncode,
        stdout=done.stdout.decode(errors="replace"),
        stderr=without_credentials(done.stderr.decode(errors="replace")),
    )


@cache
def _dying_with_us() -> tuple[str, ...]:
    """A prefix that ends the child when this process is killed, where util-linux is installed."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    if setpriv is None:
        return ()
    done = subprocess.run([setpriv, "--help"], capture_output=True, check=False)
    return (setpriv, "--pdeathsig", "KILL", "--") if b"--pdeathsig" in done.stdout else ()


@cache
def _uv() -> str:
    """The uv that comes with this installation."""
    # Imported here: `--help` and `check` need no uv.
    import uv  # noqa: PLC0415

    try:
        return uv.find_uv_bin()
    except FileNotFoundError as error:
        raise CannotDoError("the uv package is installed without its program", hint="reinstall uv") from error


def without_credentials(text: str) -> str:
    """`text` with the user part of every URL cut out."""
    return re.sub(r"(://)[^/@\s`'\"]+@", r"\1", text)


@dataclass(frozen=True)
class IndexSettings:
    """The user's index settings, as uv takes them."""

    environment: Mapping[str, str]
    """What must be added to uv's environment: pip's settings in uv's words; may hold credentials."""
    places: tuple[str, ...]
    """Index URLs and find-links without credentials, in order: what a resolution depends on."""
    credentials: Mapping[tuple[str, str, int | None], tuple[str, str]]
    """(scheme, host, port) → (user, password)."""
    insecure_hosts: frozenset[str]
    keyring: bool


def index_settings() -> IndexSettings:
    """Read the user's index settings from uv's places, else from pip's."""
    named = list(_uv_places())
    environment: dict[str, str] = {}
    insecure = set((os.environ.get("UV_INSECURE_HOST") or "").split())
    keyring = os.environ.get("UV_KEYRING_PROVIDER") == "subprocess"
    pip = {} if named else _pip_settings()
    if pip:
        extra, links = pip.get("extra-index-url", "").split(), pip.get("find-links", "").split()
        index = pip.get("index-url", "").strip()
        if index:
            environment["UV_DEFAULT_INDEX"] = index
        if extra:
            environment["UV_INDEX"] = " ".join(extra)
            # pip takes the best version of all indexes; uv's default is the first index that has the name.
            environment["UV_INDEX_STRATEGY"] = "unsafe-best-match"
        if links:
            environment["UV_FIND_LINKS"] = ",".join(links)
        if pip.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
            environment["UV_NO_INDEX"] = "1"
        if hosts := pip.get("trusted-host", "").split():
            environment["UV_INSECURE_HOST"] = " ".join(hosts)
            insecure |= set(hosts)
        if pip.get("keyring-provider") == "subprocess":
            environment["UV_KEYRING_PROVIDER"], keyring = "subprocess", True
        if proxy := pip.get("proxy"):
            for name in ("HTTPS_PROXY", "HTTP_PROXY"):
                if not os.environ.get(name) and not os.environ.get(name.lower()):
                    environment[name] = proxy
        if (bundle := pip.get("cert")) and not os.environ.get("SSL_CERT_FILE"):
            environment["SSL_CERT_FILE"] = bundle
        named = [(None, url) for url in (*([index] if index else []), *extra, *links)]
    return IndexSettings(
        environment=environment,
        places=tuple(_bare(url) for _, url in named),
        credentials=dict(_credentials(named)),
        insecure_hosts=frozenset(insecure),
        keyring=keyring,
    )


def _bare(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def realm(url: str) -> tuple[str, str, int | None]:
    """What credentials belong to: scheme, host and port, as in uv."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


def _credentials(
    named: list[tuple[str | None, str]],
) -> Iterator[tuple[tuple[str, str, int | None], tuple[str, str]]]:
    for name, url in named:
        parts = urlsplit(url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if name:
            key = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
            user = os.environ.get(f"UV_INDEX_{key}_USERNAME", user)
            password = os.environ.get(f"UV_INDEX_{key}_PASSWORD", password)
        if user or password:
            yield realm(url), (user, password)


def _uv_places() -> Iterator[tuple[str | None, str]]:
    """(index name, URL) of uv's environment variables and of its user and system files."""
    for variable in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"):
        separator = r"[\s,]+" if variable == "UV_FIND_LINKS" else r"\s+"
        for item in re.split(separator, os.environ.get(variable, "").strip()):
            if item:
                # `name=https://…` names an index; a URL's own `=` comes after its `://`.
                name, equals, url = item.partition("=")
                yield (name, url) if equals and re.fullmatch(r"[\w.-]+", name) else (None, item)
    for path in _uv_files():
        for table in _uv_tables(path):
            for index in table.get("index", []):
                if isinstance(index, dict) and isinstance(index.get("url"), str):
                    yield index.get("name"), index["url"]
            if isinstance(url := table.get("index-url"), str):
                yield None, url
            for key in ("extra-index-url", "find-links"):
                yield from ((None, url) for url in table.get(key, []) if isinstance(url, str))


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


def _uv_tables(path: Path) -> Iterator[dict[str, Any]]:  # Any: another tool's configuration
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return  # uv itself reports a broken file, with its place
    yield document
    if isinstance(pip := document.get("pip"), dict):
        yield pip


def _pip_settings() -> dict[str, str]:
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
    wanted = {
        "index-url",
        "extra-index-url",
        "find-links",
        "no-index",
        "trusted-host",
        "keyring-provider",
        "proxy",
        "cert",
    }
    return {name: value for name, value in settings.items() if name in wanted}


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


def with_credentials(url: str, user: str, password: str) -> str:
    """`url` with a user part."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{host}"))
