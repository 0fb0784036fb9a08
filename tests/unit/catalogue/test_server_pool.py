"""Calls through a pool, to a real server on pipes: answers, limits, crashes and ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest

from e2e.harness import is_running
from findspot.catalogue import server_pool, transports
from findspot.catalogue.server_pool import (
    MAX_TIMEOUT_S,
    CallHandlers,
    PoolClient,
    RunningCall,
    ServerCallError,
    ServerPool,
    ServerTimeoutError,
)
from findspot.catalogue.server_registry import Agreements
from findspot.catalogue.server_sources import NESTED_VARIABLE, ServerSpec

SERVER = Path(__file__).parents[2] / "calling_server.py"
PATIENCE_S = 180


class Home:
    """A folder in which servers are agreed to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def spec(self, name: str, *arguments: str, **more: Any) -> ServerSpec:
        args = (str(SERVER), *arguments)
        spec = ServerSpec(name, command=sys.executable, args=args, source=self.folder / "mcp.json", **more)
        Agreements(self.folder).add([spec])
        return spec

    def run(self, scenario: Callable[[ServerPool], Awaitable[None]], **options: Any) -> None:
        async def main() -> None:
            async with pool(self.folder, **options) as opened:
                with anyio.fail_after(PATIENCE_S):
                    await scenario(opened)

        anyio.run(main)


@contextlib.asynccontextmanager
async def pool(home: Path, **options: Any) -> AsyncIterator[ServerPool]:
    opened = ServerPool(home, **options)
    try:
        yield opened
    finally:
        await opened.aclose()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def text(result: types.CallToolResult) -> Any:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return json.loads(block.text) if block.text.startswith("{") else block.text


async def gone(pid: int) -> None:
    with anyio.fail_after(PATIENCE_S):
        while is_running(pid):
            await anyio.sleep(0.01)


async def failure(call: Awaitable[Any]) -> ServerCallError:
    with pytest.raises(ServerCallError) as caught:
        await call
    return caught.value


def test_an_answer_that_cannot_be_read_is_answered_at_once(home: Path) -> None:
    """JavaScript servers cut texts inside a character; what cannot be read at all must not cost the time."""

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        assert text(await pool.call(spec, "half")) == "Party \ufffd"
        described = {tool.own_name: tool.description for tool in await pool.tools(spec)}
        assert described["half"] == "Party \ufffd"
        deep = await failure(pool.call(spec, "deep"))
        assert "(it sent a message that cannot be read" in deep.user_message
        invalid = await failure(pool.call(spec, "invalid"))
        assert invalid.user_message == (
            "The server one sent an answer that MCP does not allow: content: Field required."
        )
        refused = await failure(pool.call(spec, "refuse"))
        assert refused.user_message.startswith("The server one answered with an error: refuse failed xxx")
        assert refused.user_message.endswith(' (code -32050, data {"why": "no task"})')
        assert len(refused.user_message) < 5_000

    home.run(scenario)


def test_a_tool_runs_as_a_task(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_pool, "_SHORTEST_POLL_S", 0.001)
    seen: list[tuple[float, str | None]] = []

    async def report(progress: float, _total: float | None, message: str | None) -> None:
        seen.append((progress, message))

    async def elicit(_params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        tools = {tool.own_name: tool for tool in await pool.tools(spec)}
        assert tools["research"].runs_as_task
        assert not tools["echo"].runs_as_task
        assert "no task" in (await failure(pool.call(spec, "research"))).user_message
        handlers = CallHandlers(report, elicit)
        done = await pool.call(spec, "research", {"steps": 3}, handlers=handlers, as_task=True)
        assert text(done) == {"found": 42, "answer": None}
        assert seen == [(1, "2 left"), (2, "1 left"), (3, "0 left")], "what a task says is progress"
        asked = await pool.call(spec, "research", {"ask": True}, handlers=handlers, as_task=True)
        assert text(asked)["answer"]["action"] == "accept"
        seen.clear()
        await pool.call(spec, "research", {"steps": 5, "reports": True}, handlers=handlers, as_task=True)
        assert (-3.0, None) in seen, "reports of the task itself come through"
        assert text(await pool.call(spec, "echo", {"n": 1}, as_task=True))["found"] == 42

    home.run(scenario)


MOST_S = 3.0
"""Long enough for one poll on a busy machine."""


def test_a_task_may_take_longer_than_a_call_and_is_cancelled_with_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_pool, "MAX_TIMEOUT_S", MOST_S)
    monkeypatch.setattr(server_pool, "_SHORTEST_POLL_S", 0.01)

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        await pool.tools(spec)
        started = anyio.current_time()
        await pool.call(spec, "research", {"steps": int(130 * MOST_S)}, as_task=True)
        assert anyio.current_time() - started > MOST_S, "every sign of the task gives it its time again"
        begun = anyio.Event()

        async def report(*_: Any) -> None:
            begun.set()

        async with anyio.create_task_group() as group:
            call = partial(pool.call, spec, "research", {"steps": 10**9}, handlers=CallHandlers(report))
            group.start_soon(partial(call, as_task=True))
            await begun.wait()
            group.cancel_scope.cancel()
        assert text(await pool.call(spec, "cancelled_tasks")) == {"tasks": ["task-1"]}

    home.run(scenario)


