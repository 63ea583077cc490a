"""Start the recorder, from a zipapp or a directory: `python recorder.pyz <plan.json>`.

Standard library only.
"""

import importlib
import os
import sys
import types

# The files lie at the archive's root. They become a package of a name that no script uses, so that a
# script's own `events.py` stays importable.
_NAME = "_agentproof_recorder"


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    package = types.ModuleType(_NAME)
    package.__path__ = [here]
    sys.modules[_NAME] = package
    importlib.import_module(_NAME + ".main").main(sys.argv[1])


if __name__ == "__main__":
    _start()
