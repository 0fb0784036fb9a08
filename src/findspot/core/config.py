"""Configuration: the order of its sources, and the only reader of settings in the environment.

From lowest to highest: defaults, the global `config.json`, the project's `.findspot.json` and
`.cortex/config.yml`, the index's own `config.json`, the environment (`FINDSPOT_MAX_FILE_SIZE=2MB`), flags.
A value that is not valid is ignored, with a warning that names key and file. The two files that are
committed with a project set only what `core/setting_keys.COMMITTED` allows. No warning quotes a file's text.
"""

from __future__ import annotations

import difflib
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from findspot.core.caller import ENVIRONMENT
from findspot.core.configfiles import (
    INDEX_FILE,
    Values,
    read_cortex_file,
    read_own_file,
    read_project_file,
    set_in_file,
    unset_in_file,
)
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import stat_of
from findspot.core.log import get_logger
from findspot.core.paths import expanded
from findspot.core.roots import find_roots
from findspot.core.setting_keys import (
    BY_NAME,
    COMMITTED_FILES,
    CORTEX_FILE,
    KEYS,
    PROJECT_FILE,
    PROVIDERS_WITH_DTYPE,
    SECTIONS,
    InvalidValueError,
    Key,
)
from findspot.core.settings import HubSettings, Settings, TerminalSettings

_log = get_logger("config")

_SETTLED_NS = 2_000_000_000
"""A file written less than this ago may be written again without a new time: it is read each time."""

_PREFIXES = tuple({entry.variable.partition("_")[0] + "_" for entry in KEYS})
"""How the variables that hold settings begin: looking at those that are set is quicker than at all."""

_NAMED = 5
"""How many unknown keys of a file are named."""

_Stamp = tuple[int, int, int] | None


def home_folder(environ: Mapping[str, str] = ENVIRONMENT) -> Path:
    """Return where Findspot keeps everything: `FINDSPOT_HOME`, or `~/.mcp/search`."""
    folder = expanded(environ.get("FINDSPOT_HOME") or "~/.mcp/search")
    if folder.parts[:1] and folder.parts[0].startswith("~"):
        raise InvalidArgumentError(
            f"'{folder}' names the home folder of nobody on this machine. "
            "Set FINDSPOT_HOME to the folder in which Findspot may keep its files."
        )
    return folder.absolute()


def secret(variable: str, environ: Mapping[str, str] = ENVIRONMENT) -> str | None:
    """Return a key from the environment; it is no setting, so that nothing that shows settings can show
    it.
    """
    return environ.get(variable, "").strip() or None


def hub_settings(environ: Mapping[str, str] = ENVIRONMENT) -> HubSettings:
    """Return the model hub's cache, address and permission, from the variables that its own tools read."""
    home = expanded(environ.get("HF_HOME") or "~/.cache/huggingface")
    cache = environ.get("HF_HUB_CACHE")
    return HubSettings(
        cache=expanded(cache) if cache else home / "hub",
        endpoint=environ.get("HF_ENDPOINT") or "https://huggingface.co",
        offline=environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"),
    )


def terminal_settings(environ: Mapping[str, str] = ENVIRONMENT) -> TerminalSettings:
    """Return what the variables that terminal programs share say about colours, pager and editor."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    pager = environ.get("FINDSPOT_PAGER", environ.get("PAGER", "less"))
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    screen = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
    kitty = environ.get("TERM") == "xterm-kitty" or bool(environ.get("KITTY_WINDOW_ID"))
    return TerminalSettings(not plain, pager, editor, screen, line_links=kitty)


_BRANCH_VARIABLES = (
    "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BITBUCKET_BRANCH", "CIRCLE_BRANCH",
    "BUILDKITE_BRANCH", "DRONE_BRANCH", "BUILD_SOURCEBRANCHNAME", "BRANCH_NAME",
)  # fmt: skip
"""Of build services, which check out commits rather than branches."""


def ci_branch(environ: Mapping[str, str] = ENVIRONMENT) -> str:
    """Return the branch that a build service says it builds; nothing elsewhere."""
    return next((environ[name] for name in _BRANCH_VARIABLES if environ.get(name)), "")


def git_configuration(environ: Mapping[str, str] = ENVIRONMENT) -> tuple[tuple[Path, ...], Path]:
    """Return the files of the user's own git configuration, lowest first, and git's default global ignore
    file.
    """
    home = expanded("~")
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    given = environ.get("GIT_CONFIG_GLOBAL")
    files = (Path(given),) if given else (folder / "config", home / ".gitconfig")
    return files, folder / "ignore"


_BY_VARIABLE = {key.variable: key.name for key in KEYS}


def settings_files(
    root: Path | None, index: Path, environ: Mapping[str, str] = ENVIRONMENT
) -> tuple[Path, ...]:
    """Return the files that a project's configuration comes from, whether they are there or not."""
    home = home_folder(environ) / INDEX_FILE
    committed = (root / PROJECT_FILE, root / CORTEX_FILE) if root is not None else ()
    return home, *committed, index / INDEX_FILE