def test_a_server_is_told_the_folders_of_its_client(home: Path, tmp_path: Path) -> None:
    async def scenario(pool: ServerPool) -> None:
        spec, address = home.spec("one"), tmp_path.as_uri()
        here = PoolClient(roots=[address])
        assert text(await pool.call(spec, "roots", client=here)) == {"roots": [{"uri": address}]}
        assert text(await pool.call(spec, "roots")) == {"roots": []}

    home.run(scenario)


def test_one_process_serves_all_calls_and_ends_when_it_is_idle(home: Home) -> None:
    """documents C: servers stayed for as long as Findspot ran."""
    me, nobody = PoolClient(environ={"WHO": "me"}), PoolClient(environ={})

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one", env={"WHO": "${WHO}"})
        pids: list[int] = []

        async def call(number: int) -> None:
            answer = text(await pool.call(spec, "echo", {"n": number}, client=me))
            assert answer["n"] == number
            pids.append(answer["pid"])

        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(call, number)
        assert len(set(pids)) == 1, "one process, however many calls"
        await gone(pids[0])
        missing = await failure(pool.call(spec, "echo", client=nobody))
        assert (
            missing.user_message == "The server one was not started: the environment variable WHO is not set."
        )
        await call(1)
        assert len(set(pids)) == 2

    home.run(scenario, idle_s=0.2)


def test_a_server_asks_whoever_calls_it(home: Home) -> None:
    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")

        async def elicit(params: types.ElicitRequestParams) -> types.ElicitResult:
            assert params.message == "Which?"
            return types.ElicitResult(action="accept", content={"colour": "teal"})

        handlers = CallHandlers(on_elicit=elicit)
        asked = {"action": "accept", "content": {"colour": "teal"}}
        assert text(await pool.call(spec, "ask", handlers=handlers)) == asked
        assert text(await pool.call(spec, "ask"))["action"] == "cancel", "nobody can be asked"
        async with anyio.create_task_group() as group:
            one = PoolClient("one")
            group.start_soon(partial(pool.call, spec, "hang", client=one))
            await pool.call(spec, "echo", client=one)
            own = text(await pool.call(spec, "ask", handlers=handlers, client=one))
            assert own == asked, "every call of its process is of the same client"
            group.cancel_scope.cancel()
        shared = text(await pool.call(home.spec("both", shared=True), "ask", handlers=handlers))
        assert shared["action"] == "cancel", "nobody knows which client it belongs to"

    home.run(scenario)


def test_a_question_ends_with_its_call(home: Home) -> None:
    async def scenario(pool: ServerPool) -> None:
        spec, asked, ended = home.spec("one"), anyio.Event(), anyio.Event()

        async def elicit(_params: types.ElicitRequestParams) -> types.ElicitResult:
            asked.set()
            try:
                await anyio.sleep_forever()
            finally:
                ended.set()
            raise AssertionError

        async with anyio.create_task_group() as group:
            group.start_soon(partial(pool.call, spec, "ask", handlers=CallHandlers(on_elicit=elicit)))
            await asked.wait()
            group.cancel_scope.cancel()
        await ended.wait()

    home.run(scenario)


