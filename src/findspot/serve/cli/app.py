"""The `findspot` program: its commands, imported when they are used, and its exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from findspot import __version__
from findspot.core.errors import FindspotError
from findspot.serve.cli import output
from findspot.serve.cli.failure import exit_code, report, report_bug, report_usage
from findspot.serve.cli.interaction import unwinding_on_sigterm
from findspot.serve.cli.options import Reply

COMMANDS: dict[str, tuple[str, str]] = {
    "setup": ("setup_command", "Connect the assistants on this machine to Findspot, or take that back."),
    "serve": ("server_commands", "Serve the tools to an assistant, over MCP on standard input and output."),
    "gateway": ("server_commands", "Serve the tools of all your MCP servers behind three."),
    "index": ("index_commands", "Index a project, or bring its index up to date."),
    "search": ("search_commands", "Search a project's code."),
    "docs": ("search_commands", "Search a project's documentation."),
    "research": (
        "research_commands",
        "Follow the code from a question: who calls, who implements, how A reaches B.",
    ),
    "callers": ("research_commands", "Show what calls a function."),
    "callees": ("research_commands", "Show what a function calls."),
    "implementations": ("research_commands", "Show every type that implements a type."),
    "uses": ("research_commands", "Show where a symbol is used."),
    "overrides": ("research_commands", "Show what overrides a method."),
    "impact": ("research_commands", "Show what depends on a symbol, a file or a diff."),
    "tests": ("research_commands", "Show the tests that most likely notice a change."),
    "importers": ("research_commands", "Show the files that import a file or module."),
    "outline": ("research_commands", "Show what a file defines."),
    "map": ("research_commands", "Show the modules of a project and what depends on what."),
    "ui": ("server_commands", "Open a page in the browser: search, projects, tools."),
    "status": ("project_commands", "Show what the index holds and whether it is current."),
    "files": ("project_commands", "List indexed files that match a glob."),
    "deps": ("dependency_commands", "List what a project depends on, and where it lies."),
    "watch": ("index_commands", "Keep a project's index up to date until stopped."),
    "projects": ("project_commands", "List every indexed project."),
    "reindex": ("index_commands", "Rebuild the index from scratch."),
    "delete": ("project_commands", "Delete a project's index."),
    "clean": ("project_commands", "Delete indexes whose project is gone."),
    "export": ("store_commands", "Write a project's index to one file, for others to use."),
    "import": ("store_commands", "Take over an index from such a file."),
    "store": ("store_commands", "Move an index to another store, or look after it."),
    "chunks": ("chunk_commands", "Write a project's chunks as files, or search them by type and tag."),
    "documents": ("document_commands", "Keep and search named full-text indexes."),
    "tools": ("tool_commands", "Index the tools of MCP servers, find one and call it."),
    "models": ("config_commands", "List the embedding providers and how they stand on this machine."),
    "stats": ("server_commands", "Show how much was searched here, and the tokens that it saved."),
    "doctor": ("doctor", "Check everything Findspot needs, and say what to do."),
    "remind": ("setup_command", "Remind an assistant of Findspot; the plugins run it as a hook."),
    "logs": ("server_commands", "Show the log that servers keep."),
    "config": ("config_commands", "Show or change the configuration."),
}
"""Command → its module and its line in the help; in the order in which the help lists them."""


COMPLETION_VARIABLE = "_FINDSPOT_COMPLETE"
"""Set by a shell that asks for completions."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"findspot.serve.cli.{COMMANDS[cmd_name][0]}")
        own = f"{cmd_name}_"  # of a command whose name is one of Python's
        command = getattr(module, own if hasattr(module, own) else cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them, as Click would do for their help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Run `findspot COMMAND --help` for a command's options.",
)
@click.version_option(__version__, "-V", "--version", message="findspot %(version)s")
@click.pass_context
def findspot(ctx: click.Context) -> None:
    """Find code and documentation by meaning, on your own machine.

    \b
      findspot setup                  connect the assistants on this machine
      findspot index                  index the project you are in
      findspot search how is it done  ask it a question
      findspot                        in an indexed project: search as you type
    """
    if ctx.invoked_subcommand is None and not _run_picker():
        click.echo(ctx.get_help())


def _run_picker() -> bool:
    """Let the user search as they type, on a terminal inside an indexed project; False elsewhere."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from findspot.core.errors import ProjectNotDetectedError
    from findspot.serve.cli.project_choice import open_project

    try:
        with open_project(None, ask=False) as project:
            if not project.store.exists:
                return False
            from findspot.serve.cli.index_commands import prepare_index
            from findspot.serve.cli.picker import pick

            prepare_index(project, Reply(), update=True)
            pick(project)
    except ProjectNotDetectedError:
        return False
    return True


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Nothing but results goes to standard output."""
    output.tolerate_any_text()
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    reply = Reply(json="--json" in own)
    try:
        with unwinding_on_sigterm():
            _invoke(list(arguments), reply)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        return _reader_left()
    except click.ClickException as error:
        return report_usage(error, reply)
    except (click.Abort, KeyboardInterrupt):
        output.note("Cancelled.")
        return 130
    except FindspotError as error:
        report(error, reply)
        return exit_code(error)
    except Exception as error:  # noqa: BLE001 - the outermost boundary: people get a sentence, not a trace
        report_bug(error, reply)
        return 1
    return 0


def _invoke(arguments: list[str], reply: Reply) -> None:
    """Do what Click's own `main` does, but let errors through to `run`."""
    if COMPLETION_VARIABLE in os.environ:
        findspot.main(arguments, prog_name="findspot", complete_var=COMPLETION_VARIABLE)
    with findspot.make_context("findspot", arguments, obj=reply) as ctx:
        findspot.invoke(ctx)


def _reader_left() -> int:
    """End quietly after the reader of standard output has closed it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
