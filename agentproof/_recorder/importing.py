"""Notice the script's own import of the SDK, at its end (standard library only).

The SDK is never imported before the script does it: it reads settings from the environment then.
"""

import gc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Sequence

from .events import watching
from .patching import hide


class Finder:
    """Finds modules as everybody else would, and calls back when the import of one of them is done."""

    def __init__(self) -> None:
        self._waiting: Dict[str, Callable[[ModuleType], None]] = {}
        self._below: Dict[str, Callable[[ModuleType], None]] = {}
        self._busy = False

    def when_below(self, package: str, done: Callable[[ModuleType], None]) -> None:
        """Call `done` with a package, and with each module below it, at the end of its import."""
        self._below[package] = done

    def when_loaded(self, name: str, done: Callable[[ModuleType], None]) -> None:
        """Call `done` with the module at the end of its import, once."""
        self._waiting[name] = done

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """The module's own spec, with an end to its execution."""
        if self._busy or (fullname not in self._waiting and not self._all_for(fullname)):
            return None
        self._busy = True
        try:
            spec = next(
                (
                    found
                    for finder in sys.meta_path
                    if finder is not self and hasattr(finder, "find_spec")
                    for found in [finder.find_spec(fullname, path, target)]
                    if found is not None
                ),
                None,
            )
        finally:
            self._busy = False
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            self._wrap(fullname, spec.loader)
        return spec

    def _all_for(self, name: str) -> List[Callable[[ModuleType], None]]:
        found = [self._waiting[name]] if name in self._waiting else []
        return found + [
            done for package, done in self._below.items() if name == package or name.startswith(package + ".")
        ]

    def _wrap(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # The loader stays of its own class, as the host expects it; only this instance is told.
            del loader.exec_module
            collecting = gc.isenabled()
            gc.disable()  # as `collector` says
            try:
                execute(module)
                waiting = self._all_for(name)
                self._waiting.pop(name, None)
                for done in waiting:
                    with watching("import"):
                        done(module)
            except BaseException as raised:
                hide(raised)
                raise
            finally:
                if collecting:
                    gc.enable()

        loader.exec_module = exec_module


finder = Finder()


class ProbeFinder:
    """Gives `agentproof.probe` to a script that asks for it, also where agentproof is not installed."""

    def __init__(self, modules: Dict[str, ModuleType]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """A spec of the stand-in."""
        if fullname not in self._modules:
            return None
        return importlib.machinery.ModuleSpec(
            fullname,
            self,  # type: ignore[arg-type]  # a loader by its methods; the abstract class costs an import
            is_package=fullname == "agentproof",
        )

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The one module of that name."""
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""
