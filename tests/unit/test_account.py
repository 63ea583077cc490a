"""Who signed: the account that a signer states, and the keys that are served for it."""

import datetime as dt
import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentproof.bundle.store import Bundle, zip_bytes
from agentproof.check.bundle import Reader, check_bundle
from agentproof.cli import cli
from agentproof.environment import github
from agentproof.errors import AgentproofError, CannotDoError, UsageError
from agentproof.models.statement import is_account
from agentproof.models.wire import encode
from agentproof.trust import keyring
from agentproof.trust.allowed_signers import parse_trust
from agentproof.trust.signing import attest_recorded, sign_statement, verify_envelope
from tests import forge

PLAIN = forge.draft().seal()
ALICE = "github:alice"
OTHER_KEY = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7"


def signed(account: str) -> Bundle:
    return replace(
        PLAIN, attestations=dict([attest_recorded(PLAIN.manifest, forge.REPORTER.saying(account))])
    )


def signature_of(bundle: Bundle, reader: Reader) -> tuple[str, str]:
    report = check_bundle(bundle, reader=reader).report
    (check,) = [check for check in report.checks if check.name == "signature"]
    return report.status, check.detail


def trusting(text: str) -> Reader:
    return Reader(trust=parse_trust(text.encode(), source="mine"), sources=forge.sources())


def test_an_unknown_signer_is_told_in_one_way_and_their_word_with_it() -> None:
    status, told = signature_of(PLAIN, Reader())
    key = forge.REPORTER.public.fingerprint
    assert status == "INTACT"
    assert told == f"signed by a key that you do not know yet ({key}): nothing was changed since it signed"
    _, told = signature_of(signed(ALICE), Reader())
    assert told == (
        f"signed by a key that you do not know yet ({key}, says it is {ALICE}): nothing was changed since it "
        "signed"
    )
    status, told = signature_of(signed(ALICE), trusting(f"bob {forge.STRANGER.public.line}"))
    assert (status, told.startswith("signed by a key that you do not know yet (")) == ("UNTRUSTED", True)


def test_a_word_is_no_name_until_the_key_is_known_as_theirs() -> None:
    key = forge.REPORTER.public.line
    status, told = signature_of(signed(ALICE), trusting(f"{ALICE} {key}"))
    assert (status, "says it is" in told) == ("CURRENT", False)
    assert "says it is" not in signature_of(signed("github:Alice"), trusting(f"{ALICE} {key}"))[1]
    status, told = signature_of(signed(ALICE), trusting(f"mallory {key}"))
    assert (status, told.partition(" (")[0]) == ("CURRENT", "mallory")
    assert f"says it is {ALICE})" in told
    status, told = signature_of(signed(ALICE), trusting(f"{ALICE} {forge.STRANGER.public.line}"))
    assert status == "UNTRUSTED"
    assert f"says it is {ALICE}, but is none of the keys that you trust as that" in told


def test_what_is_stated_is_signed_and_names_an_account() -> None:
    bundle = signed(ALICE)
    ((name, envelope),) = bundle.attestations.items()
    _, payload = verify_envelope(envelope)
    shape = json.loads(payload)
    assert shape["predicate"]["signer"] == ALICE
    shape["predicate"]["signer"] = "bob@example.org"
    forged = sign_statement(encode(shape), forge.REPORTER)
    report = check_bundle(replace(bundle, attestations={name: forged}), reader=Reader()).report
    assert report.status == "INVALID"
    unsigned = forge.draft().seal()
    assert b"signer" not in b"".join(unsigned.attestations.values())
    assert PLAIN.manifest == bundle.manifest, "the bundle's id does not change with it"


@pytest.mark.parametrize("name", ["alice", "a", "A-b-1", "a" * 39])
def test_a_users_name_has_githubs_pattern(name: str) -> None:
    assert is_account(f"github:{name}")


@pytest.mark.parametrize("name", ["", "-a", "a-", "a--b", "a/b", "../x", "a.b", "a b", "é", "a" * 40, "a\n"])
def test_what_is_no_name_of_a_user_is_asked_of_nobody(name: str) -> None:
    assert not is_account(f"github:{name}")
    with pytest.raises(UsageError, match="no name of a user"):
        github.served_keys(f"github:{name}", site="https://127.0.0.1:1")


# What is served


Answer = Callable[[BaseHTTPRequestHandler], None]


