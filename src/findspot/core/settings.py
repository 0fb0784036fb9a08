"""Every setting in one table: its name, its default, what it may be, what it means, and what a file that is
committed with a project may set it to. The sections of the table are those of `Settings`, one per stage.

A committed file is written by whoever wrote the repository, not by the person who reads it. It may describe
the project and make things stricter. It cannot switch off a guard, and it cannot start or contact anything.
A key without `committed` is the user's own.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, get_type_hints

from findspot.core.errors import InvalidPatternError
from findspot.core.globs import compile_glob
from findspot.core.paths import expanded


class InvalidValueError(Exception):
    """A value that its key cannot take.

    The message says what the key can take; `detail` says what is wrong with this value, and may quote it.
    """

    def __init__(self, wanted: str, detail: str = "") -> None:
        super().__init__(wanted)
        self.detail = detail


Parse = Callable[[Any], Any]
"""Returns what a value means, or raises `InvalidValueError`."""

MAX_GLOBS = 200
"""Each is compiled once and tried on every file; ignore files are the place for long lists."""

_MAX_CHARS = 4_000
_MAX_NAME_BYTES = 255
_LARGEST = 10**9
_SIZE = re.compile(r"(\d{1,12})(KB|MB)")


def _whole(value: str) -> str:
    """Return text that a file, a database and a path can hold."""
    if len(value) > _MAX_CHARS or re.search("[\0\ud800-\udfff]", value):
        raise InvalidValueError(f"text of at most {_MAX_CHARS:,} characters, without NUL and half characters")
    return value


def text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidValueError("a non-empty string")
    return _whole(value)


def strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise InvalidValueError("an array of strings")
    return tuple(map(_whole, value))


def globs(value: Any) -> tuple[str, ...]:
    patterns = strings(value)
    if len(patterns) > MAX_GLOBS:
        raise InvalidValueError(f"an array of at most {MAX_GLOBS} glob patterns")
    try:
        for pattern in patterns:
            _check_glob(pattern)
    except InvalidPatternError as error:
        raise InvalidValueError("an array of valid glob patterns", error.user_message) from None
    return patterns


@lru_cache(maxsize=1_024)
def _check_glob(pattern: str) -> None:
    compile_glob(pattern)


def boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidValueError("true or false")


def positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidValueError("a positive integer")
    if value > _LARGEST:
        raise InvalidValueError(f"at most {_LARGEST:,}")
    return value


def size(value: Any) -> int:
    parts = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not parts or int(parts[1]) == 0:
        raise InvalidValueError("a size such as '500KB' or '2MB'")
    return int(parts[1]) << (10 if parts[2] == "KB" else 20)


def path(value: Any) -> str:
    """Parse a path that a disk can hold; a `~` at its beginning must be somebody's home."""
    names = expanded(text(value)).parts
    if not names or names[0].startswith("~") or any(len(name.encode()) > _MAX_NAME_BYTES for name in names):
        raise InvalidValueError("a path")
    return str(value)


def one_of(*choices: str) -> Parse:
    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise InvalidValueError("one of " + ", ".join(f"'{choice}'" for choice in choices))
        return value

    return parse


def some_of(*choices: str) -> Parse:
    def parse(value: Any) -> tuple[str, ...]:
        if isinstance(value, list | tuple) and value and all(one in choices for one in value):
            return tuple(value)
        raise InvalidValueError("an array of: " + ", ".join(choices))

    return parse


def each(parse: Parse) -> Parse:
    return lambda value: tuple(map(parse, strings(value)))


def optional(parse: Parse) -> Parse:
    return lambda value: None if value is None else parse(value)


_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_COMMA = re.compile(r",(?![^{]*\})")
"""A comma that separates: one in `{a,b}` belongs to a glob."""


