"""Making, changing and removing indexes; progress, cancellation, several calls at once."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Connect
from e2e.harness import PATIENCE_S, Connection, Pipe, is_running, until
from e2e.sample import FILES, make_large
from findspot import Project
from held import Gate

COUNTS = {
    "filesIndexed", "filesUnchanged", "filesRemoved", "filesSkipped", "chunksCreated",
    "totalFiles", "totalChunks", "errors", "duration",
}  # fmt: skip
MANY = 100
"""Files enough for some to be done before the held one."""

REPORTS_A_SECOND = 5


class TestIndexCodebase:
    def test_first_then_incremental_then_forced(self, server: Connection, fresh: Path) -> None:
        first = server.values("index_codebase", path=str(fresh), confirm=True)
        assert set(first) == COUNTS | {"status", "path", "forced"}
        assert first["status"] == "success"
        assert first["path"] == str(fresh)
        assert first["forced"] is False
        assert first["filesIndexed"] == first["totalFiles"] == len(FILES)
        assert first["chunksCreated"] == first["totalChunks"] > 0
        assert first["errors"] == []
        assert re.fullmatch(r"\d+(\.\d)?s", first["duration"])

        (fresh / "src/auth/login.py").write_text("def changed():\n    return 'another thing entirely'\n")
        (fresh / "README.md").unlink()
        second = server.values("index_codebase", path=str(fresh), confirm=True, force="false")
        # The watcher may have been first; what counts is what the index holds afterwards.
        assert second["filesIndexed"] <= 1
        assert second["filesIndexed"] + second["filesUnchanged"] == second["totalFiles"] == len(FILES) - 1

        forced = server.values("index_codebase", path=str(fresh), confirm=True, force=True)
        assert forced["forced"] is True
        assert forced["filesIndexed"] == len(FILES) - 1

    def test_without_an_index_answers_say_what_to_do(self, server: Connection, fresh: Path) -> None:
        for tool in ("search_code", "search_docs"):
            result = server.call(tool, query="login", path=str(fresh))
            assert result.is_error
            assert isinstance(result.structured_content, dict)
            told = result.structured_content
            assert told["code"] == "INDEX_NOT_FOUND"
            assert told["userMessage"] == (
                "This project hasn't been indexed yet. Would you like to index it now?"
            )
            assert told["developerMessage"].startswith("INDEX_NOT_FOUND: No index at ")
            text = f"No index found for path: {fresh}. Run 'index_codebase' tool first."
            assert [block.text for block in result.content] == [text]  # type: ignore[union-attr]
        said = ("INDEX_NOT_FOUND", "This project hasn't been indexed yet. Would you like to index it now?")
        assert server.refusal("search_by_path", pattern="*", project=str(fresh)) == said
        assert server.refusal("reindex_file", path="README.md", project=str(fresh)) == said
        answer = server.values("delete_index", project=str(fresh))
        assert (answer["status"], answer["projectPath"]) == ("not_found", str(fresh))


class TestOthers:
    def test_create_index_then_again(self, server: Connection, shop: Path, fresh: Path) -> None:
        first = server.values("create_index", project=str(fresh), confirm=True)
        assert set(first) == COUNTS | {"status", "projectPath", "message"}
        assert first["projectPath"] == str(fresh)
        assert first["message"] == "Index created successfully"
        again = server.values("create_index", project=str(fresh), confirm=True)
        assert again["message"] == "The index existed and is now up to date"
        assert again["filesIndexed"] == 0
        assert server.values("create_index")["projectPath"] == str(shop), "the detected one"

    def test_reindex_file(self, server: Connection, fresh: Path) -> None:
        (fresh / "link.py").symlink_to(fresh / "src/auth/login.py")
        (fresh / ".env").write_text("SECRET=1\n")
        server.values("index_codebase", path=str(fresh), confirm=True)
        (fresh / "src/auth/login.py").write_text("def brand_new_entrance():\n    return 1\n")
        done = server.values("reindex_file", path="src/auth/login.py", project=str(fresh))
        assert set(done) == {"status", "path", "chunksCreated", "message"}
        assert (done["status"], done["path"]) == ("success", "src/auth/login.py")
        assert done["chunksCreated"] > 0
        assert done["message"] == "File re-indexed successfully"
        for path, code, text in (
            ("gone.py", "FILE_NOT_FOUND", "The file 'gone.py' doesn't exist or isn't indexed."),
            (".env", "FILE_NOT_FOUND", "The file '.env' doesn't exist or isn't indexed."),
            ("link.py", "SYMLINK_NOT_ALLOWED", "Symbolic links are not allowed for security reasons."),
            ("../x.py", "INVALID_ARGUMENT", "The path '../x.py' is outside the project."),
            ("/etc/passwd", "INVALID_ARGUMENT", "The path '/etc/passwd' is outside the project."),
        ):
            assert server.refusal("reindex_file", path=path, project=str(fresh)) == (code, text)

    def test_status(self, server: Connection, fresh: Path) -> None:
        missing = server.values("get_index_status", project=str(fresh))
        assert missing["status"] == "not_found"
        assert missing["queryReady"] is False
        (fresh / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
        server.values("index_codebase", path=str(fresh), confirm=True)
        status = until(lambda: self._settled(server, fresh))
        assert status["projectPath"] == str(fresh)
        assert status["totalFiles"] == len(FILES)
        assert status["totalDocs"] == 2
        assert status["totalChunks"] >= status["totalDocChunks"] > 0
        assert re.fullmatch(r"\d+(\.\d)?(B|KB|MB)", status["storageSize"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", status["lastUpdated"])
        assert status["queryReady"] is True
        assert status["pendingChanges"] == 0
        assert status["skipped"]["binary"] == 1
        assert {"model", "store", "strategy"} <= set(status)
        (fresh / "new.py").write_text("x = 1\n")
        changed = until(lambda: self._settled(server, fresh, len(FILES) + 1))
        assert changed["pendingChanges"] == 0

    @staticmethod
    def _settled(server: Connection, project: Path, files: int = len(FILES)) -> dict[str, Any] | None:
        """The status once the project is watched, with so many files in its index and nobody writing."""
        now = server.values("get_index_status", project=str(project))
        ready = now["status"] == "ready" and now["watcherActive"] and now["totalFiles"] == files
        return now if ready else None

    def test_list_projects(self, server: Connection, shop: Path, fresh: Path) -> None:
        server.values("index_codebase", path=str(fresh), confirm=True)
        answer = server.values("list_projects")
        assert answer["total"] == len(answer["projects"])
        by_path = {project["path"]: project for project in answer["projects"]}
        assert {str(shop), str(fresh)} <= set(by_path)
        assert set(by_path[str(shop)]) == {
            "id", "path", "status", "totalFiles", "totalChunks", "storageSize", "lastUpdated"
        }  # fmt: skip
        assert by_path[str(shop)]["totalFiles"] == len(FILES)

    def test_search_by_path(self, server: Connection, shop: Path) -> None:
        answer = server.values("search_by_path", pattern="src/**/*.py")
        assert answer == {"matches": ["src/auth/login.py", "src/auth/session.py"], "totalMatches": 2}
        answer = server.values("search_by_path", pattern="**", limit="1")
        assert (answer["matches"], answer["totalMatches"]) == (["README.md"], len(FILES))
        assert server.values("search_by_path", pattern="*.nothing") == {"matches": [], "totalMatches": 0}
        pages = [
            server.values("search_by_path", pattern="src/**/*.py", limit=1, offset=offset)
            for offset in (0, 1)
        ]
        assert [page["matches"] for page in pages] == [["src/auth/login.py"], ["src/auth/session.py"]]
        assert "its maximum of 100" in server.values("search_by_path", pattern="*", limit=101)["warning"]
        assert server.refusal("search_by_path", pattern="*", limit=0)[0] == "INVALID_ARGUMENT"
        answer = server.values("search_by_path", pattern="**", project=str(shop / "src" / "billing"))
        assert answer["matches"] == ["src/billing/invoice.ts", "src/billing/retry.go"]
        assert answer["totalMatches"] == 2

    def test_a_wrong_setting_is_told(self, server: Connection, fresh: Path) -> None:
        (fresh / ".findspot.json").write_text('{"maxFileSize": "huge", "nonsense": 1}')
        for answer in (
            server.values("index_codebase", path=str(fresh), confirm=True),
            server.values("get_index_status", project=str(fresh)),
        ):
            assert "'maxFileSize' must be a size" in answer["warning"]
            assert "unknown key 'nonsense' is ignored" in answer["warning"]


class Watcher:
    """Keeps what the server reports; `moving` comes true when files are being indexed."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float | None, str | None]] = []
        self.moving: Future[bool] = Future()
        self.started_at = time.monotonic()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.seen.append((progress, total, message))
        if progress > 0 and not self.moving.done():
            self.moving.set_result(True)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_large(tmp_path_factory.mktemp("large"), MANY)


