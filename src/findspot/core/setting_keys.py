"""Every configuration key in one table: its name, its default, what it may be, what it means, and what a
file that is committed with a project may set it to.

A committed file is written by whoever wrote the repository, not by the person who reads it. It may describe
the project and make things stricter. It cannot switch off a guard, and it cannot start or contact anything.
A key that `COMMITTED` does not name is the user's own.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from findspot.core.errors import InvalidPatternError
from findspot.core.globs import compile_glob
from findspot.core.paths import expanded
from findspot.core.settings import (
    ChunkSettings,
    CortexSettings,
    DiscoverSettings,
    DocumentsSettings,
    EmbedSettings,
    HttpSettings,
    LlmSettings,
    LogSettings,
    PageSettings,
    PublishingSettings,
    ServeSettings,
    StoreSettings,
    SyncSettings,
)


class InvalidValueError(Exception):
    """A value that its key cannot take.

    The message says what the key can take; `detail` says what is wrong with this value, and may quote it.
    """

    def __init__(self, wanted: str, detail: str = "") -> None:
        super().__init__(wanted)
        self.detail = detail


Parse = Callable[[Any], Any]


_MAX_CHARS = 4_000


def _whole(value: str) -> str:
    """Return text that a file, a database and a path can hold."""
    if len(value) > _MAX_CHARS or re.search("[\0\ud800-\udfff]", value):
        raise InvalidValueError(f"text of at most {_MAX_CHARS:,} characters, without NUL and half characters")
    return value


def strings(value: Any) -> tuple[str, ...]:
    """Parse an array of strings."""
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise InvalidValueError("an array of strings")
    return tuple(map(_whole, value))


MAX_GLOBS = 200
"""Each is compiled once and tried on every file; ignore files are the place for long lists."""


def globs(value: Any) -> tuple[str, ...]:
    """Parse an array of glob patterns."""
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
    """Parse `true` or `false`."""
    if isinstance(value, bool):
        return value
    raise InvalidValueError("true or false")


_LARGEST = 10**9


def positive(value: Any) -> int:
    """Parse a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidValueError("a positive integer")
    if value > _LARGEST:
        raise InvalidValueError(f"at most {_LARGEST:,}")
    return value


_SIZE = re.compile(r"(\d{1,12})(KB|MB)")


def size(value: Any) -> int:
    """Parse a size in bytes."""
    parts = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not parts or int(parts[1]) == 0:
        raise InvalidValueError("a size such as '500KB' or '2MB'")
    return int(parts[1]) << (10 if parts[2] == "KB" else 20)


_MAX_NAME_BYTES = 255


def text(value: Any) -> str:
    """Parse a string that is not empty and that a file can hold."""
    if not isinstance(value, str) or not value:
        raise InvalidValueError("a non-empty string")
    return _whole(value)


def path(value: Any) -> str:
    """Parse a path that a disk can hold; a `~` at its beginning must be somebody's home."""
    names = expanded(text(value)).parts
    if not names or names[0].startswith("~") or any(len(name.encode()) > _MAX_NAME_BYTES for name in names):
        raise InvalidValueError("a path")
    return str(value)


def paths(value: Any) -> tuple[str, ...]:
    """Parse an array of paths."""
    return tuple(map(path, strings(value)))


