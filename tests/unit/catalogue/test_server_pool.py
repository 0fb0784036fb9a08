"""Calls through a pool, to a real server on pipes: answers, limits, crashes and ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest

from findspot.catalogue import live_connection, message_streams, server_pool, server_process
from findspot.catalogue.consent import Agreements
from findspot.catalogue.live_connection import (
    MAX_TIMEOUT_S,
    CallHandlers,
    RunningCall,
    ServerCallError,
    ServerTimeoutError,
)
from findspot.catalogue.server_pool import ServerPool
from findspot.catalogue.server_sources import ServerSpec

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


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def gone(pid: int) -> None:
    with anyio.fail_after(PATIENCE_S):
        while is_running(pid):
            await anyio.sleep(0.01)


async def failure(call: Awaitable[Any]) -> ServerCallError:
    with pytest.raises(ServerCallError) as caught:
        await call
    return caught.value


def test_what_a_server_answers_comes_through(home: Home) -> None:
    """documents B1: content of every type, structured results and errors of the tool."""

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        content = await pool.call(spec, "content")
        assert [block.type for block in content.content] == [
            "text",
            "image",
            "audio",
            "resource",
            "resource_link",
        ]
        assert content.content[0].annotations == types.Annotations(audience=["user"], priority=0.5)
        assert content.meta == {"example.com/kept": 1}
        assert (await pool.call(spec, "structured")).structured_content == {"sum": 5}
        failing = await pool.call(spec, "failing")
        assert failing.is_error
        assert text(failing) == "no such note"
        unknown = await failure(pool.call(spec, "nothing"))
        assert (
            unknown.user_message
            == "The server one answered with an error: Unknown tool: nothing (code -32602)"
        )

        seen: list[tuple[float, float | None]] = []

        async def report(progress: float, total: float | None, _message: str | None) -> None:
            seen.append((progress, total))

        assert text(await pool.call(spec, "slow", {"steps": 3}, handlers=CallHandlers(report))) == "done"
        assert seen[:2] == [(1, 3), (2, 3)]  # the last may come after the answer

    home.run(scenario)


def test_an_answer_that_cannot_be_read_is_answered_at_once(home: Path) -> None:
    """JavaScript servers cut texts inside a character; what cannot be read at all must not cost the time."""

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        assert text(await pool.call(spec, "half")) == "Party \ufffd"
        described = {tool.own_name: tool.description for tool in await pool.tools(spec)}
        assert described["half"] == "Party \ufffd"
        deep = await failure(pool.call(spec, "deep"))
        assert deep.user_message == (
            "The server one answered with an error: The answer is nested too deeply."
        )
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
    monkeypatch.setattr(live_connection, "_SHORTEST_POLL_S", 0.001)
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


def test_a_task_may_take_longer_than_a_call_and_is_cancelled_with_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_connection, "MAX_TIMEOUT_S", 0.5)
    monkeypatch.setattr(live_connection, "_SHORTEST_POLL_S", 0.01)

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        await pool.tools(spec)
        started = anyio.current_time()
        await pool.call(spec, "research", {"steps": 100}, as_task=True)
        assert anyio.current_time() - started > 0.5, "every sign of the task gives it its time again"
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
        assert text(await pool.call(spec, "roots", roots=[address])) == {"roots": [{"uri": address}]}
        assert text(await pool.call(spec, "roots")) == {"roots": []}

    home.run(scenario)


def test_what_the_network_needs_reaches_every_server(home: Path) -> None:
    async def scenario(pool: ServerPool) -> None:
        environ = {"PATH": os.environ["PATH"], "HTTPS_PROXY": "http://proxy", "AWS_SECRET_ACCESS_KEY": "s"}
        environ |= {"no_proxy": "localhost", "NODE_EXTRA_CA_CERTS": "/ca.pem"}
        started = text(await pool.call(home.spec("one"), "environ", environ=environ))
        passed = {name: started.get(name) for name in environ}
        assert passed == environ | {"AWS_SECRET_ACCESS_KEY": None}

    home.run(scenario)


@pytest.mark.skipif(
    not hasattr(os, "waitid"), reason="an ended process cannot be looked at without reaping it"
)
@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)]
)
def test_the_number_of_an_ended_server_stays_its_own_until_its_group_has_ended(
    code: str, status: int
) -> None:
    """A signal to its group reached whoever had got the number since."""
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as process:
        while server_process._status(process) is None:
            os.sched_yield()
        assert server_process._status(process) == status
        os.killpg(process.pid, 0)
        anyio.run(server_process._end, process)
        assert process.returncode == status
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


def test_one_process_serves_all_calls_and_ends_when_it_is_idle(home: Home) -> None:
    """documents C: servers stayed for as long as Findspot ran."""

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one", env={"WHO": "${WHO}"})
        pids: list[int] = []

        async def call(number: int) -> None:
            answer = text(await pool.call(spec, "echo", {"n": number}, environ={"WHO": "me"}))
            assert answer["n"] == number
            pids.append(answer["pid"])

        assert pool.is_idle
        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(call, number)
        assert len(set(pids)) == 1, "one process, however many callers"
        await gone(pids[0])
        with anyio.fail_after(PATIENCE_S):
            while not pool.is_idle:
                await anyio.sleep(0.01)
        missing = await failure(pool.call(spec, "echo", environ={}))
        assert (
            missing.user_message == "The server one was not started: the environment variable WHO is not set."
        )
        await call(1)
        assert len(set(pids)) == 2

    home.run(scenario, idle_s=0.2)


def test_a_server_asks_the_caller_of_the_only_running_call(home: Home) -> None:
    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")

        async def elicit(params: types.ElicitRequestParams) -> types.ElicitResult:
            assert params.message == "Which?"
            return types.ElicitResult(action="accept", content={"colour": "teal"})

        async def sample(params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
            said = types.TextContent(type="text", text="hi")
            return types.CreateMessageResult(role="assistant", content=said, model="m")

        handlers = CallHandlers(on_elicit=elicit, on_sample=sample)
        answer = text(await pool.call(spec, "ask", handlers=handlers))
        assert answer == {"action": "accept", "content": {"colour": "teal"}}
        assert text(await pool.call(spec, "sample", handlers=handlers))["content"]["text"] == "hi"
        assert text(await pool.call(spec, "ask"))["action"] == "cancel", "nobody can be asked"
        assert "No language model" in text(await pool.call(spec, "sample"))["message"]
        async with anyio.create_task_group() as group:
            group.start_soon(pool.call, spec, "hang")
            await anyio.wait_all_tasks_blocked()
            both = text(await pool.call(spec, "ask", handlers=handlers))
            assert both["action"] == "cancel", "nobody knows which of two calls it belongs to"
            group.cancel_scope.cancel()

    home.run(scenario)


def test_a_question_about_a_cancelled_call_reaches_nobody_else(home: Home) -> None:
    """gateway 4: a server that ignored the cancellation asked the user of another call."""

    async def elicit(_params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("one")
        await pool.call(spec, "echo")
        handlers = CallHandlers(on_elicit=elicit)
        await failure(pool.call(spec, "late", timeout_s=0.1, handlers=handlers, client="one"))
        own = text(await pool.call(spec, "ask", handlers=handlers, client="one"))
        assert own["action"] == "accept", "many servers never answer a cancelled call"
        provoked = text(await pool.call(spec, "provoke", handlers=handlers, client="other"))
        assert provoked["action"] == "cancel"
        while text(await pool.call(spec, "ask", handlers=handlers, client="other"))["action"] == "cancel":
            pass  # until the server has answered the cancelled call

    home.run(scenario)


def test_the_time_of_a_call_covers_the_start_of_its_server(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gateway 10: a call with a timeout of 3 s failed after 39 s."""
    monkeypatch.setattr(live_connection, "START_TIMEOUT_S", 2.0)
    monkeypatch.setattr(server_process, "_EXIT_PATIENCE_S", 0.2)

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("silent", "silent")
        for request in (pool.call(spec, "echo", timeout_s=0.1), pool.tools(spec, timeout_s=0.1)):
            late = await failure(request)
            assert late.code == "SERVER_TIMEOUT"
            assert late.user_message == "The server silent did not start within 0.1 s."

    home.run(scenario)


