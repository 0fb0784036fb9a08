"""One catalogue: the project's tools and the user's, searched together and made anew."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.catalogue.build import BuildOptions, Built, Earlier, Outcome, Said, build
from findspot.catalogue.change import with_tools
from findspot.catalogue.consent import Agreements
from findspot.catalogue.indexfile import INDEX_PATH, IndexFile, parse_index, read_bytes, write_index
from findspot.catalogue.kept import State, Written, open_toolset, state_of
from findspot.catalogue.memory import Remembered, recall, remember
from findspot.catalogue.model import (
    SEPARATOR,
    CatalogueCorruptError,
    SearchOptions,
    ToolDefinition,
    ToolResults,
    UnknownToolError,
)
from findspot.catalogue.modes import standard_orchestrator
from findspot.catalogue.notice import Notice
from findspot.catalogue.sources import ServerSpec, Sources, read_sources
from findspot.catalogue.toolset import ToolSet
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.locks import writer_lock
from findspot.core.log import get_logger
from findspot.core.paths import index_key
from findspot.embed.protocol import Embedder
from findspot.embed.registry import IN_THE_BOX, require_chosen

if TYPE_CHECKING:
    from findspot.catalogue.follow import Follower

_log = get_logger("catalogue")

_WRITER_PATIENCE_S = 30.0


Agree = Callable[[Sequence[ServerSpec]], Collection[ServerSpec]]
"""Given servers that the user has not agreed to start, returns those to which they agree."""

_OTHER_PROVIDER = (
    "Run `findspot tools index` to embed the tools with the provider of your settings, or use mode 'bm25'."
)


def agree_to_none(_servers: Sequence[ServerSpec]) -> Collection[ServerSpec]:
    return ()


def agree_to_all(servers: Sequence[ServerSpec]) -> Collection[ServerSpec]:
    """For callers who know what the files name."""
    return servers


class Catalogue:
    """The tools known in one place; opened once, it follows its files."""

    def __init__(
        self,
        root: Path | None,
        home: Path,
        embedder: Callable[[str], Embedder],
        provider: Callable[[], str] = lambda: IN_THE_BOX,
    ) -> None:
        """`provider` is the one that the user's settings choose."""
        self.root = root
        self.user_index = Path.home() / INDEX_PATH
        self.project_index = root / INDEX_PATH if root is not None else None
        self._home = home
        self._embedder = embedder
        self._provider = provider
        self._notice = Notice(home, self.paths)
        self.orchestrator = standard_orchestrator(self._model)
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
        """Return the tools as the files have them now."""
        state = tuple(map(state_of, self.paths))
        with self._guard:
            if self._tools is None or state != self._state:
                self._tools, self._state = open_toolset(self._home, self.paths, written), state
            return self._tools

    def search(self, query: str, options: SearchOptions | None = None) -> ToolResults:
        options = options or SearchOptions()
        try:
            found = self.orchestrator.search(query, self.tools(), options)
        except FileNotFoundError:  # another process replaced the set this moment
            self._forget()
            found = self.orchestrator.search(query, self.tools(), options)
        warnings = " ".join(filter(None, (found.warning, self.warning())))
        return replace(found, warning=warnings or None)

    def get(self, name: str) -> ToolDefinition:
        """Return one tool in full, by its whole name or by its own where only one server has it."""
        try:
            tools = self.tools()
            return tools.definition(_row(tools, name))
        except FileNotFoundError:
            self._forget()
            tools = self.tools()
            return tools.definition(_row(tools, name))

    def warning(self) -> str | None:
        """Name the servers that are new or changed in the configurations since the user agreed to them."""
        return self._notice.text()

    def index(
        self,
        sources: Sequence[Path],
        options: BuildOptions,
        *,
        provider: str | None,
        agree: Agree = agree_to_none,
        user_wide: bool = False,
        follow: bool | None = None,
        replace_sources: bool = False,
        said: Said = lambda _line: None,
    ) -> tuple[Path, Built]:
        """Bring these files into the project's index, or the user's; without a provider, without vectors.

        Files of earlier runs stay part of it unless `replace_sources` is set; without `sources` it is they
        that are read again. `agree` is given the servers that the user has not agreed to start, and returns
        those to start. Where nothing that was asked for can be indexed, nothing is written.
        """
        path = self.user_index if user_wide or self.project_index is None else self.project_index
        with self._writing(path):
            last = recall(self._home, path)
            read, missing = _read_all(sources, Remembered() if replace_sources else last)
            asked_for = _of_files(read, sources).without(options.exclude).names
            if not asked_for:
                raise _nothing_named(sources or list(last.files))
            agreements = self._agreed(read.without(options.exclude), agree)
            embedder = self._embedder(provider) if provider is not None else None
            earlier = Earlier(
                agreed=agreements.holds,
                changed=lambda spec: last.digests.get(spec.name, "") not in ("", agreements.digest(spec)),
                exclude=last.exclude,
                unread=frozenset(name for names in missing.values() for name in names),
            )
            built = build(read, self._previous(path, options), embedder, options, earlier=earlier, said=said)
            done = set(built.named(Outcome.INDEXED, Outcome.UNCHANGED))
            if not done & asked_for:
                return path, replace(built, written=False)
            written = write_index(path, built.index), built.index
            digests = {spec.name: agreements.digest(spec) for spec in read.servers if spec.name in done}
            followed = last.follow if follow is None else follow
            files = {**missing, **read.files}
            remember(self._home, path, Remembered(files, options.exclude, followed, provider, digests))
        self.tools(written)  # makes the arrays now, so that the first search finds them
        return path, built

    def remembered(self, *, user_wide: bool = False) -> tuple[Path, ...]:
        """Return the files that the index was made from."""
        path = self.user_index if user_wide or self.project_index is None else self.project_index
        return tuple(recall(self._home, path).files)

    def _agreed(self, sources: Sources, agree: Agree) -> Agreements:
        """Ask about the servers that may not be started yet, before any is."""
        agreements = Agreements(self._home)
        lacking = agreements.lacking(sources.servers)
        accepted = agree(lacking) if lacking else ()
        if accepted:
            agreements.add(accepted)
        return agreements

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
            embedder = self._model(old.provider) if old.provider else None
            new = with_tools(old, server, tools, embedder, recall(self._home, path).exclude)
            if new is not None:
                write_index(path, new)
                _log.info("the tools of %s changed: %d", server, len(tools))

    def close(self) -> None:
        if self._follower is not None:
            self._follower.stop()
        self.orchestrator.close()

    def _previous(self, path: Path, options: BuildOptions) -> IndexFile | None:
        """Return what the file held; a damaged one is replaced."""
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
                self._model(tools.about.provider)

    def _model(self, provider: str) -> Embedder:
        """Open the model that an index file names: one that the user chose, whoever wrote the file."""
        if provider != IN_THE_BOX:
            named = {recall(self._home, path).provider for path in self.paths}
            require_chosen(provider, provider if provider in named else self._provider(), _OTHER_PROVIDER)
        return self._embedder(provider)


