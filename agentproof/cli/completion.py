"""`agentproof completion`: print what makes a shell complete commands."""

import click

from .group import examples

_SHELLS = ("bash", "zsh", "fish")


@examples(
    "agentproof completion bash > ~/.local/share/bash-completion/completions/agentproof",
    "agentproof completion zsh > ~/.zfunc/_agentproof",
    "agentproof completion fish > ~/.config/fish/completions/agentproof.fish",
)
@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, options and files of agentproof.

    Put it where the shell looks for it, or have its start file evaluate it: for bash and zsh a line
    `eval "$(agentproof completion bash)"`, for fish `agentproof completion fish | source`.
    """
    from click.shell_completion import get_completion_class

    from .group import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise RuntimeError(f"click knows no {shell}")
    # Only the text: asking bash for its version, as click's own way does, is the shell's business.
    complete = kind(cli, {}, "agentproof", "_AGENTPROOF_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())
