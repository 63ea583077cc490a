"""How a command ends on Ctrl-C, SIGTERM or SIGHUP: at once while it only starts, later after cleaning up.

Python turns Ctrl-C into an exception between any two instructions. In the middle of our imports it would
show as a traceback of theirs, or as whatever an extension module makes of it, and nothing is there yet that
has to be cleaned up. So a command first just ends, and asks for the exception when its work begins.
"""

import signal
import sys
from typing import Final, NoReturn

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")
_ours: list[signal.Signals] = []
"""The signals that this process has not been told to ignore."""


def end_at_once() -> None:
    """For the entry point of a program: let these signals end the process. nohup's choice is left alone."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, signal.SIG_DFL)
            _ours.append(number)


def clean_up_first() -> None:
    """Work begins that leaves something behind when it is cut short. Does nothing within another program."""
    for number in _ours:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _end)


def _end(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough: the second would cut the cleaning short
    sys.exit(128 + number)
