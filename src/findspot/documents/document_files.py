"""Files and folders as documents, found and read by the rules of projects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from findspot.core.denied import is_secret_path
from findspot.core.files import read_named, reason
from findspot.core.folder import TooLargeError
from findspot.core.model import Skip, SkipReason
from findspot.core.settings import Settings
from findspot.discover.file_content import document_text
from findspot.discover.root_folder import read_file
from findspot.discover.walk import walk
from findspot.documents.document_record import Document

MAX_FILE_BYTES = 10_000_000

_WORDS = {
    SkipReason.DENIED: "never indexed",
    SkipReason.BINARY: "no text",
    SkipReason.TOO_LARGE: f"larger than {MAX_FILE_BYTES // 1_000_000} MB",
    SkipReason.GITIGNORED: "ignored by",
    SkipReason.SECRET: "",
    SkipReason.EMPTY: "empty",
}


def folder_documents(folder: Path, pattern: str, settings: Settings) -> Iterator[Document | Skip]:
    """Yield the documents of a folder, named by their relative paths, and the skipped files with reasons.

    The deny list, the ignore files and the secret scan apply as in a project.
    """
    wanted = replace(
        settings.discover, include=(pattern,), exclude=(), index_docs=True, max_file_bytes=MAX_FILE_BYTES
    )
    found = walk(folder, wanted)
    yield from (skip for skip in found.skips if skip.reason is not SkipReason.NOT_INCLUDED)
    for file in found.files:
        data = read_file(folder, file, MAX_FILE_BYTES)
        if isinstance(data, Skip):
            yield data
        else:
            yield bytes_document(file.path, data, settings)


def file_document(path: Path, doc_id: str, settings: Settings) -> Document | Skip:
    """Return the document in a file that the user named; a secret file is left out."""
    if any(is_secret_path(named.as_posix()) for named in (path.absolute(), path.resolve())):
        return Skip(str(path), SkipReason.DENIED, "a file that holds secrets by its name")
    try:
        data = read_named(path, MAX_FILE_BYTES)
    except TooLargeError:
        return Skip(str(path), SkipReason.TOO_LARGE)
    except OSError as error:
        return Skip(str(path), SkipReason.UNREADABLE, reason(error))
    return bytes_document(doc_id, data, settings)


def bytes_document(doc_id: str, data: bytes, settings: Settings) -> Document | Skip:
    """Return a document of bytes that were read elsewhere."""
    text = document_text(doc_id, data, settings.discover.secret_scan)
    return text if isinstance(text, Skip) else Document.checked(doc_id, text)


def in_words(skip: Skip) -> str:
    """Say why a file was skipped."""
    words = _WORDS.get(skip.reason, skip.reason.replace("_", " "))
    detail = "" if skip.reason in (SkipReason.BINARY, SkipReason.TOO_LARGE, SkipReason.EMPTY) else skip.detail
    separator = " " if words.endswith(" by") else ": "
    return separator.join(part for part in (words, detail) if part)
