"""Every configuration key in one table: its name, its default, what it may be and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from findspot.core.settings import (
    ChunkSettings,
    CortexSettings,
    DiscoverSettings,
    DocumentsSettings,
    EmbedSettings,
    HttpSettings,
    LlmSettings,
    ServeSettings,
    StoreSettings,
    SyncSettings,
)

TOOLSETS = ("project", "cortex", "documents", "catalogue")
STRATEGIES = ("realtime", "lazy", "git")
LLM_PROVIDERS = ("client", "openai", "anthropic", "none")


class InvalidValueError(Exception):
    """A value its key cannot take; the message says what it can."""


Parse = Callable[[Any], Any]


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise InvalidValueError("an array of strings")
    return tuple(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "1", "yes", "on"):
        return True
    if isinstance(value, str) and value.lower() in ("false", "0", "no", "off"):
        return False
    raise InvalidValueError("true or false")


def _positive(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidValueError("a positive integer")
    return value


_SIZE = re.compile(r"^(\d{1,12})(KB|MB)$")


def _size(value: Any) -> int:
    found = _SIZE.match(value) if isinstance(value, str) else None
    if not found or int(found[1]) == 0:
        raise InvalidValueError("a size such as '500KB' or '2MB'")
    return int(found[1]) << (10 if found[2] == "KB" else 20)


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise InvalidValueError("a non-empty string")


def _one_of(*choices: str) -> Parse:
    def parse(value: Any) -> str:
        if value not in choices:
            raise InvalidValueError("one of " + ", ".join(f"'{choice}'" for choice in choices))
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
        raise InvalidValueError("an array of: " + ", ".join(TOOLSETS))
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

SECTIONS = {
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
