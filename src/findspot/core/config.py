"""Configuration: the order of its sources, the files that hold it, and the only reader of settings in the
environment.

From lowest to highest: defaults, the global `config.json`, the project's `.findspot.json` and
`.cortex/config.yml`, the index's own `config.json`, the environment (`FINDSPOT_MAX_FILE_SIZE=2MB`), flags.
A value that is not valid is ignored, with a warning that names key and file. The two files that are
committed with a project set only what the table in `core/settings.py` allows. No warning quotes a file's
text.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import (
    MAX_YAML_BYTES,
    ContentError,
    json_bytes,
    make_private_dir,
    parse_json,
    parse_yaml,
    read_below,
    read_named,
    reason,
    state_of,
    write_atomic,
    write_below,
)
from findspot.core.log import get_logger
from findspot.core.paths import expanded, find_roots, home_folder
from findspot.core.settings import (
    BY_NAME,
    COMMITTED_FILES,
    CORTEX_FILE,
    KEYS,
    PROJECT_FILE,
    SECTIONS,
    InvalidValueError,
    Key,
    Settings,
)

_log = get_logger("config")

INDEX_FILE = "config.json"
MAX_CONFIG_BYTES = 256 * 1024

_NAMED = 5
"""How many unknown keys of a file are named."""

Values = dict[str, Any]

SERVED: dict[Path, tuple[Path, str]] = {}
"""The published indexes that this process reads with `serve --from`, by index folder: root and address."""


def secret(variable: str) -> str | None:
    """Return a key from the environment; as it is no setting, nothing that shows settings can show it."""
    return ENVIRONMENT.get(variable, "").strip() or None


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Where models that others publish are kept and fetched from; the hub's own variables decide."""

    cache: Path
    endpoint: str
    offline: bool


def hub_settings(environ: Mapping[str, str] = ENVIRONMENT) -> HubSettings:
    """Return the model hub's cache, address and permission, from the variables that its own tools read."""
    home = expanded(environ.get("HF_HOME") or "~/.cache/huggingface")
    cache = environ.get("HF_HUB_CACHE")
    return HubSettings(
        cache=expanded(cache) if cache else home / "hub",
        endpoint=environ.get("HF_ENDPOINT") or "https://huggingface.co",
        offline=environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"),
    )


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    colours: bool
    pager: str
    screen: bool
    """Whether a graphical screen is named, as Linux does it."""


def terminal_settings(environ: Mapping[str, str] = ENVIRONMENT) -> TerminalSettings:
    """Return what the variables that terminal programs share say about colours and pager."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    pager = environ.get("FINDSPOT_PAGER", environ.get("PAGER", "less"))
    screen = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
    return TerminalSettings(not plain, pager, screen)


_BRANCH_VARIABLES = (
    "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BITBUCKET_BRANCH", "CIRCLE_BRANCH",
    "BUILDKITE_BRANCH", "DRONE_BRANCH", "BUILD_SOURCEBRANCHNAME", "BRANCH_NAME",
)  # fmt: skip
"""Of build services, which check out commits rather than branches."""


def ci_branch(environ: Mapping[str, str] = ENVIRONMENT) -> str:
    """Return the branch that a build service says it builds; nothing elsewhere."""
    return next((environ[name] for name in _BRANCH_VARIABLES if environ.get(name)), "")


def git_configuration() -> tuple[tuple[Path, ...], Path]:
    """Return the files of the user's own git configuration, lowest first, and git's usual ignore file."""
    home = expanded("~")
    folder = Path(ENVIRONMENT.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    given = ENVIRONMENT.get("GIT_CONFIG_GLOBAL")
    files = (Path(given),) if given else (folder / "config", home / ".gitconfig")
    return files, folder / "ignore"


_BY_VARIABLE = {key.variable: key.name for key in KEYS}
_DEFAULTS = {key.name: key.parse(key.default) for key in KEYS}
_PLACES = {name: [(key.attribute, key.name) for key in KEYS if key.section == name] for name in SECTIONS}


def load_settings(
    root: Path | None = None,
    index: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = ENVIRONMENT,
) -> Settings:
    layers = _Layers(home_folder(environ), root)
    own = layers.home / INDEX_FILE
    layers.read(str(own), lambda: _own_file(own))
    if root is not None:
        layers.read(PROJECT_FILE, lambda: parse_json(read_below(root, PROJECT_FILE, MAX_CONFIG_BYTES)))
        layers.read(CORTEX_FILE, lambda: _cortex_file(root))
    if index is not None and index / INDEX_FILE != own:
        layers.read(str(index / INDEX_FILE), lambda: _own_file(index / INDEX_FILE))
    if index in SERVED:
        layers.add("serve --from", {"store": SERVED[index][1]})
    layers.add("environment", {_BY_VARIABLE[v]: environ[v] for v in environ if v in _BY_VARIABLE})
    layers.add("flags", dict(flags or {}))
    return layers.settings()


_GENERATED_BY_0_1_0 = {key.name: key.default for key in KEYS if key.starter} | {
    "_comment": "Findspot configuration - edit to customize indexing behavior"
}


def _own_file(path: Path) -> Any:
    """Return a file's content without the defaults that version 0.1.0 spelled out in it: nobody set them."""
    content = parse_json(read_named(path, MAX_CONFIG_BYTES))
    if not isinstance(content, dict) or content.get("_comment") != _GENERATED_BY_0_1_0["_comment"]:
        return content
    return {name: value for name, value in content.items() if _GENERATED_BY_0_1_0.get(name) != value}


