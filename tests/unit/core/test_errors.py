"""Errors: each with its code and its messages."""

from __future__ import annotations

import pytest

from findspot.core import errors
from findspot.core.errors import FindspotError

EXAMPLES: dict[type[FindspotError], FindspotError] = {
    type(error): error
    for error in (
        errors.InvalidArgumentError("No."),
        errors.InvalidPatternError("[", "unclosed"),
        errors.PathNotFoundError("/nope"),
        errors.ProjectNotDetectedError("/here"),
        errors.SeveralProjectsError("/here", "api, web"),
        errors.IndexNotFoundError("/project", "/index"),
        errors.DocsIndexNotFoundError("/project", "/index"),
        errors.FileNotIndexedError("a.py"),
        errors.SymlinkError("link.py"),
        errors.FileLimitError(60_000, 50_000),
        errors.PermissionDeniedError("/secret"),
        errors.StoreRefusedError("s3://bucket: 403", hint="Check the rights."),
        errors.DiskFullError(10, 2),
        errors.SystemLimitError("Too many open files", "/home"),
        errors.IndexCorruptError("bad page"),
        errors.IndexFormatError(9, 1),
        errors.IndexBusyError("process 5"),
        errors.ModelMismatchError("a", "b"),
        errors.ModelUnavailableError("no weights"),
        errors.ProviderError("refused"),
        errors.LanguageModelError("refused"),
        errors.StoreUnavailableError("refused"),
        errors.CancelledError(),
        errors.IndexStoppedError(),
    )
}

SEED_TEXTS = {
    "INDEX_NOT_FOUND": "This project hasn't been indexed yet. Would you like to index it now?",
    "MODEL_DOWNLOAD_FAILED": "Couldn't set up the search engine. "
    "Please check your internet connection and try again.",
    "FILE_LIMIT_WARNING": "This project is very large (60000 files). "
    "Indexing may take several minutes. Continue?",
    "PERMISSION_DENIED": "Can't access some files in this project. Check folder permissions.",
    "DISK_FULL": "Not enough disk space to create the search index. Free up some space and try again.",
    "FILE_NOT_FOUND": "The file 'a.py' doesn't exist or isn't indexed.",
    "INVALID_PATTERN": "The search pattern '[' is invalid. Please check the syntax.",
    "PROJECT_NOT_DETECTED": "Could not detect project root. Please choose a directory.",
    "DOCS_INDEX_NOT_FOUND": "No documentation has been indexed yet. Run create_index to index your project.",
    "SYMLINK_NOT_ALLOWED": "Symbolic links are not allowed for security reasons.",
    "PATH_NOT_FOUND": "Path does not exist or is not a directory: /nope",
}


def tree() -> set[type[FindspotError]]:
    found = {FindspotError}
    while True:
        more = {
            kind for parent in found for kind in parent.__subclasses__() if kind.__module__ == errors.__name__
        }
        if more <= found:
            return found - {FindspotError}
        found |= more


def test_every_error_has_an_example() -> None:
    assert set(EXAMPLES) == tree()


@pytest.mark.parametrize("error", EXAMPLES.values(), ids=lambda error: type(error).__name__)
def test_each_speaks_to_users_and_to_developers(error: FindspotError) -> None:
    assert error.user_message
    assert str(error) == error.user_message
    assert error.developer_message.startswith(f"{error.code}: ")
    assert len(error.developer_message) > len(error.code) + 2


@pytest.mark.parametrize(("code", "text"), SEED_TEXTS.items())
def test_the_texts_of_the_specification_are_kept(code: str, text: str) -> None:
    assert text in [error.user_message for error in EXAMPLES.values() if error.code == code]


def test_a_long_pattern_is_shortened() -> None:
    assert len(errors.InvalidPatternError("x" * 5_000, "long").user_message) < 300


def test_a_statement_asks_nothing() -> None:
    assert errors.IndexNotFoundError("/p", "/i").statement == "This project hasn't been indexed yet."
    assert errors.FileLimitError(60_000, 50_000).statement.endswith("Indexing may take several minutes.")
    assert errors.InvalidArgumentError("What? Use --x.").statement == "What? Use --x."
