"""`local:minilm` and `local:mdbr-leaf`: small transformers on ONNX Runtime, on this machine.

The graph is written once from the weights and kept beside the indexes. Texts go through it one
at a time: int8 activations share a scale within a batch, so that in company a text would get
another vector than alone, and on a CPU a batch is no faster.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from findspot.core.errors import InvalidArgumentError, ModelUnavailableError, ProviderError
from findspot.core.files import make_private_dir
from findspot.core.log import get_logger
from findspot.core.settings import HubSettings
from findspot.embed.batch import unit
from findspot.embed.protocol import EmbedMode, Vectors
from findspot.embed.providers.graph import GRAPH_REVISION, Tensors, read_safetensors, write_graph
from findspot.embed.providers.weights import ModelFiles, Tell, get_weights, read_config

if TYPE_CHECKING:
    from numpy.typing import NDArray

_log = get_logger("transformer")

MAX_TOKENS = 256
"""512 were measured to be slower and worse."""

MAX_CHARS = 8_000
"""Far more than the tokens that are read can hold: the tokenizer need not see the rest."""

DTYPES = ("q8", "fp32")
_HEADS = 12
_DENSE = "2_Dense/model.safetensors"
_INSTALL = "Run `pip install 'findspot[minilm]'`."


@dataclass(frozen=True, slots=True)
class Transformer:
    """A model of this kind: its files, and how long its vectors are to be."""

    id: str
    files: ModelFiles
    dimensions: int


MINILM = Transformer(
    "local:minilm",
    ModelFiles(
        "sentence-transformers/all-MiniLM-L6-v2",
        ("model.safetensors", "tokenizer.json"),
        ("config.json",),
        {"model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
    ),
    dimensions=384,
)
MDBR_LEAF = Transformer(
    "local:mdbr-leaf",
    ModelFiles(
        "MongoDB/mdbr-leaf-ir",
        ("model.safetensors", "tokenizer.json", "config.json", _DENSE),
        ("config_sentence_transformers.json",),
    ),
    dimensions=256,
)


class TransformerEmbedder:
    """Mean-pooled vectors of a small BERT; safe to use from several threads."""

    def __init__(
        self,
        model: Transformer,
        dtype: str | None,
        home: Path,
        hub: HubSettings,
        tell: Tell,
        *,
        sha256: str | None = None,
    ) -> None:
        """`sha256` are the hashes of the weights that the user gave, in place of those we know."""
        self.id, self.dimensions = model.id, model.dimensions
        dtype = dtype or DTYPES[0]
        if dtype not in DTYPES:
            raise InvalidArgumentError(
                f"'{dtype}' is no dtype of {model.id}.", hint=f"Choose one of: {', '.join(DTYPES)}."
            )
        if not runtime_there():
            raise ModelUnavailableError("onnxruntime, onnx and tokenizers are not installed", hint=_INSTALL)
        weights = get_weights(model.files.expecting(sha256), hub, tell)
        folder, digest = weights.folder, weights.sha256[:12]
        try:
            self._dense = _read_dense(folder)
            graph = home / "models" / f"{model.id.partition(':')[2]}-{digest}-{dtype}-{GRAPH_REVISION}.onnx"
            self._session = _open_graph(folder, graph, int8=dtype == "q8")
            self._tokenizer = _tokenizer(folder)
        except ModelUnavailableError:
            raise
        except Exception as error:  # a broken file makes these libraries raise all kinds
            detail = f"the weights in {folder} cannot be used: {error}"
            raise ModelUnavailableError(
                detail, hint="Remove that folder, and they are fetched again."
            ) from error
        self.revision = f"{digest}-{dtype}-{GRAPH_REVISION}"
        self._prompts = _prompts(folder)

    def embed(self, texts: Sequence[str], mode: EmbedMode) -> Vectors:
        """Return one unit row a text."""
        prompt = self._prompts.get(mode, "")
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                rows[row] = self._row(prompt + text[:MAX_CHARS])
        if not np.isfinite(rows).all():
            raise ProviderError(f"{self.id}: its vectors hold values that are no numbers")
        return unit(rows)

    def close(self) -> None:
        """The session goes with the object."""

    def _row(self, text: str) -> NDArray[np.float32]:
        ids = np.array([self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids], np.int64)
        pooled = self._session.run(None, {"ids": ids, "mask": np.ones_like(ids)})[0][0]
        if self._dense is not None:
            pooled = self._dense["linear.weight"].astype(np.float32) @ pooled
            if "linear.bias" in self._dense:
                pooled += self._dense["linear.bias"]
        if len(pooled) < self.dimensions:
            raise ProviderError(
                f"{self.id}: its vectors have {len(pooled)} dimensions, not {self.dimensions}"
            )
        row: NDArray[np.float32] = pooled[: self.dimensions]
        return row


def runtime_there() -> bool:
    """Return whether the extra `minilm` is installed."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("onnxruntime", "onnx", "tokenizers"))


def _open_graph(folder: Path, graph: Path, *, int8: bool) -> Any:
    """Return a session of the graph, which is written where it is missing or damaged."""
    if graph.is_file():
        try:
            return _session(graph)
        except Exception as error:  # noqa: BLE001 - the runtime has an error of its own for each kind of damage
            _log.warning("%s is written anew: %s", graph.name, type(error).__name__)
    _build(folder, graph, int8=int8)
    return _session(graph)


def _build(folder: Path, graph: Path, *, int8: bool) -> None:
    """Write the graph beside its place, then put it there whole."""
    make_private_dir(graph.parent)
    heads = read_config(folder, "config.json").get("num_attention_heads", _HEADS)
    part = graph.with_suffix(f".{os.getpid()}.part")
    try:
        write_graph(read_safetensors(folder / "model.safetensors"), int(str(heads)), part, int8=int8)
        part.replace(graph)
    finally:
        part.unlink(missing_ok=True)
    _log.info("%s written, %d MB", graph.name, graph.stat().st_size >> 20)


def _session(graph: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = False  # it would keep what the longest text ever took
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def _read_dense(folder: Path) -> Tensors | None:
    path = folder / _DENSE
    return read_safetensors(path) if path.is_file() else None


def _prompts(folder: Path) -> dict[EmbedMode, str]:
    """Return what a model wants to stand before a question and before a passage."""
    prompts = read_config(folder, "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return {}
    passage = prompts.get("document", prompts.get("passage", ""))
    return {EmbedMode.QUERY: str(prompts.get("query", "")), EmbedMode.PASSAGE: str(passage or "")}
