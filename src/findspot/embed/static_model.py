"""`local:static`: a table of token vectors inside the package; a text is the sum of its tokens.

The table stays int8 in a memory map: only the rows that a text needs are read and widened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from findspot.core.errors import ModelUnavailableError
from findspot.core.files import check_exhausted
from findspot.core.platforms import native
from findspot.embed.chunk_vectors import unit
from findspot.embed.embedder import EmbedMode, Vectors
from findspot.text.tokens import REMEMBERED_WORDS, run_parts, runs, word_parts

MODEL_FOLDER = Path(__file__).parent / "models" / "static-v0"

_REINSTALL = "The model is part of the package: reinstall findspot."


class StaticEmbedder:
    """Sums the vectors of a text's distinct tokens; the length of a vector is the weight of its token."""

    id = "local:static"

    def __init__(self, vectors: WordVectors, dimensions: int, revision: str) -> None:
        self.revision = revision
        self.dimensions = dimensions
        self._vectors = vectors

    @classmethod
    def open(cls, folder: Path = MODEL_FOLDER) -> StaticEmbedder:
        """Map the table and read the vocabulary of a model folder."""
        try:
            about = json.loads((folder / "model.json").read_text("utf-8"))
            vocabulary = (folder / "vocabulary.txt").read_bytes()
            table = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
            vectors = word_vectors(vocabulary, table.view(np.ndarray))
            revision = str(about["revision"])
        except (OSError, ValueError, KeyError) as error:
            check_exhausted(error, folder)
            raise ModelUnavailableError(f"{folder.name}: {error}", hint=_REINSTALL) from error
        return cls(vectors, int(table.dtype["vector"].shape[0]), revision)

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        del mode
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        self._vectors.sum([(text,) for text in texts], rows)
        return unit(rows)

    def close(self) -> None:
        """Do nothing: the memory map is released with the object."""


class WordVectors(Protocol):
    """A table of vectors of pieces of words."""

    def sum(self, texts: list[tuple[str, ...]], rows: Vectors, /) -> None:
        """Write the sum of the vectors of each text's distinct pieces to its row."""


class PythonWordVectors:
    """The same without the compiled part."""

    def __init__(self, vocabulary: bytes, table: NDArray[Any]) -> None:
        entries = vocabulary.decode("utf-8").splitlines()
        if len(table) != len(entries):
            raise ValueError(f"{len(entries)} words but {len(table)} vectors")
        self._pieces = WordPieces(entries)
        self._table = table
        self._lock = Lock()

    def sum(self, texts: list[tuple[str, ...]], rows: Vectors, /) -> None:
        for start in range(0, len(texts), BLOCK_TEXTS):
            block = slice(start, start + BLOCK_TEXTS)
            words = [chain.from_iterable(map(runs, parts)) for parts in texts[block]]
            self._sum_tokens(self._token_ids(words), rows[block])

    def _token_ids(self, texts: Iterable[Iterable[str]]) -> list[list[int]]:
        """Return each text's distinct tokens, sorted, so that sums do not depend on the order of words."""
        with self._lock:
            lookup = self._pieces.__getitem__
            ids = [sorted(set(chain.from_iterable(map(lookup, set(words))))) for words in texts]
            self._pieces.forget_if_large()
        return ids

    def _sum_tokens(self, ids: list[list[int]], rows: Vectors) -> None:
        """Write the sum of the vectors of each text's tokens to its row."""
        held = [at for at, its_ids in enumerate(ids) if its_ids]
        if held:
            tokens = self._table.take(list(chain.from_iterable(ids)))
            counts = np.array([len(ids[at]) for at in held])
            weighted = tokens["vector"] * tokens["scale"][:, None]
            # Stored vectors depend on the order of additions, so it must not change.
            rows[held] = np.add.reduceat(weighted, np.cumsum(counts) - counts, axis=0)


def word_vectors(vocabulary: bytes, table: NDArray[Any]) -> WordVectors:
    """Return the vectors of a vocabulary with one entry per line; the table has one row for each."""
    module = native()
    if module is None or not table.dtype["scale"].isnative:
        return PythonWordVectors(vocabulary, table)
    fields: Any = table.dtype.fields
    (vector, vector_at), (_, scale_at) = fields["vector"][:2], fields["scale"][:2]
    layout = (table.dtype.itemsize, vector_at, scale_at, vector.shape[0])
    rows = table.view(np.uint8)
    vectors: WordVectors = module.WordVectors(vocabulary, rows, layout, run_parts, REMEMBERED_WORDS)
    return vectors


BLOCK_TEXTS = 32
"""Texts embedded at a time, so that room for their tokens stays bounded."""

CONTINUATION = "##"
"""Marks an entry that continues a word, as in BERT's vocabularies."""


class WordPieces(dict[str, tuple[int, ...]]):
    """Word → ids, computed once per word: the whole part if known, else its longest pieces, greedily."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        super().__init__()
        self._ids = {entry: id_ for id_, entry in enumerate(vocabulary)}
        self._longest = max(map(len, self._ids), default=0)

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(id_ for part in word_parts(word) for id_ in self.part_ids(part))
        self[word] = ids
        return ids

    def part_ids(self, part: str) -> list[int]:
        whole = self._ids.get(part)
        if whole is not None:
            return [whole]
        found: list[int] = []
        get = self._ids.get
        start = 0
        while start < len(part):
            rest = CONTINUATION + part[start:] if start else part
            border = len(CONTINUATION) if start else 0
            for end in range(min(len(rest), border + self._longest), border, -1):
                id_ = get(rest[:end])
                if id_ is not None:
                    found.append(id_)
                    start += end - border
                    break
            else:
                start += 1
        return found

    def forget_if_large(self) -> None:
        """Clear the cache when it has too many words, so that memory stays bounded."""
        if len(self) > REMEMBERED_WORDS:
            self.clear()
