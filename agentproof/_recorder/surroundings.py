"""What the script put around the SDK: import hooks, modules in the place of others, code under false names
(standard library only).

1. Import hooks of the reproduction's (`sys.meta_path`, `sys.path_hooks`, `builtins.__import__`), looked at when
   the SDK is imported and at the end.
2. A module of the SDK, of an installed package or of the standard library that is not its own file's.
3. Functions of modules that the SDK uses which were exchanged for the reproduction's; those that stand for the
   provider (an HTTP client, a client of the API) are left to the script.
4. Code that names a file of the SDK as its own and is not in that file, when it is executed or made a function
   (audit events).
"""

import builtins
import os
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from . import audit, baseline, genuine, patching
from .plan import Plan

_PROVIDERS = (
    "openai",
    "httpx",
    "httpx2",
    "httpcore",
    "litellm",
    "any_llm",
    "requests",
    "aiohttp",
    "websockets",
)
_MOST_CODES = 10_000

_found: Set[str] = set()
_codes: List[types.CodeType] = []
_modules: Dict[str, types.ModuleType] = {}
_import: Callable[..., Any] = builtins.__import__
_changing = {"__code__", "__bases__", "__class__"}


def install() -> None:
    """Begin to listen to what is executed."""
    audit.listeners["exec"] = _executed
    audit.listeners["function.__new__"] = _executed
    audit.listeners["code.__new__"] = _named


def _executed(arguments: Tuple[Any, ...]) -> None:
    code = arguments[0] if arguments else None
    if isinstance(code, types.CodeType) and genuine.is_sdk_file(code.co_filename):
        if len(_codes) < _MOST_CODES:
            _codes.append(code)


def _named(arguments: Tuple[Any, ...]) -> None:
    name = arguments[1] if len(arguments) > 1 else None
    if isinstance(name, str) and genuine.is_sdk_file(name):
        _found.add("code made under the name {}".format(_short(name)))


def before(plan: Plan) -> Set[str]:
    """What is found at the end of the SDK's import."""
    _modules.update(baseline.modules(plan.package))
    _look(plan)
    _found.update(_false_names())
    return set(_found)


def after(plan: Plan) -> List[str]:
    """What was found at the import, and is found now."""
    _look(plan)
    _found.update(_false_names())
    for name, module in _modules.items():
        if sys.modules.get(name) is not module:
            _found.add("sys.modules[{}]".format(name))
    _found.update(_exchanged(plan))
    return sorted(_found)


def _false_names() -> Iterator[str]:
    waiting, _codes[:] = list(_codes), []
    for code in waiting:
        if not genuine.is_genuine(code):
            yield "code executed under the name {}".format(_short(code.co_filename))


def _short(path: str) -> str:
    return path.rpartition("site-packages" + os.sep)[2]


def _look(plan: Plan) -> None:
    root = os.path.join(plan.root, "")
    for place, hooks in (("sys.meta_path", sys.meta_path), ("sys.path_hooks", sys.path_hooks)):
        for hook in list(hooks):
            if _is_of(hook, root):
                _found.add("{}: {}".format(place, getattr(hook, "__qualname__", type(hook).__qualname__)))
    if builtins.__import__ is not _import:
        _found.add("builtins.__import__")
    _found.update(_in_place_of_others(plan, root))


def _is_of(item: Any, root: str) -> bool:
    """Whether an object's code is not an installed file's."""
    kind = item if isinstance(item, type) else type(item)
    candidates = [
        item,
        getattr(item, "__func__", None),
        *(vars(base).get(name) for base in kind.__mro__ for name in vars(base)),
    ]
    for each in candidates:
        for function in baseline.functions_of(each):
            path = function.__code__.co_filename
            if not (
                genuine.is_installed(path)
                and not path.startswith(root)
                or patching.is_own_code(function.__code__)
            ):
                return True
    return False


