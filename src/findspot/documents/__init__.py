"""Named full-text indexes: documents, ranked by TF-IDF, with highlights."""

from findspot.documents.document_record import (
    AddedDocument,
    Document,
    FoundDocument,
    IndexInfo,
    ParsedQuery,
    SearchAnswer,
    Tokenizer,
)
from findspot.documents.named_indexes import DEFAULT_INDEX, NamedIndexes

__all__ = [
    "DEFAULT_INDEX",
    "AddedDocument",
    "Document",
    "FoundDocument",
    "IndexInfo",
    "NamedIndexes",
    "ParsedQuery",
    "SearchAnswer",
    "Tokenizer",
]