_CORTEX_NAMES = {
    "cortex.chunksDir": ("server", "chunks_dir"),
    "cortex.endpoint": ("embedding", "endpoint"),
    "cortex.dimensions": ("embedding", "dimensions"),
}


def _cortex_file(root: Path) -> Values:
    """Return the keys of `.cortex/config.yml` that are known here; other programs keep theirs in it too."""
    try:
        content = parse_yaml(read_below(root, CORTEX_FILE, MAX_YAML_BYTES))
    except NotADirectoryError:
        return {}
    values: Values = {}
    for ours, (section, name) in _CORTEX_NAMES.items():
        part = content.get(section) if isinstance(content, dict) else None
        if isinstance(part, dict) and part.get(name) is not None:
            values[ours] = part[name]
    return values


class _Layers:
    """The values of all keys while one source after the other is laid over them."""

    def __init__(self, home: Path, root: Path | None) -> None:
        self.home = home
        self.warnings: list[str] = []
        self._root = root
        self._values = {key.name: key.default for key in KEYS}
        self._parsed = dict(_DEFAULTS)
        self._sources: dict[str, str] = {}

    def read(self, source: str, content: Callable[[], Any]) -> None:
        """Lay the values of a file over those before it; `{"embedding": {"provider": …}}` and the dotted
        form both work.
        """
        try:
            found = content()
        except FileNotFoundError:
            return
        except (OSError, ContentError) as error:
            self.warnings.append(f"{source}: cannot be read ({reason(error)}); using defaults")
            return
        if not isinstance(found, dict):
            self.warnings.append(f"{source}: must hold a JSON object; using defaults")
            return
        flat: Values = {}
        for name, value in found.items():
            if isinstance(value, dict) and name not in BY_NAME and not name.startswith("_"):
                flat.update({f"{name}.{inner}": v for inner, v in value.items()})
            elif not name.startswith("_"):
                flat[name] = value
        self.add(source, flat)

    def add(self, source: str, layer: Values) -> None:
        """Lay the values of a source over those before it; what it cannot set becomes a warning."""
        unknown = [name for name in layer if name not in BY_NAME]
        self.warnings += [_unknown(source, name) for name in unknown[:_NAMED]]
        if len(unknown) > _NAMED:
            self.warnings.append(f"{source}: {len(unknown) - _NAMED} more unknown keys are ignored")
        for name, value in layer.items():
            key = BY_NAME.get(name)
            if key is None:
                continue
            try:
                if source in COMMITTED_FILES:
                    self._set_committed(source, key, value)
                    continue
                typed = source in ("environment", "flags") and isinstance(value, str)
                held = key.from_text(value) if typed else value
                self._set(source, key, held, self._checked(key, held, inside_only=False))
            except InvalidValueError as wanted:
                self._refuse(source, key, f"must be {wanted}")

    def settings(self) -> Settings:
        sections = {
            section: kind(**{attribute: self._parsed[name] for attribute, name in _PLACES[section]})
            for section, kind in SECTIONS.items()
        }
        return Settings(
            home=self.home,
            warnings=tuple(self.warnings),
            values=self._values,
            sources=self._sources,
            **sections,
        )

    def _set_committed(self, source: str, key: Key, value: Any) -> None:
        limit, own = key.committed, self._parsed[key.name]
        if limit is None:
            self.warnings.append(f"{source}: '{key.name}' can only be set in your own configuration; ignored")
            return
        parsed = self._checked(key, value, inside_only=True)
        if parsed != own and not limit.allows(parsed, own):
            self._refuse(source, key, f"can be {limit.text} in a committed file")
            self.warnings[-1] += f" (your own configuration or {key.variable} can set it otherwise)"
        elif limit.adds:
            added = [one for one in parsed if one not in own]
            self._set(source, key, [*self._values[key.name], *added], (*own, *added))
        else:
            self._set(source, key, value, parsed)

    def _refuse(self, source: str, key: Key, why: str) -> None:
        """Warn of a value that is not taken, so that the one of the sources before it stands."""
        used = self._sources.get(key.name, "the default")
        self.warnings.append(f"{source}: '{key.name}' {why}; using {used}")

    def _set(self, source: str, key: Key, value: Any, parsed: Any) -> None:
        self._values[key.name], self._parsed[key.name], self._sources[key.name] = value, parsed, source

    def _checked(self, key: Key, value: Any, *, inside_only: bool) -> Any:
        """Return what a value means, once the disk says so too where it must."""
        parsed = key.parse(value)
        if key.name == "roots" and self._root is not None:
            try:
                find_roots(self._root, parsed, inside_only=inside_only)
            except InvalidArgumentError as error:
                wanted = "folders of projects, none of them on the deny list"
                raise InvalidValueError(f"{wanted}, inside the project" if inside_only else wanted) from error
        return parsed


