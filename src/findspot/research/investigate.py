"""Research: from a question to what was found, in one function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from findspot.core.model import Progress, Query
from findspot.core.progress import CancelToken, ProgressSink
from findspot.graph import Edge, Graph, Node, Relation, pending_note
from findspot.graph.values import FLOOR
from findspot.rank.roles import reading_order
from findspot.research import sentences
from findspot.research.change_answers import answer_change
from findspot.research.findings import (
    FOLDER,
    OF_A_CHANGE,
    Aim,
    Citation,
    Findings,
    Focus,
    FoundEdge,
    FoundNode,
    Inquiry,
    Passage,
    PossiblePlace,
)
from findspot.research.flows import Flow
from findspot.research.graph_walks import (
    MOST_NODES,
    STEPS_PER_LEVEL,
    Chain,
    Trail,
    find_path,
    follow,
    record_path,
)
from findspot.research.module_map import entry_points, imports_between, module_map
from findspot.research.open_questions import NOTHING_FITS, OpenAnswer, answer_open, symbol
from findspot.research.question_parser import ParsedQuestion, is_code, read_question
from findspot.research.relations import (
    MOST_STARTS,
    answer_by_name,
    answer_relation,
    in_packages,
    meant,
    related_names,
    unknown_symbol,
    unresolved_calls,
)
from findspot.research.research_view import ResearchView
from findspot.research.sentences import MOST_MEMBERS, find_patterns
from findspot.search.reader import IndexReader
from findspot.text.tokens import parts

MOST_CITATIONS = 100
MOST_UNRESOLVED = 20
MOST_TOPICS = 8
ABOUT_AS_SURE = 0.6
"""Of the best hit's value: what is less sure would make every question begin everywhere."""


@dataclass(frozen=True, slots=True)
class WalkAnswer:
    """The answer of a walk, in addition to the nodes and edges of its trail."""

    summary: str
    chains: Sequence[Chain] = ()
    chain_count: int = 0
    possible: tuple[PossiblePlace, ...] = ()
    relation: Aim | None = None
    unknown: bool = False
    topics: Iterable[str] = ()
    unresolved: Sequence[str] = ()
    nodes: tuple[FoundNode, ...] = ()
    """Instead of the trail's, where nodes are no definitions."""
    edges: tuple[FoundEdge, ...] = ()
    passages: tuple[Passage, ...] = ()


def investigate(
    reader: IndexReader, inquiry: Inquiry, progress: ProgressSink, cancel: CancelToken
) -> Findings:
    """read the question → record_path the walk that answers it → tell what was found, with its lines."""
    query, depth = inquiry.text, inquiry.depth
    floor = FLOOR if inquiry.min_confidence is None else inquiry.min_confidence
    trail = Trail(Graph(reader.snapshot), depth, inquiry.under, floor, inquiry.include_tests, cancel=cancel)
    trail.tick = lambda hop: progress(Progress(hop, max(hop, depth), "hop"))
    view = ResearchView(reader, trail)
    relation = inquiry.relation
    asked = ParsedQuestion(relation, inquiry.symbol, inquiry.to) if relation else read_question(query)
    focus = inquiry.focus or asked.focus
    answer = _walk(view, inquiry, asked, focus)
    nodes = answer.nodes or _found_nodes(trail, ordered=answer.relation is not None)
    edges = answer.edges or tuple(map(_edge, sorted(trail.edges, key=lambda edge: reading_order(edge.path))))
    full = (f"Stopped at {MOST_NODES} nodes; ask about less, or with less depth.",) if trail.full else ()
    findings = Findings(
        query=query,
        depth=trail.depth,
        focus=focus,
        summary=f"At least {MOST_NODES}: {answer.summary}" if trail.full else answer.summary,
        nodes=nodes,
        edges=edges,
        chains=tuple(answer.chains),
        chain_count=max(answer.chain_count, len(answer.chains)),
        relation=answer.relation,
        possible=answer.possible,
        unknown=answer.unknown,
        passages=answer.passages,
        citations=() if answer.passages else _citations(view, nodes, edges),
        related_topics=tuple(dict.fromkeys(answer.topics))[:MOST_TOPICS],
        unresolved=(*full, *answer.unresolved[:MOST_UNRESOLVED]),
        names={node.id: node.qualified for node, _ in trail.nodes.values()},
    )
    warnings = (
        reader.warning_about(findings.files, Query(query, under=inquiry.under)),
        pending_note(reader.snapshot),
    )
    return replace(findings, warning=" ".join(filter(None, warnings)) or None)


