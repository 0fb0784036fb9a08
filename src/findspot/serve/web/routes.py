"""The JSON that the page asks for: each route reads its request, asks the library and shapes the answer.

First what the page works on: the engine, the project it was opened in, and its runs of indexing.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from findspot.core.errors import (
    CancelledError,
    FindspotError,
    IndexNotFoundError,
    InvalidArgumentError,
    ProjectNotDetectedError,
)
from findspot.core.log import get_logger
from findspot.core.model import IndexStatus, Progress, Query, Results, one_of
from findspot.core.paths import expanded
from findspot.core.progress import CancelToken
from findspot.core.settings import EDITORS
from findspot.engine import Engine
from findspot.graph import Graph, Node
from findspot.history.project_history import DEFAULT_LIMIT
from findspot.project import Project
from findspot.rank.roles import Role, role_of
from findspot.research.findings import DEFAULT_DEPTH, OF_A_CHANGE, Aim, Inquiry
from findspot.research.module_map import Part, folder_imports, map_folder
from findspot.serve import activity, shapes
from findspot.serve.arguments import number, query_of
from findspot.serve.history_answers import ask_history, commits_object
from findspot.serve.project_files import ownership_note, source_object
from findspot.serve.research_answers import findings_object
from findspot.serve.search_answers import full_values
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
        identities, folder = self._searchable(), Path(workspace) if workspace else self.start
        members = self.workspaces().get(folder, []) if workspace else identities.values()
        asked = self.engine.gathered(folder, [root for root, own in identities.items() if own in members])
        if asked is None:
            raise IndexNotFoundError(str(folder), "no project is indexed")
        results = asked.search(query)
        owners = [asked.members[str(hit.project)] for hit in results.hits]
        hits = tuple(replace(hit, path=hit.path.removeprefix(f"{hit.project}/")) for hit in results.hits)
        return replace(results, hits=hits), [(identities[root], root) for root in owners]


MAX_SKIPS = 2_000
"""Rows of a table that a browser lays out at once; the counts tell of all."""


MAX_ENTRIES = 200
"""Questions that a page lists."""

MAX_INSIDE = 24
"""What is hinted at inside a folder of the map before one goes there."""

Answer = Callable[[PageProjects, Request], dict[str, Any]]


class Json(JSONResponse):
    """JSON escaped to ASCII: a path of a repository may hold bytes that are not text."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def routes(page: PageProjects) -> list[Route]:
    """Return every route under `/api`; what changes something is a POST."""
    gets: dict[str, Answer] = {
        "/api/projects": _projects,
        "/api/search": _search_several,
        "/api/projects/{id}": _project,
        "/api/projects/{id}/search": _search,
        "/api/projects/{id}/file": lambda page, request: source_object(
            _asked(page, request), request.query_params.get("path", "")
        ),
        "/api/projects/{id}/skipped": _skipped,
        "/api/projects/{id}/map": _map,
        "/api/projects/{id}/imports": _imports,
        "/api/projects/{id}/dependents": _dependents,
        "/api/projects/{id}/history": _history,
        "/api/projects/{id}/dependencies": _dependencies,
        "/api/activity": _activity,
    }
    posts: dict[str, Answer] = {
        "/api/projects": _index_folder,
        "/api/projects/{id}/dependencies/search": _search,
        "/api/projects/{id}/index": _start_indexing,
        "/api/projects/{id}/delete": _delete,
        "/api/projects/{id}/cancel": _cancel_indexing,
        "/api/activity/clear": _clear_activity,
    }
    return [
        Route(path, _endpoint(page, answer), methods=[method])
        for method, table in (("GET", gets), ("POST", posts))
        for path, answer in table.items()
    ]


def hinted_error(error: FindspotError) -> dict[str, Any]:
    return shapes.ERROR(error) | {"hint": error.hint}


def _endpoint(page: PageProjects, answer: Answer) -> Callable[[Request], Response]:
    """Return a plain function: starlette runs it in a thread, as the library wants it."""

    def respond(request: Request) -> Response:
        try:
            return Json(answer(page, request))
        except FindspotError as error:
            wrong = 400 if error.code.startswith("INVALID_") else 409
            return Json(hinted_error(error), 404 if error.code.endswith("NOT_FOUND") else wrong)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            _log.exception("a request of the page failed: %s", request.url.path)
            fault = FindspotError("Findspot could not answer because of an internal error.", repr(error))
            return Json(hinted_error(fault), 500)

    return respond


