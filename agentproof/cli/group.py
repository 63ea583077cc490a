"""The command group: lazy commands, suggestions for mistyped ones, errors to exit codes."""

import errno
import importlib
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .. import __version__
from ..errors import AgentproofError, BundleError, CannotDoError, Exit

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..trust.signing import PrivateKey

_Command = TypeVar("_Command", bound=click.Command)

_REFUSALS = frozenset(
    getattr(errno, name)
    for name in ("EACCES", "EPERM", "ENAMETOOLONG", "ENOSPC", "EDQUOT", "EROFS", "ELOOP", "EIO")
    if hasattr(errno, name)
)
"""What the operating system says of a file and nobody here is to blame for."""

_FIRST = ("record", "check-current-bundle", "replay", "show", "report", "compare", "bisect", "matrix")
"""What a user meets first; the others follow by name."""
_LINE = re.compile(r"^(?:\"\"\")?`agentproof (?P<name>[a-z-]+)`: (?P<text>[^\n]+?)(?:\"\"\")?$", re.M)


@cache
def _commands() -> Mapping[str, tuple[str, str]]:
    """Each command's module in this package and its line in `agentproof --help`: the first lines of modules
    say them, so that none is imported for it."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        with path.open(encoding="utf-8") as stream:
            head = stream.read(1024).partition("\n\n")[0]
        for match in _LINE.finditer(head):
            text = match["text"]
            found[match["name"]] = path.stem, text[:1].upper() + text[1:]
    names = sorted(found, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    return {name: found[name] for name in names}


_ALIASES = {"check": "check-current-bundle"}


class Group(click.Group):
    """Says what was probably meant where a command is mistyped."""

    known: tuple[str, ...] = ()
    """Other names of its commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            import difflib

            names = [*self.list_commands(ctx), *self.known]
            close = difflib.get_close_matches(args[0], names, n=1, cutoff=0.5)
            hint = f"Did you mean `{close[0]}`?" if close else f"`{ctx.command_path} --help` lists them."
            raise click.UsageError(f"there is no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)


class Sections(click.Command):
    """Its options in sections, those that few need only with `--help-all`."""

    def __init__(
        self, *arguments: Any, sections: Mapping[str, Sequence[str]] | None = None, **settings: Any
    ) -> None:  # Any: what click takes
        """`sections` are titles with the options below each, by their long names; the rest is under More."""
        super().__init__(*arguments, **settings)
        self.sections = sections or {}
        if self.sections:
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_help_all,
                    help="Show the options under More as well.",
                )
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self.sections:
            super().format_options(ctx, formatter)
            return
        shown = {param.opts[0]: param for param in self.get_params(ctx) if isinstance(param, click.Option)}
        named = {name for names in self.sections.values() for name in names}
        more = [name for name in shown if name not in named and name not in _HELP]
        more += [name for name in _HELP if name in shown]
        for title, names in (*self.sections.items(), ("More", more)):
            everything = title != "More" or ctx.meta.get(_ALL, False)
            lines = [shown[name].get_help_record(ctx) for name in names if name in shown]
            with formatter.section(title):
                if everything:
                    formatter.write_dl([line for line in lines if line is not None])
                else:
                    left = [name for name in names if name not in _HELP]
                    told = f"{', '.join(left)}: `{ctx.command_path} --help-all` explains them."
                    # click would break an option's name at its hyphens.
                    width = max(20, formatter.width - formatter.current_indent)
                    for line in textwrap.wrap(told, width, break_on_hyphens=False, break_long_words=False):
                        formatter.write(f"{'':{formatter.current_indent}}{line}\n")


