"""The variables of a client's configuration: the environment, folders of the client, and inputs.

Folders are known when a file is read. Values of the environment and of inputs are looked up when a server
is started, and never stored with its entry. An input's value comes from the environment, or from
`inputs.json` in the home folder, which only its owner can read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from findspot.core.config import home_folder
from findspot.core.files import make_private_dir, read_json, write_json
from findspot.core.locks import writer_lock

_VARIABLE = re.compile(
    r"\$\{(?:(?P<kind>env|input|command|config):)?(?P<name>[A-Za-z_/][\w./-]*)(?::-(?P<default>[^}]*))?\}"
)
_WORKSPACE = ("workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR")
_PATIENCE_S = 30.0


class MissingVariableError(Exception):
    """A variable that a server needs has no value."""


def fill_folders(text: str, workspace: Path | None) -> str:
    """Return a text with the folders that a client knows; `workspace` is the project, if there is one."""
    known = {"userHome": str(Path.home()), "pathSeparator": os.sep, "/": os.sep}
    if workspace is not None:
        known |= dict.fromkeys(_WORKSPACE, str(workspace)) | {"workspaceFolderBasename": workspace.name}

    def value(found: re.Match[str]) -> str:
        return found[0] if found["kind"] else known.get(found["name"], found[0])

    return _VARIABLE.sub(value, text)


def expand(text: str, environ: Mapping[str, str], source: Path) -> str:
    """Return a text with its variables replaced; raise `MissingVariableError` for one without a value."""

    def value(found: re.Match[str]) -> str:
        kind, name, default = found["kind"], found["name"], found["default"]
        if kind in ("command", "config"):
            raise MissingVariableError(f"only its client knows {found[0]}")
        known = _input_value(source, name, environ) if kind == "input" else environ.get(name)
        if known is not None:
            return known
        if default is not None:
            return default
        raise MissingVariableError(_missing(kind, name))

    return _VARIABLE.sub(value, text)


def _missing(kind: str | None, name: str) -> str:
    if kind == "input":
        return (
            f"the input {name} has no value: run `findspot tools index` on a terminal, "
            f"or set {input_variable(name)}"
        )
    if name in _WORKSPACE or name == "workspaceFolderBasename":
        return f"${{{name}}} has a value only in a project: index this file there, without --user"
    return f"the environment variable {name} is not set"


def input_variable(name: str) -> str:
    """Return the environment variable that gives the value of an input."""
    return "FINDSPOT_INPUT_" + re.sub(r"\W|[.-]", "_", name).upper()


def missing_inputs(texts: Iterable[str], source: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the inputs that these texts of an entry use and that have no value."""
    found = [match for text in texts for match in _VARIABLE.finditer(text) if match["kind"] == "input"]
    names = dict.fromkeys(match["name"] for match in found)
    return [name for name in names if _input_value(source, name, environ) is None]


def _input_value(source: Path, name: str, environ: Mapping[str, str]) -> str | None:
    return environ.get(input_variable(name)) or _stored(_inputs_file(environ)).get(str(source), {}).get(name)


def store_inputs(source: Path, values: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> Path:
    """Store values of a file's inputs, readable by the owner only; return where."""
    path = _inputs_file(environ)
    make_private_dir(path.parent)
    with writer_lock(path.with_suffix(".lock"), _PATIENCE_S):
        stored = _stored(path)
        write_json(path, stored | {str(source): stored.get(str(source), {}) | dict(values)})
    return path


def _inputs_file(environ: Mapping[str, str]) -> Path:
    return home_folder(environ) / "catalogues" / "inputs.json"


def _stored(path: Path) -> dict[str, dict[str, str]]:
    """Return what is stored; nothing if it is unusable."""
    try:
        return {str(source): dict(values) for source, values in read_json(path).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file of `NAME=value` lines."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise MissingVariableError(f"the file of variables {path} cannot be read") from error
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines)
    return {
        name.strip(): _unquoted(value.strip())
        for name, equals, value in pairs
        if equals and not name.startswith("#")
    }


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
