"""The broker: one process holds the servers of all others, and takes them along when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest

from findspot.catalogue import broker_client
from findspot.catalogue.broker import IDLE_VARIABLE, REFUSED, own_version, read_address
from findspot.catalogue.broker_client import BrokerClient, server_runs
from findspot.catalogue.consent import Agreements
from findspot.catalogue.live_connection import CallHandlers, ServerCallError
from findspot.catalogue.server_connections import NESTED_VARIABLE, environment_for
from findspot.catalogue.server_sources import ServerSpec
from findspot.core.files import make_private_dir, write_json

from .test_server_pool import SERVER, failure, gone, text

PATIENCE_S = 180

Scenario = Callable[[BrokerClient, BrokerClient], Awaitable[None]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path))
    return tmp_path


def spec_in(home: Path, name: str, *arguments: str, **more: Any) -> ServerSpec:
    args = (str(SERVER), *arguments)
    spec = ServerSpec(name, command=sys.executable, args=args, source=home / "mcp.json", **more)
    Agreements(home).add([spec])
    return spec


def run(home: Path, scenario: Scenario) -> None:
    """Run a scenario with two clients, and see that the broker and all servers end after it."""

    async def main() -> None:
        one, other = BrokerClient(home), BrokerClient(home, {**os.environ, "WHO": "other"})
        with anyio.fail_after(PATIENCE_S):
            try:
                await scenario(one, other)
            finally:
                await one.aclose()
                await other.aclose()
        await all_ended(home)

    anyio.run(main)


async def all_ended(home: Path) -> None:
    with anyio.fail_after(PATIENCE_S):
        while (home / "broker" / "address.json").exists():
            await anyio.sleep(0.05)


def test_calls_pass_through_the_broker(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """documents C: each client window had its own copy of every server."""
    monkeypatch.setenv(IDLE_VARIABLE, "0.5")
    seen: list[float] = []
    pids: set[int] = set()

    async def report(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    async def elicit(params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"colour": params.message})

    async def sample(_params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        said = types.TextContent(type="text", text="hi")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    async def scenario(one: BrokerClient, other: BrokerClient) -> None:
        spec = spec_in(home, "one")
        assert server_runs(home) == [], "looking starts nothing"
        pids.update([text(await client.call(spec, "echo"))["pid"] for client in (one, other)])
        assert len(pids) == 1, "one process, however many clients"
        address = read_address(home)
        if "socket" in address:
            assert stat.S_IMODE(Path(address["socket"]).stat().st_mode) == 0o600
        assert stat.S_IMODE((home / "broker" / "address.json").stat().st_mode) == 0o600

        handlers = CallHandlers(report, elicit, sample)
        content = await one.call(spec, "content", handlers=handlers)
        assert [block.type for block in content.content][1:] == [
            "image",
            "audio",
            "resource",
            "resource_link",
        ]
        assert (await one.call(spec, "structured")).structured_content == {"sum": 5}
        assert (await one.call(spec, "failing")).is_error
        assert text(await one.call(spec, "slow", {"steps": 3}, handlers=handlers)) == "done"
        assert seen[:2] == [1, 2]
        assert text(await one.call(spec, "ask", handlers=handlers))["content"] == {"colour": "Which?"}
        assert text(await one.call(spec, "sample", handlers=handlers))["content"]["text"] == "hi"
        assert text(await other.call(spec, "ask"))["action"] == "cancel"

        with anyio.move_on_after(0.1):
            await one.call(spec, "hang")
        assert text(await one.call(spec, "cancelled")) == "1"
        late = await failure(one.call(spec, "hang", timeout_s=0.05))
        assert (late.code, late.hint) == ("SERVER_TIMEOUT", "Call it with a larger timeout, up to 600 s.")
        unknown = ServerSpec("new", command="true", source=home / "mcp.json")
        assert (await failure(one.call(unknown, "echo"))).code == "SERVER_NOT_AGREED"

        missing = ServerSpec("missing", command="/no/such/program", source=home / "mcp.json")
        Agreements(home).add([missing])
        await failure(one.call(missing, "echo"))
        runs = await anyio.to_thread.run_sync(server_runs, home)
        assert [(run.name, run.state) for run in runs] == [("one", "running"), ("missing", "failed")]
        assert "there is no program" in runs[1].error

        assert "one__juggle" not in [tool.name for tool in await one.tools(spec)]
        await other.call(spec, "grow", {"name": "juggle"})
        while "one__juggle" not in [tool.name for tool in await one.tools(spec)]:
            await anyio.sleep(0.01)  # it hears of the change through its own connection
        whose = spec_in(home, "whose", env={"WHO": "${WHO}"})
        assert "WHO is not set" in (await failure(one.call(whose, "echo"))).user_message
        await other.call(whose, "echo")

    run(home, scenario)
    anyio.run(gone, pids.pop())


def test_servers_end_with_a_killed_broker_and_the_next_call_starts_another(home: Path) -> None:
    async def scenario(one: BrokerClient, other: BrokerClient) -> None:
        spec, deaf = spec_in(home, "one"), spec_in(home, "deaf", "deaf")
        pids = [text(await one.call(server, "echo"))["pid"] for server in (spec, deaf)]
        pids.append(int(text(await one.call(deaf, "child"))))
        broker = read_address(home)["pid"]

        async def hanging() -> None:
            error = await failure(other.call(spec, "hang"))
            assert error.user_message == "The process that holds the servers ended before one answered."

        await other.call(spec, "echo")  # from here on it is connected to the broker that will be killed
        async with anyio.create_task_group() as group:
            group.start_soon(hanging)
            while not (await one.call(spec, "echo")).content:
                pass
            os.kill(broker, signal.SIGKILL)
        for pid in (broker, *pids):
            await gone(pid)
        again = text(await one.call(spec, "echo"))["pid"]
        assert again not in pids
        os.kill(read_address(home)["pid"], signal.SIGTERM)
        await gone(again)
        (home / "broker" / "address.json").unlink()

    run(home, scenario)


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such means elsewhere")
def test_no_server_escapes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gateway 8: a process in its own session stayed, and a deaf server whose guardian was killed too."""
    monkeypatch.setenv(IDLE_VARIABLE, "1")

    async def scenario(one: BrokerClient, other: BrokerClient) -> None:
        deaf = text(await one.call(spec_in(home, "deaf", "deaf"), "echo"))["pid"]
        broker = read_address(home)["pid"]
        children = set(map(int, Path(f"/proc/{broker}/task/{broker}/children").read_text().split()))
        for pid in (*(children - {deaf}), broker):
            os.kill(pid, signal.SIGKILL)
        await gone(deaf)
        await gone(broker)
        escaped = int(text(await other.call(spec_in(home, "one"), "escape")))
        await all_ended(home)
        await gone(escaped)

    run(home, scenario)


