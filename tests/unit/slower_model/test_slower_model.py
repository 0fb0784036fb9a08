"""Two speeds: the model in the box answers at once, a slower one reads after it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bert_files import WORDS, tensors, write_model, write_safetensors
from contents import MakeProject
from findspot import Project, Query
from findspot.core.errors import CancelledError, IndexNotFoundError, ModelUnavailableError, ProviderError
from findspot.core.model import Corpus, IndexState, Mode, Progress
from findspot.core.progress import CancelToken
from findspot.embed.transformer import MDBR_LEAF
from findspot.search.hybrid import BOTH_WEIGHT, SHARE, SHARE_OF_NAMED, mixture
from findspot.search.questions import understand
from findspot.slower_model import FILE_NAME, BackgroundReading

FILES = {f"src/{name}.py": f"def {name}(a, b):\n    return a {name} b\n" for name in ("add", "cut", "join")}
SNAPSHOT = "hub/models--MongoDB--mdbr-leaf-ir/snapshots/abc1234"
SLOW = {"embedding.provider": "local:mdbr-leaf", "embedding.dtype": "fp32"}


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower model's files, tiny, where the hub's tools would have put them."""
    write_model(tmp_path / SNAPSHOT, dense=256)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    expect_weights(tmp_path, monkeypatch)


def expect_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the hashes of the model's files as they are now, as a user does for weights we cannot know."""
    files = [tmp_path / SNAPSHOT / name for name in MDBR_LEAF.files.weights]
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.exists()]
    monkeypatch.setenv("FINDSPOT_EMBEDDING_SHA256", ",".join(hashes))


@pytest.fixture
def project(make_project: MakeProject, slow: None) -> Iterator[Project]:
    made = make_project(FILES, **SLOW)
    made.update()
    yield made
    made.close()


def spoil(folder: Path, word: str | None = None) -> None:
    """Weights of which some are no numbers: those of all words, or of one."""
    broken = tensors()
    rows = slice(None) if word is None else WORDS.index(word)
    broken["embeddings.word_embeddings.weight"][rows] = np.nan
    write_safetensors(folder / "model.safetensors", broken)


def reading_of(project: Project) -> BackgroundReading:
    reading = project.index.open_slower_model()
    assert reading is not None
    return reading


def standing(project: Project) -> tuple[int, int]:
    second = project.status().slower_model
    assert second is not None
    return second.done, second.total


def meaning(project: Project, text: str = "a join b") -> list[float]:
    found = project.search(Query(text, explain=True))
    assert found.warning is None
    return [hit.why.get("semantic", 0.0) for hit in found.hits if hit.why]


def test_answers_come_at_once_and_change_when_both_have_read(project: Project) -> None:
    status = project.status()
    assert status.model
    assert status.model.startswith("local:static@")
    assert standing(project) == (0, 0)
    at_once = meaning(project)
    assert len(at_once) == 3
    seen: list[Progress] = []
    chunks = project.status().total_chunks
    assert reading_of(project).read(seen.append) == chunks
    assert standing(project) == (chunks, chunks)
    assert [(p.done, p.total) for p in (seen[0], seen[-1])] == [(0, chunks), (chunks, chunks)]
    assert meaning(project) != at_once
    assert meaning(project) == meaning(project)


@pytest.mark.parametrize(
    ("query", "weight", "share"),
    [
        (Query("where are two texts put together"), BOTH_WEIGHT, SHARE),
        (Query("where does join_texts put texts together"), 0.6, SHARE_OF_NAMED),
        (Query("where are two texts put together", semantic_weight=0.3), 0.3, SHARE),
        (Query("where are two texts put together", mode=Mode.SEMANTIC), 1.0, SHARE),
        (Query("where are two texts put together", corpus=Corpus.DOCS), 0.5, SHARE),
    ],
)
def test_plain_words_are_left_to_both_models_and_names_to_words(
    project: Project, query: Query, weight: float, share: float
) -> None:
    with project.store.snapshot() as snapshot:
        assert mixture(understand(snapshot, None, query)) == (weight, share)


