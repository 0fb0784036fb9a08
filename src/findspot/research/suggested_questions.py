"""Questions worth asking about a project, made from its own names and doc comments.

Each is tried before it is suggested: the search finds what it describes, and the function has callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile

from findspot.core.model import LIKELY_FROM, Hit, Query
from findspot.graph import Graph
from findspot.rank.roles import Role, role_of
from findspot.search.reader import IndexReader
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import STOP_WORDS

_CANDIDATES = 300
"""Names that are looked at, those that most files use first."""
_QUESTIONS_TRIED, _FUNCTIONS_TRIED = 8, 20
_VERY_GOOD = 0.85
_CALLERS = range(2, 13)
"""Fewer callers are no answer; more are not read."""
_CERTAIN = 0.8
"""The confidence of every call of a suggested function."""
_WORDS = range(4, 11)
"""Words of a question after "how to"."""
_MEANINGFUL_WORDS = 3
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,60}")
"""Public, and safe to paste into any shell."""
_WORD = re.compile(r"[A-Za-z0-9]{2,}(?:-[A-Za-z0-9]+)*|a", re.ASCII)
_SENTENCE = re.compile(r"(.+?)(?:\n\s*\n|[.,:;](?:\s|$)|\Z)", re.DOTALL)
_JOINTS = frozenset(
    {"and", "by", "for", "from", "if", "in", "into", "on", "that", "to", "using", "when", "which", "with"}
)
"""Words before which a long sentence may end."""
_FUNCTION_KINDS = frozenset({"function", "method"})
_VERBS = frozenset(
    re.findall(
        r"\w+",
        """
        add apply assign attach bind build calculate call check clean close collect combine compare compile
        compute configure connect convert copy count create decide decode decorate define delete deliver
        describe detect determine dispatch emit encode ensure escape evaluate execute expand extract fetch
        fill filter find flush format generate handle hash import insert install invoke join limit list load
        lock log look make map match measure merge move normalize notify open parse pass perform prepare
        print process push raise read receive record redirect register release remove rename render replace
        reset resolve resume run save schedule search select send serialize serve set show skip sort split
        start stop store strip test transform translate trim turn update use validate verify wait walk wrap
        write
        """,
    )
)
"""First words of a doc comment that make a question; most comments begin with a verb."""


@dataclass(frozen=True, slots=True)
class _Central:
    """A name that the project defines once, in its sources, and uses in several files."""

    name: str
    kind: str
    files: int
    chunk: StoredChunk

    @property
    def doc_comment(self) -> str:
        """Its doc comment; empty if the chunk has that of another definition."""
        own = (self.chunk.breadcrumb or "").rpartition(" > ")[2] == self.name
        return (self.chunk.doc_comment or "") if own else ""


def suggest_first(reader: IndexReader) -> tuple[str | None, str | None]:
    """Return words to search for, whose best hit is the definition that they describe; and the name of a
    function whose callers are worth a look.
    """
    names = list(_central_names(reader.snapshot))
    return next(iter(_searches(reader, names, 1)), None), _called(reader, names)


def suggest_searches(reader: IndexReader, count: int) -> list[str]:
    """Return up to so many searches, the best first."""
    return _searches(reader, list(_central_names(reader.snapshot)), count)


def _searches(reader: IndexReader, names: list[_Central], count: int) -> list[str]:
    """Return searches for some of the names; questions from doc comments go before bare names."""
    described = ((question_about(each.name, each.doc_comment), each.chunk) for each in names)
    by_comment = ((question, chunk) for question, chunk in described if question)
    by_name = ((f"how does {each.name} work", each.chunk) for each in names)
    best = _best(reader, by_comment, count)
    return best + _best(reader, by_name, count - len(best))


def _best(reader: IndexReader, questions: Iterable[tuple[str, StoredChunk]], count: int) -> list[str]:
    """Return the first very good questions, else the best; each comes with the chunk that answers it."""
    good: list[tuple[float, str]] = []
    for question, chunk in islice(questions, _QUESTIONS_TRIED if count else 0):
        score = _score(reader, question, chunk)
        if score > LIKELY_FROM:
            good.append((score, question))
        if sum(score >= _VERY_GOOD for score, _ in good) == count:
            break
    return [question for _, question in sorted(good, reverse=True)[:count]]


def _called(reader: IndexReader, names: list[_Central]) -> str | None:
    """Return the function whose callers are worth a look: several, and few enough to read."""
    graph, best = Graph(reader.snapshot), (False, 1, "")
    functions = [each for each in names if each.kind in _FUNCTION_KINDS and each.files in _CALLERS]
    for central in functions[:_FUNCTIONS_TRIED]:
        nodes = graph.find(central.name)
        calls = graph.callers(nodes[0]) if len(nodes) == 1 else []
        callers = {call.source for call in calls}
        certain = all(call.confidence >= _CERTAIN for call in calls)
        in_source = sum(role_of(caller.path) is Role.SOURCE for caller in callers)
        if certain and len(callers) in _CALLERS and in_source > 1:
            best = max(best, (bool(central.doc_comment), in_source, central.name))
    return best[2] or None


def _central_names(snapshot: Snapshot) -> Iterator[_Central]:
    """Yield the names that most files use first."""
    for name, files in snapshot.facts.widely_used(_CANDIDATES):
        if not _NAME.fullmatch(name):
            continue
        for definition in snapshot.symbols.definitions([name.lower()]):
            chunk = snapshot.chunks.by_number([definition.number])[definition.number]
            if definition.display == name and role_of(chunk.path) is Role.SOURCE:
                yield _Central(name, definition.kind, files, chunk)
                break


def _score(reader: IndexReader, question: str, chunk: StoredChunk) -> float:
    """Return the score of the best hit of a question if it shows this chunk, else 0."""
    hits = reader.search(Query(question, limit=1)).hits
    return hits[0].score if hits and _shows(hits[0], chunk) else 0.0


def _shows(hit: Hit, chunk: StoredChunk) -> bool:
    return hit.path == chunk.path and hit.span.start <= chunk.end_line and chunk.start_line <= hit.span.end


def question_about(name: str, doc_comment: str) -> str | None:
    """Return the first sentence of a doc comment as a question, or None if it makes none.

    It has words only: it is printed as part of a command, and a comment can hold anything.
    """
    sentence = _SENTENCE.match(doc_comment.strip())
    words = sentence[1].split() if sentence else []
    if words and words[0] == name:
        words = words[1:]
    verb = _base_form(words[0]) if words else None
    if verb is None:
        return None
    kept = _cut([verb, *takewhile(_WORD.fullmatch, words[1:])], whole=len(words))
    meaningful = [word for word in kept if word.lower() not in STOP_WORDS]
    if len(kept) not in _WORDS or len(meaningful) < _MEANINGFUL_WORDS:
        return None
    return f"how to {' '.join(kept)}"


def _base_form(word: str) -> str | None:
    """Return the verb that a word is a form of: `Applies` → `apply`."""
    lower = word.lower()
    forms = (lower, lower.removesuffix("s"), lower.removesuffix("es"), lower.removesuffix("ies") + "y")
    return next((form for form in forms if form in _VERBS), None)


def _cut(words: list[str], whole: int) -> list[str]:
    """Return the words up to the last one that a sentence can end with; the whole one has so many."""
    if len(words) == whole < _WORDS.stop:
        return words
    ends = [at for at in range(_WORDS.start, min(len(words), _WORDS.stop)) if words[at] in _JOINTS]
    kept = words[: ends[-1]] if ends else []
    while kept and kept[-1].lower() in STOP_WORDS:
        kept.pop()
    return kept
