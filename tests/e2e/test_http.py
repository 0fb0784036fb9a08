"""Streamable HTTP: several clients and projects in one server, and who is not let in."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.streamable_http import streamable_http_client

from e2e.door import HELLO, opened, post, request, serving
from e2e.harness import PATIENCE_S, Connection, Person, connected
from e2e.sample import make_sample
from program import Program


@pytest.fixture(scope="module")
def address(home: Path, empty_folder: Path) -> Iterator[str]:
    with serving(home, empty_folder) as address:
        yield address


def reached(
    portal: BlockingPortal, address: str, mode: str, **callbacks: Any
) -> AbstractContextManager[Connection]:
    return connected(portal, streamable_http_client(address), mode, **callbacks)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
class TestClients:
    def test_several_projects_and_clients_at_once(
        self, portal: BlockingPortal, address: str, tmp_path: Path, mode: str
    ) -> None:
        projects = [make_sample(tmp_path / name) for name in ("one", "two")]
        with reached(portal, address, mode) as one, reached(portal, address, mode) as two:
            calls = [
                client.start("index_codebase", path=str(project), confirm=True)
                for client, project in zip((one, two), projects, strict=True)
            ]
            for call, project in zip(calls, projects, strict=True):
                values = call.result(PATIENCE_S).structured_content
                assert isinstance(values, dict)
                assert values["path"] == str(project)
            found = one.values("search_code", query="check a password", path=str(projects[1]))
            assert found["results"][0]["path"] == "src/auth/login.py"
            listed = {project["path"] for project in two.values("list_projects")["projects"]}
            assert set(map(str, projects)) <= listed

    def test_questions_and_progress(
        self, portal: BlockingPortal, address: str, fresh: Path, mode: str
    ) -> None:
        person = Person()
        with reached(portal, address, mode, elicitation_callback=person) as talking:
            progress: list[float] = []

            async def note(done: float, _total: float | None, _message: str | None) -> None:
                progress.append(done)

            assert not talking.call("index_codebase", note, path=str(fresh), confirm=True).is_error
            assert progress == sorted(progress)
            assert talking.values("delete_index", project=str(fresh))["status"] == "success"
        assert [asked.message.splitlines()[0] for asked in person.asked] == [
            "This folder is outside the folders that you work in. Index it?",
            "Delete the index for this project? This cannot be undone.",
        ]


class TestWhoIsLetIn:
    def test_names_that_are_not_ours(self, address: str) -> None:
        assert post(address).status == 200
        assert post(address, Host="evil.example").status == 421
        assert post(address, Origin="https://evil.example").status == 403
        assert post(address, Origin=address.removesuffix("/mcp")).status == 200

    def test_other_paths_and_shapes(self, address: str) -> None:
        assert post(address.replace("/mcp", "/other")).status == 404
        assert post(address, b"this is no JSON").status == 400
        assert post(address, Content_Type="text/plain").status in (400, 415)
        assert post(address, HELLO | {"id": 2}, Mcp_Session_Id="unknown").status in (400, 404)

    def test_beyond_loopback_a_token_is_needed(self, home: Path, empty_folder: Path) -> None:
        done = Program(home, empty_folder)("serve", "--http", "0.0.0.0:0", "--no-token")
        assert (done.code != 0, "needs a token" in done.err) == (True, True)


def test_a_stop_ends_the_streams_on_which_clients_listen(home: Path, empty_folder: Path) -> None:
    with opened(home, empty_folder, "--no-token") as door:
        session = post(door.address).headers["Mcp-Session-Id"]
        stream = request(door.address, "GET", Mcp_Session_Id=session)
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        door.process.send_signal(signal.SIGTERM)
        with suppress(IncompleteRead):
            assert stream.read() == b""
        assert door.process.wait(PATIENCE_S) in (0, 128 + signal.SIGTERM, -signal.SIGTERM)
        assert door.line() == ""
