"""A trace refers to states by their digests, and no field that does is forgotten."""

from typing import Any, get_args, get_type_hints

import pytest

from agentproof.models.events import KINDS, Event
from agentproof.models.trace import Trace
from agentproof.models.wire import Sha256


def _is_digest(annotation: Any) -> bool:  # Any: a type expression
    return annotation == Sha256 or any(map(_is_digest, get_args(annotation)))


def _digests(kind: type[Event]) -> list[str]:
    hints = get_type_hints(kind, include_extras=True)
    return [name for name in kind.model_fields if _is_digest(hints[name])]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_digest_in_an_event_is_that_of_a_state(kind: type[Event]) -> None:
    digests: dict[str, Any] = {name: f"{number:064x}" for number, name in enumerate(_digests(kind))}
    event = kind.model_construct(**digests)
    assert Trace.model_construct(events=(event,)).state_digests() == set(digests.values())


def test_some_kinds_have_digests() -> None:
    assert sum(bool(_digests(kind)) for kind in KINDS) >= 7