def brokers(home: Path) -> list[int]:
    """The processes that hold the servers of a home folder, or wait to."""
    words = ["findspot.catalogue.broker", str(home)]
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            if path.read_text("utf-8", "replace").split("\0")[-3:-1] == words:
                found.append(int(path.parent.name))
    return found


def test_a_long_path_and_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no Unix socket can be made, the loopback interface and the token serve; versions do not mix."""
    home = tmp_path / ("long" * 25)
    home.mkdir()
    monkeypatch.setenv("FINDSPOT_HOME", str(home))
    monkeypatch.setenv(IDLE_VARIABLE, "3")

    async def scenario(one: BrokerClient, other: BrokerClient) -> None:
        spec = spec_in(home, "one")
        first = text(await one.call(spec, "echo"))["pid"]
        address = read_address(home)
        reader, writer = await asyncio.open_connection("127.0.0.1", address["port"])
        for number, method in enumerate(("enter", "call")):
            params = {"proof": "wrong", "environ": {}}
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            writer.write(json.dumps(request).encode() + b"\n")
            assert json.loads(await reader.readline())["error"]["code"] == REFUSED
        writer.close()

        def as_if_old(home: Path) -> dict[str, Any]:
            found = read_address(home)
            return {**found, "version": "0.0.1"} if found["pid"] == address["pid"] else found

        monkeypatch.setattr(broker_client, "read_address", as_if_old)
        assert text(await other.call(spec, "echo"))["pid"] != first, "the old one ends, a new one starts"
        assert text(await one.call(spec, "echo"))["pid"] != first, "a client of the old one finds the new one"
        (home / "broker" / "address.json").unlink()
        assert text(await BrokerClient(home).call(spec, "echo")), "the address is written again"
        await gone(first)
        await gone(address["pid"])
        if sys.platform == "linux":
            assert brokers(home) == [read_address(home)["pid"]], "nobody starts another one meanwhile"

    run(home, scenario)


def test_whoever_listens_at_an_old_address_gets_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed broker leaves its address, and anybody may listen there."""
    monkeypatch.setenv(IDLE_VARIABLE, "0.5")
    monkeypatch.setenv("CANARY", "tweet-tweet")
    monkeypatch.setenv("NAMED", "by the entry")
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        request = json.loads(heard[0])
        forged = {"jsonrpc": "2.0", "id": request["id"], "result": {"proof": "x", "nonce": "y"}}
        writer.write(json.dumps(forged).encode() + b"\n")
        heard.append(await reader.read())

    async def scenario(one: BrokerClient, _other: BrokerClient) -> None:
        stranger = await asyncio.start_server(listen, "127.0.0.1", 0)
        port = stranger.sockets[0].getsockname()[1]
        address = {"token": "t0ken", "version": own_version(), "pid": 1, "port": port}
        make_private_dir(home / "broker")
        write_json(home / "broker" / "address.json", address)
        spec = spec_in(home, "one", env={"OWN": "${NAMED}"})
        assert text(await one.call(spec, "environ"))["OWN"] == "by the entry"
        stranger.close()
        assert heard[0]
        assert not any(secret in b"".join(heard) for secret in (b"t0ken", b"tweet-tweet", b"by the entry"))

    run(home, scenario)


