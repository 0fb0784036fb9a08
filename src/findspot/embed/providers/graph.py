"""A BERT encoder as an ONNX graph, written from its weights and made int8; no torch anywhere.

The operators are ONNX Runtime's own fused ones, so nothing is left to an optimiser.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRAPH_REVISION = "1"
"""Raised when the same weights would give other vectors."""

Tensors = dict[str, NDArray[Any]]

_FUSED = "com.microsoft"
_DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32}
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")


def read_safetensors(path: Path) -> Tensors:
    """Return the tensors of a file, mapped; ValueError when it is not whole."""
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
        kind = _DTYPES.get(about["dtype"])
        if kind is not None:
            tensors[name.removeprefix("bert.")] = data[first:last].view(kind).reshape(about["shape"])
    return tensors


def write_graph(tensors: Tensors, heads: int, target: Path, *, int8: bool) -> None:
    """Write the encoder; token ids and their mask in, the mean of its last layer out."""
    import onnx

    onnx.save(_Encoder(tensors, heads, int8=int8).model(), target)


class _Encoder:
    """Gathers the nodes of the graph in order."""

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
