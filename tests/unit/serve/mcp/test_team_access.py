"""Grants as a tokens file lists them, what they let see, and limits as a clock tells them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from findspot import Engine
from findspot.core.errors import InvalidArgumentError, PathNotFoundError
from findspot.core.paths import index_key
from findspot.serve.mcp.access import AllowedEngine, Grants, granted_all, read_access
from findspot.serve.mcp.http_server import LimitReachedError, Limits

LOOKING = {"stat", "lstat", "readlink", "open", "listdir", "scandir", "_path_isdir", "_path_exists"}
"""What the system is asked about a path by."""


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def listed(tmp_path: Path, *entries: Any) -> Path:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"tokens": list(entries)}))
    return file


def steps(ask: Callable[[Path], object], path: Path) -> list[str]:
    """Every function that is called, of Python and of the system."""
    taken: list[str] = []

    def note(frame: FrameType, event: str, called: Any) -> None:
        if event in ("call", "c_call"):
            taken.append(called.__qualname__ if event == "c_call" else frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        with contextlib.suppress(PathNotFoundError):
            ask(path)
    finally:
        sys.setprofile(None)
    return taken


def test_what_is_not_granted_takes_no_other_steps_than_what_does_not_exist(tmp_path: Path) -> None:
    """So the time it takes tells nothing either."""
    shop, secret, absent = (tmp_path / name for name in ("shop", "secret", "absent"))
    for folder in (shop, secret):
        folder.mkdir()
    entry = {"name": "a", "sha256": digest("t"), "projects": [str(shop)]}
    (grant,) = read_access(listed(tmp_path, entry)).tokens
    engine = AllowedEngine(Engine(), grant)
    for ask in (engine.folder, engine.project, lambda path: engine.with_id(index_key(path))):
        for _ in range(2):  # the first time, what is remembered is made
            refused, missing = steps(ask, secret), steps(ask, absent)
        assert refused == missing
        assert not LOOKING & set(refused)
    assert LOOKING & set(steps(engine.folder, shop))


class TestGrants:
    def test_by_path_by_link_and_by_id(self, tmp_path: Path) -> None:
        real, link, other = tmp_path / "real", tmp_path / "link", tmp_path / "other"
        real.mkdir()
        link.symlink_to(real)
        entry = {"name": "a", "sha256": digest("t").upper(), "projects": [str(link), index_key(other)]}
        (grant,) = read_access(listed(tmp_path, entry)).tokens
        assert all(map(grant.allows, (real, link, other)))
        assert grant.covers(other / "deep" / "down")
        assert not grant.allows(other / "deep")
        assert not grant.covers(tmp_path)
        assert grant.knows(index_key(real))
        assert not grant.knows(index_key(tmp_path))

    def test_nothing_is_no_token(self, tmp_path: Path) -> None:
        file = listed(tmp_path, {"name": "a", "sha256": digest(""), "projects": "*"})
        grants = Grants([granted_all("token", "one")], file)
        assert grants.of(b"") is None
        assert grants.of(b"two") is None
        found = grants.of(b"one")
        assert found is not None
        assert found.everything

    @pytest.mark.parametrize(
        "entry",
        [
            "text",
            {"sha256": digest("t"), "projects": "*"},
            {"name": "a", "sha256": "short", "projects": "*"},
            {"name": "a", "sha256": digest("t")},
            {"name": "a", "sha256": digest("t"), "projects": "/srv"},
            {"name": "a", "sha256": digest("t"), "projects": [1]},
        ],
    )
    def test_what_is_wrong_is_told_without_the_hash(self, tmp_path: Path, entry: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="not valid") as refused:
            read_access(listed(tmp_path, entry))
        assert digest("t") not in f"{refused.value.user_message}{refused.value.developer_message}"

    def test_names_are_told_apart(self, tmp_path: Path) -> None:
        entry = {"name": "a", "sha256": digest("t"), "projects": "*"}
        with pytest.raises(InvalidArgumentError, match="two entries"):
            read_access(listed(tmp_path, entry, entry))
        with pytest.raises(InvalidArgumentError, match="cannot be read"):
            read_access(tmp_path / "missing.json")


class TestLimits:
    def test_a_rate_that_recovers(self) -> None:
        now = [0.0]
        limits = Limits(per_second=2, at_once=10, clock=lambda: now[0])
        for _ in range(4):
            with limits.request("a"):
                pass
        with pytest.raises(LimitReachedError) as refused, limits.request("a"):
            pass
        assert (refused.value.limit, refused.value.wait_s) == ("rate", 1)
        with limits.request("b"):
            pass
        now[0] = 0.5
        with limits.request("a"):
            pass

    def test_at_once(self) -> None:
        limits = Limits(per_second=10, at_once=1)
        with limits.request("a"), pytest.raises(LimitReachedError, match="concurrency"), limits.request("a"):
            pass
        with limits.request("a"):
            pass
