"""The resident process: started by the first client, shared by all, and replaced without losing a call."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import calling_server
import findspot
from e2e.harness import PATIENCE_S, Pipe, is_running, until
from e2e.sample import make_large, make_sample
from held import Gate
from program import Outcome, Program

SHARED = {"FINDSPOT_IN_PROCESS": "0"}


class House:
    """A home whose clients share a process."""

    def __init__(self, home: Path, shop: Path) -> None:
        self.home = home
        self.shop = shop
        self.program = Program(home, shop)

    def run(self, *arguments: str, cwd: Path | None = None, **variables: str) -> Outcome:
        return self.program(*arguments, cwd=cwd, env=SHARED | variables)

    def pipe(self, cwd: Path | None = None, *options: str, **variables: str) -> Pipe:
        return Pipe(self.home, cwd or self.shop, *options, **SHARED | variables)

    def status(self) -> dict[str, Any]:
        about: dict[str, Any] = self.run("service", "status", "--json").json
        return about

    @property
    def pid(self) -> int:
        return int(self.status()["pid"])


@contextmanager
def opened(folder: Path) -> Iterator[House]:
    made = House(folder / "home", make_sample(folder / "shop"))
    yield made
    about = made.status()
    assert made.run("service", "stop").code == 0
    if about["running"]:
        until(lambda: not is_running(about["pid"]))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """An indexed one for tests after which its process, or another one, goes on."""
    with opened(tmp_path_factory.mktemp("shared")) as made:
        assert made.run("index").code == 0
        yield made


def test_clients_of_a_home_share_it_and_each_is_answered_about_its_own_folder(
    house: House, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "planets.py").write_text("def orbit_of_mars():\n    return 687\n")
    assert house.status()["running"] is False
    assert house.run("index").code == 0
    first = house.pid
    with house.pipe() as here, house.pipe(other) as there:
        for pipe in (here, there):
            pipe.initialize()
            assert pipe.values("index_codebase", path=".", confirm=True)["status"] == "success"
        assert here.values("get_index_status")["projectPath"] == str(house.shop)
        assert there.values("get_index_status")["projectPath"] == str(other)
        (found,) = there.values("search_code", query="orbit_of_mars")["results"]
        assert found["path"] == "planets.py"
        about = house.status()
        assert about["pid"] == first
        assert [client["command"] for client in about["clients"]] == ["serve", "serve"]
        assert sorted(about["projects"]) == sorted(map(str, (house.shop, other)))
        watched = house.run("service", "status").out.partition("watches")[2].splitlines()
        assert sorted(map(str.strip, watched)) == sorted(map(str, (house.shop, other)))
    assert is_running(first)


def test_two_doors_at_once_start_one(house: House) -> None:
    with ExitStack() as opened:
        for pipe in [opened.enter_context(house.pipe()) for _ in range(4)]:
            pipe.initialize()
        until(lambda: [pid for pid in _residents(house.home) if is_running(pid)] == [house.pid])


def _residents(home: Path) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"findspot.resident" in words and os.fsencode(home) in words:
            found.append(int(folder.name))
    return found


def test_options_are_those_of_each_client(shared: House) -> None:
    with shared.pipe() as all_tools, shared.pipe(None, "--toolsets", "documents", "--read-only") as few:
        names = []
        for pipe in (all_tools, few):
            pipe.initialize()
            names.append({tool["name"] for tool in pipe.result("tools/list", {})["tools"]})
        assert "search_code" in names[0]
        assert "search_code" not in names[1]
        assert names[1]
    with shared.pipe(None, "--toolsets", "nonsense") as pipe:
        assert pipe.ended() == 2
        assert "nonsense" in "".join(pipe.errors)


def test_commands_do_the_same_through_the_door(shared: House) -> None:
    for command in (
        ("search", "verify a password", "--json"),
        ("callers", "verify_password"),
        ("context", "verify_password rejects good passwords"),
        ("history", "why was it changed"),
        ("files", "**/*.py"),
        ("search",),
        ("callers", "no_such_function_at_all"),
    ):
        there, here = shared.run(*command), shared.run(*command, FINDSPOT_IN_PROCESS="1")
        assert (there.code, _without_times(there.out), there.err) == (
            here.code,
            _without_times(here.out),
            here.err,
        ), command
        assert there.out or there.err
    with shared.program.start("search", "-", "--json", stdin=subprocess.PIPE, env=SHARED) as process:
        out, _ = process.communicate("verify a password", timeout=PATIENCE_S)
    assert json.loads(out)["results"]
    declined = shared.program.on_terminal("reindex", answers={"Continue?": "n\n"}, env=SHARED)
    assert (declined.code, "nothing was changed" in declined.err) == (1, True)


def _without_times(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "TimeMs" not in line)


def test_a_stopped_command_stops_its_work(house: House, tmp_path: Path) -> None:
    project = make_large(tmp_path / "project", 100)
    gate = Gate(project, tmp_path / "gate")
    environment = SHARED | {"PYTHONPATH": gate.path}
    with house.program.start("index", ".", cwd=project, env=environment) as process:
        until(lambda: house.status().get("clients"))
        until(lambda: list((house.home / "indexes").glob("*/index.sqlite")))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    gate.open()
    assert process.returncode == 130
    assert "findspot index" in err


def test_if_it_dies_calls_that_read_are_answered_by_another(shared: House) -> None:
    with shared.pipe() as pipe:
        pipe.initialize()
        for _ in range(2):
            first = shared.pid
            os.kill(first, signal.SIGKILL)
            assert pipe.values("search_code", query="verify a password")["results"]
            assert shared.pid != first


def test_if_it_dies_a_call_that_writes_gets_an_error(house: House, tmp_path: Path) -> None:
    project = make_large(tmp_path / "project", 100)
    gate = Gate(project, tmp_path / "gate")
    with house.pipe(project, PYTHONPATH=gate.path) as pipe:
        pipe.initialize()
        asked = pipe.ask_tool("index_codebase", {"path": ".", "confirm": True}, token="t")
        pipe.progress_above(0)
        os.kill(house.pid, signal.SIGKILL)
        answer = pipe.answer(asked)
        assert "ended during this call" in answer["error"]["message"]
        gate.open()
        assert pipe.values("index_codebase", path=".", confirm=True)["status"] == "success"


def test_after_three_deaths_the_pipe_answers_by_itself(shared: House) -> None:
    with shared.pipe() as pipe:
        pipe.initialize()
        for _ in range(3):
            asked = [pipe.ask_tool("search_code", {"query": f"password {n}"}) for n in range(30)]
            if running := shared.status().get("pid"):
                os.kill(running, signal.SIGKILL)
            assert _answered(pipe, asked)
        assert pipe.values("search_code", query="verify a password")["results"]


def _answered(pipe: Pipe, asked: list[int]) -> bool:
    """Whether all of these requests get a result, in whatever order."""
    waiting = set(asked)
    while waiting:
        message = pipe.next()
        if message.get("id") in waiting:
            waiting.discard(message["id"])
            if "result" not in message:
                return False
    return True


def test_it_leaves_when_nobody_is_there(house: House) -> None:
    with house.pipe(FINDSPOT_SERVICE_IDLE="2") as pipe:
        pipe.initialize()
        pid = house.pid
    until(lambda: not is_running(pid))


def test_stopping_it_loses_no_call(shared: House) -> None:
    with shared.pipe() as pipe:
        pipe.initialize()
        first = shared.pid
        asked = [pipe.ask_tool("search_code", {"query": f"password {n}"}) for n in range(20)]
        assert shared.run("service", "stop").code == 0
        asked += [pipe.ask_tool("search_code", {"query": f"session {n}"}) for n in range(20)]
        assert _answered(pipe, asked)
        assert not is_running(first)
        assert shared.pid != first


def test_a_newer_version_takes_its_place_and_an_older_one_stays_apart(house: House, tmp_path: Path) -> None:
    assert house.run("index").code == 0
    source = Path(findspot.__file__).parent
    newer = tmp_path / "newer"
    shutil.copytree(source, newer / "findspot", ignore=shutil.ignore_patterns("__pycache__"))
    old = house.pid
    with house.pipe() as pipe:
        pipe.initialize()
        os.utime(newer / "findspot" / "__init__.py", (4e9, 4e9))
        found = _search_with(newer, house)
        assert found["results"]
        until(lambda: not is_running(old))
        assert pipe.values("search_code", query="verify a password")["results"]
        apart = house.run("search", "verify a password", "--json")
        assert apart.json["results"]
        assert "a newer version" in apart.err
        until(lambda: len([pid for pid in _residents(house.home) if is_running(pid)]) == 1)


def _search_with(folder: Path, house: House) -> dict[str, Any]:
    """Search with another copy of the program."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); sys.argv[0] = 'findspot'\n"
    code += "from findspot.__main__ import main; main()"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FINDSPOT_")}
    done = subprocess.run(
        [sys.executable, "-c", code, "search", "verify a password", "--json"],
        cwd=house.shop,
        env=kept | SHARED | {"FINDSPOT_HOME": str(house.home)},
        capture_output=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_variable_that_shapes_an_index_must_be_the_same_for_all(house: House) -> None:
    assert house.run("index").code == 0
    with house.pipe() as pipe:
        pipe.initialize()
        refused = house.run("index", FINDSPOT_SECRET_SCAN="off")
        assert refused.code == 1
        assert "FINDSPOT_SECRET_SCAN" in refused.err
        assert house.run("search", "password", FINDSPOT_MAX_TOKENS="300").code == 0
    until(lambda: not house.status()["clients"])
    assert house.run("index", FINDSPOT_SECRET_SCAN="off").code == 0


def test_the_socket_is_its_owners_and_nonsense_on_it_keeps_nobody_waiting(shared: House) -> None:
    assert shared.run("status").code == 0
    folder = shared.home / "service"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "socket").stat().st_mode) == 0o600
    held = []
    for said in (b"", b"nonsense\n", b"{}\n", b'{"environ": {}}\n', b"[" * 10_000):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(folder / "socket"))
        client.sendall(said)
        held.append(client)
    assert shared.run("search", "verify a password", "--json").json["results"]
    for client in held:
        client.close()


