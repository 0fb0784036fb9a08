"""`local:minilm` and `local:mdbr-leaf`: small transformers on ONNX Runtime, on this machine.

The ONNX graph is written once from the weights, made int8, and stored beside the indexes; its operators are
ONNX Runtime's own fused ones, so nothing is left to an optimiser, and torch is not needed. Texts go through
it one at a time: int8 activations share a scale within a batch, so that a text would get another vector in
company than alone, and on a CPU a batch is no faster. The weights come from the Hugging Face cache or the
hub, and only with the expected SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from findspot.core.config import HubSettings
from findspot.core.errors import FindspotError, InvalidArgumentError, ModelUnavailableError, ProviderError
from findspot.core.files import make_private_dir, translated_os_errors
from findspot.core.log import get_logger
from findspot.core.settings import DTYPES
from findspot.embed.chunk_vectors import unit
from findspot.embed.embedder import EmbedMode, Vectors

_SHA256 = re.compile(r"^[0-9a-f]{64}$")

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The name of a model on the hub, its files, and the hashes of its weights."""

    repository: str
    files: tuple[str, ...]
    optional: tuple[str, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    """File of weights → its SHA-256, if this version knows it."""
    about_mb: int = 90

    @property
    def weights(self) -> tuple[str, ...]:
        return tuple(name for name in self.files if name.endswith(".safetensors"))

    def is_in(self, folder: Path) -> bool:
        return all((folder / name).is_file() for name in self.files)

    def expecting(self, given: str | None) -> ModelFiles:
        """Return the model with the user's hashes, in the order of its files of weights."""
        if not given:
            return self
        hashes = [part.strip().lower() for part in given.split(",")]
        if len(hashes) != len(self.weights) or not all(map(_SHA256.match, hashes)):
            raise InvalidArgumentError(
                f"`embedding.sha256` must hold {len(self.weights)} SHA-256 of 64 hex digits for "
                f"{self.repository}, separated by commas.",
                hint=f"In the order of {', '.join(self.weights)}.",
            )
        return replace(self, sha256=dict(zip(self.weights, hashes, strict=True)))


@dataclass(frozen=True, slots=True)
class Weights:
    """A folder with a model's files, and the SHA-256 of the first file of its weights."""

    folder: Path
    sha256: str


def find_weights(model: ModelFiles, hub: HubSettings) -> Weights | None:
    """Return a folder of the hub's cache that has all of a model's files with the expected hashes."""
    name = "models--" + model.repository.replace("/", "--")
    found = (folder for folder in sorted((hub.cache / name).glob("snapshots/*")) if model.is_in(folder))
    return next(filter(None, (_verified(model, folder) for folder in found)), None)


def get_weights(model: ModelFiles, hub: HubSettings, tell: Tell) -> Weights:
    """Return a model's files; download them from the hub if that is needed and allowed."""
    if unknown := [name for name in model.weights if name not in model.sha256]:
        raise ModelUnavailableError(
            f"the SHA-256 of {', '.join(unknown)} of {model.repository} is not known, and weights that "
            "cannot be verified are not used",
            hint="Set `embedding.sha256` to what the publisher states, or use another provider.",
        )
    found = find_weights(model, hub)
    if found is not None:
        return found
    if hub.offline:
        raise _unavailable(model, "HF_HUB_OFFLINE is set and its verified weights are not on this machine")
    tell(f"Downloading embedding model... (one-time, ~{model.about_mb}MB)")
    folder = _download(model, hub)
    found = _verified(model, folder)
    if found is None:
        raise _unavailable(model, f"{hub.endpoint} has other weights than those expected; none were kept")
    tell("Done! Model cached for future use.")
    return found


def _verified(model: ModelFiles, folder: Path) -> Weights | None:
    """Return the weights in a folder, or None if a hash is not the expected one."""
    digests = {name: _file_sha256(folder / name) for name in model.weights}
    if any(digest != model.sha256.get(name) for name, digest in digests.items()):
        return None
    return Weights(folder, digests[model.weights[0]])


def _file_sha256(path: Path) -> str:
    try:
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError:
        return ""


def _download(model: ModelFiles, hub: HubSettings) -> Path:
    """Have the hub's own library fetch all files; other weights than the expected ones are not kept."""
    for switched_off in ("TELEMETRY", "PROGRESS_BARS"):  # read when the library is imported
        os.environ.setdefault(f"HF_HUB_DISABLE_{switched_off}", "1")
    from huggingface_hub import snapshot_download

    wanted = [*model.files, *model.optional]
    try:
        with translated_os_errors(hub.cache):
            folder = Path(
                snapshot_download(
                    model.repository,
                    cache_dir=hub.cache,
                    endpoint=hub.endpoint,
                    allow_patterns=wanted,
                    force_download=True,  # what is in the cache is not what is expected
                    token=False,
                )
            )
    except FindspotError:
        raise
    except Exception as error:  # the library raises those of its HTTP client, too
        raise _unavailable(model, f"{hub.endpoint}: {error}") from error
    for name in model.files:
        if not (folder / name).is_file():
            raise _unavailable(model, f"{hub.endpoint} has no {name}")
    for name, expected in model.sha256.items():
        if _file_sha256(folder / name) != expected:
            (folder / name).resolve().unlink()
            (folder / name).unlink(missing_ok=True)
    return folder


def read_config(folder: Path, name: str) -> dict[str, object]:
    """Return one of a model's JSON files; empty if the model has none."""
    try:
        value = json.loads((folder / name).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelUnavailableError(f"{folder / name}: {error}") from error
    return value if isinstance(value, dict) else {}


def _unavailable(model: ModelFiles, detail: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"{model.repository}: {detail}",
        hint=f"Without a network, copy {model.repository} to the Hugging Face cache, or use `local:static`.",
    )


GRAPH_REVISION = "1"
"""Raise it when the same weights give other vectors."""

Tensors = dict[str, NDArray[Any]]

_FUSED = "com.microsoft"
_TENSOR_TYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32}
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")


def read_safetensors(path: Path) -> Tensors:
    """Map the tensors of a file; raise ValueError if it is incomplete."""
    data = np.memmap(path, np.uint8, "r")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    if data.size < 8 or start > data.size:
        raise ValueError("cut short")
    tensors: Tensors = {}
    for name, about in json.loads(data[8:start].tobytes()).items():
        if name == "__metadata__":
            continue
        first, last = (start + offset for offset in about["data_offsets"])
        if last > data.size:
            raise ValueError("cut short")
        kind = _TENSOR_TYPES.get(about["dtype"])
        if kind is not None:
            tensors[name.removeprefix("bert.")] = data[first:last].view(kind).reshape(about["shape"])
    return tensors


class _Encoder:
    """Gathers the nodes of the graph in order.

    Its inputs are token ids and their mask, its output is the mean of the last layer.
    """

    def __init__(self, tensors: Tensors, heads: int, *, int8: bool) -> None:
        self._tensors = tensors
        self._heads = heads
        self._int8 = int8
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def model(self) -> Any:
        from onnx import TensorProto, helper

        layers = 1 + max(int(found[1]) for name in self._tensors if (found := _LAYER.match(name)))
        self._node("Cast", ["mask"], "mask32", to=TensorProto.INT32)
        hidden = self._embed()
        for layer in range(layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}.")
        self._pool(hidden)
        shape = ["batch", "length"]
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("ids", "mask")],
            [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["batch", None])],
            self._weights,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def _embed(self) -> str:
        """Return words, positions and the one segment, added and normalised; words in half precision."""
        from onnx import TensorProto

        words = self._weight("embeddings.word_embeddings.weight", np.float16)
        self._node("Gather", [words, "ids"], "words16")
        self._node("Cast", ["words16"], "words", to=TensorProto.FLOAT)
        positions = self._tensors["embeddings.position_embeddings.weight"].astype(np.float32)
        segment = self._tensors["embeddings.token_type_embeddings.weight"][0].astype(np.float32)
        self._constant("positions", positions + segment)
        self._node("Shape", ["ids"], "length", start=1, end=2)
        self._constant("zero", np.array([0], np.int64))
        self._node("Slice", ["positions", "zero", "length"], "placed")
        self._node("Add", ["words", "placed"], "embedded")
        return self._node("LayerNormalization", ["embedded", *self._norm("embeddings.")], "hidden", axis=-1,
                          epsilon=1e-12)  # fmt: skip

    def _layer(self, hidden: str, name: str) -> str:
        parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
        biases = np.concatenate([self._tensors[f"{part}.bias"] for part in parts]).astype(np.float32)
        projected = [self._times(hidden, part) for part in parts]
        bias = self._constant(f"{name}biases", biases)
        attended = self._node("MultiHeadAttention", [*projected, bias, "mask32"], f"{name}attended",
                              domain=_FUSED, num_heads=self._heads)  # fmt: skip
        hidden = self._residual(attended, hidden, f"{name}attention.output.")
        inner = self._times(hidden, f"{name}intermediate.dense")
        bent = self._node("BiasGelu", [inner, self._weight(f"{name}intermediate.dense.bias")],
                          f"{name}bent", domain=_FUSED)  # fmt: skip
        return self._residual(bent, hidden, f"{name}output.")

    def _residual(self, source: str, skip: str, name: str) -> str:
        inputs = [self._times(source, f"{name}dense"), skip, *self._norm(name)]
        inputs.append(self._weight(f"{name}dense.bias"))
        return self._node("SkipLayerNormalization", inputs, f"{name}normed", domain=_FUSED, epsilon=1e-12)

    def _pool(self, hidden: str) -> None:
        from onnx import TensorProto

        self._node("Cast", ["mask"], "maskf", to=TensorProto.FLOAT)
        self._constant("one", np.array([1], np.int64))
        self._constant("last", np.array([-1], np.int64))
        self._node("Unsqueeze", ["maskf", "last"], "weights")
        self._node("Mul", [hidden, "weights"], "kept")
        self._node("ReduceSum", ["kept", "one"], "total", keepdims=0)
        self._node("ReduceSum", ["weights", "one"], "count", keepdims=0)
        self._node("Div", ["total", "count"], "pooled")

    def _times(self, hidden: str, name: str) -> str:
        """Return a product with a matrix, whose columns each have their own scale where it is int8.

        One scale for the whole matrix would move the vectors to a cosine of 0.936, this to 0.994.
        """
        matrix = self._tensors[f"{name}.weight"].astype(np.float32).T
        if not self._int8:
            return self._node("MatMul", [hidden, self._constant(f"{name}.matrix", matrix)], f"{name}.out")
        scales = np.maximum(np.abs(matrix).max(axis=0), np.finfo(np.float32).tiny) / 127
        steps = self._constant(f"{name}.matrix", np.rint(matrix / scales).astype(np.int8))
        scale = self._constant(f"{name}.scales", scales.astype(np.float32))
        inputs = [hidden, steps, scale]
        return self._node("DynamicQuantizeMatMul", inputs, f"{name}.out", domain=_FUSED)

    def _norm(self, name: str) -> list[str]:
        return [self._weight(f"{name}LayerNorm.weight"), self._weight(f"{name}LayerNorm.bias")]

    def _weight(self, name: str, kind: type = np.float32) -> str:
        return self._constant(name, self._tensors[name].astype(kind))

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        node = helper.make_node(kind, inputs, [output], name=output, domain=domain, **attributes)
        self._nodes.append(node)
        return output


