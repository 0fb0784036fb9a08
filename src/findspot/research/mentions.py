"""Lines of code that have the name of a definition and that the graph says nothing about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from findspot.core.model import Corpus
from findspot.graph import Node
from findspot.graph.edges import FILE_KIND
from findspot.graph.languages import language_of
from findspot.graph.possible_uses import PossibleUse, called_names
from findspot.rank.roles import reading_order
from findspot.research.research_view import ResearchView
from findspot.store.records import StoredChunk

MOST_MENTIONS = 20
MOST_CHUNKS = 60

_COMMENTS = ("#", "//", "*", "/*", "--", "<!--", '"""', "'''", ";")
_DEFINES = r"\b(?:def|func|fun|function|fn|sub|class|get|set|var|let|const|val)\s+"
_UNREAD = "in a file that the graph does not read"
_UNSAID = "the graph does not follow this use of the name"


def mentions(
    view: ResearchView, nodes: Sequence[Node], known: Collection[tuple[str, int]]
) -> list[PossibleUse]:
    """Return the lines that may use definitions, apart from those that the graph knows.

    In files of a language that the graph reads, they look like a call or name a member.
    """
    files = view.reader.snapshot.files
    homes = (files.find(node.path) for node in nodes)
    families = {language_of(file.language).family for file in homes if file is not None}
    defined = {(d.path, d.start_line) for node in nodes for d in view.graph.find(node.name)}
    found = (
        use
        for name in called_names(view.graph, nodes)
        for chunk in _chunks(view, name)
        for use in _in_chunk(view, chunk, name, families)
        if (use.path, use.line) not in defined and (use.path, use.line) not in known
    )
    return list(islice(dict.fromkeys(found), MOST_MENTIONS))


def _chunks(view: ResearchView, name: str) -> list[StoredChunk]:
    """Return the passages of code with a name, production code first."""
    snapshot = view.reader.snapshot
    hits = snapshot.keywords[Corpus.CODE].search({name.lower(): 1.0}, MOST_CHUNKS)
    chunks = snapshot.chunks.by_number([number for number, _ in hits]).values()
    written = (chunk for chunk in chunks if chunk.kind != "outline")
    return sorted(written, key=lambda chunk: (reading_order(chunk.path), chunk.path, chunk.start_line))


def _in_chunk(
    view: ResearchView, chunk: StoredChunk, name: str, families: Collection[str]
) -> Iterator[PossibleUse]:
    node = view.graph.node(chunk.path)
    word = re.escape(name)
    if node is None:
        used = re.compile(rf"(?<![\w$]){word}(?![\w$])")
    elif language_of(chunk.language).family in families:
        used = re.compile(rf"(?<![\w$]){word}\s*\(|(?:[.?!:]|->){word}(?![\w$])")
    else:
        return
    source = node or Node(chunk.path, 1, 1, chunk.path, chunk.path, FILE_KIND, chunk.path)
    defining = re.compile(rf"{_DEFINES}{word}(?![\w$])")
    for line, text in enumerate(chunk.text.split("\n"), chunk.start_line):
        if used.search(text) and not text.lstrip().startswith(_COMMENTS) and not defining.search(text):
            yield PossibleUse(source, chunk.path, line, _UNSAID if node else _UNREAD)
