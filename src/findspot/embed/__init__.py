"""Texts to vectors: one protocol, a table of providers, and the pooling of a chunk's fields."""

from findspot.embed.chunk_vectors import QuantisedVectors, chunk_key, dequantise, embed_chunks, quantise
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.embed.provider_registry import open_embedder

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
