"""Search a catalogue: four modes (`regex`, `bm25`, `embedding`, `hybrid`), and whether any tool fits.

A strategy ranks rows of the tool set; the orchestrator applies the threshold and `top_k`, so that every mode
treats them alike. `SearchOrchestrator.register_strategy` adds one.
"""

from __future__ import annotations

import math
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.indexfile import ToolSet, query_terms
from findspot.catalogue.tool_record import (
    DEFAULT_MODE,
    SearchMode,
    ToolReference,
    ToolResults,
    ToolSearchOptions,
)
from findspot.core.errors import InvalidArgumentError, ModelMismatchError
from findspot.core.platforms import NO_WINDOW
from findspot.embed.embedder import Embedder, EmbedMode, Vectors
from findspot.search.ripgrep import SIZE_LIMITS, check_pattern, refusal, ripgrep_binary
from findspot.text.snippet import cut
from findspot.text.tokens import stem

MAX_QUERY_CHARS = 20_000
"""A longer query, such as a pasted file, says nothing more about the tool."""

SHOWN_DESCRIPTION_CHARS = 2_000
"""Characters of a description in a list of tools; `get_tool` gives all of it."""

NEAREST = 6
"""Tools that are shown where none fits well: the likeness of a wish to what serves it may be small."""

NAMED = 3
"""Of those, how many the message names."""

Scores = NDArray[np.float32]


class Ranked(NamedTuple):
    """Rows of the tool set with their scores between 0 and 1, best first."""

    rows: NDArray[np.int64]
    scores: Scores
    fits: bool = True
    """Whether the best row is what was asked for; if not, the answer says so and shows the nearest."""


class SearchStrategy:
    mode: str

    def initialize(self) -> None:
        """Get ready; called once, before the first search."""

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        """Return every tool that matches, best first."""
        raise NotImplementedError

    def dispose(self) -> None:
        """Release what is held; calling it twice is harmless."""


def ranked(scores: Scores, tools: ToolSet, *, least: float = 0.0) -> Ranked:
    """Return the rows above `least`; equal scores in the order of names, so that an answer does not vary."""
    named = tools.by_name[scores[tools.by_name] > least]
    order = named[np.argsort(-scores[named], kind="stable")]
    return Ranked(order, scores[order])


class SearchOrchestrator:
    def __init__(self) -> None:
        self._strategies: dict[str, SearchStrategy] = {}
        self._ready: set[str] = set()
        self._guard = threading.RLock()

    def register_strategy(self, strategy: SearchStrategy) -> None:
        """Offer a mode; one of the same name is replaced."""
        with self._guard:
            if strategy.mode in self._ready:
                self._ready.remove(strategy.mode)
                self._strategies[strategy.mode].dispose()
            self._strategies[strategy.mode] = strategy

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> ToolResults:
        """Return the best tools of the mode that the options name."""
        started = time.perf_counter()
        query = query[:MAX_QUERY_CHARS]
        if not query.strip():
            raise InvalidArgumentError("Query cannot be empty")
        mode = options.mode or DEFAULT_MODE
        ranking = self._strategy(mode).search(query, tools, options)
        total = int(np.count_nonzero(ranking.scores >= options.threshold))
        total = total if ranking.fits else min(total, NEAREST)
        shown = [
            _reference(tools, int(row), float(score), mode)
            for row, score in zip(ranking.rows[: min(total, options.top_k)], ranking.scores, strict=False)
        ]
        elapsed = (time.perf_counter() - started) * 1000
        warning = " ".join(tools.warnings) or None
        fits = ranking.fits and total > 0
        nearest = () if fits else tuple(tools.names[row] for row in ranking.rows[:NAMED])
        servers = () if fits else tools.offered_servers
        return ToolResults(tuple(shown), total, len(tools), elapsed, warning, fits, nearest, servers)

    def close(self) -> None:
        with self._guard:
            for mode in self._ready:
                self._strategies[mode].dispose()
            self._ready.clear()

    def _strategy(self, mode: str) -> SearchStrategy:
        with self._guard:
            strategy = self._strategies.get(mode)
            if strategy is None:
                known = ", ".join(f"'{name}'" for name in self._strategies)
                raise InvalidArgumentError(
                    f"There is no search mode '{mode}'.", hint=f"Choose one of {known}."
                )
            if mode not in self._ready:
                strategy.initialize()
                self._ready.add(mode)
            return strategy


