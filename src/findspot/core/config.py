"""Configuration: the only reader of environment and config files.

From lowest to highest: defaults, the global `config.json`, the project's `.findspot.json` and
`.cortex/config.yml`, the index's own `config.json`, the environment (`FINDSPOT_MAX_FILE_SIZE=2MB`), flags. An
invalid value is replaced by its default with a warning that names the key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from findspot.core.files import make_private_dir, read_json, write_json
from findspot.core.keys import BY_NAME, KEYS, SECTIONS, InvalidValueError
from findspot.core.settings import HubSettings, Settings, TerminalSettings
from findspot.core.yamlfile import read_yaml

PROJECT_FILE = ".findspot.json"
CORTEX_FILE = ".cortex/config.yml"
INDEX_FILE = "config.json"


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where Findspot keeps everything: `FINDSPOT_HOME`, or `~/.mcp/search`."""
    given = environ.get("FINDSPOT_HOME")
    return Path(given).expanduser().absolute() if given else Path.home() / ".mcp" / "search"


def secret(variable: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """A key from the environment; it is no setting, so that nothing that shows settings can show it."""
    return environ.get(variable, "").strip() or None


def hub_settings(environ: Mapping[str, str] = os.environ) -> HubSettings:
    """The model hub's cache, address and permission, from the variables that its own tools read."""
    home = Path(environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface").expanduser()
    cache = environ.get("HF_HUB_CACHE")
    return HubSettings(
        cache=Path(cache).expanduser() if cache else home / "hub",
        endpoint=environ.get("HF_ENDPOINT") or "https://huggingface.co",
        offline=environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"),
    )


def terminal_settings(environ: Mapping[str, str] = os.environ) -> TerminalSettings:
    """What the variables that terminal programs share say about colours, pager and editor."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    pager = environ.get("FINDSPOT_PAGER", environ.get("PAGER", "less"))
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    screen = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
    return TerminalSettings(not plain, pager, editor, screen)


def settings_files(root: Path, index: Path, environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The files that a project's configuration comes from, whether they are there or not."""
    home = home_folder(environ) / INDEX_FILE
    return home, root / PROJECT_FILE, root / CORTEX_FILE, index / INDEX_FILE


def load_settings(
    root: Path | None = None,
    index: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """The configuration in force for a project (or, without one, for the machine)."""
    warnings: list[str] = []
    home = home_folder(environ)
    layers = [(str(home / INDEX_FILE), _read_file(home / INDEX_FILE, warnings))]
    if root is not None:
        project = _read_file(root / PROJECT_FILE, warnings)
        layers.append((PROJECT_FILE, _without_local_only(project, warnings)))
        layers.append((CORTEX_FILE, _read_cortex_file(root / CORTEX_FILE, warnings)))
    if index is not None and index / INDEX_FILE != home / INDEX_FILE:
        layers.append((str(index / INDEX_FILE), _without_defaults(_read_file(index / INDEX_FILE, warnings))))
    layers.append(("environment", {k.name: environ[k.variable] for k in KEYS if k.variable in environ}))
    layers.append(("flags", dict(flags or {})))
    return _build(home, layers, warnings)


def _build(home: Path, layers: list[tuple[str, dict[str, Any]]], warnings: list[str]) -> Settings:
    values = {key.name: key.default for key in KEYS}
    parsed = {key.name: key.parse(key.default) for key in KEYS}
    sources: dict[str, str] = {}
    for source, layer in layers:
        for name, value in layer.items():
            if name not in BY_NAME:
                warnings.append(f"{source}: unknown key '{name}' is ignored")
                continue
            try:
                parsed[name] = BY_NAME[name].parse(value)
                values[name], sources[name] = value, source
            except InvalidValueError as wanted:
                parsed[name] = BY_NAME[name].parse(BY_NAME[name].default)
                values[name] = BY_NAME[name].default
                sources.pop(name, None)
                warnings.append(f"{source}: '{name}' must be {wanted}; using the default")
    sections = {
        section: kind(**{k.attribute: parsed[k.name] for k in KEYS if k.section == section})
        for section, kind in SECTIONS.items()
    }
    return Settings(home=home, warnings=tuple(warnings), values=values, sources=sources, **sections)


def _read_file(path: Path, warnings: list[str]) -> dict[str, Any]:
    """A config file as flat keys; `{"embedding": {"provider": …}}` and the dotted form both work."""
    try:
        content = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        warnings.append(f"{path}: cannot be read ({error}); using defaults")
        return {}
    if not isinstance(content, dict):
        warnings.append(f"{path}: must hold a JSON object; using defaults")
        return {}
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if name.startswith("_"):
            continue
        if isinstance(value, dict) and name not in BY_NAME:
            flat.update({f"{name}.{inner}": v for inner, v in value.items()})
        else:
            flat[name] = value
    return flat


_CORTEX_NAMES = {
    "server.chunks_dir": "cortex.chunksDir",
    "embedding.endpoint": "cortex.endpoint",
    "embedding.dimensions": "cortex.dimensions",
}


def _read_cortex_file(path: Path, warnings: list[str]) -> dict[str, Any]:
    """The keys of `.cortex/config.yml` that are known here; other programs keep theirs in it too."""
    try:
        content = read_yaml(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        warnings.append(f"{CORTEX_FILE}: cannot be read ({error}); using defaults")
        return {}
    found: dict[str, Any] = {}
    for theirs, ours in _CORTEX_NAMES.items():
        section, name = theirs.split(".")
        part = content.get(section) if isinstance(content, dict) else None
        if isinstance(part, dict) and part.get(name) is not None:
            found[ours] = part[name]
    return _without_far_reach(found, warnings)


def _without_far_reach(layer: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """A repository may name a service on this machine and a folder in itself, and nothing beyond."""
    kept = dict(layer)
    endpoint, folder = str(layer.get("cortex.endpoint", "")), str(layer.get("cortex.chunksDir", ""))
    if endpoint and not is_loopback(endpoint):
        del kept["cortex.endpoint"]
        warnings.append(
            f"{CORTEX_FILE}: 'embedding.endpoint' is not on this machine; ignored. "
            "Set CORTEX_EMBEDDING_ENDPOINT to send questions there"
        )
    if ".." in PurePosixPath(folder.replace("\\", "/")).parts or Path(folder).is_absolute():
        del kept["cortex.chunksDir"]
        warnings.append(
            f"{CORTEX_FILE}: 'server.chunks_dir' is outside the project; ignored. "
            "Set CORTEX_CHUNKS_DIR to read it"
        )
    return kept


def is_loopback(address: str) -> bool:
    """Whether an address names this machine."""
    try:
        host = urlsplit(address if "://" in address else f"http://{address}").hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(?:\.\d{1,3}){3}", host))


def _without_local_only(layer: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """A repository's own file must not decide where its reader's text is sent."""
    refused = [name for name in layer if name in BY_NAME and BY_NAME[name].local_only]
    warnings.extend(
        f"{PROJECT_FILE}: '{name}' can only be set in your own configuration; ignored" for name in refused
    )
    return {name: value for name, value in layer.items() if name not in refused}


def _without_defaults(layer: dict[str, Any]) -> dict[str, Any]:
    """The index's file is written with the defaults spelled out; those must not hide lower layers."""
    return {n: v for n, v in layer.items() if n not in BY_NAME or v != BY_NAME[n].default}


def starter_config() -> dict[str, Any]:
    """The commented `config.json` that a first index writes."""
    starters = [key for key in KEYS if key.starter]
    return {
        "_comment": "Findspot configuration - edit to customize indexing behavior",
        **{key.name: key.default for key in starters},
        "_hardcodedExcludes": [
            "// These patterns are ALWAYS excluded and cannot be overridden:",
            "// - node_modules/, jspm_packages/, bower_components/  (dependencies)",
            "// - .git/, .hg/, .svn/  (version control)",
            "// - dist/, build/, out/, target/  (build artifacts)",
            "// - .env, .env.*, *.pem, *.key  (secrets)",
            "// - *.log, *.lock, package-lock.json, yarn.lock  (logs/locks)",
            "// - .idea/, .vscode/, .DS_Store  (IDE config)",
            "// - coverage/  (test coverage)",
            "// - Binary files (images, videos, etc.) are auto-detected and skipped",
        ],
        "_availableOptions": {
            key.name: f"{key.meaning} Default: {json.dumps(key.default)}." for key in starters
        },
    }


def write_starter(index: Path) -> None:
    """Write the commented config once; a user's edits are never overwritten."""
    if not (index / INDEX_FILE).exists():
        write_json(index / INDEX_FILE, starter_config())


def check_value(name: str, value: Any) -> Any:
    """What a value means for its key; ValueError, saying what is wanted, where it means nothing."""
    if name not in BY_NAME:
        known = ", ".join(key.name for key in KEYS)
        raise ValueError(f"unknown key '{name}'; known: {known}")
    try:
        return BY_NAME[name].parse(value)
    except InvalidValueError as wanted:
        raise ValueError(f"'{name}' must be {wanted}") from None


def set_value(path: Path, name: str, value: Any) -> None:
    """Set one key in a config file, keeping everything else; the value must be valid."""
    check_value(name, value)
    content = _editable(path)
    head, _, inner = name.partition(".")
    if inner:
        section = content.setdefault(head, {})
        if not isinstance(section, dict):
            raise ValueError(f"{path}: '{head}' must hold a JSON object")
        section[inner] = value
        content.pop(name, None)
    else:
        content[name] = value
    make_private_dir(path.parent)
    write_json(path, content)


def keep_given(root: Path, index: Path, flags: Mapping[str, object]) -> None:
    """What was given for one run and could not be searched without becomes the index's own."""
    kept = load_settings(root, index)
    for name, held in (("embedding.provider", kept.embed.provider), ("store", kept.store.kind)):
        if flags.get(name, held) != held:
            set_value(index / INDEX_FILE, name, flags[name])


def _editable(path: Path) -> dict[str, Any]:
    """A config file as it stands; one that cannot be read is not overwritten."""
    try:
        content = read_json(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object")
    return content
