"""A server with a read-only root file system: only its home and a folder for temporary files are writable."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.door import HELLO, message_in, post, request
from e2e.harness import COMMAND, PATIENCE_S, environment
from e2e.sample import make_sample
from program import Program

TOKEN, SHOP, COMMIT = "token-of-the-pod", "github.com/acme/shop", "ab" * 20
EXAMPLE = Path(__file__).parents[2] / "deploy" / "kubernetes.yaml"
_LOCKED = """
mount --bind "$1" "$1" && mount -t tmpfs none "$2" && mount -o remount,bind,ro / || exit 99
for mounted in $3; do mount -o remount,bind,ro "$mounted" || exit 99; done
if touch "$4/probe" 2>/dev/null; then exit 98; fi
shift 4; exec "$@"
"""


def _can_unshare() -> bool:
    if sys.platform != "linux" or os.geteuid() or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def called(address: str, headers: dict[str, str], tool: str, **arguments: str) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    answer = post(address, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, **headers)
    assert answer.status == 200
    found: dict[str, Any] = message_in(answer.read())["result"]["structuredContent"]
    return found


def prepare() -> list[str]:
    """What the example's init container runs."""
    (deployment,) = [d for d in yaml.safe_load_all(EXAMPLE.read_text()) if d["kind"] == "Deployment"]
    command: list[str] = deployment["spec"]["template"]["spec"]["initContainers"][0]["command"]
    return command


@pytest.mark.skipif(not _can_unshare(), reason="needs a mount namespace of its own")
def test_a_server_needs_only_its_home_and_temporary_files(tmp_path: Path) -> None:
    """As in deploy/kubernetes.yaml, without sources, with a token file that is a link."""
    home, temporary, access = (tmp_path / name for name in ("home", "temporary", "access"))
    project = make_sample(tmp_path / "shop")
    for folder in (home, temporary, access / "..data"):
        folder.mkdir(parents=True)
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    tokens = {"tokens": [{"name": "pod", "sha256": digest, "projects": [SHOP]}]}
    (access / "..data" / "tokens.json").write_text(json.dumps(tokens))
    (access / "tokens.json").symlink_to("..data/tokens.json")
    tmp_mount = "/tmp" if os.path.ismount("/tmp") else ""
    locked = ["unshare", "-m", "sh", "-c", _LOCKED, "sh", str(home), str(temporary), tmp_mount, str(access)]
    variables = environment(home, HOME=str(temporary), TMPDIR=str(temporary))
    published = tmp_path / "published"
    publisher = Program(home=tmp_path / "publisher", cwd=project)
    assert publisher("publish", published, "--commit", COMMIT, "--branch", "main").code == 0
    shutil.rmtree(project)
    (tmp_path / "projects").write_text(f"{SHOP} file://{published}\n")
    variables |= {"PROJECTS": str(tmp_path), "PATH": f"{Path(COMMAND[0]).parent}:{os.environ['PATH']}"}
    prepared = subprocess.run([*locked, *prepare()], env=variables, capture_output=True, check=False)
    assert prepared.returncode == 0, prepared.stderr
    options = ("--http", "127.0.0.1:0", "--read-only", "--tokens", str(access / "tokens.json"))
    with subprocess.Popen(
        [*locked, *COMMAND, *options], cwd=home, env=variables, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            address = server.stderr.readline().split()[-1]
            assert request(address, "GET", path="/health").status == 200
            headers = {"Authorization": f"Bearer {TOKEN}"}
            headers["Mcp_Session_Id"] = post(address, HELLO, **headers).headers["Mcp-Session-Id"]
            (shown,) = called(address, headers, "list_projects")["projects"]
            assert (shown["repository"], shown["commit"], Path(shown["path"]).name) == (SHOP, COMMIT, "shop")
            assert called(address, headers, "search_code", query="check a password", path=SHOP)["results"]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE_S)