def _read_all(sources: Sequence[Path], last: Remembered) -> tuple[Sources, dict[Path, tuple[str, ...]]]:
    """Read the named files and those of earlier runs; return also those that cannot be read any more."""
    read = read_sources(sources)
    missing: dict[Path, tuple[str, ...]] = {}
    for file, names in last.files.items():
        if file in read.files:
            continue
        try:
            read = read.and_then(read_sources([file]))
        except FindspotError as error:
            note = f"{error.user_message} Its tools are as they were; --replace leaves them out."
            read = read.and_then(Sources(notes=(note,)))
            missing[file] = names
    return read, missing


def _of_files(read: Sources, files: Sequence[Path]) -> Sources:
    """Return what the named files say; everything where none was named."""
    if not files:
        return read
    names = {name for file in files for name in read.files.get(file, ())}
    return Sources(
        tuple(spec for spec in read.servers if spec.name in names),
        tuple(listed for listed in read.lists if listed.server_name in names),
    )


def _nothing_named(files: Sequence[Path]) -> InvalidArgumentError:
    named = ", ".join(map(str, files)) or "No file"
    return InvalidArgumentError(
        f"{named} names no server and no tool that is not left out. The catalogue was not changed.",
        hint="To have no catalogue, delete its index.json.",
    )


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