def _reference(tools: ToolSet, row: int, score: float, mode: str) -> ToolReference:
    tool = tools.definition(row)
    text = cut(tool.description, SHOWN_DESCRIPTION_CHARS)
    return ToolReference(tool.name, text, tool.server_name, round(score, 4), mode, tool.title)


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


class Request(NamedTuple):
    text: str
    sentences: tuple[str, ...]
    """Empty if the text is a single sentence."""
    terms: tuple[str, ...]

    @property
    def in_tools_words(self) -> str:
        """The text followed by what tools call the things that it names; empty if it names none."""
        known = everyday_words()
        words = _LETTERS.findall(self.text.lower())
        others = [known.get(word) or known.get(word.rstrip("s")) for word in words]
        added = " ".join(other[0] for other in others if other)
        return f"{self.text} {added}" if added else ""


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


_VERBS = (
    "open read view load", "write add insert append", "create make generate draw build produce",
    "find search look lookup query locate", "get show give fetch retrieve obtain",
    "delete remove erase drop", "change update edit modify", "convert transform turn",
    "send post submit", "calculate compute determine evaluate", "start launch run execute",
    "download save export", "check verify validate",
)  # fmt: skip
"""Verbs that people and tools use for the same act."""

_LETTERS = re.compile(r"[^\W\d_]+")


@cache
def everyday_words() -> Mapping[str, tuple[str, ...]]:
    """Return for English words what else their things are called, the tools' words first."""
    text = files(__package__).joinpath("everyday_words.txt").read_text("utf-8")
    alternatives: dict[str, tuple[str, ...]] = {}
    for line in filter(lambda line: not line.startswith("#"), text.splitlines()):
        tools, everyday = (part.split() for part in line.split(":"))
        for word in (*tools, *everyday):
            others = (other for other in (*tools, *(everyday if word in tools else ())) if other != word)
            alternatives[word] = (*alternatives.get(word, ()), *others)
    return alternatives


@cache
def everyday_synonyms() -> Mapping[str, frozenset[str]]:
    """Return the same for stems, with the verbs of one act."""
    verbs = [verbs.split() for verbs in _VERBS]
    pairs = [(word, others) for word, others in everyday_words().items()]
    pairs += [(verb, tuple(others)) for others in verbs for verb in others]
    synonyms: dict[str, frozenset[str]] = {}
    for word, others in pairs:
        own = stem(word)
        synonyms[own] = synonyms.get(own, frozenset()) | {stem(other) for other in others} - {own}
    return {word: others for word, others in synonyms.items() if others}


class Bm25Strategy(SearchStrategy):
    """Words of the query against words of the tools and their servers' names.

    A score is the share of the most that any text could score, so that scores of different queries can be
    compared.
    """

    mode = SearchMode.BM25

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        terms = query_terms(query)
        most = tools.keywords.most(terms)
        scores = np.where(tools.allowed(options.server), tools.keywords.scores(terms), 0)
        return ranked((scores / max(most, 1e-9)).astype(np.float32), tools)


TIMEOUT_S = 10.0
_OPTIONS = ("--no-config", "--ignore-case", "--text", "--line-number", "--no-filename", "--max-columns=1",
            "--no-heading", "--color=never")  # fmt: skip
"""The numbers of the matching lines are wanted, not the lines, which `--max-columns` leaves out."""


class RegexStrategy(SearchStrategy):
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


