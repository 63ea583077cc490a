"""Locking against real indexes on loopback: the user's settings count, and their secrets stay theirs."""

import base64
import hashlib
import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentproof.environment import interpreters, locking
from agentproof.environment.download import WheelRequest, fetch
from agentproof.environment.index import index_settings
from agentproof.environment.wheel_store import WheelStore
from agentproof.errors import AgentproofError, CannotDoError, UsageError
from tests.wheels import make_wheel

pytestmark = pytest.mark.real

PYTHON = interpreters.find()
SECRET = "correct-horse-battery"


class _Server(ThreadingHTTPServer):
    """A package index (PEP 691, PEP 700), a proxy, or one that refuses; on loopback only."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wheels: dict[str, dict[str, tuple[bytes, str | None]]] = {}
        self.needs: str | None = None
        """`user:password`, when asked for."""
        self.status: int | None = None
        """Answer everything with this."""
        self.seen: list[str] = []
        """The first lines of all requests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def with_user(self, user: str) -> str:
        return self.url.replace("://", f"://{user}@") + "/simple"

    def publish(self, name: str, version: str, *, day: str | None = "2026-08-11", metadata: str = "") -> str:
        filename, data = make_wheel(name, version, metadata=metadata)
        self.wheels.setdefault(name, {})[filename] = (data, f"{day}T10:00:00Z" if day else None)
        return hashlib.sha256(data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.seen.append(self.requestline)
        path = self.path.removeprefix("http://index.invalid")  # as a proxy is asked
        if self.server.status is not None:
            return self._answer(self.server.status, b"")
        if self.server.needs is not None:
            expected = "Basic " + base64.b64encode(self.server.needs.encode()).decode()
            if self.headers.get("Authorization") != expected:
                return self._answer(401, b"", ("WWW-Authenticate", 'Basic realm="index"'))
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2 and parts[1] in self.server.wheels:
            return self._answer(
                200, self._page(parts[1]), ("Content-Type", "application/vnd.pypi.simple.v1+json")
            )
        for files in self.server.wheels.values():
            if parts[0] == "files" and parts[-1] in files:
                return self._answer(200, files[parts[-1]][0])
        return self._answer(404, b"")

    def _page(self, name: str) -> bytes:
        files: list[dict[str, Any]] = []
        for filename, (data, time) in self.server.wheels[name].items():
            entry: dict[str, Any] = {
                "filename": filename,
                "url": f"../../files/{filename}",
                "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
                "size": len(data),
            }
            files.append(entry | ({"upload-time": time} if time else {}))
        return json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}).encode()

    def _answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for key, value in (("Content-Length", str(len(body))), *headers):
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as made:
        made.publish("demo", "1.0", metadata="Requires-Dist: dep>=1\n")
        made.publish("dep", "1.0", day="2020-01-01")
        made.publish("dep", "2.0", day="2026-08-13")
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without any setting of this machine's."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(home / "none"))
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "NETRC"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path: Path) -> WheelStore:
    return WheelStore(tmp_path / "cache")


def _locked(store: WheelStore, said: list[str] | None = None, **options: Any) -> list[str]:
    """The locked packages, as `name version`."""
    made = locking.lock(
        requirement=options.pop("requirement", "demo==1.0"),
        interpreter=PYTHON,
        store=store,
        progress=(said if said is not None else []).append,
        **options,
    )
    return [f"{package.name} {package.version}" for package in made.packages]