def load_settings(
    root: Path | None = None,
    index: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = ENVIRONMENT,
) -> Settings:
    """Return the configuration in force for a project (or, without one, for the machine)."""
    layers = _Layers(home_folder(environ), root)
    own = layers.home / INDEX_FILE
    layers.add(str(own), read_own_file(own, layers.warnings))
    if root is not None:
        layers.add(PROJECT_FILE, read_project_file(root, layers.warnings))
        layers.add(CORTEX_FILE, read_cortex_file(root, layers.warnings))
    if index is not None and index / INDEX_FILE != own:
        layers.add(str(index / INDEX_FILE), read_own_file(index / INDEX_FILE, layers.warnings))
    layers.add("environment", {n: environ[v] for v, n in _BY_VARIABLE.items() if v in environ})
    layers.add("flags", dict(flags or {}))
    return layers.settings()


class _Layers:
    """The values of all keys while one source after the other is laid over them."""

    def __init__(self, home: Path, root: Path | None) -> None:
        self.home = home
        self.warnings: list[str] = []
        self._root = root
        self._values = {key.name: key.default for key in KEYS}
        self._parsed = {key.name: key.parse(key.default) for key in KEYS}
        self._sources: dict[str, str] = {}

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
            if source in COMMITTED_FILES:
                self._set_committed(source, key, value)
            else:
                self._set_own(source, key, value)

    def settings(self) -> Settings:
        """Return what is in force."""
        self._leave_out_dtype()
        sections = {
            section: kind(**{k.attribute: self._parsed[k.name] for k in KEYS if k.section == section})
            for section, kind in SECTIONS.items()
        }
        return Settings(
            home=self.home,
            warnings=tuple(self.warnings),
            values=self._values,
            sources=self._sources,
            **sections,
        )

    def _set_own(self, source: str, key: Key, value: Any) -> None:
        try:
            if source in ("environment", "flags") and isinstance(value, str):
                value = key.from_text(value)
            self._set(source, key, value, self._checked(key, value, inside_only=False))
        except InvalidValueError as wanted:
            self._refuse(source, key, f"must be {wanted}")

    def _set_committed(self, source: str, key: Key, value: Any) -> None:
        limit, own = key.committed, self._parsed[key.name]
        if limit is None:
            self.warnings.append(f"{source}: '{key.name}' can only be set in your own configuration; ignored")
            return
        try:
            parsed = self._checked(key, value, inside_only=True)
        except InvalidValueError as wanted:
            self._refuse(source, key, f"must be {wanted}")
            return
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

    def _leave_out_dtype(self) -> None:
        """Ignore a number format where the provider has only one."""
        source = self._sources.get("embedding.dtype")
        if source is not None and self._parsed["embedding.provider"] not in PROVIDERS_WITH_DTYPE:
            del self._sources["embedding.dtype"]
            self._values["embedding.dtype"] = self._parsed["embedding.dtype"] = None
            providers = " and ".join(PROVIDERS_WITH_DTYPE)
            self.warnings.append(f"{source}: 'embedding.dtype' is for {providers} only; ignored")

    def _set(self, source: str, key: Key, value: Any, parsed: Any) -> None:
        self._values[key.name], self._parsed[key.name], self._sources[key.name] = value, parsed, source

    def _checked(self, key: Key, value: Any, *, inside_only: bool) -> Any:
        """Return what a value means, once the disk says so too where it must."""
        parsed = key.parse(value)
        if key.name == "roots" and self._root is not None:
            try:
                find_roots(self._root, parsed, inside_only=inside_only)
            except InvalidArgumentError as error:
                wanted = "folders with different names, none inside another and none on the deny list"
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