def test_a_stopped_server_is_ended_whoever_calls_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """gateway 7: it was kept while anybody waited for it, and they waited until their time was over."""
    monkeypatch.setattr(live_connection, "_PING_PATIENCE_S", 0.5)
    monkeypatch.setattr(server_process, "_EXIT_PATIENCE_S", 0.2)

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
    monkeypatch.setattr(live_connection, "_PING_PATIENCE_S", 1.0)

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
        call.start()
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
    monkeypatch.setattr(message_streams, "MAX_MESSAGE_BYTES", 1 << 20)
    monkeypatch.setattr(server_pool, "MAX_RUNNING", 2)
    monkeypatch.setattr(server_pool, "MAX_WAITING", 1)

    async def scenario(pool: ServerPool) -> None:
        chatty, quiet = home.spec("chatty"), home.spec("quiet")
        assert len(text(await pool.call(quiet, "large", {"bytes": 1_000_000}))) == 1_000_000
        large = await failure(pool.call(quiet, "large", {"bytes": 5 << 20}))
        assert (
            large.user_message == "The server quiet answered with an error: The answer is larger than 1 MB."
        )
        async with anyio.create_task_group() as group:
            group.start_soon(pool.call, chatty, "chatty", {"lines": 1_000_000})
            for number in range(20):
                assert text(await pool.call(quiet, "echo", {"n": number}))["n"] == number
            for _ in range(2):
                group.start_soon(pool.call, chatty, "hang")
            await anyio.wait_all_tasks_blocked()
            busy = await failure(pool.call(chatty, "echo"))
            assert busy.code == "SERVER_BUSY"
            group.cancel_scope.cancel()

    home.run(scenario)


