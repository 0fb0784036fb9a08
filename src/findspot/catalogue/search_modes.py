"""The four modes of matching: `regex`, `bm25`, `embedding` and `hybrid`.

`hybrid` also reads a query as a request for a tool: what it says of files by naming one, its sentences, its
verbs. That is worth 0.735 → 0.758 of mean NDCG@10 over the six tool sets; none loses more than 0.001.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from itertools import islice
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.orchestrator import Ranked, Scores, SearchOrchestrator, ranked
from findspot.catalogue.tool_fields import query_terms
from findspot.catalogue.tool_record import NoEmbeddingsError, SearchMode, ToolSearchOptions
from findspot.catalogue.toolset import ToolSet
from findspot.core.errors import InvalidArgumentError, ModelMismatchError
from findspot.core.platforms import NO_WINDOW
from findspot.embed.embedder import Embedder, EmbedMode, Lexicon
from findspot.search.ripgrep import SIZE_LIMITS, check_pattern, refusal, ripgrep_binary
from findspot.text.bm25 import Bm25
from findspot.text.tokens import stem

MAX_SENTENCES = 16
"""Of a pasted page, the first sentences say what is wanted."""

_LEAST_WORDS = 3
"""Shorter pieces (`Thank you.`) are like many tools by chance."""

_KINDS = {
    "markdown": "md markdown",
    "excel spreadsheet": "xls xlsx xlsm ods",
    "word document": "doc docx odt",
    "powerpoint presentation": "ppt pptx odp",
    "pdf document": "pdf",
    "image": "png jpg jpeg gif webp bmp svg tiff",
    "csv table": "csv tsv",
    "text": "txt log",
    "audio": "mp3 wav flac ogg m4a",
    "video": "mp4 mov avi mkv",
    "archive": "zip tar gz 7z",
}
_KIND_OF = {ending: kind for kind, endings in _KINDS.items() for ending in endings.split()}
_PLAIN = "json jsonl html htm xml yaml yml toml ini sql sqlite db py ts sh bib tex ipynb"
_ENDINGS = "|".join(sorted({*_KIND_OF, *_PLAIN.split()}, key=lambda ending: (-len(ending), ending)))

_PATH = re.compile(
    r"(?<![\w/\\:.@+-])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+-]+[/\\])*[\w.@+-]*\w[/\\]?"
    rf"|(?<![\w/\\@.-])[\w-]+\.(?:{_ENDINGS})\b"
)
"""`/srv/notes.md`, `C:\\data`, `report.pdf`; not the path of a web address, nor `and/or`."""

_BETWEEN = re.compile(r"(?<=[.!?;])\s|,\s(?:and|then|also)\s|\s(?:and then|and also|then)\s")

SYNONYM_SHARE = 0.5
"""A tool that says `add` where the request says `write` fits half as well as one that says
`write`. Steps asked of real servers move from 0.714 to 0.755 by it, the other sets by 0.003 at most."""

_VERBS = (
    "open read view load", "write add insert append", "create make generate draw build produce",
    "find search look lookup query locate", "get show give fetch retrieve obtain",
    "delete remove erase drop", "change update edit modify", "convert transform turn",
    "send post submit", "calculate compute determine evaluate", "start launch run execute",
    "download save export", "check verify validate",
)  # fmt: skip
"""Verbs that people and tools use for the same act."""

SYNONYMS = {
    stem(verb): tuple(stem(other) for other in verbs.split() if other != verb)
    for verbs in _VERBS
    for verb in verbs.split()
}


class Request(NamedTuple):
    """What a query asks for."""

    text: str
    sentences: tuple[str, ...]
    """Empty if the text is a single sentence."""
    terms: tuple[str, ...]


def read_request(query: str) -> Request:
    lines = [" ".join(_PATH.sub(_path_in_words, line).split()) for line in query.splitlines()]
    pieces = [piece for line in lines for piece in _BETWEEN.split(line)]
    sentences = [piece for piece in pieces if len(piece.split()) >= _LEAST_WORDS]
    text = " ".join(lines)
    several = tuple(sentences[:MAX_SENTENCES]) if sentences != [text] else ()
    return Request(text, several, tuple(query_terms(text)))


def _path_in_words(path: re.Match[str]) -> str:
    """Describe what a path names: `/srv/plan.xlsx` is a spreadsheet in a file."""
    name = re.split(r"[/\\]", path[0])[-1]
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    return f" {_KIND_OF.get(ending, ending)} file path "


_LONG_WORD = re.compile(r"\b[a-z]{8,40}\b")
"""Shorter words have neighbours that mean something else (`grated`, `graded`); names begin with a capital."""

_MAX_MISSPELT = 8
"""A text with more unknown words is in another language, and is not corrected."""


def correct_spelling(query: str, knows: Callable[[str], bool], keywords: Bm25) -> str:
    """Replace words that neither the model nor any tool knows by similar words that both know."""
    long_words = dict.fromkeys(_LONG_WORD.findall(query))
    unknown = (word for word in long_words if not knows(word) and stem(word) not in keywords)
    corrected = {word: _nearest_word(word, knows, keywords) for word in islice(unknown, _MAX_MISSPELT)}
    return _LONG_WORD.sub(lambda word: corrected.get(word[0], word[0]), query) if corrected else query


def _nearest_word(word: str, knows: Callable[[str], bool], keywords: Bm25) -> str:
    """Return the similar word that most tools have; the word itself if there is none."""
    held = [(keywords.document_count(stem(near)), near) for near in set(_one_slip_away(word)) if knows(near)]
    count, near = max(held, default=(0, word))
    return near if count else word


def _one_slip_away(word: str) -> Iterator[str]:
    """Yield the words with one letter removed, added or replaced, or two exchanged.

    The first letter stays: hardly anyone gets it wrong.
    """
    for position in range(1, len(word) + 1):
        before, after = word[:position], word[position:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        yield from (before + letter + after[1:] for letter in ascii_lowercase)
        yield from (before + letter + after for letter in ascii_lowercase)


class Bm25Strategy:
    """Words of the query against words of the tools and their servers' names.

    A tool's score is its share of the best tool's.
    """

    mode = SearchMode.BM25

    def initialize(self) -> None:
        """Do nothing: the words were counted when the tools were indexed."""

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        scores = np.where(tools.allowed(options.server), tools.keywords.scores(query_terms(query)), 0)
        best = scores.max(initial=0)
        return ranked(scores / best if best > 0 else scores, tools)

    def dispose(self) -> None:
        """Do nothing: no resource is held."""


TIMEOUT_S = 10.0
_OPTIONS = ("--no-config", "--ignore-case", "--text", "--line-number", "--no-filename", "--max-columns=1",
            "--no-heading", "--color=never")  # fmt: skip
"""The numbers of the matching lines are wanted, not the lines, which `--max-columns` leaves out."""

_LEFT_OUT = b":[Omitted long matching line]"
_AFTER_NUMBER = re.compile(rb":[^\n]*")

_NEEDS_UNICODE = re.compile(r"[^\x00-\x7f]|\\[pPuUx]|\(\?")
"""What a pattern may hold that reads differently, or not at all, without tables of all scripts."""


class RegexStrategy:
    """A pattern over each tool's text; every match scores 1.

    Case does not matter; tools whose name matches come before those whose description does. ripgrep does
    the matching, in time linear in the text: no pattern can hang the search.
    """

    mode = SearchMode.REGEX

    def initialize(self) -> None:
        """Find the program, so that a broken installation is noticed here."""
        ripgrep_binary()

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        check_pattern(query)
        allowed = tools.allowed(options.server)
        rank = np.zeros(len(tools), dtype=np.int8)  # 0 no match, 1 in the text, 2 in the name
        lines = _matching_lines(query, tools)
        rank[lines[lines >= len(tools)] - len(tools)] = 1
        rank[lines[lines < len(tools)]] = 2
        rows = np.flatnonzero(np.where(allowed, rank, 0))
        order = rows[np.argsort(tools.name_order[rows] - len(tools) * rank[rows].astype(np.int64))]
        return Ranked(order, np.ones(len(order), dtype=np.float32))

    def dispose(self) -> None:
        """Do nothing: no resource is held."""


def _matching_lines(pattern: str, tools: ToolSet) -> NDArray[np.int64]:
    """Return the lines of the tools' texts that match, counted from 0."""
    plain = tools.is_ascii and not _NEEDS_UNICODE.search(pattern)
    options = (*_OPTIONS, "--no-unicode") if plain else _OPTIONS  # a third of the time in large catalogues
    command = [ripgrep_binary(), *options, *SIZE_LIMITS, "--regexp", pattern, "--", str(tools.texts)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            creationflags=NO_WINDOW,
        )
    except subprocess.TimeoutExpired:
        raise InvalidArgumentError(
            f"The pattern took longer than {TIMEOUT_S:.0f} s.", hint="Make it more specific."
        ) from None
    if done.returncode > 1:
        complaint = done.stderr.decode("utf-8", "replace")
        if not tools.texts.exists():
            raise FileNotFoundError(tools.texts)
        error = refusal(pattern, complaint)
        error.user_message = error.with_hint()
        error.hint = ""
        error.args = (error.user_message,)
        raise error
    return np.fromstring(_only_numbers(done.stdout).decode("ascii"), dtype=np.int64, sep="\n") - 1


