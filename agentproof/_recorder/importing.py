"""Notice the script's own import of the SDK, at its end (standard library only).

The SDK is never imported before the script does it: it reads settings from the environment then.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable, Optional, Sequence

from .events import watching


class Finder(importlib.abc.MetaPathFinder):
    """Finds one package as everybody else would, and calls back when its import is done."""

    def __init__(self, package: str, done: Callable[[ModuleType], None]) -> None:
        self._package = package
        self._done = done
        self._busy = False

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """The package's own spec, with an end to its execution."""
        if fullname != self._package or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(fullname) if fullname not in sys.modules else None
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return None
        self._wrap(spec.loader)
        return spec

    def _wrap(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # The loader stays of its own class, as the host expects it; only this instance is told.
            del loader.exec_module
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            with watching("import"):
                self._done(module)

        loader.exec_module = exec_module


class ProbeFinder(importlib.abc.MetaPathFinder):
    """Gives `agentproof.probe` to a script that asks for it, also where agentproof is not installed."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """No module of ours yet."""
        return None
