"""The settings in force, one frozen section per stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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
    build_folders: bool = False
    """Whether folders that builds write are read, too: published packages consist of them."""


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
    sha256: str | None = None


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
    screen: bool
    """Whether a graphical screen is named, as Linux does it."""
    line_links: bool
    """Whether the terminal reads a line number at the end of a file's address."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the index is kept."""

    kind: str
    uri: str | None

    @property
    def address(self) -> str | None:
        """Where a published index is that this machine reads and never writes; None where it reads none."""
        return self.kind if "://" in self.kind else self.uri


@dataclass(frozen=True, slots=True)
class PublishingSettings:
    """Where indexes of the project are published, for everyone who works on it."""

    address: str | None
    agreed: tuple[str, ...]
    """The addresses, out of committed files, that the user agreed to."""
    target: str | None


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """When changes reach the index."""

    strategy: str
    lazy_idle_s: int
    integrity_interval_hours: int
    watch: bool
    dependencies: str


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What assistants are offered, and how answers look."""

    toolsets: tuple[str, ...]
    enhanced_tool_descriptions: bool
    default_format: str | None
    structured_results: str
    max_tokens: int
    max_call_tokens: int
    repository: str | None


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
class LogSettings:
    """What servers write down about themselves."""

    level: str
    activity: bool
    """Whether questions, calls and counts of use are recorded on this machine."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """How the page in the browser behaves."""

    editor: str


@dataclass(frozen=True, slots=True)
class CortexSettings:
    """Where chunk files are, and who embeds the questions about them."""

    chunks_dir: str
    endpoint: str | None
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration in force, one section per stage."""

    home: Path
    discover: DiscoverSettings
    chunk: ChunkSettings
    embed: EmbedSettings
    store: StoreSettings
    publishing: PublishingSettings
    sync: SyncSettings
    serve: ServeSettings
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
