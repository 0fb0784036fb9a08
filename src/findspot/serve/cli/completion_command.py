"""`findspot completion`: the scripts by which a shell completes commands and options."""

from __future__ import annotations

import os
from typing import ClassVar

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from findspot.serve.cli.options import COMPLETION_VARIABLE, Choice

_PROGRAM = "findspot"
_SHELLS = ("bash", "zsh", "fish", "powershell")


class PowerShellComplete(ShellComplete):
    """Completion for PowerShell, which Click does not have."""

    name: ClassVar[str] = "powershell"
    source_template: ClassVar[str] = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $env:COMP_WORDS = $commandAst.ToString()
    $env:COMP_CURRENT = $wordToComplete
    $env:%(complete_var)s = "powershell_complete"
    try {
        %(prog_name)s | ForEach-Object {
            $value, $help = $_ -split "`t", 2
            [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", $help)
        }
    } finally {
        Remove-Item Env:%(complete_var)s, Env:COMP_WORDS, Env:COMP_CURRENT
    }
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being typed, and that word."""
        words, current = split_arg_string(os.environ["COMP_WORDS"]), os.environ["COMP_CURRENT"]
        return words[1:-1] if current and words[-1] == current else words[1:], current

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}\t{item.help or item.value}"


add_completion_class(PowerShellComplete)


@click.command()
@click.argument("shell", type=Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Put one of these lines into the file that your shell reads at its start:
      eval "$(findspot completion bash)"      # ~/.bashrc
      eval "$(findspot completion zsh)"       # ~/.zshrc, after compinit
      findspot completion fish | source       # ~/.config/fish/config.fish
      findspot completion powershell | Out-String | Invoke-Expression  # $PROFILE
    """
    kind = get_completion_class(shell)
    assert kind is not None
    completer = kind(ctx.find_root().command, {}, _PROGRAM, COMPLETION_VARIABLE)
    click.echo(ShellComplete.source(completer))  # that of bash would run a program called `bash`
