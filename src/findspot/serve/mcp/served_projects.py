"""What a team's server says about its projects to people and to whoever runs it: a page, and readiness."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from findspot.core.model import IndexState, IndexStatus
from findspot.core.paths import home_folder, is_folder
from findspot.index_folders import list_indexes
from findspot.serve.shapes import project_object

if TYPE_CHECKING:
    from findspot.engine import Engine

READY, PROJECTS = "/ready", "/projects"

_PAGE = Path(__file__).parent / "page"
_PAGE_FILES = {
    "/": ("projects.html", "text/html"),
    "/projects.js": ("projects.js", "text/javascript"),
    "/projects.css": ("projects.css", "text/css"),
}
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_STAMPED = ("index.sqlite", "index.sqlite-wal", "metadata.json", "damaged.json", "fingerprints.json")
_CHECK_S = 60.0
"""How long a project that nobody has written to counts as checked."""
_ANSWER_S = 1.0
"""How long one answer serves all who ask whether the server is ready: anyone may ask."""


def page_file(path: str) -> Response | None:
    """Return a file of the page; it holds no data, so that nobody needs a token to load it."""
    if path not in _PAGE_FILES:
        return None
    name, kind = _PAGE_FILES[path]
    return Response((_PAGE / name).read_bytes(), media_type=kind, headers=_PAGE_HEADERS)


def projects_answer(engine: Engine) -> dict[str, Any]:
    """Return the projects that a client may see, as the page shows them."""
    listed = [
        project_object(identity, status)
        | {"name": Path(status.project_path).name, "queryReady": status.query_ready}
        for identity, status in engine.projects()
    ]
    return {"projects": sorted(listed, key=lambda project: str(project["name"])), "total": len(listed)}


@dataclass(frozen=True, slots=True)
class _Checked:
    stamp: tuple[tuple[int, int] | None, ...]
    at: float
    failure: str | None


class Readiness:
    """Whether projects can answer; a project is looked into when its index has changed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._checked: dict[Path, _Checked] = {}
        self._answer: tuple[float, dict[Path, str | None]] | None = None

    def answer(self, engine: Engine, *, names: bool) -> JSONResponse:
        """Return 503 if no project can answer, and why some cannot; `names` says which."""
        projects = self._look(engine)
        failures = {root: why for root, why in projects.items() if why}
        ready = not failures or len(failures) < len(projects)
        content: dict[str, Any] = {"status": "ready" if ready else "not ready", "projects": len(projects)}
        if failures and names:
            content["reasons"] = [{"project": str(root), "reason": why} for root, why in failures.items()]
        elif failures:
            content["reasons"] = [f"{len(failures)} of {len(projects)} projects cannot answer"]
        return JSONResponse(content, HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE)

    def _look(self, engine: Engine) -> dict[Path, str | None]:
        with self._guard:
            now = self._clock()
            if self._answer is None or now - self._answer[0] > _ANSWER_S:
                indexes = list_indexes(home_folder())
                there = {root: folder for folder, root in indexes if root is not None and is_folder(root)}
                self._checked = {root: self._check(engine, root, there[root], now) for root in there}
                self._answer = now, {root: checked.failure for root, checked in self._checked.items()}
            return self._answer[1]

    def _check(self, engine: Engine, root: Path, folder: Path, now: float) -> _Checked:
        stamp = tuple(_stamp(folder / name) for name in _STAMPED)
        known = self._checked.get(root)
        if known is not None and known.stamp == stamp and now - known.at < _CHECK_S:
            return known
        statuses = [status for _, status in engine.projects(lambda wanted: wanted == root)]
        return _Checked(stamp, now, next(filter(None, map(_failure, statuses)), None))


def _failure(status: IndexStatus) -> str | None:
    """Return why a project cannot answer; None if it can, be it that it has no files."""
    if status.query_ready or status.state is IndexState.READY:
        return None
    return status.last_error or f"its index is {status.state}"


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
