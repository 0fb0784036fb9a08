"""Task context: from a signal to the regions that are needed next, each with its reason, or to none."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from findspot.core.git import run_git
from findspot.core.model import Corpus, GroupBy, Hit, IncludeTests, Query, Span
from findspot.graph import Edge, Node, Relation, pending_note
from findspot.graph.edges import FILE_KIND
from findspot.graph.source_view import VALUE_KINDS
from findspot.rank.roles import ASKS_FOR_TESTS, Role, is_data, role_of
from findspot.research.changes import Change, FileChange
from findspot.research.findings import LINE, NOTHING_CHANGED, Context, FoundEdge, Reason, Region
from findspot.research.graph_walks import TYPES
from findspot.research.impact import Impact, impact_of
from findspot.research.related_tests import CHANGED_OFTEN, rank_tests
from findspot.research.relations import mentions
from findspot.research.research_view import ResearchView
from findspot.research.sentences import counted, placed
from findspot.research.task_signals import Kind, Request, Signal, read_signal
from findspot.search.related import suggest_files
from findspot.text.snippet import listed
from findspot.text.tokens import tokens

MOST_HITS = 60
"""Results of a search that may become regions."""
MOST_CHANGED, MOST_FILES = 20, 10
"""Regions to change, and files; beyond so many regions, the best one of each further file."""
FOLLOWED = 5
"""Of the best regions, whose callers and callees are looked at."""
MOST_NEIGHBOURS = 6
"""Of each kind."""
MOST_LINES = 400
"""Of a definition that are read."""
MOST_TESTS = 5
MOST_TOO = 8
MOST_CALLERS = 30
"""What is used in more places says nothing about the signal by being used."""
FURTHER = 0.4
"""What a second step counts against the first."""
WORD = 0.35
"""Added to the value of a neighbour for each word of the signal that its name has."""
FOUND = 0.6
"""Added for a neighbour that search finds too, as a share of its value there."""
LEAST_LINES, LEAST_CHARS = 2, 25
"""Of removed code, to look for copies of it."""
COPIED = 0.6
"""The share of the removed lines that a copy has."""
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_TRIVIAL = re.compile(r"[\W_]*|pass|return|else:?|try:?|end|break|continue")


def gather(view: ResearchView, request: Request) -> Context:
    signal = read_signal(view, request)
    task = _Task(view, signal)
    if signal.kind is Kind.DIFF:
        task.after_change()
    elif signal.kind is Kind.PLACE:
        task.at_place()
    else:
        task.for_text()
    return task.context()


_Near = tuple[float, Node, Edge]
"""The value of a neighbour, the neighbour, and the reference that leads to it."""


@dataclass
class _Task:
    """The regions of an answer in the making."""

    view: ResearchView
    signal: Signal
    regions: dict[str, Region] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    values: dict[str, tuple[Node, float]] = field(default_factory=dict)
    """What search found, by id, with its value."""
    left_out: int = 0
    subject: str = ""

    def context(self) -> Context:
        """Return the regions in the order of their reasons, each reason's best first."""
        order = list(Reason)
        ranked = sorted(self.regions.values(), key=lambda region: order.index(region.reason))
        shown = {region.id for region in ranked}
        edges = (e for e in self.edges if e.source.id in shown and e.target.id in shown)
        reader = self.view.reader
        warning = (reader.warning_about(dict.fromkeys(r.path for r in ranked)), pending_note(reader.snapshot))
        return Context(
            str(self.signal.kind),
            self.subject,
            tuple(ranked),
            tuple(map(FoundEdge.of, edges)),
            self.left_out,
            " ".join(filter(None, warning)) or None,
        )

    def for_text(self) -> None:
        """Answer an issue, a question or a trace: what the frames pass through, then what search finds."""
        text, at = self.signal.text, self.signal.at
        if not (text or at):
            return
        hits, fits = self._search(text)
        if not fits and not at:
            return
        faulty = [node for node in at if role_of(node.path) is not Role.TEST]
        tests = [node for node in at if role_of(node.path) is Role.TEST]
        if tests and not faulty:
            faulty = self._reached_by(tests)
        for node in faulty[:FOLLOWED]:
            self._add(node, Reason.CHANGE)
        for node in tests:
            self._add(node, Reason.TEST, "fails here")
        for node, hit in hits:
            if self._has_room(node.path):
                self._add(node, Reason.CHANGE, focus=hit.focus)
        self.left_out = max(0, len(hits) - len(self.regions))
        self._surround([*faulty, *(node for node, _ in hits)][:FOLLOWED])

    def _has_room(self, path: str) -> bool:
        paths = {region.path for region in self.regions.values()}
        return len(self.regions) < MOST_CHANGED or (path not in paths and len(paths) < MOST_FILES)

    def at_place(self) -> None:
        """Answer a file with a line; of a remark about it, also what has the words of the remark."""
        (node,) = self.signal.at
        self.subject = f"At {placed(node)}."
        self._add(node, Reason.CHANGE)
        if self.signal.text:
            for other, hit in self._search(self.signal.text)[0][:MOST_TOO]:
                self._add(other, Reason.RELIES, "has words of the remark", focus=hit.focus)
        inside = [node]
        if node.kind == FILE_KIND:
            inside = [n for n in self.view.definitions(node.path) if n.kind in _FUNCTIONS] or inside
        self._surround(inside[:FOLLOWED])
        self._named([node])

    def after_change(self) -> None:
        """Answer a diff: what it leaves behind, copies, mentions, who relies on it, and tests."""
        change = self.signal.change or Change()
        changed = [node for node in change.nodes if node.kind != FILE_KIND]
        names = listed((node.qualified for node in changed), 3)
        files = counted(len(change.files), "changed file")
        self.subject = f"{files}{f': {names}' if names else ''}." if change.files else NOTHING_CHANGED
        if not change.files:
            return
        impact = impact_of(self.view.graph, change.nodes, 1, change.gone, self.view.trail.cancel)
        for leftover in impact.leftovers[:MOST_TOO]:
            use = leftover.use
            self._line(use.path, use.line, Reason.TOO, f"still uses {use.name}")
        for path, line, why in (*_copies(self.view, change), *_mentions(self.view, change)):
            self._line(path, line, Reason.TOO, why)
        self._dependents(impact)
        self._named(changed)
        self._together([file.path for file in change.files])
        self._tests(change)
        self._last([file.path for file in change.files], change.base)

    def _dependents(self, impact: Impact) -> None:
        """Add what relies on a change, the surest first; of a file only where nothing inside it does."""
        inside = {each.node.path for each in impact.affected if each.node.kind != FILE_KIND}
        production = [
            each
            for each in impact.affected
            if not each.in_test and (each.node.kind != FILE_KIND or each.node.path not in inside)
        ]
        uses = Counter({each.node.id: len(each.edges) for each in production})
        for each in sorted(production, key=lambda e: (-e.confidence, -uses[e.node.id], _order(e.node.path))):
            edge = each.edges[0]
            overrides = edge.relation in (Relation.OVERRIDE, Relation.INHERIT)
            self._related(edge, each.node, Reason.TOO if overrides else Reason.RELIED)

    def _named(self, nodes: Sequence[Node]) -> None:
        """Add the lines that name constants and variables, whose uses the graph does not follow."""
        values = [node for node in nodes if node.kind in VALUE_KINDS][:MOST_TOO]
        for use in mentions(self.view, values, set(), named=True):
            if not use.in_test:
                self._line(use.path, use.line, Reason.RELIED, "found by its name")

    def _search(self, text: str) -> tuple[list[tuple[Node, Hit]], bool]:
        """Return the definitions that search finds, production code alone, and whether anything fits."""
        wants_tests = ASKS_FOR_TESTS.search(text) is not None
        query = Query(
            text, limit=MOST_HITS, under=self.view.trail.under, group_by=GroupBy.SYMBOL,
            include_tests=IncludeTests.AUTO,
        )  # fmt: skip
        results, hits = self.view.reader.search_indexed(query)
        found: dict[str, tuple[Node, Hit]] = {}
        for hit in hits:
            if wants_tests or role_of(hit.path) is not Role.TEST:
                node = self._region_of(hit)
                found.setdefault(node.id, (node, hit))
        self.values = {key: (node, hit.relative) for key, (node, hit) in found.items()}
        return list(found.values()), bool(found) and not results.nothing_fits

    def _region_of(self, hit: Hit) -> Node:
        """Return the definition that a hit shows; of a member that the graph has none of, its own lines."""
        node = self.view.node_of(hit)
        if node.kind in TYPES and hit.kind not in TYPES and hit.symbol and hit.symbol != node.qualified:
            span = hit.definition or hit.span
            name = hit.symbol.rpartition(".")[2]
            return Node(
                hit.path, span.start, span.end, name, hit.symbol, hit.kind, f"{hit.path}:{span.start}"
            )
        return node

    def _reached_by(self, tests: Sequence[Node]) -> list[Node]:
        """Return the code that failing tests call, what search finds for the output before the rest."""
        graph = self.view.graph
        called = {e.target.id: e.target for test in tests[:3] for e in graph.callees(test)}
        code = [node for node in called.values() if role_of(node.path) is not Role.TEST]
        return sorted(code, key=lambda node: -self.values.get(node.id, (node, 0.0))[1])

    def _surround(self, nodes: Sequence[Node]) -> None:
        """Add what the best regions rely on, what relies on them, what changes with them, and their tests."""
        code = [node for node in nodes if role_of(node.path) is Role.SOURCE and node.kind != FILE_KIND]
        functions = [node for node in code if node.kind in _FUNCTIONS] or code
        for reason, near in self._neighbours(functions).items():
            best = sorted(near.values(), key=lambda item: (-item[0], item[1].id))
            for _, far, edge in best[:MOST_NEIGHBOURS]:
                self._related(edge, far, reason)
            self.left_out += max(0, len(best) - MOST_NEIGHBOURS)
        paths = list(dict.fromkeys(node.path for node in nodes))
        self._together(paths[:3])
        if functions:
            files = dict.fromkeys(node.path for node in functions[:2])
            self._tests(Change(tuple(map(FileChange, files)), tuple(functions[:2])))
        self._last(paths[:1])

    def _neighbours(self, functions: Sequence[Node]) -> dict[Reason, dict[str, _Near]]:
        """Return what is one or two steps from functions, by its reason, with its value."""
        words = set(tokens(self.signal.text))
        found: dict[Reason, dict[str, _Near]] = defaultdict(dict)
        further: list[tuple[Node, float]] = [
            (node, self.values.get(node.id, (node, 1.0))[1] / (1 + 0.3 * place))
            for place, node in enumerate(functions)
        ]
        for step in range(2):
            reached: dict[str, tuple[Node, float]] = {}
            for node, own in further:
                for reason, edge, far in self._next_to(node, only=step):
                    value = own * edge.confidence + WORD * len(words.intersection(tokens(far.name)))
                    value += FOUND * self.values.get(far.id, (far, 0.0))[1]
                    before = found[reason].get(far.id, (0.0, far, edge))
                    found[reason][far.id] = value + before[0], far, before[2]
                    if reason is Reason.RELIED:
                        reached[far.id] = far, max(value, reached.get(far.id, (far, 0.0))[1])
            ranked = sorted(reached.values(), key=lambda item: (-item[1], item[0].id))
            further = [(node, value * FURTHER) for node, value in ranked[:FOLLOWED]]
        return found

    def _next_to(self, node: Node, only: int) -> Iterator[tuple[Reason, Edge, Node]]:
        graph = self.view.graph
        for edge in graph.edges_of(node, (Relation.CALL, Relation.VALUE)) if not only else ():
            if edge.source.id == node.id and edge.target.id != node.id and self._is_code(edge.target):
                yield Reason.RELIES, edge, edge.target
        using = [*graph.callers(node), *graph.references_to(node, (Relation.VALUE, Relation.DECORATE))]
        using = [edge for edge in using if self._is_code(edge.source) and edge.source.id != node.id]
        for edge in using if len(using) <= MOST_CALLERS else using[:3]:
            yield Reason.RELIED, edge, edge.source
        for edge in graph.overrides(node) if not only else ():
            far = edge.source if edge.target.id == node.id else edge.target
            yield Reason.TOO, edge, far

    def _is_code(self, node: Node) -> bool:
        return role_of(node.path) is Role.SOURCE

    def _related(self, edge: Edge, far: Node, reason: Reason) -> None:
        line = self.view.cite(edge.path, edge.line).text
        self._add(far, reason, f"{edge.path}:{edge.line} {line}")
        self.edges[edge] = None

    def _together(self, paths: Sequence[str]) -> None:
        """Add the files that changed with these in most of their commits."""
        files = {file.path for file in self.view.reader.snapshot.files.files}
        for path, why in suggest_files(paths, self.view.reader.history(), files):
            if role_of(path) is not Role.TEST:
                self._line(path, 1, Reason.TOO, why)

    def _tests(self, change: Change) -> None:
        view = self.view
        ranked = rank_tests(
            view.reader.snapshot, view.graph, change, view.reader.history(), view.trail.cancel
        )
        for test in ranked[:MOST_TESTS]:
            node, why = next(iter(test.functions.values()), (view.graph.node(test.path), test.why[0]))
            if node is not None and why != CHANGED_OFTEN:
                self._add(node, Reason.TEST, why)

    def _last(self, paths: Sequence[str], base: str = "HEAD") -> None:
        """Add the last commit of the first file, before what is under review."""
        for path in paths[:1]:
            root = self.view.reader.disk.roots.project
            shape = "--format=%h %as %s"
            log = ("log", "-1", shape, "--no-show-signature", "--end-of-options", base)
            said = run_git(root, *log, "--", f":(literal){path}") or ""
            if said.strip():
                self._line(path, 1, Reason.LAST, said.strip()[:200])

    def _add(self, node: Node, reason: Reason, why: str = "", focus: int | None = None) -> None:
        """Add a definition, unless it is there; of a type or a file, only how it begins."""
        if node.id in self.regions:
            return
        shown = reason in (Reason.CHANGE, Reason.TOO)
        text = self.view.text_of(node, MOST_LINES) if shown else ""
        span = Span(node.start_line, node.end_line)
        worth = _worth(text, self.signal.text, (focus or 0) - node.start_line) if shown else ()
        self.regions[node.id] = Region(
            node.id, node.path, span, node.qualified, node.kind, reason, why, text, worth
        )

    def _line(self, path: str, line: int, reason: Reason, why: str) -> None:
        """Add a line of a file that has no definition of its own in the answer."""
        node = self.view.node_at(path, line) if line > 1 else None
        symbol = node.qualified if node is not None and node.kind != FILE_KIND else path
        text = self.view.cite(path, line).text if line > 1 else ""
        region = Region(f"{path}:{line}", path, Span(line, line), symbol, LINE, reason, why, text)
        self.regions.setdefault(f"{reason}:{path}:{line}", region)


