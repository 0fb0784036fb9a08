"""Imported indexes, checked against the files that are here: nothing of them is believed.

A file of the archive stays only where the walk admits it, its content is the indexed one, its chunks hold all
of its text, and everything that an answer may show of it is made of its own text. Whatever else it says is
dropped, and the next update cuts that file again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from findspot.chunk.dispatch import MAX_CHUNKS
from findspot.chunk.grammars import grammar_for
from findspot.core.facts import LOCAL, TYPING, Facts, names_of, unpack
from findspot.core.files import content_hash
from findspot.core.languages import row as language_row
from findspot.core.model import ChunkType, Skip, SourceFile, Stamp
from findspot.core.paths import Roots
from findspot.core.settings import Settings
from findspot.core.sqlite import Connection, transaction
from findspot.discover.file_content import masked_part, readable_text
from findspot.discover.root_folder import read_file
from findspot.discover.walk import walk
from findspot.store.edge_rows import EdgeRows
from findspot.store.records import ORDINAL_BITS, chunk_range, lines_of

_WORD = re.compile(r"\w+")
_KIND = re.compile(r"[a-z_ +-]{0,40}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_NAME = re.compile(r"[\w:./@+-]{1,200}")

_META = {
    "model": _NAME, "pipeline": _NAME, "build": re.compile("complete"), "created_at": _TIME,
    "last_full_index": _TIME,
}  # fmt: skip
"""What may be said of an imported index, and how; everything else is left to its runs here."""

_OUTLINE_WORDS = frozenset(
    _WORD.findall(
        "Package Imports package packages Types Functions Constants line lines more class interface struct "
        "enum trait type union module namespace protocol record object function method macro test "
        "constructor property constant variable field"
    )
)
"""What an outline says beside the names of the file."""

_MAX_FILE_ID = 1 << 26
"""Masks over file numbers are as long as the largest one."""

_MAX_SCALE = 1e6


def keep_checked(
    db: Connection,
    roots: Roots,
    settings: Settings,
    walked: tuple[int, Sequence[SourceFile]] | None = None,
    check: Callable[[], object] = lambda: None,
) -> int:
    """Drop all that the files here do not confirm; returns how many files stay.

    `walked` is a walk that is done already: when it began, and the files it found. `check` may raise to stop.
    """
    began_ns, files = walked or (time.time_ns(), walk(roots, settings.discover).files)
    admitted = {file.path: file for file in files}
    with transaction(db):
        _reduce_meta(db)
        db.execute("DELETE FROM skips")
        db.execute("DELETE FROM names")
        EdgeRows(db).clear()
        rows = db.execute("SELECT id, path, corpus, language, sha256 FROM files").fetchall()
        kept: dict[int, Stamp] = {}
        for row in rows:
            check()
            if _is_confirmed(db, row, admitted, roots, settings):
                kept[row[0]] = admitted[row[1]].stamp
        _drop_others(db, set(kept))
        stamps = ((*stamp, number) for number, stamp in kept.items())
        db.executemany(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE id = ?", stamps
        )
        db.execute("INSERT INTO meta VALUES ('scanned_ns', ?)", (str(began_ns),))
    return len(kept)


def _reduce_meta(db: Connection) -> None:
    held = db.execute("SELECT key, value FROM meta").fetchall()
    good = [(k, v) for k, v in held if isinstance(v, str) and k in _META and _META[k].fullmatch(v)]
    db.execute("DELETE FROM meta")
    db.executemany("INSERT INTO meta VALUES (?, ?)", good)


def _drop_others(db: Connection, kept: set[int]) -> None:
    db.execute("CREATE TEMP TABLE kept (id INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO kept VALUES (?)", ((number,) for number in kept))
    db.execute("DELETE FROM files WHERE id NOT IN (SELECT id FROM kept)")
    db.execute(f"DELETE FROM chunks WHERE id >> {ORDINAL_BITS} NOT IN (SELECT id FROM kept)")
    db.execute(f"DELETE FROM symbols WHERE chunk_id >> {ORDINAL_BITS} NOT IN (SELECT id FROM kept)")
    db.execute("DELETE FROM facts WHERE file_id NOT IN (SELECT id FROM kept)")
    db.execute("DELETE FROM pending WHERE file_id NOT IN (SELECT id FROM kept)")
    db.execute("DELETE FROM sqlite_sequence")
    db.execute("INSERT INTO sqlite_sequence VALUES ('files', ?)", (max(kept, default=0),))
    db.execute("DROP TABLE kept")


def _is_confirmed(
    db: Connection,
    row: tuple[object, ...],
    admitted: dict[str, SourceFile],
    roots: Roots,
    settings: Settings,
) -> bool:
    number, path, corpus, language, sha256 = row
    file = admitted.get(path) if isinstance(path, str) else None
    if file is None or not isinstance(number, int) or not 0 < number < _MAX_FILE_ID:
        return False
    if (file.corpus, file.language) != (corpus, language):
        return False
    data = read_file(roots, file, settings.discover.max_file_bytes)
    if isinstance(data, Skip) or content_hash(data) != sha256:
        return False
    text = readable_text(file.path, data, settings.discover.secret_scan)
    if isinstance(text, Skip) or masked_part(file.path, data, text):  # read again, to note what is masked
        return False
    source = _Source(file.path, text)
    try:
        return (
            _chunks_fit(db, number, source)
            and _symbols_fit(db, number, source)
            and _add_names(db, number, source, file.language)
        )
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return False  # rows of other types than ours


class _Source:
    """A file as it is here, and the words that may be said about it."""

    def __init__(self, path: str, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self._words = _WORD.findall(text)
        self._known = {*self._words, *_WORD.findall(path)}
        self._joined = " ".join(self._words)

    def has_lines(self, start: int, end: int, text: str) -> bool:
        """Return whether these lines hold the text: a line that is too long for one chunk is in several."""
        return 1 <= start <= end <= len(self.lines) and text in "\n".join(self.lines[start - 1 : end])

    def is_covered(self, passages: Iterable[tuple[int, int, str]]) -> bool:
        """Return whether passages, in order, hold all of the file but blanks.

        A line may be cut into pieces that say the same, so each is looked for after the one before.
        """
        covered, ends = 0, dict[int, int]()
        for start, end, text in passages:
            begin, stop = self._starts[start - 1], self._starts[end]
            at = self.text.find(text, max(begin, ends.get(start, 0)), stop)
            at = self.text.find(text, begin, stop) if at < 0 else at
            if self.text[covered:at].strip():
                return False
            ends[start] = at + len(text)
            covered = max(covered, ends[start])
        return not self.text[covered:].strip()

    def has_words(self, text: str, others: frozenset[str] = frozenset()) -> bool:
        """Return whether each word of a text is one of the file's, or of these others."""
        return others.issuperset(set(_WORD.findall(text)) - self._known)

    def has_passage(self, text: str | None) -> bool:
        """Return whether the words of a text stand in the file in that order."""
        return text is None or " ".join(_WORD.findall(text)) in self._joined


