"""Questions to the user: agreed, declined, and where nobody can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from e2e.conftest import Connect
from e2e.harness import Connection, Folders, Person

REBUILD = "This will rebuild the entire index. Continue?"
DELETE = "Delete the index for this project? This cannot be undone."
NOT_INDEXED = "This project hasn't been indexed yet. Would you like to index it now?"
OUTSIDE = "This folder is outside the folders that you work in. Index it?"
LARGE = "This project is very large (8 files). Indexing may take several minutes. Continue?"


def questions(person: Person) -> list[str]:
    return [asked.message for asked in person.asked]


def limit_files(project: Path, files: int) -> None:
    (project / ".findspot.json").write_text(f'{{"maxFiles": {files}, "exclude": [".findspot.json"]}}')


class TestAgreed:
    def test_create_index_of_the_project_around(self, connect: Connect, fresh: Path) -> None:
        person = Person()
        with connect(fresh, elicitation_callback=person) as talking:
            assert talking.values("create_index")["status"] == "success"
        assert questions(person) == [f"Index this project?\n{fresh}"]

    def test_reindex_and_delete(self, talking: Connection, person: Person, fresh: Path) -> None:
        talking.values("index_codebase", path=str(fresh))
        assert questions(person) == [f"{OUTSIDE}\n{fresh}"]
        person.asked.clear()
        talking.values("index_codebase", path=str(fresh))
        assert person.asked == []
        rebuilt = talking.values("reindex_project", project=str(fresh))
        assert rebuilt["message"] == "Index rebuilt successfully"
        assert rebuilt["filesIndexed"] == rebuilt["totalFiles"] == 8
        deleted = talking.values("delete_index", project=str(fresh))
        assert deleted == {
            "status": "success",
            "projectPath": str(fresh),
            "message": "Index deleted successfully",
        }
        assert questions(person) == [f"{REBUILD}\n{fresh}", f"{DELETE}\n{fresh}"]
        assert talking.values("get_index_status", project=str(fresh))["status"] == "not_found"

    def test_a_large_project(self, talking: Connection, person: Person, fresh: Path) -> None:
        limit_files(fresh, 3)
        assert talking.values("index_codebase", path=str(fresh))["totalFiles"] == 8
        assert questions(person) == [f"{OUTSIDE}\n{fresh}", f"{LARGE}\n{fresh}"]

    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("search_code", {"query": "login", "path": None}),
            ("search_docs", {"query": "install", "path": None}),
            ("search_by_path", {"pattern": "**", "project": None}),
            ("reindex_file", {"path": "README.md", "project": None}),
        ],
    )
    def test_a_missing_index_is_built_and_the_call_answered(
        self, talking: Connection, person: Person, fresh: Path, tool: str, arguments: dict[str, Any]
    ) -> None:
        given = {name: str(fresh) if value is None else value for name, value in arguments.items()}
        answer = talking.values(tool, **given)
        assert answer.get("results") or answer.get("matches") or answer.get("chunksCreated")
        assert questions(person) == [f"{NOT_INDEXED}\n{fresh}"]

    def test_a_yes_given_beforehand_does_not_replace_the_question(
        self, talking: Connection, person: Person, fresh: Path
    ) -> None:
        talking.values("index_codebase", path=str(fresh))
        person.action = "decline"
        assert talking.values("delete_index", project=str(fresh), confirm=True)["status"] == "cancelled"


class TestDeclined:
    @pytest.mark.parametrize("action", ["decline", "cancel"])
    def test_nothing_is_changed(self, talking: Connection, person: Person, fresh: Path, action: str) -> None:
        cancelled = {
            "status": "cancelled",
            "projectPath": str(fresh),
            "message": "Cancelled; nothing was changed.",
        }
        person.action = action
        assert talking.values("create_index", project=str(fresh)) == cancelled
        assert talking.values("get_index_status", project=str(fresh))["status"] == "not_found"
        person.action = "accept"
        talking.values("index_codebase", path=str(fresh))
        person.action = action
        before = talking.values("get_index_status", project=str(fresh))
        for tool in ("create_index", "reindex_project", "delete_index"):
            assert talking.values(tool, project=str(fresh)) == cancelled
        after = talking.values("get_index_status", project=str(fresh))
        same = ("status", "totalFiles", "totalChunks")  # the watcher may have compared them with the disk
        assert [after[name] for name in same] == [before[name] for name in same]

    def test_nothing_is_indexed_and_an_offer_is_not_made_again(
        self, talking: Connection, person: Person, fresh: Path
    ) -> None:
        person.action = "decline"
        for tool in ("search_code", "search_docs", "search_code"):
            code, text = talking.refusal(tool, query="login", path=str(fresh))
            assert code == "INDEX_NOT_FOUND"
            assert text == f"No index found for path: {fresh}. Run 'index_codebase' tool first."
        assert questions(person) == [f"{NOT_INDEXED}\n{fresh}"]
        limit_files(fresh, 3)
        assert talking.values("index_codebase", path=str(fresh))["status"] == "cancelled"
        assert talking.values("get_index_status", project=str(fresh))["status"] == "not_found"


class TestNobodyToAsk:
    def test_a_folder_elsewhere_waits_for_a_second_call(
        self, server: Connection, rooted: Connection, folders: Folders, fresh: Path
    ) -> None:
        for tool, name in (("create_index", "project"), ("index_codebase", "path")):
            waiting = server.values(tool, **{name: str(fresh)})
            assert (waiting["status"], waiting["question"]) == ("confirmation_required", OUTSIDE)
        assert server.values("get_index_status", project=str(fresh))["status"] == "not_found"
        folders.paths = [fresh.parent]
        assert rooted.values("index_codebase", path=str(fresh))["status"] == "success"

    @pytest.mark.parametrize(("tool", "question"), [("reindex_project", REBUILD), ("delete_index", DELETE)])
    def test_what_destroys_waits_for_a_second_call(
        self, server: Connection, fresh: Path, tool: str, question: str
    ) -> None:
        server.values("index_codebase", path=str(fresh), confirm=True)
        waiting = server.values(tool, project=str(fresh))
        assert waiting["status"] == "confirmation_required"
        assert waiting["question"] == question
        assert waiting["projectPath"] == str(fresh)
        assert "confirm: true" in waiting["message"]
        assert server.values(tool, project=str(fresh), confirm=False)["status"] == "confirmation_required"
        assert server.values("get_index_status", project=str(fresh))["status"] == "ready"
        assert server.values(tool, project=str(fresh), confirm=True)["status"] == "success"

    def test_the_working_folder_is_indexed_unless_it_is_large(self, connect: Connect, fresh: Path) -> None:
        limit_files(fresh, 3)
        with connect(fresh) as silent:
            for tool, name, question, code in (
                ("create_index", "project", LARGE, "FILE_LIMIT_WARNING"),
                ("index_codebase", "path", LARGE, "FILE_LIMIT_WARNING"),
                ("reindex_project", "project", REBUILD, None),
            ):
                waiting = silent.values(tool, **{name: str(fresh)})
                assert (waiting["status"], waiting["question"]) == ("confirmation_required", question)
                assert waiting.get("code") == code
                assert silent.values("get_index_status", project=str(fresh))["status"] == "not_found"
                assert silent.values(tool, **{name: str(fresh)}, confirm=True)["totalFiles"] == 8
                silent.values("delete_index", project=str(fresh), confirm=True)
            (fresh / ".findspot.json").unlink()
            assert silent.values("create_index")["status"] == "success"


class TestNoProject:
    def test_the_current_directory_is_chosen_once(self, connect: Connect, tmp_path: Path) -> None:
        here = tmp_path.resolve()
        (here / "notes.md").write_text("# Notes\n\nOn gardening.\n")
        person = Person(content={"choice": "Use current directory"})
        with connect(here, elicitation_callback=person) as talking:
            assert talking.values("create_index")["projectPath"] == str(here)
            assert talking.values("search_docs", query="gardening")["results"]
        first = person.asked[0]
        assert first.message == (
            f"Could not detect project root.\n[1] Use current directory: {here}\n[2] Enter a custom path"
        )
        assert len(person.asked) == 2  # the choice, and whether to index

    def test_a_custom_path(self, connect: Connect, tmp_path: Path, fresh: Path) -> None:
        person = Person(content={"choice": "Enter a custom path", "path": str(fresh)})
        with connect(tmp_path, elicitation_callback=person) as talking:
            assert talking.values("get_index_status")["projectPath"] == str(fresh)

    def test_no_choice_is_an_error(self, talking: Connection, person: Person) -> None:
        said = ("PROJECT_NOT_DETECTED", "Could not detect project root. Please choose a directory.")
        for action, content in (
            ("decline", None),
            ("accept", {"choice": "Enter a custom path", "path": " "}),
        ):
            person.action, person.content = action, content
            assert talking.refusal("get_index_status") == said

    def test_nobody_to_ask_is_an_error(self, rooted: Connection) -> None:
        said = ("PROJECT_NOT_DETECTED", "Could not detect project root. Please choose a directory.")
        for tool, arguments in (
            ("create_index", {}),
            ("search_code", {"query": "x"}),
            ("search_docs", {"query": "x", "path": "."}),
            ("search_by_path", {"pattern": "*"}),
            ("get_index_status", {}),
            ("reindex_project", {}),
            ("reindex_file", {"path": "x"}),
            ("delete_index", {}),
        ):
            assert rooted.refusal(tool, **arguments) == said


def test_a_client_that_fails_to_ask_counts_as_one_that_cannot(connect: Connect, fresh: Path) -> None:
    async def broken(_context: Any, _params: Any) -> types.ErrorData:
        return types.ErrorData(code=-32603, message="no window")

    with connect(fresh, elicitation_callback=broken) as talking:
        assert talking.values("create_index")["status"] == "success"
        assert talking.values("delete_index")["status"] == "confirmation_required"
