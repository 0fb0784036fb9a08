"""The findings of research as structured values and as a report, each within a number of tokens."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

from findspot.graph.values import FLOOR
from findspot.rank.roles import Role, reading_order, role_of
from findspot.research.findings import (
    FORWARD,
    Aim,
    Citation,
    Findings,
    FoundEdge,
    FoundNode,
    Region,
)
from findspot.research.graph_walks import MOST_CHAINS as MOST_FOUND
from findspot.research.impact import CERTAIN
from findspot.search.token_budget import CHARS_PER_TOKEN, MIN_TOKENS, token_count
from findspot.serve.context_answers import PASSAGE, context_text, fitted_regions
from findspot.serve.search_answers import encoded
from findspot.serve.shapes import MADE_BY, Shape, known
from findspot.text.snippet import cut

_SHARE = 3
"""The question and the summary may each take one third of a short answer."""
_WHOLE = 40_000
"""Tokens: enough for every region with all of its code."""
_LINE_CHARS = 200
_LEAN_TOKENS = 1_200
"""A structured answer about a relation, if it is longer, says each fact once and nothing that is usual."""
MOST_CHAINS = 10
"""Written out; the lines say the same, step by step."""
_LABELS = {
    "call": "calls",
    "import": "imports",
    "inherit": "inherits",
    "override": "overrides",
    "decorate": "is decorated with",
    "type_use": "uses",
    "value": "passes",
}
_MARKED = {"decorate": " (as a decorator)", "value": " (as a value)", "type_use": " (as a type)"}
"""What is said of a line whose relation is not the one that was asked for."""
_LIKELY, _DISPATCHED, _TESTS = "Likely", "Through a method that it overrides", "Tests"


FINDINGS = Shape(
    {
        "query": str,
        "depth": int,
        "focus? relation? summary": str,
        "nodes": [{"id name kind path": str, "startLine endLine hop": int, "why?": str}],
        "edges": [
            {"from=source to=target relation path": str, "line": int, "confidence": float, "text?": str}
        ],
        "possible?": [
            {"path": str, "line": int, "from=source reason": str, "confidence": float, "text": str}
        ],
        "chains": [[str]],
        "passages?": [PASSAGE],
        "files": [str],
        "citations": [{"path": str, "line": int, "text": str}],
        "relatedTopics unresolved": [str],
        "madeBy": MADE_BY,
    }
)


def findings_object(findings: Findings, passages: Sequence[Region] = ()) -> dict[str, Any]:
    """Return the structured answer of `code_research`, with every field."""
    values = FINDINGS(findings, passages=list(map(PASSAGE, passages)), relatedTopics=[])
    return values | known(warning=findings.warning)


def report(findings: Findings) -> str:
    """Return the findings as text: the answer first, then how it is known."""
    if findings.context is not None:
        return context_text(findings.context, _WHOLE)
    return "\n".join(_lines(findings))


def report_line(findings: Findings) -> str:
    """Return the text of an answer whose structured content is read as well: how its summary begins."""
    return cut(findings.summary.strip().partition("\n")[0], _LINE_CHARS)


def _lines(findings: Findings) -> Iterator[str]:
    yield findings.summary
    if findings.relation is Aim.TESTS:
        yield from _test_lines(findings)
    elif findings.relation not in (None, Aim.PATH):
        yield from _edge_lines(findings)
    elif findings.nodes:
        yield from ("", "Found, by hop")
        yield from (f"  {node.hop}  {_placed(findings, node)}" for node in findings.nodes)
    left = [place for place in findings.possible if place.confidence >= FLOOR]
    unsure = [place for place in findings.possible if place.confidence < FLOOR]
    for title, places in (("Left behind", left), ("Possibly", unsure)):
        if places:
            yield from ("", title)
        for place in places:
            yield f"  {place.path}:{place.line}  {place.source}: {place.text} ({place.reason})"
    yield from _chain_lines(findings)
    if findings.relation in (None, Aim.PATH):
        every: tuple[Citation | FoundEdge, ...] = (*findings.citations, *findings.edges)
        quoted = [each for each in every if each.text]
        yield from ("", "Lines") if quoted else ()
        yield from dict.fromkeys(f"  {each.path}:{each.line}  {each.text}" for each in quoted)
    if findings.unresolved:
        yield from ("", "Not followed", *(f"  {text}" for text in findings.unresolved))
    if findings.warning:
        yield from ("", findings.warning)


def _placed(findings: Findings, node: FoundNode) -> str:
    name = _name(findings, node.id)
    if name == node.path:
        return f"{node.path}  {node.kind}"
    return f"{name}  {node.kind}  {node.path}:{node.start_line}-{node.end_line}"


def _test_lines(findings: Findings) -> Iterator[str]:
    """Yield the test files by rank, each with its functions."""
    yield ""
    for node in findings.nodes:
        if node.kind == "file":
            yield f"{node.path}  ({node.why})"
        else:
            yield f"  {node.start_line}  {_name(findings, node.id)}  ({node.why})"


def _edge_lines(findings: Findings) -> Iterator[str]:
    """Yield the references by hop; those of a change also by doubt, and tests last."""
    groups: dict[str, list[tuple[FoundEdge, bool]]] = {}
    for hop, edges in _by_hop(findings):
        alone = len({_name(findings, node.id) for node in findings.nodes if node.hop == hop - 1}) == 1
        for edge in edges:
            title = f"Hop {hop}" if hop > 1 else ""
            if findings.relation is Aim.IMPACT:
                title = _impact_group(edge) or title or "Direct"
            groups.setdefault(title, []).append((edge, alone))
    last = (_LIKELY, _DISPATCHED, _TESTS)
    for title in sorted(groups, key=lambda title: last.index(title) if title in last else -1):
        yield from ("", title) if title else ("",)
        for path, inside in groupby(groups[title], key=lambda each: each[0].path):
            yield path
            yield from (_line(findings, edge, alone=alone) for edge, alone in inside)


def _line(findings: Findings, edge: FoundEdge, *, alone: bool) -> str:
    """Return a line of the code, with who stands there and, where that is not clear, what it leads to."""
    source, target = _name(findings, edge.source), _name(findings, edge.target)
    text = edge.text
    if findings.relation is Aim.IMPACT:
        who = "" if source == edge.path else f"{source} "
        who += f"{_LABELS.get(edge.relation, edge.relation)} {target}"
    elif alone:
        who = target if findings.relation in FORWARD else source
    else:
        who = f"{source} → {target}"
    if who == edge.path:  # the file itself, which stands above
        return f"  {edge.line}  {text}{_mark(findings, edge)}"
    return f"  {edge.line}  {who}{': ' if text else ''}{text}{_mark(findings, edge)}"


def _mark(findings: Findings, edge: FoundEdge) -> str:
    if findings.relation is Aim.IMPACT:
        return ""
    unsure = f" (confidence {edge.confidence})" if edge.confidence < FLOOR else ""
    return unsure + (_MARKED.get(edge.relation, "") if findings.relation in (Aim.CALLERS, Aim.USES) else "")


def _impact_group(edge: FoundEdge) -> str:
    """Return where a test or a reference in doubt is listed; nothing for one that is certain."""
    if role_of(edge.path) is Role.TEST:
        return _TESTS
    if edge.confidence < CERTAIN:
        return _DISPATCHED if edge.confidence < FLOOR else _LIKELY
    return ""


def _chain_lines(findings: Findings) -> Iterator[str]:
    """Yield the chains with what each step is; the step that most chains have is said once."""
    longer = 1 if findings.relation in (None, Aim.PATH) else 2
    chains = [chain for chain in findings.chains if len(chain) > longer]
    if not chains:
        return
    steps = {(edge.source, edge.target): edge.relation for edge in findings.edges}
    usual = _LABELS[Counter(steps.values()).most_common(1)[0][0] if steps else "call"]
    count = f"{len(chains)}{' or more' * (len(chains) == MOST_FOUND)}"
    more = f", {MOST_CHAINS} of {count}" if len(chains) > MOST_CHAINS else ""
    yield from ("", f"Chains (→ {usual}{more})")
    for chain in chains[:MOST_CHAINS]:
        text = _name(findings, chain[0])
        for near, far in pairwise(chain):
            relation = steps.get((near, far), "call")
            is_down = relation == "override" and findings.relation in (Aim.PATH, None)
            label = "overridden by" if is_down else _LABELS.get(relation, relation)
            text += f" → {_name(findings, far)}" if label == usual else f" → {label} {_name(findings, far)}"
        yield f"  {text}"


def _by_hop(findings: Findings) -> Iterator[tuple[int, list[FoundEdge]]]:
    """Yield the edges by the hop that they reach, production code first; a line once."""
    reached: dict[int, dict[tuple[str, str, str, int], FoundEdge]] = {}
    for _, far, edge in findings.steps():
        place = edge.source, edge.target, edge.path, edge.line
        reached.setdefault(max(far.hop, 1), {})[place] = edge
    for hop in sorted(reached):
        first: dict[str, int] = {}
        for edge in reached[hop].values():
            first.setdefault(edge.path, len(first))
        yield hop, sorted(reached[hop].values(), key=lambda e: (reading_order(e.path), first[e.path], e.line))


def _name(findings: Findings, node_id: str) -> str:
    return findings.names.get(node_id, node_id)


def fitted_report(findings: Findings, max_tokens: int) -> str:
    if findings.context is not None:
        return context_text(findings.context, max_tokens)
    return report(_fitted(findings, max_tokens, report))


def fitted_findings(
    findings: Findings, max_tokens: int | None = None, *, full: bool = False
) -> dict[str, Any]:
    """Return the structured answer within the limit, measured as the JSON that carries it.

    A long answer about a relation is lean, whatever the limit, unless it is to be full.
    """
    limit = sys.maxsize if max_tokens is None else max_tokens
    findings = replace(findings, query=cut(findings.query, min(limit * CHARS_PER_TOKEN // _SHARE, 1_000)))
    if findings.context is not None:
        short = _fitted(
            findings, max(limit // 2, MIN_TOKENS // 2), lambda part: encoded(findings_object(part))
        )
        room = (limit - token_count(encoded(findings_object(short))) - 10) * CHARS_PER_TOKEN
        return findings_object(short, fitted_regions(findings.context, min(room, _WHOLE)))
    related = findings.relation not in (None, Aim.PATH) and not full
    whole = findings_object(findings)
    if token_count(encoded(whole)) <= (min(limit, _LEAN_TOKENS) if related else limit):
        return whole
    if not related:
        return findings_object(_fitted(findings, limit, lambda part: encoded(findings_object(part))))
    return _lean(_fitted(_lines_only(findings), limit, lambda part: encoded(_lean(part))))


def _lines_only(findings: Findings) -> Findings:
    """Return the answer with the edges that the text shows alone, tests last, near before far."""
    edges = [edge for _, reached in _by_hop(findings) for edge in reached]
    edges.sort(key=lambda edge: role_of(edge.path) is Role.TEST)
    return replace(findings, edges=tuple(edges))


def _fitted(findings: Findings, max_tokens: int, render: Callable[[Findings], str]) -> Findings:
    """Return the findings with less beside what they consist of, then with as much of that as fits."""

    def fits(part: Findings) -> bool:
        return token_count(render(part)) <= max_tokens

    if fits(findings):
        return findings
    summary = cut(findings.summary, max_tokens * CHARS_PER_TOKEN // _SHARE)
    part = whole = replace(findings, summary=summary)
    for part in _smaller(whole):
        if fits(noted := _left_out(part, whole)):
            return noted
    count = _most(part, whole, fits)
    if count < sum(role_of(edge.path) is not Role.TEST for edge in whole.edges):
        part = replace(part, possible=(), unresolved=())
        count = _most(part, whole, fits)
    return _first(part, whole, count)


def _most(part: Findings, whole: Findings, fits: Callable[[Findings], bool]) -> int:
    counts = range(1, max(len(part.edges), len(part.nodes)) + 1)
    return bisect_left(counts, True, key=lambda count: not fits(_first(part, whole, count)))


def _smaller(findings: Findings) -> Iterator[Findings]:
    part = replace(findings, unresolved=tuple(cut(text, 200) for text in findings.unresolved[:3]))
    yield part
    part = replace(part, chains=part.chains[:3], possible=part.possible[:10], citations=())
    yield part
    edges = part.edges
    if part.relation in (None, Aim.PATH):
        edges = tuple(replace(edge, text="") for edge in edges)
    yield replace(part, chains=(), possible=part.possible[:5], edges=edges)


def _first(part: Findings, whole: Findings, count: int) -> Findings:
    """Return an answer with its first references and the ends of these; without any, its first nodes."""
    if part.relation not in (None, Aim.PATH, Aim.TESTS) and part.edges:
        edges = part.edges[:count]
        kept = {end for edge in edges for end in (edge.source, edge.target)}
        nodes = tuple(node for node in part.nodes if node.id in kept)
    else:
        nodes = part.nodes[:count]
        kept = {node.id for node in nodes}
        edges = tuple(edge for edge in part.edges if edge.source in kept and edge.target in kept)
    fewer = replace(
        part,
        nodes=nodes,
        edges=edges,
        chains=tuple(chain for chain in whole.chains[:3] if kept.issuperset(chain)),
    )
    return _left_out(fewer, whole)


def _left_out(part: Findings, whole: Findings) -> Findings:
    """Return a part of an answer that says how much of the whole it leaves out."""
    tests = sum(role_of(edge.path) is Role.TEST for edge in whole.edges[len(part.edges) :])
    counts = (
        (f"references ({tests} in tests)", len(part.edges), len(whole.edges)),
        ("nodes", len(part.nodes), len(whole.nodes) if not part.edges else 0),
        ("possible places", len(part.possible), len(whole.possible)),
        ("chains", len(part.chains), len(whole.chains)),
        ("open ends", len(part.unresolved), len(whole.unresolved)),
    )
    gone = ", ".join(f"{every - few} of {every} {what}" for what, few, every in counts if few < every)
    note = f"To fit max_tokens, left out: {gone}." if gone else ""
    return replace(part, warning=" ".join(filter(None, (whole.warning, note))) or None)


def _lean(findings: Findings) -> dict[str, Any]:
    """Return a structured answer of the same shape with each fact once.

    Ids are names where these are unique. A definition whose own reference is an edge is not listed as a node,
    since the edge has its name and file; files are those of the edges.
    """
    answer = findings_object(findings)
    ends = (end for edge in findings.edges for end in (edge.source, edge.target))
    every = dict.fromkeys((*(n.id for n in findings.nodes), *ends, *(n for c in findings.chains for n in c)))
    count = Counter(_name(findings, node) for node in every)
    ids = {node: name if count[name := _name(findings, node)] == 1 else node for node in every}
    listed = {(edge.source, edge.path) for edge in findings.edges}
    nodes = (node for node in answer["nodes"] if not node["hop"] or (node["id"], node["path"]) not in listed)
    return answer | {
        "nodes": [node | {"id": ids[node["id"]]} for node in nodes],
        "edges": [edge | {"from": ids[edge["from"]], "to": ids[edge["to"]]} for edge in answer["edges"]],
        "chains": [[ids[node] for node in chain] for chain in findings.chains],
        "files": [],
    }
