"""Stands in the place of a dependency of the SDK's."""

import importlib.machinery
import sys

_path = [path for path in sys.path if path.endswith("site-packages")]
_spec = importlib.machinery.PathFinder.find_spec("griffe", _path)
_loader = _spec.loader
del sys.modules["griffe"]
__path__ = list(_spec.submodule_search_locations)
sys.modules["griffe"] = sys.modules.setdefault("griffe", __import__("types").ModuleType("griffe"))
sys.modules["griffe"].__dict__.update(__file__=__file__, __path__=__path__, __spec__=_spec)
_loader.exec_module(sys.modules["griffe"])
