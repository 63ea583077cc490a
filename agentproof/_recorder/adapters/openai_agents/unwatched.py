"""Parts of the SDK that a script may use and of which nothing is told: counted, so that this is told.

Each is known by a class of its own, which is counted when it is made. Standard library only.
"""

import sys
from types import ModuleType
from typing import Any, Dict, List, Tuple

from ... import importing
from ...events import guarded, journal
from ...patching import hide, patch

NOT_WATCHED = "not_watched"

_SURFACES = {
    "agents.sandbox.sandbox_agent": ("SandboxAgent", "sandbox", "what its commands did"),
    "agents.responses_websocket_session": (
        "ResponsesWebSocketSession",
        "websocket",
        "what goes over its connection",
    ),
    "agents.extensions.experimental.codex.codex": ("Codex", "codex", "what its commands did"),
}
"""By module: the class, a word for the part, and what of it is not recorded."""

_used: Dict[str, int] = {}


def _counting(name: str) -> Any:
    def make(original: Any) -> Any:
        def begin(self: Any, *args: Any, **kwargs: Any) -> None:
            _count(name)
            try:
                original(self, *args, **kwargs)
            except BaseException as raised:
                hide(raised)
                raise

        return begin

    return make


@guarded("unwatched")
def _count(name: str) -> None:
    if not journal().is_silent:
        _used[name] = _used.get(name, 0) + 1


def _watch(module: ModuleType) -> None:
    name = module.__name__
    found = getattr(module, _SURFACES[name][0], None)
    if isinstance(found, type):
        patch(found, "__init__", _counting(name))


def install() -> List[str]:
    """Count what is made of these, now or once the script imports it."""
    for name in _SURFACES:
        module = sys.modules.get(name)
        if module is None:
            importing.finder.when_loaded(name, _watch)
        else:
            _watch(module)
    return []


def gaps() -> List[Tuple[str, str, str]]:
    """What was used of them."""
    found: List[Tuple[str, str, str]] = []
    for name, count in _used.items():
        cls, word, untold = _SURFACES[name]
        times = "once" if count == 1 else "{} times".format(count)
        found.append((word, "{} was made {}; {} are not recorded".format(cls, times, untold), NOT_WATCHED))
    return found
