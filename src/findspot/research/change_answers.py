"""Answers about a change: what depends on a symbol, a file or a diff, and which tests notice it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from findspot.core.errors import InvalidArgumentError
from findspot.graph import Node
from findspot.graph.edges import FILE_KIND
from findspot.graph.possible_uses import Leftover
from findspot.graph.source_view import VALUE_KINDS
from findspot.graph.values import FLOOR, IMPORTED
from findspot.rank.roles import Role, role_of
from findspot.research import sentences
from findspot.research.changes import DEFAULT_REVISION, Change, FileChange, read_change
from findspot.research.findings import Aim, Findings, FoundNode, Inquiry, PossiblePlace
from findspot.research.impact import Affected, Impact, certainty_of, impact_of
from findspot.research.related_tests import Candidate, rank_tests
from findspot.research.relations import answer_by_name, meant, mentions, unknown_symbol, unread
from findspot.research.research_view import ResearchView

MOST_TESTS = 20
MOST_FUNCTIONS = 5
_LEAST_SHARE = 0.15
"""Of the best score: tests below it are not listed."""

MOST_REASONS = 3
_MOST_LISTED = 100
"""Leftover and possible uses."""

_FEW = 3
"""Direct dependents that the first sentence names; the listing has them all."""


def answer_change(view: ResearchView, inquiry: Inquiry, aim: Aim, name: str) -> Findings:
    """Return what depends on a change, or the tests that most likely notice it."""
    change, note = _asked_about(view, inquiry, aim, name)
    if change is None:
        by_name = answer_by_name(view, name, inquiry)
        if by_name is None:
            return Findings(summary=unknown_symbol(view, name), unknown=True)
        return by_name
    if not change.files:
        return Findings(summary=f"Nothing differs from {inquiry.since or DEFAULT_REVISION}.")
    subjects = _about(change, name)
    answer = _tests(view, change, subjects) if aim is Aim.TESTS else _impact(view, inquiry, change, subjects)
    return replace(answer, summary=" ".join(filter(None, (answer.summary, note))))


def _asked_about(view: ResearchView, inquiry: Inquiry, aim: Aim, name: str) -> tuple[Change | None, str]:
    """Return what a question calls a change: a diff, a file, or the definitions of a name; and a note."""
    graph = view.graph
    if not name or inquiry.since:
        if name and not view.reader.files(f"{name.rstrip('/')}/**") and graph.node(name) is None:
            raise InvalidArgumentError(
                f"'since' compares files, and '{name}' is neither a file nor a folder of the index.",
                hint="Name a file or a folder, or nothing.",
            )
        return _below(read_change(view, inquiry.since), name or view.trail.under or ""), ""
    file = graph.node(name)
    if file is not None and file.kind == FILE_KIND:
        return Change((FileChange(file.path),), (file, *view.definitions(file.path))), ""
    _, starts, note = meant(view, name, aim)
    if starts or aim is not Aim.TESTS:
        return _change_of(starts, starts), note
    return _change_of(unread(view, name, inquiry), ()), ""  # tests have more to go by than the graph


def _change_of(places: Sequence[Node], nodes: Sequence[Node]) -> Change | None:
    """Return a change of definitions, and of the files of some places; None where there is no place."""
    files = dict.fromkeys(node.path for node in places)
    return Change(tuple(map(FileChange, files)), tuple(nodes)) if files else None


def _below(change: Change, place: str) -> Change:
    def inside(path: str) -> bool:
        return not place or path == place or path.startswith(f"{place.rstrip('/')}/")

    return replace(
        change,
        files=tuple(file for file in change.files if inside(file.path)),
        nodes=tuple(node for node in change.nodes if inside(node.path)),
        gone=tuple(node for node in change.gone if inside(node.path)),
    )


def _about(change: Change, name: str) -> str:
    if name and change.nodes and change.nodes[0].kind != FILE_KIND:
        return sentences.named(change.nodes)
    if name:
        return name
    more = f", {change.left_out} of them not compared" if change.left_out else ""
    changed = sentences.counted(len(change.files), "changed file")
    return f"{changed}{more}, {sentences.counted(len(change.nodes), 'changed definition')}"


def _impact(view: ResearchView, inquiry: Inquiry, change: Change, subjects: str) -> Findings:
    trail = view.trail
    trail.tick(1)
    found = impact_of(view.graph, change.nodes, inquiry.depth, change.gone, trail.cancel)
    floor = 0.0 if inquiry.min_confidence is None else inquiry.min_confidence
    affected = [
        each
        for each in found.affected
        if each.confidence >= floor and (inquiry.include_tests or not each.in_test)
    ]
    for node, hop in [(n, 0) for n in change.nodes] + [(each.node, each.distance) for each in affected]:
        trail.nodes[node.id] = (node, hop)
    for each in affected:
        for edge in each.edges:
            trail.link(edge)
    possible = _possible(view, inquiry, change) if floor < FLOOR else []
    left = [_leftover(view, leftover) for leftover in found.leftovers]
    nodes = [FoundNode.of(node, 0) for node in change.nodes]
    nodes += [FoundNode.of(each.node, each.distance, _reason(each)) for each in affected]
    summary = _impact_summary(subjects, change, found, affected, len(possible))
    return Findings(summary=summary, possible=(*left, *possible), nodes=tuple(nodes))


def _reason(affected: Affected) -> str:
    edge = affected.edges[0]
    return f"{edge.relation} {edge.target.qualified}, {certainty_of(affected.confidence)}"


def _possible(view: ResearchView, inquiry: Inquiry, change: Change) -> list[PossiblePlace]:
    defined = [node for node in change.nodes if node.kind != FILE_KIND]
    uses = view.graph.doubts.callers(defined[:_MOST_LISTED])
    known = {(edge.path, edge.line) for edge in view.trail.edges}
    values = [node for node in defined if node.kind in VALUE_KINDS][: sentences.MOST_NAMED]
    uses.places += mentions(view, values, known, named=True)
    shown = [use for use in uses.places if inquiry.include_tests or not use.in_test]
    unknown = [use for use in shown if (use.path, use.line) not in known][:_MOST_LISTED]
    return [view.possible(use, use.reason, use.confidence) for use in unknown]


def _leftover(view: ResearchView, left: Leftover) -> PossiblePlace:
    certainty = "" if left.certain else "may be "
    use = f"{certainty}a leftover use of {left.gone.qualified}"
    reason = f"{use}, which {left.gone.path} does not define any more"
    return view.possible(left.use, reason, IMPORTED if left.certain else 0.0)


def _impact_summary(
    subjects: str, change: Change, found: Impact, affected: Sequence[Affected], possible: int
) -> str:
    roles = [role_of(each.node.path) for each in affected]
    beside = {Role.TEST: "tests", Role.EXAMPLE: "examples and benchmarks"}
    production = [each for each, role in zip(affected, roles, strict=True) if role not in beside]
    direct = [each for each in production if each.distance == 1]
    said = [f"{subjects}: {sentences.counted(len(direct), 'direct dependent')} in production code"]
    said[0] += f" ({sentences.named([each.node for each in direct], _FEW)})." if direct else "."
    if further := len(production) - len(direct):
        said.append(f"{further} more through these.")
    said += [f"{roles.count(role)} in {what}." for role, what in beside.items() if role in roles]
    if possible:
        said.append(f"{sentences.counted(possible, 'place')} may use it, and nothing says so for certain.")
    if change.gone:
        gone = sentences.counted(len(change.gone), "definition")
        left = sentences.counted(len(found.leftovers), "use")
        said.append(f"{gone} of the older version gone ({_names(change.gone)}): {left} left.")
    if found.left_out:
        said.append(f"{found.left_out} more left out.")
    return " ".join(said)


def _names(nodes: Sequence[Node]) -> str:
    shown = ", ".join(node.qualified for node in nodes[: sentences.MOST_NAMED])
    return f"{shown} …" if len(nodes) > sentences.MOST_NAMED else shown


def _tests(view: ResearchView, change: Change, subjects: str) -> Findings:
    view.trail.tick(1)
    reader = view.reader
    ranked = rank_tests(reader.snapshot, view.graph, change, reader.history(), view.trail.cancel)
    ranked = [each for each in ranked if each.score >= _LEAST_SHARE * ranked[0].score]
    if not ranked:
        return Findings(summary=f"{subjects}: no test is known to concern it.")
    nodes: list[FoundNode] = []
    for candidate in ranked[:MOST_TESTS]:
        nodes += _test_nodes(view, candidate)
    for node in change.nodes:
        view.trail.nodes[node.id] = (node, 0)
    first = ", ".join(candidate.path for candidate in ranked[:3])
    more = f" {len(ranked) - MOST_TESTS} more left out." if len(ranked) > MOST_TESTS else ""
    summary = f"{subjects}: most likely to notice a change: {first}.{more}"
    return Findings(summary=summary, nodes=tuple(nodes))


def _test_nodes(view: ResearchView, candidate: Candidate) -> list[FoundNode]:
    """Return a test file with the reasons for it, and the functions in it that reach what changed."""
    path = candidate.path
    file = view.graph.node(path)
    end = file.end_line if file is not None else 1
    why = "; ".join(candidate.why[:MOST_REASONS])
    nodes = [FoundNode(path, path.rpartition("/")[2], FILE_KIND, path, 1, end, 1, why)]
    for node, reason in list(candidate.functions.values())[:MOST_FUNCTIONS]:
        view.trail.nodes[node.id] = (node, 2)
        nodes.append(FoundNode.of(node, 2, reason))
    return nodes
