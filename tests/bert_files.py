"""A tiny BERT in the files that models are published in: real formats, random weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HIDDEN, HEADS, LAYERS, INNER = 24, 3, 2, 48
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghij"]


def write_safetensors(path: Path, tensors: dict[str, NDArray[np.float32]]) -> None:
    head, body = {}, b""
    for name, tensor in tensors.items():
        data = tensor.astype(np.float32).tobytes()
        offsets = [len(body), len(body) + len(data)]
        head[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        body += data
    encoded = json.dumps(head).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + body)


def tensors(seed: int = 1) -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> NDArray[np.float32]:
        return random.normal(0, 0.3, shape).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": draw(len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": draw(512, HIDDEN),
        "embeddings.token_type_embeddings.weight": draw(2, HIDDEN),
        "embeddings.LayerNorm.weight": 1 + draw(HIDDEN),
        "embeddings.LayerNorm.bias": draw(HIDDEN),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        shapes = {
            **{f"attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")},
            "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (INNER, HIDDEN),
            "output.dense": (HIDDEN, INNER),
        }
        for part, (rows, columns) in shapes.items():
            found[f"{name}{part}.weight"] = draw(rows, columns)
            found[f"{name}{part}.bias"] = draw(rows)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            found[f"{name}{part}.weight"] = 1 + draw(HIDDEN)
            found[f"{name}{part}.bias"] = draw(HIDDEN)
    return found


def tokenizer() -> str:
    """A word-level tokenizer with BERT's frame around each text."""
    ids = {word: number for number, word in enumerate(WORDS)}
    marks = {mark: {"id": mark, "ids": [ids[mark]], "tokens": [mark]} for mark in ("[CLS]", "[SEP]")}
    frame = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    value = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing", "single": frame, "pair": frame, "special_tokens": marks,
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": ids, "unk_token": "[UNK]"},
    }  # fmt: skip
    return json.dumps(value)


def write_model(folder: Path, dense: int | None = None, query_prompt: str = "") -> None:
    """All files of a model, with a last linear layer to `dense` dimensions if asked for."""
    write_safetensors(folder / "model.safetensors", tensors())
    (folder / "tokenizer.json").write_text(tokenizer())
    (folder / "config.json").write_text(json.dumps({"num_attention_heads": HEADS}))
    if dense:
        weight = np.random.default_rng(2).normal(0, 0.3, (dense, HIDDEN))
        write_safetensors(folder / "2_Dense" / "model.safetensors", {"linear.weight": weight})
    if query_prompt:
        (folder / "config_sentence_transformers.json").write_text(
            json.dumps({"prompts": {"query": query_prompt, "document": ""}})
        )


def reference(ids: list[int], source: dict[str, NDArray[np.float32]]) -> NDArray[np.float64]:
    """The same network in plain numpy: the mean of its last layer."""

    def norm(value: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        spread = value - value.mean(-1, keepdims=True)
        scaled = spread / np.sqrt((spread**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * source[f"{name}.weight"] + source[f"{name}.bias"])

    def linear(value: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return np.asarray(value @ source[f"{name}.weight"].T + source[f"{name}.bias"])

    def gelu(value: NDArray[np.float64]) -> NDArray[np.float64]:
        from math import erf

        return np.asarray(value * (1 + np.vectorize(erf)(value / np.sqrt(2))) / 2)

    words = source["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    hidden = words + source["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = norm(hidden + source["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        heads = [
            linear(hidden, f"{name}attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        ]
        likeness = np.exp(heads[0] @ heads[1].swapaxes(1, 2) / np.sqrt(HIDDEN / HEADS))
        attended = (likeness / likeness.sum(-1, keepdims=True)) @ heads[2]
        attended = attended.swapaxes(0, 1).reshape(len(ids), HIDDEN)
        hidden = norm(
            hidden + linear(attended, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm"
        )
        inner = gelu(linear(hidden, f"{name}intermediate.dense"))
        hidden = norm(hidden + linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")
    return np.asarray(hidden.mean(0))