def _unknown(source: str, name: str) -> str:
    """Return a warning about a key that is none; what could be a sentence of a stranger is not repeated."""
    near = difflib.get_close_matches(name, BY_NAME, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    looks_like_one = r"[A-Za-z][A-Za-z\d.]{0,29}" if source in COMMITTED_FILES else r"[A-Za-z][\w.-]{0,60}"
    if not re.fullmatch(looks_like_one, name, re.ASCII):
        return f"{source}: an unknown key of {len(name)} characters is ignored{hint}"
    return f"{source}: unknown key '{name}' is ignored{hint}"


def configured_roots(folder: Path, settings: Settings) -> tuple[Path, ...]:
    committed = settings.sources.get("roots") in COMMITTED_FILES
    return find_roots(folder, settings.discover.roots, inside_only=committed)


def is_loopback(address: str) -> bool:
    try:
        host = urlsplit(address if "://" in address else f"http://{address}").hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(?:\.\d{1,3}){3}", host))


def typed_value(name: str, value: Any) -> Any:
    """Return the value that a file would hold, text as it is typed; ValueError, saying what is wanted, where
    it means nothing.
    """
    key = _known(name)
    try:
        value = key.from_text(value) if isinstance(value, str) else value
        key.parse(value)
    except InvalidValueError as wanted:
        detail = f" ({wanted.detail})" if wanted.detail else ""
        raise ValueError(f"'{name}' must be {wanted}{detail}") from None
    return value


def check_committed(name: str, value: Any, own: Settings) -> None:
    """Check that a committed file may set a key to a value; ValueError, saying what it may, otherwise."""
    key = _known(name)
    if key.committed is None:
        raise ValueError(f"'{name}' can only be set in your own configuration")
    parsed = key.parse(typed_value(name, value))
    current = getattr(getattr(own, key.section), key.attribute)
    if parsed != current and not key.committed.allows(parsed, current):
        raise ValueError(f"'{name}' can be {key.committed.text} in a committed file")


def _known(name: str) -> Key:
    if name not in BY_NAME:
        raise ValueError(f"unknown key '{name}'; known: {', '.join(BY_NAME)}")
    return BY_NAME[name]


def set_value(path: Path, name: str, value: Any) -> None:
    """Set one key in a config file, keeping everything else; the value must be valid."""
    value = typed_value(name, value)
    content = _editable(path)
    head, _, inner = name.partition(".")
    section = content.setdefault(head, {}) if inner else content
    if not isinstance(section, dict):
        raise ContentError(f"{path}: '{head}' must hold a JSON object")
    content.pop(name, None)
    section[inner or name] = value
    _write(path, content)


def unset_value(path: Path, name: str) -> bool:
    """Take one key out of a config file, keeping everything else; False where the file does not set it."""
    content = _editable(path)
    before = json.dumps(content)
    head, _, inner = _known(name).name.partition(".")
    content.pop(name, None)
    section = content.get(head)
    if inner and isinstance(section, dict):
        section.pop(inner, None)
        if not section:
            del content[head]
    if json.dumps(content) == before:
        return False
    _write(path, content)
    return True


def _editable(path: Path) -> Values:
    """Return a config file as it stands; one that cannot be read is not overwritten."""
    try:
        if path.name == PROJECT_FILE:
            content = parse_json(read_below(path.parent, path.name, MAX_CONFIG_BYTES))
        else:
            content = _own_file(path)
    except FileNotFoundError:
        return {}
    except (OSError, ContentError) as error:
        raise ContentError(f"{path} cannot be changed: {reason(error)}") from None
    if not isinstance(content, dict):
        raise ContentError(f"{path} must hold a JSON object")
    return content


def _write(path: Path, content: Values) -> None:
    if path.name == PROJECT_FILE:
        write_below(path.parent, path.name, json_bytes(content), mode=0o666)
    else:
        make_private_dir(path.parent)
        write_atomic(path.resolve(), json_bytes(content))


def starter_config() -> Values:
    """Return the `config.json` that a first index writes: all comments, no key set."""
    starters = [key for key in KEYS if key.starter]
    return {
        "_comment": "Findspot configuration of this index. Nothing is set here. To set something, "
        "copy its line out of _defaults, to this level, and change it.",
        "_defaults": {key.name: key.default for key in starters},
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
    path = index / INDEX_FILE
    if not path.exists() and not path.is_symlink():
        write_atomic(path, json_bytes(starter_config()))


def keep_given(root: Path | None, index: Path, flags: Mapping[str, object]) -> None:
    """Store in the index the options of a run that later searches need."""
    kept = load_settings(root, index)
    for name, held in (("embedding.provider", kept.embed.provider), ("store", kept.store.kind)):
        if flags.get(name, held) != held:
            set_value(index / INDEX_FILE, name, flags[name])


_LOADED: dict[tuple[Path | None, Path], tuple[object, Settings]] = {}
"""The settings that were read last, and the state of the files and variables that they come from."""


def settings_now(root: Path | None, index: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """Return the configuration in force, and log what is wrong with it once."""
    home = home_folder()
    files = [home / INDEX_FILE, index / INDEX_FILE]
    files += [root / PROJECT_FILE, root / CORTEX_FILE] if root else []
    given = [(name, ENVIRONMENT[name]) for name in _BY_VARIABLE.keys() & ENVIRONMENT.keys()]
    state = home, list(map(state_of, files)), sorted(given), dict(flags or {}), SERVED.get(index)
    known = _LOADED.get((root, index))
    if known is not None and known[0] == state:
        return known[1]
    settings = load_settings(root, index, flags)
    for warning in settings.warnings:
        _log_once(root or index, warning)
    _LOADED[root, index] = state, settings
    return settings


@lru_cache(maxsize=1_000)
def _log_once(root: Path, warning: str) -> None:
    _log.warning("%s: %s", root, warning)