def test_a_client_that_does_not_read_keeps_nobody_waiting(shared: House) -> None:
    with shared.pipe() as hung, shared.pipe() as other:
        hung.initialize()
        other.initialize()
        os.kill(hung.process.pid, signal.SIGSTOP)
        for number in range(200):
            asked = {"jsonrpc": "2.0", "id": f"h{number}", "method": "tools/list", "params": {}}
            hung.send_line(json.dumps(asked).encode())
        assert other.values("search_code", query="verify a password")["results"]
        os.kill(hung.process.pid, signal.SIGCONT)


def test_started_servers_have_the_environment_of_their_own_client(house: House) -> None:
    entry = {"command": sys.executable, "args": [calling_server.__file__], "env": {"WHOSE": "${WHOSE}"}}
    (house.shop / ".mcp.json").write_text(json.dumps({"mcpServers": {"echo": entry}}))
    assert house.run("tools", "index", "--yes", WHOSE="the indexer").code == 0
    said = []
    with house.pipe(WHOSE="Ada") as ada, house.pipe(WHOSE="Bob") as bob:
        for pipe in (ada, bob):
            pipe.initialize()
            environ, echo = (
                json.loads(pipe.call("call_tool", name=f"echo__{tool}")["content"][0]["text"])
                for tool in ("environ", "echo")
            )
            said.append((environ["WHOSE"], echo["pid"]))
    assert [name for name, _ in said] == ["Ada", "Bob"]
    assert said[0][1] != said[1][1]
    until(lambda: not any(is_running(pid) for _, pid in said))


def test_a_command_whose_process_dies_is_answered_here(house: House) -> None:
    """Of a home where something listens that ends at each question."""
    assert house.run("index", FINDSPOT_IN_PROCESS="1").code == 0
    folder = house.home / "service"
    folder.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        with house.program.start("search", "verify a password", "--json", env=SHARED) as process:
            client, _ = listener.accept()
            received = b""
            while not received.endswith(b"\n"):
                received += client.recv(1 << 16)
            client.sendall(b'{"pid": 1}\n')
            client.close()
            out, _ = process.communicate(timeout=PATIENCE_S)
    (folder / "socket").unlink()
    assert json.loads(out)["results"]
