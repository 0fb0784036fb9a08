"""What the page works on: the engine, the project it was opened in, and the indexing runs it has started."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from findspot.core.errors import (
    CancelledError,
    FindspotError,
    IndexNotFoundError,
    InvalidArgumentError,
    ProjectNotDetectedError,
)
from findspot.core.log import get_logger
from findspot.core.model import IndexStatus, Progress, Query, Results
from findspot.core.paths import expanded
from findspot.core.progress import CancelToken
from findspot.engine import Engine
from findspot.project import Project
from findspot.serve.shapes import COUNTS

_log = get_logger("web")

_MOST_RUNS = 8


@dataclass(slots=True)
class Run:
    outcome: Future[dict[str, Any] | None] = field(default_factory=Future)
    """What was done; nothing if it was stopped."""
    cancel: CancelToken = field(default_factory=CancelToken)
    progress: Progress = field(default_factory=lambda: Progress(0, 0, "starting"))

    def note(self, progress: Progress) -> None:
        self.progress = progress

    def work(self, project: Project, force: bool, allow_large: bool) -> dict[str, Any] | None:
        try:
            return COUNTS(
                project.update(force=force, allow_large=allow_large, progress=self.note, cancel=self.cancel)
            )
        except CancelledError:
            return None
        except FindspotError:
            raise
        except Exception as error:
            _log.exception("an indexing run of the page failed")
            raise FindspotError("Indexing stopped because of an internal error.", repr(error)) from error


class PageProjects:
    """Projects by their ids; an id once found is not looked for again."""

    def __init__(self, engine: Engine, start: Path) -> None:
        self.engine = engine
        self.start = start
        self.runs: dict[Path, Run] = {}
        """At most one run per project; the last one is remembered."""
        self._workers = ThreadPoolExecutor(_MOST_RUNS, "page-index")
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
        if root := self._roots.get(identity):
            return self.engine.project(root)
        here = (each for each in self._started_in() if each.store.folder.name == identity)
        project = next(here, None) or self.engine.with_id(identity)
        if project is None:
            raise InvalidArgumentError(
                "This project no longer exists.", identity, hint="Choose one from the list."
            )
        self._roots[identity] = project.root
        return project

    def project_at(self, given: str) -> Project:
        """Return the project of a folder that somebody typed: an index around it, or the folder itself."""
        path = expanded(given.strip())
        if not path.is_absolute():
            raise InvalidArgumentError(f"'{given}' is not a whole path.", hint="Begin with / or ~.")
        folder = self.engine.folder(path)
        if Path.home().resolve().is_relative_to(folder):
            raise InvalidArgumentError(
                f"{folder} holds your whole home folder.", hint="Choose the folder of one project."
            )
        project = self.engine.project(self.engine.indexed_root(folder) or folder)
        self._roots[project.store.folder.name] = project.root
        return project

    def start_run(self, project: Project, *, force: bool, allow_large: bool) -> None:
        with self._guard:
            known = self.runs.get(project.root)
            if known is None or known.outcome.done():
                run = self.runs[project.root] = Run()
                run.outcome = self._workers.submit(run.work, project, force, allow_large)

    def close(self) -> None:
        """Interrupt what is running, and wait for it: what is committed stays."""
        for run in list(self.runs.values()):
            run.cancel.interrupt()
        self._workers.shutdown()

    def delete(self, identity: str) -> None:
        """Delete the index of a project, unless the page is indexing it."""
        project = self.project(identity)
        run = self.runs.get(project.root)
        if run is not None and not run.outcome.done():
            raise InvalidArgumentError("This project is being indexed.", hint="Stop that first.")
        project.unwatch()
        project.delete()
        self.runs.pop(project.root, None)
        self._roots.pop(identity, None)

    def projects(self) -> list[tuple[str, IndexStatus]]:
        """Return every project with its status; those of the folder that the page was started in come
        first, indexed or not.
        """
        listed = dict(self.engine.projects())
        for identity, root in list(self._roots.items()):  # one that is not on disk yet
            if identity not in listed and root in self.runs:
                listed[identity] = self.engine.project(root).status(check_disk=False)
        first: dict[str, IndexStatus] = {}
        for project in self._started_in():
            own = project.store.folder.name
            status = listed.pop(own) if own in listed else project.status(check_disk=False)
            first[own] = status
        return [*first.items(), *listed.items()]

    def _started_in(self) -> list[Project]:
        """Return the project that the page was started in, and the other members of its workspace."""
        around = self.engine.workspace(self.start)
        members = list(map(self.engine.project, around.members.values())) if around else []
        here = [self.here] if self.here else []
        return list({project.root: project for project in (*here, *members)}.values())

    def _searchable(self) -> dict[Path, str]:
        """Return the ids of the projects that can be searched."""
        listed = self.engine.projects()
        return {Path(status.project_path): identity for identity, status in listed if status.query_ready}

    def workspaces(self) -> dict[Path, list[str]]:
        """Return the folder of each known workspace with the ids of its members that can be searched."""
        begun = self.engine.workspace(self.start)
        own = dict.fromkeys(begun.members.values(), begun.folder) if begun else {}
        found: dict[Path, list[str]] = {}
        for root, identity in self._searchable().items():
            if folder := own.get(root) or self.engine.known_workspaces.around(root):
                found.setdefault(folder, []).append(identity)
        return {folder: found[folder] for folder in sorted(found) if len(found[folder]) > 1}

    def search_several(self, query: Query, workspace: str) -> tuple[Results, list[tuple[str, Path]]]:
        """Return the merged answer of all projects, or of a workspace's, and the project of each hit."""
        identities = self._searchable()
        folder = Path(workspace) if workspace else self.start
        if workspace:
            members = self.workspaces().get(folder)
            if members is None:
                raise InvalidArgumentError(
                    "This workspace no longer exists.", workspace, hint="Choose one from the list."
                )
            identities = {root: identity for root, identity in identities.items() if identity in members}
        everything = self.engine.gathered(folder, identities)
        if everything is None:
            raise IndexNotFoundError(str(folder), "no project is indexed")
        results = everything.search(query)
        owners = [everything.members[str(hit.project)] for hit in results.hits]
        hits = tuple(replace(hit, path=hit.path.removeprefix(f"{hit.project}/")) for hit in results.hits)
        return replace(results, hits=hits), [(identities[root], root) for root in owners]
