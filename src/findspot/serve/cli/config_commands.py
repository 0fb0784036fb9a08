"""`findspot config`, `models` and `completion`: settings, providers to choose from, and a shell's scripts."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import ShellComplete, get_completion_class

from findspot.core.config import INDEX_FILE, check_committed, set_value, typed_value, unset_value
from findspot.core.errors import IndexNotFoundError, InvalidArgumentError, ProjectNotDetectedError
from findspot.core.settings import BY_NAME, KEYS, PROJECT_FILE, Settings
from findspot.embed.survey import survey
from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.options import COMPLETION_VARIABLE, Group, Reply, command, did_you_mean, together
from findspot.serve.cli.project_choice import open_engine, open_project

HIDDEN = "***"
_PASSWORD = re.compile(r"(://)[^/@\s]*@")

_scoped = together(
    click.option("--path", metavar="PATH", help="The project's folder. Default: the one you are in."),
    click.option(
        "--project", "scope", flag_value="project", help=f"The project's {PROJECT_FILE}, which is committed."
    ),
    click.option("--global", "scope", flag_value="global", help="Your configuration for every project."),
)


@command(cls=Group, invoke_without_command=True, project=True)
@click.pass_context
def config(ctx: click.Context, reply: Reply, project: str | None) -> None:
    """Show the configuration in force, or change it.

    \b
    A later source wins over an earlier one:
      1. the built-in defaults
      2. your global configuration           config set KEY VALUE --global
      3. the project's .findspot.json        config set KEY VALUE --project
      4. the index's own configuration       config set KEY VALUE
      5. the environment                     FINDSPOT_MAX_FILE_SIZE=2MB
      6. options of a command
    """
    if ctx.invoked_subcommand is None:
        _show(_settings(project), reply)


@command("get", group=config, project=True)
@click.argument("key")
def get(reply: Reply, key: str, project: str | None) -> None:
    """Print the value of KEY that is in force."""
    _known(key)
    settings = _settings(project)
    value = settings.values[key]
    result = {"key": key, **_in_force(key, settings), "value": value}
    reply.give(result, value if isinstance(value, str) else _spelled(value))


@command("set", group=config)
@click.argument("key")
@click.argument("value")
@_scoped
def set_(reply: Reply, key: str, value: str, scope: str | None, path: str | None) -> None:
    """Set KEY to VALUE in the index's own configuration, or in the one that an option names.

    Lists are written as 'a,b' or as JSON.
    """
    _known(key)
    with _invalid_as_usage():
        chosen = typed_value(key, value)
        if scope == "project":
            with open_engine() as engine:
                check_committed(key, chosen, engine.settings)
    file = _file(scope, path)
    with _invalid_as_usage():
        set_value(file, key, chosen)
    shown, now = _shown(key, chosen), _in_force(key, _settings(path))
    value, source = now["value"], now["source"]
    result = {"key": key, "value": shown, "file": str(file), "effective": value, "source": source}
    reply.give(result, f"{key} = {_spelled(shown)} in {file}")
    if value != shown and not reply.json:
        output.warn(f"{source} overrides it: {key} is {_spelled(value)}")


@command("unset", group=config)
@click.argument("key")
@_scoped
def unset(reply: Reply, key: str, scope: str | None, path: str | None) -> None:
    """Take KEY out of the index's own configuration, or out of the one that an option names.

    The value of another source applies from then on, or the default.
    """
    _known(key)
    file = _file(scope, path)
    with _invalid_as_usage():
        removed = unset_value(file, key)
    now = _in_force(key, _settings(path))
    value, source = now["value"], now["source"]
    result = {"key": key, "removed": removed, "file": str(file), "effective": value, "source": source}
    reply.give(result, f"{key} {'is no longer set' if removed else 'was not set'} in {file}")
    if not reply.json:
        output.note(f"{key} is {_spelled(value)} ({source})")


def _in_force(key: str, settings: Settings) -> dict[str, Any]:
    return {"value": _shown(key, settings.values[key]), "source": settings.sources.get(key, "default")}


def _settings(given: str | None) -> Settings:
    """Return the configuration of a project, or of the machine if there is no project."""
    try:
        with open_project(given, ask=False) as project:
            return project.settings
    except ProjectNotDetectedError:
        with open_engine() as engine:
            return engine.settings


def _file(scope: str | None, given: str | None) -> Path:
    """Return the file of a scope; an index's own file only if there is an index."""
    if scope == "global":
        with open_engine() as engine:
            return engine.settings.home / INDEX_FILE
    try:
        with open_project(given) as project:
            if scope == "project":
                return project.root / PROJECT_FILE
            if not project.store.exists:
                raise IndexNotFoundError(str(project.root), str(project.store.folder))
            return project.store.folder / INDEX_FILE
    except (IndexNotFoundError, ProjectNotDetectedError) as error:
        error.hint = f"To set it for all your projects, add --global. {error.hint}"
        raise


def _known(key: str) -> None:
    if key not in BY_NAME:
        names = ", ".join(known.name for known in KEYS)
        hint = did_you_mean(key, BY_NAME).strip() or f"Known: {names}."
        raise InvalidArgumentError(f"There is no configuration key '{key}'.", hint=hint)


@contextlib.contextmanager
def _invalid_as_usage() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InvalidArgumentError(f"{error}.") from error


def _show(settings: Settings, reply: Reply) -> None:
    values = {key.name: _in_force(key.name, settings) for key in KEYS}
    reply.answer_program({"values": values, "warnings": list(settings.warnings)})
    rows = [(name, _spelled(each["value"]), each["source"]) for name, each in values.items()]
    output.table(rows, ("key", "value", "source"))


def _shown(name: str, value: Any) -> Any:
    """Return a value with its secrets hidden: a token, the password in an address."""
    if not isinstance(value, str):
        return value
    return HIDDEN if BY_NAME[name].secret else _PASSWORD.sub(rf"\1{HIDDEN}@", value)


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_PROVIDER = shapes.Shape({"provider": str, "chosen installed": bool, "detail": str, "leavesMachine": bool})


@command()
def models(reply: Reply) -> None:
    """List the embedding providers: installed or not, size, and where texts go.

    `findspot reindex --provider NAME` changes an index to another one.
    """
    with open_engine() as engine:
        standings = survey(engine.settings.embed)
    value = {
        "providers": [
            _PROVIDER(each) | {"sendsTo": each.sends_to, "sizeBytes": each.size_bytes} for each in standings
        ]
    }
    columns = "provider used=chosen ready=installed size=sizeBytes texts_go_to=sendsTo"
    if reply.table(value, "providers", columns, "There are none."):
        output.line()
        output.fields((standing.provider, standing.detail) for standing in standings)
        output.note("Where no address is named, texts stay on this machine.", dim=True)


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
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
