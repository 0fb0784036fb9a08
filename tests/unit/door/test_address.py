"""What the door knows without the rest of the code agrees with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from findspot.core import paths
from findspot.door.address import home_folder, rank, socket_path


@pytest.mark.parametrize("given", [None, "~/somewhere", "relative/folder", "/absolute/folder", "/a/../b"])
def test_the_home_is_that_of_the_settings(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if given is None:
        monkeypatch.delenv("FINDSPOT_HOME", raising=False)
    else:
        monkeypatch.setenv("FINDSPOT_HOME", given)
    assert os.path.normpath(paths.home_folder()) == home_folder()


def test_a_long_home_has_a_short_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert socket_path("/short") == "/short/service/socket"
    first, second = socket_path("/" + "a" * 200), socket_path("/" + "b" * 200)
    assert first is not None
    assert Path(first).parent == tmp_path
    assert first != second


def test_versions_are_ordered() -> None:
    known = ["0.2.0", "0.2.1", "0.3.0rc1", "0.10.0", "1.0"]
    ranks = [rank(version, 0.0) for version in known]
    assert ranks == sorted(ranks)
    assert rank("0.3.0", 2.0) > rank("0.3.0", 1.0)
