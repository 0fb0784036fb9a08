"""A committed file makes things stricter; the user's own configuration wins; a wrong value stops nothing."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from program import Program
from trust.conftest import MakeFolder, Serve

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_repository_cannot_switch_off_a_guard(findspot: Program, make: MakeFolder, serve: Serve) -> None:
    """`security 8`, `search-mcp B5`: a clone indexed its reader's ignored files, and the inside of `.git`."""
    committed = {
        "secretScan": "off",
        "respectGitignore": False,
        "maxFileSize": "500MB",
        "maxFiles": 1_000_000,
        "maxTokens": 1_000_000,
        "watch": False,
        "roots": [".git", "node_modules", "src"],
        "embedding": {"provider": "http", "command": "touch started"},
        "cortex": {"endpoint": "http://localhost:9"},
    }
    project = make(
        {
            "src/a.py": "def find_the_token():\n    return 1\n",
            "node_modules/dep/b.js": "// canary\n",
            ".gitignore": "local_settings.py\n",
            "src/local_settings.py": "NAME = 'canary'\n",
            "src/keys.py": f"GITHUB = '{TOKEN}'\n",
            ".findspot.json": json.dumps(committed),
        },
        git=True,
    )
    pipe = serve(project)
    warning = pipe.values("index_codebase", path=str(project))["warning"]
    for name in (*(key for key in committed if "." not in key), "embedding.provider", "cortex.endpoint"):
        assert name in warning
    assert len(warning) < 700
    assert warning.count(". ") == 4
    status = pipe.values("get_index_status")
    assert status["warning"] == warning
    assert not (project / "started").exists()
    listed = pipe.values("search_by_path", pattern="**", limit=100)["matches"]
    assert "src/a.py" in listed
    for hidden in ("local_settings.py", "b.js", ".git"):
        assert not [path for path in listed if path.endswith(hidden) or path.startswith(f"{hidden}/")]
    assert TOKEN not in json.dumps(pipe.values("search_code", query="github token"))


def test_setting_outside_a_project_says_how(findspot: Program, tmp_path: Path, make: MakeFolder) -> None:
    """`documents A12`: the hint named only indexing, and the page showed the command that failed."""
    for folder in (make({}, "plain"), make({"pyproject.toml": ""}, "marked")):
        done = findspot("config", "set", "embedding.endpoint", "http://127.0.0.1:1/v1", cwd=folder)
        assert done.code != 0
        assert "--global" in done.err
    done = findspot(
        "config", "set", "--global", "embedding.endpoint", "http://me:pass@127.0.0.1:1", cwd=folder
    )
    assert done.code == 0
    token = findspot("config", "set", "--global", "http.token", "canary-token", cwd=folder)
    shown = findspot("config", cwd=folder)
    assert "http://***@127.0.0.1:1" in shown.out
    for output in (done.out, token.out, shown.out, findspot("config", "--json", cwd=folder).out):
        assert "pass@" not in output, "security 19"
        assert "canary-token" not in output


def test_what_is_wrong_with_a_project_costs_only_its_own_row(
    findspot: Program, make: MakeFolder, serve: Serve
) -> None:
    """Committed `roots` that are no path broke every listing of the machine; so did a number that is none."""
    hostile, other = make({"a.py": "a = 1\n"}, "hostile"), make({"b.py": "b = 1\n"}, "other")
    for project in (hostile, other):
        findspot.make_index(project)
    (hostile / ".findspot.json").write_text(json.dumps({"roots": ["\0"]}))

    listed = findspot("projects", "--json", cwd=other).json["projects"]
    assert [project["status"] for project in listed] == ["ready", "ready"]
    assert findspot("doctor", cwd=other).code == 0
    assert "'roots' must be" in findspot("status", cwd=hostile).err
    assert findspot("delete", hostile, "--yes").code == findspot("index", hostile).code == 0
    for folder in (hostile, other):
        pipe = serve(folder)
        assert len(pipe.values("list_projects")["projects"]) == 2
        assert pipe.values("search_by_path", pattern="**")["matches"]
        pipe.close_input()
        pipe.ended()  # or its watcher would mend what is broken below

    (hostile / ".findspot.json").unlink()
    index = Path(findspot("status", hostile, "--json").json["indexPath"])
    with closing(sqlite3.connect(index / "index.sqlite")) as database, database:
        database.execute("update meta set value = 'many' where key = 'total'")
    rows = {row["path"]: row for row in findspot("projects", "--json", cwd=other).json["projects"]}
    assert rows[str(hostile)]["status"] == "failed"
    assert rows[str(other)]["status"] == "ready"
    assert f"{hostile}\n      → Run `findspot index`" in findspot("doctor", cwd=other).out
    listed = serve(other).values("list_projects")["projects"]
    assert sorted(row["status"] for row in listed) == ["failed", "ready"]
