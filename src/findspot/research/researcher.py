"""Questions to one project: assisted searches, research over the graph, outlines and module maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from findspot.core.assistance import Assistance, Expansion, Synthesis
from findspot.core.errors import InvalidArgumentError, LanguageModelError
from findspot.core.model import Hit, Mode, Progress, Query, Results
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import Settings
from findspot.embed.protocol import Embedder
from findspot.graph import Graph, Outline
from findspot.llm import LanguageModel, Sample, choose_model
from findspot.research.expansion import expand_by_model, expand_from_index
from findspot.research.findings import MAX_DEPTH, MIN_DEPTH, Findings, Inquiry
from findspot.research.ground import Ground
from findspot.research.investigate import investigate
from findspot.research.module_map import ModuleMap, imports_between, module_map
from findspot.research.outward import Nearness
from findspot.research.synthesis import summarised, synthesize_by_model, synthesize_from_hits
from findspot.research.trail import Trail
from findspot.search.questions import asks_model
from findspot.store.index_meta import unfinished
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store


@dataclass(frozen=True, slots=True)
class Researcher:
    """Asks one project's index; safe to use from several threads."""

    store: Store
    search: Callable[[Query], Results]
    settings: Callable[[], Settings]
    embedder: Callable[[Settings], Embedder]
    stale: Callable[[Snapshot, Settings, tuple[str, ...]], str | None]
    """What to say of files that are no longer as they were indexed."""

    def assist(self, query: Query, wanted: Assistance, client: Sample | None = None) -> Results:
        """Return a search with its query expanded or its results told, as far as `wanted`.

        `client` asks the language model of whoever is asking; without it, and without a configured
        service, both are done from the index itself.
        """
        if not wanted:
            return self.search(query)
        return assisted(
            self.search, self._expansion, query, wanted, choose_model(self.settings().llm, client)
        )

    def ask(
        self,
        inquiry: Inquiry,
        *,
        client: Sample | None = None,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> Findings:
        """Follow the code from a question: its symbols and relations, or what search finds for it."""
        depth = inquiry.depth
        if not inquiry.question.strip():
            raise InvalidArgumentError("Query cannot be empty")
        if not MIN_DEPTH <= depth <= MAX_DEPTH:
            raise InvalidArgumentError(f"depth must be a whole number from {MIN_DEPTH} to {MAX_DEPTH}.")
        settings = self.settings()
        with self.store.snapshot() as snapshot:
            trail = Trail(Graph(snapshot), depth, inquiry.under, cancel=cancel or CancelToken())
            trail.tick = lambda hop: progress(Progress(hop, max(hop, depth), "hop"))
            ground = Ground(snapshot, self.search, trail)
            found = investigate(
                ground, lambda: Nearness.to(snapshot, self.embedder(settings), inquiry.question), inquiry
            )
            found = replace(found, warning=self._warning(snapshot, settings, found))
        return summarised(found, choose_model(settings.llm, client))

    @contextmanager
    def graph(self) -> Iterator[Graph]:
        """Provide the reference graph of the index as it is now."""
        with self.store.snapshot() as snapshot:
            yield Graph(snapshot)

    def outline(self, path: str) -> list[Outline]:
        """Return what a file defines, nested as it is written."""
        with self.graph() as graph:
            return graph.outline(path)

    def modules(self, parts: int, under: str | None = None) -> ModuleMap:
        """Return the modules of the project and what depends on what."""
        with self.store.snapshot() as snapshot:
            trail = Trail(Graph(snapshot), under=under)
            paths = Ground(snapshot, self.search, trail).paths
            return module_map(trail.graph, imports_between(trail.graph, paths), parts)

    def _warning(self, snapshot: Snapshot, settings: Settings, found: Findings) -> str | None:
        said = (
            unfinished(snapshot.meta(), being_written=self.store.being_written),
            self.stale(snapshot, settings, found.files),
        )
        return " ".join(filter(None, said)) or None

    def _expansion(self, query: Query, hits: tuple[Hit, ...]) -> Expansion:
        embedder = self.embedder(self.settings()) if asks_model(query) else None
        with self.store.snapshot() as snapshot:
            return expand_from_index(snapshot, embedder, query, hits)


Search = Callable[[Query], Results]
FromIndex = Callable[[Query, tuple[Hit, ...]], Expansion]


def assisted(
    search: Search, from_index: FromIndex, query: Query, wanted: Assistance, model: LanguageModel | None
) -> Results:
    """search, maybe again with more words, and maybe told; a model's trouble is only a warning."""
    said: list[str] = []
    expansion = None
    if wanted.expand and query.text.strip() and query.mode is not Mode.REGEX and query.similar_to is None:
        expansion = _expanded(search, from_index, query, model, said)
    results = search(replace(query, also=expansion.terms) if expansion else query)
    synthesis = _told(results, model, said) if wanted.synthesize else None
    warning = " ".join(filter(None, (results.warning, *dict.fromkeys(said)))) or None
    return replace(results, expansion=expansion, synthesis=synthesis, warning=warning)


def _expanded(
    search: Search, from_index: FromIndex, query: Query, model: LanguageModel | None, said: list[str]
) -> Expansion:
    if model is not None:
        try:
            return expand_by_model(model, query)
        except LanguageModelError as error:
            said.append(f"{error.user_message}. The query was expanded from the index instead.")
    return from_index(query, search(query).hits)


def _told(results: Results, model: LanguageModel | None, said: list[str]) -> Synthesis:
    if model is not None and results.hits:
        try:
            return synthesize_by_model(model, results.query, results.hits)
        except LanguageModelError as error:
            said.append(f"{error.user_message}. The synthesis is drawn from the results instead.")
    return synthesize_from_hits(results.hits)
