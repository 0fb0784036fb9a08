"""The answer to a relation and a symbol: what is certain, what is possible, and what the graph cannot say."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from findspot.core.languages import language_of as file_language
from findspot.core.languages import row
from findspot.core.model import Corpus
from findspot.core.paths import SCHEME
from findspot.graph import Node, Relation
from findspot.graph.edges import FILE_KIND, Unresolved
from findspot.graph.languages import language_of
from findspot.graph.possible_uses import PossibleUse, PossibleUses
from findspot.graph.resolve import EXTERNAL
from findspot.graph.source_view import VALUE_KINDS
from findspot.graph.values import FLOOR
from findspot.rank.roles import reading_order
from findspot.research import sentences
from findspot.research.findings import FORWARD, Aim, Findings, Inquiry
from findspot.research.graph_walks import definitions_of, follow
from findspot.research.research_view import ResearchView
from findspot.store.records import StoredChunk, last_name
from findspot.text.snippet import cut, listed
from findspot.text.tokens import tokens

MOST_STARTS = 20
"""Definitions of one name that are followed; a name with more of them needs a type before it."""

_FEW_PLACES = 10
_OTHERWISE = {
    Aim.IMPLEMENTATIONS: Aim.OVERRIDES,
    Aim.CALLERS: Aim.IMPORTERS,
    Aim.USES: Aim.IMPORTERS,
    Aim.CALLEES: Aim.IMPORTS,
}
_USED = (Aim.CALLERS, Aim.USES)
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_ABBREVIATED = frozenset({"css", "html", "json", "php", "scss", "sql", "toml", "xml", "yaml"})
_TITLES = {"csharp": "C#", "cpp": "C++", "tsx": "TypeScript"}


def meant(view: ResearchView, name: str, aim: Aim) -> tuple[Aim, list[Node], str]:
    """Return what is asked about which definitions of a name, those of the folder if there are any.

    Methods are implemented by what overrides them, and files are used by what imports them. A sentence says
    what else a reader should know about the choice.
    """
    found = definitions_of(view.graph, name, aim)
    if aim is Aim.IMPORTS and (functions := _functions_named(view, name)):  # they depend on what they call
        aim, found = Aim.CALLEES, functions
    other = _OTHERWISE.get(aim)
    if not found and other and (found := definitions_of(view.graph, name, other)):
        aim = other
    found = found or view.graph.find(name)
    inside = [node for node in found if view.trail.covers(node.path)]
    note = ""
    if found and not inside:
        note = f"{view.trail.under} does not define it; this is about the definition elsewhere."
    inside = inside or found
    if len(inside) > MOST_STARTS:
        note = f"{len(inside)} definitions have that name; the first {MOST_STARTS} are followed."
    return aim, inside[:MOST_STARTS], note


def _functions_named(view: ResearchView, name: str) -> list[Node]:
    """Return the definitions of a name that is that of functions alone, and of no file or module."""
    is_file = "#" not in name and view.graph.node(name) is not None
    if is_file or view.graph.symbols.modules(name):
        return []
    found = definitions_of(view.graph, name, Aim.CALLEES)
    return found if all(node.kind in _FUNCTIONS for node in found) else []


def unknown_symbol(view: ResearchView, name: str) -> str:
    """Return that a symbol or file is not in the index, and the names that are close to it."""
    near = view.graph.symbols.near(name)
    close = f" Did you mean {sentences.named(near)}?" if near else ""
    if _names_file(name):
        return f"No indexed file {name}.{in_packages(view, name) or close}"
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    seen = next((f", but the word is in {c.path}" for c in _chunks(view, name) if word.search(c.text)), "")
    return f"No definition named {cut(name, 400)} in the index{seen}.{in_packages(view, name) or close}"


def answer_by_name(view: ResearchView, name: str, inquiry: Inquiry) -> Findings | None:
    """Return the lines with a name that the index has and the graph does not; None where neither has it."""
    starts = unread(view, name, inquiry)
    if not starts:
        return None
    languages = {file_language(node.path) for node in starts if view.graph.node(node.path) is None}
    unknown = f"The graph does not read {' and '.join(sorted(map(_titled, languages)))}"
    if not languages:
        unknown = f"The graph has no edges for this {starts[0].kind}"
    if starts[0].kind == FILE_KIND:
        return Findings(summary=f"{name} is indexed. {unknown}, so what refers to it is not known.")
    known = {(node.path, node.start_line) for node in starts}
    lines = mentions(view, starts, known) if inquiry.relation not in FORWARD else []
    places = [use for use in lines if inquiry.include_tests or not use.in_test]
    most = "at least " if len(lines) == MOST_MENTIONS else ""
    found = f"{most}{sentences.counted(len(places), 'line')} with its name, listed below"
    if not places:
        found = "no other line" if inquiry.relation not in FORWARD else "what it refers to is not known"
    return Findings(
        summary=f"{sentences.named(starts, sentences.FEW)} is found by its name alone: {found}. {unknown}.",
        possible=tuple(view.possible(use, use.reason, use.confidence) for use in places),
    )


def unread(view: ResearchView, name: str, inquiry: Inquiry) -> list[Node]:
    """Return the file or the definitions of a name that the index has and the graph does not.

    A question in words is not about the sections and keys that have one of them for a name.
    """
    snapshot = view.reader.snapshot
    if snapshot.files.find(name) is not None:
        return [Node(name, 1, 1, name, name, FILE_KIND, name)] if view.graph.node(name) is None else []
    files = snapshot.files.by_id
    places = view.graph.symbols.spelled(name)
    if not places:
        last = re.split(r"[.:#/]+", name.strip())[-1]
        named = (place for place in snapshot.symbols.places(last.lower()) if last_name(place.name) == last)
        places = [p for p in named if p.file_id in files and view.graph.node(files[p.file_id].path) is None]
    if not places and inquiry.relation:
        places = snapshot.chunks.headed(name)
    homes = ((files[place.file_id].path, place) for place in places if place.file_id in files)
    return [
        Node(path, place.line, place.line, _word(place.name), place.name, place.kind, f"{path}:{place.line}")
        for path, place in sorted(homes, key=lambda home: (reading_order(home[0]), home[0]))
    ][:MOST_STARTS]


def _word(name: str) -> str:
    """Return what code writes for a name: its last part, or all of a title."""
    return last_name(name) if re.fullmatch(r"[\w.:\\#?!]+", name) else name


def _names_file(name: str) -> bool:
    """Return whether a name is a file's: it has an ending of source files. `Point.c` may be a member."""
    stem, _, ending = name.rpartition(".")
    is_path = "/" in name or len(ending) > 1
    return bool(stem) and is_path and bool(row(file_language(name)).grammar)


