"""How the parts of a project hang together: its folders and what imports what, a name and what calls it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from findspot.core.errors import InvalidArgumentError
from findspot.graph import Edge, Graph, Node
from findspot.project import Project
from findspot.store.records import StoredFile

MAX_EDGES = 300
"""Callers or callees that a page lists; what has more is used everywhere."""

MAX_DEFINITIONS = 50

MAX_INSIDE = 24
"""What is hinted at inside a folder of the map before one goes there."""


@dataclass(slots=True)
class Imports:
    """How often each file imports each other one, counted once a generation."""

    counts: Counter[tuple[str, str]] | None = None


@dataclass(slots=True)
class Part:
    """A folder or a file of the map, with all that is below it."""

    path: str
    is_folder: bool
    files: int = 0
    chunks: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    """Chunks of what is directly below."""


def map_object(project: Project, under: str) -> dict[str, Any]:
    """Return the folders and files directly below a folder; one that holds nothing but a folder is passed
    over.
    """
    with project.store.snapshot() as snapshot:
        files = snapshot.files.files
    at, parts = under.strip("/"), _parts(files, under.strip("/"))
    while len(parts) == 1 and (only := next(iter(parts.values()))).is_folder:
        at, parts = only.path, _parts(files, only.path)
    if not parts:
        raise InvalidArgumentError(f"No indexed file is below '{under}'.")
    listed = sorted(parts.values(), key=lambda part: (-part.chunks, part.path))
    return {"at": at, "parts": [_part_object(part) for part in listed]}


def imports_object(project: Project, at: str) -> dict[str, Any]:
    """Return what imports what among the parts below a folder, and how often each reaches out of it."""
    with project.store.snapshot() as snapshot:
        known = snapshot.memo(Imports)
        if known.counts is None:
            known.counts = Graph(snapshot).dependencies()
        pairs = known.counts
    links: Counter[tuple[str, str]] = Counter()
    for (source, target), number in pairs.items():
        ends = _child(source, at), _child(target, at)
        if ends[0] != ends[1]:
            links[ends[0] or "", ends[1] or ""] += number
    return {
        "at": at,
        "links": [{"from": a, "to": b, "count": n} for (a, b), n in links.most_common() if a or b],
    }


def calls_object(project: Project, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the definitions of a name, and of the one that is meant its callers and what it calls."""
    with project.reader() as reader:
        graph = Graph(reader.snapshot)
        found = graph.find(given.get("name", ""))[:MAX_DEFINITIONS] if given.get("name", "").strip() else []
        wanted = given.get("id")
        node = (graph.node(wanted) if wanted else None) or next(iter(found), None)
        answer: dict[str, Any] = {"definitions": [_node_object(each) for each in found], "node": None}
        if node is None:
            return answer
        callers, callees = graph.callers(node), graph.callees(node)
    return answer | {
        "node": _node_object(node),
        "callers": _edges(callers, lambda edge: edge.source),
        "callees": _edges(callees, lambda edge: edge.target),
        "totalCallers": len(callers),
        "totalCallees": len(callees),
    }


def _edges(edges: Iterable[Edge], end: Callable[[Edge], Node]) -> list[dict[str, Any]]:
    """Return one entry for each definition at that end, with its first place and how often it is meant."""
    found: dict[str, dict[str, Any]] = {}
    for edge in edges:
        node = end(edge)
        known = found.setdefault(
            node.id,
            _node_object(node)
            | {"at": edge.path, "line": edge.line, "times": 0, "confidence": edge.confidence},
        )
        known["times"] += 1
        known["confidence"] = max(known["confidence"], edge.confidence)
    return list(found.values())[:MAX_EDGES]


def _parts(files: Iterable[StoredFile], at: str) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for file in files:
        path = _child(file.path, at)
        if path is None:
            continue
        part = parts.setdefault(path, Part(path, is_folder=path != file.path))
        part.files += 1
        part.chunks += file.chunks
        part.languages[file.language] += file.chunks
        if part.is_folder:
            part.inside[file.path[len(path) + 1 :].partition("/")[0]] += file.chunks
    return parts


def _child(path: str, at: str) -> str | None:
    """Return the folder or file directly below `at` that holds a path; None for one elsewhere."""
    before = f"{at}/" if at else ""
    if not path.startswith(before):
        return None
    return before + path[len(before) :].partition("/")[0]


def _part_object(part: Part) -> dict[str, Any]:
    return {
        "path": part.path,
        "folder": part.is_folder,
        "files": part.files,
        "chunks": part.chunks,
        "language": part.languages.most_common(1)[0][0],
        "inside": part.inside.most_common(MAX_INSIDE),
    }


def _node_object(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.qualified or node.name,
        "kind": node.kind,
        "path": node.path,
        "startLine": node.start_line,
        "endLine": node.end_line,
    }
