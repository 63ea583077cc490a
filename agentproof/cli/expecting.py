"""The options that say what should have happened, and which variables a script is given."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..models.expectations import Expectations
    from ..record.variables import Variables

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


VARIABLES = (
    click.option(
        "--env",
        "variables",
        metavar="NAME[=VALUE]",
        multiple=True,
        help="Give the script this variable of yours, or with this value; repeatable. Values are masked.",
    ),
    click.option(
        "--env-file",
        "variable_files",
        type=click.Path(path_type=Path, dir_okay=False),
        multiple=True,
        help="Give it the variables of this file, a NAME=VALUE a line.",
    ),
    click.option(
        "--env-public", is_flag=True, help="Record the values of these variables as they are, unmasked."
    ),
)


def variable_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command, not yet click's
    """`--env`, `--env-file` and `--env-public`, for `variables_of`."""
    for option in reversed(VARIABLES):
        command = option(command)
    return command


def variables_of(given: dict[str, Any]) -> "Variables":  # Any: values of click's
    """The variables that the options name; takes them out of `given`.

    Raises:
        UsageError: a name or value is refused, or is not there.
    """
    import os

    from ..record.variables import parse_variables

    return parse_variables(
        given.pop("variables", ()),
        files=given.pop("variable_files", ()),
        public=given.pop("env_public", False),
        environment=os.environ,
    )


def expectations_of(given: Mapping[str, Any]) -> "Expectations":  # Any: values of click's
    """What the options say.

    Raises:
        UsageError: one is empty, or two contradict.
    """
    from ..models.expectations import NAMES, from_options

    return from_options((name, given.get(name.replace("-", "_"))) for name in NAMES)
