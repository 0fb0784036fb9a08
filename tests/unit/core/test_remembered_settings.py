"""Settings that are kept, and read again as soon as anything they come from has changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from findspot.core.config import RememberedSettings

LONG_AGO_NS = 1_000_000_000_000_000_000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    root.mkdir()
    return root


def write(root: Path, most: int, *, at_ns: int | None = None) -> None:
    file = root / ".findspot.json"
    file.write_text(json.dumps({"maxTokens": most}))
    if at_ns is not None:
        os.utime(file, ns=(at_ns, at_ns))


def test_settled_files_are_read_once(root: Path) -> None:
    write(root, 1_000, at_ns=LONG_AGO_NS)
    settings = RememberedSettings(root, root / "index", {})
    assert settings.now() is settings.now()


def test_an_edit_counts_at_once_even_with_the_same_size_and_time(root: Path) -> None:
    settings = RememberedSettings(root, root / "index", {})
    for most in (1_000, 2_000, 3_000):
        write(root, most)
        now = (root / ".findspot.json").stat().st_mtime_ns
        assert settings.now().serve.max_tokens == most
        write(root, most + 1, at_ns=now)
        assert settings.now().serve.max_tokens == most + 1


def test_a_file_that_appears_or_goes_counts(root: Path) -> None:
    settings = RememberedSettings(root, root / "index", {})
    default = settings.now().serve.max_tokens
    write(root, 1_234, at_ns=LONG_AGO_NS)
    assert settings.now().serve.max_tokens == 1_234
    (root / ".findspot.json").unlink()
    assert settings.now().serve.max_tokens == default


def test_the_environment_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RememberedSettings(root, root / "index", {})
    settings.now()
    monkeypatch.setenv("FINDSPOT_MAX_TOKENS", "4321")
    assert settings.now().serve.max_tokens == 4_321
