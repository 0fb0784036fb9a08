"""The library's front door: projects by path, and everything that is shared between them.

>>> from findspot import Engine
>>> engine = Engine()
>>> project = engine.project("path/to/project")
>>> project.update().total_files
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from findspot.core.config import Settings, load_settings
from findspot.core.errors import ProjectNotDetectedError
from findspot.core.files import folder_bytes, read_json
from findspot.core.locks import is_locked
from findspot.core.model import IndexStatus
from findspot.core.paths import index_folder, project_root
from findspot.discover.root import find_root
from findspot.embed.protocol import Embedder
from findspot.embed.registry import open_embedder
from findspot.project import Project


class Engine:
    """Everything one process needs; its projects are opened once and kept."""

    def __init__(self, flags: dict[str, object] | None = None) -> None:
        self._flags = flags or {}
        self._projects: dict[Path, Project] = {}
        self._guard = threading.Lock()
        self._models: dict[str, Embedder] = {}
        self._models_guard = threading.Lock()

    @property
    def settings(self) -> Settings:
        """The configuration of the machine, without any project's."""
        return load_settings(flags=self._flags)

    def project(self, path: str | Path) -> Project:
        """The project whose root is exactly this folder."""
        root = project_root(path)
        with self._guard:
            if root not in self._projects:
                self._projects[root] = Project(root, self._flags, self.embedder)
            return self._projects[root]

    def embedder(self, provider: str) -> Embedder:
        """The one open model of that provider."""
        with self._models_guard:
            if provider not in self._models:
                self._models[provider] = open_embedder(provider)
            return self._models[provider]

    def detect(self, start: str | Path = ".") -> Project:
        """The project that a folder belongs to: an indexed one around it, else the nearest marker."""
        folder = project_root(start)
        for candidate in (folder, *folder.parents):
            if (index_folder(self.settings.home, candidate) / "index.sqlite").is_file():
                return self.project(candidate)
        root = find_root(folder)
        if root is None:
            raise ProjectNotDetectedError(str(folder))
        return self.project(root)

    def projects(self) -> list[tuple[str, IndexStatus]]:
        """Every indexed project whose folder is still there, with its id and status."""
        return [
            (folder.name, self.project(root).status(check_disk=False))
            for folder, root in self._indexes()
            if root is not None and root.is_dir()
        ]

    def orphans(self) -> list[tuple[Path, int]]:
        """Index folders whose project is gone or unknown, with their size; busy ones are left out."""
        return [
            (folder, folder_bytes(folder))
            for folder, root in self._indexes()
            if (root is None or not root.is_dir()) and not is_locked(folder / "writer.lock")
        ]

    def clean(self) -> list[tuple[Path, int]]:
        """Delete the orphans; returns what was deleted."""
        removed = self.orphans()
        for folder, _ in removed:
            shutil.rmtree(folder)
        return removed

    def close(self) -> None:
        with self._guard:
            for project in self._projects.values():
                project.close()
            self._projects.clear()
        with self._models_guard:
            for model in self._models.values():
                model.close()
            self._models.clear()

    def _indexes(self) -> list[tuple[Path, Path | None]]:
        """Each index folder with the project it says it is of."""
        indexes = self.settings.home / "indexes"
        if not indexes.is_dir():
            return []
        return [(folder, _project_of(folder)) for folder in sorted(indexes.iterdir()) if folder.is_dir()]


def _project_of(folder: Path) -> Path | None:
    try:
        return Path(read_json(folder / "metadata.json")["projectPath"])
    except (OSError, ValueError, KeyError, TypeError):
        return _project_in_database(folder)


def _project_in_database(folder: Path) -> Path | None:
    """An index still being built for the first time has no metadata file yet."""
    from findspot.core.errors import FindspotError
    from findspot.store.database import FILE_NAME, connect, read_meta

    try:
        db = connect(folder / FILE_NAME)
        try:
            return Path(read_meta(db)["project_path"])
        finally:
            db.close()
    except (FindspotError, KeyError):
        return None
