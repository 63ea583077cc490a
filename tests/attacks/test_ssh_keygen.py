"""Trust lines as OpenSSH understands them: what `ssh-keygen -Y` refuses, agentproof never trusts.

Each generated line is asked of `ssh-keygen -Y verify` and `find-principals`, which read `allowed_signers`
files by their own code, and of ours, from a file and after `trust add`. A line is trusted by both, or by
neither, or refused by name.
"""

import random
import shutil
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentproof.errors import TrustError
from agentproof.models.statement import Role
from agentproof.trust import keyring
from agentproof.trust.allowed_signers import Trust, parse_trust
from tests import forge

SSH_KEYGEN = shutil.which("ssh-keygen")
pytestmark = pytest.mark.skipif(SSH_KEYGEN is None, reason="no ssh-keygen here: openssh-client has it")

ROLES: tuple[Role, ...] = ("recorded", "replayed", "endorsed")
LINES = 150

PRINCIPALS = [
    "a@x",
    "a@x,b@x",
    "*@x",
    "?@x",
    "a*",
    "*",
    "!a@x",
    "a@x,!b@x",
    "b@x,!a@x",
    "!*,a@x",
    '"a@x"',
    "a@x,",
]
NAMESPACES = [
    "agentproof-recorded",
    "agentproof-*",
    "agentproof-recorded,agentproof-replayed",
    "*,!agentproof-recorded",
    "!agentproof-endorsed,*",
    "!agentproof-recorded",
    "agentproof-?ecorded",
    "git",
    "*",
    "",
    "AGENTPROOF-recorded",
    "agentproof-recorded ,git",
    'a\\"b',
]
TIMES = [
    *["20250101", "20270101Z", "202606011200Z", "20260601120000Z", "20260601UTC", "20260632Z", "2026", "0"],
    "",
]
MOMENTS = [datetime(year, 6, 1, 12, 0, 1, tzinfo=UTC) for year in (2024, 2026, 2030)]
OPTIONS = ["namespaces", "valid-after", "valid-before", "cert-authority", "no-touch", "Namespaces"]
IDENTITIES = ("a@x", "b@x", "ab")


def _options(draw: random.Random) -> str:
    made = []
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
        name = draw.choice(
            ["namespaces", "valid-after", "valid-before", "cert-authority", "no-touch", "Namespaces"]
        )
        if name in ("cert-authority", "no-touch"):
            made.append(name)
        else:
            value = draw.choice(NAMESPACES if name.lower() == "namespaces" else TIMES)
            made.append(f'{name}="{value}"' if draw.random() < 0.95 else f"{name}={value}")
    return draw.choice([",", ",", ",", ", "]).join(made)


def _line(draw: random.Random) -> str:
    principals = draw.choice(PRINCIPALS)
    key = draw.choice([forge.REPORTER, forge.REPORTER, forge.REPORTER, forge.STRANGER]).public.line
    key = draw.choice([key, key, key, f"{key} a comment", key.replace(" ", "\t"), key[:-3]])
    gap = draw.choice([" ", " ", "\t", "  "])
    return gap.join(filter(None, (principals, _options(draw), key)))


class Ssh:
    """What ssh-keygen says of a signature by the reporter."""

    def __init__(self, place: Path) -> None:
        self.place = place
        key = place / "key"
        key.write_bytes(forge.REPORTER.to_openssh())
        key.chmod(0o600)
        self.message = b"what is signed"
        for role in ROLES:
            signed = place / role
            signed.write_bytes(self.message)
            self._run("-Y", "sign", "-n", f"agentproof-{role}", "-f", key, signed, check=True)

    def _run(self, *arguments: str | Path, check: bool = False) -> subprocess.CompletedProcess[bytes]:
        command = [SSH_KEYGEN or "ssh-keygen", *map(str, arguments)]
        return subprocess.run(command, input=self.message, capture_output=True, check=check, timeout=60)

    def trusts(self, file: Path, role: Role, at: datetime) -> bool:
        """Whether the file lets anybody whom it may name sign in this role at that time."""
        when = f"-Overify-time={at:%Y%m%d%H%M%SZ}"
        signature = self.place / f"{role}.sig"
        return any(
            self._run(
                "-Y", "verify", "-f", file, "-I", who, "-n", f"agentproof-{role}", "-s", signature, when
            ).returncode
            == 0
            for who in IDENTITIES
        )

    def finds(self, file: Path, role: Role, at: datetime) -> bool:
        """Whether the file has a line of this key, whatever the role."""
        when = f"-Overify-time={at:%Y%m%d%H%M%SZ}"
        signature = self.place / f"{role}.sig"
        return self._run("-Y", "find-principals", "-f", file, "-s", signature, when).returncode == 0


def _read(text: str) -> Trust | None:
    try:
        return parse_trust(text.encode(), source="signers")
    except TrustError as error:
        if "signers" not in error.message:
            raise  # a line is refused by name
        return None


def test_a_line_is_trusted_as_openssh_trusts_it_or_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh, seen = Ssh(tmp_path), Counter[str]()
    draw = random.Random(4413)  # noqa: S311  the same lines in every run
    for number in range(LINES):
        line, role, at = _line(draw), draw.choice(ROLES), draw.choice(MOMENTS)
        told = f"line {number} {line!r}, {role} at {at}"
        file = tmp_path / "signers"
        file.write_text(line + "\n")
        ours = _read(line + "\n")
        theirs = ssh.trusts(file, role, at)
        if ours is None:
            seen["refused"] += 1
            continue
        mine = bool(ours.judge(forge.REPORTER.public, role, at).principals)
        assert mine == theirs, told
        assert not mine or ssh.finds(file, role, at), told
        seen["trusted" if mine else "not trusted"] += 1
        # What `trust add` keeps says the same to both.
        monkeypatch.setenv("AGENTPROOF_CONFIG_DIR", str(tmp_path / f"config{number}"))
        keyring.add(ours)
        assert bool(keyring.own_trust().judge(forge.REPORTER.public, role, at).principals) == mine, told
        kept = tmp_path / f"config{number}" / "allowed_signers"
        assert ssh.trusts(kept, role, at) == mine, told
    assert min(seen.values()) > LINES // 20, seen
    assert set(seen) == {"refused", "trusted", "not trusted"}


@pytest.mark.parametrize("text", ["# signers\n\n \t\n", "a@x ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7\n"])
def test_files_of_several_lines_are_read_line_by_line(tmp_path: Path, text: str) -> None:
    ssh = Ssh(tmp_path)
    file = tmp_path / "signers"
    at = MOMENTS[1]
    for limits, trusted in (("", True), ('namespaces="git"', False), ('valid-before="20200101Z"', False)):
        file.write_text(f"{text}a@x {limits} {forge.REPORTER.public.line}\n".replace("  ", " "))
        ours = _read(file.read_text())
        assert ours is not None
        assert bool(ours.judge(forge.REPORTER.public, "recorded", at).principals) == trusted
        if "ssh-rsa" not in text:  # a key that ssh-keygen cannot parse is an error to it
            assert ssh.trusts(file, "recorded", at) == trusted