def test_a_server_that_cannot_start_is_not_started_over_and_over(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_pool, "_WAITED_PAUSE_S", 0.0)

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("bad", "bad-start")
        error = await failure(pool.call(spec, "echo"))
        assert error.user_message.startswith("The server bad could not be started: ")
        assert "exit status 1; it wrote: there is no cheese" in error.user_message
        await failure(pool.call(spec, "echo"))
        error = await failure(pool.call(spec, "echo"))
        assert "ended 2 times in a row without an answer" in error.user_message
        assert "started again by a call in" in error.hint
        other = ServerSpec("new", command="true", source=home.folder / "mcp.json")
        assert (await failure(pool.call(other, "echo"))).code == "SERVER_NOT_AGREED"

    home.run(scenario)


def test_a_server_that_never_answers_is_ended(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """documents C: it stayed for as long as Findspot ran, and after it."""
    monkeypatch.setattr(live_connection, "START_TIMEOUT_S", 1.0)
    monkeypatch.setattr(server_process, "_EXIT_PATIENCE_S", 0.2)
    pids: list[int] = []

    class Witness:
        def started(self, pid: int) -> None:
            pids.append(pid)

        def ended(self, pid: int) -> None:
            assert not is_running(pid)

    async def scenario(pool: ServerPool) -> None:
        error = await failure(pool.call(home.spec("silent", "silent", "deaf"), "echo"))
        assert error.user_message == "The server silent could not be started: no answer within 1 s"
        assert [pid for pid in pids if is_running(pid)] == []

    home.run(scenario, witness=Witness())
    assert len(pids) == 1


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
    monkeypatch.setattr(server_process, "_EXIT_PATIENCE_S", 0.2)
    pids: list[int] = []

    async def scenario(pool: ServerPool) -> None:
        spec = home.spec("deaf", "deaf")
        pids.append(text(await pool.call(spec, "echo"))["pid"])
        pids.append(int(text(await pool.call(spec, "child"))))

    home.run(scenario)
    assert [pid for pid in pids if is_running(pid)] == []


def test_a_killed_server_fails_its_calls_and_is_started_again(home: Home) -> None:
    async def scenario(pool: ServerPool) -> None:
        spec, other = home.spec("one"), home.spec("other")
        for _ in range(3):
            pid = text(await pool.call(spec, "echo"))["pid"]
            async with anyio.create_task_group() as group:

                async def hanging() -> None:
                    assert "exit status -9" in (await failure(pool.call(spec, "hang"))).user_message

                group.start_soon(hanging)
                await anyio.wait_all_tasks_blocked()
                os.kill(pid, signal.SIGKILL)
                await pool.call(other, "echo")

    home.run(scenario)
