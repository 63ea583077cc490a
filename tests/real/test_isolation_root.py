"""Root where user namespaces are switched off: the same isolation, without one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
ROOTED = [sys.executable, str(ROOT / "tests" / "rooted.py")]

if sys.platform != "linux" or os.geteuid() != 0:
    pytest.skip("only root can be root", allow_module_level=True)
if subprocess.run([*ROOTED, "true"], check=False, capture_output=True).returncode != 0:
    pytest.skip("no user namespace with all ids can be made here", allow_module_level=True)

LOOK = """
import json, os, pwd
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(json.dumps({
    "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), *os.getgroups()],
    "name": pwd.getpwuid(os.getuid()).pw_name,
    "capabilities": [status[each] for each in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no_new_privs": status["NoNewPrivs"],
    "processes": sorted(int(each) for each in os.listdir("/proc") if each.isdigit())[:2],
    "interfaces": os.listdir("/sys/class/net") if os.path.isdir("/sys") else None,
    "writable": [each for each in ("/usr", "/etc/passwd", "/proc/sys/kernel") if os.access(each, os.W_OK)],
}))
"""
RUN = f"""
import sys
from pathlib import Path
from tests.sandboxed import best, make_environment, run_script, said
held = best()
assert (held.level, held.user_namespace) == ("namespace", False), held
run = run_script({LOOK!r}, make_environment(Path(sys.argv[1])), Path(sys.argv[1]) / "case", isolation=held)
print(run.isolation.network, run.isolation.user, run.isolation.self_test)
print(said(run))
"""


def rooted(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*ROOTED, sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_user_namespaces_are_off_there() -> None:
    done = subprocess.run([*ROOTED, "unshare", "--user", "true"], check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "No space left" in done.stderr  # what the limit is called


def test_a_script_is_nobody_and_has_nothing(tmp_path: Path) -> None:
    for each in (tmp_path, *tmp_path.parents):
        if each.name.startswith("pytest-"):
            each.chmod(0o755)
    done = rooted("-c", RUN, str(tmp_path))
    assert done.returncode == 0, done.stderr
    held, seen = done.stdout.strip().splitlines()
    assert held == "namespace dropped refused"
    found = json.loads(seen)
    assert 0 not in found["ids"]
    assert len(set(found["ids"])) == 1
    assert found["name"] == "nobody"
    assert {int(each, 16) for each in found["capabilities"]} == {0}
    assert found["no_new_privs"] == "1"
    assert found["processes"][0] == 1
    assert found["interfaces"] is None
    assert found["writable"] == []


def test_every_hostile_script_is_held_there_too() -> None:
    done = rooted(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "namespace"),
        "tests/real/test_isolation_hostile.py",
    )
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 15
    assert "skipped" not in done.stdout
