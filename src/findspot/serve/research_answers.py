"""What research found, as structured values and as a report to read, each within its number of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from findspot.research.findings import Findings, FoundNode
from findspot.research.module_map import ModuleMap
from findspot.search.fit import CHARS_PER_TOKEN, token_count
from findspot.serve.search_answers import cut

if TYPE_CHECKING:
    from findspot.graph import Outline

_SHARE = 3
"""The question and the summary may each take one third of a short answer."""

_FEW = 3
"""Of topics and open ends, where there is no room for all."""


def findings_object(found: Findings) -> dict[str, Any]:
    """Return the structured answer of `code_research`."""
    answer: dict[str, Any] = {
        "query": found.query,
        "depth": found.depth,
        **({"focus": str(found.focus)} if found.focus else {}),
        "summary": found.summary,
        "nodes": [_node(node) for node in found.nodes],
        "edges": [
            {
                "from": edge.source,
                "to": edge.target,
                "relation": str(edge.relation),
                "path": edge.path,
                "line": edge.line,
                "confidence": edge.confidence,
            }
            for edge in found.edges
        ],
        "chains": [list(chain) for chain in found.chains],
        "files": list(found.files),
        "citations": [{"path": c.path, "line": c.line, "text": c.text} for c in found.citations],
        "relatedTopics": list(found.related_topics),
        "unresolved": list(found.unresolved),
        "madeBy": found.made_by,
    }
    return answer | ({"warning": found.warning} if found.warning else {})


def _node(node: FoundNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "kind": node.kind,
        "path": node.path,
        "startLine": node.start_line,
        "endLine": node.end_line,
        "hop": node.hop,
    }


def outline_object(item: Outline) -> dict[str, Any]:
    """Return a definition of a file with those inside it."""
    node = item.node
    return {
        "id": node.id,
        "name": node.name,
        "kind": node.kind,
        "startLine": node.start_line,
        "endLine": node.end_line,
        "children": [outline_object(child) for child in item.children],
    }


def module_map_object(modules: ModuleMap) -> dict[str, Any]:
    """Return the modules of a project with their layers, dependencies and cycles."""
    return {
        "modules": [
            {"name": name, "layer": number, "files": list(modules.files[name])}
            for number, layer in enumerate(modules.layers, 1)
            for name in layer
        ],
        "dependencies": [
            {"from": d.source, "to": d.target, "count": d.count, "path": d.path, "line": d.line}
            for d in modules.dependences
        ],
        "cycles": [list(cycle) for cycle in modules.cycles],
    }


def report(found: Findings) -> str:
    """Return the findings as text: the answer first, then how it is known."""
    return "\n".join(_lines(found))


def _lines(found: Findings) -> Iterator[str]:
    yield found.query
    yield ""
    yield found.summary
    if found.chains:
        yield from ("", "Chains")
        yield from (f"  {' → '.join(_called(found, node) for node in chain)}" for chain in found.chains)
    if found.nodes:
        yield from ("", "Found, by hop")
        yield from (f"  {node.hop}  {_placed(found, node)}" for node in found.nodes)
    if found.citations:
        yield from ("", "Lines")
        yield from (f"  {place.path}:{place.line}  {place.text}" for place in found.citations)
    for title, texts in (("Not followed", found.unresolved), ("See also", found.related_topics)):
        if texts:
            yield from ("", title)
            yield from (f"  {text}" for text in texts)
    if found.warning:
        yield from ("", found.warning)


def _called(found: Findings, node_id: str) -> str:
    return found.names.get(node_id, node_id)


def _placed(found: Findings, node: FoundNode) -> str:
    name = _called(found, node.id)
    if name == node.path:
        return f"{node.path}  {node.kind}"
    return f"{name}  {node.kind}  {node.path}:{node.start_line}-{node.end_line}"


def fitted_findings(found: Findings, max_tokens: int) -> dict[str, Any]:
    """Return the structured answer within the limit, measured as the JSON that carries it."""

    def rendered(part: Findings) -> str:
        return json.dumps(findings_object(part), ensure_ascii=False)

    return findings_object(_fitted(found, max_tokens, rendered))


def fitted_report(found: Findings, max_tokens: int) -> str:
    """Return the report within the limit."""
    return report(_fitted(found, max_tokens, report))


def _fitted(found: Findings, max_tokens: int, render: Callable[[Findings], str]) -> Findings:
    """Return the findings about as many of the first nodes as there is room for."""
    room = max_tokens * CHARS_PER_TOKEN // _SHARE
    found = replace(found, query=cut(found.query, min(room, 1_000)))
    if token_count(render(found)) <= max_tokens:
        return found
    found = replace(found, summary=cut(found.summary, room))
    low, high = 0, len(found.nodes) + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = token_count(render(_first(found, middle))) <= max_tokens
        low, high = (middle, high) if fits else (low, middle)
    return _first(found, low)


def _first(found: Findings, count: int) -> Findings:
    """Return the findings about the first nodes alone, saying how many there are."""
    nodes = found.nodes[:count]
    kept = {node.id for node in nodes}
    edges = tuple(edge for edge in found.edges if edge.source in kept and edge.target in kept)
    places = {(edge.path, edge.line) for edge in edges} | {(node.path, node.start_line) for node in nodes}
    said = f"To fit max_tokens: {len(found.nodes) - count} of {len(found.nodes)} nodes left out."
    return replace(
        found,
        nodes=nodes,
        edges=edges,
        chains=tuple(chain for chain in found.chains if kept.issuperset(chain)),
        citations=tuple(c for c in found.citations if (c.path, c.line) in places),
        related_topics=found.related_topics[:_FEW] if count else (),
        unresolved=tuple(cut(text, 200) for text in found.unresolved[:_FEW]) if count else (),
        warning=" ".join(filter(None, (found.warning, said))),
    )
