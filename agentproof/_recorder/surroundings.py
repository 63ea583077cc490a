"""What the script put around the SDK: import hooks, modules in the place of others, code under false names.

Standard library only.

1. Import hooks of the reproduction's (`sys.meta_path`, `sys.path_hooks`, `builtins.__import__`), looked at
   when the SDK is imported and at the end.
2. A module of the SDK, of an installed package or of the standard library that is not its own file's.
3. Functions of modules that the SDK uses which were exchanged for the reproduction's; those that stand for
   the provider (an HTTP client, a client of the API) are left to the script.
4. Code that names a file of the SDK as its own and is not in that file, when it is executed or made a
   function (audit events).
"""

import builtins
import os
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from . import audit, baseline, genuine, loaded, patching
from .plan import Plan

_PROVIDERS = (
    *("openai", "httpx", "httpx2", "httpcore", "litellm", "any_llm", "requests", "aiohttp", "websockets"),
)
_ALSO = (
    *("asyncio.tasks", "asyncio.events", "asyncio.base_events", "contextvars", "copy", "inspect", "json"),
)
"""Modules that the SDK uses without holding them."""
_MOST_CODES = 10_000

_found: Set[str] = set()
_codes: List[types.CodeType] = []
_modules: Dict[str, types.ModuleType] = {}
_import: Callable[..., Any] = builtins.__import__


def install() -> None:
    """Begin to listen to what is executed."""
    audit.listeners["exec"] = _executed
    audit.listeners["function.__new__"] = _executed
    audit.listeners["code.__new__"] = _named


def _executed(arguments: Tuple[Any, ...]) -> None:
    code = arguments[0] if arguments else None
    if not isinstance(code, types.CodeType) or len(_codes) >= _MOST_CODES:
        return
    if genuine.is_sdk_file(code.co_filename):
        _codes.append(code)


def _named(arguments: Tuple[Any, ...]) -> None:
    name = arguments[1] if len(arguments) > 1 else None
    if isinstance(name, str) and genuine.is_sdk_file(name):
        _found.add("code made under the name {}".format(_short(name)))


def before(plan: Plan) -> Set[str]:
    """What is found at the end of the SDK's import."""
    _modules.update(baseline.modules(plan.package))
    _look(plan)
    return set(_found)


def after(plan: Plan) -> Set[str]:
    """What was found at the import, and is found now."""
    _look(plan)
    for name, module in _modules.items():
        if sys.modules.get(name) is not module:
            _found.add("sys.modules[{}]".format(name))
    _found.update(_exchanged(plan))
    return set(_found)


def forget() -> None:
    """Let go of the modules and the code that were noted."""
    _modules.clear()
    _codes.clear()


def _look(plan: Plan) -> None:
    root = os.path.join(plan.root, "")
    for place, hooks in (("sys.meta_path", sys.meta_path), ("sys.path_hooks", sys.path_hooks)):
        for hook in list(hooks):
            if _is_scripts(hook, root):
                name = getattr(hook, "__qualname__", type(hook).__qualname__)
                _found.add("{}: {}".format(place, name))
    if builtins.__import__ is not _import:
        _found.add("builtins.__import__")
    waiting, _codes[:] = list(_codes), []
    for code in waiting:
        whole = genuine.of_file(code.co_filename)
        if not (whole is not None and genuine.same(code, whole)) and not genuine.is_genuine(code):
            _found.add("code executed under the name {}".format(_short(code.co_filename)))
    _found.update(_in_place_of_others(plan))


def _short(path: str) -> str:
    return path.rpartition("site-packages" + os.sep)[2]


def _is_scripts(item: Any, root: str) -> bool:
    """Whether an object's code is in no installed file."""
    kind = item if isinstance(item, type) else type(item)
    members = [member for base in kind.__mro__ for member in vars(base).values()]
    for member in [item, getattr(item, "__func__", None), *members]:
        for function in baseline.functions_of(member):
            if not patching.is_own_code(function.__code__) and not _is_installed(function.__code__, root):
                return True
    return False


def _is_installed(code: types.CodeType, root: str) -> bool:
    return genuine.is_installed(code.co_filename) and not code.co_filename.startswith(root)