def test_only_what_changed_is_read_again(project: Project) -> None:
    reading = reading_of(project)
    reading.read()
    (project.root / "src/add.py").write_text("def add(c, d):\n    return c add d\n")
    project.update()
    assert len(meaning(project)) == 3  # the changed file has its first vector only
    assert 1 <= reading.read() < project.status().total_chunks
    assert reading.read() == 0


def test_choosing_a_slower_model_for_an_index_cuts_nothing(make_project: MakeProject, slow: None) -> None:
    static = make_project(FILES)
    static.update()
    given = Project(static.root, SLOW)
    report = given.update(force=True)
    assert (report.files_indexed, report.files_unchanged) == (0, len(FILES))
    assert reading_of(given).read() == given.status().total_chunks
    rebuilt = given.update(force=True)  # now it is the index's own: a rebuild is a rebuild
    assert rebuilt.files_indexed == len(FILES)
    back = Project(static.root, {"embedding.provider": "local:static"})
    assert back.update(force=True).files_indexed == 0
    assert back.status().slower_model is None
    for each in (static, given, back):
        each.close()


def test_stopped_it_keeps_what_it_has_read(
    make_project: MakeProject, slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.slower_model.BATCH_CHUNKS", 1)
    project = make_project(FILES, **SLOW)
    project.update()
    cancel = CancelToken()

    def stop_after_two(progress: Progress) -> None:
        if progress.done == 2:
            cancel.cancel()

    reading = reading_of(project)
    with pytest.raises(CancelledError):
        reading.read(stop_after_two, cancel)
    done, total = standing(project)
    assert 2 <= done < total
    assert reading.read() == total - done


def test_a_process_that_stays_reads_in_the_background(project: Project) -> None:
    project.watch()
    project.update()
    assert reading_of(project).wait(30)
    done, total = standing(project)
    assert done == total > 0


def test_a_damaged_file_is_made_anew(project: Project) -> None:
    reading_of(project).read()
    project.close()
    (project.store.folder / FILE_NAME).write_bytes(b"not a database" * 100)
    assert len(meaning(project)) == 3
    assert reading_of(project).read() == project.status().total_chunks


def test_a_model_that_cannot_be_opened_is_told_before_anything_is_indexed(
    make_project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    project = make_project(FILES, **SLOW)
    with pytest.raises(ModelUnavailableError):
        project.update()
    assert not project.store.exists


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(("dense", "reason"), [(40, "40 dimensions, not 256"), (256, "no numbers")])
def test_vectors_that_cannot_be_used_are_told_and_none_is_kept(
    make_project: MakeProject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dense: int,
    reason: str,
) -> None:
    write_model(tmp_path / SNAPSHOT, dense=dense)
    if dense == 256:  # long enough, but not numbers
        spoil(tmp_path / SNAPSHOT)
    expect_weights(tmp_path, monkeypatch)
    project = make_project(FILES, **SLOW)
    project.update()
    with pytest.raises(ProviderError, match=reason):
        reading_of(project).read()
    assert standing(project)[0] == 0
    assert project.status().state is IndexState.READY
    assert len(meaning(project)) == 3
    project.close()


def test_a_question_that_the_slower_model_cannot_read_is_answered_by_the_first(
    make_project: MakeProject, slow: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(tmp_path / SNAPSHOT, word="j")
    expect_weights(tmp_path, monkeypatch)
    project = make_project(FILES, **SLOW)
    project.update()
    at_once = meaning(project), meaning(project, "j join b")
    reading_of(project).read()
    assert meaning(project) != at_once[0]
    assert meaning(project, "j join b") == at_once[1]
    project.close()


def test_searches_go_on_without_a_model_that_has_gone(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    again = Project(project.root, SLOW)
    found = again.search(Query("join"))
    assert found.hits
    assert found.warning
    assert found.warning.startswith("Without the model that was chosen")
    again.close()


def test_it_brings_no_deleted_index_back(project: Project) -> None:
    reading = reading_of(project)
    deleting = Project(project.root, SLOW)
    deleting.delete()
    with pytest.raises(IndexNotFoundError):
        reading.read()
    reading.start()
    assert reading.wait(30)  # there is nothing to read
    assert not project.store.folder.exists()
    deleting.close()