def _readings(written: str) -> Iterator[Any]:
    """Yield the values that a text may mean: JSON, a switch, a list with commas, or the text itself."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(written)
        yield value
        if isinstance(value, list | dict):
            return
    if written.lower() in _WORDS:
        yield _WORDS[written.lower()]
    yield [part.strip() for part in _COMMA.split(written) if part.strip()]
    yield written


PROJECT_FILE = ".findspot.json"
CORTEX_FILE = ".cortex/config.yml"
COMMITTED_FILES = (PROJECT_FILE, CORTEX_FILE)

PROJECT_TOOLSET, DOCUMENTS_TOOLSET, CATALOGUE_TOOLSET = "project", "documents", "catalogue"
TOOLSETS = (PROJECT_TOOLSET, "cortex", DOCUMENTS_TOOLSET, CATALOGUE_TOOLSET)
EMBEDDING_PROVIDERS = ("local:static", "local:minilm", "local:mdbr-leaf", "http", "api:openai", "api:voyage")
DTYPES = ("q8", "fp32")

EDITORS = {
    "vscode": ("VS Code", "vscode://file{path}:{line}"),
    "vscode-insiders": ("VS Code Insiders", "vscode-insiders://file{path}:{line}"),
    "vscodium": ("VSCodium", "vscodium://file{path}:{line}"),
    "cursor": ("Cursor", "cursor://file{path}:{line}"),
    "windsurf": ("Windsurf", "windsurf://file{path}:{line}"),
    "zed": ("Zed", "zed://file{path}:{line}"),
    "idea": ("IntelliJ IDEA", "idea://open?file={path}&line={line}"),
    "pycharm": ("PyCharm", "pycharm://open?file={path}&line={line}"),
    "webstorm": ("WebStorm", "webstorm://open?file={path}&line={line}"),
}
"""Editors that open a file by an address: what they are called, and the address."""

CHUNK_SERVICE = "http://localhost:8121"
"""The address that programs which write chunk files agree on for their embedding service."""

_OBJECT_STORES = ("s3://", "s3+ddb://", "gs://", "az://", "abfs://", "abfss://", "file://")
_EDITOR_ADDRESS = re.compile(
    r"(?!(?:https?|file|ftp|wss?):)[a-z][a-z0-9+.-]*://[^\s{}]*(?:\{(?:path|line)\}[^\s{}]*)+"
)
_NETWORK_ADDRESS = re.compile(r"(?:s3|s3\+ddb|gs|az|abfss?)://[^\s/?#@\\]+(?:/[^\s?#\\]*)?")
_MAX_ADDRESS_CHARS = 500


def _editor(value: Any) -> str:
    """Parse the name of an editor, or an address of its own scheme with `{path}` and `{line}`."""
    if isinstance(value, str) and value.isprintable():
        is_address = "{path}" in value and _EDITOR_ADDRESS.fullmatch(value)
        if value in EDITORS or value == "none" or is_address:
            return value
    named = ", ".join(f"'{name}'" for name in EDITORS)
    raise InvalidValueError(f"one of {named}, 'none', or an address such as 'myeditor://{{path}}:{{line}}'")


def _store(value: Any) -> str:
    if isinstance(value, str) and value.startswith(_OBJECT_STORES):
        return _whole(value)
    if value == "default" or (isinstance(value, str) and Path(value).is_absolute()):
        return str(value)
    raise InvalidValueError("'default', a folder or an address such as 's3://bucket/prefix'")


def _published(value: Any) -> str:
    """Parse where an index is published: an address without a password, or a folder."""
    if isinstance(value, str) and value.isprintable() and len(value) <= _MAX_ADDRESS_CHARS:
        absolute = PurePosixPath(value).is_absolute() or PureWindowsPath(value).is_absolute()
        if absolute or value.startswith("file:///") or _NETWORK_ADDRESS.fullmatch(value):
            return value.rstrip("/") or value
    raise InvalidValueError("an address such as 's3://bucket/prefix', or a folder")


@dataclass(frozen=True, slots=True)
class Limit:
    text: str
    allows: Callable[[Any, Any], bool]
    """Asked with the value, and with the one that the user's own configuration gives."""
    adds: bool = False
    """Whether a list is added to the user's own instead of replacing it."""


def _at_most(cap: Any, parse: Parse) -> Limit:
    return Limit(f"at most {cap}", lambda value, own: bool(value <= max(parse(cap), own)))


def _stays_inside(path: Any, _own: Any) -> bool:
    """Return whether a path leads nowhere outside the folder that it is relative to, on any system."""
    windows = PureWindowsPath(path)
    outside = windows.anchor or PurePosixPath(path).is_absolute() or path.startswith("~")
    return not (outside or ".." in windows.parts)


