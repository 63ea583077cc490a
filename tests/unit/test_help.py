"""`record --help` stays readable: sections, and ten options under More."""

import pytest
from click.testing import CliRunner

from agentproof.cli.group import cli


def help_of(*arguments: str, columns: int = 80) -> str:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(
        cli, ["record", *arguments], terminal_width=columns
    )
    assert done.exit_code == 0
    return done.output


def test_the_options_are_in_sections() -> None:
    shown = help_of("--help")
    titles = ("What to record:", "What should happen:", "Environment:", "Isolation:", "Output:", "More:")
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    assert "--passphrase-env NAME" not in shown
    assert "--passphrase-env NAME" in help_of("--help-all")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_option_is_broken_at_its_hyphens(columns: int) -> None:
    more = help_of("--help", columns=columns).partition("More:")[2].partition("Examples:")[0]
    assert not [line for line in more.splitlines() if line.rstrip().endswith("-")]
    assert more.count("--") == 10 + len(["--help-all"])
