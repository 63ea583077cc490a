"""Which files a process really used: the SDK's modules with their hashes, and the reproduction's own.

Standard library only.
"""

import hashlib
import os
import sys
from typing import Any, Dict, List, Optional

from . import audit, genuine
from .plan import Plan

_INSTALLED = (os.path.join(sys.prefix, ""), os.path.join(sys.base_prefix, ""))


def modules(plan: Plan) -> List[Dict[str, str]]:
    """Every loaded module of the SDK, by its file below site-packages."""
    base = os.path.join(os.path.realpath(plan.site_packages), "")
    found = []
    for name, module in sorted(sys.modules.copy().items()):  # a thread may import meanwhile
        if name != plan.package and not name.startswith(plan.package + "."):
            continue
        path = file_of(module)
        if path is None:
            continue
        real = path if genuine.is_source(path) else os.path.realpath(path)
        try:
            with open(real, "rb") as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
        except OSError:
            digest = ""
        relative = real[len(base) :] if real.startswith(base) else real
        found.append({"module": name, "path": relative.replace(os.sep, "/"), "sha256": digest})
    return found


def file_of(module: Any) -> Optional[str]:
    """The file of what stands in `sys.modules`: None where it has none, or raises when it is asked."""
    try:
        path = getattr(module, "__file__", None)
    except Exception:
        return None  # as the lazy modules of `six` do, where what they stand for cannot be imported
    return path if isinstance(path, str) else None


def files(plan: Plan) -> List[str]:
    """The reproduction's files that were loaded or opened, relative to its root, the entry among them."""
    root = os.path.join(plan.root, "")
    paths = {plan.script, *audit.seen.opened}
    for module in list(sys.modules.copy().values()):
        path = file_of(module)
        if path is not None and path.startswith(root):
            paths.add(path)
    found = []
    for path in paths:
        full = os.path.normpath(path)
        if full.startswith(root) and not full.startswith(_INSTALLED) and os.path.isfile(full):
            found.append(full[len(root) :].replace(os.sep, "/"))
    return sorted(set(found))