def in_packages(view: ResearchView, name: str) -> str:
    """Return where a dependency defines a qualified name, such as `requests.get`, and where it is used."""
    describe = view.reader.describe_external
    module, *names = name.split(".")
    languages = view.reader.snapshot.files.languages() if describe is not None and names else ()
    answers = (describe(language, module, names) for language in languages) if describe is not None else ()
    found = next(filter(None, answers), "")
    defined = f" A dependency defines it: {found}" if found.startswith(SCHEME) else ""
    if found and not defined:
        defined = f" A dependency that cannot be read may define it ({found})."
    uses = view.graph.leftovers.outside_uses(name)
    places = list(dict.fromkeys(f"{use.path}:{use.line}" for use in uses))
    used = f" Used at {listed(places, _FEW_PLACES)}." if places else ""
    return f"{defined}{used}"


def answer_relation(view: ResearchView, aim: Aim, starts: Sequence[Node], inquiry: Inquiry) -> Findings:
    """Follow a relation from the starts; where it may go on unseen, say so."""
    trail = view.trail
    chains = follow(aim, starts, trail)
    uses = _possible(view, aim, starts) if trail.floor <= FLOOR else PossibleUses()
    shown = [use for use in uses.places if inquiry.include_tests or not use.in_test]
    summary = sentences.of_relation(aim, starts, trail, replace(uses, places=shown))
    if tests := len(trail.tests_left_out) + len(uses.places) - len(shown):
        summary += f" {sentences.counted(tests, 'place')} in tests left out."
    summary += _about_languages(view, starts)
    if view.graph.given_up:
        summary += f" {sentences.counted(view.graph.given_up, 'reference')} could not be followed."
    unresolved = unresolved_calls(view, starts, external=True) if aim is Aim.CALLEES else []
    return Findings(
        summary=summary,
        chains=tuple(chains),
        possible=tuple(view.possible(use, use.reason, use.confidence) for use in shown),
        unresolved=tuple(unresolved),
        relation=aim,
    )


