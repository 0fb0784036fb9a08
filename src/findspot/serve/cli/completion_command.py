"""`findspot completion`: the scripts by which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from findspot.serve.cli.options import COMPLETION_VARIABLE, Choice


@click.command()
@click.argument("shell", type=Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Put one of these lines into the file that your shell reads at its start:
      eval "$(findspot completion bash)"      # ~/.bashrc
      eval "$(findspot completion zsh)"       # ~/.zshrc, after compinit
      findspot completion fish | source       # ~/.config/fish/config.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    completer = kind(ctx.find_root().command, {}, "findspot", COMPLETION_VARIABLE)
    click.echo(ShellComplete.source(completer))  # that of bash would run a program called `bash`
