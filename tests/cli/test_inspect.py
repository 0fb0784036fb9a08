"""`findspot status`, `findspot files`, `findspot projects`, and `findspot` itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from findspot.core.paths import index_folder
from program import TIMEOUT_S, Program

Make = Callable[..., Path]


def test_alone_it_prints_a_short_help(findspot: Program) -> None:
    done = findspot()
    assert done.code == 0
    assert 'findspot "how is it done"' in done.out
    for command in ("index", "status", "files", "projects", "reindex", "delete", "clean", "config"):
        assert f"\n  {command} " in done.out


def test_status_as_json(shared: Program) -> None:
    done = shared("status", "--json")
    assert done.code == 0
    assert done.err == ""
    status = done.json
    assert status["status"] == "ready"
    assert status["projectPath"] == str(shared.cwd)
    assert (status["totalFiles"], status["totalDocs"]) == (3, 1)
    assert status["totalChunks"] >= 3
    assert status["queryReady"] is True
    assert status["pendingChanges"] == 0
    assert status["watcherActive"] is False
    assert status["skipped"] == {"binary": 1, "denied": 1}
    assert status["languages"]["python"] == 2
    assert status["model"].startswith("local:static")
    assert (status["store"], status["strategy"]) == ("default", "realtime")
    assert {"lastUpdated", "storageSize", "totalDocChunks"} <= set(status)


def test_status_inside_a_project_finds_its_root(shared: Program) -> None:
    assert shared("status", "--json", cwd=shared.cwd / "src").json["projectPath"] == str(shared.cwd)
    assert shared("status", "--project", "src", "--json").json["projectPath"] == str(shared.cwd)


def test_status_lists_what_was_left_out(shared: Program) -> None:
    everything = shared("status", "--skipped")
    assert everything.out.splitlines() == ["denied  .git/", "binary  logo.png  (by extension)"]
    assert everything.err.startswith("denied: never indexed, as dependencies, build output")
    assert shared("status", "--skipped", "binary").out == "binary  logo.png  (by extension)\n"
    listed = shared("status", "--skipped", "binary", "--json").json["skippedFiles"]
    assert listed == [{"path": "logo.png", "reason": "binary", "detail": "by extension"}]
    nothing = shared("status", "--skipped", "too_large")
    assert (nothing.code, nothing.out) == (0, "")
    wrong = shared("status", "--skipped", "boring")
    assert (wrong.code, "gitignored" in wrong.err) == (2, True)


def test_status_counts_pending_changes(findspot: Program, make_project: Make) -> None:
    root = make_project()
    findspot.make_index(root)
    (root / "new.py").write_text("y = 2\n")
    assert findspot("status", root, "--json").json["pendingChanges"] == 1
    assert "1 change on disk" in findspot("status", root).out


def test_status_without_an_index(findspot: Program, make_project: Make) -> None:
    root = make_project()
    done = findspot("status", root)
    assert done.code == 3
    assert f"Run `findspot index {root}`" in done.out
    as_json = findspot("status", "--json", cwd=root)
    assert as_json.code == 3
    assert as_json.json["status"] == "not_found"
    assert not findspot.home.exists(), "looking leaves nothing behind"


def test_files(shared: Program) -> None:
    assert shared("files", "**/*.py").out.splitlines() == ["src/greet.py", "src/part.py"]
    listed = {"matches": ["src/greet.py", "src/part.py"], "totalMatches": 2}
    assert shared("files", "**/*.py", "--json").json == listed
    one = shared("files", "*.py", "--limit", "1")
    assert (one.out, "1 of 2 matches" in one.err) == ("src/greet.py\n", True)
    assert shared("files", "*.py", "--limit", "1", "--json").json["totalMatches"] == 2
    assert shared("files", "*.py", "--limit", "0").code == 2
    none = shared("files", "*.rs")
    assert (none.code, none.out, "No indexed file matches '*.rs'." in none.err) == (0, "", True)
    wrong = shared("files", "src/[", "--json")
    assert (wrong.code, wrong.json["code"]) == (2, "INVALID_PATTERN")


def test_files_makes_the_index_that_it_needs(findspot: Program, make_project: Make) -> None:
    done = findspot("files", "*.py", cwd=make_project())
    assert (done.code, done.out) == (0, "src/greet.py\n")
    assert "has no index yet" in done.err


def test_projects(findspot: Program, make_project: Make) -> None:
    assert findspot("projects", "--json").json == {"projects": [], "total": 0}
    assert "No project is indexed yet" in findspot("projects").out
    roots = [make_project(name) for name in ("one", "two", "three")]
    for day, root in enumerate(roots, 1):  # times are stored to the second
        findspot.make_index(root)
        with (
            closing(sqlite3.connect(index_folder(findspot.home, root) / "index.sqlite")) as database,
            database,
        ):
            updated = f"2026-01-0{day}T00:00:00Z"
            database.execute("UPDATE meta SET value = ? WHERE key = 'updated_at'", (updated,))
    listed = findspot("projects", "--json").json
    assert listed["total"] == 3
    assert [each["path"] for each in listed["projects"]] == list(map(str, reversed(roots))), (
        "the newest first"
    )
    assert set(listed["projects"][0]) == {
        "id", "path", "status", "totalFiles", "totalChunks", "storageSize", "lastUpdated",
    }  # fmt: skip
    header, row, *_ = findspot("projects").out.splitlines()
    assert header.split() == ["status", "files", "chunks", "size", "updated", "project"]
    assert row.startswith("ready")
    assert row.endswith(str(roots[-1]))


def test_names_cannot_speak_to_the_terminal(findspot: Program, make_project: Make) -> None:
    root = make_project(**{"evil\x1b]0;pwned\x07.py": "x = 1\n", "right\u202eto-left.py": "x = 1\n"})
    outputs = [
        findspot("index", root),
        findspot("files", "**", cwd=root),
        findspot("status", root, "--skipped"),
        findspot("status", root, "--skipped", "--json"),
        findspot("files", "\x1b[31m*"),
        findspot("index", "\x1b[31mred"),
    ]
    for done in outputs:
        for character in "\x1b\x07\u202e":
            assert character not in done.out + done.err
    assert "evil" in outputs[2].out


def test_a_reader_that_leaves_is_no_error(findspot: Program, make_project: Make) -> None:
    deep = "/".join(["long" * 50] * 5)
    root = make_project(**{f"{deep}/{n}.py": "x = 1\n" for n in range(90)})
    findspot.make_index(root)
    with findspot.start("files", "**", cwd=root) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(TIMEOUT_S) == 0
