"""The values that flow through Findspot: frozen, plain, free of I/O."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeVar

from findspot.core.errors import InvalidArgumentError
from findspot.core.facts import Facts
from findspot.core.paths import SCHEME, package_of

Choice = TypeVar("Choice", bound=StrEnum)


FROM_INDEX = "index"
"""Made without a language model, from what the index itself holds."""


@dataclass(frozen=True, slots=True)
class Assistance:
    """What a search wants beside its results."""

    expand: bool = False
    synthesize: bool = False

    def __bool__(self) -> bool:
        return self.expand or self.synthesize


NO_ASSISTANCE = Assistance()


@dataclass(frozen=True, slots=True)
class Expansion:
    """Words that were searched for beside those of the query."""

    terms: tuple[str, ...]
    made_by: str = FROM_INDEX


@dataclass(frozen=True, slots=True)
class CodeReference:
    """A line that a statement stands on."""

    path: str
    line: int
    text: str
    symbol: str | None = None


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The results in a few sentences, with the lines that they stand on."""

    summary: str
    code_references: tuple[CodeReference, ...]
    follow_ups: tuple[str, ...]
    made_by: str = FROM_INDEX


class Corpus(StrEnum):
    """The two bodies of text of one project; one pipeline serves both."""

    CODE = "code"
    DOCS = "docs"


class ChunkType(StrEnum):
    """What a chunk holds; also the names of the four chunk files."""

    DEFINITIONS = "definitions"
    DATA = "data"
    SYMBOLS = "symbols"
    DOCUMENTATION = "documentation"


class SkipReason(StrEnum):
    """Why a file, or a part of it, is not in the index; the value is what users see and filter by."""

    DENIED = "denied"
    EXCLUDED = "excluded"
    GITIGNORED = "gitignored"
    REPOSITORY = "repository"
    """A folder with its own `.git`: a project of its own."""
    IGNORE_FILE = "ignore_file"
    """A folder whose ignore file cannot be used, so that nothing tells what in it to leave out."""
    BINARY = "binary"
    TOO_LARGE = "too_large"
    NOT_INCLUDED = "not_included"
    DOCS_DISABLED = "docs_disabled"
    SYMLINK = "symlink"
    NOT_REGULAR = "not_regular"
    TOO_DEEP = "too_deep"
    UNSAFE_NAME = "unsafe_name"
    LFS_POINTER = "lfs_pointer"
    SECRET = "secret"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    VANISHED = "vanished"
    WORKER_CRASHED = "worker_crashed"
    WORKER_TIMEOUT = "worker_timeout"
    CHUNK_LIMIT = "chunk_limit"
    """Indexed up to a limit."""
    MINIFIED = "minified"
    """Indexed with its first passage alone."""
    MASKED = "masked"
    """Indexed without the secrets in it."""


@dataclass(frozen=True, slots=True)
class Skip:
    """A file (or, with a trailing slash, a whole folder) left out, and why."""

    path: str
    reason: SkipReason
    detail: str = ""

    @property
    def told(self) -> str:
        """Why, in the words that there are."""
        return self.detail or str(self.reason)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Lines of a file, 1-based and inclusive at both ends."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that discovery admitted, as the directory listing described it."""

    path: str
    corpus: Corpus
    language: str
    size: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.size, self.mtime_ns, self.ctime_ns, self.inode)


class Stamp(NamedTuple):
    """By what a file is taken to be unchanged, without reading it.

    Size and time of writing can be set back to what they were (`cp -p`, `rsync -t`, reproducible builds); the
    time of the last change of any kind and the number of the file cannot. Both are 0 where they are unknown:
    on Windows, and in an index that other machines share.
    """

    size: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0

    @classmethod
    def of(cls, info: os.stat_result) -> Stamp:
        if sys.platform == "win32":  # a listing of a folder has no file numbers there
            return cls(info.st_size, info.st_mtime_ns)
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino & _LARGEST_INTEGER)

    def still(self, stored: Stamp) -> bool:
        """Return whether a file of this stamp is as it was when it had the stored one."""
        return self == stored or (not stored.inode and self[:2] == stored[:2])


