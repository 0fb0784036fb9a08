"""Named full-text indexes: documents in, TF-IDF-ranked answers with highlights out."""

from findspot.documents.model import Added, Document, Found, IndexInfo, SearchAnswer
from findspot.documents.named import DEFAULT_INDEX, NamedIndexes
from findspot.documents.query import ParsedQuery
from findspot.documents.tokenizer import Tokenizer

__all__ = [
    "DEFAULT_INDEX",
    "Added",
    "Document",
    "Found",
    "IndexInfo",
    "NamedIndexes",
    "ParsedQuery",
    "SearchAnswer",
    "Tokenizer",
]
