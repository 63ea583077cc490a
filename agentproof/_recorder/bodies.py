"""Functions of the reproduction that really ran (standard library only)."""

from typing import List, Tuple

from .plan import Plan


def install(plan: Plan) -> List[Tuple[str, str]]:
    """Begin to watch."""
    return []


def stop() -> None:
    """Watch no longer."""