def _files_with(top: Path, text: str) -> list[Path]:
    return [path for path in top.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_the_index_is_resolved_as_of_the_targets_day(
    server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    assert _locked(store) == ["demo 1.0", "dep 1.0"]
    assert _locked(store, as_of="2026-08-13") == ["demo 1.0", "dep 2.0"]


def test_an_extra_that_the_target_does_not_have_is_named(
    server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    server.publish("rich-demo", "1.0", metadata="Provides-Extra: more\nRequires-Dist: dep; extra == 'more'\n")
    assert _locked(store, requirement="rich-demo[more]==1.0") == ["dep 1.0", "rich-demo 1.0"]
    with pytest.raises(UsageError, match=r"rich-demo==1\.0 has no extra moar"):
        _locked(store, requirement="rich-demo[moar]==1.0")


def test_a_warm_lock_asks_nobody(server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    _locked(store)
    server.seen.clear()
    assert _locked(store) == _locked(store, offline=True)
    assert server.seen == []


def _by_url(server: _Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", server.with_user(f"me:{SECRET}"))


def _by_uv_variables(server: _Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"work-index={server.url}/simple")
    monkeypatch.setenv("UV_INDEX_WORK_INDEX_USERNAME", "me")
    monkeypatch.setenv("UV_INDEX_WORK_INDEX_PASSWORD", SECRET)


def _by_uv_file(server: _Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / ".config" / "uv" / "uv.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[[index]]\nurl = "{server.with_user(f"me:{SECRET}")}"\ndefault = true\n')


def _by_pip_variable(server: _Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", server.with_user(f"me:{SECRET}"))


def _by_pip_file(server: _Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_CONFIG_FILE")
    file = home / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True)
    file.write_text(f"[global]\nindex-url = {server.with_user(f'me:{SECRET}')}\n")


def _by_netrc(server: _Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    netrc = home / ".netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))


@pytest.mark.parametrize(
    "configure", [_by_url, _by_uv_variables, _by_uv_file, _by_pip_variable, _by_pip_file, _by_netrc]
)
def test_the_users_index_and_credentials_are_used_and_written_nowhere(
    server: _Server, store: WheelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configure: Any
) -> None:
    server.needs = f"me:{SECRET}"
    configure(server, tmp_path / "home", monkeypatch)
    said: list[str] = []
    assert _locked(store, said) == ["demo 1.0", "dep 1.0"]
    assert any("demo-1.0" in line for line in server.seen)
    encoded = base64.b64encode(f"me:{SECRET}".encode()).decode()
    for text in (SECRET, encoded):
        assert _files_with(store.cache, text) == []
        assert not any(text in line for line in said)
    # uv's own cache knows the index it asked; what agentproof writes does not.
    assert [
        path
        for path in _files_with(store.cache, server.url)
        if "uv" not in path.relative_to(store.cache).parts
    ] == []


def test_missing_credentials_are_named_without_the_wrong_ones(
    server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.needs = f"me:{SECRET}"
    monkeypatch.setenv("UV_DEFAULT_INDEX", server.with_user("me:wrong-password"))
    with pytest.raises(AgentproofError) as raised:
        _locked(store)
    assert "asks for credentials" in str(raised.value)
    assert "wrong-password" not in f"{raised.value} {raised.value.hint}"


def test_a_proxy_is_used(server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://index.invalid/simple")
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    assert _locked(store) == ["demo 1.0", "dep 1.0"]
    assert any("http://index.invalid/files/" in line for line in server.seen)


def test_pips_find_links_and_extra_index_are_used(
    server: _Server, store: WheelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filename, data = make_wheel("dep", "3.0")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / filename).write_bytes(data)
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    assert _locked(store, as_of="now") == ["demo 1.0", "dep 3.0"]


def test_a_version_that_is_not_there_is_answered_with_its_neighbours(
    server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("0.8", "1.2", "2.0"):
        server.publish("demo", version)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    with pytest.raises(UsageError, match=r"no demo==1\.1") as raised:
        _locked(store, requirement="demo==1.1")
    assert raised.value.hint == "newest: 2.0; nearest: 1.0, 1.2"


@pytest.mark.parametrize(
    ("status", "words"), [(500, "no package index in reach|cannot"), (403, "asks for credentials")]
)
def test_an_index_that_refuses_gives_an_error_with_a_next_step(
    server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch, status: int, words: str
) -> None:
    server.status = status
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    with pytest.raises(AgentproofError, match=words) as raised:
        _locked(store)
    assert raised.value.hint


def test_no_index_in_reach_is_said(store: WheelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with _Server() as closed:
        url = closed.url
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{url}/simple")
    with pytest.raises(CannotDoError, match="no package index in reach") as raised:
        _locked(store)
    assert "--offline" in (raised.value.hint or "")


def test_a_dependency_without_upload_time_names_the_ways_out(
    server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.wheels["dep"].clear()
    server.publish("dep", "1.0", day=None)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    with pytest.raises(CannotDoError, match="no upload times") as raised:
        _locked(store)
    assert "--as-of now" in (raised.value.hint or "")
    assert _locked(store, as_of="now") == ["demo 1.0", "dep 1.0"]


def test_other_bytes_than_listed_never_enter_the_store(
    server: _Server, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    page = _Handler._page

    def lie(handler: _Handler, name: str) -> bytes:
        return page(handler, name).replace(
            hashlib.sha256(server.wheels["dep"]["dep-1.0-py3-none-any.whl"][0]).hexdigest().encode(),
            b"0" * 64,
        )

    monkeypatch.setattr(_Handler, "_page", lie)
    with pytest.raises(CannotDoError, match="should have SHA-256 0000"):
        _locked(store)
    assert not list(store.root.glob("*/dep-*"))


@pytest.fixture
def secure(server: _Server, tmp_path: Path) -> Path:
    """The server with TLS; the certificate that it shows is signed by nobody else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "certificate.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(
        certificate.public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return file


def _https(server: _Server) -> str:
    return server.url.replace("http://", "https://") + "/simple"


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "PIP_CERT"])
def test_the_users_certificates_are_trusted(
    server: _Server, secure: Path, store: WheelStore, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    _forget_certificates(monkeypatch)
    monkeypatch.setenv(variable, str(secure))
    monkeypatch.setenv("PIP_INDEX_URL", _https(server))
    assert _locked(store) == ["demo 1.0", "dep 1.0"]


def test_a_host_that_the_user_declares_insecure_is_used(
    server: _Server, secure: Path, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forget_certificates(monkeypatch)
    monkeypatch.setenv("UV_DEFAULT_INDEX", _https(server))
    monkeypatch.setenv("UV_INSECURE_HOST", "127.0.0.1")
    assert _locked(store) == ["demo 1.0", "dep 1.0"]


def test_an_unknown_certificate_is_refused(
    server: _Server, secure: Path, store: WheelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forget_certificates(monkeypatch)
    monkeypatch.setenv("UV_DEFAULT_INDEX", _https(server))
    with pytest.raises(CannotDoError, match=r"(?i)certificate"):
        _locked(store)
    wanted = WheelRequest(
        "demo", "demo-1.0-py3-none-any.whl", "0" * 64, server.url.replace("http", "https") + "/files/x"
    )
    with pytest.raises(CannotDoError, match=r"(?i)certificate"):
        fetch([wanted], store=store, settings=index_settings(), progress=lambda _: None)


def _forget_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
