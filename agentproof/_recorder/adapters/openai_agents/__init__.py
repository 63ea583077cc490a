"""Hooks for `openai-agents`, installed when the script's own import of it is done (standard library only).

Base classes are patched, with every subclass to come; no agent, tool or hooks object is touched.
What a release does not have is a gap in the recording's coverage, never an error.
"""

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

_PARTS: Tuple[Tuple[Tuple[str, ...], Callable[[], List[str]]], ...] = (
    (("hooks",), hooks.install),
    (("models",), models.install),
    (("states",), states.install),
    (("sessions",), sessions.install),
    (("guardrails",), guardrails.install),
    (("spans",), tracing.install),
    (("mcp",), mcp.install),
    (("streams",), streams.install),
    (("runs",), runs.install),
    (("surfaces",), surfaces.install),
    (("unwatched",), unwatched.install),
)
"""What hooks which parts of the SDK; it gives what this release does not have of the first of them."""

NOT_IN_RELEASE = "not_in_release"


def install(mode: str) -> List[Tuple[str, ...]]:
    """Hook everything that this release has; give (what, why) for what could not be hooked, with a third
    entry, `NOT_IN_RELEASE`, for what the release does not have."""
    gaps: List[Tuple[str, ...]] = []
    runs.routing = mode == "streamed"
    with watching("values"):
        facts.register_values()
    for names, part in _PARTS:
        try:
            gaps += [(names[0], why, NOT_IN_RELEASE) for why in part()]
        except Exception as error:
            for name in names:
                journal().failed(name, error)
                gaps.append((name, "could not be hooked in this release: {}".format(type(error).__name__)))
    with watching("conduct"):
        writes.install()
    bodies.on_return = watch.body_returned
    bodies.tool_of = tool_bodies.tool_of
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
