"""An answer about one relation: its text by hop and file, and its edges with each fact once."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

from findspot.graph.values import FLOOR
from findspot.rank.roles import Role, reading_order, role_of
from findspot.research.findings import FORWARD, MAX_DEPTH, Aim, Findings, FoundEdge
from findspot.research.impact import CERTAIN

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


def relation_lines(findings: Findings) -> Iterator[str]:
    """Yield the report on a relation: the answer, then how it is known."""
    yield findings.summary
    if findings.relation is Aim.TESTS:
        yield from _test_lines(findings)
    lines = {(cited.path, cited.line): cited.text for cited in findings.citations}
    by_hop = findings.relation is not Aim.IMPACT
    yield from () if by_hop else _impact_lines(findings, lines)
    for hop, edges in _by_hop(findings) if by_hop else ():
        yield from ("", f"Hop {hop}") if hop > 1 else ("",)
        before = {_name(findings, node.id) for node in findings.nodes if node.hop == hop - 1}
        for path, inside in groupby(edges, key=lambda edge: edge.path):
            yield path
            yield from (_line(findings, edge, lines, alone=len(before) == 1) for edge in inside)
    left = [place for place in findings.possible if place.confidence >= FLOOR]
    unsure = [place for place in findings.possible if place.confidence < FLOOR]
    for title, places in (("Left behind", left), ("Possibly", unsure)):
        if places:
            yield from ("", title)
        for place in places:
            yield f"  {place.path}:{place.line}  {place.source}: {place.text} ({place.reason})"
    yield from chain_lines(findings, longer_than=2)
    yield from closing_lines(findings)


def closing_lines(findings: Findings) -> Iterator[str]:
    """Yield what was not followed, what to ask next, and the warning."""
    for title, texts in (("Not followed", findings.unresolved), ("See also", findings.related_topics)):
        if texts:
            yield from ("", title)
            yield from (f"  {text}" for text in texts)
    if findings.warning:
        yield from ("", findings.warning)


def _test_lines(findings: Findings) -> Iterator[str]:
    """Yield the test files by rank, each with its functions."""
    yield ""
    for node in findings.nodes:
        if node.kind == "file":
            yield f"{node.path}  ({node.why})"
        else:
            yield f"  {node.start_line}  {_name(findings, node.id)}  ({node.why})"


def _impact_lines(findings: Findings, lines: dict[tuple[str, int], str]) -> Iterator[str]:
    """Yield the references: production code by hop, then what is in doubt, then tests."""
    groups: dict[str, list[FoundEdge]] = {}
    for hop, edges in _by_hop(findings):
        for edge in edges:
            groups.setdefault(_impact_group(edge, hop), []).append(edge)
    order = [f"Hop {hop}" if hop > 1 else "Direct" for hop in range(1, MAX_DEPTH + 1)]
    for title in (*order, _LIKELY, _DISPATCHED, _TESTS):
        if title in groups:
            yield from ("", title)
        for path, inside in groupby(groups.get(title, ()), key=lambda edge: edge.path):
            yield path
            for edge in inside:
                source, target = _name(findings, edge.source), _name(findings, edge.target)
                text = lines.get((edge.path, edge.line), "")
                who = "" if source == edge.path else f"{source} "
                label = _LABELS.get(edge.relation, edge.relation)
                yield f"  {edge.line}  {who}{label} {target}{': ' if text else ''}{text}"


def _impact_group(edge: FoundEdge, hop: int) -> str:
    if role_of(edge.path) is Role.TEST:
        return _TESTS
    if edge.confidence < FLOOR:
        return _DISPATCHED
    if edge.confidence < CERTAIN:
        return _LIKELY
    return f"Hop {hop}" if hop > 1 else "Direct"


def chain_lines(findings: Findings, longer_than: int = 1, most: int = MOST_CHAINS) -> Iterator[str]:
    """Yield the chains with what each step is; the step that most chains have is said once."""
    chains = [chain for chain in findings.chains if len(chain) > longer_than]
    if not chains:
        return
    shown = chains[:most]
    steps = {(edge.source, edge.target): edge.relation for edge in findings.edges}
    if findings.relation is None:
        doubtful = (edge for edge in findings.edges if edge.confidence < FLOOR)
        steps |= {(edge.source, edge.target): "may call" for edge in doubtful}
    usual = _LABELS[_usual_relation(findings)]
    count = max(findings.chain_count, len(chains))
    cut = f", {len(shown)} of {count}" if count > len(shown) else ""
    yield from ("", f"Chains (→ {usual}{cut})")
    for chain in shown:
        text = _name(findings, chain[0])
        for near, far in pairwise(chain):
            label = _label(findings, steps.get((near, far), "call"))
            text += f" → {_name(findings, far)}" if label == usual else f" → {label} {_name(findings, far)}"
        yield f"  {text}"


def _label(findings: Findings, relation: str) -> str:
    if relation == "override" and findings.relation in (Aim.PATH, None):
        return "overridden by"
    return _LABELS.get(relation, relation)


def _by_hop(findings: Findings) -> Iterator[tuple[int, list[FoundEdge]]]:
    """Yield the edges by the hop that they reach, production code first; a line once."""
    reached: dict[int, dict[tuple[str, str, str, int], FoundEdge]] = {}
    for _, far, edge in findings.steps():
        place = edge.source, edge.target, edge.path, edge.line
        reached.setdefault(max(far.hop, 1), {})[place] = edge
    for hop in sorted(reached):
        yield hop, sorted(reached[hop].values(), key=lambda e: (reading_order(e.path), e.path, e.line))


def _line(findings: Findings, edge: FoundEdge, lines: dict[tuple[str, int], str], *, alone: bool) -> str:
    """Return a line of the code, with who stands there and, where that is not clear, what it leads to."""
    source, target = _name(findings, edge.source), _name(findings, edge.target)
    forward = findings.relation in FORWARD
    who = target if forward else source
    if not alone:
        who = f"{source} → {target}"
    text = lines.get((edge.path, edge.line), "")
    if who == edge.path:  # the file itself, which stands above
        return f"  {edge.line}  {text}{_mark(findings, edge)}"
    return f"  {edge.line}  {who}{': ' if text else ''}{text}{_mark(findings, edge)}"


def _mark(findings: Findings, edge: FoundEdge) -> str:
    unsure = f" (confidence {edge.confidence})" if edge.confidence < 0.5 else ""
    return unsure + (_MARKED.get(edge.relation, "") if findings.relation in (Aim.CALLERS, Aim.USES) else "")


def _name(findings: Findings, node_id: str) -> str:
    return findings.names.get(node_id, node_id)


def smaller(findings: Findings) -> Iterable[Findings]:
    """Yield the answer with less beside the lines that it consists of, step by step."""
    part = replace(findings, related_topics=findings.related_topics[:3], unresolved=findings.unresolved[:3])
    yield part
    part = replace(part, related_topics=(), chains=part.chains[:3], possible=part.possible[:10])
    yield part
    yield replace(part, chains=(), possible=part.possible[:5])


def lines_only(findings: Findings) -> Findings:
    """Return the answer with the edges that the text shows alone, tests last, near before far."""
    edges = [edge for _, reached in _by_hop(findings) for edge in reached]
    edges.sort(key=lambda edge: role_of(edge.path) is Role.TEST)
    places = {(edge.path, edge.line) for edge in edges}
    cited = tuple(cited for cited in findings.citations if (cited.path, cited.line) in places)
    return replace(findings, edges=tuple(edges), citations=cited)


def fitted_lines(findings: Findings, fits: Callable[[Findings], bool]) -> Findings:
    """Return the answer with as many lines as there is room for, those of production code before all else."""
    part = findings
    for part in smaller(findings):
        if fits(noted := _left_out(part, findings)):
            return noted
    production = sum(role_of(edge.path) is not Role.TEST for edge in findings.edges)
    count = _most_lines(part, findings, fits)
    if count < production:
        part = replace(part, possible=(), unresolved=())
        count = _most_lines(part, findings, fits)
    return _with_lines(part, findings, count)


def _most_lines(part: Findings, whole: Findings, fits: Callable[[Findings], bool]) -> int:
    counts = range(1, len(part.edges) + 1)
    return bisect_left(counts, True, key=lambda count: not fits(_with_lines(part, whole, count)))


def _with_lines(part: Findings, whole: Findings, count: int) -> Findings:
    """Return the answer with its first edges, the ends of these, and their lines."""
    edges = part.edges[:count]
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    places = {(edge.path, edge.line) for edge in edges}
    fewer = replace(
        part,
        nodes=tuple(node for node in part.nodes if node.id in ends),
        edges=edges,
        chains=tuple(chain for chain in part.chains if ends.issuperset(chain)),
        citations=tuple(cited for cited in part.citations if (cited.path, cited.line) in places),
    )
    return _left_out(fewer, whole)


def _left_out(part: Findings, whole: Findings) -> Findings:
    """Return a part of an answer that says how much of the whole it leaves out."""
    tests = sum(role_of(edge.path) is Role.TEST for edge in whole.edges[len(part.edges) :])
    counts = (
        (f"references ({tests} in tests)", len(part.edges), len(whole.edges)),
        ("possible places", len(part.possible), len(whole.possible)),
        ("chains", len(part.chains), len(whole.chains)),
        ("open ends", len(part.unresolved), len(whole.unresolved)),
        ("related topics", len(part.related_topics), len(whole.related_topics)),
    )
    gone = ", ".join(f"{every - few} of {every} {what}" for what, few, every in counts if few < every)
    note = f"To fit max_tokens, left out: {gone}." if gone else ""
    return replace(part, warning=" ".join(filter(None, (whole.warning, note))) or None)


def lean(findings: Findings, answer: dict[str, Any]) -> dict[str, Any]:
    """Return a structured answer of the same shape with each fact once.

    Ids are names where these are unique. A definition whose own reference is an edge is not listed as a node,
    since the edge has its name and file; files are those of the edges.
    """
    ids = _short_ids(findings)
    listed = {(edge.source, edge.path) for edge in findings.edges}
    nodes = (node for node in answer["nodes"] if not node["hop"] or (node["id"], node["path"]) not in listed)
    ends = ({"from": ids[edge["from"]], "to": ids[edge["to"]]} for edge in answer["edges"])
    lists = {
        "nodes": [node | {"id": ids[node["id"]]} for node in nodes],
        "edges": [edge | named for edge, named in zip(answer["edges"], ends, strict=True)],
        "chains": [[ids[node] for node in chain] for chain in findings.chains],
        "files": [],
    }
    return answer | lists


def _short_ids(findings: Findings) -> dict[str, str]:
    """Return the name of each node, or its id where another node has the same name."""
    ids = dict.fromkeys(node.id for node in findings.nodes)
    ids |= dict.fromkeys(end for edge in findings.edges for end in (edge.source, edge.target))
    ids |= dict.fromkeys(node for chain in findings.chains for node in chain)
    count = Counter(_name(findings, node) for node in ids)
    return {node: name if count[name := _name(findings, node)] == 1 else node for node in ids}


def _usual_relation(findings: Findings) -> str:
    """Return what the edges of an answer are, if nothing else is said."""
    if findings.relation in (Aim.IMPLEMENTATIONS, Aim.SUPERTYPES):
        return "inherit"
    return "import" if findings.relation in (Aim.IMPORTERS, Aim.IMPORTS) else "call"