def answering(status: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for key, value in headers.items():
            request.send_header(key, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


class Site:
    """A server on the loopback, over TLS, that answers as it is told and keeps what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.answer: Answer = answering(404)
        self.asked: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, dict(self.headers)))
                site.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.certificate = folder / "site.pem"
        self.certificate.write_bytes(_certificate())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def __enter__(self) -> "Site":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def _certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Site(tmp_path) as made:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(made.certificate))
        monkeypatch.setattr(github, "SITE", made.url)
        yield made


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="agentproof", input=stdin)


def test_the_keys_of_a_user_are_asked_for_once_shown_confirmed_and_kept_for_recordings(site: Site) -> None:
    site.answer = answering(200, f"{OTHER_KEY}\n{forge.REPORTER.public.line}\n".encode())
    refused = run("trust", "add", ALICE, stdin="n\n")
    assert (refused.exit_code, keyring.listed()) == (1, ())
    added = run("trust", "add", ALICE, stdin="y\n")
    assert added.exit_code == 0, added.output
    assert f"ed25519 {forge.REPORTER.public.fingerprint}  {ALICE}" in added.stdout
    assert "skipped 1 of type ssh-rsa" in added.stdout
    assert f"asked {site.url}/alice.keys" in added.stderr
    assert [path for path, _ in site.asked] == ["/alice.keys"] * 2
    (kept,) = keyring.listed()
    assert (kept.principal, kept.namespaces) == (ALICE, ("agentproof-recorded",))
    today = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    assert kept.origin == f"github.com@{today}"
    assert f"as github.com served it on {today}" in run("trust", "list").stdout
    Path("x.agentproof.zip").write_bytes(zip_bytes(signed(ALICE)))
    count = len(site.asked)
    checked = run("check-current-bundle", "x.agentproof.zip")
    assert f"{ALICE} (ed25519 " in checked.stdout
    assert len(site.asked) == count, "a check asks no server"


def test_no_credentials_go_along(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password hush\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    site.answer = answering(200, forge.REPORTER.public.line.encode())
    github.served_keys(ALICE, site=site.url)
    assert "Authorization" not in site.asked[0][1]


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (answering(404), UsageError, "GitHub has no user alice"),
        (answering(301, Location="/bob.keys"), CannotDoError, "answered with 301"),
        (answering(500), CannotDoError, "answered with 500"),
        (answering(200, b"x" * (2**16 + 1)), CannotDoError, "more than 65536 bytes"),
    ],
)
def test_what_is_no_list_of_keys_is_refused(
    site: Site, answer: Answer, kind: type[AgentproofError], says: str
) -> None:
    site.answer = answer
    with pytest.raises(kind, match=says):
        github.served_keys(ALICE, site=site.url)
    assert [path for path, _ in site.asked] == ["/alice.keys"], "and nothing is followed"


def test_a_user_without_a_key_that_signs_and_a_site_that_is_not_there(site: Site) -> None:
    site.answer = answering(200, f"{OTHER_KEY}\n".encode())
    nothing = run("trust", "add", ALICE, "--yes")
    assert (nothing.exit_code, "holds no ssh-ed25519 key (it has 1 ssh-rsa)" in nothing.stderr) == (2, True)
    with pytest.raises(CannotDoError, match="over https alone"):
        github.served_keys(ALICE, site=site.url.replace("https", "http"))
    with pytest.raises(CannotDoError, match="cannot be asked"):
        github.served_keys(ALICE, site="https://127.0.0.1:1")


def test_a_certificate_that_nobody_vouches_for_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(CannotDoError, match="cannot be asked"):
        github.served_keys(ALICE, site=site.url)


def test_a_file_of_what_is_served_asks_nobody(site: Site) -> None:
    Path("alice.keys").write_text(f"{forge.REPORTER.public.line}\n")
    assert run("trust", "add", ALICE, "--keys", "alice.keys", "--yes").exit_code == 0
    assert site.asked == []
    (kept,) = keyring.listed()
    assert (kept.namespaces, str(kept.origin)[:5]) == (("agentproof-recorded",), "file@")
    Path("named").write_text(f"bob {forge.REPORTER.public.line}\n")
    for words, says in (
        (("trust", "add", ALICE, "--keys", "named"), "names bob"),
        (("trust", "add", ALICE, "--as", "bob"), "is a name already"),
        (("trust", "add", "github:a/b"), "no name of a user"),
        (("trust", "add", "named", "--keys", "alice.keys"), "--keys is for github:USER"),
    ):
        refused = run(*words)
        assert (refused.exit_code, says in refused.stderr) == (2, True), refused.stderr


def test_an_account_that_is_none_is_refused_before_anything_runs(site: Site) -> None:
    Path("r.py").write_text("print(1)\n")
    refused = run("record", "r.py", "--sdk", "0.20.0", "--as", "alice")
    assert (refused.exit_code, "--as alice: no account" in refused.stderr) == (2, True), refused.stderr