def agreed_address(settings: Settings) -> str | None:
    """Return where an index of the project may be fetched: the user's own address, or one that they
    agreed to.
    """
    address = settings.publishing.address
    is_own = settings.sources.get("publishedAt") not in COMMITTED_FILES
    return address if is_own or address in settings.publishing.agreed else None


def is_loopback(address: str) -> bool:
    """Return whether an address names this machine."""
    try:
        host = urlsplit(address if "://" in address else f"http://{address}").hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(?:\.\d{1,3}){3}", host))


def check_value(name: str, value: Any) -> Any:
    """Return what a value means for its key; ValueError, saying what is wanted, where it means nothing."""
    return _known(name).parse(typed_value(name, value))


def typed_value(name: str, value: Any) -> Any:
    """Return the value that a file would hold; text is read as it is typed. ValueError as for
    `check_value`.
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
    parsed, current = check_value(name, value), getattr(getattr(own, key.section), key.attribute)
    if parsed != current and not key.committed.allows(parsed, current):
        raise ValueError(f"'{name}' can be {key.committed.text} in a committed file")


def _known(name: str) -> Key:
    if name not in BY_NAME:
        raise ValueError(f"unknown key '{name}'; known: {', '.join(BY_NAME)}")
    return BY_NAME[name]


def set_value(path: Path, name: str, value: Any) -> None:
    """Set one key in a config file, keeping everything else; the value must be valid."""
    set_in_file(path, name, typed_value(name, value))


def unset_value(path: Path, name: str) -> bool:
    """Take one key out of a config file, keeping everything else; False where the file does not set it."""
    return unset_in_file(path, _known(name).name)


def keep_given(root: Path | None, index: Path, flags: Mapping[str, object]) -> None:
    """Store in the index the options of a run that later searches need."""
    kept = load_settings(root, index)
    for name, held in (("embedding.provider", kept.embed.provider), ("store", kept.store.kind)):
        if flags.get(name, held) != held:
            set_value(index / INDEX_FILE, name, flags[name])


class _Moment(threading.local):
    """The configurations that this thread has read inside `one_moment`; None outside of it."""

    seen: dict[RememberedSettings, Settings] | None = None


_moment = _Moment()


@contextmanager
def one_moment() -> Iterator[None]:
    """Read each configuration at most once in this thread until the block ends."""
    before = _moment.seen
    _moment.seen = {} if before is None else before
    try:
        yield
    finally:
        _moment.seen = before


class RememberedSettings:
    """The configuration of one project; edits to its files and the environment count at once."""

    def __init__(self, root: Path | None, index: Path, flags: Mapping[str, Any]) -> None:
        self._root = root
        self._index = index
        self._flags = flags
        self._guard = threading.Lock()
        self._kept: tuple[tuple[Any, ...], Settings] | None = None
        self._files: tuple[Path, tuple[Path, ...]] | None = None
        """With the home folder that they are of: making paths costs as much as looking at them."""

    def now(self) -> Settings:
        """Return the configuration in force."""
        seen = _moment.seen
        if seen is None:
            return self._look()
        if self not in seen:
            seen[self] = self._look()
        return seen[self]

    def _look(self) -> Settings:
        environment = {name: ENVIRONMENT[name] for name in ENVIRONMENT if name.startswith(_PREFIXES)}
        home, files = home_folder(), self._files
        if files is None or files[0] != home:
            files = self._files = home, settings_files(self._root, self._index)
        stamps = tuple(map(_stamp, files[1]))
        with self._guard:
            if self._kept is not None and self._kept[0] == (environment, stamps):
                return self._kept[1]
        settings = load_settings(self._root, self._index, self._flags)
        for warning in settings.warnings:
            _log_once(self._root or self._index, warning)
        settled_before = time.time_ns() - _SETTLED_NS
        with self._guard:
            if all(stamp is None or stamp[0] < settled_before for stamp in stamps):
                self._kept = (environment, stamps), settings
        return settings


@lru_cache(maxsize=1_000)
def _log_once(root: Path, warning: str) -> None:
    _log.warning("%s: %s", root, warning)


def _stamp(path: Path) -> _Stamp:
    info = stat_of(path)
    return (info.st_mtime_ns, info.st_size, info.st_ino) if info else None
