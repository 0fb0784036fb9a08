"""Both protocol eras through a real client: the same questions, the same answers; roots that change."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.conftest import Connect
from e2e.harness import Connection, Folders, Person, Pipe

MODERN = "2026-07-28"
OUTSIDE = "This folder is outside the folders that you work in. Index it?"
REBUILD = "This will rebuild the entire index. Continue?"


class TestModern:
    """Questions come as results, and the call comes again with the answers."""

    def test_agreed_and_declined(self, connect: Connect, empty_folder: Path, fresh: Path) -> None:
        person = Person()
        with connect(empty_folder, mode=MODERN, elicitation_callback=person) as talking:
            assert talking.values("create_index", project=str(fresh))["status"] == "success"
            assert talking.values("reindex_project", project=str(fresh))["status"] == "success"
            person.action = "decline"
            assert talking.values("delete_index", project=str(fresh))["status"] == "cancelled"
            assert talking.values("get_index_status", project=str(fresh))["status"] == "ready"
            person.action = "accept"
            assert talking.values("delete_index", project=str(fresh))["status"] == "success"
            found = talking.values("search_code", query="login", path=str(fresh))
            assert found["results"]
            (fresh / ".findspot.json").write_text('{"maxFiles": 3, "exclude": [".findspot.json"]}')
            assert talking.values("reindex_project", project=str(fresh))["totalFiles"] == 8
        assert [asked.message.splitlines()[0] for asked in person.asked] == [
            OUTSIDE,
            REBUILD,
            "Delete the index for this project? This cannot be undone.",
            "Delete the index for this project? This cannot be undone.",
            "This project hasn't been indexed yet. Would you like to index it now?",
            REBUILD,
            "This project is very large (8 files). Indexing may take several minutes. Continue?",
        ]

    def test_nobody_to_ask(self, connect: Connect, fresh: Path) -> None:
        with connect(fresh, mode=MODERN) as silent:
            assert silent.values("create_index")["status"] == "success"
            assert silent.values("delete_index")["status"] == "confirmation_required"
            assert silent.values("delete_index", confirm=True)["status"] == "success"

    def test_roots(self, connect: Connect, server: Connection, empty_folder: Path, shop: Path) -> None:
        folders = Folders()
        folders.paths = [shop]
        with connect(empty_folder, mode=MODERN, list_roots_callback=folders) as rooted:
            assert rooted.values("get_index_status")["projectPath"] == str(shop)
            assert rooted.values("search_code", query="login")["results"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_older_version(version: str, server: Connection, home: Path, shop: Path) -> None:
    with Pipe(home, shop) as pipe:
        assert pipe.initialize(version)["protocolVersion"] == version
        assert pipe.result("tools/list", {})["tools"]
        call = {"name": "search_code", "arguments": {"query": "check a password", "format": "human"}}
        found = pipe.result("tools/call", call)
        assert "src/auth/login.py:" in found["content"][0]["text"]
        links = [part for part in found["content"] if part["type"] == "resource_link"]
        assert bool(links) == (version >= "2025-06-18"), "which brought them"


def test_roots_are_asked_for_once_until_they_change(
    rooted: Connection, server: Connection, folders: Folders, shop: Path, fresh: Path
) -> None:
    folders.paths = [shop]
    before = folders.listed
    for _ in range(3):
        assert rooted.values("get_index_status")["projectPath"] == str(shop)
    assert folders.listed == before + 1
    folders.paths = [fresh]
    assert rooted.values("get_index_status")["projectPath"] == str(fresh)
    assert folders.listed == before + 2