_ALL = "agentproof.help_all"
_HELP = ("--help-all", "-h", "--help")
"""As click names them, which keeps the help option that a command was first asked for."""


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class ForScript(Sections):
    """Runs a script with arguments of its own; says where those go when one is taken for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = _with_values(args)
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            at = next((place for place, each in enumerate(given) if each.startswith(error.option_name)), 0)
            # Before the script is named, it can only have been meant for us.
            if all(each.startswith("-") for each in given[:at]):
                raise
            own = f"The script's own arguments come after `--`, as in `… -- {' '.join(given[at:])}`."
            raise click.NoSuchOption(
                error.option_name, f"{error.message} {own}", possibilities=error.possibilities, ctx=ctx
            ) from error


def _with_values(args: list[str]) -> list[str]:
    """`--live` alone, before what is no host, means the provider that most scripts ask."""
    found = list(args)
    for place, each in enumerate(args):
        if each == "--":
            break
        following = args[place + 1] if place + 1 < len(args) else ""
        if each == "--live" and ("=" not in following or following.startswith("-")):
            from ..live.providers import DEFAULT, is_known

            if not is_known(following):
                found[place] = f"--live={DEFAULT}"
    return found


class OutputPath(click.Path):
    """A path to write a file to; for `-`, stdout is for that file, and all else is told on stderr."""

    def __init__(self, *, dir_okay: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=dir_okay)

    # Any: what click passes on.
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "-" and ctx is not None and not ctx.resilient_parsing:
            from ..system.files import data_on_stdout

            ctx.with_resource(data_on_stdout())
        return super().convert(value, param, ctx)


offline_option = click.option(
    "--offline", is_flag=True, help="Ask no index; every wheel must be in the wheel store."
)
require_isolation_option = click.option(
    "--require-isolation",
    type=click.Choice(["namespace", "seccomp", "audit-hook"]),
    help="Refuse to run the script with less.",
)
timeout_option = click.option(
    "--timeout",
    type=click.IntRange(1, 3600),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Stop a script that runs longer.",
)
"""What every command that runs a script asks for."""


class _Group(Group):
    """Loads a command's module only when the command is run."""

    known = tuple(_ALIASES)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = _ALIASES.get(cmd_name, cmd_name)
        if name not in _commands():
            return None
        module = importlib.import_module(f".{_commands()[name][0]}", __package__)
        command = getattr(module, name.replace("-", "_"))
        if not isinstance(command, click.Command):
            raise TypeError(f"{name} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _commands().items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Names with their lines, without loading every command for its own."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, (_, text) in _commands().items()]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(item for item in found if item.value.startswith(incomplete)), *options]

    def invoke(self, ctx: click.Context) -> Any:  # Any: what the command returns, as click passes it on
        try:
            return super().invoke(ctx)
        except AgentproofError as error:
            _tell(error)
            ctx.exit(error.exit_code)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            # click would exit with 1, which is the answer "no".
            click.echo("\ninterrupted", err=True)
            ctx.exit(128 + signal.SIGINT)
        except BrokenPipeError:
            # Somebody downstream (`head`) has read enough; python must not complain about it at exit.
            sys.stdout = None  # the documented way to keep the flush at exit from failing
            ctx.exit(Exit.CANNOT)
        except Exception as error:  # noqa: BLE001  a fault of ours must not look like the answer "no" (exit 1)
            if isinstance(error, OSError) and error.errno in _REFUSALS and error.filename is not None:
                _tell(CannotDoError(f"{os.fsdecode(error.filename)[:200]}: {error.strerror}"))
            else:
                import traceback

                traceback.print_exc()
                click.echo(
                    "error: this is a bug in agentproof; please report it with the lines above", err=True
                )
            ctx.exit(Exit.CANNOT)


def _tell(error: AgentproofError) -> None:
    """An error for people; what it quotes of a bundle cannot move the terminal's cursor."""
    from ..render.console import printable, wrapped

    place = error.place if isinstance(error, BundleError) else None
    message = error.message if place is None or place in error.message else f"{place}: {error.message}"
    for text, lead, fg in ((message, "error: ", "red"), (error.hint or "", "  next: ", None)):
        for number, line in enumerate(text.splitlines()):
            told = wrapped(printable(line), first="" if number else lead, rest="    ", fg=fg)
            click.echo("\n".join(told), err=True)


def examples(*lines: str) -> Callable[[_Command], _Command]:
    """Put examples at the end of a command's help."""

    def add(command: _Command) -> _Command:
        command.epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
        return command

    return add


def key_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command, not yet one of click's
    """`--key` and `--passphrase-env`, for every command that signs; see `chosen_key`."""
    for option in (
        click.option(
            "--passphrase-env",
            metavar="NAME",
            help="The variable that holds the key's passphrase. Default: asked for on the terminal.",
        ),
        click.option(
            "--key",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Sign with this Ed25519 private key, or with the one that ssh-agent holds for this public "
            "key. Default: your own, made on first use.",
        ),
    ):
        command = option(command)
    return command


def account_option(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: as above
    """`--as`, for what signs a recording."""
    return click.option(
        "--as",
        "account",
        metavar="github:USER",
        help="Say under the signature whose account this is. Others hold it against the keys that GitHub "
        "serves for USER, so your public key must be among those.",
    )(command)


def chosen_key(
    key: Path | None, *, passphrase_env: str | None, quiet: bool = False, account: str | None = None
) -> "PrivateKey":
    """The key that `key_options` name, else the user's own; its holder says that it is `account`'s."""
    from ..errors import UsageError
    from ..models.statement import is_account

    if account is not None and not is_account(account):
        raise UsageError(f"--as {account}: no account", hint="write github:USER, with your name there")
    chosen = _chosen_key(key, passphrase_env, quiet=quiet)
    return chosen if account is None else chosen.saying(account)


def _chosen_key(key: Path | None, passphrase_env: str | None, *, quiet: bool) -> "PrivateKey":
    from ..trust import agent, keyring

    if key is not None:
        return agent.signing_key(key, passphrase_variable=passphrase_env)
    own, path, is_new = keyring.default_key(passphrase=agent.passphrase_from(passphrase_env))
    if is_new and not quiet:
        click.echo(f"  made your signing key {path} ({own.public.fingerprint})", err=True)
    return own


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="agentproof", message="%(prog)s %(version)s")
def cli() -> None:
    """Record a bug in an agent SDK as one signed file that anybody can check offline.

    \b
      agentproof record reproduction.py          run it in a fresh venv, write a signed bundle
      agentproof check-current-bundle FILE.zip   check a bundle without running any of it
    """