def _walk(view: ResearchView, inquiry: Inquiry, asked: ParsedQuestion, focus: Focus | None) -> WalkAnswer:
    query = inquiry.text
    if focus is Focus.PATTERNS:
        return _patterns(view, query)
    if focus in (Focus.ARCHITECTURE, Focus.DEPENDENCIES):
        return _structure(view, focus)
    if asked.aim is Aim.PATH:
        if (outside := _flow_outside(view, query, asked)) is not None:
            return outside
        missing, unknown = _missing_ends(view, inquiry, asked)
        if missing and inquiry.relation:
            return WalkAnswer(missing, unknown=unknown, relation=Aim.PATH)
        answer = _flow_between(view, query, asked)
        return replace(answer, summary=" ".join(filter(None, (missing, answer.summary))))
    missing = ""
    if asked.aim in OF_A_CHANGE:
        change = answer_change(view, inquiry, asked.aim, asked.name)
        if not change.unknown or inquiry.relation or not asked.plain:
            return WalkAnswer(
                change.summary,
                possible=change.possible,
                relation=asked.aim,
                unknown=change.unknown,
                nodes=change.nodes,
            )
        missing = change.summary
    elif asked.aim is not Aim.OPEN:
        aim, starts, note = meant(view, asked.name, asked.aim)
        if starts:
            return _relation(view, inquiry, aim, starts, note)
        if by_name := answer_by_name(view, asked.name, inquiry):
            return WalkAnswer(by_name.summary, possible=by_name.possible, relation=aim)
        missing = unknown_symbol(view, asked.name)
        if inquiry.relation or not asked.plain or asked.aim is not Aim.USES:
            return WalkAnswer(missing, unknown=True, relation=asked.aim)
    if focus is Focus.FLOW:
        return _flow_from(view, query, missing)
    return _open(answer_open(view, query), missing)


def _open(answer: OpenAnswer, missing: str = "") -> WalkAnswer:
    summary = " ".join(filter(None, (missing, answer.summary)))
    return WalkAnswer(summary, answer.chains, passages=answer.passages)


def _relation(
    view: ResearchView, inquiry: Inquiry, aim: Aim, starts: Sequence[Node], note: str
) -> WalkAnswer:
    answer = answer_relation(view, aim, starts, inquiry)
    return WalkAnswer(
        " ".join(filter(None, (answer.summary, note))),
        answer.chains,
        answer.chain_count,
        answer.possible,
        aim,
        topics=answer.topics,
        unresolved=answer.unresolved,
    )


def _flow_from(view: ResearchView, query: str, missing: str) -> WalkAnswer:
    """Flow without an end: what the question's first answers set off."""
    starts = _find_by_search(view, query)[:MOST_STARTS]
    if not starts:
        return WalkAnswer(" ".join(filter(None, (missing, NOTHING_FITS))))
    chains, count = follow(Aim.CALLEES, starts, view.trail)
    summary = " ".join(filter(None, (missing, sentences.of_relation(Aim.CALLEES, starts, view.trail))))
    topics = related_names(view, starts)
    unresolved = unresolved_calls(view, starts)
    return WalkAnswer(summary, chains, count, relation=Aim.CALLEES, topics=topics, unresolved=unresolved)


def _missing_ends(view: ResearchView, inquiry: Inquiry, asked: ParsedQuestion) -> tuple[str, bool]:
    """Return which ends of a path the graph does not have, and whether the index lacks one of them.

    Plain words are searched for.
    """
    ends = [end for end in (asked.name, asked.end) if inquiry.relation or is_code(end)]
    missing = [end for end in ends if not view.graph.find(end)]
    by_name = [answer_by_name(view, end, inquiry) for end in missing]
    said = (a.summary if a else unknown_symbol(view, end) for end, a in zip(missing, by_name, strict=True))
    return " ".join(said), None in by_name


def _flow_outside(view: ResearchView, query: str, asked: ParsedQuestion) -> WalkAnswer | None:
    """From a symbol to a name that a dependency defines: through the project, and over its border."""
    graph, starts = view.graph, symbol(view, query, asked.name)
    uses = graph.leftovers.outside_uses(asked.end) if starts and not graph.find(asked.end) else []
    by_source = {use.source.id: use for use in reversed(uses)}
    direct = [node for node in starts if node.id in by_source][:1]
    way = None if direct or not uses else find_path(starts, [use.source for use in uses], view.trail)
    if not (direct or way):
        return None
    for node in direct:
        view.trail.add(node, 0)
    chain = record_path(way, view.trail) if way else (direct[0].id,)
    use = by_source[chain[-1]]
    summary = sentences.of_way_out(chain, (asked.name, asked.end), f"{use.path}:{use.line}", view.trail)
    return WalkAnswer(f"{summary}{in_packages(view, asked.end)}", [chain], relation=Aim.PATH)


def _flow_between(view: ResearchView, query: str, asked: ParsedQuestion) -> WalkAnswer:
    """From one symbol to the other; with ends in plain words, what search and the graph have between them."""
    starts, ends = (symbol(view, query, phrase) for phrase in (asked.name, asked.end))
    if not (starts and ends):
        return _open(answer_open(view, query, Flow(asked.name, asked.end, starts, ends)))
    way = find_path(starts, ends, view.trail)
    chains = [record_path(way, view.trail)] if way else []
    if not way:
        for node in (*starts[:3], *ends[:3]):
            view.trail.add(node, 0)
    steps = view.trail.depth * STEPS_PER_LEVEL
    summary = sentences.of_path(chains, (asked.name, asked.end), steps, view.trail)
    unresolved = [] if way else unresolved_calls(view, starts[:3])
    topics = related_names(view, starts[:3])
    return WalkAnswer(summary, chains, relation=Aim.PATH, topics=topics, unresolved=unresolved)


