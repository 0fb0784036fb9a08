"""`findspot documents`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from contents import write_files
from program import Program


@pytest.fixture
def notes(findspot: Program, tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    texts = {"tea/green.md": "Green tea is steamed.", "black.md": "Black tea is oxidised."}
    write_files(folder, texts | {"photo.png": b"\x89PNG\0\0"})
    assert findspot("documents", "create", "notes").code == 0
    return folder


def test_a_folder_is_added_searched_and_listed(findspot: Program, notes: Path) -> None:
    added = findspot("documents", "add", notes, "--index", "notes", "--json")
    assert added.code == 0
    assert [one["doc_id"] for one in added.json["documents"]] == ["black.md", "tea/green.md"]
    assert added.json["skipped"] == [{"path": str(notes / "photo.png"), "reason": "no text"}]

    found = findspot("documents", "search", "+green tea", "--index-name", "notes", "--json").json
    assert [one["doc_id"] for one in found["results"]] == ["tea/green.md"]
    assert found["total_matches"] == 1
    assert found["query_parsed"]["must"] == ["green"]
    shown = findspot("documents", "search", "oxidised", "--index", "notes")
    assert "black.md" in shown.out
    assert "Black tea is oxidised." in shown.out
    assert "1 of 1 match" in shown.err

    listed = findspot("documents", "list", "--json").json
    assert [(one["index_name"], one["documents"]) for one in listed["indexes"]] == [("notes", 2)]


def test_a_file_and_standard_input(findspot: Program, notes: Path) -> None:
    one = findspot("documents", "add", notes / "black.md", "--index", "notes", "--doc-id", "b", "--json")
    assert one.json["documents"] == [{"status": "indexed", "doc_id": "b", "token_count": 4}]
    command = ("documents", "add", "-", "--index", "notes", "--doc-id", "typed")
    with findspot.start(*command, stdin=subprocess.PIPE) as process:
        out, _ = process.communicate("white tea", timeout=60)
    assert (process.returncode, out) == (0, "1 document indexed, 0 re-indexed.\n")
    found = findspot("documents", "search", "white", "--index", "notes", "--json").json
    assert found["results"][0]["doc_id"] == "typed"


def test_metadata_comes_back_with_the_results(findspot: Program, notes: Path) -> None:
    about = '{"author": {"name": "Li"}}'
    findspot("documents", "add", notes / "black.md", "--index", "notes", "--metadata", about)
    found = findspot("documents", "search", "black", "--index", "notes", "--json").json
    assert found["results"][0]["metadata"] == {"author": {"name": "Li"}}
    for wrong in ("{", "[1]"):
        assert findspot("documents", "add", notes, "--index", "notes", "--metadata", wrong).code == 2


def test_documents_are_removed_and_indexes_dropped(findspot: Program, notes: Path) -> None:
    findspot("documents", "add", notes, "--index", "notes")
    named = ("black.md", "tea/green.md", "none.md")
    done = findspot("documents", "remove", *named, "--index", "notes", "--json")
    assert done.code == 1
    assert [one["status"] for one in done.json["documents"]] == ["removed", "removed", "not_found"]
    again = findspot("documents", "remove", "black.md", "--index", "notes", "--json")
    assert again.json == {"status": "not_found", "doc_id": "black.md"}
    assert findspot("documents", "drop", "notes").code == 2
    assert findspot("documents", "drop", "notes", "--yes", "--json").json["status"] == "dropped"
    assert "no index yet" in findspot("documents", "list").out


def test_errors_have_their_texts_and_codes(findspot: Program, notes: Path) -> None:
    unknown = findspot("documents", "search", "tea", "--index", "nope", "--json")
    assert (unknown.code, unknown.json["userMessage"]) == (3, "Index not found: nope")
    assert findspot("documents", "drop", "nope", "--yes").code == 3
    again = findspot("documents", "create", "notes")
    assert (again.code, "Index already exists: notes" in again.err) == (2, True)
    assert "Unknown backend: cloud" in findspot("documents", "create", "x", "--backend", "cloud").err
    assert "would end with this command" in findspot("documents", "create", "x", "--backend", "memory").err
    assert "Invalid index name: a b" in findspot("documents", "create", "a b").err
    assert findspot("documents", "add", notes / "none.md", "--index", "notes").code == 1
    assert findspot("documents", "add", notes / "photo.png", "--index", "notes").code == 2
    assert "needs --doc-id" in findspot("documents", "add", "-", "--index", "notes").err
    assert "--index-name" in findspot("documents", "search", "tea").err
