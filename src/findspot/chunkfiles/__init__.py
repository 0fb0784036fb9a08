"""Chunk files (`.cortex/chunks/*.json`): export, load, search, and reload when they change."""

from findspot.chunkfiles.chunk_reader import (
    ChunkFilesError,
    ContextChunk,
    ContextSearcher,
    SearchOptions,
    SearchResult,
)
from findspot.chunkfiles.searcher import ExportReport, ProjectChunks, export_chunks

__all__ = [
    "ChunkFilesError",
    "ContextChunk",
    "ContextSearcher",
    "ExportReport",
    "ProjectChunks",
    "SearchOptions",
    "SearchResult",
    "export_chunks",
]