def one_of(*choices: str) -> Parse:
    """Parse one of a few strings."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise InvalidValueError("one of " + ", ".join(f"'{choice}'" for choice in choices))
        return value

    return parse


def some_of(*choices: str) -> Parse:
    """Parse an array of at least one of a few strings."""

    def parse(value: Any) -> tuple[str, ...]:
        if isinstance(value, list | tuple) and value and all(one in choices for one in value):
            return tuple(value)
        raise InvalidValueError("an array of: " + ", ".join(choices))

    return parse


def optional(parse: Parse) -> Parse:
    """Parse what `parse` does, or nothing."""
    return lambda value: None if value is None else parse(value)


_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_COMMA = re.compile(r",(?![^{]*\})")
"""A comma that separates: one in `{a,b}` belongs to a glob."""


def from_text(written: str, parse: Parse) -> Any:
    """Return the value that a file would hold for a text; InvalidValueError where there is none."""
    refused = InvalidValueError("another value")
    for value in _readings(written):
        try:
            parse(value)
        except InvalidValueError as error:
            refused = error if error.detail or not refused.detail else refused
        else:
            return value
    raise refused


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
STRATEGIES = ("realtime", "lazy", "git")
EAGER = "eager"
LLM_PROVIDERS = ("client", "openai", "anthropic", "none")
EMBEDDING_PROVIDERS = ("local:static", "local:minilm", "local:mdbr-leaf", "http", "api:openai", "api:voyage")
DTYPES = ("q8", "fp32")
PROVIDERS_WITH_DTYPE = ("local:minilm", "local:mdbr-leaf")
LOG_LEVELS = ("debug", "info", "warning", "error")

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


def _editor(value: Any) -> str:
    """Parse the name of an editor, or an address of its own scheme with `{path}` and `{line}`."""
    if isinstance(value, str) and (value in EDITORS or value == "none"):
        return value
    if (
        isinstance(value, str)
        and value.isprintable()
        and "{path}" in value
        and _EDITOR_ADDRESS.fullmatch(value)
    ):
        return value
    named = ", ".join(f"'{name}'" for name in EDITORS)
    raise InvalidValueError(f"one of {named}, 'none', or an address such as 'myeditor://{{path}}:{{line}}'")


def _store(value: Any) -> str:
    if isinstance(value, str) and value.startswith(_OBJECT_STORES):
        return _whole(value)
    if value in ("default", "lancedb"):
        return str(value)
    raise InvalidValueError("'default', 'lancedb' or an address such as 's3://bucket/prefix'")


_NETWORK_ADDRESS = re.compile(r"(?:https?|s3|s3\+ddb|gs|az|abfss?)://[^\s/?#@\\]+(?:/[^\s?#\\]*)?")
_MAX_ADDRESS_CHARS = 500


def _published(value: Any) -> str:
    """Parse where an index is published: an address without a password, or a folder."""
    if isinstance(value, str) and value.isprintable() and len(value) <= _MAX_ADDRESS_CHARS:
        absolute = PurePosixPath(value).is_absolute() or PureWindowsPath(value).is_absolute()
        if absolute or value.startswith("file:///") or _NETWORK_ADDRESS.fullmatch(value):
            return value.rstrip("/") or value
    raise InvalidValueError("an address such as 'https://host/path' or 's3://bucket/prefix', or a folder")


def _addresses(value: Any) -> tuple[str, ...]:
    return tuple(map(_published, strings(value)))


def _is_on_network(address: Any, _own: Any) -> bool:
    return isinstance(address, str) and _NETWORK_ADDRESS.fullmatch(address) is not None


@dataclass(frozen=True, slots=True)
class Limit:
    """What a committed file may set a key to."""

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


_SCANS = ("off", "mask", "skip")


def _scans_no_less(scan: Any, own: Any) -> bool:
    return _SCANS.index(scan) >= _SCANS.index(own)


_ANY = Limit("any value", lambda value, own: True)
_NO_MORE = Limit("no more than your own value", lambda value, own: bool(value <= own))

COMMITTED: dict[str, Limit] = {
    "include": Limit("any globs, unless your own configuration has some", lambda _, own: own == ("**/*",)),
    "exclude": Limit("any globs, in addition to your own", lambda value, own: True, adds=True),
    "roots": Limit("folders inside the project that the deny list allows", lambda value, own: True),
    "docPatterns": _ANY,
    "indexDocs": Limit("only `false`", lambda value, own: own or not value),
    "respectGitignore": Limit("only `true`", lambda value, own: value or not own),
    "secretScan": Limit("nothing weaker than your own value", _scans_no_less),
    "maxFileSize": _at_most("10MB", size),
    "maxFiles": _NO_MORE,
    "chunkingStrategy": _ANY,
    "indexingStrategy": _ANY,
    "lazyIdleThreshold": _at_most(3_600, positive),
    "integrityIntervalHours": _NO_MORE,
    "toolsets": Limit("some of those that your own configuration offers", lambda v, own: set(v) <= set(own)),
    "enhancedToolDescriptions": _ANY,
    "maxTokens": _at_most(16_000, positive),
    "maxCallTokens": _at_most(16_000, positive),
    "defaultFormat": _ANY,
    "structuredResults": _ANY,
    "publishedAt": Limit(
        "an https://, http:// or object store address, which is used once you agree", _is_on_network
    ),
    "cortex.chunksDir": Limit("a folder inside the project", _stays_inside),
    "cortex.dimensions": _ANY,
    "cortex.endpoint": Limit(f"only the usual address, `{CHUNK_SERVICE}/embed`", _is_usual_service),
}
"""All that a committed file can set. `core/roots.py` judges `roots`: that takes a look at the disk."""


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key: its place in a file, its place in `Settings`, and what it means."""

    name: str
    section: str
    attribute: str
    default: Any
    parse: Parse
    meaning: str
    starter: bool = False
    """Part of the commented config.json that a first index writes."""
    named_variable: str = ""
    """The environment variable, where its name was given to us."""
    secret: bool = False
    """Whether its value is not to be shown."""

    @property
    def variable(self) -> str:
        if self.named_variable:
            return self.named_variable
        return "FINDSPOT_" + re.sub(r"(?<=[a-z])(?=[A-Z])|\.", "_", self.name).upper()

    @property
    def committed(self) -> Limit | None:
        """What a file that is committed with a project may set it to; None for nothing."""
        return COMMITTED.get(self.name)

    def from_text(self, written: str) -> Any:
        """Return the value that a file would hold for what was typed."""
        return from_text(written, self.parse)