def _is_usual_service(address: Any, _own: Any) -> bool:
    return isinstance(address, str) and address.removesuffix("/").removesuffix("/embed") == CHUNK_SERVICE


def _scans_no_less(scan: Any, own: Any) -> bool:
    scans = ("off", "mask", "skip")
    return scans.index(scan) >= scans.index(own)


_ANY = Limit("any value", lambda value, own: True)
_NO_MORE = Limit("no more than your own value", lambda value, own: bool(value <= own))
_GLOBS_IF_NONE = Limit("any globs, unless your own configuration has some", lambda _, own: own == ("**/*",))
_MORE_GLOBS = Limit("any globs, in addition to your own", lambda value, own: True, adds=True)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its name in a file, its place in `Settings`, and what it means."""

    name: str
    default: Any
    parse: Parse
    meaning: str
    committed: Limit | None = None
    """What a file that is committed with a project may set it to; None for nothing."""
    starter: bool = False
    """Part of the commented config.json that a first index writes."""
    variable: str = ""
    """The environment variable, which is made from the name unless it was given to us."""
    secret: bool = False
    """Whether its value is not to be shown."""
    section: str = ""
    attribute: str = ""

    def from_text(self, written: str) -> Any:
        """Return the value that a file would hold for what was typed; InvalidValueError for none."""
        refused = InvalidValueError("another value")
        for value in _readings(written):
            try:
                self.parse(value)
            except InvalidValueError as error:
                refused = error if error.detail or not refused.detail else refused
            else:
                return value
        raise refused


def key(name: str, default: Any, parse: Parse, meaning: str, variable: str = "", **more: Any) -> Any:
    """Return the field of a section that holds a setting; its default is the setting's."""
    variable = variable or "FINDSPOT_" + re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", name).upper()
    made = Key(name, default, parse, meaning, variable=variable, **more)
    return field(default=parse(default), metadata={"key": made})


