"""Question-like pairs: what manuals, change logs and interfaces give, and how statements are turned round."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

import collect
from extract import pairs_of
from guard import Guard
from interfaces import interface_pairs
from manuals import changed_names, manual_pairs
from questions import as_wish, question

MANUAL = r""".TH SORT 1
.SH NAME
sort \- sort lines of text files
.SH SYNOPSIS
.B sort
[\fIOPTION\fR]... [\fIFILE\fR]...
.SH DESCRIPTION
Write sorted concatenation of all files to standard output. With no file, or when a file is a dash,
read standard input. Ordering options may be given before or after the names of files.
.SH "EXIT STATUS"
Zero is given when all files were read and written without trouble, one when lines were out of
order and checking was asked for, and two or more when any other error came up on the way.
"""


def test_a_manual_s_summary_asks_for_its_description_and_a_heading_for_its_section() -> None:
    found = dict(manual_pairs(MANUAL))
    assert list(found) == ["sort lines of text files", "sort description", "sort exit status"]
    assert "[OPTION]" in found["sort lines of text files"]
    assert found["sort exit status"].startswith("Zero is given")
    assert [pair.kind for pair in pairs_of("man/sort.1", MANUAL)] == ["manual"] * 3


def test_a_line_of_a_change_log_names_the_code_it_speaks_of() -> None:
    text = "# 1.2\n\n- Fixed `read_lines()` dropping the last line ([#12](x))\n- Faster start\n"
    assert list(changed_names(text)) == [("Fixed read_lines() dropping the last line (#12)", ["read_lines"])]


@pytest.mark.parametrize(
    ("statement", "wish"),
    [
        ("Converts the given list to a string.", "convert list to string"),
        ("Returns True if the file exists, which is rare.", "get True if file exists"),
        ("Helper function to parse dates", "parse dates"),
        ("This method copies the buffer", "copy buffer"),
    ],
)
def test_statements_become_wishes(statement: str, wish: str) -> None:
    assert as_wish(statement) == wish


def test_a_question_is_the_same_every_time_and_names_its_language() -> None:
    statements = [f"Converts the value {n} to a string." for n in range(200)]
    asked = [question("doc", "python", statement) for statement in statements]
    assert asked == [question("doc", "python", statement) for statement in statements]
    assert 0.4 < sum("python" in one for one in asked) / len(asked) < 0.9
    assert question("doc", "python", "Run.") == ""


def test_operations_of_an_interface_read_like_tools(tmp_path: Path) -> None:
    model = {
        "metadata": {"serviceId": "Queues"},
        "operations": {
            "SendMessage": {
                "documentation": "<p>Delivers a message to the <b>queue</b>. It may be delayed.</p>",
                "input": {"shape": "In"},
            }
        },
        "shapes": {"In": {"members": {"Body": {"documentation": "<p>What is sent. All of it.</p>"}}}},
    }
    document = {
        "resources": {
            "events": {"methods": {"add": {"id": "diary.events.add", "description": "Adds an event to it."}}}
        }
    }
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        out.writestr("data/queues/1/service-2.json.gz", gzip.compress(json.dumps(model).encode()))
        out.writestr("a/discovery_cache/documents/diary.json", json.dumps(document))
    found = dict(interface_pairs(wheel))
    assert found["Delivers a message to the queue ."] == (
        "Queues SendMessage\nIt may be delayed.\nBody What is sent."
    )
    assert found["Adds an event to it."] == "diary.events.add\n"


READ = """def read_lines(path):
    with open(path) as lines:
        return list(lines.readlines())
"""
CUT = """def cut_words(text):
    found = text.split()
    return [word for word in found if word.isalpha()]
"""
TEST = """def test_read_lines_empty():
    made = make_an_empty_file(named="nothing.txt")
    assert read_lines(made) == []
"""
PACKAGE = {
    "small/read.py": READ,
    "small/cut.py": CUT,
    "tests/test_read.py": TEST,
    "CHANGELOG.md": "- Fixed `cut_words` dropping the very last word of a file\n",
}


def test_tests_and_change_logs_ask_for_the_code_they_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small:
        ecosystem, name, version, licence = "pypi", "small", "1", "MIT"
        summary, description = "Reads the lines of files", "What it is for, at length. " * 20

        def files(self, _: object) -> list[tuple[str, str]]:
            return list(PACKAGE.items())

    monkeypatch.setattr(collect, "CACHE", tmp_path)
    monkeypatch.setattr(collect, "HERE", tmp_path)
    (tmp_path / "pairs").mkdir()
    collect.extract_package(Guard(), Small())  # type: ignore[arg-type]
    collect.select()
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()]
    asked = {row["kind"]: row for row in rows}
    assert asked["tested"]["query"] == "read lines empty"
    assert asked["change"]["query"] == "Fixed cut_words dropping the very last word of a file"
    assert "readlines()" in asked["tested"]["text"]
    assert "text.split()" in asked["change"]["text"]
    assert asked["summary"]["text"].startswith("What it is for")


def test_what_a_check_refused_is_left_out_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "CACHE", tmp_path)
    monkeypatch.setattr(collect, "HERE", tmp_path)
    (tmp_path / "pairs").mkdir()
    about = {"ecosystem": "pypi", "package": "small", "version": "1", "licence": "MIT"}
    pairs = [
        {"kind": "doc", "language": "go", "query": f"opens a door {n}", "text": f"func {n}"} for n in (1, 2)
    ]
    (tmp_path / "pairs" / "small.jsonl").write_text("\n".join(map(json.dumps, [about, *pairs])), "utf-8")
    (tmp_path / "refused.jsonl").write_text(json.dumps(pairs[0]) + "\n", "utf-8")
    collect.select()
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert [row["query"] for row in rows] == ["opens a door 2"]
