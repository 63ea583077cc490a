"""Models with other fields."""

from typing import TypeVar

from agentproof.models._core import Model

M = TypeVar("M", bound=Model)


def changed(model: M, /, **fields: object) -> M:
    """The same but for `fields`, validated again."""
    given = {name: getattr(model, name) for name in model.fields_given()}
    return type(model)(**{**given, **fields})
