"""Run a command as root where user namespaces are switched off: `python tests/rooted.py COMMAND…`.

It becomes root of a user namespace with all ids, in which `user.max_user_namespaces` is 0. Needs root.
"""

import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000
ALL = "0 0 4294967295"


def main(command: list[str]) -> int:
    """The exit code of the command."""
    ready_read, ready_write = os.pipe()
    mapped_read, mapped_write = os.pipe()
    child = os.fork()
    if child == 0:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
            os._exit(127)
        os.write(ready_write, b"r")
        os.read(mapped_read, 1)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as limit:
            limit.write("0")
        os.execvp(command[0], command)  # noqa: S606  (a test's own command)
    os.read(ready_read, 1)
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{child}/{name}", "w", encoding="ascii") as ids:
            ids.write(ALL)
    os.write(mapped_write, b"m")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
