"""Options that several commands share, and how the user wants the answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click

from findspot.core.settings import BY_NAME, TOOLSETS, InvalidValueError
from findspot.serve.cli import output

if TYPE_CHECKING:
    from findspot.serve.arguments import Schema

Command = Callable[..., Any]

ALL_TOOLSETS = "all"

_UNCUT = 1_000

COMPLETION_VARIABLE = "_FINDSPOT_COMPLETE"
"""Set by a shell that asks for completions."""


@dataclass(slots=True)
class Reply:
    """How to answer: for people or as JSON."""

    json: bool = False

    def give(self, value: Any, text: str) -> None:
        """Print the value as JSON, or the text for people."""
        if self.json:
            output.emit(value)
        else:
            output.line(text)

    def answer_program(self, value: Any, exit_code: int = 0) -> None:
        """Print the value and end the command, if it is a program that asks: what follows is for people."""
        if self.json:
            output.emit(value)
            raise click.exceptions.Exit(exit_code)

    def table(self, value: dict[str, Any], rows: str, columns: str, nothing: str) -> bool:
        """Print the value as JSON, or what it lists under `rows` as a table; return whether it is a table.

        A column is the name of a field, or `header=field`; `nothing` is said of an empty list.
        """
        if self.json:
            output.emit(value)
        elif value[rows]:
            header, _, fields = zip(*(each.rpartition("=") for each in columns.split()), strict=True)
            names = [(name or field).replace("_", " ") for name, field in zip(header, fields, strict=True)]
            cells = [[output.cell(row.get(field), field) for field in fields] for row in value[rows]]
            output.table(cells, names)
        elif nothing:
            output.line(nothing)
        return not self.json and bool(value[rows])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that names what resembles a misspelt name; empty if nothing does."""
    close = get_close_matches(name, list(known))
    return f" Did you mean {' or '.join(close)}?" if close else ""


class Group(click.Group):
    """A group of commands that suggests names for a misspelt one, and never cuts a line of its help."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            suggestion = did_you_mean(name, self.list_commands(ctx))
            words = list(takewhile(lambda word: not word.startswith("-"), args))
            if ctx.parent is None and len(words) > 1:
                suggestion += f' A question goes in quotes: findspot "{" ".join(words)}"'
            elif ctx.parent is None:
                suggestion += f" To search for it: findspot search {name}"
            raise click.UsageError(f"No such command '{name}'.{suggestion}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(_UNCUT)) for name, command in commands if command]
            )


_RANGES: dict[str, Any] = {"integer": click.IntRange, "number": click.FloatRange}


def options_of(
    arguments: Mapping[str, Schema], short: str = "", **metavars: str
) -> Callable[[Command], Command]:
    """Add an option for each argument of a tool, of the same name; `short` is another name of the first."""

    first = next(iter(arguments))
    return together(
        *(
            option_of(
                name, schema, *((short,) if short and name == first else ()), metavar=metavars.get(name)
            )
            for name, schema in arguments.items()
        )
    )


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds several options, in this order."""
    return lambda command: functools.reduce(lambda inner, add: add(inner), reversed(options), command)


def option_of(name: str, schema: Schema, *also: str, **looks: Any) -> Callable[[Command], Command]:
    """Return the option for an argument of a tool: its type, bounds, default and meaning."""
    kind: dict[str, Any] = {"is_flag": True} if schema["type"] == "boolean" else {}
    if "enum" in schema:
        kind["type"] = click.Choice(schema["enum"])
    elif schema["type"] in _RANGES:
        kind["type"] = _RANGES[schema["type"]](schema.get("minimum"), schema.get("maximum"))
    default = looks.pop("default", schema.get("default"))
    usual = f" Default: {default}." if default and "Default:" not in schema["$comment"] else ""
    described = {"help": f"{schema['$comment']}.{usual}", "default": default}
    return click.option(*also, f"--{name.replace('_', '-')}", name, **kind | described | looks)


def _answer_as_asked(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    """Let the command's own option decide: the same word may be an argument of a program that it names."""
    ctx.ensure_object(Reply).json = value


json_option = click.option(
    "--json", is_flag=True, expose_value=False, callback=_answer_as_asked,
    help="Answer with one JSON object on standard output.",
)  # fmt: skip
project_option = click.option(
    "--project", metavar="PATH", help="The project's folder. Default: the project you are in."
)
_update_option = click.option(
    "--update/--no-update",
    default=True,
    help="Index what changed first, or answer from the index as it is. Default: update.",
)
yes_option = click.option("-y", "--yes", is_flag=True, help="Go ahead without asking.")


def command(
    name: str | None = None,
    *,
    group: click.Group | None = None,
    path: bool = False,
    project: bool = False,
    update: bool = False,
    yes: bool = False,
    **about: Any,
) -> Callable[[Command], Any]:
    """Return a decorator for a command that receives the `Reply` as its first argument.

    It takes `--json`; with `project`, the option of that name; with `path`, an argument for it too.
    """

    def decorate(function: Command) -> Any:
        own = vars(function).pop("__click_params__", [])
        function = json_option(click.pass_obj(function))
        for option in [yes_option] * yes + [_update_option] * update + [project_option] * (project or path):
            function = option(function)
        if path:
            function = _named_once(function)
        vars(function)["__click_params__"] += own  # before the others, in the help
        return (group or click).command(name, **about)(function)

    return decorate


def _named_once(function: Command) -> Command:
    """Let an argument name the project, too."""

    @functools.wraps(function)
    def with_one(*args: Any, path: str | None, project: str | None, **others: Any) -> Any:
        if path is not None and project is not None:
            raise click.UsageError("Name the project once: as PATH or with --project.")
        return function(*args, project=project if path is None else path, **others)

    return click.argument("path", required=False)(with_one)


def toolsets_option(explanation: str) -> Callable[[Command], Command]:
    """Let an option name toolsets; the command receives `toolsets`, empty if it is not given."""
    return click.option("--toolsets", metavar="NAMES", callback=_toolsets, help=explanation)


def _toolsets(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    if value is None or value == ALL_TOOLSETS:
        return TOOLSETS if value else ()
    try:
        return tuple(BY_NAME["toolsets"].from_text(value))
    except InvalidValueError:
        known = ", ".join((*TOOLSETS, ALL_TOOLSETS))
        raise click.BadParameter(f"'{value}' is not a list of toolsets. Known: {known}.") from None
