"""A folder of repositories, and several folders of a client, through a real client."""

from __future__ import annotations

import subprocess
from pathlib import Path

import mcp_types as types

from e2e.conftest import Connect
from e2e.harness import Connection, Folders
from e2e.sample import make_sample


def make_workspace(folder: Path) -> Path:
    """Two copies of the sample as repositories, one with a definition of its own."""
    for name in ("shop", "admin"):
        subprocess.run(["git", "init", "-q", make_sample(folder / name)], check=True)
    (folder / "admin/src/auth/login.py").write_text("def admin_entrance():\n    return 1\n")
    return folder.resolve()


def test_a_server_that_starts_in_a_folder_of_repositories(connect: Connect, tmp_path: Path) -> None:
    root = make_workspace(tmp_path / "all")
    with connect(root) as server:
        assert server.values("create_index", confirm=True)["status"] == "success"
        result = server.call("search_code", query="admin_entrance", format="human")
        assert isinstance(result.structured_content, dict)
        first = result.structured_content["results"][0]
        assert (first["path"], first["project"]) == ("admin/src/auth/login.py", "admin")
        links = [block for block in result.content if isinstance(block, types.ResourceLink)]
        assert str(links[0].uri).startswith((root / "admin/src/auth/login.py").as_uri())
        found = server.values("search_by_path", pattern="*/src/auth/login.py")
        assert found["matches"] == ["admin/src/auth/login.py", "shop/src/auth/login.py"]
        status = server.values("get_index_status")
        assert [member["name"] for member in status["members"]] == ["admin", "shop"]
        only = server.values("search_code", query="login", path="sh*", limit=50)["results"]
        assert {hit["project"] for hit in only} == {"shop"}
        for named in ("admin", "admin/src", str(root / "admin/src")):
            hits = server.values("search_code", query="admin_entrance", path=named)["results"]
            assert hits[0]["path"] == "admin/src/auth/login.py"
        context = server.values("code_context", path="admin/src/auth/login.py", line=1)
        assert "admin_entrance" in context["summary"]
        context = server.values("code_context", signal="where is the admin_entrance")
        assert "This is from 'admin'." in context["warning"]
        made = server.values("create_index", project="admin", confirm=True)
        assert made["projectPath"] == str(root / "admin")
        code, text = server.refusal("delete_index", confirm=True)
        assert (code, "admin, shop" in text) == ("PROJECT_NOT_DETECTED", True)
        assert server.values("delete_index", project="shop", confirm=True)["status"] == "success"
        assert "Not indexed, and not asked: shop." in server.values("search_code", query="login")["warning"]


def test_several_folders_of_a_client_are_asked_as_one(
    rooted: Connection, folders: Folders, tmp_path: Path
) -> None:
    root = make_workspace(tmp_path / "all")
    folders.paths = [root / "shop", root / "admin"]
    assert rooted.values("create_index", confirm=True)["status"] == "success"
    found = rooted.values("search_code", query="login", limit=50)["results"]
    assert {hit["path"].split("/")[0] for hit in found} == {"admin", "shop"}
    apart = make_sample(tmp_path / "apart").resolve()
    assert rooted.values("index_codebase", path=str(apart), confirm=True)["status"] == "success"
    found = rooted.values("search_code", query="login", path="*", limit=50)["results"]
    assert {hit["path"].split("/")[0] for hit in found} == {"admin", "shop"}
    hits = rooted.values("search_code", query="admin_entrance", path="admin/src")["results"]
    assert hits[0]["path"] == "admin/src/auth/login.py"
    context = rooted.values("code_context", path="admin/src/auth/login.py", line=1)
    assert all(region["path"].startswith("admin/") for region in context["regions"])
    folders.paths = [root / "admin"]
    assert rooted.values("search_code", query="admin_entrance")["results"][0]["path"] == "src/auth/login.py"