def _order(path: str) -> tuple[bool, int]:
    """Code of the package before scripts and examples, and files near the root before deep ones."""
    return role_of(path) is not Role.SOURCE, path.count("/")


def _worth(text: str, signal: str, focus: int) -> tuple[float, ...]:
    """Return the share of the signal's words that each line holds; a word of many lines counts less."""
    words = set(tokens(signal))
    lines = [words.intersection(tokens(line)) for line in text.split("\n")]
    count = Counter(word for held in lines for word in held)
    worth = [sum(1 / count[word] for word in held) for held in lines]
    if 0 <= focus < len(worth):
        worth[focus] += max(1.0, *worth)
    return tuple(worth)


def _copies(view: ResearchView, change: Change) -> Iterator[tuple[str, int, str]]:
    """Yield where else the removed lines stand: the same change may be due there."""
    snapshot, changed = view.reader.snapshot, set(change.paths)
    reader = snapshot.keywords[Corpus.CODE]
    for file in change.files[:MOST_TOO]:
        lines = _telling_lines(file.before)
        words = sorted(set(tokens(" ".join(lines))), key=reader.document_frequency)
        terms = dict.fromkeys([word for word in words if reader.document_frequency(word)][:12], 1.0)
        hits = reader.search(terms, 30) if terms else ()
        for chunk in snapshot.chunks.by_number([number for number, _ in hits]).values():
            own = [line.strip() for line in chunk.text.split("\n")]
            is_copy = len(lines.intersection(own)) >= COPIED * len(lines) and chunk.kind != "outline"
            if is_copy and chunk.path not in changed:
                first = next(at for at, line in enumerate(own) if line in lines)
                yield chunk.path, chunk.start_line + first, "has the lines that were changed"


