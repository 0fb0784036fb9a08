"""Time a newcomer: from the first command of the README to a right answer, and to a connected assistant.

`make newcomer` clones the last commit into an empty folder, with a new home, and runs the commands of the
README as they stand there: install, ask, set up. It then starts exactly the command that setup wrote
for a client, as a real MCP client, and asks again. The project is a part of Python's own library. It prints
the time of each step; only a wrong answer is an error, since times depend on the network and on what else
the machine does (processor time shows that).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("asyncio", "email", "http", "json", "logging", "urllib")
QUESTION = "when is a log file rotated"
ANSWER = "logging/handlers.py"
ANSWER_GOAL_S, CONNECTED_GOAL_S = 35, 120
CLIENT_FILE = ".cursor/mcp.json"
"""The configuration of the client that is installed in the new home."""
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Newcomer:
    """A new home with a project in it, and the time since the first command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.project = folder / "your-project"
        home = folder / "home"
        (home / CLIENT_FILE).parent.mkdir(parents=True)
        self.config = home / CLIENT_FILE
        scripts = folder / "python" / ("Scripts" if os.name == "nt" else "bin")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "UV_", "SSL_", "SYSTEM"))
        }
        self.environment = kept | {
            "HOME": str(home), "USERPROFILE": str(home), "UV_TOOL_BIN_DIR": str(scripts),
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip
        sources = Path.home() / ".config" / "pip" / "pip.conf"
        if sources.is_file():  # where this machine gets packages from
            self.environment["PIP_CONFIG_FILE"] = str(sources)
        subprocess.run([sys.executable, "-m", "venv", folder / "python"], check=True)
        library = Path(sysconfig.get_paths()["stdlib"])
        for part in PARTS:
            shutil.copytree(library / part, self.project / part, ignore=shutil.ignore_patterns("__pycache__"))
        self._run("git init --quiet", self.project)
        self._started = time.perf_counter()

    def elapsed_s(self) -> float:
        return time.perf_counter() - self._started

    def step(self, line: str, folder: Path) -> str:
        """Run a line, print how long it took, and return its output."""
        before = self.elapsed_s()
        output = self._run(line, folder)
        print(f"{self.elapsed_s() - before:6.1f} s  {line}", flush=True)  # noqa: T201
        return output

    def _run(self, line: str, folder: Path) -> str:
        done = subprocess.run(
            line, cwd=folder, env=self.environment, shell=True, check=False, text=True, capture_output=True
        )
        if done.returncode:
            sys.exit(f"$ {line}\n{done.stdout}{done.stderr}")
        return done.stdout


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    *first, setup = readme_commands()
    with tempfile.TemporaryDirectory(prefix="newcomer-") as name:
        newcomer = Newcomer(Path(name))
        for line in first:
            newcomer.step(line.replace("…", f"--quiet file://{ROOT}"), Path(name))
        check(newcomer.step(f'findspot "{QUESTION}" -n 1', newcomer.project))
        report("a right answer in an own project", newcomer.elapsed_s(), ANSWER_GOAL_S)
        newcomer.step(f"{setup} --yes", newcomer.project)
        check(asyncio.run(ask(newcomer.config, newcomer.project, newcomer.environment)))
        report("a right answer for a connected assistant", newcomer.elapsed_s(), CONNECTED_GOAL_S)


def readme_commands() -> list[str]:
    """Return the commands of the README to clone (until the release), install and set up.

    Without uv, the alternative in the comment is taken: pip.
    """
    page = re.sub(r"<!--.*?-->", "", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL)
    commands = []
    for line in "".join(_BLOCK.findall(page)).splitlines():
        command, _, alternative = line.partition("# or: ")
        if command.startswith("uv ") and not shutil.which("uv"):
            command = f"python -m {alternative}"
        if command.startswith(("git clone", "uv ", "python ", "findspot setup")):
            commands.append(command.partition("#")[0].strip())
    return commands


async def ask(config: Path, project: Path, environment: Mapping[str, str]) -> str:
    """Return what an assistant gets from the server that its configuration names."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    entry = json.loads(config.read_text("utf-8"))["mcpServers"]["findspot"]
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], cwd=str(project), env=dict(environment)
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        answer = await session.call_tool("search_code", {"query": QUESTION})
    return "".join(part.text for part in answer.content if part.type == "text")


def check(answer: str) -> None:
    if not re.match(rf" *1\.? +{re.escape(ANSWER)}:", answer):
        sys.exit(f"not the right answer to: {QUESTION}\n{answer}")


def report(what: str, seconds: float, goal_s: int) -> None:
    times = os.times()
    busy = times.user + times.system + times.children_user + times.children_system
    met = "" if seconds <= goal_s else ", not met"
    print(f"{seconds:6.1f} s  until {what} (goal {goal_s} s{met}; {busy:.1f} s of processor time)")  # noqa: T201


if __name__ == "__main__":
    main()
