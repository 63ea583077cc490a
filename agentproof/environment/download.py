"""Fetch wheels into the store, in parallel, each checked against the SHA-256 of the lock.

A URL and its credentials live only in memory. Proxies and netrc are found by requests, as for pip; trusted
are the certificates of the system, of certifi, and of `SSL_CERT_FILE` or `REQUESTS_CA_BUNDLE`. More rests
on the SHA-256 than on the connection.
"""

import hashlib
import os
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
import requests.adapters
import urllib3
import urllib3.exceptions
import urllib3.util

from ..errors import CannotDoError
from .index import IndexSettings, realm, without_credentials
from .wheel_store import Provenance, WheelStore

_PARALLEL: Final = 8
_CHUNK: Final = 2**18
_TIMEOUT: Final = (20, 120)
"""Seconds to connect, and between two reads."""


@dataclass(frozen=True)
class WheelRequest:
    """A wheel to fetch."""

    name: str
    """The project, normalised."""
    filename: str
    sha256: str
    location: str
    """A URL, or the path of a file."""
    served: bool = True
    """Whether it comes from the user's index."""


def fetch(
    wanted: Sequence[WheelRequest],
    *,
    store: WheelStore,
    settings: IndexSettings,
    progress: Callable[[str], None],
) -> None:
    """Bring every wheel into the store.

    Raises:
        CannotDoError: an index refuses or cannot be reached, or a wheel's bytes differ from the lock.
    """
    if not wanted:
        return
    progress(f"fetching {len(wanted)} wheels")
    stopped = Event()
    with (
        ThreadPoolExecutor(max_workers=min(_PARALLEL, len(wanted))) as pool,
        closing(index_session(settings)) as session,
    ):
        jobs = [
            pool.submit(_fetch_one, item, store=store, session=session, stopped=stopped) for item in wanted
        ]
        try:
            for count, job in enumerate(jobs, start=1):
                job.result()
                if count % 10 == 0 and count < len(jobs):
                    progress(f"fetched {count} of {len(jobs)} wheels")
        except BaseException:
            stopped.set()
            for job in jobs:
                job.cancel()
            raise


def _fetch_one(item: WheelRequest, *, store: WheelStore, session: requests.Session, stopped: Event) -> None:
    digest = hashlib.sha256()
    with store.receive(
        name=item.filename,
        provenance=Provenance(origin="index", project=item.name)
        if item.served
        else Provenance(origin="file"),
    ) as incoming:
        with incoming.path.open("wb") as stream:
            for chunk in _chunks(item, session):
                if stopped.is_set():
                    raise CannotDoError(f"{item.filename} was not fetched to its end")
                digest.update(chunk)
                stream.write(chunk)
        if digest.hexdigest() != item.sha256:
            raise CannotDoError(
                f"{item.filename} should have SHA-256 {item.sha256} and has {digest.hexdigest()}",
                hint="try again; if it stays so, the index or a proxy alters files",
            )


def _chunks(item: WheelRequest, session: requests.Session) -> Iterator[bytes]:
    parts = urlsplit(item.location)
    if parts.scheme in ("", "file") or (os.name == "nt" and len(parts.scheme) == 1):
        path = Path(url2pathname(parts.path)) if parts.scheme == "file" else Path(item.location)
        try:
            with path.open("rb") as source:
                while chunk := source.read(_CHUNK):
                    yield chunk
        except OSError as error:
            raise CannotDoError(f"{item.filename}: {path}: {error.strerror}") from error
        return
    try:
        with session.get(item.location, stream=True, timeout=_TIMEOUT) as response:
            if response.status_code in (401, 403):
                raise CannotDoError(
                    f"{item.filename}: {parts.hostname} answers {response.status_code}",
                    hint="give credentials as for uv (netrc, UV_INDEX_<NAME>_USERNAME and _PASSWORD)",
                )
            response.raise_for_status()
            yield from response.iter_content(_CHUNK)
    except requests.RequestException as error:
        raise CannotDoError(
            f"{item.filename} cannot be fetched: {without_credentials(str(error))}",
            hint="is the network up? proxies and CA bundles are taken from the environment",
        ) from error


class _IndexAuth(requests.auth.AuthBase):
    """Credentials of the index that a file belongs to, as uv finds them."""

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        url = request.url or ""
        found = self._settings.credentials.get(realm(url))
        # netrc is asked here: requests leaves it out as soon as a session has an auth of its own.
        found = found or requests.utils.get_netrc_auth(url)
        if found is None and self._settings.keyring:
            found = _from_keyring(url)
        if found is not None and "Authorization" not in request.headers:
            requests.auth.HTTPBasicAuth(*found)(request)
        return request


def _from_keyring(url: str) -> tuple[str, str] | None:
    """Ask the user's `keyring` program, as uv's keyring provider `subprocess` does."""
    program = shutil.which("keyring")
    if program is None:
        return None
    host = urlsplit(url).hostname or ""
    done = subprocess.run(
        [program, "get", host, "oauth2accesstoken"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )
    return (
        ("oauth2accesstoken", done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None
    )


class SystemTrust(requests.adapters.HTTPAdapter):
    """Trust what the system trusts (and `SSL_CERT_FILE`) beside the certificates that requests brings."""

    # Any: urllib3's own options, passed on.
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, ssl_context=ssl.create_default_context(), **options)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        return super().proxy_manager_for(proxy, ssl_context=ssl.create_default_context(), **options)


class _Insecure(requests.adapters.HTTPAdapter):
    """For the hosts that the user declares insecure (`UV_INSECURE_HOST`, pip's `trusted-host`)."""

    def send(self, *args: Any, **options: Any) -> requests.Response:
        # The user has said so; urllib3 would warn at each request.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        return super().send(*args, **(options | {"verify": False}))


def index_session(settings: IndexSettings) -> requests.Session:
    """A session for the user's index: credentials, proxies, CA bundles, retries."""
    session = requests.Session()
    retry = urllib3.util.Retry(
        total=3,
        backoff_factor=0.3,
        status_forcelist=(429, 500, 502, 503, 504),
        respect_retry_after_header=True,
    )
    adapter = SystemTrust(max_retries=retry, pool_maxsize=_PARALLEL)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    session.auth = _IndexAuth(settings)
    own = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    # pip's `cert`: requests reads only its own two variables.
    if not own and (bundle := settings.environment.get("SSL_CERT_FILE")):
        session.verify = bundle
    for host in settings.insecure_hosts:
        session.mount(f"https://{host}", _Insecure(max_retries=retry, pool_maxsize=_PARALLEL))
    for name in ("HTTPS_PROXY", "HTTP_PROXY"):
        if proxy := settings.environment.get(name):
            session.proxies[name.removesuffix("_PROXY").lower()] = proxy
    return session