def _possible(view: ResearchView, aim: Aim, starts: Sequence[Node]) -> PossibleUses:
    """Return the places that may be related as well, apart from those of the trail."""
    if aim is Aim.IMPORTERS:
        importing = {edge.path for edge in view.trail.edges}
        naming = (use for node in starts for use in view.graph.doubts.importers(node.path))
        return PossibleUses([use for use in dict.fromkeys(naming) if use.path not in importing])
    return _possible_uses(view, aim, starts) if aim in _USED else PossibleUses()


def _possible_uses(view: ResearchView, aim: Aim, starts: Sequence[Node]) -> PossibleUses:
    uses = view.graph.doubts.callers(starts)
    known = {(edge.path, edge.line) for edge in view.trail.edges}
    uses.places = [use for use in uses.places if (use.path, use.line) not in known]
    values = any(node.kind in VALUE_KINDS for node in starts)
    if values or view.graph.doubts.is_read(starts):
        listed = {*known, *((use.path, use.line) for use in uses.places)}
        read = mentions(view, starts, listed, named=values and aim is Aim.USES)
        uses.places += read
        uses.complete = uses.complete and len(read) < MOST_MENTIONS and (bool(read) or not values)
    if not (known or uses.places or values):
        seen = view.graph.doubts.named_references(starts)
        found = mentions(view, starts, seen)
        uses.places, uses.elsewhere = found, len(seen)
        uses.complete = len(found) < MOST_MENTIONS
    return uses


def _about_languages(view: ResearchView, starts: Sequence[Node]) -> str:
    """Return in which languages calls are found by name."""
    files = (view.reader.snapshot.files.find(node.path) for node in starts)
    by_name = sorted({file.language for file in files if file and language_of(file.language).by_name})
    return f" Calls in {' and '.join(map(_titled, by_name))} are found by name." if by_name else ""


def _titled(language: str) -> str:
    return language.upper() if language in _ABBREVIATED else _TITLES.get(language, language.capitalize())


def unresolved_calls(view: ResearchView, starts: Sequence[Node], *, external: bool = False) -> list[str]:
    """Return the calls that the graph does not follow, with the reason."""
    found = [unknown for node in starts for unknown in view.graph.unresolved(node)]
    calls = (u for u in found if u.relation is Relation.CALL and (external or u.reason != "external"))
    return list(dict.fromkeys(f"{u.name} ({u.path}:{u.line}): {_target(view, u)}" for u in calls))


def _target(view: ResearchView, use: Unresolved) -> str:
    """Return where a package defines what is used, else why the graph does not follow it."""
    describe = view.reader.describe_external
    imported = (
        view.graph.leftovers.import_of(use) if use.reason == EXTERNAL and describe is not None else None
    )
    file = view.reader.snapshot.files.find(use.path)
    if imported is None or describe is None or file is None:
        return use.reason
    return describe(file.language, *imported) or use.reason


MOST_MENTIONS = 20
MOST_CHUNKS = 60

