"""The `findspot` program: its commands, imported when they are used, and its exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from findspot import __version__
from findspot.serve.cli import output
from findspot.serve.cli.failure import report
from findspot.serve.cli.interaction import can_offer, unwinding_on_sigterm
from findspot.serve.cli.options import COMPLETION_VARIABLE, Group, Reply
from findspot.serve.cli.terminal import RemoteTerminal, attached

PURPOSES: dict[str, dict[str, tuple[str, str]]] = {
    "Ask": {
        "search": ("search_commands", "Search a project's code."),
        "grep": ("grep_command", "Find every match of a pattern."),
        "docs": ("search_commands", "Search a project's documentation."),
        "history": ("search_commands", "Search past changes, or show those of a file or symbol."),
        "context": ("search_commands", "Show what an issue, a diff or a failing test needs next."),
        "review": ("search_commands", "Show what to look at besides a pull request's diff."),
        "research": ("search_commands", "Follow the code from a question: how A reaches B."),
        "callers": ("search_commands", "Show what calls a function."),
        "callees": ("search_commands", "Show what a function calls."),
        "implementations": ("search_commands", "Show every type that implements a type."),
        "uses": ("search_commands", "Show where a symbol is used."),
        "overrides": ("search_commands", "Show what overrides a method."),
        "importers": ("search_commands", "Show the files that import a file or module."),
        "impact": ("search_commands", "Show what depends on a symbol, a file or a diff."),
        "tests": ("search_commands", "Show the tests that most likely notice a change."),
        "ui": ("server_commands", "Open a page in the browser: search, projects, maps."),
    },
    "Keep an index": {
        "index": ("index_commands", "Index a project, or bring its index up to date."),
        "watch": ("index_commands", "Keep a project's index up to date until stopped."),
        "status": ("project_commands", "Show what the index holds and whether it is current."),
        "files": ("project_commands", "List indexed files that match a glob."),
        "deps": ("project_commands", "List what a project depends on, and where it is installed."),
        "projects": ("project_commands", "List every indexed project."),
        "workspace": ("project_commands", "Show, add and remove the members of a workspace."),
        "reindex": ("index_commands", "Rebuild the index from scratch."),
        "delete": ("project_commands", "Delete a project's index."),
        "clean": ("project_commands", "Delete indexes whose project is gone."),
        "publish": ("publishing_commands", "Publish the index of a commit, for others to search."),
        "export": ("publishing_commands", "Write the index of a commit to one file."),
        "import": ("publishing_commands", "Read an index that `findspot export` wrote."),
        "store": ("publishing_commands", "Read a published index, or none."),
    },
    "Connect assistants": {
        "setup": ("setup_command", "Connect the assistants on this machine, or undo that."),
        "serve": ("server_commands", "Serve the tools to an assistant over MCP."),
        "gateway": ("server_commands", "Serve the tools of all your MCP servers behind three."),
        "tools": ("tool_commands", "Index the tools of MCP servers, find one and call it."),
        "activity": ("server_commands", "Show what assistants asked, and their answers."),
        "stats": ("server_commands", "Show how much was searched."),
        "logs": ("server_commands", "Show the log that servers keep."),
        "service": ("server_commands", "Show or stop the resident process."),
    },
    "Other collections": {
        "chunks": ("collection_commands", "Write chunks as files, or search them by type and tag."),
        "documents": ("collection_commands", "Keep and search named full-text indexes."),
    },
    "This installation": {
        "doctor": ("doctor", "Check everything Findspot needs, and say what to do."),
        "config": ("config_commands", "Show or change the configuration."),
        "models": ("config_commands", "List the embedding providers and their state."),
        "completion": ("config_commands", "Print the completion script of a shell."),
    },
}
"""Purpose → its commands; command → its module and its line in the help, in the order of the help."""

COMMANDS = {name: entry for commands in PURPOSES.values() for name, entry in commands.items()}


class LazyGroup(Group):
    """A group that knows its commands by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "remind":
            from findspot.serve.cli.reminder import remind

            return click.Command(cmd_name, callback=remind, hidden=True, help=remind.__doc__)
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"findspot.serve.cli.{COMMANDS[cmd_name][0]}")
        own = f"{cmd_name}_"  # of a command whose name is one of Python's
        command = getattr(module, own if hasattr(module, own) else cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take one argument with a space in it for a question, and nothing for one that is empty."""
        is_question = not args[0].strip() or (" " in args[0].strip() and not args[0].startswith("-"))
        return super().resolve_command(ctx, ["search", *args] if is_question else args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by purpose, without importing them."""
        width = max(map(len, COMMANDS))
        for purpose, commands in PURPOSES.items():
            with formatter.section(purpose):
                formatter.write_dl([(name.ljust(width), line) for name, (_, line) in commands.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Run `findspot COMMAND --help` for a command's options.",
)
@click.option(
    "--in-process",
    is_flag=True,
    expose_value=False,
    help="Answer in this process, without the resident one. Goes with every command.",
)
@click.version_option(__version__, "-V", "--version", message="findspot %(version)s")
@click.pass_context
def findspot(ctx: click.Context) -> None:
    """Find code and documentation by meaning, on your own machine.

    \b
    First steps:
      findspot "how is it done"    ask the project you are in, indexed at once
      findspot callers send_mail   follow its code
      findspot setup               connect the assistants on this machine

    Without a command, `findspot` asks what to search for.
    """
    if ctx.invoked_subcommand is None and not _pick():
        click.echo(ctx.get_help())


def _pick() -> bool:
    """Run the picker on a terminal, in a project; returns False in a pipe."""
    if not can_offer():
        return False
    from findspot.core.errors import ProjectNotDetectedError
    from findspot.serve.cli.index_commands import prepare_index
    from findspot.serve.cli.project_choice import open_project
    from findspot.serve.cli.search_commands import pick

    try:
        with open_project(None, ask=False) as project:
            prepare_index(project, Reply(), update=True)
            pick(project)
    except ProjectNotDetectedError:
        return False
    return True


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Nothing but results goes to standard output."""
    output.prepare_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        output.drop_results()
        return 0
    except OSError as error:
        output.drop_results()
        output.note(f"error: The answer cannot be written: {error.strerror}.", fg="red")
        return 1
    return code


def run_for(terminal: RemoteTerminal, arguments: Sequence[str]) -> int:
    """Run one command line in this process, on the terminal of somebody else; returns the exit code."""
    with attached(terminal):
        try:
            return _run(arguments)
        except BrokenPipeError:  # the reader has seen enough
            return 0


def _run(arguments: Sequence[str]) -> int:
    """Run one command line and report its failure; raises only what standard output refuses."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    reply = Reply(json="--json" in own)
    try:
        with unwinding_on_sigterm():
            _invoke(list(arguments), reply)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.note("Cancelled.")
        return 130
    except Exception as error:
        if isinstance(error, OSError) and output.is_about_results(error):
            raise
        if _came_after_ctrl_c(error):
            output.note("Cancelled.")
            return 130
        return report(error, reply)
    return 0


def _came_after_ctrl_c(error: BaseException | None) -> bool:
    """Return whether an error came up while a command was being stopped: then it was stopped."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _invoke(arguments: list[str], reply: Reply) -> None:
    """Do what Click's own `main` does, but let errors through to `run`."""
    if COMPLETION_VARIABLE in os.environ:
        findspot.main(arguments, prog_name="findspot", complete_var=COMPLETION_VARIABLE)
    with findspot.make_context("findspot", arguments, obj=reply) as ctx:
        findspot.invoke(ctx)