def _asked(page: PageProjects, request: Request) -> Project:
    return page.project(request.path_params["id"])


def _projects(page: PageProjects, _request: Request) -> dict[str, Any]:
    here, used = page.here, activity.last_uses()
    projects, editor = page.projects(), page.engine.settings.page.editor
    return {
        "start": str(page.start),
        "home": str(Path.home()),
        "here": here.store.folder.name if here else None,
        "workspaces": [
            {"path": str(folder), "members": members} for folder, members in page.workspaces().items()
        ],
        "editor": None if editor == "none" else EDITORS.get(editor, ("your editor", editor)),
        "projects": [
            shapes.LISTED_PROJECT(status, id=identity) | _standing(page, status, used)
            for identity, status in projects
        ],
    }


def _standing(page: PageProjects, status: IndexStatus, used: Mapping[str, str]) -> dict[str, Any]:
    return {
        "lastUsed": max(used.get(status.project_path, ""), status.last_updated or "") or None,
        "languages": status.languages,
        "queryReady": status.query_ready,
        "watcherActive": status.watcher_active,
        "lastError": status.last_error,
        "run": _run_object(page, Path(status.project_path)),
    }


def _project(page: PageProjects, request: Request) -> dict[str, Any]:
    project = _asked(page, request)
    status = project.status(check_disk=request.query_params.get("disk") == "1")
    return shapes.STATUS(status) | {
        "id": request.path_params["id"],
        "createdAt": status.created_at,
        "storageBytes": status.storage_bytes,
        "parts": project.store.parts(),
        "ownership": ownership_note(project),
        "run": _run_object(page, project.root),
    }


def _run_object(page: PageProjects, root: Path) -> dict[str, Any] | None:
    run = page.runs.get(root)
    if run is None:
        return None
    done, outcome = run.progress, run.outcome
    error = outcome.exception() if outcome.done() else None
    return {
        "running": not outcome.done(),
        "progress": {"done": done.done, "total": done.total, "phase": done.phase},
        "report": outcome.result() if outcome.done() and not error else None,
        "error": hinted_error(error) if isinstance(error, FindspotError) else None,
    }


def _search(page: PageProjects, request: Request) -> dict[str, Any]:
    query = _query(request.query_params)
    return _results_object(query, _asked(page, request).search(query))


def _search_several(page: PageProjects, request: Request) -> dict[str, Any]:
    """Return what a workspace or all projects answer, the best first; each result names its project."""
    given = dict(request.query_params)
    workspace = given.pop("workspace", "")
    query = _query(given)
    results, owners = page.search_several(query, workspace)
    values = _results_object(query, results)
    for item, (identity, root) in zip(values["results"], owners, strict=True):
        item["project"] = {"id": identity, "name": root.name}
    return values


def _results_object(query: Query, results: Results) -> dict[str, Any]:
    values = full_values(results, results.hits, query.corpus)
    for item, hit in zip(values["results"], results.hits, strict=True):
        line = hit.focus or hit.span.start
        item |= {"focusLine": line, "language": hit.language, "strength": hit.strength}
    return values | {"offset": query.offset}


def _dependencies(page: PageProjects, request: Request) -> dict[str, Any]:
    """Return what a project depends on; nothing is indexed for it."""
    packages = _asked(page, request).packages
    indexed = packages.indexed()
    return {"dependencies": [p.as_dict() | {"indexed": p.label in indexed} for p in packages.listed()]}


def _skipped(page: PageProjects, request: Request) -> dict[str, Any]:
    skips = _asked(page, request).skipped(request.query_params.get("reason") or None)
    return {"skipped": list(map(shapes.SKIP, skips[:MAX_SKIPS])), "total": len(skips)}


def _map(page: PageProjects, request: Request) -> dict[str, Any]:
    under = request.query_params.get("under", "")
    with _asked(page, request).store.snapshot() as snapshot:
        at, parts = map_folder(snapshot, under)
    if not parts:
        raise InvalidArgumentError(f"No indexed file is below '{under}'.")
    return {"at": at, "parts": [_part_object(part) for part in parts]}


def _part_object(part: Part) -> dict[str, Any]:
    return {
        "path": part.path,
        "folder": part.is_folder,
        "files": part.files,
        "chunks": part.chunks,
        "code": part.code,
        "language": part.languages.most_common(1)[0][0],
        "role": role_of(f"{part.path}/" if part.is_folder else part.path),
        "inside": [each for each in part.inside.most_common(MAX_INSIDE) if each[1]],
    }


