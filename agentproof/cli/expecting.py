"""The options that say what should have happened, and which variables a script is given."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..models.expectations import Expectations
    from ..record.live import Live
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


LIVE = (
    click.option(
        "--live",
        multiple=True,
        metavar="[HOST[:PORT][/PATH]=ENV]",
        help="Let the script ask its provider once, with the key in your variable ENV, which stays outside "
        "the sandbox; record the answers, and replay them from then on. Alone: api.openai.com with "
        "OPENAI_API_KEY. Repeatable.",
    ),
    click.option(
        "--live-to",
        "live_to",
        multiple=True,
        metavar="HOST=http://127.0.0.1:PORT",
        help="Ask this server on loopback instead of HOST; the bundle says that it is not the provider.",
    ),
    click.option(
        "--max-requests",
        type=click.IntRange(1, 10_000),
        default=100,
        show_default=True,
        metavar="N",
        help="With --live: stop at more requests than these.",
    ),
)


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command, not yet click's
    """`--live`, `--live-to` and `--max-requests`, for `live_of`."""
    for option in reversed(LIVE):
        command = option(command)
    return command


def live_of(given: dict[str, Any]) -> "Live | None":  # Any: values of click's
    """Whom the script may ask; takes the options out of `given`.

    Raises:
        UsageError: one makes no sense, or a key is not there.
    """
    import os

    options, to = given.pop("live", ()), given.pop("live_to", ())
    most = given.pop("max_requests")
    if not options and not to:
        return None
    from ..record.live import parse_live

    return parse_live(options, to=to, max_requests=most, environment=os.environ)


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
