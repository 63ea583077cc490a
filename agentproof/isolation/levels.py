"""How a script is held in: what this machine can do, which level is chosen, what the launcher gets.

Levels, best first; each one also has the recorder's audit hook, which names an attempt:

    namespace    own network, processes, mounts, IPC and host name; loopback is the script's own
    seccomp      socket(2) is refused altogether, so there is no loopback either
    audit-hook   the hook alone: it misses ctypes and child processes (macOS, Windows, old kernels)

Files are held by a root of their own (`namespace`) and by Landlock (Linux 5.13). As root the script's
process becomes another user first. The launcher applies a level, tests it from within and only then
starts Python; `docs/security/isolation.md` says what each level stops and what it does not.
"""

import errno
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from ..errors import CannotDoError, UsageError
from ..models.manifest import Isolation
from ..system import temporary
from .sandbox import Level, free_id, is_root, launch_plan, outside, start

LEVELS: Final[tuple[Level, ...]] = ("namespace", "seccomp", "audit-hook")


WAY_TO_NAMESPACES: Final = (
    "on Ubuntu 24.04 `sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows user namespaces, "
    "elsewhere `sysctl user.max_user_namespaces=10000`; a container needs `--security-opt "
    "seccomp=unconfined` or CAP_SYS_ADMIN"
)


@dataclass(frozen=True)
class Probe:
    """Whether a level works on this machine, and what came with it."""

    level: Level
    works: bool
    why: str
    """For people: what stands in the way, or what the self-test saw."""
    files: Literal["landlock", "mounts", "none"] = "none"
    landlock: int = 0
    """The kernel's version of Landlock; 0 for none."""
    self_test: Literal["refused", "not_made"] = "not_made"
    user_namespace: bool = True
    """For `namespace`: False where only root can make the others, without one of its own."""


@dataclass(frozen=True)
class Choice:
    """The level that a run will be held in."""

    level: Level
    landlock: int
    refused: tuple[Probe, ...] = ()
    """Better levels that do not work here."""
    user_namespace: bool = True
    """As in `Probe`."""

    def recorded(self, *, user: Literal["dropped", "own"]) -> Isolation:
        """What the manifest says after the self-test of a run has passed."""
        if self.landlock:
            files: Literal["landlock", "mounts", "none"] = "landlock"
        else:
            files = "mounts" if self.level == "namespace" else "none"
        tested: Literal["refused", "not_made"] = "not_made" if self.level == "audit-hook" else "refused"
        return Isolation(network=self.level, files=files, user=user, self_test=tested)


def probe() -> tuple[Probe, ...]:
    """Try every level, best first. Takes about 0.05 s each."""
    return tuple(_try(level) for level in LEVELS)


def choose(require: str | None = None) -> Choice:
    """The best level that works here.

    Raises:
        UsageError: `require` is no level.
        CannotDoError: this machine has nothing as good as `require`.
    """
    if require is not None and require not in LEVELS:
        raise UsageError(f"--require-isolation {require}: no such level", hint=f"one of {', '.join(LEVELS)}")
    refused: list[Probe] = []
    for level in LEVELS:
        if refused and refused[-1].level == require:
            break
        tried = _try(level)
        if tried.works:
            return Choice(
                level=level,
                landlock=tried.landlock,
                refused=tuple(refused),
                user_namespace=tried.user_namespace,
            )
        refused.append(tried)
    reasons = "; ".join(f"{each.level}: {each.why}" for each in refused)
    wanted = f"--require-isolation {require}" if require else "isolation"
    raise CannotDoError(
        f"{wanted} cannot be had on this machine ({reasons})",
        hint=f"`agentproof doctor` shows each level; {WAY_TO_NAMESPACES}",
    )


def _try(level: Level) -> Probe:
    if level != "audit-hook" and sys.platform != "linux":
        return Probe(level, works=False, why=f"{level} needs Linux; this is {sys.platform}")
    if os.name != "posix":
        return Probe(level, works=False, why="recording needs Linux or macOS (on Windows: WSL)")
    tried = _try_once(level, user_namespace=True)
    if level == "namespace" and not tried.works and is_root():
        # User namespaces may be switched off; root needs none to have the others.
        directly = _try_once(level, user_namespace=False)
        return directly if directly.works else tried
    return tried