def _imports(page: PageProjects, request: Request) -> dict[str, Any]:
    """Return what imports what among the parts of a folder, and how often each reaches out of it."""
    at = request.query_params.get("under", "")
    with _asked(page, request).store.snapshot() as snapshot:
        links = folder_imports(snapshot, at)
    return {"at": at, "links": [{"from": a, "to": b, "count": n} for (a, b), n in links.most_common()]}


def _subject(graph: Graph, given: Mapping[str, str]) -> Node | None:
    """Return the definition that a passage is: the named one that begins nearest, else the one around its
    line; None for a passage outside of definitions.
    """
    path, line = given.get("path", ""), number(given, "line", 1, 1, 10**9)
    named = graph.find(f"{path}#{given['symbol']}") if given.get("symbol") else []
    here = [node for node in named if node.path == path] or graph.find(f"{path}:{line}")
    here = [node for node in here if node.path == path]
    return min(here, key=lambda node: abs(node.start_line - line), default=None)


def _dependents(page: PageProjects, request: Request) -> dict[str, Any]:
    """Return what calls the definition that a passage is, its tests, or what a change of it reaches."""
    project, given = _asked(page, request), request.query_params
    with project.reader() as reader:
        node = _subject(Graph(reader.snapshot), given)
    symbol = f"{node.path}:{node.start_line}" if node else given.get("path", "")
    relation = one_of(Aim, "relation", given.get("relation", ""))
    if relation is Aim.CALLERS and node is None:
        relation = Aim.IMPORTERS
    depth = DEFAULT_DEPTH if relation in OF_A_CHANGE else 1
    found = project.research(Inquiry(relation=relation, symbol=symbol, depth=depth))
    values = findings_object(found)
    for item in values["nodes"]:
        item |= {
            "name": found.names.get(item["id"], item["name"]),
            "test": role_of(item["path"]) is Role.TEST,
        }
    return values | {"subject": (node.qualified or node.name) if node else None}


def _history(page: PageProjects, request: Request) -> dict[str, Any]:
    text = request.query_params.get("q", "").strip()
    return commits_object(ask_history(_asked(page, request), text, DEFAULT_LIMIT))


def _start_indexing(page: PageProjects, request: Request) -> dict[str, Any]:
    project, asked = _asked(page, request), request.query_params
    page.start_run(project, force=asked.get("force") == "1", allow_large=asked.get("large") == "1")
    return {"run": _run_object(page, project.root)}


def _index_folder(page: PageProjects, request: Request) -> dict[str, Any]:
    """Index a folder of this machine. Only the user can ask for it: the guard lets nobody else in."""
    project = page.project_at(request.query_params.get("path", ""))
    page.start_run(project, force=False, allow_large=False)
    return {"id": project.store.folder.name, "run": _run_object(page, project.root)}


def _delete(page: PageProjects, request: Request) -> dict[str, Any]:
    page.delete(request.path_params["id"])
    return {"status": "success"}


def _cancel_indexing(page: PageProjects, request: Request) -> dict[str, Any]:
    if run := page.runs.get(_asked(page, request).root):
        run.cancel.cancel()
    return {"status": "success"}


def _activity(_page: PageProjects, request: Request) -> dict[str, Any]:
    given = request.query_params
    every = activity.entries()
    project, client = given.get("project") or "", given.get("client") or ""
    matching = activity.entries(project=project, client=client) if project or client else every
    return {
        "recording": activity.recording(),
        "summary": activity.summary(matching),
        "projects": Counter(entry.project for entry in every).most_common(),
        "clients": Counter(entry.client for entry in every).most_common(),
        "activity": list(map(shapes.ACTIVITY, matching[:MAX_ENTRIES])),
    }


def _clear_activity(page: PageProjects, request: Request) -> dict[str, Any]:
    activity.clear()
    return _activity(page, request)


_SHORT = {"q": "query", "path": "path_filter", "tests": "include_tests", "similar": "similar_to"}
"""How the page's addresses name options of a search."""


def _query(given: Mapping[str, str]) -> Query:
    """Return a search, with the signals behind each rank."""
    return query_of({_SHORT.get(name, name): value for name, value in given.items()}, explain=True)
