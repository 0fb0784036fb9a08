"""Generate the page about the command line from its own help."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from findspot.serve.cli.app import COMMANDS, findspot

_HEAD = """\
# The command line

This page is generated from the commands' own help, which `findspot COMMAND --help` also shows.

Results go to standard output, everything else to standard error. Colours, links, pages and questions appear
only on a terminal; `NO_COLOR` turns off colours and links. Every command that answers has these options:

| option | meaning |
|---|---|
| `--json` | answer with one JSON object on standard output |
| `-h`, `--help` | show the help of a command |

| exit code | meaning |
|---|---|
| 0 | done, or nothing to do or to find |
| 1 | an error, such as a name that the index does not have; or you said no |
| 2 | wrong usage or configuration |
| 3 | there is no index |
| 4 | the embedding provider, or the address of a published index, does not answer |
| 130, 143 | stopped by Ctrl-C, by SIGTERM |
"""
_EVERYWHERE = frozenset({"--json", "--help"})
_METAVARS = {"INTEGER": "N", "INTEGER RANGE": "N", "FLOAT RANGE": "X"}
_VERBATIM = "\b\n"


def commands_page() -> str:
    """Return all commands as Markdown."""
    context = click.Context(findspot, info_name="findspot")
    rows = [f"| [`{name}`](#{name}) | {line.rstrip('.')} |" for name, (_, line) in COMMANDS.items()]
    overview = "\n".join(["| command | what it does |", "|---|---|", *rows, ""])
    sections = [part for name in COMMANDS for part in _sections(context, findspot, name, 2)]
    return "\n".join([_HEAD, overview, *sections])


def _sections(above: click.Context, group: click.Group, name: str, level: int) -> Iterator[str]:
    """Yield the section of a command, then those of its commands."""
    command = group.get_command(above, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=above)
    title = context.command_path.removeprefix("findspot ")
    usage = f"`{context.command_path} {' '.join(command.collect_usage_pieces(context))}`"
    called = [] if isinstance(command, click.Group) else [usage, ""]
    yield "\n".join([f"{'#' * level} {title}", "", *called, *_about(command), *_options(command, context)])
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _sections(context, command, inner, level + 1)


def _about(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a help; examples become blocks of commands."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith(_VERBATIM):
            lines = [line.strip() for line in paragraph.removeprefix(_VERBATIM).split("\n")]
            language = "bash" if lines[0].startswith("findspot ") else "text"
            yield "\n".join([f"```{language}", *lines, "```", ""])
        else:
            yield " ".join(paragraph.split()) + "\n"


def _options(command: click.Command, context: click.Context) -> list[str]:
    rows = [
        f"| {_names(option, context)} | {_meaning(option)} |"
        for option in command.get_params(context)
        if isinstance(option, click.Option) and not _EVERYWHERE & set(option.opts)
    ]
    return ["| option | meaning |", "|---|---|", *rows, ""] if rows else []


def _names(option: click.Option, context: click.Context) -> str:
    metavar = "" if option.is_flag else option.make_metavar(context)
    names = [*option.opts, *option.secondary_opts]
    names[-1] = f"{names[-1]} {_METAVARS.get(metavar, metavar)}".rstrip()
    return ", ".join(f"`{name}`" for name in names).replace("|", "\\|")


def _meaning(option: click.Option) -> str:
    return (option.help or "").replace("|", "\\|").rstrip(".")
