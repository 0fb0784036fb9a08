"""Read an index for one question: one snapshot, and the disk that its answers are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from findspot.core.errors import DocsIndexNotFoundError, InvalidArgumentError, ModelMismatchError
from findspot.core.git import History, read_history
from findspot.core.globs import compile_glob
from findspot.core.model import Corpus, GroupBy, Hit, Mode, Query, Results
from findspot.discover.checkouts import checkout_around
from findspot.embed.embedder import Embedder, model_name
from findspot.history.commit_store import CommitStore
from findspot.rank.intent import read_query
from findspot.search.freshness import Checked, Disk, changed_since_indexed, check
from findspot.search.hybrid import search
from findspot.search.left_out import fitting_pattern, fitting_question
from findspot.search.merging import Fit
from findspot.search.query_filters import allowed_files, is_filtered, with_changed_paths
from findspot.search.questions import asks_model, is_sentence, shortened, understand
from findspot.search.regex import search_regex
from findspot.search.related import Related
from findspot.search.token_budget import of_definition
from findspot.store.index_meta import COMPLETE, unfinished
from findspot.store.snapshot import Snapshot
from findspot.store.store_protocol import Store

_MAX_CANDIDATES = 200
"""How many results are read, at most, to fill a page that deleted files left gaps in."""


@dataclass(frozen=True, slots=True)
class IndexReader:
    """Everything that one question asks of an index. All of it is read from the same snapshot."""

    snapshot: Snapshot
    store: Store
    disk: Disk
    open_model: Callable[[], Embedder]
    """Opens the model that reads a query, where one needs it."""
    describe_external: Callable[[str, str, Sequence[str]], str | None] | None = None
    """Return where a package defines a chain of names: given a language, the module, and the names."""
    commits: CommitStore | None = None
    """What the messages of the project's commits say."""

    def search(self, query: Query) -> Results:
        """Return the results of a query, each with the lines that its file has on disk now."""
        query = shortened(query)
        results, checked = self._search(query)
        hits = checked.hits[: query.limit]
        reading = read_query(query.text)
        asks_for_lines = any(line for _, line in reading.places)  # as a trace does
        if not asks_for_lines and not is_sentence(query.text, reading):
            hits = tuple(map(of_definition, hits))
        if not query.offset and query.similar_to is None and not is_filtered(replace(query, under=None)):
            left_out = fitting_question(self.snapshot, query)
            results = replace(results, warning=_joined(results.warning, left_out))
        if query.related and query.corpus is Corpus.CODE:
            hits = Related(self.snapshot, self.disk, self.commits).add(hits)
        return replace(results, hits=hits)

    def fit(self, query: Query) -> Fit:
        """Return how well the index may answer a query, by one look at its words and meaning."""
        query = with_changed_paths(self.disk.roots, shortened(query))
        self._check_docs(query)
        question, cosine = understand(self.snapshot, self._embedder(query), query), 0.0
        files = allowed_files(self.snapshot, query)
        if not files.files:
            return Fit({})
        if question.vector.any():
            _, nearest = self.snapshot.vectors.nearest(question.vector, files.mask, 1)
            cosine = float(nearest.max(initial=0.0)) * question.scale
        names = [name.lower() for name in question.reading.names]
        defines = bool(self.snapshot.symbols.definitions(names, 1))
        return Fit(question.word_shares, cosine, defines, self.snapshot.keywords[query.corpus].size)

    def search_indexed(self, query: Query) -> tuple[Results, tuple[Hit, ...]]:
        """Return the results, and their hits with the lines that this snapshot has."""
        results, checked = self._search(shortened(query))
        return results, checked.indexed[: query.limit]

    def files(self, pattern: str = "**") -> list[str]:
        """Return the indexed paths that match a glob and whose files are still there, in order."""
        matches = compile_glob(pattern).match
        paths = [file.path for file in self.snapshot.files.files if matches(file.path)]
        roots = self.disk.roots
        if roots.missing:
            return paths
        return [path for path in paths if not path.isascii() or self.disk.has(path)]

    def warning_about(self, paths: Iterable[str], query: Query | None = None) -> str | None:
        """Return what to say of an answer from these files: what changed, or fits and is left out."""
        stored = filter(None, map(self.snapshot.files.find, paths))
        changed = changed_since_indexed(stored, self.disk)
        left_out = fitting_question(self.snapshot, query) if query else None
        return _joined(self._unfinished(), changed, left_out, self.store.notice)

    def left_out(self, pattern: str) -> str | None:
        """Return which files that are left out match a glob."""
        return fitting_pattern(self.snapshot, compile_glob(pattern).match)

    def lacks(self, path: str) -> bool:
        """Return whether the file of a path is new or has changed since it was indexed."""
        stored = self.snapshot.files.find(path)
        if stored is None:
            return Path(self.disk.roots / path).is_file()
        return changed_since_indexed([stored], self.disk) is not None

    def history(self) -> History:
        """Return the paths that the last commits up to HEAD changed; none where the project has no git."""
        folder = self.disk.roots.project
        return read_history(folder) if checkout_around(folder) else ()

    def _search(self, query: Query) -> tuple[Results, Checked]:
        _check_group_by(query)
        query = with_changed_paths(self.disk.roots, query)
        embedder = self._embedder(query)
        self._check_docs(query)

        def ask(query: Query) -> Results:
            if query.mode is Mode.REGEX:
                return search_regex(self.snapshot, self.disk, query)
            return search(self.snapshot, embedder, query, self.history, self.commits)

        results = ask(query)
        checked = check(results.hits, self.snapshot.files.find, self.disk)
        if checked.dropped and results.total > query.offset + len(results.hits):
            more = ask(replace(query, limit=max(_MAX_CANDIDATES, query.limit)))
            checked = check(more.hits, self.snapshot.files.find, self.disk)
        return replace(
            results,
            total=max(results.total - checked.dropped, 0),
            warning=_joined(self._unfinished(), results.warning, checked.warning, self.store.notice),
        ), checked

    def _check_docs(self, query: Query) -> None:
        if query.corpus is Corpus.DOCS and Corpus.DOCS not in self.snapshot.files.counts():
            raise DocsIndexNotFoundError(str(self.disk.roots.project), str(self.store.folder))

    def _embedder(self, query: Query) -> Embedder | None:
        """Return the model of this index: vectors of different models never meet."""
        if not asks_model(query):
            return None
        embedder, stored = self.open_model(), self.snapshot.meta().get("model")
        if stored in (None, model_name(embedder)):
            return embedder
        raise ModelMismatchError(stored, model_name(embedder))

    def _unfinished(self) -> str | None:
        meta = self.snapshot.meta()
        if meta.get("build") == COMPLETE:  # nobody needs to know who holds the lock, which is a file
            return None
        return unfinished(meta, len(self.snapshot.files.files), being_written=self.store.being_written)


def _check_group_by(query: Query) -> None:
    if query.group_by is GroupBy.PASSAGE:
        return
    if query.corpus is not Corpus.CODE:
        raise InvalidArgumentError("group_by is for searches of code.")
    if query.mode is Mode.REGEX and query.group_by is GroupBy.SYMBOL:
        raise InvalidArgumentError("In regex mode, group_by can only be 'passage' or 'file'.")


def _joined(*warnings: str | None) -> str | None:
    return " ".join(filter(None, warnings)) or None
