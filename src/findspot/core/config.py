"""Configuration: every key in one table, and the only reader of environment and config files.

From lowest to highest: defaults, the global `config.json`, the project's `.findspot.json` and
`.cortex/config.yml`, the index's own `config.json`, the environment (`FINDSPOT_MAX_FILE_SIZE=2MB`), flags. An
invalid value is replaced by its default with a warning that names the key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from findspot.core.files import make_private_dir, read_json, write_json
from findspot.core.yamlfile import read_yaml

PROJECT_FILE = ".findspot.json"
CORTEX_FILE = ".cortex/config.yml"
INDEX_FILE = "config.json"

TOOLSETS = ("project", "cortex", "documents", "catalogue")
STRATEGIES = ("realtime", "lazy", "git")
LLM_PROVIDERS = ("client", "openai", "anthropic", "none")


@dataclass(frozen=True, slots=True)
class DiscoverSettings:
    """Which files are indexed."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    respect_gitignore: bool
    max_file_bytes: int
    max_files: int
    doc_patterns: tuple[str, ...]
    index_docs: bool
    roots: tuple[str, ...]
    secret_scan: str


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How files are cut, and where."""

    strategy: str
    workers: str | None


@dataclass(frozen=True, slots=True)
class EmbedSettings:
    """Which model turns chunks into vectors."""

    provider: str
    dtype: str | None = None
    endpoint: str | None = None
    model: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Where models that others publish are kept and fetched from; the hub's own variables decide."""

    cache: Path
    endpoint: str
    offline: bool


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """How the user's terminal programs behave."""

    colours: bool
    pager: str
    editor: str


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the index is kept."""

    kind: str
    uri: str | None

    @property
    def address(self) -> str | None:
        """Where the tables are, unless they are in the index's own folder."""
        return self.kind if "://" in self.kind else self.uri


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """When changes reach the index."""

    strategy: str
    lazy_idle_s: int
    integrity_interval_hours: int
    watch: bool


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What assistants are offered, and how answers look."""

    toolsets: tuple[str, ...]
    enhanced_tool_descriptions: bool
    default_format: str | None
    structured_results: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Who may reach the server over HTTP."""

    token: str | None
    allowed_hosts: tuple[str, ...]
    tokens_file: str | None
    requests_per_second: int
    concurrent_requests: int


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """Which language model may be asked, if any."""

    provider: str
    endpoint: str | None
    model: str | None


@dataclass(frozen=True, slots=True)
class DocumentsSettings:
    """What the named full-text indexes may take."""

    max_memory_bytes: int


@dataclass(frozen=True, slots=True)
class CortexSettings:
    """Where chunk files are, and who embeds the questions about them."""

    chunks_dir: str
    endpoint: str | None
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration in force, one section a stage."""

    home: Path
    discover: DiscoverSettings
    chunk: ChunkSettings
    embed: EmbedSettings
    store: StoreSettings
    sync: SyncSettings
    serve: ServeSettings
    http: HttpSettings
    llm: LlmSettings
    documents: DocumentsSettings
    cortex: CortexSettings
    warnings: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """The effective value of each key, as a config file would spell it."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each value that is not a default came from."""


class _InvalidValueError(Exception):
    """A value its key cannot take; the message says what it can."""


Parse = Callable[[Any], Any]


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise _InvalidValueError("an array of strings")
    return tuple(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "1", "yes", "on"):
        return True
    if isinstance(value, str) and value.lower() in ("false", "0", "no", "off"):
        return False
    raise _InvalidValueError("true or false")


