"""Documents, results of adding them, and the errors of named indexes as their specification words them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from findspot.core.errors import FindspotError, InvalidArgumentError


class UnknownIndexError(FindspotError):
    """No index has that name."""

    code = "INDEX_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"Index not found: {name}", hint="Create it first, or check its name.")


class IndexExistsError(InvalidArgumentError):
    """The name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Index already exists: {name}")


class UnknownBackendError(InvalidArgumentError):
    """Neither `memory` nor `disk`."""

    def __init__(self, backend: str) -> None:
        super().__init__(f"Unknown backend: {backend}")


class BlankContentError(InvalidArgumentError):
    """A document without text."""

    def __init__(self) -> None:
        super().__init__("Content must be a non-empty string")


class IndexNameError(InvalidArgumentError):
    """A name that could be mistaken for something else, such as a path."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid index name: {name}. Use 1 to 64 letters, digits, hyphens and underscores.")


class LimitReachedError(InvalidArgumentError):
    """A limit of an index is exceeded."""


class DamagedIndexError(FindspotError):
    """The file of an index cannot be read."""

    code = "INDEX_CORRUPT"

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(
            f"The index '{name}' is damaged and cannot be read.",
            detail,
            hint=f"Drop it with `findspot documents drop {name}` and add its documents again.",
        )


MAX_ID_CHARS = 1_024
MAX_CONTENT_CHARS = 10_000_000
MAX_METADATA_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Document:
    """One document; created with `checked`, so that an index only gets valid ones."""

    doc_id: str
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def checked(cls, doc_id: object, content: object, metadata: object = None) -> Document:
        """Return a valid document; raise an error that names the invalid part."""
        if not isinstance(content, str) or not content.strip():
            raise BlankContentError
        if not isinstance(doc_id, str) or not doc_id.strip():
            raise InvalidArgumentError("doc_id must be a non-empty string")
        if not isinstance(metadata, dict | None):
            raise InvalidArgumentError("metadata must be an object")
        if len(doc_id) > MAX_ID_CHARS:
            raise LimitReachedError(f"doc_id is longer than {MAX_ID_CHARS:,} characters")
        if len(content) > MAX_CONTENT_CHARS:
            raise LimitReachedError(
                f"Content is longer than {MAX_CONTENT_CHARS:,} characters; split it into several documents"
            )
        document = cls(_encodable(doc_id), _encodable(content), metadata or {})
        if len(document.metadata_json) > MAX_METADATA_CHARS:
            raise LimitReachedError(f"metadata is longer than {MAX_METADATA_CHARS:,} characters of JSON")
        return document

    @property
    def metadata_json(self) -> str:
        """The metadata as it is stored."""
        try:
            return json.dumps(self.metadata)
        except (TypeError, ValueError):
            raise InvalidArgumentError("metadata must hold JSON values only") from None


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """The result of adding a document."""

    doc_id: str
    token_count: int
    replaced: bool

    @property
    def status(self) -> str:
        """`re-indexed` for a document that replaced one, else `indexed`."""
        return "re-indexed" if self.replaced else "indexed"


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One entry of the list of indexes."""

    name: str
    backend: str
    documents: int
    storage_bytes: int


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which cannot be stored or sent, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