@pytest.fixture
def gate(large: Path, tmp_path: Path) -> Gate:
    """Keeps the large project from being indexed to its end."""
    return Gate(large, tmp_path / "gate")


@pytest.fixture
def holding(connect: Connect, server: Connection, gate: Gate, shop: Path) -> Iterator[Connection]:
    """A server that comes no further than the gate; another one has indexed the sample project."""
    with connect(shop, env={"PYTHONPATH": gate.path}) as connection:
        yield connection


def test_progress_cancellation_and_searches_meanwhile(
    holding: Connection, gate: Gate, large: Path, shop: Path
) -> None:
    server, watcher = holding, Watcher()
    running = server.start("index_codebase", watcher, path=str(large), confirm=True)
    assert watcher.moving.result(PATIENCE_S)

    # The server answers others while it indexes, and refuses a second writer.
    assert server.values("search_code", query="login", path=str(shop))["results"]
    status = server.values("get_index_status", project=str(large))
    assert status["status"] == "indexing"
    assert status["progress"]["total"] == MANY + 2
    assert server.refusal("index_codebase", path=str(large), confirm=True)[0] == "INDEX_BUSY"

    running.cancel()
    cancelled_at = time.monotonic()
    assert len(watcher.seen) <= 2 + REPORTS_A_SECOND * (cancelled_at - watcher.started_at)
    until(lambda: server.values("get_index_status", project=str(large))["status"] != "indexing")

    left = server.values("get_index_status", project=str(large))
    assert left["status"] == "incomplete"
    if left["queryReady"]:
        answer = server.values("search_code", query="step_3", path=str(large))
        assert "Indexing was stopped" in answer["warning"]

    # Progress went forwards only, with files done of files in all.
    done = [progress for progress, _, _ in watcher.seen]
    assert done == sorted(set(done))
    assert watcher.seen[0][2] == "Looking for files"
    assert watcher.seen[-1][1] == MANY + 2
    assert re.fullmatch(r"Indexing: \d+ of \d+ files", str(watcher.seen[-1][2]))

    # What was done is kept, and the rest is done by the next call.
    gate.open()
    rest = server.values("index_codebase", path=str(large), confirm=True)
    assert rest["totalFiles"] == MANY + 2
    assert rest["filesIndexed"] + rest["filesUnchanged"] == MANY + 2
    assert rest["filesUnchanged"] == left["totalFiles"]
    assert server.values("get_index_status", project=str(large))["status"] == "ready"


