"""Research: a relation, the structure, or task context; from a question to what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from findspot.core.model import Progress, Query
from findspot.core.progress import CancelToken, ProgressSink
from findspot.graph import Graph, Node, Relation, pending_note
from findspot.graph.edges import FILE_KIND
from findspot.graph.values import FLOOR
from findspot.rank.roles import reading_order
from findspot.research import sentences
from findspot.research.change_answers import answer_change
from findspot.research.context import gather
from findspot.research.findings import (
    FOLDER,
    LINE,
    OF_A_CHANGE,
    Aim,
    Citation,
    Context,
    Findings,
    Focus,
    FoundEdge,
    FoundNode,
    Inquiry,
    Reason,
)
from findspot.research.graph_walks import (
    MOST_NODES,
    STEPS_PER_LEVEL,
    TYPES,
    Trail,
    definitions_of,
    find_path,
    record_path,
)
from findspot.research.module_map import entry_points, imports_between, module_map
from findspot.research.relation_questions import is_code, read_question
from findspot.research.relations import (
    MOST_STARTS,
    answer_by_name,
    answer_relation,
    meant,
    unknown_symbol,
    unresolved_calls,
)
from findspot.research.research_view import ResearchView
from findspot.research.task_signals import Request
from findspot.search.reader import IndexReader

MOST_QUOTED = 100
MOST_UNRESOLVED = 20


def investigate(
    reader: IndexReader, inquiry: Inquiry, progress: ProgressSink, cancel: CancelToken
) -> Findings:
    """Read the question, take the walk that answers it, and return what was found, with its lines."""
    query, depth = inquiry.text, inquiry.depth
    floor = FLOOR if inquiry.min_confidence is None else inquiry.min_confidence
    trail = Trail(Graph(reader.snapshot), depth, inquiry.under, floor, inquiry.include_tests, cancel=cancel)
    trail.tick = lambda hop: progress(Progress(hop, max(hop, depth), "hop"))
    view = ResearchView(reader, trail)
    found = _walk(view, inquiry)
    reached = list(trail.nodes.values())
    if found.relation is not None:
        reached.sort(key=lambda item: (item[1], reading_order(item[0].path)))
    nodes = found.nodes or tuple(FoundNode.of(node, hop) for node, hop in reached)
    edges = found.edges or tuple(
        map(FoundEdge.of, sorted(trail.edges, key=lambda edge: reading_order(edge.path)))
    )
    if found.context is None:
        quoted = (replace(edge, text=view.cite(edge.path, edge.line).text) for edge in edges[:MOST_QUOTED])
        edges = (*quoted, *edges[MOST_QUOTED:])
    full = (f"Stopped at {MOST_NODES} nodes; ask about less, or with less depth.",) if trail.full else ()
    findings = replace(
        found,
        query=query,
        depth=trail.depth,
        focus=inquiry.focus,
        summary=f"At least {MOST_NODES}: {found.summary}" if trail.full else found.summary,
        nodes=nodes,
        edges=edges,
        citations=() if found.context else _citations(view, nodes, edges),
        unresolved=(*full, *found.unresolved[:MOST_UNRESOLVED]),
        names={node.id: node.qualified for node, _ in trail.nodes.values()},
    )
    warnings = (
        reader.warning_about(findings.files, Query(query, under=inquiry.under)),
        pending_note(reader.snapshot),
    )
    return replace(findings, warning=" ".join(filter(None, warnings)) or None)


def find_context(reader: IndexReader, request: Request, cancel: CancelToken) -> Context:
    return gather(
        ResearchView(reader, Trail(Graph(reader.snapshot), under=request.under, cancel=cancel)), request
    )


def _walk(view: ResearchView, inquiry: Inquiry) -> Findings:
    query, focus, relation = inquiry.text, inquiry.focus, inquiry.relation
    if focus in (Focus.ARCHITECTURE, Focus.DEPENDENCIES):
        return _structure(view, focus)
    asked = (relation, inquiry.symbol, inquiry.to) if relation else read_question(query)
    if asked is None:
        return _context(view, inquiry)
    aim, name, end = asked
    if aim is Aim.PATH:
        answer = _path(view, inquiry, name, end)
    elif aim in OF_A_CHANGE:
        answer = replace(answer_change(view, inquiry, aim, name), relation=aim)
    else:
        answer = _relation(view, inquiry, aim, name)
    is_name = relation or is_code(name) or is_code(end) or view.graph.symbols.near(name)
    if answer.unknown and not is_name:
        return _context(view, inquiry)
    return answer


def _path(view: ResearchView, inquiry: Inquiry, name: str, end: str) -> Findings:
    """From one symbol to the other; of ends that the graph does not have, say what the index has."""
    missing = [each for each in (name, end) if not view.graph.find(each)]
    if missing:
        by_name = [answer_by_name(view, each, inquiry) for each in missing]
        said = [a.summary if a else unknown_symbol(view, e) for e, a in zip(missing, by_name, strict=True)]
        return Findings(summary=" ".join(said), unknown=None in by_name, relation=Aim.PATH)
    starts, ends = (_functions_of(view, each) for each in (name, end))
    way = find_path(starts, ends, view.trail)
    chains = (record_path(way, view.trail),) if way else ()
    if not way:
        for node in (*starts[:3], *ends[:3]):
            view.trail.add(node, 0)
    summary = sentences.of_path(chains, (name, end), view.trail.depth * STEPS_PER_LEVEL, view.trail)
    unresolved = () if way else tuple(unresolved_calls(view, starts[:3]))
    return Findings(summary=summary, chains=chains, unresolved=unresolved, relation=Aim.PATH)


def _relation(view: ResearchView, inquiry: Inquiry, aim: Aim, name: str) -> Findings:
    aim, starts, note = meant(view, name, aim)
    if starts:
        answer = answer_relation(view, aim, starts, inquiry)
        return replace(answer, summary=" ".join(filter(None, (answer.summary, note))))
    if by_name := answer_by_name(view, name, inquiry):
        return replace(by_name, relation=aim)
    return Findings(summary=unknown_symbol(view, name), unknown=True, relation=aim)


def _context(view: ResearchView, inquiry: Inquiry) -> Findings:
    view.trail.tick(1)
    found = gather(view, Request(inquiry.text, under=inquiry.under))
    regions = [region for region in found.regions if region.kind != LINE]
    nodes = tuple(
        FoundNode(
            each.id, each.symbol.rpartition(".")[2], each.kind, each.path, each.span.start, each.span.end,
            int(each.reason is not Reason.CHANGE), str(each.reason),
        )
        for each in regions
    )  # fmt: skip
    return Findings(summary=found.summary, nodes=nodes, edges=found.edges, context=found)


def _functions_of(view: ResearchView, name: str) -> list[Node]:
    """Return what a name means that can be called: of a type also its methods."""
    found = definitions_of(view.graph, name, Aim.CALLEES)[:MOST_STARTS]
    inside = (n for node in found if node.kind in TYPES for n in view.definitions(node.path))
    members = [n for n in inside if any(n.id.startswith(f"{node.id}.") for node in found)]
    return [*found, *members]


def _structure(view: ResearchView, focus: Focus) -> Findings:
    """Modules as nodes; their hop is their layer."""
    trail = view.trail
    trail.tick(1)
    imports = imports_between(view.graph, view.paths)
    modules = module_map(view.graph, imports, trail.depth)
    entries = entry_points(view.graph, imports) if focus is Focus.ARCHITECTURE else []
    found = (view.graph.node(entry) for entry in entries)
    begun = [node for node in found if node is not None and trail.covers(node.path)]
    nodes = [FoundNode.of(node, 0) for node in begun]
    known = {node.id for node in nodes}
    for hop, layer in enumerate(modules.layers, 1 if begun else 0):
        for name in (name for name in layer if name not in known):
            kind = FILE_KIND if modules.files[name] == (name,) else FOLDER
            nodes.append(FoundNode(name, name.rpartition("/")[2], kind, name, 1, 1, hop))
    edges = tuple(
        FoundEdge(d.source, d.target, Relation.IMPORT, d.path, d.line, 1.0) for d in modules.dependences
    )
    summary = sentences.of_map(focus, modules, [sentences.placed(node) for node in begun])
    return Findings(summary=summary, nodes=tuple(nodes), edges=edges)


def _citations(
    view: ResearchView, nodes: Sequence[FoundNode], edges: Sequence[FoundEdge]
) -> tuple[Citation, ...]:
    """Return the lines where the first nodes are defined, apart from those of references."""
    places = dict.fromkeys(
        (n.path, n.start_line) for n in nodes if n.hop == 0 and n.kind not in (FOLDER, FILE_KIND)
    )
    shown = {(edge.path, edge.line) for edge in edges}
    cited = (view.cite(*place) for place in places if place not in shown)
    return tuple(citation for citation in cited if citation.text)