def _try_once(level: Level, *, user_namespace: bool) -> Probe:
    with temporary.directory("probe") as base, outside(base) as beyond:
        plan = launch_plan(
            level,
            base=base,
            command=(),
            environment={},
            directory=Path("/"),
            streams=(Path(os.devnull), Path(os.devnull)),
            readable=(),
            writable=(),
            limits={},
            user=free_id() if level != "namespace" or is_root() else None,
            beyond=beyond,
            user_namespace=user_namespace,
        )
        report = SelfTest.parse(_run_to_end(plan))
    return replace(report.probe(level), user_namespace=user_namespace)


def _run_to_end(plan: Mapping[str, Any]) -> bytes:  # Any: what `marshal` carries
    process = start(plan)
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the launcher was started without pipes")
    with process:
        try:
            return process.stdout.read()
        finally:
            process.stdin.close()


@dataclass(frozen=True)
class SelfTest:
    """The launcher's answer."""

    started: bool
    """True if the script's own process existed."""
    tested: Mapping[str, str]
    landlock: int
    failed: str | None
    """The step that the kernel refused, with its reason."""
    exit_code: int | None
    """Negative for a signal; None if the script's process was killed with its init."""
    noise: str
    """Lines that the launcher does not write on purpose: a traceback of its own."""

    @classmethod
    def parse(cls, data: bytes) -> "SelfTest":
        """Read the launcher's lines."""
        tested: dict[str, str] = {}
        started, landlock, failed, code, noise = False, 0, None, None, []
        for line in data.decode("utf-8", "replace").splitlines():
            match line.split(" "):
                case ["started", _]:
                    started = True
                case ["landlock", version]:
                    landlock = int(version)
                case ["tested", what, result]:
                    tested[what] = result
                case ["failed", step, number]:
                    failed = f"{step}: {os.strerror(int(number)) if int(number) else 'fault in the launcher'}"
                case ["exit", number]:
                    code = int(number)
                case ["signal", number]:
                    code = -int(number)
                case _:
                    noise.append(line)
        return cls(started, tested, landlock, failed, code, "\n".join(noise))

    def held(self, level: Level) -> str | None:
        """None if the self-test says that the level holds, else what it saw."""
        if self.failed is not None:
            return _explain(self.failed)
        if not self.started:
            return f"the launcher ended early {self.noise[-500:]}".rstrip()
        if level == "audit-hook":
            return None
        if self.tested.get("network") != "refused":
            return f"the self-test connected to a listener outside ({self.tested.get('network', 'not made')})"
        if self.tested.get("files") != "refused" and (self.landlock or level == "namespace"):
            return f"the self-test opened a file outside ({self.tested.get('files', 'not made')})"
        return None

    def probe(self, level: Level) -> Probe:
        """What a trial run says about a level."""
        wrong = self.held(level) or (self.noise or None)
        if wrong is not None:
            return Probe(level, works=False, why=wrong)
        if level == "audit-hook":
            files: Literal["landlock", "mounts", "none"] = "landlock" if self.landlock else "none"
            return Probe(
                level, works=True, why="the recorder's audit hook alone", files=files, landlock=self.landlock
            )
        files = "landlock" if self.landlock else "mounts" if level == "namespace" else "none"
        return Probe(
            level,
            works=True,
            why="an attempt to connect was refused",
            files=files,
            landlock=self.landlock,
            self_test="refused",
        )


def _explain(failed: str) -> str:
    step = failed.partition(":")[0]
    if failed == f"namespaces: {os.strerror(errno.ENOSPC)}":
        return "user namespaces are switched off, or too many are in use (user.max_user_namespaces)"
    known = {
        "namespaces": "user namespaces are refused to this user",
        "id-map": "no user can be mapped into a user namespace",
        "mount": "a user namespace may not mount here (AppArmor, or a container that masks /proc)",
        "machine": "this processor's system calls are not known to agentproof",
        "open_tree": "the kernel is older than 5.12",
        "mount_setattr": "the kernel is older than 5.12",
        "seccomp": "seccomp filters are refused",
        "become-user": "this process may not change its user",
        "exec": "the environment's Python cannot be started",
    }
    return f"{known[step]} ({failed})" if step in known else failed
