"""Start the recorder with the probe beside it: `python recorder.pyz <plan.json>` (standard library only)."""

import importlib
import os
import sys
import types

_NAME = "_agentproof_recorder"


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    package = types.ModuleType(_NAME)
    package.__path__ = [here]
    sys.modules[_NAME] = package
    main = importlib.import_module(_NAME + ".main")
    importlib.import_module(_NAME + ".locator.beside").install()
    main.main(sys.argv[1])


if __name__ == "__main__":
    _start()
