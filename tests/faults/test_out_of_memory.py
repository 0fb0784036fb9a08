"""A model that runs out of memory: smaller batches first, then a Skip that says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from findspot.core.model import Corpus, SourceFile
from findspot.embed.embedder import Embedder, EmbedMode, Vectors
from findspot.embed.provider_registry import open_embedder
from findspot.indexing import worker
from findspot.indexing.workers import Indexed, Job, Rejected, Setup


class Small:
    """The real model on a machine that has room for so many texts at a time; a chunk has three."""

    def __init__(self, model: Embedder, room: int) -> None:
        self._model = model
        self._room = room
        self.id, self.revision, self.dimensions = model.id, model.revision, model.dimensions

    def embed(self, texts: list[str], mode: EmbedMode) -> Vectors:
        if len(texts) > self._room:
            raise MemoryError
        return self._model.embed(texts, mode)

    def close(self) -> None:
        self._model.close()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    text = "".join(f"def function_{n}(x):\n    '''{'word ' * 150}'''\n    return {n}\n\n\n" for n in range(9))
    (tmp_path / "a.py").write_text(text)
    info = os.stat(tmp_path / "a.py")  # noqa: PTH116
    return Job(SourceFile("a.py", Corpus.CODE, "python", info.st_size, info.st_mtime_ns))


def test_it_goes_on_with_less(tmp_path: Path, job: Job) -> None:
    setup = Setup(tmp_path, "local:static", "syntax", 1 << 20)
    model = open_embedder("local:static")
    whole = worker.outcome(job, setup, model)
    by_parts = worker.outcome(job, setup, Small(model, 3))  # type: ignore[arg-type]
    assert isinstance(whole, Indexed)
    assert len(whole.record.rows.chunks) > 4
    assert by_parts == whole


def test_and_says_so_when_nothing_is_small_enough(tmp_path: Path, job: Job) -> None:
    setup = Setup(tmp_path, "local:static", "syntax", 1 << 20)
    model = Small(open_embedder("local:static"), 0)
    outcome = worker.outcome(job, setup, model)  # type: ignore[arg-type]
    assert isinstance(outcome, Rejected)
    assert "not enough memory" in outcome.skip.detail