def _positive(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _InvalidValueError("a positive integer")
    return value


_SIZE = re.compile(r"^(\d{1,12})(KB|MB)$")


def _size(value: Any) -> int:
    found = _SIZE.match(value) if isinstance(value, str) else None
    if not found or int(found[1]) == 0:
        raise _InvalidValueError("a size such as '500KB' or '2MB'")
    return int(found[1]) << (10 if found[2] == "KB" else 20)


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise _InvalidValueError("a non-empty string")


def _one_of(*choices: str) -> Parse:
    def parse(value: Any) -> str:
        if value not in choices:
            raise _InvalidValueError("one of " + ", ".join(f"'{choice}'" for choice in choices))
        return str(value)

    return parse


def _store(value: Any) -> str:
    if isinstance(value, str) and "://" in value:
        return value
    kind: str = _one_of("default", "lancedb")(value)
    return kind


def _optional(parse: Parse) -> Parse:
    return lambda value: None if value is None else parse(value)


def _toolsets(value: Any) -> tuple[str, ...]:
    names = _strings(value)
    if not names or not set(names) <= set(TOOLSETS):
        raise _InvalidValueError("an array of: " + ", ".join(TOOLSETS))
    return names


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key: its place in a file, its place in `Settings`, and what it means."""

    name: str
    section: str
    attribute: str
    default: Any
    parse: Parse
    meaning: str
    local_only: bool = False
    """May send text elsewhere or move data, so a project's committed file cannot set it."""
    starter: bool = False
    """Part of the commented config.json that a first index writes."""
    named_variable: str = ""
    """The environment variable, where its name was given to us."""

    @property
    def variable(self) -> str:
        if self.named_variable:
            return self.named_variable
        return "FINDSPOT_" + re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", self.name).upper()


KEYS: tuple[Key, ...] = (
    Key("include", "discover", "include", ["**/*"], _strings,
        "Glob patterns for files to index; a file that matches none is left out. Default: all files.",
        starter=True),
    Key("exclude", "discover", "exclude", [], _strings,
        "Glob patterns to skip (in addition to the hardcoded excludes).", starter=True),
    Key("respectGitignore", "discover", "respect_gitignore", True, _boolean,
        "If true, also excludes files matching .gitignore.", starter=True),
    Key("maxFileSize", "discover", "max_file_bytes", "1MB", _size,
        "Skip files larger than this. Supports: '500KB', '1MB', '2MB'.", starter=True),
    Key("maxFiles", "discover", "max_files", 50_000, _positive,
        "Ask before indexing a project with more files than this.", starter=True),
    Key("docPatterns", "discover", "doc_patterns", ["**/*.md", "**/*.txt"], _strings,
        "Glob patterns for documentation files; .markdown, .rst, .mdx and .adoc always count.",
        starter=True),
    Key("indexDocs", "discover", "index_docs", True, _boolean,
        "If true, index documentation files with prose-optimized chunking.", starter=True),
    Key("enhancedToolDescriptions", "serve", "enhanced_tool_descriptions", False, _boolean,
        "If true, tool descriptions include hints for assistants.", starter=True),
    Key("indexingStrategy", "sync", "strategy", "realtime", _one_of(*STRATEGIES),
        "When changes are indexed: 'realtime' (immediate), 'lazy' (on idle/search), 'git' (on commit).",
        starter=True),
    Key("lazyIdleThreshold", "sync", "lazy_idle_s", 30, _positive,
        "Seconds of inactivity before lazy indexing triggers.", starter=True),
    Key("toolsets", "serve", "toolsets", list(TOOLSETS), _toolsets,
        "Which groups of MCP tools are offered."),
    Key("chunkingStrategy", "chunk", "strategy", "syntax", _one_of("syntax", "character"),
        "'syntax' cuts at definitions, 'character' by size alone."),
    Key("workers", "chunk", "workers", None, _text,
        "The Ray cluster that cuts and embeds when a project is indexed: 'ray://host:10001', or 'local'. "
        "Default: processes of this machine.", local_only=True),
    Key("embedding.provider", "embed", "provider", "local:static", _text,
        "The embedding provider. `local:…` providers send nothing anywhere.", local_only=True),
    Key("embedding.dtype", "embed", "dtype", None, _text,
        "Number format of the model, where the provider has several.", local_only=True),
    Key("embedding.endpoint", "embed", "endpoint", None, _text,
        "Address of an embedding service.", local_only=True),
    Key("embedding.model", "embed", "model", None, _text,
        "Model name at an embedding service.", local_only=True),
    Key("embedding.command", "embed", "command", None, _text,
        "The command that starts the service of `http` when it does not answer.", local_only=True),
    Key("llm.provider", "llm", "provider", "client", _one_of(*LLM_PROVIDERS),
        "Which language model may be asked for expansion and summaries: 'client' (the assistant's own, "
        "where it offers that), 'openai' or 'anthropic' (a service, where the client offers none), 'none'.",
        local_only=True),
    Key("llm.endpoint", "llm", "endpoint", None, _text,
        "Address of a language model service.", local_only=True),
    Key("llm.model", "llm", "model", None, _text,
        "Model name at a language model service.", local_only=True),
    Key("http.token", "http", "token", None, _text,
        "Bearer token that clients of `serve --http` must bring.", local_only=True),
    Key("http.allowedHosts", "http", "allowed_hosts", [], _strings,
        "Further host names under which `serve --http` may be reached.", local_only=True),
    Key("http.tokensFile", "http", "tokens_file", None, _text,
        "File of the tokens that `serve --http` lets in, each with its projects.", local_only=True),
    Key("http.requestsPerSecond", "http", "requests_per_second", 20, _positive,
        "How many requests a second `serve --http` takes of one token.", local_only=True),
    Key("http.concurrentRequests", "http", "concurrent_requests", 16, _positive,
        "How many requests of one token `serve --http` works on at once.", local_only=True),
    Key("maxTokens", "serve", "max_tokens", 8_000, _positive,
        "How long an answer may be, in tokens (characters / 4)."),
    Key("store", "store", "kind", "default", _store,
        "Which store keeps the index: 'default', 'lancedb', or an address such as 's3://bucket/prefix'.",
        local_only=True),
    Key("storeUri", "store", "uri", None, _text,
        "Where the tables of the store 'lancedb' are, if not beside the configuration: 's3://bucket/prefix'; "
        "'{project}' in it is the name of the project's folder.", local_only=True),
    Key("integrityIntervalHours", "sync", "integrity_interval_hours", 24, _positive,
        "Hours between two checks of the whole index against the disk."),
    Key("watch", "sync", "watch", True, _boolean,
        "If false, a server does not watch the projects it serves."),
    Key("secretScan", "discover", "secret_scan", "skip", _one_of("skip", "mask", "off"),
        "What happens to files that hold private keys or tokens."),
    Key("roots", "discover", "roots", [], _strings,
        "Folders that make one logical index."),
    Key("defaultFormat", "serve", "default_format", None, _optional(_one_of("json", "toon", "human")),
        "Format of answers where a call names none."),
    Key("structuredResults", "serve", "structured_results", "full", _one_of("full", "slim"),
        "'slim' leaves the texts out of structured results."),
    Key("documents.maxMemory", "documents", "max_memory_bytes", "512MB", _size,
        "How much the named indexes in memory may take together.", local_only=True),
    Key("cortex.chunksDir", "cortex", "chunks_dir", ".cortex/chunks", _text,
        "The folder of chunk files, relative to the project.", local_only=True,
        named_variable="CORTEX_CHUNKS_DIR"),
    Key("cortex.endpoint", "cortex", "endpoint", None, _text,
        "Address of the service that embeds questions about chunk files.", local_only=True,
        named_variable="CORTEX_EMBEDDING_ENDPOINT"),
    Key("cortex.dimensions", "cortex", "dimensions", None, _optional(_positive),
        "Length of the vectors in chunk files. Default: what they say.", local_only=True),
)  # fmt: skip

BY_NAME = {key.name: key for key in KEYS}

_SECTIONS = {
    "discover": DiscoverSettings,
    "chunk": ChunkSettings,
    "embed": EmbedSettings,
    "store": StoreSettings,
    "sync": SyncSettings,
    "serve": ServeSettings,
    "http": HttpSettings,
    "llm": LlmSettings,
    "documents": DocumentsSettings,
    "cortex": CortexSettings,
}


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
    return TerminalSettings(not plain, pager, environ.get("VISUAL") or environ.get("EDITOR") or "")


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
            except _InvalidValueError as wanted:
                parsed[name] = BY_NAME[name].parse(BY_NAME[name].default)
                values[name] = BY_NAME[name].default
                sources.pop(name, None)
                warnings.append(f"{source}: '{name}' must be {wanted}; using the default")
    sections = {
        section: kind(**{k.attribute: parsed[k.name] for k in KEYS if k.section == section})
        for section, kind in _SECTIONS.items()
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
    except _InvalidValueError as wanted:
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
