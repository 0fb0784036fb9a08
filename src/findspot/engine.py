"""The library's front door: projects by path, and everything that is shared between them.

>>> from findspot import Engine
>>> engine = Engine()
>>> project = engine.project("path/to/project")
>>> project.update().total_files
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from findspot.core.config import configured_roots, load_settings
from findspot.core.errors import FindspotError, ProjectNotDetectedError
from findspot.core.log import get_logger
from findspot.core.model import IndexState, IndexStatus
from findspot.core.paths import home_folder, index_folder, is_folder, project_root, restrict_home
from findspot.core.settings import EmbedSettings, Settings
from findspot.discover.checkouts import (
    by_name,
    find_root,
    folders_around,
    holds_code,
    projects_in,
    repositories_in,
)
from findspot.embed.embedder import Embedder
from findspot.embed.provider_registry import OpenModels
from findspot.index_folders import covering_root, known_repositories, list_indexes
from findspot.project import Project
from findspot.workspace import KnownWorkspaces, Workspace

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import Catalogue
    from findspot.catalogue.server_pool import ServerPool
    from findspot.chunkfiles.searcher import ProjectChunks
    from findspot.documents.named_indexes import NamedIndexes

_log = get_logger("engine")

_FIRST_ANSWER_S = 1.0
"""Whoever opens a project has a question: it is answered before the whole index is compared with the disk."""


class Engine:
    """Everything one process needs; its projects are opened once and kept."""

    def __init__(
        self,
        flags: dict[str, object] | None = None,
        *,
        watching: bool = False,
    ) -> None:
        """With `watching`, each project that is opened is kept fresh, unless its settings say no."""
        restrict_home(home_folder())
        self._flags = flags or {}
        self._watching = watching
        self._projects: dict[Path, Project] = {}
        self._unwatched: set[Path] = set()
        """Open projects that are to be kept fresh, and are not yet."""
        self._catalogues: dict[Path, Catalogue] = {}
        self._servers: dict[asyncio.AbstractEventLoop, ServerPool] = {}
        self._guard = threading.Lock()
        self._models = OpenModels()
        self._documents: NamedIndexes | None = None
        self._chunks: dict[Path, ProjectChunks] = {}

    @property
    def settings(self) -> Settings:
        """The configuration of the machine, without any project's."""
        return load_settings(flags=self._flags)

    def project(self, path: str | Path) -> Project:
        """Return the project whose root is exactly this folder."""
        is_known = path in self._projects and is_folder(path)
        root = Path(path) if is_known else project_root(path)
        with self._guard:
            project = self._projects.get(root)
            if project is None:
                project = self._projects[root] = Project(root, self._flags, self.embedder)
                if self._watching:
                    self._unwatched.add(root)
            is_unwatched = root in self._unwatched
            self._unwatched.discard(root)
        if is_unwatched:
            self._begin_watching(project)
        return project

    def _begin_watching(self, project: Project) -> None:
        """Keep a project fresh; where that fails, whoever asks for the project again tries it again.

        The project is returned all the same: a damaged index is repaired by whoever asks it something.
        """
        try:
            if project.settings.sync.watch and project.index.has_files:
                project.watch(delay_s=_FIRST_ANSWER_S)
        except FindspotError as error:
            _log.warning("%s is not watched yet: %s", project.root, error.developer_message)
            with self._guard:
                self._unwatched.add(project.root)
        with self._guard:
            is_open = self._projects.get(project.root) is project
        if not is_open:  # closed meanwhile
            project.unwatch()

    def embedder(self, provider: str, settings: EmbedSettings | None = None) -> Embedder:
        """Return the one open model of that provider."""
        return self._models(provider, settings or self.settings.embed)

    @property
    def documents(self) -> NamedIndexes:
        """The named full-text indexes: those of this process and those on disk."""
        with self._guard:
            if self._documents is None:
                from findspot.documents.named_indexes import NamedIndexes  # few ask for these

                settings = self.settings
                folder = settings.home / "documents"
                self._documents = NamedIndexes(folder, settings.documents.max_memory_bytes)
            return self._documents

    def chunks(self, path: str | Path) -> ProjectChunks:
        """Return the chunks of the project at a folder: of its chunk files, or of its index."""
        from findspot.chunkfiles.searcher import ProjectChunks

        project = self.project(path)
        with self._guard:
            if project.root not in self._chunks:
                self._chunks[project.root] = ProjectChunks(
                    project.root,
                    lambda: project.store,
                    lambda: project.settings,
                    lambda: project.roots,
                    self.embedder,
                )
            return self._chunks[project.root]

    def catalogue(self, start: str | Path = ".") -> Catalogue:
        """Return the MCP tools known in a folder: those indexed for the project around it, and the user's
        own.
        """
        from findspot.catalogue.catalogue import Catalogue
        from findspot.catalogue.indexfile import INDEX_PATH

        folder = project_root(start)
        around = [f for f in folders_around(folder) if f != Path.home() and (f / INDEX_PATH).is_file()]
        root = around[0] if around else find_root(folder) or folder
        with self._guard:
            if root not in self._catalogues:
                self._catalogues[root] = Catalogue(
                    root, self.settings.home, self.embedder, lambda: self.settings.embed.provider
                )
            return self._catalogues[root]

    @property
    def servers(self) -> ServerPool:
        """The MCP servers that were started in the running event loop, which is where they can be called."""
        loop = asyncio.get_running_loop()
        with self._guard:
            if loop not in self._servers:
                from findspot.catalogue.server_pool import ServerPool  # which few ask for

                self._servers[loop] = ServerPool(self.settings.home)
            return self._servers[loop]

    def end_servers_of(self, connection: str) -> None:
        """End the MCP servers that were started for a connection."""
        if (pool := self._servers.get(asyncio.get_running_loop())) is not None:
            pool.leave(connection)

    async def end_servers(self) -> None:
        """End every MCP server that was started in the running event loop."""
        if (pool := self._servers.pop(asyncio.get_running_loop(), None)) is not None:
            await pool.aclose()

    def folder(self, path: str | Path) -> Path:
        """Return a folder that is there, in the form by which projects are known."""
        return project_root(path)

    def detect(self, start: str | Path = ".") -> Project:
        """Return the project that a folder belongs to: an indexed one around it, else the nearest marker."""
        known = self._projects.get(Path(start))
        if known is not None and self.indexed_root(known.root) == known.root:
            return known  # what most calls ask: nothing has to be resolved for it again
        folder = project_root(start)
        root = self.indexed_root(folder) or find_root(folder)
        if root is None:
            raise ProjectNotDetectedError(str(folder))
        return self.project(root)

    def indexed_root(self, folder: Path) -> Path | None:
        """Return the root of the nearest index that covers a folder."""
        return covering_root(folder)

    def workspace(self, start: str | Path = ".") -> Workspace | None:
        """Return the workspace that a folder is: it holds repositories, or its configuration names members.

        Around a project it is the one that the project is a member of. None where there is none.
        """
        folder = project_root(start)
        marked = find_root(folder)
        root = self.indexed_root(folder) or marked
        known = self.known_workspaces
        if root is None or (root == folder != marked and (folder in known or self._is_empty(root))):
            return self.gathered(folder, self._members(folder))
        if named := self._named_members(root):
            return self.gathered(root, (root, *named), here=root)
        around = known.around(root)
        found = self._members(around) if around else ()
        return self.gathered(around, found, here=root) if around and root in found else None

    def _members(self, folder: Path) -> tuple[Path, ...]:
        """Return the repositories in a folder, its own code beside a single one, and the members it names."""
        found = [] if Path.home().is_relative_to(folder) else repositories_in(folder)
        own = [folder] if len(found) == 1 and holds_code(folder) else []
        return (*found, *own, *self._named_members(folder))

    def _is_empty(self, root: Path) -> bool:
        with contextlib.suppress(FindspotError), self.project(root).store.snapshot() as snapshot:
            return not snapshot.files.counts()
        return False

    def gathered(self, folder: Path, roots: Iterable[Path], here: Path | None = None) -> Workspace | None:
        """Return some projects as a workspace, asked from inside one of them; None where there are none."""
        if not (members := by_name(roots, folder)):
            return None
        own = next((name for name, root in members.items() if root == here), None)
        return Workspace(folder, members, self.project, lambda: self._settings_of(folder), own)

    def named(self, wanted: str) -> Workspace | None:
        """Return the indexed projects whose folders are there that a name or a glob of names means."""
        home = self.settings.home
        roots = [root for _, root in list_indexes(home) if root is not None and is_folder(root)]
        every = self.gathered(home / "published", roots)  # where `serve --from` has its folders
        return every and every.chosen(wanted)

    @cached_property
    def known_workspaces(self) -> KnownWorkspaces:
        """The workspaces that the user had indexed."""
        return KnownWorkspaces(home_folder())

    def _settings_of(self, folder: Path) -> Settings:
        if (known := self._projects.get(folder)) is not None:
            return known.settings  # it reads its files again only when they change
        return load_settings(folder, index_folder(self.settings.home, folder), self._flags)

    def _named_members(self, folder: Path) -> tuple[Path, ...]:
        """Return the members that the setting `roots` of a folder names, directly or by a folder of them."""
        named = configured_roots(folder, self._settings_of(folder))
        return tuple(project for root in named for project in projects_in(root))

    def repositories(self) -> Mapping[Path, str]:
        """Return the address of each indexed project's repository, of those that have one."""
        return known_repositories(home_folder())

    def with_id(self, identity: str) -> Project | None:
        """Return the indexed project of that id, if its folder is still there."""
        root = next(
            (root for folder, root in list_indexes(self.settings.home) if folder.name == identity), None
        )
        return self.project(root) if root is not None and is_folder(root) else None

    def projects(self, wanted: Callable[[Path], bool] = lambda _: True) -> list[tuple[str, IndexStatus]]:
        """Return every wanted project that is indexed and whose folder is still there, with its id and
        status; the one that was updated last comes first.
        """
        found = [
            (folder.name, self._status(folder, root))
            for folder, root in list_indexes(self.settings.home)
            if root is not None and wanted(root) and is_folder(root)
        ]
        return sorted(found, key=lambda entry: entry[1].last_updated or "", reverse=True)

    def opened(self) -> list[Project]:
        """Return the projects that are open in this process."""
        with self._guard:
            return list(self._projects.values())

    def close(self) -> None:
        """Close everything that was opened."""
        with self._guard:
            for project in self._projects.values():
                project.close()
            self._projects.clear()
            for catalogue in self._catalogues.values():
                catalogue.close()
            self._catalogues.clear()
            self._chunks.clear()
            if self._documents is not None:
                self._documents.close()
                self._documents = None
        self._models.close()

    def _status(self, folder: Path, root: Path) -> IndexStatus:
        """Return a project's status; one that is opened for it is closed again, as there may be hundreds."""
        with self._guard:
            known = self._projects.get(root)
        try:
            project = known or Project(root, self._flags, self.embedder)
            try:
                return project.status(check_disk=False)
            finally:
                if known is None:
                    project.close()
        except Exception as error:  # noqa: BLE001 - whatever one project fails with must not hide the others
            why = error.developer_message if isinstance(error, FindspotError) else repr(error)
            return IndexStatus(IndexState.FAILED, str(root), str(folder), last_error=why)