def _in_place_of_others(plan: Plan) -> Iterator[str]:
    for name, module in list(sys.modules.copy().items()):
        top = name.partition(".")[0]
        path = loaded.file_of(module)
        if path is not None and top != plan.package and genuine.is_installed(path):
            continue
        real = path if path is None or genuine.is_source(path) else os.path.realpath(path)
        if top == plan.package:
            if not (isinstance(module, types.ModuleType) and _is_sdk(_places(module, real))):
                yield "sys.modules[{}]".format(name)
        elif top == "__main__" or top.startswith("_agentproof"):
            continue
        elif real is None:
            if _is_made_by_hand(module) and _is_installed_name(plan, top):
                yield "{} (a module made by the script)".format(name)
        elif _shadows(top, module, real, plan):
            yield "{} (shadowed by {})".format(name, os.path.relpath(real, os.path.realpath(plan.root)))


def _shadows(name: str, module: Any, path: str, plan: Plan) -> bool:
    """Whether a module of the reproduction's stands where the SDK, or what it uses, finds another."""
    if not path.startswith(os.path.join(os.path.realpath(plan.root), "")) or genuine.is_installed(path):
        return False
    return _is_installed_name(plan, name) or (name in sys.stdlib_module_names and _is_used(module))


def _places(module: types.ModuleType, path: Optional[str]) -> List[Any]:
    """Where a module comes from; a `__getattr__` of the script's is not asked."""
    return [path] if path is not None else list(vars(module).get("__path__") or ())


def _is_sdk(places: List[Any]) -> bool:
    return bool(places) and all(isinstance(each, str) and genuine.is_sdk_file(each) for each in places)


def _is_made_by_hand(module: Any) -> bool:
    return getattr(module, "__spec__", None) is None and getattr(module, "__loader__", None) is None


def _is_installed_name(plan: Plan, name: str) -> bool:
    place = os.path.join(plan.site_packages, name)
    return os.path.isdir(place) or os.path.isfile(place + ".py")


def _is_used(module: Any) -> bool:
    """Whether an installed module holds this one, or something of it."""
    name = getattr(module, "__name__", None)
    for other in list(sys.modules.copy().values()):
        path = getattr(other, "__file__", None)
        if not isinstance(path, str) or not genuine.is_installed(path):
            continue
        for item in list(vars(other).values()):
            made = isinstance(item, (type, types.FunctionType)) and item.__module__ == name
            if item is module or made:
                return True
    return False


def _exchanged(plan: Plan) -> Iterator[str]:
    """Functions of the modules and classes that the SDK's modules hold which are the reproduction's."""
    root = os.path.join(plan.root, "")
    ours = (root, patching.HERE)
    own = {(id(place), key): new for place, key, new in patching.replaced}
    for place, owner in _used_by_the_sdk(plan):
        for key, member in list(vars(owner).items()):
            if not isinstance(member, baseline.FUNCTIONAL) or own.get((id(owner), key)) is member:
                continue
            if type(member) is types.FunctionType and not member.__code__.co_filename.startswith(ours):
                continue  # as nearly all are: of an installed file
            for function in baseline.functions_of(member):
                path = function.__code__.co_filename
                if path.startswith(root) and not genuine.is_installed(path):
                    yield "{}.{}".format(place, key)


def _used_by_the_sdk(plan: Plan) -> Iterator[Tuple[str, Any]]:
    """The modules and classes of other installed packages that the SDK's modules hold, each once."""
    waiting: List[Any] = [sys.modules[name] for name in _ALSO if name in sys.modules]
    for _, module in baseline.modules(plan.package):
        waiting += [
            item for item in list(vars(module).values()) if isinstance(item, (types.ModuleType, type))
        ]
    seen: Set[int] = set()
    while waiting:
        owner = waiting.pop()
        origin = getattr(owner, "__module__" if isinstance(owner, type) else "__name__", None)
        if id(owner) in seen or not isinstance(origin, str):
            continue
        seen.add(id(owner))
        top = origin.partition(".")[0]
        if top in (plan.package, "__main__") or (top in _PROVIDERS and not origin.startswith("openai.types")):
            continue
        if not _is_installed_module(origin):
            continue
        if isinstance(owner, types.ModuleType):
            yield origin, owner
            held = list(vars(owner).values())
            waiting += [each for each in held if isinstance(each, type) and each.__module__ == origin]
        else:
            yield "{}.{}".format(origin, owner.__qualname__), owner


def _is_installed_module(name: str) -> bool:
    module = sys.modules.get(name)
    path = loaded.file_of(module)
    if module is None or path is None:
        return module is not None
    return genuine.is_installed(path) or genuine.is_installed(os.path.realpath(path))
