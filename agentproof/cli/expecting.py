"""The options that say what should have happened."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..models.expectations import Expectations

OPTIONS = (
    click.option(
        "--should-print",
        metavar="TEXT",
        multiple=True,
        help="Some line of stdout should contain TEXT. This and the next are repeatable.",
    ),
    click.option(
        "--should-not-print", metavar="TEXT", multiple=True, help="No line of stdout should contain TEXT."
    ),
    click.option(
        "--should-raise",
        metavar="NAME",
        multiple=True,
        help="An exception of this class should end the script or one of its runs, caught or not.",
    ),
    click.option("--should-not-raise", is_flag=True, help="No exception should end the script or a run."),
    click.option(
        "--should-run",
        metavar="TOOL[=N]",
        multiple=True,
        help="This tool should run, N times where N is given.",
    ),
    click.option("--should-not-run", metavar="TOOL", multiple=True, help="This tool should not run."),
    click.option(
        "--should-output",
        metavar="TEXT",
        multiple=True,
        help="The last run's final output should contain TEXT.",
    ),
    click.option(
        "--should",
        metavar="TEXT",
        help='What should happen, in a sentence for the issue\'s "Expected behavior".',
    ),
)


def expectation_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command, not yet click's
    """The options; their values come as one, `expected`, for `expectations_of`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def expectations_of(given: Mapping[str, Any]) -> "Expectations":  # Any: values of click's
    """What the options say.

    Raises:
        UsageError: one is empty, or two contradict.
    """
    from ..models.expectations import NAMES, from_options

    return from_options((name, given.get(name.replace("-", "_"))) for name in NAMES)
