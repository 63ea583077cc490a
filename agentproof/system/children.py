"""Child processes that do not outlive us, however we end."""

import shutil
import subprocess
import sys
from functools import cache


@cache
def dying_with_us() -> tuple[str, ...]:
    """What to put before a command so that it is killed when this process is (PR_SET_PDEATHSIG).

    Empty where util-linux's `setpriv` is not there. A `preexec_fn` would do the same and can deadlock
    when threads run, as progress bars and downloads do.
    """
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    if setpriv is None:
        return ()
    done = subprocess.run([setpriv, "--help"], capture_output=True, check=False)
    return (setpriv, "--pdeathsig", "KILL", "--") if b"--pdeathsig" in done.stdout else ()
