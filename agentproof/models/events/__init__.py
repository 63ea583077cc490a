"""The closed vocabulary of events: one module a surface, one class a kind.

A new kind is a new class in one of these modules, with its words and why the evidence leaves it out; nothing
else lists it. The envelope and the kinds that the evidence projection reads stay as they are.
"""

from .base import *
from .base import Event
from .hooks import *
from .mcp import *
from .probe import *
from .providers import *
from .runs import *
from .script import *
from .sessions import *
from .states import *
from .streams import *
from .surfaces import *
from .testing import *
from .tools import *
from .tracing import *


def _kinds(parent: type[Event]) -> list[type[Event]]:
    below = [kind for child in parent.__subclasses__() for kind in _kinds(child)]
    return [*([parent] if "kind" in parent.model_fields else []), *below]


KINDS: tuple[type[Event], ...] = tuple(sorted(_kinds(Event), key=lambda kind: kind.__name__))
"""Every kind of event."""
