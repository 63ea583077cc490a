"""The rules: one module each, which is one by being here."""

import importlib
import pkgutil
from typing import Final, cast

from ..trace.outcome import Kind

RULES: Final[tuple[Kind, ...]] = tuple(
    cast(Kind, importlib.import_module(f"{__name__}.{each.name}")) for each in pkgutil.iter_modules(__path__)
)
"""In the order of their modules' names."""
