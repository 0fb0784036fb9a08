"""Errors of lancedb, as its version 0.40 words them, and what each is taken for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from findspot.core.errors import (
    DiskFullError,
    FindspotError,
    IndexCorruptError,
    InvalidArgumentError,
    PermissionDeniedError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.store.lance.lance_tables import OvertakenError, WritableTables, translation

ADDRESS = "s3://bucket/team"
ASKED = "lance error: LanceError(IO): Generic S3 error: Error performing GET http://127.0.0.1:1/bucket/team/x"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{ASKED} in 1.002s - HTTP error: error sending request", StoreUnavailableError),
        ("Generic S3 error: HTTP error: request or response body error", StoreUnavailableError),
        ("Failed to get AWS credentials: ProviderError(FailedToLoadToken)", StoreRefusedError),
        ("Wrapped error: Not found: team/index.lancedb/files.lance/data/0.lance", IndexCorruptError),
        ("Generic memory error: Invalid range 0..5125 for object of size 2562 bytes", IndexCorruptError),
        (f"{ASKED} - Server returned non-2xx status code: 416 Range Not Satisfiable", IndexCorruptError),
        ("Retryable commit conflict for version 7", OvertakenError),
        ("a sentence that nobody has seen before", StoreUnavailableError),
    ],
)
def test_what_else_happens_to_an_object_store(text: str, kind: type[FindspotError]) -> None:
    assert type(translation(RuntimeError(text), ADDRESS)) is kind


def test_a_folder_is_full_closed_or_damaged(tmp_path: Path) -> None:
    assert isinstance(translation(OSError("No space left on device (os error 28)"), tmp_path), DiskFullError)
    closed = translation(OSError("Permission denied (os error 13)"), tmp_path)
    assert isinstance(closed, PermissionDeniedError)
    assert isinstance(translation(OSError("anything else"), tmp_path), IndexCorruptError)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`findspot publish` without the extra said: No module named 'pyarrow'."""
    for name in ("lancedb", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidArgumentError, match="package that is not installed"):
        WritableTables(tmp_path / "published").begin()