def _only_numbers(lines: bytes) -> bytes:
    """Remove what follows each number; ten times as fast as `replace` for thousands of lines."""
    if lines.count(_LEFT_OUT) == lines.count(b"\n"):
        return lines.translate(None, _LEFT_OUT)
    return _AFTER_NUMBER.sub(b"", lines)  # lines of one character are shown


FIT_LIKENESS = {"local:static": 0.46}
"""Where a query's fit stays below this, no tool fits. Measured by `python -m benchmarks.tools --off-topic`;
models that were not measured have no such limit."""

CATALOGUE_SHARE = 1.0
"""A query that speaks of what the catalogue is about is less likely to be beside the point than one
that is like a single tool by chance."""

WORDS_SHARE = 0.2
"""Words that no tool holds lower a query's likeness to every tool, which is no fault of theirs; words
that tools do hold, but not the best one, speak against it. At the same loss of recall, this took
queries about other things that find nothing from 61 % to 72 % (70 % in `hybrid`, which lets tools
through that hold every word)."""


def any_fits(
    request: Request, cosines: Scores, merit: Scores, allowed: NDArray[np.bool_], tools: ToolSet
) -> bool:
    """Return whether the tool of most merit is like enough to the request, and the request to the
    catalogue.
    """
    limit = FIT_LIKENESS.get(tools.about.provider or "")
    if limit is None:
        return True
    if not allowed.any():
        return False
    shares, known = tools.keywords.shares(request.terms)
    best = int(np.where(allowed, merit, -np.inf).argmax())
    fit = float(cosines[allowed].max()) + WORDS_SHARE * (float(shares[best]) - known)
    if tools.centre_length > 0:  # the mean of the cosines is the query's product with the mean vector
        fit += CATALOGUE_SHARE * float(cosines.mean()) / tools.centre_length
    return fit >= limit


