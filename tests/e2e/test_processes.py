"""`findspot serve --http --processes 2`: sessions and figures across processes, and processes that end."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from benchmarks.memory import tree
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from e2e.door import HELLO, Door, opened, post, request
from e2e.harness import PATIENCE_S, Connection, Person, connected
from e2e.sample import make_sample
from e2e.test_team import entry, figures, get

ADMIN, POLITE, FLOOD = "token-of-the-admin", "token-of-the-polite", "token-of-the-flood"
CALLS = 40


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sample(tmp_path_factory.mktemp("several").resolve() / "shop")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("several-home").resolve()
    tokens = home / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [entry(name, "*") for name in (ADMIN, POLITE, FLOOD)]}))
    limits = {"FINDSPOT_HTTP_REQUESTS_PER_SECOND": "500", "FINDSPOT_HTTP_CONCURRENT_REQUESTS": "8"}
    options = ("--tokens", str(tokens), "--processes", "2")
    with opened(home, project, *options, **limits) as door:
        yield door


def join(
    portal: BlockingPortal, door: Door, mode: str, token: str = ADMIN, **callbacks: Any
) -> AbstractContextManager[Connection]:
    carrier = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    return connected(portal, streamable_http_client(door.address, http_client=carrier), mode, **callbacks)


def session_of(door: Door, token: str = ADMIN) -> dict[str, str]:
    """The headers of a new session."""
    answer = post(door.address, Authorization=f"Bearer {token}")
    assert answer.status == 200
    session = answer.headers["Mcp-Session-Id"]
    return {
        "Authorization": f"Bearer {token}",
        "Mcp_Session_Id": session,
        "MCP_Protocol_Version": HELLO["params"]["protocolVersion"],
    }


def search(door: Door, headers: dict[str, str], number: int = 7) -> int:
    called = {"name": "search_code", "arguments": {"query": f"login {number}"}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": called}
    return post(door.address, message, **headers).status


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_every_client_is_served_as_by_one_process(
    portal: BlockingPortal, door: Door, project: Path, mode: str
) -> None:
    """Questions, progress, searches in any number of sessions, edits that the writer indexes, deletion."""
    person, progress = Person(), []

    async def note(done: float, _total: float | None, _message: str | None) -> None:
        progress.append(done)

    with (
        join(portal, door, mode, elicitation_callback=person) as one,
        join(portal, door, mode) as two,
        join(portal, door, mode, POLITE) as three,
    ):
        assert not one.call("index_codebase", note, path=str(project), confirm=True).is_error
        assert progress == sorted(progress)
        for client in (one, two, three):
            found = client.values("search_code", query="check a password")
            assert found["results"][0]["path"] == "src/auth/login.py"
        name = f"written_in_{mode[:4]}"
        (project / "src" / f"{name}.py").write_text(f"def {name}():\n    return 1\n")
        deadline = time.monotonic() + PATIENCE_S
        for client in (one, two, three):  # each process reads what the writer has committed
            while not any(name in hit["path"] for hit in client.values("search_code", query=name)["results"]):
                assert time.monotonic() < deadline
        resource = portal.call(two.client.read_resource, "findspot://status")
        assert json.loads(resource.contents[0].text)["projectPath"] == str(project)
        one.values("search_add_document", doc_id=name, content=f"{name} about throttling")
        assert one.values("search_index", query=name)["results"]
        assert one.values("reindex_project", project=str(project))["status"] == "success"


def test_sessions_and_figures_are_found_whichever_process_has_them(door: Door, project: Path) -> None:
    sessions = [session_of(door) for _ in range(4)]
    marks = {session["Mcp_Session_Id"].partition("-")[0] for session in sessions}
    assert marks == {"p1", "p2"}
    before = figures(get(door.address, "/metrics", ADMIN)[1])
    with ThreadPoolExecutor(8) as pool:  # each request on a connection of its own
        asked = [pool.submit(search, door, sessions[n % 4], n) for n in range(CALLS)]
        assert {call.result() for call in asked} <= {200, 429}
    after = figures(get(door.address, "/metrics", ADMIN)[1])
    answered = sum(call.result() == 200 for call in asked)
    ok = 'findspot_requests_total{tool="search_code",outcome="ok"}'
    assert after[ok] - before.get(ok, 0) == answered
    assert after["findspot_sessions"] >= 4
    assert request(door.address, "DELETE", **sessions[0]).status == 200
    assert search(door, sessions[0]) == 404
    assert search(door, {**sessions[1], "Authorization": f"Bearer {POLITE}"}) == 404  # another token's


def test_a_client_that_floods_is_refused_and_others_are_not(door: Door) -> None:
    flood, polite = session_of(door, FLOOD), session_of(door, POLITE)
    with ThreadPoolExecutor(24) as pool:
        flooding = [pool.submit(search, door, flood, number) for number in range(120)]
        statuses = [search(door, polite, number) for number in range(10)]
        flooded = [call.result() for call in flooding]
    assert statuses == [200] * 10
    assert 429 in flooded
    assert set(flooded) == {200, 429}


def test_a_process_that_ends_is_replaced(door: Door) -> None:
    """Its sessions are gone, which clients notice by 404; the others do not notice."""
    sessions = {headers["Mcp_Session_Id"][:2]: headers for headers in (session_of(door) for _ in range(4))}
    before = set(tree(door.process.pid))
    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(lambda: [search(door, sessions["p2"], number) for number in range(10)])
        os.kill(_reader(door, sessions["p1"]), signal.SIGKILL)
        assert working.result() == [200] * 10
    deadline = time.monotonic() + PATIENCE_S
    while (status := search(door, sessions["p1"])) != 404:
        assert status == 503
        assert time.monotonic() < deadline
    while {headers["Mcp_Session_Id"][:2] for headers in (session_of(door) for _ in range(4))} != {"p1", "p2"}:
        assert time.monotonic() < deadline
    assert set(tree(door.process.pid)) - before


def _reader(door: Door, headers: dict[str, str]) -> int:
    """The process that has a session: it is the one that computes while the session is asked."""

    def used(pid: int) -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    fork_server = max(tree(door.process.pid)[1:], key=lambda pid: len(tree(pid)))
    before = {pid: used(pid) for pid in tree(fork_server)[1:]}
    while max(used(pid) - ticks for pid, ticks in before.items()) < 20:
        search(door, headers)
    return max(before, key=lambda pid: used(pid) - before[pid])


def test_a_stop_answers_what_runs_and_leaves_no_process(
    tmp_path: Path, project: Path, portal: BlockingPortal
) -> None:
    with opened(tmp_path, project, "--no-token", "--processes", "2") as door:
        with connected(portal, streamable_http_client(door.address), "legacy") as client:
            client.values("index_codebase", path=str(project), confirm=True)
        session = post(door.address).headers["Mcp-Session-Id"]
        processes = tree(door.process.pid)
        with ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(search, door, {"Mcp_Session_Id": session}, number) for number in range(4)]
            while not any(call.running() or call.done() for call in calls):
                pass
            door.process.send_signal(signal.SIGTERM)
            for call in calls:  # one that came too late finds no server
                assert call.exception() is not None or call.result() in (200, 503)
        door.process.wait(PATIENCE_S)
    assert len(processes) >= 5
    deadline = time.monotonic() + PATIENCE_S
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        assert time.monotonic() < deadline
