"""One catalogue: the project's tools and the user's, searched together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

from findspot.catalogue.catalogue_build import CatalogueIndexer
from findspot.catalogue.client_configs import MissingVariableError
from findspot.catalogue.consent import CHANGED_TOOL, Standing, read_build_record
from findspot.catalogue.indexfile import INDEX_PATH, ToolSet, open_toolset
from findspot.catalogue.search_modes import standard_orchestrator
from findspot.catalogue.server_registry import ServerRegistry, ServerStatus
from findspot.catalogue.server_sources import NESTED_VARIABLE, ServerSpec
from findspot.catalogue.tool_record import (
    SEPARATOR,
    CatalogueNotFoundError,
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
from findspot.core.log import get_logger
from findspot.embed.embedder import Embedder
from findspot.embed.provider_registry import IN_THE_BOX, require_chosen

_log = get_logger("catalogue")

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
        self.indexer = CatalogueIndexer(self.registry, embedder, self._model)
        self.orchestrator = standard_orchestrator(self._model)
        self._guard = threading.Lock()
        self._tools: ToolSet | None = None
        self._state: tuple[State | None, ...] = ()
        self._learned: dict[str, tuple[ToolDefinition, ...]] = {}

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

    def learn(self, spec: ServerSpec, tools: tuple[ToolDefinition, ...]) -> None:
        """Take over in the background what a server says about its tools, if that has changed."""
        if self._learned.get(spec.name) == tools:
            return
        self._learned[spec.name] = tools
        threading.Thread(target=self._replace, args=(spec, tools), name="learn-tools").start()

    def followed(self) -> list[ServerSpec]:
        """Return the servers to follow: those agreed to that answered last, if the user wants it."""
        found: list[ServerSpec] = []
        for path in self.paths:
            record = read_build_record(self._home, path)
            if record.follow and path.exists():
                specs = (spec for spec in self.registry.servers(path) if spec.name not in record.errors)
                found += filter(self.registry.is_usable, specs)
        return found

    def close(self) -> None:
        """Release the models."""
        self.orchestrator.close()

    def _replace(self, spec: ServerSpec, tools: tuple[ToolDefinition, ...]) -> None:
        for path in self.paths:
            if spec not in self.registry.servers(path):
                continue
            try:
                self.indexer.replace_tools(path, spec.name, tools)
            except (FindspotError, OSError) as error:
                _log.warning("the new tools of %s could not be indexed: %s", spec.name, error)

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
