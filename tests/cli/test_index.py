"""`findspot index` and `findspot reindex`."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from held import Gate
from program import Program

Make = Callable[..., Path]

REPORT_FIELDS = {
    "status", "path", "forced", "filesIndexed", "filesUnchanged", "filesRemoved", "filesSkipped",
    "chunksCreated", "totalFiles", "totalChunks", "errors", "duration",
}  # fmt: skip


def test_the_summary_says_what_was_done_and_where(findspot: Program, make_project: Make) -> None:
    root = make_project()
    done = findspot("index", root)
    assert done.code == 0
    assert f"{root}: 4 files indexed in " in done.out
    assert "3 code files, 1 document" in done.out
    assert "python 1" in done.out
    assert "gitignored 1" in done.out
    assert str(findspot.home / "indexes") in done.out
    assert "findspot status --skipped" in done.out
    assert "\x1b" not in done.out + done.err


def test_files_with_masked_secrets_are_named(findspot: Program, make_project: Make) -> None:
    key = 'KEY = "AKIA' + 'QZ3XK7WV5RT2MNPL"\n'
    root = make_project(**{f"keys{n}.py": key for n in range(5)})
    done = findspot("index", cwd=root)
    assert "Indexed with their secrets masked: keys0.py, keys1.py, keys2.py and 2 more." in done.err
    assert "keys3.py" in findspot("status", "--skipped", "masked", cwd=root).out
    assert findspot("config", "set", "secretScan", "skip", cwd=root).code == 0
    again = findspot("index", cwd=root)
    assert "secret 5" in again.out
    assert "masked" not in again.err


def test_json_counts_what_changed(findspot: Program, make_project: Make) -> None:
    root = make_project()
    first = findspot("index", "--json", cwd=root)
    assert set(first.json) == REPORT_FIELDS
    assert first.err == ""
    assert (first.json["status"], first.json["path"]) == ("success", str(root))
    assert first.json["filesIndexed"] == first.json["totalFiles"] == 4
    assert (first.json["forced"], first.json["errors"]) == (False, [])
    assert "is up to date: 4 files unchanged" in findspot("index", root).out

    (root / "src" / "greet.py").write_text("def wave():\n    return 'o/'\n")
    (root / "README.md").unlink()
    second = findspot("index", "--json", cwd=root / "src").json
    assert (second["filesIndexed"], second["filesRemoved"], second["filesUnchanged"]) == (1, 1, 2)
    for option in (("--force",), ("--chunking", "character")):
        again = findspot("index", root, *option, "--json").json
        assert (again["forced"], again["filesIndexed"]) == (option == ("--force",), 3)


def test_flags_override_the_configuration(findspot: Program, make_project: Make) -> None:
    root = make_project(**{"big.py": "x = 1\n" * 500, "other.js": "let x = 1;\n"})
    (root / ".findspot.json").write_text('{"exclude": ["src/**"]}')
    options = ("--exclude=*.js", "--exclude=*.toml", "--max-file-size=1KB", "--no-docs", "--no-gitignore")
    assert findspot("index", root, *options).code == 0
    indexed = findspot("files", "**", "--json", cwd=root).json["matches"]
    assert "src/greet.py" in indexed
    assert "ignored/secret.py" in indexed
    assert not {"big.py", "other.js", "pyproject.toml", "README.md"} & set(indexed)

    assert findspot("index", root, "--include", "*.js").code == 0
    assert findspot("files", "**", "--json", cwd=root).json["matches"] == ["other.js"]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--max-file-size", "2XB", "a size such as '500KB'"),
        ("--max-files", "0", "a positive integer"),
        ("--chunking", "words", "'syntax', 'character'"),
        ("--provider", "no:such", "must be one of 'local:static'"),
        ("--exclude", "[", "The search pattern '[' is invalid"),
    ],
)
def test_a_bad_flag_is_refused(
    findspot: Program, make_project: Make, option: str, value: str, says: str
) -> None:
    root = make_project()
    done = findspot("index", root, option, value)
    assert done.code == 2
    assert says in done.err
    assert findspot("status", root).code == 3, "nothing was indexed"


def test_a_project_over_the_limit_is_asked_about(findspot: Program, make_project: Make) -> None:
    root = make_project()
    refused = findspot("index", root, "--max-files", "1")
    assert refused.code == 2
    assert "This project is very large (4 files)" in refused.err
    assert "--yes" in refused.err

    as_json = findspot("index", root, "--max-files", "1", "--json")
    assert as_json.code == 2
    assert as_json.json["status"] == "confirmation_required"
    assert as_json.json["question"].startswith("This project is very large")

    assert findspot("index", root, "--max-files", "1", "--yes").code == 0


def test_a_terminal_is_asked_and_gets_a_bar_on_standard_error(findspot: Program, make_project: Make) -> None:
    asked = ("index", make_project(), "--max-files", "1", "--json")
    done = findspot.on_terminal(*asked, answers={"Continue? [y/N]": "y\n"})
    assert json.loads(done.out)["filesIndexed"] == 4
    assert "\r\x1b[Kscanning" in done.err  # four files may be read before the bar is drawn again


def test_reindex_rebuilds_when_told_to(findspot: Program, make_project: Make) -> None:
    root = make_project()
    findspot.make_index(root)
    refused = findspot("reindex", root)
    assert refused.code == 2
    assert "This will rebuild the entire index. Continue?" in refused.err
    declined = findspot.on_terminal("reindex", root, "--json", answers={"[y/N]": "n\n"})
    assert (declined.code, json.loads(declined.out)) == (1, {"status": "cancelled"})
    assert "nothing was changed" in declined.err

    done = findspot("reindex", root, "--yes", "--json")
    assert done.code == 0
    assert (done.json["filesIndexed"], done.json["message"]) == (4, "Index rebuilt successfully")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_can_be_stopped_and_resumed(
    findspot: Program, make_project: Make, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    root = make_project()
    gate = Gate(root, tmp_path / "gate")
    stopped = findspot.interrupted(number, "index", root, env={"PYTHONPATH": gate.path})
    assert stopped.code == code
    assert stopped.err.startswith("indexing 5 files")
    assert "error: Cancelled." in stopped.err
    assert "again to continue" in stopped.err
    assert "Traceback" not in stopped.err
    assert findspot("status", root, "--json").json["status"] == "incomplete"

    gate.open()
    finished = findspot("index", root, "--json").json
    assert finished["totalFiles"] == 5
    assert finished["errors"] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_an_unreadable_folder_is_an_error(findspot: Program, make_project: Make) -> None:
    root = make_project()
    root.chmod(0)
    try:
        done = findspot("index", root)
    finally:
        root.chmod(0o700)
    assert done.code == 1
    assert "Check folder permissions" in done.err


def test_a_whole_home_folder_is_indexed_only_after_a_yes(
    findspot: Program, make_project: Callable[..., Path]
) -> None:
    home = make_project("user")
    for root in (home, home.parent):
        env = {"HOME": str(home)}
        piped = findspot("index", root, env=env)
        assert piped.code == 2
        assert f"({root} {'is' if root == home else 'holds'} your home folder. Index all of it?)" in piped.err
        assert "Pass --yes to `findspot index`." in piped.err
    refused = findspot.on_terminal("index", home, answers={"Index all of it? [y/N]": "n\n"}, env=env)
    assert refused.code == 1
    assert findspot("index", home, "--yes", env=env).code == 0
    assert findspot("index", home, env=env).code == 0, "it has been asked once"