def _in_place_of_others(plan: Plan, root: str) -> Iterator[str]:
    library = sys.stdlib_module_names
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        if top == "__main__" or name.startswith("_agentproof"):
            continue
        if top == plan.package:
            path = getattr(module, "__file__", None)
            if type(module) is not types.ModuleType and not isinstance(module, types.ModuleType):
                yield "sys.modules[{}]".format(name)
            elif not (isinstance(path, str) and genuine.is_sdk_file(os.path.realpath(path))):
                yield "sys.modules[{}]".format(name)
            continue
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or genuine.is_installed(os.path.realpath(path)):
            if isinstance(path, str) or not _is_made_by_hand(module) or not _is_installed_name(plan, top):
                continue
            yield "{} (a module made by the script)".format(name)
        elif os.path.realpath(path).startswith(os.path.realpath(root)) and (
            _is_installed_name(plan, top) or (top in library and _is_used(module))
        ):
            yield "{} (shadowed by {})".format(
                name, os.path.relpath(os.path.realpath(path), os.path.realpath(root))
            )


def _is_made_by_hand(module: Any) -> bool:
    return getattr(module, "__spec__", None) is None and getattr(module, "__loader__", None) is None


def _is_installed_name(plan: Plan, name: str) -> bool:
    place = os.path.join(plan.site_packages, name)
    return os.path.isdir(place) or os.path.isfile(place + ".py")


def _is_used(module: Any) -> bool:
    """Whether an installed module holds this one or something of it."""
    name = getattr(module, "__name__", None)
    for other in list(sys.modules.values()):
        path = getattr(other, "__file__", None)
        if not isinstance(path, str) or not genuine.is_installed(path) or other is module:
            continue
        for item in list(vars(other).values()):
            if (
                item is module
                or getattr(item, "__module__", None) == name
                and isinstance(item, (type, types.FunctionType))
            ):
                return True
    return False


def _exchanged(plan: Plan) -> Iterator[str]:
    """Functions of the modules and classes that the SDK's modules hold which are the reproduction's."""
    root = os.path.join(plan.root, "")
    seen: Set[int] = set()
    waiting: List[Tuple[str, Any]] = []
    for _, module in baseline.modules(plan.package):
        waiting += [
            (getattr(item, "__name__", "?"), item)
            for item in list(vars(module).values())
            if isinstance(item, (types.ModuleType, type))
        ]
    for name in (
        "asyncio.tasks",
        "asyncio.events",
        "asyncio.base_events",
        "inspect",
        "json",
        "copy",
        "contextvars",
    ):
        if name in sys.modules:
            waiting.append((name, sys.modules[name]))
    while waiting:
        name, owner = waiting.pop()
        origin = getattr(owner, "__module__" if isinstance(owner, type) else "__name__", None)
        if id(owner) in seen or not isinstance(origin, str):
            continue
        seen.add(id(owner))
        top = origin.partition(".")[0]
        if top in (plan.package, "__main__") or (top in _PROVIDERS and not origin.startswith("openai.types")):
            continue
        if not _is_installed_module(origin):
            continue
        own = {(id(place), key): new for place, key, new in patching.replaced}
        for key, member in list(vars(owner).items()):
            if (
                isinstance(owner, types.ModuleType)
                and isinstance(member, type)
                and member.__module__ == origin
            ):
                waiting.append(("{}.{}".format(name, key), member))
            if own.get((id(owner), key)) is member:
                continue
            for function in baseline.functions_of(member):
                if function.__code__.co_filename.startswith(root) and not genuine.is_installed(
                    function.__code__.co_filename
                ):
                    yield "{}.{}".format(
                        name
                        if isinstance(owner, types.ModuleType)
                        else "{}.{}".format(origin, owner.__qualname__),
                        key,
                    )


def _is_installed_module(name: str) -> bool:
    module = sys.modules.get(name)
    path = getattr(module, "__file__", None)
    return module is not None and (not isinstance(path, str) or genuine.is_installed(os.path.realpath(path)))
