"""The key that the user signs with: a file, a passphrase by variable, or ssh-agent."""

import io
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentproof.errors import CannotDoError, TrustError
from agentproof.trust.agent import AgentKey, passphrase_from, signing_key
from agentproof.trust.signing import generate_key_file
from tests import forge

TOOLS = all(shutil.which(tool) for tool in ("ssh-agent", "ssh-add"))


def test_a_private_key_file_signs_by_itself(tmp_path: Path) -> None:
    public = generate_key_file(tmp_path / "key")
    assert signing_key(tmp_path / "key").public == public


def test_a_passphrase_comes_from_the_named_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = Ed25519PrivateKey.generate()
    secret = serialization.BestAvailableEncryption(b"open sesame")
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    (tmp_path / "key").write_bytes(key.private_bytes(*form, secret))
    monkeypatch.setenv("KEY_PASS", "open sesame")
    opened = signing_key(tmp_path / "key", passphrase_variable="KEY_PASS")
    assert opened.public.raw == key.public_key().public_bytes_raw()
    with pytest.raises(TrustError, match=r"\$OTHER is not set"):
        signing_key(tmp_path / "key", passphrase_variable="OTHER")


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert passphrase_from(None) is None


def _answers(place: str) -> bool:
    """The socket's file is there a moment before anybody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(place) == 0


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    place = str(tmp_path / "agent.sock")
    process = subprocess.Popen(
        [shutil.which("ssh-agent") or "", "-D", "-a", place], stdout=subprocess.DEVNULL
    )
    try:
        while not _answers(place):
            assert process.poll() is None
        monkeypatch.setenv("SSH_AUTH_SOCK", place)
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(not TOOLS, reason="OpenSSH is not installed here")
@pytest.mark.usefixtures("agent")
def test_a_key_that_never_leaves_the_agent_signs(tmp_path: Path) -> None:
    public = generate_key_file(tmp_path / "key")
    subprocess.run([shutil.which("ssh-add") or "", "-q", tmp_path / "key"], check=True)
    (tmp_path / "key").unlink()
    key = signing_key(tmp_path / "key.pub")
    assert isinstance(key, AgentKey)
    assert public.verifies(key.sign(b"message"), b"message")


@pytest.mark.skipif(not TOOLS, reason="OpenSSH is not installed here")
@pytest.mark.usefixtures("agent")
def test_a_key_that_the_agent_does_not_have_says_so() -> None:
    with pytest.raises(TrustError, match="does not sign"):
        AgentKey(forge.STRANGER.public).sign(b"message")


def test_without_an_agent_there_is_an_error_with_a_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(CannotDoError, match="no ssh-agent"):
        AgentKey(forge.STRANGER.public).sign(b"message")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "absent"))
    with pytest.raises(CannotDoError, match="ssh-agent at"):
        AgentKey(forge.STRANGER.public).sign(b"message")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        struct.pack(">I", 0),
        struct.pack(">I", 2**31),
        struct.pack(">IB", 100, 14) + b"short",
        struct.pack(">IB", 5, 14) + b"junk",
        struct.pack(">IB", 88, 14)
        + struct.pack(">I", 83)
        + struct.pack(">I", 11)
        + b"ssh-ed25519"
        + struct.pack(">I", 64)
        + bytes(64),
        struct.pack(">IB", 1, 99),
    ],
)
def test_an_agent_that_lies_is_an_error(
    answer: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "agent.sock")
    monkeypatch.setenv("SSH_AUTH_SOCK", place)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(place)
        server.listen(1)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(CannotDoError, match="ssh-agent"):
            AgentKey(forge.STRANGER.public).sign(b"message")
        thread.join()
