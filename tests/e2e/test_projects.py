"""Which project a call is about: named, the client's, or detected."""

from __future__ import annotations

import os
from pathlib import Path

from e2e.conftest import Connect
from e2e.harness import Connection, Folders


class TestRoots:
    def test_a_root_inside_an_index_is_served_from_it_and_an_argument_wins(
        self, rooted: Connection, server: Connection, folders: Folders, shop: Path, fresh: Path
    ) -> None:
        folders.paths = [shop / "src" / "auth"]
        found = rooted.values("search_code", query="user", limit=50)["results"]
        assert {hit["path"] for hit in found} == {"src/auth/login.py", "src/auth/session.py"}
        folders.paths = [fresh]
        assert rooted.values("search_code", query="login", path=str(shop))["results"]
        folders.paths = [shop]
        found = rooted.values("search_code", query="user", path="src/billing", limit=50)["results"]
        assert {hit["path"] for hit in found} == {"src/billing/invoice.ts", "src/billing/retry.go"}

    def test_roots_that_are_not_here_are_passed_over(
        self, rooted: Connection, server: Connection, folders: Folders, shop: Path, tmp_path: Path
    ) -> None:
        with_space = tmp_path / "with space ä"
        with_space.mkdir()
        folders.paths = [Path("/no/such/folder"), with_space]
        assert rooted.values("get_index_status")["projectPath"] == str(with_space.resolve())
        folders.paths = [Path("/no/such/folder")]
        assert rooted.refusal("get_index_status")[0] == "PROJECT_NOT_DETECTED"


def test_a_project_is_named_by_its_id(server: Connection, shop: Path) -> None:
    listed = {project["path"]: project["id"] for project in server.values("list_projects")["projects"]}
    identity = listed[str(shop)]
    assert server.values("get_index_status", project=identity)["projectPath"] == str(shop)
    assert server.values("search_by_path", pattern="*.toml", project=identity)["totalMatches"] == 1
    unknown = "0" * 32
    assert server.refusal("get_index_status", project=unknown) == (
        "PATH_NOT_FOUND",
        f"Path does not exist or is not a directory: {unknown}",
    )


def test_deleting_takes_a_folder_for_what_it_is(server: Connection, shop: Path) -> None:
    assert server.values("delete_index", project=str(shop / "src"))["status"] == "not_found"
    assert server.values("get_index_status", project=str(shop / "src"))["projectPath"] == str(shop)


def test_the_nearest_marker_is_the_detected_root(connect: Connect, fresh: Path) -> None:
    nested = fresh / "src" / "billing"
    (nested / "package.json").write_text("{}")
    with connect(fresh) as whole:
        whole.values("create_index")
    with connect(nested) as inside:
        found = inside.values("search_code", query="user", limit=50)["results"]
        assert {hit["path"] for hit in found} == {
            "src/billing/invoice.ts",
            "src/billing/package.json",
            "src/billing/retry.go",
        }


def test_a_folder_without_a_marker_is_part_of_its_project(
    connect: Connect, server: Connection, shop: Path
) -> None:
    with connect(shop / "src" / "auth") as inside:
        assert inside.values("get_index_status")["projectPath"] == str(shop)
        found = inside.values("search_code", query="total of an invoice")["results"]
        assert found[0]["path"] == "src/billing/invoice.ts"


def test_a_folder_whose_name_is_no_text_does_not_break_the_wire(connect: Connect, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    (odd / "go.mod").write_text("module cafe\n")
    with connect(odd) as inside:
        assert inside.values("get_index_status")["projectPath"].endswith("caf?")
        assert inside.refusal("search_code", query="x")[1].endswith("caf?. Run 'index_codebase' tool first.")


def test_a_server_whose_folder_is_gone_still_serves_others(
    connect: Connect, server: Connection, shop: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with connect(gone) as orphan:
        gone.rmdir()
        assert orphan.values("search_code", query="login", path=str(shop))["results"]
        assert orphan.refusal("get_index_status")[0] == "PROJECT_NOT_DETECTED"
        assert orphan.refusal("get_index_status", project="x")[0] == "PATH_NOT_FOUND"
