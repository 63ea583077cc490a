"""`python -m tests.seeded [RULE …]`: record each seeded fault, and say which rules speak."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests import seeded


def main() -> int:
    """Exit 0 where each fault makes its rule speak."""
    parser = argparse.ArgumentParser(prog="python -m tests.seeded", description=main.__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="some of them; all without")
    wanted = parser.parse_args().rules
    silent = []
    for rule, fault in seeded.faults().items():
        if wanted and rule not in wanted:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            judgement = seeded.judgement_with(fault, Path(scratch))
        found = sorted(seeded.violated(judgement))
        why = f" ({', '.join(judgement.reasons)})" if judgement.reasons else ""
        print(f"{rule}: {judgement.verdict}{why}: {', '.join(found) or 'no rule speaks'}", flush=True)
        silent += [rule] if rule not in found else []
    if silent:
        print(f"silent: {', '.join(silent)}")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
