"""One project's desk for questions that take more than one search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Hit, Progress, Query, Results
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import Settings
from findspot.core.synthesis import Assistance, Expansion
from findspot.embed.protocol import Embedder
from findspot.graph import Graph, Outline
from findspot.llm import Sample, choose_model
from findspot.research.assisted import assisted
from findspot.research.expansion import expand_from_index
from findspot.research.ground import Ground
from findspot.research.investigate import investigate
from findspot.research.model import MAX_DEPTH, MIN_DEPTH, Findings, Inquiry
from findspot.research.modules import ModuleMap, imports_between, module_map
from findspot.research.outward import Nearness
from findspot.research.summary import summarised
from findspot.research.trail import Trail
from findspot.search.questions import asks_model
from findspot.store.protocol import Store
from findspot.store.snapshot import Snapshot


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
        """A search with its query expanded or its results told, as far as `wanted`.

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
        """The reference graph of the index as it is now."""
        with self.store.snapshot() as snapshot:
            yield Graph(snapshot)

    def outline(self, path: str) -> list[Outline]:
        """What a file defines, nested as it is written."""
        with self.graph() as graph:
            return graph.outline(path)

    def modules(self, parts: int, under: str | None = None) -> ModuleMap:
        """The modules of the project and what depends on what."""
        with self.store.snapshot() as snapshot:
            trail = Trail(Graph(snapshot), under=under)
            paths = Ground(snapshot, self.search, trail).paths
            return module_map(trail.graph, imports_between(trail.graph, paths), parts)

    def _warning(self, snapshot: Snapshot, settings: Settings, found: Findings) -> str | None:
        meta = snapshot.meta()
        building = f"The index is still being built: {meta.get('done')} of {meta.get('total')} files."
        said = (
            building if meta.get("build") != "complete" else None,
            self.stale(snapshot, settings, found.files),
        )
        return " ".join(filter(None, said)) or None

    def _expansion(self, query: Query, hits: tuple[Hit, ...]) -> Expansion:
        embedder = self.embedder(self.settings()) if asks_model(query) else None
        with self.store.snapshot() as snapshot:
            return expand_from_index(snapshot, embedder, query, hits)
