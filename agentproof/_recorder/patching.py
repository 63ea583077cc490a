"""Replace methods on classes: the SDK's base classes with all their subclasses, present and future.

Wrappers keep the kind of function that they stand for, pass positional and keyword arguments on as
they came, and leave no line of their own in a traceback (`hide`). Standard library only.
"""

import functools
import inspect
import os
import sys
import weakref
from types import CodeType, TracebackType
from typing import Any, Callable, Iterator, List, Mapping, Optional, Set, Tuple


def _ignore(part: str, error: BaseException) -> None:
    return


fault: Callable[[str, BaseException], None] = _ignore
"""Where a fault of a hook goes that is put on a later subclass; set by the journal."""

Maker = Callable[[Any], Any]

trees: List[Tuple[type, Tuple[str, ...]]] = []
"""The classes that are patched with all below them, and the methods."""

_originals: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()
"""Each wrapper of ours with the function that it stands for."""

replaced: List[Tuple[Any, str, Any]] = []
"""(owner, name, what stands there now): the recorder's own changes, which conduct leaves out."""


def hide(error: BaseException) -> None:
    """Take the calling frame's own line out of `error`'s traceback; a bare `raise` adds none again.

    On CPython 3.10 a bare `raise` restores the line; there `hide_everywhere` has to do.
    """
    trace = error.__traceback__
    if trace is not None and trace.tb_frame is sys._getframe(1):
        error.__traceback__ = trace.tb_next


HERE = os.path.dirname(os.path.abspath(__file__))
"""Where the recorder's own files lie."""


def is_own(frame: Any) -> bool:
    """True for a frame of the recorder's code."""
    return is_own_code(frame.f_code)


def is_own_code(code: CodeType) -> bool:
    """True for the recorder's code."""
    return code.co_filename.startswith(HERE)


def clean(error: BaseException) -> None:
    """Take every line of the recorder's out of an exception that is about to be shown."""
    waiting = [error]
    seen: Set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _cleaned(one.__traceback__)
        waiting += [each for each in (one.__cause__, one.__context__) if each is not None]
        waiting += list(getattr(one, "exceptions", ()))


def _cleaned(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    kept = []
    while trace is not None:
        if not is_own(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    following: Optional[TracebackType] = None
    for each in reversed(kept):
        each.tb_next = following
        following = each
    return following


def hide_everywhere() -> None:
    """CPython 3.10: leave the recorder's lines out of what the `traceback` module gives."""
    if sys.version_info >= (3, 11):
        return
    import traceback

    original = traceback.walk_tb

    def walk_tb(tb: Any) -> Iterator[Tuple[Any, int]]:
        return ((frame, line) for frame, line in original(tb) if not is_own(frame))

    traceback.walk_tb = walk_tb
    replaced.append((traceback, "walk_tb", walk_tb))


def patch(owner: Any, name: str, make: Maker) -> bool:
    """Put `make(original)` in the place of `owner.name`, if the class itself defines it.

    A maker that gives the original back leaves it as it is.
    """
    original = vars(owner).get(name)
    if original is None:
        return False
    plain = original.__func__ if isinstance(original, (staticmethod, classmethod)) else original
    if not callable(plain) or plain in _originals or getattr(plain, "__isabstractmethod__", False):
        return False
    new = make(plain)
    if new is plain:
        return False
    functools.update_wrapper(new, plain)
    _originals[new] = plain
    if isinstance(original, staticmethod):
        new = staticmethod(new)
    elif isinstance(original, classmethod):
        new = classmethod(new)
    setattr(owner, name, new)
    replaced.append((owner, name, new))
    return True


def original_of(function: Any) -> Any:
    """The function that a wrapper of ours stands for, or the function itself."""
    return _originals.get(function, function) if replaced else function


def patch_tree(base: type, makers: Mapping[str, Maker]) -> None:
    """Patch the methods named in `makers` on `base` and on every class below it, also later ones."""
    trees.append((base, tuple(makers)))

    def apply(cls: type) -> None:
        for name, make in makers.items():
            patch(cls, name, make)

    for cls in _tree(base):
        apply(cls)
    _on_subclass(base, apply)


_watched: "weakref.WeakKeyDictionary[type, List[Callable[[type], None]]]" = weakref.WeakKeyDictionary()


def _on_subclass(base: Any, apply: Callable[[type], None]) -> None:
    if base in _watched:
        _watched[base].append(apply)
        return
    _watched[base] = [apply]
    previous = vars(base).get("__init_subclass__")

    def begin(cls: Any, /, **options: Any) -> None:
        if previous is not None:
            previous.__func__(cls, **options)
        else:
            super(base, cls).__init_subclass__(**options)
        for one in _watched[base]:
            try:
                one(cls)
            except Exception as error:
                fault("hooks", error)

    begin.__name__ = "__init_subclass__"
    new: Any = classmethod(begin)
    base.__init_subclass__ = new
    replaced.append((base, "__init_subclass__", new))


def _tree(base: type) -> Iterator[type]:
    seen = {base}
    waiting = [base]
    while waiting:
        cls = waiting.pop()
        yield cls
        below: type
        for below in type.__subclasses__(cls):
            if below not in seen:
                seen.add(below)
                waiting.append(below)


def is_coroutine_function(function: Any) -> bool:
    """True for `async def`, also behind wrappers."""
    return inspect.iscoroutinefunction(inspect.unwrap(function)) or inspect.iscoroutinefunction(function)


def replace_everywhere(package: str, function: Any, make: Maker) -> None:
    """Put `make(function)` wherever the package's loaded modules hold `function` under its own name."""
    name = function.__name__
    new = make(function)
    functools.update_wrapper(new, function)
    _originals[new] = function
    for module_name, module in list(sys.modules.copy().items()):
        if module_name.partition(".")[0] == package and vars(module).get(name) is function:
            setattr(module, name, new)
            replaced.append((module, name, new))