def _find_by_search(view: ResearchView, phrase: str) -> list[Node]:
    """Return an end in plain words: what search finds for it, as far as it is about as sure as of the
    first.
    """
    found = view.seeds(phrase, 5)
    sure = [node for node, hit in found if hit.relative >= ABOUT_AS_SURE]
    return [member for node in sure for member in view.functions(node)]


def _structure(view: ResearchView, focus: Focus) -> WalkAnswer:
    """Modules as nodes; their hop is their layer."""
    trail = view.trail
    trail.tick(1)
    imports = imports_between(view.graph, view.paths)
    modules = module_map(view.graph, imports, trail.depth)
    entries = entry_points(view.graph, imports) if focus is Focus.ARCHITECTURE else []
    found = (view.graph.node(entry) for entry in entries)
    begun = [node for node in found if node is not None and trail.covers(node.path)]
    nodes = [_found_node(node, 0) for node in begun]
    known = {node.id for node in nodes}
    for hop, layer in enumerate(modules.layers, 1 if begun else 0):
        nodes += [_module(name, modules.files[name], hop) for name in layer if name not in known]
    edges = tuple(
        FoundEdge(d.source, d.target, Relation.IMPORT, d.path, d.line, 1.0) for d in modules.dependences
    )
    summary = sentences.of_map(focus, modules, [sentences.placed(node) for node in begun])
    topics = [f"what imports {name}" for name in (modules.layers[-1] if modules.layers else ())]
    chains = _longest_chains(edges, modules.layers)
    return WalkAnswer(summary, chains, topics=topics, nodes=tuple(nodes), edges=edges)


def _module(name: str, files: Sequence[str], hop: int) -> FoundNode:
    kind = "file" if files == (name,) else FOLDER
    return FoundNode(name, name.rpartition("/")[2], kind, name, 1, 1, hop)


def _longest_chains(edges: Sequence[FoundEdge], layers: Sequence[Sequence[str]]) -> list[Chain]:
    """For each module of the top layer, the longest way down, always to the next layer that it reaches."""
    level = {name: number for number, layer in enumerate(layers) for name in layer}
    below: dict[str, list[str]] = {}
    for edge in edges:
        if level[edge.target] > level[edge.source]:
            below.setdefault(edge.source, []).append(edge.target)
    chains = []
    for top in layers[0] if layers else ():
        way = [top]
        while way[-1] in below:
            way.append(min(below[way[-1]], key=lambda name: (level[name], name)))
        if len(way) > 1:
            chains.append(tuple(way))
    return chains


def _patterns(view: ResearchView, query: str) -> WalkAnswer:
    trail = view.trail
    trail.tick(1)
    found = find_patterns(view, parts(query))
    for pattern in found:
        if pattern.base is not None:
            trail.add(pattern.base, 0)
        for member in list(pattern.members.values())[:MOST_MEMBERS]:
            trail.add(member, 1 if pattern.base is not None else 0)
        for edge in pattern.edges:
            trail.link(edge)
    chains = [(edge.target.id, edge.source.id) for edge in trail.edges]
    return WalkAnswer(sentences.of_patterns(found), chains, topics=[pattern.what for pattern in found])


def _citations(
    view: ResearchView, nodes: Sequence[FoundNode], edges: Sequence[FoundEdge]
) -> tuple[Citation, ...]:
    """Return where the first nodes are defined, and the lines of the references between them."""
    starts = [(n.path, n.start_line) for n in nodes if n.hop == 0 and n.kind not in (FOLDER, "file")]
    places = dict.fromkeys([*starts, *((edge.path, edge.line) for edge in edges)])
    cited = (view.cite(*place) for place in list(places)[:MOST_CITATIONS])
    return tuple(citation for citation in cited if citation.text)


def _found_nodes(trail: Trail, *, ordered: bool) -> tuple[FoundNode, ...]:
    """Return the nodes of a trail; ordered by hop, and production code before tests."""
    found = list(trail.nodes.values())
    if ordered:
        found.sort(key=lambda item: (item[1], reading_order(item[0].path)))
    return tuple(_found_node(node, hop) for node, hop in found)


def _found_node(node: Node, hop: int) -> FoundNode:
    return FoundNode(node.id, node.name, node.kind, node.path, node.start_line, node.end_line, hop)


def _edge(edge: Edge) -> FoundEdge:
    return FoundEdge(
        edge.source.id, edge.target.id, edge.relation, edge.path, edge.line, round(edge.confidence, 2)
    )
