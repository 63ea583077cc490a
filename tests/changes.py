"""Models with other fields."""

from typing import TypeVar

from agentproof.models.wire import Wire

M = TypeVar("M", bound=Wire)


def changed(model: M, /, **fields: object) -> M:
    """The same but for `fields`, validated again."""
    given = {name: getattr(model, name) for name in model.model_fields_set}
    return type(model)(**{**given, **fields})
