"""What the page looks at: the engine, the project it was opened in, and the runs it has started."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path

from findspot.core.errors import InvalidArgumentError, ProjectNotDetectedError
from findspot.core.model import IndexStatus
from findspot.engine import Engine
from findspot.project import Project
from findspot.serve.web.runs import Runs


class Workspace:
    """Projects by their ids; an id once found is not looked for again."""

    def __init__(self, engine: Engine, start: Path) -> None:
        self.engine = engine
        self.start = start
        self.runs = Runs()
        self._roots: dict[str, Path] = {}
        self._guard = threading.Lock()

    @cached_property
    def here(self) -> Project | None:
        """The project around the folder where the page was started."""
        try:
            return self.engine.detect(self.start)
        except ProjectNotDetectedError:
            return None

    def project(self, identity: str) -> Project:
        """Return the project of an id: an indexed one, or the one the page was started in."""
        with self._guard:
            root = self._roots.get(identity)
        if root is not None:
            return self.engine.project(root)
        here = self.here
        found = here if here is not None and here.store.folder.name == identity else None
        found = found or self.engine.with_id(identity)
        if found is None:
            raise InvalidArgumentError(
                "There is no project of that name any more.", identity, hint="Choose one from the list."
            )
        with self._guard:
            self._roots[identity] = found.root
        return found

    def projects(self) -> list[tuple[str, IndexStatus]]:
        """Return every project with its status; the one the page was started in comes first, indexed or
        not.
        """
        listed = dict(self.engine.projects())
        here = self.here
        if here is None:
            return list(listed.items())
        own = here.store.folder.name
        status = listed.pop(own, None) or here.status(check_disk=False)
        return [(own, status), *listed.items()]

    def close(self) -> None:
        self.runs.close()
        self.engine.close()