_log = get_logger("transformer")

MAX_TOKENS = 256
"""512 is slower, and gives worse results."""

MAX_CHARS = 8_000
"""Far more than `MAX_TOKENS` tokens: the tokenizer need not see the rest."""

_HEADS = 12
_DENSE = "2_Dense/model.safetensors"
_PACKAGES = ("onnxruntime", "onnx", "tokenizers", "huggingface_hub")
_INSTALL = "Run `pip install 'findspot[minilm]'`."


@dataclass(frozen=True, slots=True)
class Transformer:
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
TRANSFORMERS = {model.id: model for model in (MINILM, MDBR_LEAF)}


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
        """Open the model; `sha256` has the user's hashes of the weights, which replace the known ones."""
        self.id, self.dimensions = model.id, model.dimensions
        dtype = dtype or DTYPES[0]
        if not runtime_there():
            raise ModelUnavailableError(f"not all of {', '.join(_PACKAGES)} are installed", hint=_INSTALL)
        weights = get_weights(model.files.expecting(sha256), hub, tell)
        folder, digest = weights.folder, weights.sha256[:12]
        try:
            dense = folder / _DENSE
            self._dense = read_safetensors(dense) if dense.is_file() else None
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
        prompt = self._prompts.get(mode, "")
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                rows[row] = self._row(prompt + text[:MAX_CHARS])
        if not np.isfinite(rows).all():
            raise ProviderError(f"{self.id}: its vectors hold values that are no numbers")
        return unit(rows)

    def close(self) -> None:
        """Do nothing: the session goes with the object."""

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
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in _PACKAGES)


