"""Indexing on a Ray cluster of several processes or nodes: the same index, whichever of them dies."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contents import contents, fresh_contents, write_files
from findspot import Project
from findspot.core.errors import CancelledError, InvalidArgumentError
from findspot.core.model import Progress, SkipReason
from findspot.core.progress import CancelToken

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

LOOPBACK = sys.platform == "linux"
"""Elsewhere 127.0.0.2 is not an address of the machine."""

FATAL = """
import os, sys, time
def watch(frame, event, _):
    if event == "call" and frame.f_code.co_name == "chunk_file":
        while not os.path.exists({go_on!r}):
            time.sleep(0.01)
        if frame.f_locals["file"].path == "fatal.py":
            os._exit(9)
sys.setprofile(watch)
"""
"""Ends any worker that begins to cut the file, as a parser's crash would; none cuts before it may go on."""


@pytest.fixture
def root(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of several batches, one of whose modules must not be taken for the real one."""
    import ray

    root = tmp_path / "project"
    body = "\n\n".join(f"def area_{n}(width, height):\n    return width * height + {n}" for n in range(30))
    write_files(root, {f"part_{number:02}.py": f"# part {number}\n{body}\n" for number in range(36)})
    write_files(root, {"numpy.py": "raise SystemExit('the project was imported')\n", "guide.md": "# Areas\n"})
    monkeypatch.chdir(root)
    yield root
    ray.shutdown()


def workers_at_work() -> list[int]:
    """The processes below this one that run a task now."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    ours = {os.getpid()}
    for _ in range(4):  # the cluster's own processes stand between
        ours |= {int(pid) for pid, parent, *_ in rows if int(parent) in ours}
    return [int(row[0]) for row in rows if int(row[0]) in ours and row[-1].startswith("ray::cut_files")]


def test_one_is_killed_and_one_file_is_fatal(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(root, {"fatal.py": "def fatal():\n    return 1\n"})
    go_on = tmp_path / "go-on"
    write_files(tmp_path / "hook", {"sitecustomize.py": FATAL.format(go_on=str(go_on))})
    killed: list[int] = []
    over = threading.Event()

    def kill_one() -> None:
        while not killed and not over.is_set():
            for pid in workers_at_work()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            over.wait(0.1)
        go_on.touch()

    killer = threading.Thread(target=kill_one)
    killer.start()
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "hook"))
        spread = Project(root, {"workers": "local"})
        try:
            report = spread.update()
        finally:
            over.set()
            killer.join()
    assert killed
    assert report.files_indexed == 38
    assert [(skip.path, skip.reason) for skip in report.errors] == [("fatal.py", SkipReason.WORKER_CRASHED)]
    (root / "fatal.py").unlink()
    spread.update()
    assert contents(spread.store) == fresh_contents(spread, tmp_path / "other")
    spread.close()


def test_a_stopped_run_goes_on_where_it_was(root: Path) -> None:
    token = CancelToken()

    def stop(progress: Progress) -> None:
        if progress.phase == "indexing" and progress.done >= 10:
            token.cancel()

    project = Project(root, {"workers": "ray://local"})
    with pytest.raises(CancelledError):
        project.update(progress=stop, cancel=token)
    project.close()
    assert Project(root).update().files_unchanged >= 10


def test_what_is_missing_is_named(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "project", {"one.py": "x = 1\n"})
    project = Project(tmp_path / "project", {"workers": "local"})
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidArgumentError) as refused:
        project.update()
    assert "findspot[ray]" in refused.value.hint
    project.close()


NODE = """
import os, sys, time
import importlib.metadata as metadata
node, folder, real = os.environ.get("TEST_NODE"), {folder!r}, metadata.version
if node == "other version":
    metadata.version = lambda name: "0.0.9" if name == "findspot" else real(name)
def watch(frame, event, _):
    if event == "call" and frame.f_code.co_name == "chunk_file":
        open(os.path.join(folder, node), "w").close()
        while node == "dying" or not os.path.exists(os.path.join(folder, "dying")):
            time.sleep(0.02)
if node and any(word.endswith("default_worker.py") for word in sys.orig_argv):
    sys.setprofile(watch)
"""
"""Says which nodes cut files. One of them never ends, and the others wait until it has begun. A profile slows
a process, so that only workers have one: the other processes of a node must start within half a minute.
"""


STARTS = 4
"""Attempts to start a node of Ray, which fails on a machine with much else to do."""


READY_S = 60