_LARGEST_INTEGER = (1 << 63) - 1
"""Of a database."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name defined in a file, at the line where its definition starts."""

    name: str
    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one file: its exact lines, and what is known about them.

    `context` is the capsule (package, enclosing types, used imports): it is embedded and
    keyword-indexed with the text, and never shown.
    """

    path: str
    span: Span
    text: str
    chunk_type: ChunkType
    kind: str
    language: str
    symbols: tuple[Symbol, ...] = ()
    signature: str | None = None
    breadcrumb: str | None = None
    doc_comment: str | None = None
    tags: tuple[str, ...] = ()
    context: str = ""


def chunk_id(path: str, start: int, end: int, chunk_type: str, text: str) -> str:
    """Return a chunk's UUID-shaped id: the same place and content give the same one."""
    key = f"{path}\0{start}\0{end}\0{chunk_type}\0{text}"
    digest = bytearray(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:16])
    # Version 8, of an application's own making, which `uuid` itself takes from Python 3.14 on.
    digest[6], digest[8] = digest[6] & 0x0F | 0x80, digest[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(digest)))


@dataclass(frozen=True, slots=True)
class ChunkedFile:
    """What chunking one file gives: its chunks, and a Skip when some of it was left out."""

    chunks: tuple[Chunk, ...]
    skip: Skip | None = None
    facts: Facts | None = None
    """What it says about names, where its language has a query of references."""


class Mode(StrEnum):
    """How a query is matched."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    REGEX = "regex"


class IncludeTests(StrEnum):
    """Whether test files are ranked down (`auto`), treated like others, or left out."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"


