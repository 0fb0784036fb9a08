"""The engine as a client sees it whose token is for some projects only.

What it has no rights to is for it as what does not exist: paths are judged by their spelling before anything
on disk is looked at, so that neither the answer nor the time it takes tells the two apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.core.paths import project_root
from findspot.serve.mcp.access import Grant, lexical

if TYPE_CHECKING:
    from findspot.core.model import IndexStatus
    from findspot.engine import Engine
    from findspot.project import Project


class AllowedEngine:
    """Only what finds projects; the rest of an engine cannot be asked for."""

    def __init__(self, engine: Engine, grant: Grant) -> None:
        self._engine = engine
        self._grant = grant

    def folder(self, path: str | Path) -> Path:
        """Return a folder of a granted project; a link that leads out of it leads nowhere."""
        named = lexical(path)
        if self._grant.covers(named) and self._grant.covers(found := project_root(named)):
            return found
        raise PathNotFoundError(str(path))

    def project(self, path: str | Path) -> Project:
        root = self.folder(path)
        if not self._grant.allows(root):
            raise PathNotFoundError(str(path))
        return self._engine.project(root)

    def indexed_root(self, folder: Path) -> Path | None:
        """Return the granted project around a folder; indexes in between are not seen."""
        from findspot.engine import covering_root

        return covering_root(folder, self._grant.allows)

    def with_id(self, identity: str) -> Project | None:
        return self._engine.with_id(identity) if self._grant.knows(identity) else None

    def projects(self) -> list[tuple[str, IndexStatus]]:
        return self._engine.projects(self._grant.allows)

    def detect(self, start: str | Path = ".") -> Project:
        """Return the granted project around a folder, else the only one that is granted."""
        root = self.indexed_root(lexical(start))
        only = [Path(status.project_path) for _, status in self.projects()] if root is None else [root]
        if len(only) != 1:
            raise InvalidArgumentError(
                "Name the project: this server has several, or none for you.",
                hint="list_projects tells which there are.",
            )
        return self._engine.project(only[0])