class Cluster:
    """Nodes with addresses of their own, which ask for a token."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = secrets.token_hex(32)
        self._sessions = tempfile.mkdtemp(prefix="ray")  # the names of its sockets must be short
        self._nodes: list[subprocess.Popen[str]] = []
        write_files(folder / "hook", {"sitecustomize.py": NODE.format(folder=str(folder))})
        self.start("127.0.0.2", "head")
        wait_for_server(f"127.0.0.2:{self._client_port}")  # which starts after the node

    @property
    def address(self) -> str:
        return f"ray://127.0.0.2:{self._client_port}"

    def environment(self, **changes: str) -> dict[str, str]:
        return os.environ | {"RAY_AUTH_TOKEN": self.token, "RAY_USAGE_STATS_ENABLED": "0"} | changes

    def start(self, address: str, name: str) -> None:
        """Start a node, and wait until it has joined; Ray gives a node that starts half a minute."""
        said = ""
        for _ in range(STARTS):
            node = self._begin(address, name)
            assert node.stdout is not None
            for line in node.stdout:
                said += line
                if "Ray runtime started" in line:
                    self._nodes.append(node)
                    return
            node.communicate()
        raise AssertionError(said[-2_000:])

    def _begin(self, address: str, name: str) -> subprocess.Popen[str]:
        if name == "head":
            self._port, self._client_port = free_port(), free_port()
            role = ["--head", f"--port={self._port}", f"--ray-client-server-port={self._client_port}"]
            role += ["--include-dashboard=false", f"--temp-dir={self._sessions}"]
        else:
            role = [f"--address=127.0.0.2:{self._port}", f"--dashboard-agent-listen-port={free_port()}"]
        return subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", *role, f"--node-ip-address={address}",
             "--num-cpus=1", "--object-store-memory=100000000", "--min-worker-port=0",
             "--max-worker-port=0", "--disable-usage-stats", "--include-log-monitor=false", "--block"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            cwd=self.folder,
            env=self.environment(
                RAY_AUTH_MODE="token",
                RAY_health_check_period_ms="500",
                RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S="120",
                PYTHONUNBUFFERED="1",
                TEST_NODE=name,
                PYTHONPATH=str(self.folder / "hook"),
            ),
        )  # fmt: skip

    def kill(self, address: str) -> None:
        """Kill the process that makes a node part of the cluster, as a machine that goes away does."""
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True
        )
        rows = [line.split(None, 1) for line in listed.stdout.splitlines()]
        for pid, args in rows:
            if (
                self._sessions in args
                and f"--node_ip_address={address}" in args
                and "/raylet" in args.split()[0]
            ):
                os.kill(int(pid), signal.SIGKILL)

    def close(self) -> None:
        for node in reversed(self._nodes):
            node.terminate()
        for node in self._nodes:
            node.communicate()
        shutil.rmtree(self._sessions, ignore_errors=True)


def wait_for_server(address: str) -> None:
    import grpc

    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        grpc.channel_ready_future(channel).result(READY_S)


def free_port() -> int:
    with socket.create_server(("127.0.0.2", 0)) as server:
        return int(server.getsockname()[1])


def index(root: Path, address: str, environment: dict[str, str], *more: str) -> dict[str, Any]:
    """Run the command with a cluster; its answer as JSON."""
    command = [sys.executable, "-m", "findspot", "index", str(root), "--workers", address, "--json", *more]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.stdout.strip(), ended.stderr[-3_000:]
    return dict(json.loads(ended.stdout))


@pytest.mark.nightly
@pytest.mark.skipif(not LOOPBACK, reason="each node needs a loopback address of its own")
def test_two_nodes_and_one_of_them_dies(root: Path, tmp_path: Path) -> None:
    """Findings teams AWKWARD and Ray: nodes, tokens and versions; each error says what is true."""
    cluster = Cluster(tmp_path)
    try:
        cluster.start("127.0.0.3", "dying")
        refused = index(root, cluster.address, cluster.environment(RAY_AUTH_TOKEN="0" * 64))
        assert "RAY_AUTH_TOKEN" in json.dumps(refused)

        def kill_at_work() -> None:
            while not (tmp_path / "dying").exists():
                if over.wait(0.1):
                    return
            cluster.kill("127.0.0.3")

        over = threading.Event()
        killer = threading.Thread(target=kill_at_work)
        killer.start()
        try:
            indexed = index(root, cluster.address, cluster.environment())
        finally:
            over.set()
            killer.join()
        assert indexed.get("status") == "success", indexed
        assert (tmp_path / "head").exists()
        assert (tmp_path / "dying").exists()
        project = Project(root)
        assert contents(project.store) == fresh_contents(project, tmp_path / "other")
        project.close()
        cluster.start("127.0.0.4", "other version")
        mixed = json.dumps(index(root, cluster.address, cluster.environment(), "--force"))
        assert "127.0.0.4" in mixed
        assert "0.0.9" in mixed
    finally:
        cluster.close()


def test_a_cluster_that_is_not_there_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding teams AWKWARD: an unreachable cluster took half a minute."""
    write_files(tmp_path / "project", {"one.py": "x = 1\n"})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        project = Project(tmp_path / "project", {"workers": f"ray://127.0.0.1:{silent.getsockname()[1]}"})
        monkeypatch.setattr("findspot.indexing.spread.CONNECT_S", 0.2)
        with pytest.raises(InvalidArgumentError) as unreachable:
            project.update()
        project.close()
    assert "cannot be used" in unreachable.value.user_message