KEYS: tuple[Key, ...] = (
    Key("include", "discover", "include", ["**/*"], globs,
        "Glob patterns for files to index; a file that matches none is left out. Default: all files.",
        starter=True),
    Key("exclude", "discover", "exclude", [], globs,
        "Glob patterns to skip (in addition to the hardcoded excludes).", starter=True),
    Key("respectGitignore", "discover", "respect_gitignore", True, boolean,
        "If true, also excludes files matching .gitignore.", starter=True),
    Key("maxFileSize", "discover", "max_file_bytes", "1MB", size,
        "Skip files larger than this. Supports: '500KB', '1MB', '2MB'.", starter=True),
    Key("maxFiles", "discover", "max_files", 50_000, positive,
        "Ask before indexing a project with more files than this.", starter=True),
    Key("docPatterns", "discover", "doc_patterns", ["**/*.md", "**/*.txt"], globs,
        "Glob patterns for documentation files; .markdown, .rst, .mdx, .adoc and .rdoc always count.",
        starter=True),
    Key("indexDocs", "discover", "index_docs", True, boolean,
        "If true, index documentation files with prose-optimized chunking.", starter=True),
    Key("enhancedToolDescriptions", "serve", "enhanced_tool_descriptions", False, boolean,
        "If true, tool descriptions include hints for assistants.", starter=True),
    Key("indexingStrategy", "sync", "strategy", "realtime", one_of(*STRATEGIES),
        "When changes are indexed: 'realtime' (immediate), 'lazy' (on idle/search), 'git' (on commit).",
        starter=True),
    Key("lazyIdleThreshold", "sync", "lazy_idle_s", 30, positive,
        "Seconds of inactivity before lazy indexing triggers.", starter=True),
    Key("toolsets", "serve", "toolsets", list(TOOLSETS), some_of(*TOOLSETS),
        "Which groups of MCP tools are offered."),
    Key("chunkingStrategy", "chunk", "strategy", "syntax", one_of("syntax", "character"),
        "'syntax' splits files at definitions, 'character' by size alone."),
    Key("workers", "chunk", "workers", None, optional(text),
        "The Ray cluster that indexes: 'ray://host:10001', or 'local'. Default: processes of this machine."),
    Key("embedding.provider", "embed", "provider", "local:static", one_of(*EMBEDDING_PROVIDERS),
        "The [embedding provider](providers.md). `local:…` providers send nothing anywhere."),
    Key("embedding.dtype", "embed", "dtype", None, optional(one_of(*DTYPES)),
        "Number format of the model, for the two transformers: 'q8' or 'fp32'."),
    Key("embedding.endpoint", "embed", "endpoint", None, optional(text),
        "Address of the embedding service."),
    Key("embedding.model", "embed", "model", None, optional(text),
        "Model name at an embedding service."),
    Key("embedding.command", "embed", "command", None, optional(text),
        "Command that starts the `http` service if it does not answer."),
    Key("embedding.sha256", "embed", "sha256", None, optional(text),
        "Expected SHA-256 of a transformer's weights, instead of the known one; several with commas."),
    Key("llm.provider", "llm", "provider", "client", one_of(*LLM_PROVIDERS),
        "The language model for expansion and summaries: 'client' (the assistant's own, if it offers one), "
        "'openai' or 'anthropic' (a service, if the client offers none), 'none'."),
    Key("llm.endpoint", "llm", "endpoint", None, optional(text),
        "Address of a language model service."),
    Key("llm.model", "llm", "model", None, optional(text),
        "Model name at a language model service."),
    Key("http.token", "http", "token", None, optional(text),
        "Bearer token that clients of `serve --http` must send.", secret=True),
    Key("http.allowedHosts", "http", "allowed_hosts", [], strings,
        "Further host names of `serve --http`."),
    Key("http.tokensFile", "http", "tokens_file", None, optional(path),
        "File of tokens for `serve --http`, each with its projects."),
    Key("http.requestsPerSecond", "http", "requests_per_second", 20, positive,
        "Requests per second that `serve --http` accepts for one token."),
    Key("http.concurrentRequests", "http", "concurrent_requests", 16, positive,
        "Requests of one token that `serve --http` handles at the same time."),
    Key("maxTokens", "serve", "max_tokens", 1_200, positive,
        "The token budget of an answer (characters / 4)."),
    Key("maxCallTokens", "serve", "max_call_tokens", 8_000, positive,
        "The token budget of an answer of `call_tool`; the rest can be read in pages."),
    Key("repository", "serve", "repository", None, optional(text),
        "Address of the project's repository, by which clients of a server can name it: "
        "'github.com/acme/shop'. Default: the remote `origin` of the checkout."),
    Key("store", "store", "kind", "default", _store,
        "The store of new indexes: 'default' or 'lancedb'. Or the address of a published index that projects "
        "read, such as 's3://bucket/prefix'."),
    Key("storeUri", "store", "uri", None, optional(text),
        "The address of a published index that projects read: 's3://bucket/prefix'; '{project}' is replaced "
        "by the name of the project's folder."),
    Key("publishedAt", "publishing", "address", None, optional(_published),
        "Where an index of the project is [published](teams.md): a new index begins from it. An address "
        "in a committed file is used once you agree. '{project}' is replaced by the name of the project's "
        "folder."),
    Key("publishedAgreed", "publishing", "agreed", [], _addresses,
        "The addresses out of committed files that you agreed to."),
    Key("publishTo", "publishing", "target", None, optional(_published),
        "Where `findspot publish` publishes, if no ADDRESS is given; '{project}' is replaced likewise."),
    Key("integrityIntervalHours", "sync", "integrity_interval_hours", 24, positive,
        "Hours between two checks of the whole index against the disk."),
    Key("watch", "sync", "watch", True, boolean,
        "If false, a server does not watch the projects it serves."),
    Key("dependencies", "sync", "dependencies", "on-demand", one_of("on-demand", EAGER),
        "When [packages](dependencies.md) are indexed: 'on-demand' (when one is first asked about), or "
        "'eager' (servers that watch the project index those that it names itself, in the background)."),
    Key("secretScan", "discover", "secret_scan", "mask", one_of("mask", "skip", "off"),
        "Files with private keys or tokens: 'mask' indexes them without the secret, 'skip' leaves them out, "
        "'off' does not look for secrets."),
    Key("roots", "discover", "roots", [], paths,
        "Folders to put into one index, relative to the project."),
    Key("defaultFormat", "serve", "default_format", None,
        optional(one_of("compact", "json", "toon", "human")),
        "Format of answers if a call names none: 'compact', 'json', 'toon' or 'human'. Servers answer with "
        "'compact' if it is not set."),
    Key("structuredResults", "serve", "structured_results", "full", one_of("full", "slim", "only"),
        "'slim' leaves the texts out of structured results. 'only' is for clients that forward both forms of "
        "an answer: the text is a single line."),
    Key("documents.maxMemory", "documents", "max_memory_bytes", "512MB", size,
        "Memory that all named indexes in memory may use together."),
    Key("logLevel", "log", "level", "info", one_of(*LOG_LEVELS),
        "What servers log: 'debug', 'info', 'warning' or 'error'. See `findspot logs`."),
    Key("activity", "log", "activity", True, boolean,
        "If false, nothing about what you and your assistants ask is recorded: no questions, no calls, no "
        "counts. See `findspot activity`."),
    Key("editor", "page", "editor", "vscode", _editor,
        "The editor that the page of `findspot ui` opens files in: 'vscode', 'cursor', 'idea' or another "
        "[one](ui.md#open-in-your-editor), an address with {path} and {line}, or 'none'."),
    Key("cortex.chunksDir", "cortex", "chunks_dir", ".cortex/chunks", path,
        "The folder of chunk files, relative to the project.",
        named_variable="CORTEX_CHUNKS_DIR"),
    Key("cortex.endpoint", "cortex", "endpoint", None, optional(text),
        "Address of the service that embeds questions about chunk files.",
        named_variable="CORTEX_EMBEDDING_ENDPOINT"),
    Key("cortex.dimensions", "cortex", "dimensions", None, optional(positive),
        "Length of the vectors in chunk files. Default: as the files say."),
)  # fmt: skip

BY_NAME = {key.name: key for key in KEYS}

SECTIONS = {
    "discover": DiscoverSettings,
    "chunk": ChunkSettings,
    "embed": EmbedSettings,
    "store": StoreSettings,
    "publishing": PublishingSettings,
    "sync": SyncSettings,
    "serve": ServeSettings,
    "http": HttpSettings,
    "llm": LlmSettings,
    "documents": DocumentsSettings,
    "log": LogSettings,
    "page": PageSettings,
    "cortex": CortexSettings,
}
