"""One catalogue: the project's tools and the user's, searched together and made anew."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.catalogue.build import BuildOptions, Built, Said, build
from findspot.catalogue.change import with_tools
from findspot.catalogue.indexfile import INDEX_PATH, IndexFile, parse_index, read_bytes, write_index
from findspot.catalogue.kept import State, Written, open_toolset, state_of
from findspot.catalogue.memory import recall, remember
from findspot.catalogue.model import (
    SEPARATOR,
    CatalogueCorruptError,
    SearchOptions,
    ToolDefinition,
    ToolResults,
    UnknownToolError,
)
from findspot.catalogue.modes import standard_orchestrator
from findspot.catalogue.sources import read_sources
from findspot.catalogue.toolset import ToolSet
from findspot.core.errors import FindspotError
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.paths import index_key
from findspot.embed.protocol import Embedder

if TYPE_CHECKING:
    from findspot.catalogue.follow import Follower

_log = get_logger("catalogue")

_WRITER_PATIENCE_S = 30.0


class Catalogue:
    """The tools known in one place; opened once, it follows its files."""

    def __init__(self, root: Path | None, home: Path, embedder: Callable[[str], Embedder]) -> None:
        self.root = root
        self.user_index = Path.home() / INDEX_PATH
        self.project_index = root / INDEX_PATH if root is not None else None
        self._home = home
        self._embedder = embedder
        self.orchestrator = standard_orchestrator(embedder)
        self._guard = threading.Lock()
        self._tools: ToolSet | None = None
        self._state: tuple[State | None, ...] = ()
        self._warming: threading.Thread | None = None
        self._follower: Follower | None = None

    @property
    def paths(self) -> list[Path]:
        """The index files, the project's first."""
        found = [self.project_index] if self.project_index is not None else []
        return found if self.user_index in found else [*found, self.user_index]

    def tools(self, written: Written | None = None) -> ToolSet:
        """The tools as the files have them now."""
        state = tuple(map(state_of, self.paths))
        with self._guard:
            if self._tools is None or state != self._state:
                self._tools, self._state = open_toolset(self._home, self.paths, written), state
            return self._tools

    def search(self, query: str, options: SearchOptions | None = None) -> ToolResults:
        options = options or SearchOptions()
        try:
            return self.orchestrator.search(query, self.tools(), options)
        except FileNotFoundError:  # another process replaced the set this moment
            self._forget()
            return self.orchestrator.search(query, self.tools(), options)

    def get(self, name: str) -> ToolDefinition:
        """One tool in full, by its whole name or by its own where only one server has it."""
        try:
            tools = self.tools()
            return tools.definition(_row(tools, name))
        except FileNotFoundError:
            self._forget()
            tools = self.tools()
            return tools.definition(_row(tools, name))

    def index(
        self,
        sources: Sequence[Path],
        options: BuildOptions,
        *,
        provider: str | None,
        user_wide: bool = False,
        follow: bool = True,
        said: Said = lambda _line: None,
    ) -> tuple[Path, Built]:
        """Make the project's index, or the user's, from these files; without a provider, no vectors."""
        path = self.user_index if user_wide or self.project_index is None else self.project_index
        read = read_sources(sources)
        with self._writing(path):
            embedder = self._embedder(provider) if provider is not None else None
            built = build(read, self._previous(path, options), embedder, options, said)
            written = write_index(path, built.index), built.index
            remember(self._home, path, sources, options.exclude, follow and bool(read.servers))
        self.tools(written)  # makes the arrays now, so that the first search finds them
        return path, built

    def remembered(self, *, user_wide: bool = False) -> tuple[Path, ...]:
        """The files that the index was last made from."""
        path = self.user_index if user_wide or self.project_index is None else self.project_index
        return recall(self._home, path).sources

    def warm(self) -> None:
        """Open the tools and the model in the background, so that the first search need not wait."""
        if self._warming is None:
            self._warming = threading.Thread(target=self._warm, name="warm-catalogue", daemon=True)
            self._warming.start()

    def follow(self) -> None:
        """Listen to the servers of the index files and keep their tools current, in the background."""
        from findspot.catalogue.follow import Follower

        with self._guard:
            if self._follower is None:
                self._follower = Follower(self._home, self.paths, self.replace_tools)
                self._follower.start()

    def replace_tools(self, path: Path, server: str, tools: Sequence[ToolDefinition]) -> None:
        """Give one server other tools; everything else of the file stays as it is."""
        with self._writing(path):
            data = read_bytes(path)
            if data is None:
                return
            old = parse_index(path, data)
            embedder = self._embedder(old.provider) if old.provider else None
            new = with_tools(old, server, tools, embedder, recall(self._home, path).exclude)
            if new is not None:
                write_index(path, new)
                _log.info("the tools of %s changed: %d", server, len(tools))

    def close(self) -> None:
        if self._follower is not None:
            self._follower.stop()
        self.orchestrator.close()

    def _previous(self, path: Path, options: BuildOptions) -> IndexFile | None:
        """What the file held; a damaged one is replaced."""
        try:
            data = read_bytes(path)
            return None if data is None else parse_index(path, data)
        except CatalogueCorruptError as error:
            if not options.force:
                raise
            _log.warning("%s", error.user_message)
            return None

    def _writing(self, path: Path) -> contextlib.AbstractContextManager[None]:
        return writer_lock(self._home / "catalogues" / f"{index_key(path)}.lock", _WRITER_PATIENCE_S)

    def _forget(self) -> None:
        with self._guard:
            self._tools = None

    def _warm(self) -> None:
        with contextlib.suppress(FindspotError):  # the search that needs it will say what is wrong
            tools = self.tools()
            if tools.about.provider is not None:
                self._embedder(tools.about.provider)


def _row(tools: ToolSet, name: str) -> int:
    if name in tools.rows:
        return tools.rows[name]
    ending = SEPARATOR + name
    own = [row for row, known in enumerate(tools.names) if known.endswith(ending)]
    if len(own) == 1:
        return own[0]
    raise UnknownToolError(
        name, [tools.names[row] for row in own[:5]] or get_close_matches(name, tools.names)
    )
