"""Hooks for `openai-agents`, installed when the script's own import of it is done (standard library only).

Base classes are patched, with every subclass to come; no agent, tool or hooks object is touched.
What a release does not have is a gap in the recording's coverage, never an error.
"""

import functools
from typing import Any, Callable, Dict, List, Tuple

from ... import bodies
from ...events import journal, watching
from . import (
    exchanges,
    facts,
    guardrails,
    hooks,
    mcp,
    models,
    runs,
    sessions,
    states,
    streams,
    surfaces,
    tool_bodies,
    tracing,
    unwatched,
    watch,
    writes,
)

_Parts = Tuple[Tuple[str, Callable[[], List[str]]], ...]
_PARTS: _Parts = (
    ("hooks", hooks.install),
    ("models", models.install),
    ("states", states.install),
    ("sessions", sessions.install),
    ("guardrails", guardrails.install),
    ("spans", tracing.install),
    ("mcp", mcp.install),
    ("streams", streams.install),
    ("surfaces", surfaces.install),
    ("unwatched", unwatched.install),
)
"""What hooks each part of the SDK; it gives what this release does not have of it."""

NOT_IN_RELEASE = "not_in_release"


def install() -> List[Tuple[str, ...]]:
    """Hook everything that this release has but what begins a run; give (what, why) for what could not be
    hooked, with a third entry, `NOT_IN_RELEASE`, for what the release does not have."""
    with watching("values"):
        facts.register_values()
    gaps = _hook(_PARTS)
    with watching("conduct"):
        writes.install()
    bodies.on_return = watch.body_returned
    bodies.tool_of = tool_bodies.tool_of
    return gaps


def enter(mode: str) -> List[Tuple[str, ...]]:
    """Hook the runner, whose runs are streamed ones in the mode `streamed`; the same of what could not be."""
    return _hook((("runs", functools.partial(runs.install, routing=mode == "streamed")),))


def _hook(parts: _Parts) -> List[Tuple[str, ...]]:
    gaps: List[Tuple[str, ...]] = []
    for name, part in parts:
        try:
            gaps += [(name, why, NOT_IN_RELEASE) for why in part()]
        except Exception as error:
            journal().failed(name, error)
            gaps.append((name, "could not be hooked in this release: {}".format(type(error).__name__)))
    return gaps


def known_hooks() -> Dict[str, Any]:
    """The hooks that this release has, by scope."""
    return dict(hooks.known)


def gaps() -> List[Tuple[str, ...]]:
    """What could not be told of this script, as (what, why) or (what, why, code)."""
    return [*hooks.gaps, *watch.gaps, *unwatched.gaps()]


def finish() -> None:
    """Look at what is left when the script is over."""
    with watching("conduct"):
        writes.finish()
    exchanges.finish_all()
    runs.finish()
    watch.boundary("exit")