_NO_ROWS = np.zeros(0, dtype=np.int64)
NOTHING = Ranked(_NO_ROWS, _NO_ROWS.astype(np.float32))


class Likeness(NamedTuple):
    """One cosine per tool; −1 if the tool has no vector or the request no meaning."""

    whole: Scores
    nearest: Scores
    """Of the whole request and its sentences, that which is most like the tool: one sentence often says
    what is wanted and the others why. Mean NDCG@10 of `hybrid` over six sets 0.742 instead of 0.735."""


class EmbeddingStrategy:
    """The query's vector against all vectors of the tools, exactly; a score is (cosine + 1) / 2."""

    mode = SearchMode.EMBEDDING

    def __init__(self, embedder: Callable[[str], Embedder]) -> None:
        self._embedder = embedder

    def initialize(self) -> None:
        """Do nothing: the tools name the model that is needed."""

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        allowed = tools.allowed(options.server)
        request = self.read(query, tools, self.mode)
        likeness = self.likeness(request, tools)
        if not any_fits(request, likeness.whole, likeness.nearest, allowed, tools):
            return NOTHING
        scores = np.clip((likeness.nearest + 1) / 2, 0, 1).astype(np.float32)
        return ranked(np.where(allowed, scores, 0), tools)

    def read(self, query: str, tools: ToolSet, mode: SearchMode) -> Request:
        """Return the query as a request, with misspelt words corrected."""
        if tools.vectors is None or tools.about.provider is None:
            raise NoEmbeddingsError(mode)
        model = self.model_of(tools)
        return read_request(
            correct_spelling(query, model.knows, tools.keywords) if isinstance(model, Lexicon) else query
        )

    def likeness(self, request: Request, tools: ToolSet) -> Likeness:
        """Return how like the request each tool is."""
        assert tools.vectors is not None, "`read` refuses tools that have none"
        model = self.model_of(tools)
        rows = model.embed([request.text, *request.sentences], EmbedMode.QUERY)
        known = [row for row in rows if row.any()]
        if not known:
            nothing = np.full(len(tools), -1, dtype=np.float32)
            return Likeness(nothing, nothing)
        # Not `@`, which hands so little work to threads: where all cores are busy, waiting for them took
        # 18 ms at 10,000 tools instead of 0.6.
        cosines: list[Scores] = [np.vecdot(tools.vectors, row) for row in known]
        return Likeness(cosines[0], np.maximum.reduce(cosines))

    def model_of(self, tools: ToolSet) -> Embedder:
        """Return the model that the tools were embedded with; an error if it is not the same any more."""
        about = tools.about
        model = self._embedder(about.provider or "")
        known = (about.dimensions, about.revision or model.revision)
        if (model.dimensions, model.revision) != known:
            raise ModelMismatchError(
                f"{about.provider} {about.revision}",
                f"{model.id} {model.revision}",
                hint="Run `findspot tools index` to embed the tools with the model that is installed.",
            )
        return model

    def dispose(self) -> None:
        """Do nothing: the models belong to whoever opened them."""


