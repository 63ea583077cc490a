"""Keep Python's collector away from what the SDK's import made (standard library only).

It has some hundred thousand objects that stay to the end. Looking through them takes an eighth of the
import, and most of the end of each process, where a forked one also copies every page that it looks at.
So they are frozen (`gc.freeze`), and thawed again before the interpreter's own clean-up where that could
be noticed: where the script made something that has a last word (`__del__`, a generator at work, an open
file, a weak reference with a callback).
"""

import gc
import os
import sys
import types
import weakref
from typing import Any, Iterator

from . import loaded
from .plan import Plan

_FRAMES = {
    types.GeneratorType: "gi_frame",
    types.CoroutineType: "cr_frame",
    types.AsyncGeneratorType: "ag_frame",
}
"""Where these say that they are not at their end."""


def rest(plan: Plan) -> None:
    """At the end of the import: freeze what is there, unless the script has something of its own by now."""
    for item in _made_before(plan):
        if _has_a_last_word(item, plan):
            return
    gc.freeze()


def wake(plan: Plan) -> None:
    """At the end of the script: thaw it, where the clean-up can be noticed."""
    if not gc.get_freeze_count():
        return
    if gc.isenabled():
        gc.collect()  # the interpreter is about to do the same
    for item in gc.get_objects():
        if _has_a_last_word(item, plan):
            gc.unfreeze()
            return


def _made_before(plan: Plan) -> Iterator[Any]:
    """What the script's own modules hold, one level deep."""
    root = os.path.join(plan.root, "")
    for name, module in list(sys.modules.copy().items()):
        path = loaded.file_of(module)
        if name == "__main__" or (path is not None and path.startswith(root)):
            for item in list(getattr(module, "__dict__", {}).values()):
                yield item
                if isinstance(item, (list, tuple, set)):
                    yield from item
                elif isinstance(item, dict):
                    yield from item.values()


def _has_a_last_word(item: Any, plan: Plan) -> bool:
    """Whether something can be noticed when this object goes."""
    if isinstance(item, weakref.ref):
        callback = item.__callback__
        code = getattr(callback, "__code__", None)
        return isinstance(code, types.CodeType) and code.co_filename.startswith(os.path.join(plan.root, ""))
    frame = _FRAMES.get(type(item))
    return hasattr(type(item), "__del__") if frame is None else getattr(item, frame) is not None
