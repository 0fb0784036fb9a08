"""Calls that go on as tasks: in the shapes of 2025-11-25, and as the extension of 2026-07-28."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.harness import Pipe, until
from e2e.sample import FILES, make_large, make_sample
from held import Gate

VERSION = "2025-11-25"
MODERN = "2026-07-28"
EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
FIELDS = {"taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"}
UNKNOWN, NO_METHOD = -32602, -32601
MANY = 100
"""Files enough for some to be done before the held one."""


@pytest.fixture
def pipe(home: Path, fresh: Path) -> Iterator[Pipe]:
    """A bare connection to a server in the project, not initialized."""
    with Pipe(home, fresh) as pipe:
        yield pipe


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that several tests index."""
    return make_sample(tmp_path_factory.mktemp("tasks") / "project")


@pytest.fixture(scope="module")
def talking(home: Path, sample: Path) -> Iterator[Pipe]:
    """A client of 2025-11-25 that can be asked, in the sample project."""
    with Pipe(home, sample) as pipe:
        pipe.initialize(VERSION, elicitation={})
        yield pipe


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return make_large(tmp_path / "project", MANY)


@pytest.fixture
def gate(large: Path, tmp_path: Path) -> Gate:
    """Keeps the large project from being indexed to its end."""
    return Gate(large, tmp_path / "gate")


@pytest.fixture
def holding(home: Path, gate: Gate, large: Path) -> Iterator[Pipe]:
    """A server that comes no further than the gate."""
    with Pipe(home, large, PYTHONPATH=gate.path) as pipe:
        yield pipe


def start(pipe: Pipe, name: str, arguments: dict[str, Any], ttl: int | None = None, token: str = "") -> str:
    """Begin a task; returns its id."""
    task = {"ttl": ttl} if ttl is not None else {}
    number = pipe.ask_tool(name, arguments, token or None, task=task)
    created = pipe.answer(number)["result"]
    assert set(created) == {"task"}
    assert created["task"]["status"] == "working"
    assert set(created["task"]) <= FIELDS
    return str(created["task"]["taskId"])


def finished(pipe: Pipe, task: str) -> dict[str, Any]:
    return pipe.result("tasks/result", {"taskId": task})


def next_status(pipe: Pipe, task: str) -> dict[str, Any]:
    """What the server tells of a task next."""
    while (status := pipe.until("notifications/tasks/status"))["taskId"] != task:
        pass
    return status


