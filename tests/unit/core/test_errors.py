"""Errors: the texts of the specification, and what is said where nobody can answer."""

from __future__ import annotations

import pytest

from findspot.core import errors
from findspot.core.errors import FindspotError


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            errors.IndexNotFoundError("/project", "/index"),
            "INDEX_NOT_FOUND",
            "This project hasn't been indexed yet. Would you like to index it now?",
        ),
        (
            errors.ModelUnavailableError("no weights"),
            "MODEL_DOWNLOAD_FAILED",
            "Couldn't set up the search engine. Please check your internet connection and try again.",
        ),
        (
            errors.FileLimitError(60_000, 50_000),
            "FILE_LIMIT_WARNING",
            "This project is very large (60000 files). Indexing may take several minutes. Continue?",
        ),
        (
            errors.PermissionDeniedError("/secret"),
            "PERMISSION_DENIED",
            "Can't access some files in this project. Check folder permissions.",
        ),
        (
            errors.DiskFullError(10, 2),
            "DISK_FULL",
            "Not enough disk space to create the search index. Free up some space and try again.",
        ),
        (
            errors.FileNotIndexedError("a.py"),
            "FILE_NOT_FOUND",
            "The file 'a.py' doesn't exist or isn't indexed.",
        ),
        (
            errors.InvalidPatternError("[", "unclosed"),
            "INVALID_PATTERN",
            "The search pattern '[' is invalid. Please check the syntax.",
        ),
        (
            errors.ProjectNotDetectedError("/here"),
            "PROJECT_NOT_DETECTED",
            "Could not detect project root. Please choose a directory.",
        ),
        (
            errors.DocsIndexNotFoundError("/project", "/index"),
            "DOCS_INDEX_NOT_FOUND",
            "No documentation has been indexed yet. Run create_index to index your project.",
        ),
        (
            errors.SymlinkError("link.py"),
            "SYMLINK_NOT_ALLOWED",
            "Symbolic links are not allowed for security reasons.",
        ),
        (
            errors.PathNotFoundError("/nope"),
            "PATH_NOT_FOUND",
            "Path does not exist or is not a directory: /nope",
        ),
    ],
)
def test_the_texts_of_the_specification_are_kept(error: FindspotError, code: str, text: str) -> None:
    assert (error.code, error.user_message, str(error)) == (code, text, text)
    assert error.developer_message.startswith(f"{code}: ")


def test_a_long_pattern_is_shortened() -> None:
    assert len(errors.InvalidPatternError("x" * 5_000, "long").user_message) < 300


def test_a_statement_asks_nothing() -> None:
    assert errors.IndexNotFoundError("/p", "/i").statement == "This project hasn't been indexed yet."
    assert errors.FileLimitError(60_000, 50_000).statement.endswith("Indexing may take several minutes.")
    assert errors.InvalidArgumentError("What? Use --x.").statement == "What? Use --x."