def test_only_what_a_server_needs_of_the_environment_is_sent(home: Path) -> None:
    spec = spec_in(home, "one", env={"A": "${NAMED}", "B": "${OTHER:-none}"})
    environ = {
        "PATH": "p",
        "HTTPS_PROXY": "q",
        "no_proxy": "n",
        "SSL_CERT_FILE": "c",
        "NAMED": "1",
        "KEY": "2",
    }
    sent = environment_for(spec, environ)
    assert sent == {name: environ[name] for name in environ if name != "KEY"}


def test_a_call_ends_whatever_its_size_and_whatever_the_broker_does(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gateway 3: arguments over 32 MB, or a broker that hangs, made the call hang for ever."""
    monkeypatch.setenv(IDLE_VARIABLE, "0.5")
    monkeypatch.setattr(broker_client, "_MARGIN_S", 0.1)

    async def scenario(one: BrokerClient, _other: BrokerClient) -> None:
        spec = spec_in(home, "one")
        refused = await failure(one.call(spec, "echo", {"text": "x" * (33 << 20)}))
        assert refused.user_message == "The arguments are larger than 16 MB. The tool was not called."
        assert not (home / "broker").exists(), "refused before anything is started"
        large = await one.call(spec, "length", {"text": "x" * (15 << 20)}, timeout_s=PATIENCE_S)
        assert text(large) == str(15 << 20)

        broker = read_address(home)["pid"]
        os.kill(broker, signal.SIGSTOP)
        late = await failure(one.call(spec, "echo", timeout_s=0.1))
        os.kill(broker, signal.SIGCONT)
        assert late.code == "SERVER_TIMEOUT"
        assert late.user_message == "The process that holds the servers did not answer within 0.1 s."
        assert text(await one.call(spec, "echo", timeout_s=PATIENCE_S))["pid"]

    run(home, scenario)


def test_a_findspot_inside_a_server_calls_nothing(home: Path) -> None:
    async def scenario() -> None:
        nested = BrokerClient(home, {NESTED_VARIABLE: "1"})
        error = await failure(nested.call(spec_in(home, "one"), "echo"))
        assert isinstance(error, ServerCallError)
        assert not (home / "broker").exists()

    anyio.run(scenario)
