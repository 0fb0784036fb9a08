"""`roots`: several folders as one project, through a real client."""

from __future__ import annotations

import json
from pathlib import Path

import mcp_types as types

from e2e.harness import Connection, Folders
from e2e.sample import make_sample


def workspace(folder: Path) -> Path:
    """Two copies of the sample as the roots of one project."""
    for name in ("shop", "packages/admin"):
        make_sample(folder / name)
    (folder / "packages/admin/src/auth/login.py").write_text("def admin_entrance():\n    return 1\n")
    (folder / ".findspot.json").write_text(json.dumps({"roots": ["shop", "packages/admin"]}))
    return folder.resolve()


def test_several_folders_are_one_project(server: Connection, tmp_path: Path) -> None:
    root = workspace(tmp_path / "workspace")
    assert server.values("index_codebase", path=str(root), confirm=True)["errors"] == []
    result = server.call("search_code", query="admin_entrance", path=str(root), format="human")
    assert isinstance(result.structured_content, dict)
    assert result.structured_content["results"][0]["path"] == "admin/src/auth/login.py"
    links = [block for block in result.content if isinstance(block, types.ResourceLink)]
    assert str(links[0].uri).startswith((root / "packages/admin/src/auth/login.py").as_uri())
    found = server.values("search_by_path", pattern="*/src/auth/login.py", project=str(root))
    assert found["matches"] == ["admin/src/auth/login.py", "shop/src/auth/login.py"]
    assert server.values("reindex_file", path="admin/src/auth/login.py", project=str(root))["chunksCreated"]
    assert server.values("get_index_status", project=str(root))["pendingChanges"] == 0


def test_a_folder_of_a_root_is_served_from_the_index(server: Connection, tmp_path: Path) -> None:
    root = workspace(tmp_path / "workspace")
    server.values("index_codebase", path=str(root), confirm=True)
    for folder, prefix in (("packages/admin/src", "admin/src/"), ("shop", "shop/")):
        found = server.values("search_code", query="login", path=str(root / folder), limit=50)["results"]
        assert found
        assert all(hit["path"].startswith(prefix) for hit in found)


def test_a_wrong_setting_is_told(server: Connection, tmp_path: Path) -> None:
    root = workspace(tmp_path / "workspace")
    (root / ".findspot.json").write_text(json.dumps({"roots": ["shop", "gone"]}))
    code, text = server.refusal("index_codebase", path=str(root), confirm=True)
    assert (code, "is not there" in text) == ("INVALID_ARGUMENT", True)
    (root / ".findspot.json").write_text(json.dumps({"roots": ["../shop"]}))
    answer = server.values("index_codebase", path=str(root), confirm=True)
    assert ".findspot.json: 'roots' must be folders" in answer["warning"]


def test_of_several_client_roots_the_indexed_one_is_the_project(
    rooted: Connection, folders: Folders, tmp_path: Path
) -> None:
    """A client's roots choose a project; what one project is made of, its configuration says."""
    root, other = workspace(tmp_path / "workspace"), make_sample(tmp_path / "other").resolve()
    folders.paths = [other, root]
    rooted.values("index_codebase", path=str(root), confirm=True)
    assert rooted.values("get_index_status")["projectPath"] == str(root)
    folders.paths = [other, root / "packages/admin"]
    found = rooted.values("search_code", query="login", limit=50)["results"]
    assert {hit["path"].split("/")[0] for hit in found} == {"admin"}
    folders.paths = [other]
    assert rooted.values("get_index_status")["status"] == "not_found"
