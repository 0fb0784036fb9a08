"""Documents, queries and answers of named indexes, with the errors as their specification words them."""

from __future__ import annotations

import heapq
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, filterfalse
from pathlib import Path
from typing import Any

from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.files import TooLargeError, read_named, reason
from findspot.core.model import Skip, SkipReason
from findspot.core.paths import is_secret_path
from findspot.core.settings import Settings
from findspot.discover.file_content import document_text
from findspot.discover.root_folder import read_file
from findspot.discover.walk import walk
from findspot.text.snippet import listed

_WORD = re.compile(r"\w+")

MAX_MIN_LENGTH = 100


def composed(text: str) -> str:
    """Return a text with each accented letter as one character: decomposed, it would end a word."""
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Splits documents and queries into runs of word characters, as an index's settings say."""

    lowercase: bool = True
    min_length: int = 2

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | None) -> Tokenizer:
        """Read `tokenizer_config`; missing fields have their defaults."""
        known = asdict(cls())
        given = known | dict(config or {})
        if unknown := [name for name in given if name not in known]:
            raise InvalidArgumentError(
                f"Unknown tokenizer_config field: '{unknown[0]}'. Known fields: {', '.join(known)}."
            )
        if not isinstance(given["lowercase"], bool):
            raise InvalidArgumentError("tokenizer_config.lowercase must be true or false")
        return cls(given["lowercase"], _length(given["min_length"]))

    @property
    def config(self) -> dict[str, Any]:
        return asdict(self)

    def words(self, text: str) -> list[str]:
        """Return all words of a text in order, including those that are too short to be tokens."""
        return _WORD.findall(text.lower() if self.lowercase else text)

    def is_token(self, word: str) -> bool:
        """Return whether a word is long enough to score; operators find shorter words too."""
        return len(word) >= self.min_length

    def folded(self, text: str) -> str:
        """Return a text for case-insensitive search, with every character at its position."""
        return text.replace("İ", "I").lower() if self.lowercase else text  # it alone becomes two