def _open_graph(folder: Path, graph: Path, *, int8: bool) -> Any:
    """Return a session of the graph; write the graph if it is missing or damaged."""
    if graph.is_file():
        try:
            return _session(graph)
        except Exception as error:  # noqa: BLE001 - the runtime has an error of its own for each kind of damage
            _log.warning("%s is rebuilt: %s", graph.name, type(error).__name__)
    _build(folder, graph, int8=int8)
    return _session(graph)


def _build(folder: Path, graph: Path, *, int8: bool) -> None:
    """Write the graph to a temporary file, then rename it."""
    import onnx

    make_private_dir(graph.parent)
    heads = int(str(read_config(folder, "config.json").get("num_attention_heads", _HEADS)))
    encoder = _Encoder(read_safetensors(folder / "model.safetensors"), heads, int8=int8)
    part = graph.with_suffix(f".{os.getpid()}.part")
    try:
        onnx.save(encoder.model(), part)
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


def _prompts(folder: Path) -> dict[EmbedMode, str]:
    """Return the prefixes that a model wants for questions and passages."""
    prompts = read_config(folder, "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return {}
    passage = prompts.get("document", prompts.get("passage", ""))
    return {EmbedMode.QUERY: str(prompts.get("query", "")), EmbedMode.PASSAGE: str(passage or "")}
