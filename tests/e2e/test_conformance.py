"""The official suite against a server of fixture tools on our protocol layer, and the Inspector.

What is left out is named with its reason in `conformance_left_out.json`; a scenario that passes must
not be on the list, so the list only shrinks.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.door import serving
from e2e.harness import COMMAND, PATIENCE_S, environment
from e2e.test_listing import in_order

pytestmark = pytest.mark.programs

PACKAGES = (
    "node@24",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
)
LEFT_OUT = json.loads((Path(__file__).parent / "conformance_left_out.json").read_text())
MOST_LEFT_OUT = {"2025-11-25": 5, "2026-07-28": 10}
SUITE_S = 240


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite, the Inspector and a Node that is new enough, outside the checkout."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "package.json").write_text('{"private": true}')
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(["npm", "install", *options, *PACKAGES], cwd=folder, check=True, timeout=300)
    return folder / "node_modules"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("conformance")
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    with subprocess.Popen(
        [sys.executable, "-m", "e2e.conformance_server"],
        env=environment(home, PYTHONPATH=os.pathsep.join(filter(None, paths))),
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE_S)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_official_suite(programs: Path, address: str, revision: str) -> None:
    suite = programs / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run(
        [programs / ".bin" / "node", suite, "server", "--url", address, "--requirements", revision],
        capture_output=True,
        text=True,
        timeout=SUITE_S,
        check=False,
    )
    outcomes = {
        name: failed == "0"
        for name, failed in re.findall(r"^[✓✗] ([\w-]+): \d+ passed, (\d+) failed$", done.stdout, re.M)
    }
    assert len(outcomes) > 30, done.stdout + done.stderr
    failing = {name for name, passed in outcomes.items() if not passed}
    assert failing - set(LEFT_OUT["not scored"]) == set(LEFT_OUT[revision]), done.stdout[-4000:]


@pytest.mark.parametrize("scenario", ["caching", "sep-2164-resource-not-found"])
def test_the_real_server_passes_where_no_fixture_is_needed(
    programs: Path, fresh: Path, tmp_path: Path, scenario: str
) -> None:
    """protocol B15."""
    suite = programs / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    with serving(tmp_path / "home", fresh) as real:
        options = ["--url", real, "--spec-version", "2026-07-28", "--scenario", scenario]
        done = subprocess.run(
            [programs / ".bin" / "node", suite, "server", *options],
            capture_output=True,
            text=True,
            timeout=SUITE_S,
            check=False,
        )
    assert ", 0 failed, 0 warnings" in done.stdout, done.stdout + done.stderr


def test_what_is_left_out_is_little_and_has_a_reason() -> None:
    for revision, most in MOST_LEFT_OUT.items():
        assert len(LEFT_OUT[revision]) <= most
        assert all(reason.endswith(".") for reason in LEFT_OUT[revision].values())


def inspect(programs: Path, cwd: Path, home: Path, *options: str) -> Any:
    """What the Inspector's command line says of the real server."""
    launcher = json.loads((programs / "@modelcontextprotocol" / "inspector" / "package.json").read_text())[
        "bin"
    ]
    program = launcher if isinstance(launcher, str) else next(iter(launcher.values()))
    done = subprocess.run(
        [
            programs / ".bin" / "node",
            programs / "@modelcontextprotocol" / "inspector" / program,
            "--cli",
            *COMMAND,
            "--connect-timeout",
            "60000",
            *options,
        ],
        cwd=cwd,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_the_inspector_drives_the_real_server(programs: Path, fresh: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    listed = inspect(programs, fresh, home, "--method", "tools/list")
    assert in_order(tool["name"] for tool in listed["tools"])
    called = ("--method", "tools/call", "--tool-name")
    made = inspect(programs, fresh, home, *called, "index_codebase", "--tool-arg", f"path={fresh}")
    assert made["structuredContent"]["status"] == "success"
    found = inspect(programs, fresh, home, *called, "search_code", "--tool-arg", "query=check a password")
    assert found["structuredContent"]["results"][0]["path"] == "src/auth/login.py"
    assert inspect(programs, fresh, home, "--method", "resources/templates/list")["resourceTemplates"]