MEANING_SHARE = 0.6
"""Requests name the wish, tools name the means: meaning counts a little more than words. Mean
NDCG@10 over the six tool sets: 0.721 at 0.4, 0.732 at 0.5, 0.736 here, 0.733 at 0.8; leaving a set
out chooses 0.6 to 0.8."""


class HybridStrategy:
    """Keywords and meaning, each in units of its own spread over the catalogue, so that they can be added."""

    mode = SearchMode.HYBRID

    def __init__(self, embedding: EmbeddingStrategy) -> None:
        self._embedding = embedding

    def initialize(self) -> None:
        """Do nothing: the modes that this one combines prepare themselves."""

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        allowed = tools.allowed(options.server)
        request = self._embedding.read(query, tools, self.mode)
        likeness = self._embedding.likeness(request, tools)
        words = _keyword_scores(request, tools)
        fused = MEANING_SHARE * _spread(likeness.nearest) + (1 - MEANING_SHARE) * _spread(words)
        fits = any_fits(request, likeness.whole, fused, allowed, tools)
        if not fits and not (allowed & _holds_all(request, tools)).any():
            return NOTHING
        fused = np.where(allowed, fused, 0)
        best = fused.max(initial=0)
        return ranked((fused / best).astype(np.float32), tools) if best > 0 else NOTHING

    def dispose(self) -> None:
        """Do nothing: no resource is held."""


def _spread(scores: Scores) -> Scores:
    """Return how far each score stands out from the mean, in standard deviations."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros_like(scores)


def _keyword_scores(request: Request, tools: ToolSet) -> Scores:
    """Return the scores of mode `bm25`, plus a share of the best synonym for a verb that a tool lacks."""
    scores = tools.keywords.scores(request.terms)
    for verb in sorted(SYNONYMS.keys() & request.terms):
        instead = np.max([tools.keywords.scores([other]) for other in SYNONYMS[verb]], axis=0)
        scores += np.maximum(0, SYNONYM_SHARE * instead - tools.keywords.scores([verb]))
    return scores


def _holds_all(request: Request, tools: ToolSet) -> NDArray[np.bool_]:
    """Return which tools have every word of the query: they fit, whatever the model says."""
    terms = set(request.terms)
    holds: NDArray[np.bool_] = tools.keywords.matched_words(terms) == max(1, len(terms))
    return holds


def standard_orchestrator(embedder: Callable[[str], Embedder]) -> SearchOrchestrator:
    """Regex, BM25, embedding and hybrid; `embedder` opens the provider that an index names."""
    orchestrator = SearchOrchestrator()
    embedding = EmbeddingStrategy(embedder)
    for strategy in (RegexStrategy(), Bm25Strategy(), embedding, HybridStrategy(embedding)):
        orchestrator.register_strategy(strategy)
    return orchestrator