class GroupBy(StrEnum):
    """What each result of a code search is: a passage, a file or a definition."""

    PASSAGE = "passage"
    FILE = "file"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Query:
    """One search, with everything that can change its answer."""

    text: str
    corpus: Corpus = Corpus.CODE
    limit: int = 10
    offset: int = 0
    mode: Mode = Mode.HYBRID
    semantic_weight: float | None = None
    extensions: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    path_filter: str | None = None
    exclude: str | None = None
    under: str | None = None
    similar_to: str | None = None
    include_tests: IncludeTests = IncludeTests.AUTO
    explain: bool = False
    changed_since: str | None = None
    """A revision of git: only files that are not as they were then."""
    only: frozenset[str] | None = None
    """The paths that may answer, where they are known by name."""
    related: bool = False
    """Whether the best hits come with the constants that they use, their callers and what they call."""
    group_by: GroupBy = GroupBy.PASSAGE
    """What each result is; of documentation, always a passage."""
    dependency: str | None = None
    """The package to search instead of the project: `requests`, `requests@2.32.3`; `*`: all direct ones."""
    also: tuple[str, ...] = ()
    """Words that mean alike: looked for too, and counting less than the text's own."""

    def __post_init__(self) -> None:
        """Read what may be spelled in several ways, so that it means the same from every caller."""
        mode, weight = one_of(Mode, "mode", self.mode), _weight(self.semantic_weight)
        if mode is Mode.HYBRID and weight in (0, 1):
            mode = Mode.SEMANTIC if weight else Mode.KEYWORD
        dependency = self.dependency
        if dependency is None and self.similar_to is not None and self.similar_to.startswith(SCHEME):
            dependency = package_of(self.similar_to)
        values = {
            "semantic_weight": weight,
            "corpus": one_of(Corpus, "corpus", self.corpus),
            "mode": mode,
            "include_tests": include_tests(self.include_tests),
            "group_by": one_of(GroupBy, "group_by", self.group_by or GroupBy.PASSAGE),
            "extensions": tuple(filter(None, (word.lstrip("*.") for word in words_of(self.extensions)))),
            "languages": tuple(words_of(self.languages)),
            "dependency": dependency,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _weight(given: float | str | None) -> float | None:
    """Return the weight of meaning; a page sends it as text."""
    try:
        weight = None if given is None else float(given)
    except ValueError:
        weight = -1.0
    if weight is not None and not 0 <= weight <= 1:  # nor is "not a number" in between
        raise InvalidArgumentError("semantic_weight must be a number from 0 to 1.")
    return weight


def include_tests(given: str | bool) -> IncludeTests:
    """Return what is to be done with tests, by its name; true and false mean `yes` and `no`."""
    if isinstance(given, bool):
        return IncludeTests.YES if given else IncludeTests.NO
    return one_of(IncludeTests, "include_tests", given)


def one_of(kind: type[Choice], name: str, given: str) -> Choice:
    try:
        return kind(given)
    except ValueError:
        raise InvalidArgumentError(f"'{name}' must be one of {', '.join(kind)}.", str(given)) from None


def storable(text: str) -> str:
    """Return a text without the halves of characters that one from a terminal may have."""
    return text.encode("utf-8", "replace").decode()


def words_of(given: str | Iterable[str]) -> list[str]:
    """Return the items of a list: `py, ts`, `py ts` and one item each mean the same."""
    texts = (given,) if isinstance(given, str) else given
    return [word for text in texts for word in re.split(r"[,\s]+", text) if word]


class Strength(StrEnum):
    """How far to trust a hit, in a word; its score has the number."""

    STRONG = "strong"
    LIKELY = "likely"
    WEAK = "weak"

    @classmethod
    def of(cls, score: float) -> Strength:
        """Return the word for a calibrated score, wherever it is shown."""
        if score >= STRONG_FROM:
            return cls.STRONG
        return cls.LIKELY if score >= LIKELY_FROM else cls.WEAK


STRONG_FROM = 0.7
LIKELY_FROM = 0.2
"""The score is the probability that a hit is right. Nine of ten questions that a project cannot answer get
only weak hits, and one to three of a hundred right first hits are weak (`benchmarks/README.md`)."""

NOTHING_FITS = "Nothing in the index fits this well; the nearest results follow."


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer: a chunk (or merged neighbours) with its calibrated score."""

    path: str
    span: Span
    text: str
    score: float
    kind: str
    language: str
    symbols: tuple[str, ...] = ()
    signature: str | None = None
    breadcrumb: str | None = None
    doc_comment: str | None = None
    why: dict[str, float] | None = None
    focus: int | None = None
    """The line that matches best; what a shortened text keeps."""
    focus_column: int = 0
    """Where the best passage begins in that line, if it is long."""
    lines: tuple[int, ...] = ()
    """The lines that match, where the query is a pattern."""
    definition: Span | None = None
    """The lines of the definition that it is named after, where the text holds them."""
    declared: int | None = None
    """The line with the name of that definition, below the comments about it."""
    overview: str | None = None
    """What a file's header is shown as: its description and what the file defines."""
    constants: tuple[CodeReference, ...] = ()
    """Constants that its lines use, where they are defined."""
    callers: tuple[CodeReference, ...] = ()
    """Some of the places that call what it defines."""
    callees: tuple[CodeReference, ...] = ()
    """Functions that it calls, where they are defined."""
    last_change: str = ""
    """The newest commit that changed what it defines: date, number and subject."""
    via: str = ""
    """The commit whose message led to it: number and subject."""
    more: tuple[str, ...] = ()
    """Where else its file matches, where results are files: lines, and the definition there."""
    relative: float = 1.0
    """Its value in the ranking, as a share of the best hit's."""
    project: str | None = None
    """The member of a workspace that it is from, where several were asked."""

    @property
    def symbol(self) -> str | None:
        """The qualified name of what it shows: of a definition, or the heading of a section."""
        return self.breadcrumb.replace(" > ", ".") if self.breadcrumb else None

    @property
    def strength(self) -> Strength:
        """The score in a word."""
        return Strength.of(self.score)

    @property
    def relevance_percent(self) -> int:
        """The score as people read it."""
        return round(100 * self.score)


@dataclass(frozen=True, slots=True)
class Results:
    """A page of hits over one snapshot of the index."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    total: int
    elapsed_ms: float
    warning: str | None = None
    expansion: Expansion | None = None
    synthesis: Synthesis | None = None
    offset: int = 0
    """How many better hits come before these."""
    nothing_fits: bool = False
    """Whether even the best hit of all pages is probably wrong; an answer says so first."""
    nearness: float = 0.0
    """How near the best hit is to the question, to compare the answers of several projects."""
    word_shares: Mapping[str, float] = field(default_factory=dict)
    """The share of all chunks that hold each word of the question; for the same purpose."""


class IndexState(StrEnum):
    """How far an index is."""

    NOT_FOUND = "not_found"
    INDEXING = "indexing"
    READY = "ready"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long operation is."""

    done: int
    total: int
    phase: str


LINKING = "linking"
"""The phase in which references are resolved, after all files can be searched."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What the index of one project holds, read from the same truth that searches read."""

    state: IndexState
    project_path: str
    index_path: str
    total_files: int = 0
    total_chunks: int = 0
    total_docs: int = 0
    total_doc_chunks: int = 0
    storage_bytes: int = 0
    last_updated: str | None = None
    created_at: str | None = None
    query_ready: bool = False
    pending_changes: int = 0
    watcher_active: bool = False
    progress: Progress | None = None
    last_error: str | None = None
    model: str | None = None
    store: str = "default"
    strategy: str = "realtime"
    languages: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    repository: str | None = None
    """The address that the project was cloned from, without credentials."""
    commit: str | None = None
    """The commit of the checkout; for a copy of a published index, the one that it was made from."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one indexing run did."""

    project_path: str
    files_indexed: int
    files_unchanged: int
    files_removed: int
    files_skipped: int
    chunks_created: int
    total_files: int
    total_chunks: int
    seconds: float
    created: bool = False
    errors: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()
