"""How a command ends on Ctrl-C, SIGTERM or SIGHUP: at once while it only starts, later after cleaning up.

Python turns Ctrl-C into an exception between any two instructions. In the middle of our imports it would
show as a traceback of theirs, or as whatever an extension module makes of it, and nothing is there yet that
has to be cleaned up. So a command first just ends, and asks for the exception when its work begins.
"""

import os
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


def end_by_exception() -> None:
    """For a process of ours that only works: these signals end it by an exception, so that it cleans up."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
            _ours.append(number)


def leave_to_the_main_thread() -> None:
    """For another thread: the system may give it a signal, and what the main one waits for would go on."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, map(signal.Signals, _ours))


def end_this_process() -> None:
    """As if somebody had sent SIGTERM; from any thread but the main one."""
    os.kill(os.getpid(), signal.SIGTERM)


def _end(number: int, _frame: object) -> NoReturn:
    for each in _ours:  # once is enough: the second would cut the cleaning short
        # Not SIG_IGN: Python complains of a signal that is on its way when it is set.
        signal.signal(each, _pass)
    sys.exit(128 + number)


def _pass(_number: int, _frame: object) -> None:
    """Nothing."""