_COMMENTS = ("#", "//", "*", "/*", "--", "<!--", '"""', "'''", ";")
_DEFINES = r"\b(?:def|func|fun|function|fn|sub|class|get|set|var|let|const|val)\s+"
_UNREAD = "in a file that the graph does not read"
_UNSAID = "the graph does not follow this use of the name"
_BY_NAME = "found by its name"


def mentions(
    view: ResearchView, nodes: Sequence[Node], known: Collection[tuple[str, int]], *, named: bool = False
) -> list[PossibleUse]:
    """Return the lines that may use definitions, apart from those that the graph knows.

    In files of a language that the graph reads, they look like a call or name a member; `named`, any line
    with the name will do: of a member in its own file, of others where no other definition hides it.
    """
    files = view.reader.snapshot.files
    homes = filter(None, (files.find(node.path) for node in nodes))
    languages = {language_of(file.language) for file in homes}
    families = {language.family for language in languages}
    near = {node.path for node in nodes} | _importing(view, nodes)
    alike = [d for node in nodes for d in view.graph.find(node.name)]
    defined = {(d.path, d.start_line) for d in alike}
    may_name = _naming(nodes, near, alike, shared="project" in {each.shares for each in languages})
    found = (
        use
        for name in view.graph.doubts.called_names(nodes) or sorted({node.name for node in nodes})
        for chunk in sorted(_chunks(view, name), key=lambda chunk: chunk.path not in near)
        for use in _in_chunk(view, chunk, name, families, named and may_name(chunk.path))
        if (use.path, use.line) not in defined and (use.path, use.line) not in known
    )
    return list(islice(dict.fromkeys(found), MOST_MENTIONS))


def _importing(view: ResearchView, nodes: Sequence[Node]) -> set[str]:
    return {edge.path for node in nodes for edge in view.graph.references_to(node, (Relation.IMPORT,))}


def _naming(
    nodes: Sequence[Node], near: set[str], alike: Sequence[Node], *, shared: bool
) -> Callable[[str], bool]:
    """Return whether the file at a path may name definitions; `shared`, what nests them is seen anywhere."""
    whole = shared or all(node.qualified == node.name for node in nodes)
    hiding = {d.path for d in alike if shared or d.qualified == d.name}
    return lambda path: path in near or (whole and path not in hiding)


def _chunks(view: ResearchView, name: str) -> list[StoredChunk]:
    """Return the passages of code with a name, production code first."""
    snapshot = view.reader.snapshot
    words = tokens(name) if " " in name else tokens(name)[:1]
    hits = snapshot.keywords[Corpus.CODE].search(dict.fromkeys(words, 1.0), MOST_CHUNKS)
    chunks = snapshot.chunks.by_number([number for number, _ in hits]).values()
    written = (chunk for chunk in chunks if chunk.kind != "outline")
    return sorted(written, key=lambda chunk: (reading_order(chunk.path), chunk.path, chunk.start_line))


def _in_chunk(
    view: ResearchView, chunk: StoredChunk, name: str, families: Collection[str], named: bool
) -> Iterator[PossibleUse]:
    node = view.graph.node(chunk.path)
    word = re.escape(name)
    if node is None or (named and language_of(chunk.language).family in families):
        used = re.compile(rf"(?<![\w$]){word}(?![\w$])")
    elif language_of(chunk.language).family in families:
        used = re.compile(rf"(?<![\w$]){word}\s*\(|(?:[.?!:]|->){word}(?![\w$])")
    else:
        return
    unread = Node(chunk.path, 1, 1, chunk.path, chunk.path, FILE_KIND, chunk.path)
    reason = (_BY_NAME if named else _UNSAID) if node else _UNREAD
    defining = re.compile(rf"{_DEFINES}{word}(?![\w$])")
    for line, text in enumerate(chunk.text.split("\n"), chunk.start_line):
        fits = len(text) <= 1_000 and used.search(text) and not defining.search(text)
        if fits and not text.lstrip().startswith(_COMMENTS):
            source = view.node_at(chunk.path, line) if node else None
            yield PossibleUse(source or unread, chunk.path, line, reason)
