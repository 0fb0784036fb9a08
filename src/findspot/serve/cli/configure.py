"""`findspot config`: what is in force, where it came from, and changing it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.core.config import INDEX_FILE, PROJECT_FILE, check_value, set_value
from findspot.core.errors import IndexNotFoundError, InvalidArgumentError, ProjectNotDetectedError
from findspot.core.keys import BY_NAME, KEYS
from findspot.core.settings import Settings
from findspot.serve.cli import output
from findspot.serve.cli.choose import open_engine, open_project
from findspot.serve.cli.options import Command, Manner, common, project_option

if TYPE_CHECKING:
    from findspot.project import Project

_SCOPE_HELP = {
    "global": "Your configuration for every project.",
    "project": f"The project's {PROJECT_FILE}, which is committed with it.",
}


def _scoped(command: Command) -> Command:
    """`--global` or `--project`; neither means the index's own file."""
    for scope, meaning in _SCOPE_HELP.items():
        command = click.option(f"--{scope}", "scope", flag_value=scope, help=meaning)(command)
    return click.option("--path", metavar="PATH", help="The project's folder. Default: the one you are in.")(
        command
    )


@click.group(invoke_without_command=True)
@project_option
@common
@click.pass_context
def config(ctx: click.Context, manner: Manner, project: str | None) -> None:
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
        _show(_settings(project)[0], manner)


@config.command("get")
@click.argument("key")
@project_option
@common
def get(manner: Manner, key: str, project: str | None) -> None:
    """Print the value of KEY that is in force."""
    _known(key)
    settings, _ = _settings(project)
    value = settings.values[key]
    if manner.json:
        output.emit({"key": key, "value": value, "source": settings.sources.get(key, "default")})
    else:
        output.line(value if isinstance(value, str) else _spelled(value))


@config.command("set")
@click.argument("key")
@click.argument("value")
@_scoped
@common
def set_(manner: Manner, key: str, value: str, scope: str | None, path: str | None) -> None:
    """Set KEY to VALUE in the index's own configuration, or in the one that an option names.

    Lists are written as 'a,b' or as JSON.
    """
    _known(key)
    if scope == "project" and BY_NAME[key].local_only:
        raise InvalidArgumentError(
            f"'{key}' can only be set in your own configuration.",
            hint="Use --global, or leave --project out.",
        )
    chosen = _parse(key, value)
    file = _file(scope, path)
    with _invalid_as_usage():
        set_value(file, key, chosen)
    settings, _ = _settings(path)
    in_force, source = settings.values[key], settings.sources.get(key, "default")
    if manner.json:
        output.emit({"key": key, "value": chosen, "file": str(file), "effective": in_force, "source": source})
        return
    output.line(f"{key} = {_spelled(chosen)} in {file}")
    if in_force != chosen:
        output.warn(f"{source} wins: {key} is {_spelled(in_force)}")


@config.command("path")
@_scoped
@common
def path_(manner: Manner, scope: str | None, path: str | None) -> None:
    """Print where the configuration files are, or would be."""
    files = _files(*_settings(path))
    if scope is not None and scope not in files:
        raise ProjectNotDetectedError(path or str(Path.cwd()))
    if manner.json:
        output.emit({name: str(file) for name, file in files.items() if scope in (None, name)})
    elif scope is None:
        output.fields([(name, str(file)) for name, file in files.items()])
    else:
        output.line(str(files[scope]))


def _settings(given: str | None) -> tuple[Settings, Project | None]:
    """The configuration of a project; of the machine, where there is none."""
    try:
        with open_project(given, ask=False) as project:
            return project.settings, project
    except ProjectNotDetectedError:
        with open_engine() as engine:
            return engine.settings, None


def _files(settings: Settings, project: Project | None) -> dict[str, Path]:
    files = {"global": settings.home / INDEX_FILE}
    if project is not None:
        files |= {"project": project.root / PROJECT_FILE, "index": project.store.folder / INDEX_FILE}
    return files


def _file(scope: str | None, given: str | None) -> Path:
    """The file that a scope means; an index's own file only where there is an index."""
    if scope == "global":
        with open_engine() as engine:
            return engine.settings.home / INDEX_FILE
    with open_project(given) as project:
        if scope == "project":
            return project.root / PROJECT_FILE
        if not project.store.exists:
            raise IndexNotFoundError(str(project.root), str(project.store.folder))
        return project.store.folder / INDEX_FILE


def _known(key: str) -> None:
    if key not in BY_NAME:
        names = ", ".join(known.name for known in KEYS)
        raise InvalidArgumentError(f"There is no configuration key '{key}'.", hint=f"Known: {names}.")


def _parse(key: str, text: str) -> Any:
    """The value as a config file spells it: JSON where that is valid for the key, else the text."""
    with contextlib.suppress(ValueError):
        value = json.loads(text)
        check_value(key, value)
        return value
    with _invalid_as_usage():
        parsed = check_value(key, text)
    return list(parsed) if isinstance(parsed, tuple) else text


@contextlib.contextmanager
def _invalid_as_usage() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InvalidArgumentError(f"{error}.") from error


def _show(settings: Settings, manner: Manner) -> None:
    sources = {key.name: settings.sources.get(key.name, "default") for key in KEYS}
    if manner.json:
        values = {k: {"value": settings.values[k], "source": source} for k, source in sources.items()}
        output.emit({"values": values, "warnings": list(settings.warnings)})
        return
    rows = [(name, _spelled(settings.values[name]), source) for name, source in sources.items()]
    output.table(rows, ("key", "value", "source"))


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