def _length(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_MIN_LENGTH:
        raise InvalidArgumentError(
            f"tokenizer_config.min_length must be a whole number from 1 to {MAX_MIN_LENGTH}"
        )
    return value


MAX_QUERY_CHARS = 10_000

_PART = re.compile(r'(?<!\S)([+-]?)"([^"]*)"|(\S+)')
"""A quoted part with an optional operator, or a run without blanks."""

_OPERATED = re.compile(r"([+-])(?=\w)(.*)", re.DOTALL)
"""One sign directly before a word. `--force`, `C++` and a single `-` have no operator."""


Phrase = tuple[str, ...]
"""One or more words in a row, short ones included."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query in the tokens of an index."""

    terms: tuple[str, ...] = ()
    must: tuple[Phrase, ...] = ()
    must_not: tuple[Phrase, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    ignored: tuple[str, ...] = ()
    """Plain terms that are too short to be tokens."""
    scored: tuple[str, ...] = ()
    """Every token that adds to a score; a repeated one counts twice."""

    @property
    def required(self) -> tuple[Phrase, ...]:
        return self.must + self.phrases

    @property
    def shown(self) -> list[Phrase]:
        """The words and whole phrases for highlights."""
        return [*((term,) for term in self.terms), *self.required]

    @property
    def warning(self) -> str | None:
        """A warning about terms that are ignored."""
        if not self.ignored:
            return None
        words = ", ".join(dict.fromkeys(self.ignored))
        return (
            f"Too short to be searched for by themselves, so ignored: {words}. "
            'Require them as +word or "word".'
        )


def parse(query: str, tokenizer: Tokenizer) -> ParsedQuery:
    """Parse a query; if an operator precedes several joined words, they are a phrase.

    Words that are too short to be tokens count in operators and phrases, and score nothing.
    """
    terms: list[str] = []
    operated: dict[str, list[Phrase]] = {"+": [], "-": [], "": []}
    for quoted_sign, quoted, word in _PART.findall(composed(query[:MAX_QUERY_CHARS])):
        found = _OPERATED.fullmatch(word) if word else None
        if word and not found:
            terms.extend(tokenizer.words(word))
            continue
        sign, text = found.groups() if found else (quoted_sign, quoted)
        if words := tokenizer.words(text):
            operated[sign].append(tuple(words))
    required = chain.from_iterable((*operated["+"], *operated[""]))
    return ParsedQuery(
        tuple(filter(tokenizer.is_token, terms)),
        tuple(operated["+"]),
        tuple(operated["-"]),
        tuple(operated[""]),
        ignored=tuple(filterfalse(tokenizer.is_token, terms)),
        scored=tuple(filter(tokenizer.is_token, (*terms, *required))),
    )


_MOST_NAMED = 20


class UnknownIndexError(FindspotError):
    code = "INDEX_NOT_FOUND"

    def __init__(self, name: str, known: Sequence[str] = ()) -> None:
        there = f" There are: {listed(known, _MOST_NAMED)}." if known else ""
        super().__init__(f"Index not found: {name}", hint=f"Create it first, or check its name.{there}")


class DamagedIndexError(FindspotError):
    code = "INDEX_CORRUPT"

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(
            f"The index '{name}' is damaged and cannot be read.",
            detail,
            hint=f"Drop it with `findspot documents drop {name}` and add its documents again.",
        )


BLANK_CONTENT = "Content must be a non-empty string"
MAX_ID_CHARS = 1_024
MAX_CONTENT_CHARS = 10_000_000
MAX_METADATA_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Document:
    """One document; created with `checked`, so that an index only gets valid ones."""

    doc_id: str
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def checked(cls, doc_id: object, content: object, metadata: object = None) -> Document:
        """Return a valid document; raise an error that names the invalid part."""
        if not isinstance(content, str) or not content.strip():
            raise InvalidArgumentError(BLANK_CONTENT)
        if not isinstance(doc_id, str) or not doc_id.strip():
            raise InvalidArgumentError("doc_id must be a non-empty string")
        if not isinstance(metadata, dict | None):
            raise InvalidArgumentError("metadata must be an object")
        if len(doc_id) > MAX_ID_CHARS:
            raise InvalidArgumentError(f"doc_id is longer than {MAX_ID_CHARS:,} characters")
        if len(content) > MAX_CONTENT_CHARS:
            raise InvalidArgumentError(
                f"Content is longer than {MAX_CONTENT_CHARS:,} characters; split it into several documents"
            )
        document = cls(_encodable(doc_id), _encodable(content), metadata or {})
        if len(document.metadata_json) > MAX_METADATA_CHARS:
            raise InvalidArgumentError(f"metadata is longer than {MAX_METADATA_CHARS:,} characters of JSON")
        return document

    @property
    def metadata_json(self) -> str:
        """The metadata as it is stored."""
        try:
            return json.dumps(self.metadata)
        except (TypeError, ValueError):
            raise InvalidArgumentError("metadata must hold JSON values only") from None


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """The result of adding a document."""

    doc_id: str
    token_count: int
    replaced: bool

    @property
    def status(self) -> str:
        """`re-indexed` for a document that replaced one, else `indexed`."""
        return "re-indexed" if self.replaced else "indexed"


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One entry of the list of indexes."""

    name: str
    backend: str
    documents: int
    storage_bytes: int


def _encodable(text: str) -> str:
    """Compose accents, and replace halves of surrogate pairs, which cannot be stored, by question marks."""
    return composed(text).encode("utf-8", "replace").decode("utf-8")


MAX_HIGHLIGHTS = 3
AROUND_CHARS = 30
CUT = "..."


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """One ranked document."""

    doc_id: str
    score: float
    highlights: tuple[str, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The best documents, and the number of all matches."""

    results: tuple[FoundDocument, ...]
    total_matches: int
    query: ParsedQuery


def highlights(content: str, wanted: Iterable[Sequence[str]], tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the first excerpts around words and phrases; they do not overlap."""
    text = tokenizer.folded(content)
    excerpts: list[str] = []
    shown_to = -1
    for start, end in heapq.merge(*(_spans(text, words) for words in dict.fromkeys(map(tuple, wanted)))):
        if start < shown_to:
            continue
        first, last = max(0, start - AROUND_CHARS), min(len(content), end + AROUND_CHARS)
        before, after = CUT if first else "", CUT if last < len(content) else ""
        excerpts.append(f"{before}{content[first:last]}{after}")
        shown_to = last
        if len(excerpts) == MAX_HIGHLIGHTS:
            break
    return tuple(excerpts)


def _spans(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where words occur in a row: a document may have ten million characters.

    The pattern begins with a literal, which the engine looks for fast; that it begins a word is checked here.
    """
    row = re.compile(r"\W+".join(map(re.escape, words)) + r"(?!\w)")
    for found in row.finditer(text):
        before = text[found.start() - 1] if found.start() else ""
        if not (before.isalnum() or before == "_"):
            yield found.span()


MAX_FILE_BYTES = 10_000_000

_WORDS = {
    SkipReason.DENIED: "never indexed",
    SkipReason.BINARY: "no text",
    SkipReason.TOO_LARGE: f"larger than {MAX_FILE_BYTES // 1_000_000} MB",
    SkipReason.GITIGNORED: "ignored by",
    SkipReason.SECRET: "",
    SkipReason.EMPTY: "empty",
}


def folder_documents(folder: Path, pattern: str, settings: Settings) -> Iterator[Document | Skip]:
    """Yield the documents of a folder, named by their relative paths, and the skipped files with reasons.

    The deny list, the ignore files and the secret scan apply as in a project.
    """
    wanted = replace(
        settings.discover, include=(pattern,), exclude=(), index_docs=True, max_file_bytes=MAX_FILE_BYTES
    )
    found = walk(folder, wanted)
    yield from (skip for skip in found.skips if skip.reason is not SkipReason.NOT_INCLUDED)
    for file in found.files:
        data = read_file(folder, file, MAX_FILE_BYTES)
        if isinstance(data, Skip):
            yield data
        else:
            yield bytes_document(file.path, data, settings)


def file_document(path: Path, doc_id: str, settings: Settings) -> Document | Skip:
    """Return the document in a file that the user named; a secret file is left out."""
    if any(is_secret_path(named.as_posix()) for named in (path.absolute(), path.resolve())):
        return Skip(str(path), SkipReason.DENIED, "a file that holds secrets by its name")
    try:
        data = read_named(path, MAX_FILE_BYTES)
    except TooLargeError:
        return Skip(str(path), SkipReason.TOO_LARGE)
    except OSError as error:
        return Skip(str(path), SkipReason.UNREADABLE, reason(error))
    return bytes_document(doc_id, data, settings)


def bytes_document(doc_id: str, data: bytes, settings: Settings) -> Document | Skip:
    text = document_text(doc_id, data, settings.discover.secret_scan)
    return text if isinstance(text, Skip) else Document.checked(doc_id, text)


def in_words(skip: Skip) -> str:
    words = _WORDS.get(skip.reason, skip.reason.replace("_", " "))
    detail = "" if skip.reason in (SkipReason.BINARY, SkipReason.TOO_LARGE, SkipReason.EMPTY) else skip.detail
    separator = " " if words.endswith(" by") else ": "
    return separator.join(part for part in (words, detail) if part)
