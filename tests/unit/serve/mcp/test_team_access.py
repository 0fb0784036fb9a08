"""Grants as a tokens file lists them, and limits as a clock tells them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.core.paths import index_key
from findspot.serve.mcp.access import Grants, granted_all, read_grants
from findspot.serve.mcp.limits import Limits, TooMuchError


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def listed(tmp_path: Path, *entries: Any) -> Path:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"tokens": list(entries)}))
    return file


class TestGrants:
    def test_by_path_by_link_and_by_id(self, tmp_path: Path) -> None:
        real, link, other = tmp_path / "real", tmp_path / "link", tmp_path / "other"
        real.mkdir()
        link.symlink_to(real)
        entry = {"name": "a", "sha256": digest("t").upper(), "projects": [str(link), index_key(other)]}
        (grant,) = read_grants(listed(tmp_path, entry))
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
            read_grants(listed(tmp_path, entry))
        assert digest("t") not in f"{refused.value.user_message}{refused.value.developer_message}"

    def test_names_are_told_apart(self, tmp_path: Path) -> None:
        entry = {"name": "a", "sha256": digest("t"), "projects": "*"}
        with pytest.raises(InvalidArgumentError, match="two entries"):
            read_grants(listed(tmp_path, entry, entry))
        with pytest.raises(InvalidArgumentError, match="cannot be read"):
            read_grants(tmp_path / "missing.json")


class TestLimits:
    def test_a_rate_that_recovers(self) -> None:
        now = [0.0]
        limits = Limits(per_second=2, at_once=10, clock=lambda: now[0])
        for _ in range(4):
            with limits.request("a"):
                pass
        with pytest.raises(TooMuchError) as refused, limits.request("a"):
            pass
        assert (refused.value.limit, refused.value.wait_s) == ("rate", 1)
        with limits.request("b"):
            pass
        now[0] = 0.5
        with limits.request("a"):
            pass

    def test_at_once(self) -> None:
        limits = Limits(per_second=10, at_once=1)
        with limits.request("a"), pytest.raises(TooMuchError, match="concurrency"), limits.request("a"):
            pass
        with limits.request("a"):
            pass
