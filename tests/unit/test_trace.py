"""A trace refers to states by their digests, and no field that does is forgotten."""

from typing import Any, get_args

import pytest

from agentproof.models._core import Limits, fields_of
from agentproof.models.events import AnyEvent, Event
from agentproof.models.trace import Trace
from agentproof.models.wire import Sha256

KINDS: tuple[type[Event], ...] = get_args(AnyEvent)
_PATTERN = next(each.pattern for each in get_args(Sha256) if isinstance(each, Limits))


def _is_digest(annotation: Any) -> bool:  # Any: a type expression
    inner = getattr(annotation, "__metadata__", ())
    own = any(isinstance(each, Limits) and each.pattern == _PATTERN for each in inner)
    return own or any(map(_is_digest, get_args(annotation)))


def _digests(kind: type[Event]) -> list[str]:
    return [name for name, field in fields_of(kind).items() if _is_digest(field.annotation)]


def _unchecked(model: Any, /, **fields: object) -> Any:  # Any: models, with fields of any kind
    value = model.__new__(model)
    value.__setstate__(({}, fields))
    return value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_digest_in_an_event_is_that_of_a_state(kind: type[Event]) -> None:
    digests = {name: f"{number:064x}" for number, name in enumerate(_digests(kind))}
    event = _unchecked(kind, **{**dict.fromkeys(fields_of(kind)), **digests})
    assert _unchecked(Trace, events=(event,)).state_digests() == set(digests.values())


def test_some_kinds_have_digests() -> None:
    assert sum(bool(_digests(kind)) for kind in KINDS) >= 7
