"""Small transformers: the graph against the same network in numpy, and MiniLM where it is installed."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bert_files import HIDDEN, LAYERS, WORDS, reference, tensors, write_model, write_safetensors
from contents import MakeProject
from findspot import Query
from findspot.core.config import HubSettings, hub_settings
from findspot.core.errors import ModelUnavailableError, ProviderError
from findspot.core.files import content_hash
from findspot.core.model import Mode
from findspot.embed.embedder import EmbedMode
from findspot.embed.transformer import (
    MDBR_LEAF,
    MINILM,
    ModelFiles,
    Transformer,
    TransformerEmbedder,
    find_weights,
)

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("onnx", "onnxruntime", "tokenizers")),
    reason="the extra `minilm` is not installed",
)

TINY = Transformer("local:tiny", ModelFiles("some/tiny", ("model.safetensors", "tokenizer.json")), HIDDEN)
SNAPSHOT = "models--some--tiny/snapshots/abc1234"


@pytest.fixture
def hub(tmp_path: Path) -> HubSettings:
    return HubSettings(tmp_path / "hub", "http://127.0.0.1:1", offline=True)


def tell(_message: str) -> None:
    pass


def opened(
    tmp_path: Path, hub: HubSettings, model: Transformer = TINY, dtype: str = "fp32"
) -> TransformerEmbedder:
    path = hub.cache / SNAPSHOT / "model.safetensors"
    sha256 = content_hash(path.read_bytes() if path.is_file() else b"")
    return TransformerEmbedder(model, dtype, tmp_path / "home", hub, tell, sha256=sha256)


@pytest.mark.parametrize(("dtype", "at_least"), [("fp32", 0.99999), ("q8", 0.99)])
def test_the_graph_is_the_network(tmp_path: Path, hub: HubSettings, dtype: str, at_least: float) -> None:
    write_model(hub.cache / SNAPSHOT)
    (row,) = opened(tmp_path, hub, dtype=dtype).embed(["a c j b"], EmbedMode.PASSAGE)
    wanted = reference([WORDS.index(word) for word in ["[CLS]", "a", "c", "j", "b", "[SEP]"]], tensors())
    assert row @ wanted / np.linalg.norm(wanted) > at_least


def test_a_text_has_one_vector_alone_or_among_others(tmp_path: Path, hub: HubSettings) -> None:
    write_model(hub.cache / SNAPSHOT)
    embedder = opened(tmp_path, hub, dtype="q8")
    texts = ["a b", "c " * 100, "", "j"]
    among = embedder.embed(texts, EmbedMode.PASSAGE)
    alone = np.concatenate([embedder.embed([text], EmbedMode.PASSAGE) for text in texts])
    assert np.array_equal(among, alone)
    assert [bool(row.any()) for row in among] == [True, True, False, True]
    assert embedder.embed([], EmbedMode.QUERY).shape == (0, HIDDEN)


def test_a_last_layer_a_prompt_and_shorter_vectors(tmp_path: Path, hub: HubSettings) -> None:
    write_model(hub.cache / SNAPSHOT, dense=40, query_prompt="a b ")
    short = Transformer("local:short", TINY.files, 16)
    embedder = opened(tmp_path, hub, short)
    assert embedder.embed(["c"], EmbedMode.PASSAGE).shape == (1, 16)
    prompted = embedder.embed(["c"], EmbedMode.QUERY)
    assert np.allclose(prompted, embedder.embed(["a b c"], EmbedMode.PASSAGE))
    too_long = Transformer("local:long", TINY.files, 64)
    with pytest.raises(ProviderError, match="40 dimensions, not 64"):
        opened(tmp_path, hub, too_long).embed(["c"], EmbedMode.PASSAGE)


def test_the_graph_is_written_once_and_again_when_it_is_damaged(tmp_path: Path, hub: HubSettings) -> None:
    write_model(hub.cache / SNAPSHOT)
    first = opened(tmp_path, hub).embed(["a"], EmbedMode.QUERY)
    (graph,) = (tmp_path / "home" / "models").iterdir()
    os.utime(graph, (1, 1))
    opened(tmp_path, hub)
    assert graph.stat().st_mtime == 1
    graph.write_bytes(b"damaged")
    assert np.array_equal(opened(tmp_path, hub).embed(["a"], EmbedMode.QUERY), first)


def test_weights_that_are_no_numbers(tmp_path: Path, hub: HubSettings) -> None:
    write_model(hub.cache / SNAPSHOT)
    broken = tensors()
    broken[f"encoder.layer.{LAYERS - 1}.output.LayerNorm.bias"][:] = np.nan
    write_safetensors(hub.cache / SNAPSHOT / "model.safetensors", broken)
    with pytest.raises(ProviderError, match="no numbers"):
        opened(tmp_path, hub).embed(["a"], EmbedMode.PASSAGE)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("keep", [0, 4, 1000])
def test_weights_that_are_cut_short(tmp_path: Path, hub: HubSettings, name: str, keep: int) -> None:
    write_model(hub.cache / SNAPSHOT)
    path = hub.cache / SNAPSHOT / name
    path.write_bytes(path.read_bytes()[: min(keep, path.stat().st_size - 10)])
    with pytest.raises(ModelUnavailableError, match="Couldn't set up") as caught:
        opened(tmp_path, hub)
    assert "cannot be used" in caught.value.developer_message
    assert not list((tmp_path / "home").rglob("*.part"))


def test_minilm_where_its_weights_are(tmp_path: Path) -> None:
    hub = replace(hub_settings(), offline=True)
    if find_weights(MINILM.files, hub) is None:
        pytest.skip("the weights of all-MiniLM-L6-v2 are not on this machine")
    embedder = TransformerEmbedder(MINILM, None, tmp_path, hub, tell)
    code = "def read_json(path):\n    return json.load(open(path))"
    question, near, far = embedder.embed(
        ["how to read a json file in python", code, "a poem about the sea"], EmbedMode.PASSAGE
    )
    assert embedder.dimensions == 384
    assert question @ near > 0.5
    assert question @ far < 0.2
    whole = TransformerEmbedder(MINILM, "fp32", tmp_path, hub, tell).embed([code], EmbedMode.PASSAGE)[0]
    assert near @ whole > 0.98


FILES = {f"src/{name}.py": f"def {name}(a, b):\n    return a {name} b\n" for name in ("add", "cut", "join")}
LEAF = {"embedding.provider": "local:mdbr-leaf", "embedding.dtype": "fp32"}


@pytest.fixture
def leaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of `local:mdbr-leaf`, tiny, where the hub's tools would have put them."""
    snapshot = tmp_path / "hub/models--MongoDB--mdbr-leaf-ir/snapshots/abc1234"
    write_model(snapshot, dense=256)
    hashes = [content_hash((snapshot / name).read_bytes()) for name in MDBR_LEAF.files.weights]
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("FINDSPOT_EMBEDDING_SHA256", ",".join(hashes))


def test_the_chosen_transformer_is_the_only_model_of_a_project(make_project: MakeProject, leaf: None) -> None:
    project = make_project(FILES, **LEAF)
    project.update()
    model = project.status().model
    assert model is not None
    assert model.startswith("local:mdbr-leaf@")
    assert len(project.search(Query("a join b", mode=Mode.SEMANTIC)).hits) == len(FILES)
    project.close()


def test_a_model_that_cannot_be_opened_is_told_before_anything_is_indexed(
    make_project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    project = make_project(FILES, **LEAF)
    with pytest.raises(ModelUnavailableError):
        project.update()
    assert not project.store.exists
