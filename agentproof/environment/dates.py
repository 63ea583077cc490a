"""The days that a lock may be made as of."""

from datetime import UTC, date, datetime
from typing import Final

from ..errors import UsageError

NOW: Final = "now"
"""As an `as_of`: today, and no look at upload times."""


def today() -> date:
    """This day, UTC."""
    return datetime.now(UTC).date()


def parse_day(as_of: str | None) -> date | None:
    """The day that `--as-of` names; None where it is not given.

    Raises:
        UsageError: it names none, or one that is to come.
    """
    if as_of is None:
        return None
    if as_of == NOW:
        return today()
    try:
        day = date.fromisoformat(as_of)
    except ValueError as error:
        raise UsageError(f"--as-of {as_of}: not a day", hint="write YYYY-MM-DD, or now") from error
    if day > today():
        raise UsageError(f"--as-of {as_of} is in the future", hint="write an earlier day, or now")
    return day
