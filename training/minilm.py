# mypy: disable-error-code="import-not-found,untyped-decorator"
"""all-MiniLM-L6-v2 in plain torch: where the table starts from, and its teacher.

The weights are those of the provider `local:minilm`, verified by their SHA-256.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional as nn

from findspot.core.config import hub_settings
from findspot.embed.transformer import MINILM, get_weights

LAYERS = 6
HEADS = 12


def weights_folder() -> Path:
    """Where the verified weights and the tokenizer are, fetched where they are not."""
    return get_weights(MINILM.files, hub_settings(), print).folder


class MiniLM:
    """Mean-pooled sentence vectors of the six-layer model."""

    def __init__(self, device: str = "cpu", max_tokens: int = 256) -> None:
        folder = weights_folder()
        dtype = torch.float16 if device == "cuda" else torch.float32
        self.device = device
        self.weights: dict[str, Any] = {
            name: tensor.to(device, dtype) if tensor.is_floating_point() else tensor
            for name, tensor in load_file(folder / "model.safetensors").items()
        }
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(max_tokens)
        self.tokenizer.no_padding()

    def encode_ids(self, ids: Any, mask: Any) -> Any:
        """Pooled vectors of padded token ids."""
        hidden = self._embed(ids)
        bias = (1.0 - mask[:, None, None, :].to(hidden.dtype)) * -30000.0
        for layer in range(LAYERS):
            hidden = self._layer(hidden, bias, f"encoder.layer.{layer}.")
        weight = mask[..., None].to(hidden.dtype)
        return (hidden * weight).sum(1).float() / weight.sum(1).float()

    @torch.no_grad()
    def embed(self, texts: Sequence[str], batch_tokens: int = 8192) -> NDArray[np.float32]:
        """Unit vectors, in the order of the texts; batches are filled by length."""
        encoded = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(encoded)), key=lambda row: len(encoded[row]))
        vectors = np.zeros((len(texts), 384), dtype=np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end - start + 1) * len(encoded[order[end]]) <= batch_tokens:
                end += 1
            rows = order[start:end]
            width = len(encoded[rows[-1]])
            ids = torch.tensor([encoded[row] + [0] * (width - len(encoded[row])) for row in rows])
            mask = torch.tensor([[1] * len(encoded[row]) + [0] * (width - len(encoded[row])) for row in rows])
            pooled = self.encode_ids(ids.to(self.device), mask.to(self.device))
            vectors[rows] = nn.normalize(pooled, dim=1).cpu().numpy()
            start = end
        return vectors

    def _embed(self, ids: Any) -> Any:
        weights = self.weights
        hidden = weights["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm(hidden, "embeddings.LayerNorm.")

    def _layer(self, hidden: Any, bias: Any, name: str) -> Any:
        batch, length, width = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{name}attention.self.{part}.")
            .view(batch, length, HEADS, width // HEADS)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        attended = nn.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        attended = attended.transpose(1, 2).reshape(batch, length, width)
        attended = self._linear(attended, f"{name}attention.output.dense.")
        hidden = self._norm(hidden + attended, f"{name}attention.output.LayerNorm.")
        inner = nn.gelu(self._linear(hidden, f"{name}intermediate.dense."))
        outer = self._linear(inner, f"{name}output.dense.")
        return self._norm(hidden + outer, f"{name}output.LayerNorm.")

    def _linear(self, hidden: Any, name: str) -> Any:
        return nn.linear(hidden, self.weights[f"{name}weight"], self.weights[f"{name}bias"])

    def _norm(self, hidden: Any, name: str) -> Any:
        weight, bias = self.weights[f"{name}weight"], self.weights[f"{name}bias"]
        return nn.layer_norm(hidden, (hidden.shape[-1],), weight, bias, 1e-12)