def _matching_lines(pattern: str, tools: ToolSet) -> NDArray[np.int64]:
    """Return the lines of the tools' texts that match, counted from 0."""
    command = [ripgrep_binary(), *_OPTIONS, *SIZE_LIMITS, "--regexp", pattern, "-"]
    try:
        done = subprocess.run(
            command,
            input=tools.texts,
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
        raise refusal(pattern, done.stderr.decode("utf-8", "replace"))
    numbers = [int(line.partition(b":")[0]) for line in done.stdout.splitlines()]
    return np.array(numbers, dtype=np.int64) - 1


FIT_LEAST = {"local:static": 0.14}
"""Where a request's fit stays below this, no tool fits. Measured by `python -m benchmarks.tools --off-topic`;
models that were not measured have no such limit."""

WORDS_SHARE = 0.3
"""How much the words of the request that the best tool has, or a synonym of, speak for it."""

OTHERS_SHARE = 0.4
"""How much likeness to another topic speaks against all tools of the catalogue."""

SAME_TOPIC = 0.25
"""A topic whose cosine to some tool of the catalogue is this or more is not another topic."""


class Likeness(NamedTuple):
    """How like a request tools are."""

    tools: Scores
    """One cosine per tool, of that sentence of the request which is most like it: one sentence often says
    what is wanted and the others why. −1 if the tool has no vector or the request no meaning."""
    others: float
    """The highest cosine to a topic that no tool of the catalogue is about."""


def fit_of(request: Request, likeness: Likeness, rows: NDArray[np.int64], tools: ToolSet) -> float:
    """Return how well the best of these tools, which is the first, fits the request; below 0, none does.

    A tool that has every word of the request fits in any case.
    """
    words = _words_share(request, int(rows[0]), tools)
    like = float(likeness.tools[rows].max()) + WORDS_SHARE * words - OTHERS_SHARE * likeness.others
    fit = like - FIT_LEAST[tools.about.provider or ""]
    return max(fit, 0.0) if words == 1 else fit


def _words_share(request: Request, row: int, tools: ToolSet) -> float:
    """Return the share of the request's words, by weight, that a tool has; half for a synonym."""
    keywords, synonyms = tools.keywords, everyday_synonyms()
    asked = held = 0.0
    for term in set(request.terms):
        weight = keywords.weight(term)
        asked += weight
        if row in keywords.holders(term):
            held += weight
        elif any(row in keywords.holders(other) for other in synonyms.get(term, ())):
            held += weight / 2
    return held / asked if asked else 0.0


@cache
def other_topics() -> list[str]:
    """Return what tools in general are for, one phrase each."""
    text = files(__package__).joinpath("other_topics.txt").read_text("utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


MANY_TOOLS = 1_000
"""With so many more tools, only every second, third, … topic is compared, so that opening stays fast.
Large catalogues leave few other topics anyway."""


class EmbeddingStrategy(SearchStrategy):
    """The query's vector against all vectors of the tools, exactly; a score is (cosine + 1) / 2."""

    mode = SearchMode.EMBEDDING

    def __init__(self, embedder: Callable[[str], Embedder]) -> None:
        self._embedder = embedder
        self._others: WeakKeyDictionary[ToolSet, Vectors] = WeakKeyDictionary()

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        request = self.read(query, tools, self.mode)
        likeness = self.likeness(request, tools)
        scores = np.clip((likeness.tools + 1) / 2, 0, 1).astype(np.float32)
        found = ranked(np.where(tools.allowed(options.server), scores, 0), tools)
        if len(found.rows) and tools.about.provider in FIT_LEAST:
            return found._replace(fits=fit_of(request, likeness, found.rows, tools) >= 0)
        return found

    def read(self, query: str, tools: ToolSet, mode: SearchMode) -> Request:
        """Return the query as a request; an error where the tools cannot be compared with it."""
        if tools.vectors is None or tools.about.provider is None:
            raise InvalidArgumentError(
                f"This tool catalogue was built without embeddings, which mode '{mode}' needs.",
                hint="Run `findspot tools index` without --no-embeddings, or search with mode 'bm25'.",
            )
        return read_request(query)

    def likeness(self, request: Request, tools: ToolSet) -> Likeness:
        """Return how like the request each tool is, and other topics are."""
        assert tools.vectors is not None, "`read` refuses tools that have none"
        model = self.model_of(tools)
        texts = [request.text, *request.sentences, request.in_tools_words]
        rows = [row for row in model.embed(texts, EmbedMode.QUERY) if row.any()]
        if not rows:
            return Likeness(np.full(len(tools), -1, dtype=np.float32), 0.0)
        # Not `@`, which hands so little work to threads: where all cores are busy, waiting for them took
        # 18 ms at 10,000 tools instead of 0.6.
        others = self._other_topics(model, tools)
        return Likeness(
            np.maximum.reduce([np.vecdot(tools.vectors, row) for row in rows]),
            max(float(np.vecdot(others, row).max(initial=0)) for row in rows),
        )

    def _other_topics(self, model: Embedder, tools: ToolSet) -> Vectors:
        """Return the vectors of the topics that no tool of the catalogue is about."""
        assert tools.vectors is not None
        if tools.about.provider not in FIT_LEAST:
            return np.zeros((0, model.dimensions), dtype=np.float32)
        if tools not in self._others:
            topics = model.embed(other_topics()[:: 1 + len(tools) // MANY_TOOLS], EmbedMode.PASSAGE)
            nearest = (topics @ tools.vectors.T).max(axis=1, initial=0)
            self._others[tools] = topics[nearest < SAME_TOPIC]
        return self._others[tools]

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


MEANING_SHARE = 0.6
"""Requests name the wish, tools name the means: meaning counts a little more than words. Mean
NDCG@10 over the six tool sets: 0.752 at 0.5, 0.758 here, 0.754 at 0.7."""

SYNONYM_SHARE = 0.5
"""A tool that says `add` where the request says `write` fits half as well as one that says `write`."""

SURE, SURER, STEEPNESS = -1.5, 6.0, 2.0
"""From fit to score: the log-odds of the first tool at no fit, what fit adds, and what distance costs. On the
development sets, first tools with scores below 0.3, of 0.4 to 0.6, of 0.7 to 0.9 and above 0.9 were right in
23, 48, 81 and 92 %."""


class HybridStrategy(SearchStrategy):
    """Keywords and meaning, each in units of its own spread over the catalogue, so that they can be added.

    A score is the probability that the tool is what was asked for, so scores of different queries can be
    compared.
    """

    mode = SearchMode.HYBRID

    def __init__(self, embedding: EmbeddingStrategy) -> None:
        self._embedding = embedding

    def search(self, query: str, tools: ToolSet, options: ToolSearchOptions) -> Ranked:
        request = self._embedding.read(query, tools, self.mode)
        likeness = self._embedding.likeness(request, tools)
        words = _keyword_scores(request, tools)
        fused = MEANING_SHARE * _spread(likeness.tools) + (1 - MEANING_SHARE) * _spread(words)
        meant = tools.allowed(options.server) & ((likeness.tools > 0) | (words > 0))
        found = ranked(np.where(meant, fused, -np.inf), tools, least=-np.inf)
        if not len(found.rows):
            return found
        if tools.about.provider in FIT_LEAST:
            fit = fit_of(request, likeness, found.rows, tools)
            odds, fits = SURE + SURER * fit, fit >= 0
        else:  # (cosine + 1) / 2 as a probability
            cosine = float(np.clip(likeness.tools[found.rows[0]], -0.99, 0.99))
            odds, fits = math.log((1 + cosine) / (1 - cosine)), True
        scores = 1 / (1 + np.exp(STEEPNESS * (found.scores[0] - found.scores) - odds))
        shown = (found.scores > 0) | (found.scores == found.scores[0])  # above the average, or the best
        return Ranked(found.rows[shown], scores[shown].astype(np.float32), fits)


def _spread(scores: Scores) -> Scores:
    """Return how far each score stands out from the mean, in standard deviations."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros_like(scores)


def _keyword_scores(request: Request, tools: ToolSet) -> Scores:
    """Return the scores of mode `bm25`, plus a share of the best synonym for a word that a tool lacks."""
    synonyms = everyday_synonyms()
    scores = tools.keywords.scores(request.terms)
    for term in sorted(synonyms.keys() & request.terms):
        instead = np.maximum.reduce([tools.keywords.scores([other]) for other in synonyms[term]])
        scores += np.maximum(0, SYNONYM_SHARE * instead - tools.keywords.scores([term]))
    return scores


def standard_orchestrator(embedder: Callable[[str], Embedder]) -> SearchOrchestrator:
    """Regex, BM25, embedding and hybrid; `embedder` opens the provider that an index names."""
    orchestrator = SearchOrchestrator()
    embedding = EmbeddingStrategy(embedder)
    for strategy in (RegexStrategy(), Bm25Strategy(), embedding, HybridStrategy(embedding)):
        orchestrator.register_strategy(strategy)
    return orchestrator
