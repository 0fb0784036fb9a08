"""Pieces into vectors: one protocol, a table of providers, and the pooling of a chunk's fields."""

from findspot.embed.batch import QuantisedVectors, chunk_key, dequantise, embed_chunks, quantise
from findspot.embed.protocol import Embedder, EmbedMode
from findspot.embed.registry import open_embedder

__all__ = [
    "EmbedMode",
    "Embedder",
    "QuantisedVectors",
    "chunk_key",
    "dequantise",
    "embed_chunks",
    "open_embedder",
    "quantise",
]
