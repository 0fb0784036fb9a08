"""Files and folders as documents, and why some are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from contents import write_files
from findspot.core.config import load_settings
from findspot.core.model import Skip, SkipReason
from findspot.core.settings import Settings
from findspot.documents.document_record import (
    Document,
    bytes_document,
    file_document,
    folder_documents,
    in_words,
)

KEY = "AKIA" + "Q3XMPLE7RTW2ZXYK"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(environ={"FINDSPOT_HOME": str(tmp_path / "home")})


def of_folder(folder: Path, pattern: str, settings: Settings) -> tuple[dict[str, str], dict[str, str]]:
    """Return the documents of a folder by id, and the skipped files with the reason in words."""
    found = list(folder_documents(folder, pattern, settings))
    documents = {item.doc_id: item.content for item in found if isinstance(item, Document)}
    return documents, {item.path: in_words(item) for item in found if isinstance(item, Skip)}


def test_a_folder_with_everything_in_it(tmp_path: Path, settings: Settings) -> None:
    write_files(
        tmp_path,
        {
            "a.md": "green tea",
            "deep/b.md": "black tea",
            "c.txt": "not asked for",
            "picture.md": b"\x00\x01\x02\x00",
            "blank.md": "",
            "large.md": "x" * 10_000_001,
            "largest.md": "tea " * 2_500_000,
            "ignored.md": "tea",
            ".gitignore": "ignored.md\n",
        },
    )
    documents, skipped = of_folder(tmp_path, "**/*.md", settings)
    assert {name: text[:9] for name, text in documents.items()} == {
        "a.md": "green tea",
        "deep/b.md": "black tea",
        "largest.md": "tea tea t",
    }
    assert skipped == {
        "picture.md": "no text",
        "blank.md": "empty",
        "large.md": "larger than 10 MB",
        "ignored.md": "ignored by .gitignore: ignored.md",
    }


def test_a_file_by_name(tmp_path: Path, settings: Settings) -> None:
    write_files(
        tmp_path, {"a.md": "tea", ".env": "TEA=1", "b.md": "x" * 10_000_001, "c.md": "y" * 10_000_000}
    )
    (tmp_path / "link.md").symlink_to(tmp_path / ".env")
    assert file_document(tmp_path / "a.md", "mine", settings) == Document("mine", "tea")
    reasons = {}
    for name in (".env", "link.md", "b.md", "gone.md"):
        skip = file_document(tmp_path / name, "mine", settings)
        assert isinstance(skip, Skip), name
        assert skip.path == str(tmp_path / name)
        reasons[name] = (skip.reason, in_words(skip))
    denied = (SkipReason.DENIED, "never indexed: a file that holds secrets by its name")
    assert reasons[".env"] == reasons["link.md"] == denied
    assert reasons["b.md"] == (SkipReason.TOO_LARGE, "larger than 10 MB")
    assert reasons["gone.md"][0] is SkipReason.UNREADABLE
    assert reasons["gone.md"][1].startswith("unreadable: ")
    assert isinstance(file_document(tmp_path / "c.md", "mine", settings), Document)


def test_bytes_with_a_secret_are_masked_or_no_document(settings: Settings) -> None:
    data = f"key = '{KEY}'\n".encode()
    assert bytes_document("a.md", data, settings) == Document("a.md", f"key = '{'*' * len(KEY)}'\n")
    found = bytes_document("a.md", data, load_settings(flags={"secretScan": "skip"}))
    assert isinstance(found, Skip)
    assert found.reason is SkipReason.SECRET
    assert KEY not in in_words(found)
    assert bytes_document("a.md", b"tea", settings) == Document("a.md", "tea")
