"""The tables of the specification, with our fields beside its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from findspot.core.model import Corpus

if TYPE_CHECKING:
    import pyarrow as pa

CODE_DATABASE = "index.lancedb"
DOCS_DATABASE = "docs.lancedb"
CODE_TABLE = "project_docs"
DOCS_TABLE = "project_docs_prose"
FILES_TABLE = "files"
REFERENCES_TABLE = "references"
SKIPS_TABLE = "skips"
HEAD_TABLE = "findspot_head"

CHUNK_TABLES = {Corpus.CODE.value: CODE_TABLE, Corpus.DOCS.value: DOCS_TABLE}
TABLES = (CODE_TABLE, DOCS_TABLE, FILES_TABLE, REFERENCES_TABLE, SKIPS_TABLE)
"""All that a head names."""

SPECIFIED_DIMENSIONS = 384
"""Of a table that is still empty; the first rows bring their own."""


def database_of(table: str) -> str:
    return DOCS_DATABASE if table == DOCS_TABLE else CODE_DATABASE


def schema_of(table: str, dimensions: int = SPECIFIED_DIMENSIONS) -> pa.Schema:
    """Return the fields of a table."""
    import pyarrow as pa

    if table == FILES_TABLE:
        return _schema("id:int64 path corpus language size:int64 mtime_ns:int64 sha256 chunks:int64")
    if table == REFERENCES_TABLE:
        return _schema("file_id:int64 path facts:binary")
    if table == SKIPS_TABLE:
        return _schema("path reason detail size:int64 mtime_ns:int64")
    if table == HEAD_TABLE:
        return _schema("generation:int64 format:int64 state")
    symbol = pa.struct([("name", pa.string()), ("kind", pa.string()), ("line", pa.int32())])
    return pa.schema(
        [
            *_schema("id path text"),
            ("vector", pa.list_(pa.float32(), dimensions)),
            *_schema("start_line:int32 end_line:int32 content_hash"),
            *_schema("file_id:int64 ordinal:int32 chunk_type kind language"),
            ("symbols", pa.list_(symbol)),
            *_schema("signature breadcrumb doc_comment"),
            ("tags", pa.list_(pa.string())),
            *_schema("context keywords key:binary scale:float64"),
        ]
    )


def _schema(fields: str) -> pa.Schema:
    """From `name` or `name:type`; without a type it is text."""
    import pyarrow as pa

    named = (field.partition(":")[::2] for field in fields.split())
    return pa.schema([(name, pa.type_for_alias(kind or "string")) for name, kind in named])