# fmt: off
@dataclass(frozen=True, slots=True)
class DiscoverSettings:
    include: tuple[str, ...] = key("include", ["**/*"], globs,
        "Glob patterns for files to index; a file that matches none is left out. Default: all files.",
        starter=True, committed=_GLOBS_IF_NONE)
    exclude: tuple[str, ...] = key("exclude", [], globs,
        "Glob patterns to skip (in addition to the hardcoded excludes).",
        starter=True, committed=_MORE_GLOBS)
    respect_gitignore: bool = key("respectGitignore", True, boolean,
        "If true, also excludes files matching .gitignore.",
        starter=True, committed=Limit("only `true`", lambda value, own: value or not own))
    max_file_bytes: int = key("maxFileSize", "1MB", size,
        "Skip files larger than this. Supports: '500KB', '1MB', '2MB'.",
        starter=True, committed=_at_most("10MB", size))
    max_files: int = key("maxFiles", 50_000, positive,
        "Ask before indexing a project with more files than this.", starter=True, committed=_NO_MORE)
    doc_patterns: tuple[str, ...] = key("docPatterns", ["**/*.md", "**/*.txt"], globs,
        "Glob patterns for documentation files; .markdown, .rst, .mdx, .adoc and .rdoc always count.",
        starter=True, committed=_ANY)
    index_docs: bool = key("indexDocs", True, boolean,
        "If true, index documentation files with prose-optimized chunking.",
        starter=True, committed=Limit("only `false`", lambda value, own: own or not value))
    roots: tuple[str, ...] = key("roots", [], each(path),
        "Further members of the workspace that a folder is, relative to it.",
        committed=Limit("folders inside the project that the deny list allows", lambda value, own: True))
    secret_scan: str = key("secretScan", "mask", one_of("mask", "skip", "off"),
        "Files with private keys or tokens: 'mask' indexes them without the secret, 'skip' leaves them "
        "out, 'off' does not look for secrets.",
        committed=Limit("nothing weaker than your own value", _scans_no_less))
    build_folders: bool = False
    """Whether folders that builds write are read, too: published packages consist of them."""
    top_names: tuple[str, ...] = ()
    """The folders of the root that alone are read: installed packages lie beside each other."""


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How files are cut, and where."""

    strategy: str = key("chunkingStrategy", "syntax", one_of("syntax", "character"),
        "'syntax' splits files at definitions, 'character' by size alone.", committed=_ANY)
    workers: str | None = key("workers", None, optional(text),
        "The Ray cluster that indexes: 'ray://host:10001', or 'local'. Default: processes of this "
        "machine.")


@dataclass(frozen=True, slots=True)
class EmbedSettings:
    provider: str = key("embedding.provider", "local:static", one_of(*EMBEDDING_PROVIDERS),
        "The [embedding provider](providers.md). `local:…` providers send nothing anywhere.")
    dtype: str | None = key("embedding.dtype", None, optional(one_of(*DTYPES)),
        "Number format of the two transformers: 'q8' or 'fp32'. Other providers have none.")
    endpoint: str | None = key("embedding.endpoint", None, optional(text),
        "Address of the embedding service.")
    model: str | None = key("embedding.model", None, optional(text), "Model name at an embedding service.")
    command: str | None = key("embedding.command", None, optional(text),
        "Command that starts the `http` service if it does not answer.")
    sha256: str | None = key("embedding.sha256", None, optional(text),
        "Expected SHA-256 of a transformer's weights, instead of the known one; several with commas.")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    kind: str = key("store", "default", _store,
        "'default', or the address of a [published index](teams.md) that projects read: a folder, or a place "
        "such as 's3://bucket/prefix'.")
    uri: str | None = key("storeUri", None, optional(text),
        "The address of a published index that projects read: 's3://bucket/prefix'; '{project}' is "
        "replaced by the name of the project's folder.")

    @property
    def address(self) -> str | None:
        """Where a published index is that this machine reads and never writes; None where it reads none."""
        return self.uri if self.kind == "default" else self.kind


@dataclass(frozen=True, slots=True)
class PublishingSettings:
    """Where indexes of the project are published, for everyone who works on it."""

    target: str | None = key("publishTo", None, optional(_published),
        "Where `findspot publish` publishes, if no ADDRESS is given; '{project}' is replaced likewise.")


@dataclass(frozen=True, slots=True)
class SyncSettings:
    strategy: str = key("indexingStrategy", "realtime", one_of("realtime", "lazy", "git"),
        "When changes are indexed: 'realtime' (immediate), 'lazy' (on idle/search), 'git' (on commit).",
        starter=True, committed=_ANY)
    lazy_idle_s: int = key("lazyIdleThreshold", 30, positive,
        "Seconds of inactivity before lazy indexing triggers.",
        starter=True, committed=_at_most(3_600, positive))
    integrity_interval_hours: int = key("integrityIntervalHours", 24, positive,
        "Hours between two checks of the whole index against the disk.", committed=_NO_MORE)
    watch: bool = key("watch", True, boolean, "If false, a server does not watch the projects it serves.")


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What assistants are offered, and how answers look."""

    toolsets: tuple[str, ...] = key("toolsets", list(TOOLSETS), some_of(*TOOLSETS),
        "Which groups of MCP tools are offered.",
        committed=Limit("some of those that your own configuration offers", lambda v, own: {*v} <= {*own}))
    enhanced_tool_descriptions: bool = key("enhancedToolDescriptions", False, boolean,
        "If true, tool descriptions include hints for assistants.", starter=True, committed=_ANY)
    default_format: str | None = key(
        "defaultFormat", None, optional(one_of("compact", "json", "toon", "human")),
        "Format of answers if a call names none: 'compact', 'json', 'toon' or 'human'. Servers answer "
        "with 'compact' if it is not set.", committed=_ANY)
    structured_results: str = key("structuredResults", "full", one_of("full", "slim", "only"),
        "'slim' leaves the texts out of structured results. 'only' is for clients that forward both forms "
        "of an answer: the text is a single line.", committed=_ANY)
    max_tokens: int = key("maxTokens", 1_200, positive,
        "The token budget of an answer (characters / 4).", committed=_at_most(16_000, positive))
    max_call_tokens: int = key("maxCallTokens", 16_000, positive,
        "The token budget of an answer of `call_tool`, of which the rest is cut off.",
        committed=_at_most(16_000, positive))
    repository: str | None = key("repository", None, optional(text),
        "Address of the project's repository, by which clients of a server can name it: "
        "'github.com/acme/shop'. Default: the remote `origin` of the checkout.")


