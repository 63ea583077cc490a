"""The reference of all commands is the code's own, and every command explains itself."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from agentproof.cli.group import cli
from agentproof.cli.reference import commands, reference

COMMANDS = dict(commands(cli, "agentproof"))
LEAVES = {path: command for path, command in COMMANDS.items() if not isinstance(command, click.Group)}


def test_the_page_is_what_the_code_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference.md"
    assert page.read_text("utf-8") == reference(), "python -m agentproof.cli > docs/reference.md"


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_is_in_the_reference_and_has_help(path: str) -> None:
    command, page = COMMANDS[path], reference()
    assert f"# {path}\n" in page
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            assert all(name in page for name in parameter.opts)
        else:
            assert parameter.make_metavar(click.Context(command)).strip("[].") in page


@pytest.mark.parametrize("path", COMMANDS)
def test_the_help_of_every_command_ends_in_an_example_that_parses(path: str) -> None:
    command = COMMANDS[path]
    lines = [line.strip() for line in (command.epilog or "").splitlines() if "agentproof " in line]
    examples = [re.sub(r"^(?:[A-Z_]+=\S* )+", "", line) for line in lines]  # variables of the environment
    assert examples
    for line in examples:
        example = line[line.index("agentproof ") :]  # after what is set for it, such as OPENAI_API_KEY=...
        assert example.startswith(path)
        # A group's examples are of its commands.
        named = max((each for each in COMMANDS if f"{example} ".startswith(f"{each} ")), key=len)
        words = example.removeprefix(named).split(" > ")[0].split()
        COMMANDS[named].make_context(named, words, resilient_parsing=True)
        known = {name for each in COMMANDS[named].params for name in (*each.opts, *each.secondary_opts)}
        used = {word.split("=")[0] for word in words if word.startswith("-")}
        assert used <= known, example


@pytest.mark.parametrize("path", COMMANDS)
def test_help_is_printed_for_every_command(path: str) -> None:
    done = CliRunner().invoke(cli, [*path.split()[1:], "--help"], prog_name="agentproof")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: {path} ")
