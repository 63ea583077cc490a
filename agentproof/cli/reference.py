"""The page of all commands, options and exit codes, written from the code (`docs/reference.md`)."""

import inspect
from collections.abc import Iterator

import click

from ..errors import Exit
from .group import cli

_CODES = {
    Exit.YES: "yes: it was done, the bundle is `CURRENT`, the verdict is the expected one",
    Exit.NO: "the answer is no: an unexpected or inconclusive verdict, another outcome than before",
    Exit.USAGE: "the question makes no sense: unknown option, missing file, unusable key or trust file",
    Exit.STALE: "`STALE`: a sound bundle about another source than the one in front of you",
    Exit.CANNOT: "it could not be done: the machine, the index or the target stands in the way",
    Exit.INVALID: "`INVALID` or `UNTRUSTED`: do not believe this bundle",
    Exit.INTACT: "`INTACT`: nothing failed, but not everything could be checked (`--allow-intact`: 0)",
}


def reference() -> str:
    """Markdown: exit codes, then one section a command in the order of `agentproof --help`."""
    return "\n".join([_HEAD, *_exit_codes(), *_group(cli, "agentproof")]).rstrip() + "\n"


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it; groups themselves too."""
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise RuntimeError(f"{path} lists {name}, which it does not have")
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


_HEAD = """\
# Reference

Written from the code by `python -m agentproof.cli`; a test keeps the two together. `agentproof COMMAND
--help` says the same in the terminal.
"""


def _exit_codes() -> Iterator[str]:
    yield "## Exit codes\n"
    yield "| code | when |\n|---|---|"
    yield from (f"| {code.value} | {_CODES[code]} |" for code in sorted(Exit))
    yield "\nOf several bundles the worst counts: 5, 3, 6, 1, 0.\n"


def _group(group: click.Group, path: str) -> Iterator[str]:
    for words, command in commands(group, path):
        yield f"{'##' if words.count(' ') == 1 else '###'} {words}\n"
        yield from _command(words, command)


def _command(words: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=words)
    yield f"```text\n{words} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    yield from _paragraphs(command.help or "")
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    for option in options:
        if "--help" not in option.opts:
            yield _option(option, context)
    if len(options) > 1:
        yield ""
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    examples = [line for line in lines if line.startswith("agentproof ")]
    if examples:
        yield "\n".join(["```console", *(f"$ {line}" for line in examples), "```\n"])


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        first, *rest = paragraph.split("\n")
        if first == "\b":
            yield "\n".join(["```text", *rest, "```\n"])
        else:
            yield " ".join([first, *rest]).strip() + "\n"


def _option(option: click.Option, context: click.Context) -> str:
    names = "/".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    default = f" (default: {option.default})" if option.show_default else ""
    return f"- `{names}{value}`: {option.help or ''}{default}"