@dataclass(frozen=True, slots=True)
class HttpSettings:
    token: str | None = key("http.token", None, optional(text),
        "Bearer token that clients of `serve --http` must send.", secret=True)
    allowed_hosts: tuple[str, ...] = key("http.allowedHosts", [], strings,
        "Further host names of `serve --http`.")
    tokens_file: str | None = key("http.tokensFile", None, optional(path),
        "File of tokens for `serve --http`, each with its projects.")
    requests_per_second: int = key("http.requestsPerSecond", 20, positive,
        "Requests per second that `serve --http` accepts for one token.")
    concurrent_requests: int = key("http.concurrentRequests", 16, positive,
        "Requests of one token that `serve --http` handles at the same time.")


@dataclass(frozen=True, slots=True)
class LlmSettings:
    provider: str = key("llm.provider", "client", one_of("client", "openai", "anthropic", "none"),
        "The language model for expansion and summaries: 'client' (the assistant's own, if it offers "
        "one), 'openai' or 'anthropic' (a service, if the client offers none), 'none'.")
    endpoint: str | None = key("llm.endpoint", None, optional(text), "Address of a language model service.")
    model: str | None = key("llm.model", None, optional(text), "Model name at a language model service.")


@dataclass(frozen=True, slots=True)
class DocumentsSettings:
    """What the named full-text indexes may take."""

    max_memory_bytes: int = key("documents.maxMemory", "512MB", size,
        "Memory that all named indexes in memory may use together.")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What servers write down about themselves."""

    level: str = key("logLevel", "info", one_of("debug", "info", "warning", "error"),
        "What servers log: 'debug', 'info', 'warning' or 'error'. See `findspot logs`.")
    activity: bool = key("activity", True, boolean,
        "If false, nothing about what you and your assistants ask is recorded: no questions, no calls, no "
        "counts. See `findspot activity`.")


@dataclass(frozen=True, slots=True)
class PageSettings:
    """How the page in the browser behaves."""

    editor: str = key("editor", "vscode", _editor,
        "The editor that the page of `findspot ui` opens files in: 'vscode', 'cursor', 'idea' or another "
        "[one](ui.md#open-in-your-editor), an address with {path} and {line}, or 'none'.")


@dataclass(frozen=True, slots=True)
class CortexSettings:
    """Where chunk files are, and who embeds the questions about them."""

    chunks_dir: str = key("cortex.chunksDir", ".cortex/chunks", path,
        "The folder of chunk files, relative to the project.",
        variable="CORTEX_CHUNKS_DIR", committed=Limit("a folder inside the project", _stays_inside))
    endpoint: str | None = key("cortex.endpoint", None, optional(text),
        "Address of the service that embeds questions about chunk files.",
        variable="CORTEX_EMBEDDING_ENDPOINT",
        committed=Limit(f"only the usual address, `{CHUNK_SERVICE}/embed`", _is_usual_service))
    dimensions: int | None = key("cortex.dimensions", None, optional(positive),
        "Length of the vectors in chunk files. Default: as the files say.", committed=_ANY)
# fmt: on


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration in force, one section per stage."""

    home: Path
    discover: DiscoverSettings
    chunk: ChunkSettings
    embed: EmbedSettings
    store: StoreSettings
    publishing: PublishingSettings
    serve: ServeSettings
    sync: SyncSettings
    http: HttpSettings
    llm: LlmSettings
    documents: DocumentsSettings
    log: LogSettings
    page: PageSettings
    cortex: CortexSettings
    warnings: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """The effective value of each key, as a config file would spell it."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each value that is not a default came from."""


SECTIONS: dict[str, Any] = {
    name: kind for name, kind in get_type_hints(Settings).items() if is_dataclass(kind)
}

KEYS: tuple[Key, ...] = tuple(
    replace(one.metadata["key"], section=section, attribute=one.name)
    for section, kind in SECTIONS.items()
    for one in fields(kind)
    if one.metadata
)
BY_NAME = {key.name: key for key in KEYS}
