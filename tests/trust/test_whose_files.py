"""Whose files: each project has its own, and the rules of its repository and its user hold in it."""

from __future__ import annotations

import json

from contents import write_files
from e2e.harness import Pipe, until
from program import Program
from trust.conftest import MakeFolder, Serve, run_git

WATCHED = {"FINDSPOT_WATCH": "true"}


def indexed(pipe: Pipe, **arguments: str) -> list[str]:
    return list(pipe.values("search_by_path", pattern="**", limit=100, **arguments)["matches"])


def test_a_worktree_is_a_project_of_its_own(findspot: Program, serve: Serve, make: MakeFolder) -> None:
    """first-impression B1: found from inside, and no part of the checkout around it."""
    main = make({"shop.py": "def total():\n    return 'main'\n"}, git=True)
    worktree = main / ".claude" / "worktrees" / "feature"
    run_git(main, "worktree", "add", "-q", str(worktree))
    write_files(worktree, {"shop.py": "def total():\n    return 'feature'\n"})

    report = findspot("index", "--json", cwd=main).json
    assert report["totalFiles"] == 1
    status = findspot("status", "--json", cwd=main).json
    assert status["skipped"]["repository"] == 1
    assert ".claude/worktrees/feature/" in status["notes"][0]
    missing = findspot("search", "total", "--no-update", cwd=worktree)
    assert missing.code == 3
    assert str(worktree) in missing.err

    pipe = serve(worktree)
    assert pipe.call("search_code", query="total")["isError"]
    assert pipe.values("create_index", confirm=True)["projectPath"] == str(worktree)
    (hit,) = pipe.values("search_code", query="total")["results"]
    assert (hit["path"], "feature" in hit["text"]) == ("shop.py", True)
    (hit,) = pipe.values("search_code", query="total", path=str(main))["results"]
    assert (hit["path"], "main" in hit["text"]) == ("shop.py", True)
    refused = pipe.call("reindex_file", path=".claude/worktrees/feature/shop.py", project=str(main))
    assert refused["isError"]
    assert "feature" in findspot("search", "total", cwd=worktree).out


def test_git_decides_what_is_ignored(findspot: Program, serve: Serve, make: MakeFolder) -> None:
    """A tracked file is not ignored; the watcher follows what git tracks."""
    project = make(
        {
            ".gitignore": "made/\n*.gen.py\n",
            "a.py": "a = 1\n",
            "b.gen.py": "b = 1\n",
            "made/c.py": "c = 1\n",
            "made/d.py": "d = 1\n",
        },
        git=True,
    )
    run_git(project, "add", "-f", "made/c.py")
    findspot.make_index(project)
    pipe = serve(project, **WATCHED)
    until(lambda: pipe.values("get_index_status")["watcherActive"])
    assert indexed(pipe) == [".gitignore", "a.py", "made/c.py"]
    write_files(project, {"made/c.py": "lighthouse = 2\n"})
    until(lambda: "lighthouse" in str(pipe.values("search_code", query="lighthouse")["results"]))
    run_git(project, "add", "-f", "b.gen.py", "made/d.py")
    until(lambda: indexed(pipe) == [".gitignore", "a.py", "b.gen.py", "made/c.py", "made/d.py"])
    run_git(project, "rm", "-q", "-f", "--cached", "made/c.py", "made/d.py")
    until(lambda: indexed(pipe) == [".gitignore", "a.py", "b.gen.py"])
    write_files(project, {".findspotignore": "!made/\n!made/*\nb.gen.py\n"})
    until(lambda: indexed(pipe) == [".findspotignore", ".gitignore", "a.py"])


def test_a_tracked_manifest_that_a_rule_names_is_read(findspot: Program, make: MakeFolder) -> None:
    """Else its package has no name, and calls through that name lead nowhere."""
    project = make(
        {
            "lib/package.json": json.dumps({"name": "shop-lib", "main": "./index.js"}),
            "lib/index.js": "export function checkCard(number) {\n  return number;\n}\n",
            "app/main.js": "import { checkCard } from 'shop-lib';\n\ncheckCard(4);\n",
        },
        git=True,
    )
    write_files(project, {"lib/.gitignore": "**/package.json\n"})
    findspot.make_index(project)
    answer = findspot("callers", "checkCard", "--json", cwd=project).json
    assert [edge["line"] for edge in answer["edges"]] == [3]


def test_an_answer_about_a_part_of_a_project_says_so(
    findspot: Program, serve: Serve, make: MakeFolder
) -> None:
    """search-mcp B9 and M4, first-impression A10: one rule on the command line and over MCP."""
    root = make(
        {
            "top.py": "def top():\n    pass\n",
            "pkg/pyproject.toml": "",
            "pkg/src/a.py": "def inner():\n    pass\n",
        },
        git=True,
    )
    package = root / "pkg"
    findspot.make_index(root)
    pipe = serve(package)
    said = f"searches look only below 'pkg', and paths are relative to {root}"

    answer = pipe.call("search_code", query="inner")
    assert [hit["path"] for hit in answer["structuredContent"]["results"]] == ["pkg/src/a.py"]
    assert said in answer["structuredContent"]["warning"]
    assert any(said in part.get("text", "") for part in answer["content"])
    assert said in pipe.values("search_code", query="top")["warning"]
    assert said in pipe.values("get_index_status")["warning"]
    assert said in pipe.values("code_research", query="what calls inner")["warning"]
    by_path = pipe.values("search_by_path", pattern="top.py")
    assert (by_path["matches"], said in by_path["warning"]) == ([], True)
    assert "'pkg/src/**' matches 1 file" in pipe.values("search_by_path", pattern="pkg/src")["warning"]
    whole = pipe.values("search_code", query="top", path=str(root))
    assert (whole["results"][0]["path"], whole.get("warning")) == ("top.py", None)

    found = findspot("search", "top", "--json", cwd=package).json
    assert "top.py" not in [hit["path"] for hit in found["results"]]
    assert said in found["warning"]
    assert said in findspot("files", "**", cwd=package / "src").err
    whole = findspot("search", "top", "--json", "--project", root, cwd=package).json
    assert (whole["results"][0]["path"], whole.get("warning")) == ("top.py", None)