def _telling_lines(text: str) -> set[str]:
    """Return the lines of removed code that say something; none where they are too few."""
    lines = {line.strip() for line in text.split("\n") if not _TRIVIAL.fullmatch(line.strip())}
    return lines if len(lines) >= LEAST_LINES or sum(map(len, lines)) >= LEAST_CHARS else set()


def _mentions(view: ResearchView, change: Change) -> Iterator[tuple[str, int, str]]:
    """Yield the documents and settings that name what changed."""
    snapshot, changed = view.reader.snapshot, set(change.paths)
    defined = (n.name for n in (*change.gone, *change.nodes) if n.kind in _FUNCTIONS | TYPES)
    names = [n for n in dict.fromkeys(defined) if len(n) > 4 and ("_" in n or not n.islower())]
    for name in names[:5]:
        word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        for corpus, reader in snapshot.keywords.items():
            hits = reader.search(dict.fromkeys(tokens(name)[:1], 1.0), 20)
            for chunk in snapshot.chunks.by_number([number for number, _ in hits]).values():
                is_changelog = role_of(chunk.path) is Role.CHANGELOG  # it describes the past
                prose = not is_changelog and (corpus == Corpus.DOCS or is_data(chunk.language))
                if prose and chunk.path not in changed and (found := word.search(chunk.text)):
                    yield (
                        chunk.path,
                        chunk.start_line + chunk.text[: found.start()].count("\n"),
                        f"names {name}",
                    )
                    break
