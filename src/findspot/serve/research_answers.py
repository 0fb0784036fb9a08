"""The findings of research as structured values, as a report and, for module maps, as a picture."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from findspot.research.findings import (
    Aim,
    Citation,
    Findings,
    FoundEdge,
    FoundNode,
    Passage,
    PossiblePlace,
)
from findspot.research.module_map import Dependence, ModuleMap
from findspot.search.token_budget import CHARS_PER_TOKEN, token_count
from findspot.serve.assistance_answers import cut
from findspot.serve.relation_answers import (
    chain_lines,
    closing_lines,
    fitted_lines,
    lean,
    lines_only,
    relation_lines,
    smaller,
)
from findspot.serve.search_answers import indented, one_line

if TYPE_CHECKING:
    from findspot.graph import Outline

_SHARE = 3
"""The question and the summary may each take one third of a short answer."""

_REST_SHARES = (0.35, 0.5)
"""Of an answer with code, for everything else; the larger one if the first chain does not fit otherwise."""

_FEW = 3
"""Of topics and open ends, where there is no room for all."""

_FIRST_PASSAGES = 4
"""That share the room for code; more are shown where it is enough."""

_PASSAGE_CHARS = (6_000, 4_000, 2_800, 2_000, 1_600, 1_300, 1_050, 850, 700, 550, 420)
"""Lengths of a passage, to take the longest that there is room for."""

_LINE_CHARS = 200

_LEAN_TOKENS = 1_200
"""A structured answer about a relation, if it is longer, says each fact once and nothing that is usual."""

_CHAR, _BOX_HEIGHT, _PAD = 7.2, 34, 14

_GAP_X, _GAP_Y, _MARGIN = 28, 86, 48

_MIN_WIDTH = 70

_ASIDE = 46
"""How far an arrow keeps to the side for each layer that it passes."""

_STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#1b2733}"
    ".box{fill:#eef4fb;stroke:#5b7ea6}.edge{fill:none;stroke:#8aa0b8}"
    ".back{fill:none;stroke:#c0563f;stroke-dasharray:5 3}"
    "@media(prefers-color-scheme:dark){text{fill:#dbe6f2}.box{fill:#1d2a38;stroke:#6d93bf}}"
)

Box = tuple[float, float, float]
"""Left, top and width."""


def findings_object(findings: Findings) -> dict[str, Any]:
    """Return the structured answer of `code_research`, with every field."""
    texts = {(cited.path, cited.line): cited.text for cited in findings.citations}
    answer: dict[str, Any] = {
        "query": findings.query,
        "depth": findings.depth,
        **({"focus": str(findings.focus)} if findings.focus else {}),
        **({"relation": str(findings.relation)} if findings.relation else {}),
        "summary": findings.summary,
        "nodes": [_node(node) for node in findings.nodes],
        "edges": [_edge(edge, texts) for edge in findings.edges],
        **({"possible": list(map(_possible, findings.possible))} if findings.possible else {}),
        "chains": [list(chain) for chain in findings.chains],
        **({"passages": [_passage(hit) for hit in findings.passages]} if findings.passages else {}),
        "files": list(findings.files),
        "citations": [
            {"path": cited.path, "line": cited.line, "text": cited.text} for cited in _other_lines(findings)
        ],
        "relatedTopics": list(findings.related_topics),
        "unresolved": list(findings.unresolved),
        "madeBy": findings.made_by,
    }
    return answer | ({"warning": findings.warning} if findings.warning else {})


def _other_lines(findings: Findings) -> list[Citation]:
    """Return the quoted lines that no edge has."""
    places = {(edge.path, edge.line) for edge in findings.edges}
    return [cited for cited in findings.citations if (cited.path, cited.line) not in places]


def _edge(edge: FoundEdge, texts: dict[tuple[str, int], str]) -> dict[str, Any]:
    text = texts.get((edge.path, edge.line))
    return {
        "from": edge.source,
        "to": edge.target,
        "relation": str(edge.relation),
        "path": edge.path,
        "line": edge.line,
        "confidence": edge.confidence,
        **({"text": text} if text else {}),
    }


def _node(node: FoundNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "kind": node.kind,
        "path": node.path,
        "startLine": node.start_line,
        "endLine": node.end_line,
        "hop": node.hop,
        **({"why": node.why} if node.why else {}),
    }


def _possible(place: PossiblePlace) -> dict[str, Any]:
    return {
        "path": place.path,
        "line": place.line,
        "from": place.source,
        "reason": place.reason,
        "confidence": place.confidence,
        "text": place.text,
    }


def _passage(hit: Passage) -> dict[str, Any]:
    return {
        "path": hit.path,
        "startLine": hit.span.start,
        "endLine": hit.span.end,
        "symbol": hit.symbol,
        "text": hit.text,
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
            | ({"late": True} if d.late else {})
            for d in modules.dependences
        ],
        "cycles": [list(cycle) for cycle in modules.cycles],
    }


def report(findings: Findings) -> str:
    """Return the findings as text: the answer first, then how it is known."""
    return "\n".join(_lines(findings))


def report_line(findings: Findings) -> str:
    """Return the text of an answer whose structured content is read as well: how its summary begins."""
    return cut(findings.summary.strip().partition("\n")[0], _LINE_CHARS)


def _lines(findings: Findings) -> Iterator[str]:
    if findings.relation not in (None, Aim.PATH):
        yield from relation_lines(findings)
        return
    yield findings.summary
    yield from chain_lines(findings)
    for hit in findings.passages:
        yield from ("", _passage_block(hit))
    if findings.passages:
        yield from _others(findings)
    elif findings.nodes:
        yield from ("", "Found, by hop")
        yield from (f"  {node.hop}  {_placed(findings, node)}" for node in findings.nodes)
    if findings.citations:
        yield from ("", "Lines")
        yield from (f"  {place.path}:{place.line}  {place.text}" for place in findings.citations)
    yield from closing_lines(findings)


def _others(findings: Findings) -> Iterator[str]:
    """Yield the definitions that are neither shown as code nor in the first sentence, a line per file."""
    shown = {(hit.path, hit.span.start) for hit in findings.passages}
    first = set(findings.chains[0]) if findings.chains else set()
    by_file: dict[str, list[str]] = {}
    for node in findings.nodes:
        if (node.path, node.start_line) not in shown and node.id not in first:
            by_file.setdefault(node.path, []).append(f"{_called(findings, node.id)}:{node.start_line}")
    if by_file:
        yield from ("", "Also")
        yield from (f"  {path}  {', '.join(names)}" for path, names in by_file.items())


def _passage_block(hit: Passage) -> str:
    head = f"{one_line(hit.path)}:{hit.span.start}-{hit.span.end}  {one_line(hit.symbol)}".rstrip()
    return f"{head}\n{indented(hit.text)}"


def _called(findings: Findings, node_id: str) -> str:
    return findings.names.get(node_id, node_id)


def _placed(findings: Findings, node: FoundNode) -> str:
    name = _called(findings, node.id)
    if name == node.path:
        return f"{node.path}  {node.kind}"
    return f"{name}  {node.kind}  {node.path}:{node.start_line}-{node.end_line}"


def fitted_findings(
    findings: Findings, max_tokens: int | None = None, *, full: bool = False
) -> dict[str, Any]:
    """Return the structured answer within the limit, measured as the JSON that carries it.

    A long answer about a relation is lean, whatever the limit, unless it is to be full.
    """
    limit = sys.maxsize if max_tokens is None else max_tokens
    room = limit * CHARS_PER_TOKEN // _SHARE
    findings = replace(findings, query=cut(findings.query, min(room, 1_000)))
    related = findings.relation not in (None, Aim.PATH) and not full
    whole = findings_object(findings)
    if token_count(_json(whole)) <= (min(limit, _LEAN_TOKENS) if related else limit):
        return whole

    def shape(part: Findings) -> dict[str, Any]:
        return lean(part, findings_object(part)) if related else findings_object(part)

    def rendered(part: Findings) -> str:
        return _json(shape(part))

    def fits(part: Findings) -> bool:
        return token_count(rendered(part)) <= limit

    if related and findings.edges:
        findings = lines_only(findings)
        if not fits(findings):
            query, summary = (cut(text, room // 2) for text in (findings.query, findings.summary))
            findings = fitted_lines(replace(findings, query=query, summary=summary), fits)
        return shape(findings)
    return shape(_fitted(findings, limit, rendered))


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False)


def fitted_report(findings: Findings, max_tokens: int) -> str:
    """Return the report within the limit."""
    return report(_fitted(findings, max_tokens, report))


def _fitted(findings: Findings, max_tokens: int, render: Callable[[Findings], str]) -> Findings:
    """Return the findings with as much detail, then with as many of the first nodes, as there is room for."""
    room = max_tokens * CHARS_PER_TOKEN // _SHARE
    findings = replace(findings, query=cut(findings.query, min(room, 1_000)))

    def fits(part: Findings) -> bool:
        return token_count(render(part)) <= max_tokens

    if fits(findings):
        return findings
    if findings.passages:
        return _with_code(findings, max_tokens, render)
    if findings.relation not in (None, Aim.PATH):
        return _fitted_relation(findings, max_tokens, fits)
    findings = _with_few_asides(replace(findings, summary=cut(findings.summary, room)))
    for quoted in (_FEW * 3, _FEW, 0):
        part = _with_citations(findings, quoted)
        if fits(part):
            return part
    count = _most_nodes(findings, fits, quoted=0)
    quoted = next((number for number in (count, _FEW) if fits(_first(findings, count, number))), 0)
    return _first(findings, count, quoted)


def _fitted_relation(findings: Findings, max_tokens: int, fits: Callable[[Findings], bool]) -> Findings:
    """Return the answer about a relation with the lines of as many first nodes as there is room for."""
    short = replace(findings, summary=cut(findings.summary, max_tokens * CHARS_PER_TOKEN // _SHARE))
    part = short
    for part in smaller(short):
        if fits(part):
            return part
    if not fits(_first(part, 1, 0)):
        part = replace(part, possible=())
    every = len(part.citations)
    return _first(part, _most_nodes(part, fits, every), every)


def _most_nodes(findings: Findings, fits: Callable[[Findings], bool], quoted: int) -> int:
    """Return how many of the first nodes there is room for, each with its quoted lines."""
    low, high = 0, len(findings.nodes) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(_first(findings, middle, quoted)) else (low, middle)
    return low


def _with_code(findings: Findings, max_tokens: int, render: Callable[[Findings], str]) -> Findings:
    """Return the findings with the code of the passages as far as there is room, and the rest short."""
    rest = replace(findings, passages=(), citations=(), related_topics=())
    forms = (rest, _without_side_steps(rest), replace(rest, edges=()))
    for share, shorter in product(_REST_SHARES, forms):
        rest = _fitted(shorter, int(max_tokens * share), render)
        if rest.chains[:1] == findings.chains[:1]:
            break

    def fits(passages: Sequence[Passage]) -> bool:
        return token_count(render(replace(rest, passages=tuple(passages)))) <= max_tokens

    first = findings.passages[:_FIRST_PASSAGES]
    for most in _PASSAGE_CHARS:
        shown = [passage.cut(most) for passage in first]
        if fits(shown):
            break
    while shown and not fits(shown):
        shown.pop()
    for number, passage in enumerate(findings.passages):  # what is left goes to the best
        for longer in (passage.cut(size) for size in _PASSAGE_CHARS if size >= most):
            if fits([*shown[:number], longer, *shown[number + 1 :]]):
                shown[number : number + 1] = [longer]
                break
    return replace(rest, passages=tuple(shown))


def _without_side_steps(findings: Findings) -> Findings:
    """Return the findings with the edges along their chains alone."""
    steps = {step for chain in findings.chains for step in pairwise(chain)}
    edges = tuple(edge for edge in findings.edges if (edge.source, edge.target) in steps)
    return replace(findings, edges=edges)


def _with_few_asides(findings: Findings) -> Findings:
    return replace(
        findings,
        related_topics=findings.related_topics[:_FEW],
        unresolved=tuple(cut(text, 200) for text in findings.unresolved[:_FEW]),
    )


def _with_citations(findings: Findings, count: int) -> Findings:
    """Return the findings with the first quoted lines alone, those of references before others."""
    places = {(edge.path, edge.line) for edge in findings.edges}
    ordered = sorted(findings.citations, key=lambda c: (c.path, c.line) not in places)
    left_out = len(ordered) - len(ordered[:count])
    note = f"To fit max_tokens: {left_out} of {len(ordered)} quoted lines left out." if left_out else None
    return replace(findings, citations=tuple(ordered[:count]), warning=_joined(findings.warning, note))


def _first(findings: Findings, count: int, quoted: int) -> Findings:
    """Return the findings about the first nodes alone, saying how many there are."""
    nodes = findings.nodes[:count]
    ids = {node.id for node in nodes}
    edges = tuple(edge for edge in findings.edges if edge.source in ids and edge.target in ids)
    places = {(edge.path, edge.line) for edge in edges} | {(node.path, node.start_line) for node in nodes}
    cited = [citation for citation in findings.citations if (citation.path, citation.line) in places]
    note = f"To fit max_tokens: {len(findings.nodes) - count} of {len(findings.nodes)} nodes left out."
    return replace(
        findings,
        nodes=nodes,
        edges=edges,
        chains=tuple(chain for chain in findings.chains if ids.issuperset(chain)),
        citations=tuple(cited[:quoted]),
        related_topics=findings.related_topics if count else (),
        unresolved=findings.unresolved if count else (),
        warning=_joined(findings.warning, note),
    )


def _joined(*sentences: str | None) -> str | None:
    return " ".join(filter(None, sentences)) or None


def draw(modules: ModuleMap) -> str:
    """Return the map as SVG; arrows lead from importer to imported, and are dashed in cycles."""
    boxes, width, height = _layout(modules)
    level = {name: number for number, layer in enumerate(modules.layers) for name in layer}
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Modules and their dependencies">'
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z" fill="#8aa0b8"/></marker></defs>'
    )
    arrows = (_arrow(boxes, d, level[d.target] - level[d.source]) for d in modules.dependences)
    return "\n".join(
        (head, f"<style>{_STYLE}</style>", marker, *arrows, *_boxes(boxes, modules), "</svg>", "")
    )


def _layout(modules: ModuleMap) -> tuple[dict[str, Box], float, float]:
    """Return each layer centred on its row."""
    rows = [[(name, _width(name)) for name in layer] for layer in modules.layers]
    lengths = [sum(width for _, width in row) + _GAP_X * (len(row) - 1) for row in rows]
    whole = max([*lengths, 0.0]) + 2 * _MARGIN
    boxes: dict[str, Box] = {}
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        left = (whole - length) / 2
        for name, width in row:
            boxes[name] = (left, _MARGIN + number * _GAP_Y, width)
            left += width + _GAP_X
    return boxes, whole, 2 * _MARGIN + max(len(rows) - 1, 0) * _GAP_Y + _BOX_HEIGHT


def _width(name: str) -> float:
    return max(_MIN_WIDTH, len(name) * _CHAR + 2 * _PAD)


def _boxes(boxes: dict[str, Box], modules: ModuleMap) -> Iterator[str]:
    for name, (left, top, width) in boxes.items():
        files = len(modules.files[name])
        middle = left + width / 2
        yield (
            f"<g><title>{escape(name)}: {files} file{'s' * (files != 1)}</title>"
            f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{_BOX_HEIGHT}" rx="6"/>'
            f'<text x="{middle:.1f}" y="{top + 21:.1f}" text-anchor="middle">{escape(name)}</text></g>'
        )


def _arrow(boxes: dict[str, Box], dependence: Dependence, levels: int) -> str:
    x1, y1, w1 = boxes[dependence.source]
    x2, y2, w2 = boxes[dependence.target]
    start, end, bend = (x1 + w1 / 2, y1 + _BOX_HEIGHT), (x2 + w2 / 2, y2), _GAP_Y / 2
    if levels <= 0:  # within a layer or upwards: out of the top, into the bottom
        start, end, bend = (x1 + w1 / 2, y1), (x2 + w2 / 2, y2 + _BOX_HEIGHT), -bend
    aside = _ASIDE * min(max(abs(levels) - 1, 0), 3) * (1 if start[0] <= end[0] else -1)
    title = f"{dependence.source} imports {dependence.target} ({dependence.count})"
    return (
        f'<path class="{"edge" if levels > 0 else "back"}" marker-end="url(#tip)" '
        f'd="M{start[0]:.1f} {start[1]:.1f}C{start[0] + aside:.1f} {start[1] + bend:.1f} '
        f'{end[0] + aside:.1f} {end[1] - bend:.1f} {end[0]:.1f} {end[1]:.1f}">'
        f"<title>{escape(title)}</title></path>"
    )