class TestLegacy:
    def test_it_is_offered(self, pipe: Pipe) -> None:
        offered = pipe.initialize(VERSION)["capabilities"]
        assert offered["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        tools = pipe.result("tools/list", {})["tools"]
        support = {tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in tools}
        assert support["index_codebase"] == support["reindex_project"] == "optional"
        assert support["search_code"] is None
        assert pipe.result("tasks/list", {}) == {"tasks": []}

    def test_a_result_is_that_of_the_call(self, talking: Pipe, sample: Path) -> None:
        task = start(talking, "index_codebase", {"path": str(sample)})
        told = next_status(talking, task)
        assert (set(told), told["status"]) == (FIELDS, "completed")
        result = finished(talking, task)
        assert result["structuredContent"]["totalFiles"] == len(FILES)
        assert result["_meta"] == {RELATED: {"taskId": task}}
        assert "resultType" not in result
        assert finished(talking, task) == result
        now = talking.result("tasks/get", {"taskId": task})
        assert set(now) == FIELDS
        assert (now["status"], now["ttl"], now["pollInterval"]) == ("completed", 3_600_000, 500)
        assert now["createdAt"] <= now["lastUpdatedAt"]

    def test_it_answers_at_once_and_tells_its_progress(self, holding: Pipe, gate: Gate, large: Path) -> None:
        holding.initialize(VERSION)
        task = start(holding, "index_codebase", {"path": str(large)}, token="mine")
        told = holding.until("notifications/progress")
        assert told["progressToken"] == "mine"
        assert holding.result("tasks/get", {"taskId": task})["statusMessage"]
        assert holding.result("ping", {}) == {}
        gate.open()
        holding.progress_above(told["progress"])
        assert finished(holding, task)["structuredContent"]["totalFiles"] == MANY + 2

    def test_a_failed_call_is_a_failed_task(self, talking: Pipe) -> None:
        task = start(talking, "index_codebase", {"path": "/no/such/folder"})
        result = finished(talking, task)
        assert result["isError"] is True
        assert result["structuredContent"]["code"] == "PATH_NOT_FOUND"
        now = talking.result("tasks/get", {"taskId": task})
        assert now["status"] == "failed"
        assert now["statusMessage"] == "Path does not exist or is not a directory: /no/such/folder"

    def test_cancelling_stops_the_work_and_keeps_the_index_whole(
        self, holding: Pipe, gate: Gate, large: Path
    ) -> None:
        holding.initialize(VERSION)
        task = start(holding, "index_codebase", {"path": str(large)}, token="t")
        holding.progress_above(0)
        cancelled = holding.result("tasks/cancel", {"taskId": task})
        assert cancelled["status"] == "cancelled"
        until(lambda: not holding.children())
        result = finished(holding, task)
        assert result["structuredContent"]["code"] == "CANCELLED"
        assert holding.error("tasks/cancel", {"taskId": task}) == UNKNOWN
        gate.open()
        resumed = finished(holding, start(holding, "index_codebase", {"path": str(large)}))
        assert resumed["structuredContent"]["totalFiles"] == MANY + 2

    def test_what_is_listed_unknown_or_forbidden(self, talking: Pipe, sample: Path) -> None:
        tasks = [start(talking, "index_codebase", {"path": str(sample)}) for _ in range(3)]
        for task in tasks:
            finished(talking, task)
        listed = talking.result("tasks/list", {})["tasks"]
        assert [task["taskId"] for task in listed][-3:] == tasks
        assert talking.error("tasks/list", {"cursor": "nonsense"}) == UNKNOWN
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert talking.error(method, {"taskId": "no such task"}) == UNKNOWN
            assert talking.error(method, {}) == UNKNOWN
        forbidden = {"name": "search_code", "arguments": {"query": "x"}, "task": {}}
        assert talking.error("tools/call", forbidden) == NO_METHOD
        negative = {"name": "index_codebase", "arguments": {"path": str(sample)}, "task": {"ttl": -1}}
        assert talking.error("tools/call", negative) == UNKNOWN
        assert talking.error("tools/call", {"name": "index_codebase", "task": 7}) == UNKNOWN

    def test_a_result_is_kept_for_its_time(self, talking: Pipe, sample: Path) -> None:
        kept = start(talking, "index_codebase", {"path": str(sample)}, ttl=10**12)
        assert talking.result("tasks/get", {"taskId": kept})["ttl"] == 86_400_000
        finished(talking, kept)
        short = start(talking, "index_codebase", {"path": str(sample)}, ttl=1)
        result = talking.answer(talking.ask("tasks/result", {"taskId": short}))
        assert result.get("result") or result["error"]["code"] == UNKNOWN
        until(lambda: "error" in talking.answer(talking.ask("tasks/get", {"taskId": short})))

    def test_a_question_waits_with_the_task(self, talking: Pipe, sample: Path) -> None:
        finished(talking, start(talking, "index_codebase", {"path": str(sample)}))
        task = start(talking, "reindex_project", {"project": str(sample)})
        assert next_status(talking, task)["status"] == "input_required"
        waiting = talking.ask("tasks/result", {"taskId": task})
        asked = talking.until("elicitation/create")
        assert asked["message"].startswith("This will rebuild the entire index. Continue?")
        assert asked["_meta"] == {RELATED: {"taskId": task}}
        talking.send({"jsonrpc": "2.0", "id": talking.last_id, "result": {"action": "accept", "content": {}}})
        assert talking.answer(waiting)["result"]["structuredContent"]["status"] == "success"
        task = start(talking, "reindex_project", {"project": str(sample)})
        until(lambda: talking.result("tasks/get", {"taskId": task})["status"] != "working")
        assert talking.result("tasks/cancel", {"taskId": task})["status"] == "cancelled"
        assert finished(talking, task)["structuredContent"]["code"] == "CANCELLED"

    def test_older_versions_know_no_tasks(self, pipe: Pipe, fresh: Path) -> None:
        assert "tasks" not in pipe.initialize("2025-06-18")["capabilities"]
        call = {"name": "index_codebase", "arguments": {"path": str(fresh)}, "task": {}}
        assert pipe.result("tools/call", call)["structuredContent"]["status"] == "success"
        assert pipe.error("tasks/list", {}) == NO_METHOD
        assert pipe.error("tasks/get", {"taskId": "x"}) == NO_METHOD


class TestExtension:
    """`io.modelcontextprotocol/tasks`: the server decides, the client polls."""

    def meta(self, *, declared: bool = True, **capabilities: Any) -> dict[str, Any]:
        extensions = {"extensions": {EXTENSION: {}}} if declared else {}
        return {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "pipe", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": extensions | capabilities,
        }

    def call(self, name: str, arguments: dict[str, Any], **capabilities: Any) -> dict[str, Any]:
        return {"name": name, "arguments": arguments, "_meta": self.meta(**capabilities)}

    def about(self, task: str, **more: Any) -> dict[str, Any]:
        return {"taskId": task, "_meta": self.meta(), **more}

    def poll(self, pipe: Pipe, task: str, *statuses: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            now = pipe.result("tasks/get", self.about(task))
            return now if now["status"] in statuses else None

        return dict(until(reached))

    def test_long_work_becomes_a_task(self, pipe: Pipe, fresh: Path) -> None:
        offered = pipe.result("server/discover", {"_meta": self.meta()})["capabilities"]
        assert offered["extensions"][EXTENSION] == {}
        assert "tasks" not in offered
        made = pipe.result("tools/call", self.call("index_codebase", {"path": str(fresh)}))
        assert made["resultType"] == "task"
        assert {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"} <= set(made)
        done = self.poll(pipe, made["taskId"], "completed")
        assert done["result"]["structuredContent"]["totalFiles"] == len(FILES)
        assert RELATED not in done["result"].get("_meta", {})
        assert pipe.result("tasks/cancel", self.about(made["taskId"]))["resultType"] == "complete"
        assert pipe.error("tasks/list", {"_meta": self.meta()}) == NO_METHOD
        assert pipe.error("tasks/result", self.about(made["taskId"])) == NO_METHOD
        assert pipe.error("tasks/get", self.about("nonsense")) == UNKNOWN
        made = pipe.result("tools/call", self.call("index_codebase", {"path": "/no/such/folder"}))
        assert made["resultType"] == "complete", "what fails soon is answered at once"
        assert made["structuredContent"]["code"] == "PATH_NOT_FOUND"

    def test_a_question_within_a_task(self, pipe: Pipe, fresh: Path) -> None:
        (fresh / ".findspot.json").write_text('{"maxFiles": 3}')
        arguments = {"path": str(fresh)}
        made = pipe.result("tools/call", self.call("index_codebase", arguments, elicitation={}))
        parked = self.poll(pipe, made["taskId"], "input_required")
        ((key, asked),) = parked["inputRequests"].items()
        assert asked["method"] == "elicitation/create"
        assert "very large" in asked["params"]["message"]
        answers = {"inputResponses": {key: {"action": "accept", "content": {}}, "unknown": 1}}
        assert pipe.result("tasks/update", self.about(made["taskId"], **answers))["resultType"] == "complete"
        done = self.poll(pipe, made["taskId"], "completed")
        assert done["result"]["structuredContent"]["status"] == "success"

    def test_cancelling(self, holding: Pipe, large: Path) -> None:
        made = holding.result("tools/call", self.call("index_codebase", {"path": str(large)}))
        holding.result("tasks/cancel", self.about(made["taskId"]))
        assert self.poll(holding, made["taskId"], "cancelled", "completed")["status"] == "cancelled"

    def test_clients_that_do_not_declare_it_wait(self, pipe: Pipe, fresh: Path) -> None:
        call = self.call("index_codebase", {"path": str(fresh)}, declared=False)
        assert pipe.result("tools/call", call)["structuredContent"]["status"] == "success"
        for method, more in (
            ("tasks/get", {}),
            ("tasks/cancel", {}),
            ("tasks/update", {"inputResponses": {}}),
        ):
            params = {"taskId": "x", "_meta": self.meta(declared=False), **more}
            assert pipe.error(method, params) == -32021


def test_a_task_ends_with_its_server(holding: Pipe, large: Path) -> None:
    holding.initialize(VERSION)
    start(holding, "index_codebase", {"path": str(large)}, token="t")
    holding.progress_above(0)
    holding.close_input()
    assert holding.ended() == 0
    assert holding.errors == []
