"""A trace refers to states by their digests, and no field that does is forgotten."""

from typing import Any, get_args

import pytest
from pydantic import StringConstraints

from agentproof.models._wire import Sha256
from agentproof.models.events import AnyEvent, Event
from agentproof.models.trace import Trace

KINDS: tuple[type[Event], ...] = get_args(get_args(AnyEvent)[0])
_PATTERN = next(each.pattern for each in get_args(Sha256) if isinstance(each, StringConstraints))


def _is_digest(annotation: Any, metadata: Any = ()) -> bool:  # Any: a type expression and its annotations
    own = any(isinstance(each, StringConstraints) and each.pattern == _PATTERN for each in metadata)
    inner = getattr(annotation, "__metadata__", ())
    return own or (bool(inner) and _is_digest(None, inner)) or any(map(_is_digest, get_args(annotation)))


def _digests(kind: type[Event]) -> list[str]:
    fields = kind.model_fields.items()
    return [name for name, field in fields if _is_digest(field.annotation, field.metadata)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_digest_in_an_event_is_that_of_a_state(kind: type[Event]) -> None:
    digests = {name: f"{number:064x}" for number, name in enumerate(_digests(kind))}
    event = kind.model_construct(None, **{**dict.fromkeys(kind.model_fields), **digests})
    assert Trace.model_construct(events=(event,)).state_digests() == set(digests.values())


def test_some_kinds_have_digests() -> None:
    assert sum(bool(_digests(kind)) for kind in KINDS) >= 7