AT_ONCE = """
if sys.argv[1:2] == ["serve"]:
    from findspot.serve.mcp import client_stream
    client_stream.FINISH_S = 0.5
"""
"""A server that gives calls little time after the end of the input: the held one would use all of it."""


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "closed input"])
def test_it_ends_cleanly_while_indexing(
    end: str, tmp_path: Path, large: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path))
    gate.add(AT_ONCE)
    with Pipe(tmp_path, large, PYTHONPATH=gate.path) as pipe:
        pipe.initialize()
        pipe.ask_tool("index_codebase", {"path": str(large), "confirm": True}, token="t")
        pipe.progress_above(0)
        workers = pipe.children()
        assert workers
        if end == "closed input":
            pipe.close_input()
        else:
            pipe.process.send_signal(getattr(signal, end))
        assert pipe.ended() == 0
        assert not [pid for pid in workers if is_running(pid)]
        assert not [line for line in pipe.errors if "Traceback" in line]
    assert Project(large).status(check_disk=False).state == "incomplete"


def test_a_project_of_another_server_is_served_too(
    connect: Connect, server: Connection, shop: Path, empty_folder: Path
) -> None:
    """Two servers, one index: readers never wait for each other."""
    with connect(empty_folder, mode="auto") as other:
        assert other.values("search_code", query="login", path=str(shop))["results"]
        # This client speaks the newest version, in which a server cannot ask back.
        waiting = other.values("delete_index", project=str(shop))
        assert waiting["status"] == "confirmation_required"
    assert server.values("search_code", query="login", path=str(shop))["results"]
