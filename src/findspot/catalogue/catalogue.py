"""One catalogue: the project's tools and the user's, indexed and searched together.

Indexing asks the servers that changed, keeps the tools of the others, and embeds what is new.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from findspot.catalogue.indexfile import (
    DECIMALS,
    DEFAULT_DTYPE,
    INDEX_PATH,
    IndexFile,
    ServerState,
    ToolSet,
    embed_tools,
    fields,
    fingerprint,
    open_toolset,
    project_of,
    read_index,
    searchable_text,
    write_index,
)
from findspot.catalogue.search_modes import standard_orchestrator
from findspot.catalogue.server_registry import (
    CHANGED_TOOL,
    Availability,
    BuildRecord,
    ServerRegistry,
    ServerStatus,
    Standing,
    read_build_record,
    write_build_record,
)
from findspot.catalogue.server_sources import (
    NESTED_VARIABLE,
    START_TIMEOUT_S,
    MissingVariableError,
    ServerSpec,
    Sources,
    read_sources,
)
from findspot.catalogue.tool_record import (
    MAX_DESCRIPTION_CHARS,
    SEPARATOR,
    CatalogueCorruptError,
    CatalogueNotFoundError,
    IndexedTool,
    SearchMode,
    ToolDefinition,
    ToolResults,
    ToolSearchOptions,
)
from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import (
    FindspotError,
    InvalidArgumentError,
    ModelMismatchError,
    ModelUnavailableError,
    ProviderError,
)
from findspot.core.files import State, state_of
from findspot.core.locks import writer_lock
from findspot.core.paths import index_key
from findspot.core.utc_time import utc_now
from findspot.embed.embedder import Embedder
from findspot.embed.provider_registry import IN_THE_BOX, require_chosen
from findspot.text.snippet import cut

if TYPE_CHECKING:
    from findspot.catalogue.server_pool import ServerAnswer


_WRITER_PATIENCE_S = 30.0


class Outcome(StrEnum):
    INDEXED = "indexed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    REMOVED = "removed"
    NOT_AGREED = "not_agreed"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ServerReport:
    name: str
    outcome: Outcome
    tools: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class BuildOptions:
    force: bool = False
    dtype: str | None = None
    timeout_s: float = START_TIMEOUT_S
    asking: Callable[[str], None] = lambda _servers: None
    """Takes the names of the servers before they are asked."""


@dataclass(frozen=True, slots=True)
class Built:
    index: IndexFile
    servers: tuple[ServerReport, ...]
    embedded: int
    notes: tuple[str, ...]
    written: bool = True
    """False if no server answered: the file is unchanged."""
    answered: bool = True
    """Whether any server that was asked for could be indexed."""
    changed: tuple[str, ...] = ()
    """Tools that are new or changed since the user agreed to their server, and not agreed to since."""

    def named(self, *outcomes: Outcome) -> list[str]:
        return [server.name for server in self.servers if server.outcome in outcomes]


def build(
    sources: Sources,
    old: IndexFile,
    embedder: Embedder | None,
    options: BuildOptions,
    answers: Mapping[str, ServerAnswer],
    *,
    not_asked: Callable[[ServerSpec], Outcome],
    unread: Set[str] = frozenset(),
) -> Built:
    """Build an index from these sources; without an embedder it has no vectors.

    `not_asked` says why a server has no answer. Servers in `unread` are of files that cannot be read now.
    """
    dtype = options.dtype or DEFAULT_DTYPE
    if dtype not in DECIMALS:
        raise InvalidArgumentError(f"'dtype' must be one of {', '.join(DECIMALS)}, not '{dtype}'.")
    tools, states, reports = _gathered(sources, old, answers, not_asked, unread)
    notes = list(sources.notes)
    cut = [_cut(tool, notes) for tool in tools]
    indexed, embedded = index_tools(cut, old, embedder, dtype, force=options.force)
    now = utc_now()
    of = (embedder.id, embedder.revision, embedder.dimensions) if embedder else (None, "", 0)
    created_at = old.created_at or now
    index = IndexFile(tuple(indexed), of[0], of[1], of[2], dtype, created_at, now, states)
    return Built(index, tuple(reports), embedded, tuple(notes))


def _gathered(
    sources: Sources,
    old: IndexFile,
    answers: Mapping[str, ServerAnswer],
    not_asked: Callable[[ServerSpec], Outcome],
    unread: Set[str],
) -> tuple[list[ToolDefinition], dict[str, ServerState], list[ServerReport]]:
    before: dict[str, list[ToolDefinition]] = {}
    for entry in old.tools:
        before.setdefault(entry.tool.server_name, []).append(entry.tool)
    tools: list[ToolDefinition] = []
    states: dict[str, ServerState] = {}
    reports: list[ServerReport] = []

    def take(name: str, fingerprint: str, listed: Sequence[ToolDefinition], outcome: Outcome) -> None:
        states[name] = ServerState(fingerprint, len(listed), utc_now())
        tools.extend(listed)
        reports.append(ServerReport(name, outcome, len(listed)))

    def keep(name: str, outcome: Outcome, error: str | None = None) -> None:
        if name in old.servers:
            state = old.servers[name]  # without a fingerprint it is asked again
            states[name] = state if error is None else replace(state, fingerprint="")
        tools.extend(before.get(name, ()))
        reports.append(ServerReport(name, outcome, len(before.get(name, ())), error))

    for listed in sources.lists:
        name, key = listed.server_name, listed.fingerprint
        take(name, key, listed.tools, Outcome.INDEXED if _is_new(name, key, old) else Outcome.UNCHANGED)
    for spec in sources.servers:
        answer = answers.get(spec.name)
        if answer is None:
            keep(spec.name, not_asked(spec))
        elif answer.error is not None:
            keep(spec.name, Outcome.FAILED, answer.error)
        else:
            offered = [tool for tool in answer.tools if spec.offers(tool.own_name)]
            take(spec.name, spec.fingerprint, offered, Outcome.INDEXED)
    for name in sorted(before.keys() & (unread - sources.names)):
        keep(name, Outcome.UNCHANGED)
    gone = before.keys() - {report.name for report in reports}
    reports += [ServerReport(name, Outcome.REMOVED, 0) for name in sorted(gone)]
    return tools, states, reports


def _is_new(name: str, key: str, old: IndexFile) -> bool:
    return name not in old.servers or old.servers[name].fingerprint != key


def _cut(tool: ToolDefinition, notes: list[str]) -> ToolDefinition:
    size = len(tool.description)
    if size <= MAX_DESCRIPTION_CHARS:
        return tool
    notes.append(f"{tool.name}: its description of {size:,} characters was cut to {MAX_DESCRIPTION_CHARS:,}")
    return replace(tool, description=cut(tool.description, MAX_DESCRIPTION_CHARS))


def index_tools(
    tools: Sequence[ToolDefinition],
    old: IndexFile,
    embedder: Embedder | None,
    dtype: str,
    *,
    force: bool = False,
) -> tuple[list[IndexedTool], int]:
    """Return each tool once, with its words and its vector; vectors of equal fingerprints are reused."""
    unique = list({tool.name: tool for tool in reversed(tools)}.values())[::-1]
    read = [fields(tool) for tool in unique]
    model = f"{embedder.id}@{embedder.revision}/{dtype}" if embedder else ""
    keys = [fingerprint(model, tool.server_name, of) for tool, of in zip(unique, read, strict=True)]
    known = {} if force else {tool.fingerprint: tool.embedding for tool in old.tools if tool.embedding}
    new = [position for position, key in enumerate(keys) if embedder and key not in known]
    if embedder and new:
        rows = embed_tools(embedder, [unique[n].server_name for n in new], [read[n] for n in new])
        shortened = np.round(rows.astype(np.float64), DECIMALS[dtype]).tolist()
        known |= {keys[position]: tuple(row) for position, row in zip(new, shortened, strict=True)}
    entries = []
    for tool, of, key in zip(unique, read, keys, strict=True):
        vector = known[key] if embedder else None
        entries.append(IndexedTool(tool, searchable_text(of), key, vector))
    return entries, len(new)


Agree = Callable[[Sequence[ServerSpec]], Collection[ServerSpec]]
"""Takes servers that the user has not agreed to start; returns those that the user agrees to."""

AgreeToTools = Callable[[Sequence[ToolDefinition]], bool]
"""Takes tools that are new or changed since the user agreed to their servers; returns whether to agree."""


class CatalogueIndexer:
    """Writes the index files of one catalogue; one writer per file at a time."""

    def __init__(self, registry: ServerRegistry, embedder: Callable[[str], Embedder]) -> None:
        self._registry = registry
        self._home = registry.home
        self._paths = registry.indexes
        self._embedder = embedder

    def index(
        self,
        sources: Sequence[Path],
        options: BuildOptions,
        *,
        provider: str | None,
        agree: Agree = lambda _servers: (),
        agree_to_tools: AgreeToTools = lambda _tools: False,
        user_wide: bool = False,
        replace_sources: bool = False,
        refresh: bool = True,
    ) -> tuple[Path, Built]:
        """Add these files to the project's index, or to the user's; without a provider, without vectors.

        Files of earlier runs stay part of it unless `replace_sources` is set; without `sources`, they are
        read again. `agree` gets the servers that the user has not agreed to start, and returns those to
        start. If no server answers, the index is not written. Servers whose entry is new or changed are
        asked, and with `refresh` those of the named files.
        """
        from findspot.catalogue.server_pool import ask_servers  # needs the MCP SDK

        path = self._paths[-1 if user_wide else 0]
        with self._writing(path):
            last = read_build_record(self._home, path)
            added = self._registry.added(path).path
            first = [added, *sources] if added.exists() else sources
            read, missing = _read_all(first, {} if replace_sources else last.files, project_of(path))
            read = self._registry.in_workspace(path, read)
            named = {name for file in sources for name in read.files.get(file, ())}
            asked_for = named & read.names if sources else read.names
            if not asked_for:
                raise _nothing_named(path, sources or [f for f in last.files if f not in missing], read.notes)
            lacking = self._registry.lacking(read.servers)
            if accepted := agree(lacking) if lacking else ():
                self._registry.agreements.add(accepted)
            embedder = self._embedder(provider) if provider is not None else None
            try:
                old = read_index(path)
            except CatalogueCorruptError:
                if not options.force:
                    raise
                old = IndexFile()
            asked = [
                spec
                for spec in filter(self._registry.is_usable, read.servers)
                if options.force
                or (refresh and spec.name in asked_for)
                or _is_new(spec.name, spec.fingerprint, old)
                or not self._registry.agreements.knows_tools(spec)
            ]
            if asked:
                options.asking(", ".join(spec.name for spec in asked))
            answers = ask_servers(asked, options.timeout_s) if asked else {}
            unread = {name for names in missing.values() for name in names}
            built = build(read, old, embedder, options, answers, not_asked=self._not_asked, unread=unread)
            errors = {server.name: server.error for server in built.servers if server.error}
            done = set(built.named(Outcome.INDEXED, Outcome.UNCHANGED, Outcome.DISABLED))
            built = replace(built, answered=bool(done & asked_for))
            files = {file: names for file, names in {**missing, **read.files}.items() if file != added}
            if not built.answered and not built.named(Outcome.INDEXED):
                # Servers that the user agreed to and that did not answer are known from now on.
                tried = {file: names for file, names in files.items() if errors.keys() & set(names)}
                record = replace(last, files={**last.files, **tried}, errors=errors)
                write_build_record(self._home, path, record)
                return path, replace(built, written=False)
            built = replace(built, changed=self._agreed_tools(read, built, agree_to_tools))
            write_index(path, built.index)
            asked_now = {name: answer.offers for name, answer in answers.items()}
            offers = {name: of for name, of in {**last.offers, **asked_now}.items() if name in done}
            write_build_record(self._home, path, BuildRecord(files, provider, errors, offers))
        return path, built

    def index_new(self, index: Path, provider: str | None, options: BuildOptions) -> Built:
        """Ask the servers that are new or changed, as the last run did, for their tools."""
        provider = read_build_record(self._home, index).provider if index.is_file() else provider
        user_wide = index == self._paths[-1]
        return self.index([], options, provider=provider, user_wide=user_wide, refresh=False)[1]

    def remembered(self, *, user_wide: bool = False) -> tuple[Path, ...]:
        return tuple(read_build_record(self._home, self._paths[-1 if user_wide else 0]).files)

    def _not_asked(self, spec: ServerSpec) -> Outcome:
        known = {Availability.DISABLED: Outcome.DISABLED, Availability.AGREED: Outcome.UNCHANGED}
        return known.get(self._registry.availability(spec), Outcome.NOT_AGREED)

    def _agreed_tools(self, sources: Sources, built: Built, agree: AgreeToTools) -> tuple[str, ...]:
        """Remember the tools that servers list first; return the later ones that the user does not agree to.

        A server that was not asked now says nothing: anyone may have written the index file.
        """
        agreements, answered = self._registry.agreements, built.named(Outcome.INDEXED)
        changed: list[tuple[ServerSpec, list[ToolDefinition]]] = []
        for spec in filter(agreements.holds, sources.servers):
            tools = [tool.tool for tool in built.index.tools if tool.tool.server_name == spec.name]
            if agreements.knows_tools(spec):
                others = [tool for tool in tools if agreements.standing(spec, tool) is Standing.CHANGED]
                changed.append((spec, others))
            elif spec.name in answered:
                agreements.agree_to_tools(spec, tools)
        named = [tool for _, tools in changed for tool in tools]
        if not named or not agree(named):
            return tuple(tool.name for tool in named)
        for spec, tools in changed:
            agreements.agree_to_tools(spec, tools)
        return ()

    def remove_server(self, path: Path, server: str) -> None:
        """Remove the tools of one server; the file, and the folders made for it, go with the last one."""
        with self._writing(path):
            record = read_build_record(self._home, path)
            files = {file: tuple(n for n in names if n != server) for file, names in record.files.items()}
            files = {file: names for file, names in files.items() if names or file.exists()}
            if files != record.files:
                write_build_record(self._home, path, replace(record, files=files))
            old = read_index(path)
            servers = {name: state for name, state in old.servers.items() if name != server}
            tools = tuple(tool for tool in old.tools if tool.tool.server_name != server)
            if tools or servers:
                write_index(path, replace(old, tools=tools, servers=servers, updated_at=utc_now()))
            else:
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    for folder in path.parents[: len(INDEX_PATH.parts) - 1]:
                        folder.rmdir()

    def _writing(self, path: Path) -> contextlib.AbstractContextManager[None]:
        return writer_lock(self._home / "catalogues" / f"{index_key(path)}.lock", _WRITER_PATIENCE_S)


def _read_all(
    first: Sequence[Path], earlier: Mapping[Path, tuple[str, ...]], project: Path | None
) -> tuple[Sources, dict[Path, tuple[str, ...]]]:
    """Read the first files and those of earlier runs; return also those of them that cannot be read."""
    read = read_sources(first, project=project)
    missing: dict[Path, tuple[str, ...]] = {}
    for file, names in earlier.items():
        if file in read.files:
            continue
        try:
            read = read.and_then(read_sources([file], project=project))
        except FindspotError as error:
            note = f"{error.user_message} Its tools are as they were; --replace leaves them out."
            read = read.and_then(Sources(notes=(note,)))
            missing[file] = names
    return read, missing


def _nothing_named(path: Path, files: Sequence[Path], notes: Sequence[str]) -> InvalidArgumentError:
    named = (
        f"{', '.join(map(str, files))} names no server and no tool" if files else "There is no file to read"
    )
    reasons = [f"{note.rstrip('.')}." for note in notes]
    return InvalidArgumentError(
        f"{named}. The catalogue was not changed.",
        hint=" ".join([*reasons, f"To have no catalogue, delete {path}."]),
    )


_OTHER_PROVIDER = (
    "Run `findspot tools index` to embed the tools with the provider of your settings, or use mode 'bm25'."
)

_WITHHELD = f"{CHANGED_TOOL}. Its description is shown where it is asked for by name."


class AccessState(StrEnum):
    READY = "ready"
    NOT_AGREED = "not_agreed"
    DISABLED = "disabled"
    MISSING_VARIABLE = "missing_variable"
    NEEDS_LOGIN = "needs_login"
    NO_SERVER = "no_server"
    NESTED = "nested"


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """How a tool is reached; without a server where no configuration names one."""

    state: AccessState
    spec: ServerSpec | None = None
    reason: str = ""
    hint: str = ""

    @property
    def transport(self) -> str | None:
        return None if self.spec is None else "http" if self.spec.url else "stdio"


class Catalogue:
    """The tools of a project and of the user; changes of the index files are noticed."""

    def __init__(
        self,
        root: Path | None,
        home: Path,
        embedder: Callable[[str], Embedder],
        provider: Callable[[], str] = lambda: IN_THE_BOX,
    ) -> None:
        """Open the tools of a project and its user; `provider` reads the choice in the user's settings."""
        self.root = root
        self.user_index = Path.home() / INDEX_PATH
        self.project_index = root / INDEX_PATH if root is not None else None
        self._home = home
        self._embedder = embedder
        self._provider = provider
        self.registry = ServerRegistry(home, self.paths)
        self.indexer = CatalogueIndexer(self.registry, embedder)
        self.orchestrator = standard_orchestrator(self._model)
        self._guard = threading.Lock()
        self._tools: ToolSet | None = None
        self._state: tuple[State | None, ...] = ()

    @property
    def paths(self) -> list[Path]:
        """The index files, the project's first."""
        found = [self.project_index] if self.project_index is not None else []
        return found if self.user_index in found else [*found, self.user_index]

    def tools(self) -> ToolSet:
        """Return the tools of the files in their current state."""
        state = (*map(state_of, self.paths), *self.registry.state())
        with self._guard:
            if self._tools is None or state != self._state:
                own = self.registry.own_servers()
                self._tools, self._state = open_toolset(self.paths, own), state
                self._tools.hide(self.registry.hidden(self._tools))
            return self._tools

    def servers(self) -> list[ServerStatus]:
        """Return every server with its state; also before anything is indexed."""
        try:
            return self.registry.statuses(self.tools())
        except CatalogueNotFoundError:
            return self.registry.statuses(None)

    def search(self, query: str, options: ToolSearchOptions | None = None) -> ToolResults:
        """Return the best tools for a query, with a warning about servers that were not started.

        What a server says about a tool since the user agreed to it is not repeated to an assistant.
        """
        results = self._search(query, self.tools(), options or ToolSearchOptions())
        shown = tuple(
            replace(tool, title=None, description=_WITHHELD)
            if self._is_changed(self.get(tool.name))
            else tool
            for tool in results.tools
        )
        warnings = " ".join(filter(None, (results.warning, self.registry.notice())))
        return replace(results, tools=shown, warning=warnings or None)

    def _is_changed(self, tool: ToolDefinition) -> bool:
        """Return whether a tool is new or changed since the user agreed to its server."""
        spec = self.registry.find(tool.server_name)
        return spec is not None and self.registry.agreements.standing(spec, tool) is Standing.CHANGED

    def _search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> ToolResults:
        """Search in the mode that was named, else in the best one that can be used."""
        by_words = replace(options, mode=options.mode or SearchMode.BM25)
        if options.mode is not None or tools.vectors is None:
            return self.orchestrator.search(query, tools, by_words)
        try:
            return self.orchestrator.search(query, tools, options)
        except (ModelMismatchError, ModelUnavailableError, ProviderError) as error:
            results = self.orchestrator.search(query, tools, by_words)
            reason = f"Searched by words only: {error.with_hint()}"
            return replace(results, warning=" ".join(filter(None, (reason, results.warning))))

    def get(self, name: str) -> ToolDefinition:
        """Return one tool in full, by its full name, or by its own name if only one server has it."""
        tools = self.tools()
        return tools.definition(_row(tools, name))

    def access(self, tool: ToolDefinition, environ: Mapping[str, str] = ENVIRONMENT) -> ToolAccess:
        """Return whether a tool can be called in an environment, without starting anything."""
        from findspot.catalogue.oauth import Logins  # needs the MCP SDK

        spec, server = self.registry.find(tool.server_name), f"the server {tool.server_name}"
        if spec is None:
            reason = " ".join(self.registry.problems().values()).rstrip(".")
            if gone := self.registry.removed().get(tool.server_name):
                reason = f"The entry of {server} is gone from {gone}"
            reason = reason or f"No configuration of the catalogue names {server}"
            hint = "`findspot tools index FILE` reads a configuration that names it."
            return ToolAccess(AccessState.NO_SERVER, None, reason, hint)
        for name, what in ((spec.name, server), (tool.name, "this tool")):
            if not self.registry.choices.is_enabled(name):
                hint = f"`findspot tools enable {name}` enables it."
                return ToolAccess(AccessState.DISABLED, spec, f"The user disabled {what}", hint)
        if not spec.offers(tool.own_name):
            return ToolAccess(AccessState.DISABLED, spec, f"The entry of {server} leaves out this tool")
        if not self.registry.agreements.holds(spec):
            version = "this version of " if self.registry.agreements.is_known(spec) else ""
            reason = f"The user has not agreed to start {version}{server}"
            hint = f"{spec.index_command} shows what it runs and asks."
            return ToolAccess(AccessState.NOT_AGREED, spec, reason, hint)
        if NESTED_VARIABLE in environ:
            reason = "This Findspot was started by another one, and starts no servers itself"
            return ToolAccess(AccessState.NESTED, spec, reason)
        try:
            expanded = spec.expanded(environ)
        except MissingVariableError as error:
            reason = f"The server {spec.name} cannot start: {error}"
            return ToolAccess(AccessState.MISSING_VARIABLE, spec, reason)
        if expanded.url and expanded.oauth and Logins(self.registry.home).read(expanded.url) is None:
            hint = f"`findspot tools login {spec.name}` logs in."
            return ToolAccess(AccessState.NEEDS_LOGIN, spec, f"The server {spec.name} asks for a login", hint)
        return ToolAccess(AccessState.READY, spec, CHANGED_TOOL if self._is_changed(tool) else "")

    def close(self) -> None:
        """Release the models."""
        self.orchestrator.close()

    def _model(self, provider: str) -> Embedder:
        """Open the model that an index file names, if the user chose it, whoever wrote the file."""
        if provider != IN_THE_BOX:
            named = {read_build_record(self._home, path).provider for path in self.paths}
            require_chosen(provider, provider if provider in named else self._provider(), _OTHER_PROVIDER)
        return self._embedder(provider)


def _row(tools: ToolSet, name: str) -> int:
    if name in tools.rows:
        return tools.rows[name]
    ending = SEPARATOR + name
    own = [row for row, known in enumerate(tools.names) if known.endswith(ending)]
    if len(own) == 1:
        return own[0]
    close = [tools.names[row] for row in own[:5]] or get_close_matches(name, tools.names)
    hint = f"Did you mean: {', '.join(close)}?" if close else "Search for what it does to find its name."
    raise InvalidArgumentError(f"Tool not found: {name}", hint=hint)