def test_the_time_of_a_call_covers_the_start_of_its_server(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gateway 10: a call with a timeout of 3 s failed after 39 s."""
    monkeypatch.setattr(server_pool, "START_TIMEOUT_S", 60.0)
    monkeypatch.setattr(transports, "_EXIT_PATIENCE_S", 0.2)

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("silent", "silent")
        for request in (pool.call(spec, "echo", timeout_s=0.1), pool.tools(spec, timeout_s=0.1)):
            late = await failure(request)
            assert late.code == "SERVER_TIMEOUT"
            assert late.user_message == "The server silent did not start within 0.1 s."

    home.run(scenario)


def test_a_stopped_server_is_ended_whoever_calls_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """gateway 7: it was kept while anybody waited for it, and they waited until their time was over."""
    monkeypatch.setattr(server_pool, "_PING_PATIENCE_S", 0.5)
    monkeypatch.setattr(transports, "_EXIT_PATIENCE_S", 0.2)

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        pid = text(await pool.call(spec, "echo"))["pid"]
        os.kill(pid, signal.SIGSTOP)
        await failure(pool.call(spec, "echo", timeout_s=0.05))
        ended = await failure(pool.call(spec, "echo", timeout_s=MAX_TIMEOUT_S))
        assert ended.user_message.startswith(
            "The server one ended before it answered: it no longer answered and was ended"
        )
        assert text(await pool.call(spec, "echo"))["pid"] != pid

    home.run(scenario)


def test_calls_end_in_time_and_are_cancelled_at_the_server(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_pool, "_PING_PATIENCE_S", 1.0)

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        pid = text(await pool.call(spec, "echo"))["pid"]
        late = await failure(pool.call(spec, "hang", timeout_s=0.05))
        assert isinstance(late, ServerTimeoutError)
        assert late.user_message == (
            "The tool hang of the server one did not answer within 0.05 s and was cancelled."
        )
        with anyio.move_on_after(0.05):
            await pool.call(spec, "hang")
        assert text(await pool.call(spec, "cancelled")) == "2"
        assert text(await pool.call(spec, "echo"))["pid"] == pid, "it still answers, so it is kept"
        ended = await failure(pool.call(spec, "crash"))
        assert ended.user_message.startswith("The server one ended before it answered: ")
        assert "exit status 3; it wrote: out of cheese" in ended.user_message

        blocked = text(await pool.call(spec, "echo"))["pid"]
        await failure(pool.call(spec, "block", timeout_s=0.05))
        await gone(blocked)
        assert text(await pool.call(spec, "echo"))["pid"] not in (pid, blocked)

    home.run(scenario)


def test_progress_gives_a_call_its_time_again_up_to_a_limit() -> None:
    async def scenario() -> None:
        call = RunningCall(CallHandlers(), timeout_s=60)
        first = call.scope.deadline
        assert call.latest - first == pytest.approx(MAX_TIMEOUT_S - 60)
        call.scope.deadline = first - 30
        await call.report(1, None, None)
        assert call.scope.deadline >= first
        call.latest = first - 30
        await call.report(2, None, None)
        assert call.scope.deadline == first - 30

    anyio.run(scenario)


def test_limits_protect_everybody_else(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "MAX_MESSAGE_BYTES", 1 << 20)

    async def scenario(pool: ServerPool) -> None:
        chatty, quiet = home.spec("chatty"), home.spec("quiet")
        assert len(text(await pool.call(quiet, "large", {"bytes": 1_000_000}))) == 1_000_000
        large = await failure(pool.call(quiet, "large", {"bytes": 5 << 20}))
        assert large.user_message.startswith(
            "The server quiet ended before it answered: the connection was closed "
            "(it sent a message of more than 1 MB"
        )
        async with anyio.create_task_group() as group:
            group.start_soon(pool.call, chatty, "chatty", {"lines": 1_000_000})
            for number in range(20):
                assert text(await pool.call(quiet, "echo", {"n": number}))["n"] == number
            group.cancel_scope.cancel()

    home.run(scenario)


def test_a_server_that_never_answers_is_ended(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """documents C: it stayed for as long as Findspot ran, and after it."""
    monkeypatch.setattr(server_pool, "START_TIMEOUT_S", 1.0)
    monkeypatch.setattr(transports, "_EXIT_PATIENCE_S", 0.2)
    pids: list[int] = []
    others = children()

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("silent", "silent", "deaf")
        async with anyio.create_task_group() as group:
            group.start_soon(failure, pool.call(spec, "echo"))
            while not pids:
                await anyio.sleep(0.01)
                pids.extend(children() - others)
        assert [pid for pid in pids if is_running(pid)] == []

    home.run(scenario)


def children() -> set[int]:
    """The processes that this one started."""
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def test_each_connection_has_its_own_process_and_environment(home: Home) -> None:
    """One assistant saw and steered the browser of another."""

    async def scenario(pool: ServerPool) -> None:
        own = home.spec("own", env={"TOKEN": "${TOKEN}"})
        secret = {"AWS_SECRET_ACCESS_KEY": "s"}
        clients = [
            PoolClient(
                name,
                {"PATH": os.environ["PATH"], "TOKEN": f"of-{name}", "HTTPS_PROXY": f"via-{name}"}
                | {"no_proxy": "localhost", "NODE_EXTRA_CA_CERTS": "/ca.pem"},
            )
            for name in ("one", "other")
        ]
        for client in clients:
            with_secret = replace(client, environ={**client.environ, **secret})
            environ = text(await pool.call(own, "environ", client=with_secret))
            assert {name: environ[name] for name in client.environ} == client.environ
            assert secret.keys().isdisjoint(environ)
        pids = [text(await pool.call(own, "echo", client=client))["pid"] for client in clients]
        assert len(set(pids)) == 2
        pool.leave("one")
        await gone(pids[0])
        assert text(await pool.call(own, "echo", client=clients[1]))["pid"] == pids[1]

        shared = home.spec("shared", shared=True)
        both = [text(await pool.call(shared, "echo", client=client))["pid"] for client in clients]
        assert len(set(both)) == 1, "its entry says so"
        pool.leave("other")
        assert text(await pool.call(shared, "echo"))["pid"] == both[0]

    home.run(scenario)


def test_what_cannot_be_called_starts_nothing(home: Home) -> None:
    """gateway 3: arguments over 32 MB made the call hang for ever."""
    others = children()

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        refused = await failure(pool.call(spec, "length", {"text": "x" * (17 << 20)}))
        assert refused.user_message == "The arguments are larger than 16 MB. The tool was not called."
        await failure(pool.call(spec, "echo", client=PoolClient(environ={NESTED_VARIABLE: "1"})))
        assert children() == others
        large = await pool.call(spec, "length", {"text": "x" * (15 << 20)}, timeout_s=PATIENCE_S)
        assert text(large) == str(15 << 20)

    home.run(scenario)


def test_a_connection_that_closes_ends_a_server_that_is_starting(home: Home) -> None:
    others = children()

    async def scenario(pool: ServerPool) -> None:
        spec, one = home.spec("silent", "silent"), PoolClient("one")
        async with anyio.create_task_group() as group:
            call = failure(pool.call(spec, "echo", client=one, timeout_s=PATIENCE_S))
            group.start_soon(lambda: call)
            while not (started := children() - others):
                await anyio.sleep(0.01)
            pool.leave("one")
        while started & children():
            await anyio.sleep(0.01)

    home.run(scenario)


def test_changed_tools_are_seen_at_the_next_call(home: Home) -> None:
    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        assert "one__juggle" not in [tool.name for tool in await pool.tools(spec)]
        await pool.call(spec, "grow", {"name": "juggle"})
        assert "one__juggle" in [tool.name for tool in await pool.tools(spec)]

    home.run(scenario)


def test_a_server_is_ended_with_everything_that_it_started(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "_EXIT_PATIENCE_S", 0.2)
    pids: list[int] = []

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("deaf", "deaf")
        pids.append(text(await pool.call(spec, "echo"))["pid"])
        pids.append(int(text(await pool.call(spec, "child"))))

    home.run(scenario)
    assert [pid for pid in pids if is_running(pid)] == []
