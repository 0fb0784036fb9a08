"""Servers write a useful log, which nobody else can read and which holds no source text."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from e2e.harness import PATIENCE_S, until
from program import Program
from trust.conftest import MakeFolder, Serve

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_server_logs_what_it_does(findspot: Program, home: Path, make: MakeFolder, serve: Serve) -> None:
    """`search-mcp M1`: after indexing and watching, `findspot logs` said that nothing was logged."""
    project = make(
        {
            "pyproject.toml": "[project]\n",
            "a.py": "def very_own_words():\n    return 1\n",
            "keys.py": f"GITHUB = '{TOKEN}'\n",
            ".findspot.json": '{"maxFiles": "many"}',
        }
    )
    (project / "linked.py").symlink_to("a.py")
    log = home / "logs" / "findspot.log"
    pipe = serve(project, FINDSPOT_WATCH="true")
    pipe.values("index_codebase", path=str(project))
    until(lambda: "watching, strategy realtime" in log.read_text())
    (project / "b.py").write_text("def written_later():\n    return 2\n")
    until(lambda: ": 1 files indexed" in log.read_text())
    pipe.values("search_code", query="very own words")
    pipe.close_input()
    pipe.process.wait(timeout=PATIENCE_S)

    shown = findspot("logs", "--json").json["lines"]
    messages = "\n".join(line["message"] for line in shown)
    for part in (
        "server started: version",
        "connected: pipe 1 protocol 2025-11-25",
        f"{project}: .findspot.json: 'maxFiles' must be a positive integer; using the default",
        f"{project}: 4 files indexed",
        "1 symlink",
        "no longer watched",
        "server stopped",
    ):
        assert part in messages
    for source_text in ("very", "GITHUB", TOKEN):
        assert source_text not in messages
    levels = [line["level"] for line in shown]
    assert (levels.count("WARNING"), "ERROR" in levels) == (1, False)
    if os.name != "nt":
        for path, mode in ((home, 0o700), (log.parent, 0o700), (log, 0o600)):
            assert stat.S_IMODE(path.stat().st_mode) == mode
