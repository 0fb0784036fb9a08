"""The static model in the package: what its vectors promise."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from findspot.core.errors import InvalidArgumentError, ModelUnavailableError
from findspot.embed.embedder import EmbedMode
from findspot.embed.provider_registry import open_embedder
from findspot.embed.static_model import BLOCK_TEXTS, MODEL_FOLDER, StaticEmbedder

TEXTS = [
    "def read_json(path):\n    with open(path) as f:\n        return json.load(f)",
    "class HTTPServer2: pass",
    "привет мир",
    "x = 1",
]


@pytest.fixture(scope="module")
def model() -> StaticEmbedder:
    return StaticEmbedder.open()


def test_the_same_text_gives_the_same_bytes_alone_or_among_others(model: StaticEmbedder) -> None:
    alone = np.concatenate([model.embed([text], EmbedMode.PASSAGE) for text in TEXTS])
    among = model.embed(["filler words"] * 7 + TEXTS * BLOCK_TEXTS, EmbedMode.PASSAGE)
    assert np.array_equal(alone, among[7 : 7 + len(TEXTS)])
    assert np.array_equal(alone, among[-len(TEXTS) :])
    assert np.array_equal(alone, StaticEmbedder.open().embed(TEXTS, EmbedMode.QUERY))


def test_rows_have_length_one(model: StaticEmbedder) -> None:
    lengths = np.linalg.norm(model.embed(TEXTS, EmbedMode.PASSAGE), axis=1)
    assert lengths == pytest.approx(1, abs=1e-5)
    assert model.embed(TEXTS, EmbedMode.PASSAGE).dtype == np.float32


@pytest.mark.parametrize("text", ["", "   \n\t", "(){};,.", "\x00\x01", "\ud800", "_" * 50, "A" * 5_000])
def test_a_text_without_known_words_is_a_row_of_zeros(model: StaticEmbedder, text: str) -> None:
    assert not model.embed([text], EmbedMode.PASSAGE).any()


def test_the_revision_is_that_of_the_files() -> None:
    digest = hashlib.sha256()
    for name in ("vectors.npy", "vocabulary.txt"):
        digest.update((MODEL_FOLDER / name).read_bytes())
    about = json.loads((MODEL_FOLDER / "model.json").read_text("utf-8"))
    assert about["revision"] == f"v0-{digest.hexdigest()[:12]}" == StaticEmbedder.open().revision


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists what a process has mapped")
def test_the_table_is_not_read_into_memory(model: StaticEmbedder) -> None:
    assert model.dimensions
    assert str(MODEL_FOLDER / "vectors.npy") in Path("/proc/self/maps").read_text("utf-8")


@pytest.mark.parametrize("missing", ["vectors.npy", "vocabulary.txt", "model.json"])
def test_a_broken_model_is_a_clear_error(tmp_path: Path, missing: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    (folder / missing).unlink()
    with pytest.raises(ModelUnavailableError) as caught:
        StaticEmbedder.open(folder)
    assert missing in caught.value.developer_message


def test_an_unknown_provider_names_those_that_exist() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        open_embedder("local:none")
    assert "local:none" in str(caught.value)
    assert "local:static" in caught.value.hint


def test_no_network_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert open_embedder("local:static").embed(["hello world"], EmbedMode.QUERY).any()