def _chunks_fit(db: Connection, number: int, source: _Source) -> bool:
    found = db.execute(
        "SELECT start_line, end_line, chunk_type, kind, language, text, symbols, signature, breadcrumb, "
        "doc_comment, tags, context, key, scale FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id",
        chunk_range(number),
    ).fetchall()
    (expected,) = db.execute("SELECT chunks FROM files WHERE id = ?", (number,)).fetchone()
    if len(found) != expected or not all(_chunk_fits(row, source) for row in found):
        return False
    passages = [(row[0], row[1], row[5]) for row in found if row[2] != ChunkType.SYMBOLS]
    return len(found) >= MAX_CHUNKS or source.is_covered(passages)


def _chunk_fits(row: tuple[object, ...], source: _Source) -> bool:
    start, end, chunk_type, kind, language, text, symbols, signature, breadcrumb, doc_comment, *rest = row
    tags, context, key, scale = rest
    strings = (chunk_type, kind, language, text, symbols, tags, context)
    if not all(isinstance(value, str) for value in strings) or not isinstance(key, bytes):
        return False
    if not isinstance(scale, float) or not abs(scale) <= _MAX_SCALE:  # nor is "not a number" within
        return False
    if not (_KIND.fullmatch(str(kind)) and _KIND.fullmatch(str(language))):
        return False
    held = _text_fits(ChunkType(str(chunk_type)), start, end, str(text), source)
    described = source.has_passage(_text(signature)) and source.has_passage(_text(doc_comment))
    named = source.has_words(f"{symbols}\n{_text(breadcrumb) or ''}")
    return held and described and named and all(_NAME.fullmatch(tag) for tag in lines_of(str(tags)))


def _text_fits(chunk_type: ChunkType, start: object, end: object, text: str, source: _Source) -> bool:
    """Return whether a chunk holds lines of its file; an outline holds words of it."""
    if chunk_type is ChunkType.SYMBOLS:
        return source.has_words(re.sub(r"\b\d+\b", "", text), _OUTLINE_WORDS)
    return isinstance(start, int) and isinstance(end, int) and source.has_lines(start, end, text)


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("not text")
    return value


def _symbols_fit(db: Connection, number: int, source: _Source) -> bool:
    found = db.execute(
        "SELECT name, display, kind, line FROM symbols WHERE chunk_id BETWEEN ? AND ?", chunk_range(number)
    )
    return all(
        isinstance(name, str)
        and isinstance(line, int)
        and 1 <= line <= len(source.lines)
        and source.has_words(_text(display) or "")
        and _KIND.fullmatch(kind)
        for name, display, kind, line in found
    )


def _add_names(db: Connection, number: int, source: _Source, language: str) -> bool:
    """Derive the names of a file from its facts, once these are found to speak of the file."""
    row = db.execute("SELECT data FROM facts WHERE file_id = ?", (number,)).fetchone()
    if row is None:
        return not _has_facts(language)
    facts = unpack(row[0])
    if not (source.has_words("\n".join(_shown(facts))) and _lines_fit(facts, len(source.lines))):
        return False
    names = ((name, number, defined, used) for name, defined, used in names_of(facts))
    db.executemany("INSERT INTO names VALUES (?,?,?,?)", names)
    return True


def _has_facts(language: str) -> bool:
    """Return whether a file of a language says something about names, as long as it can be parsed."""
    grammar = grammar_for(language) if language_row(language).grammar else None
    return grammar is not None and grammar.finds_references


def _shown(facts: Facts) -> Iterator[str]:
    """Yield all text of facts that an answer may show."""
    yield facts.package
    for definition in facts.definitions:
        yield f"{definition.name} {definition.scope}"
    for imported in facts.imports:
        yield f"{imported.local} {imported.module} {imported.original}"
    for reference in facts.references:
        yield f"{reference.name} {reference.on}"


def _lines_fit(facts: Facts, count: int) -> bool:
    definitions = all(1 <= each.line <= each.end_line <= count + 1 for each in facts.definitions)
    imports = all(0 <= each.line <= count and each.mark in ("", TYPING, LOCAL) for each in facts.imports)
    return definitions and imports and all(0 <= each.line <= count for each in facts.references)
