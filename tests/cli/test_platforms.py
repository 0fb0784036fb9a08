"""The program where the console and the files' default encoding are not UTF-8, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from program import Program

EVERYTHING = """
import sys, warnings
warnings.filterwarnings("error", category=EncodingWarning, module="findspot")
from findspot.serve.cli.app import run
for line in (
    "index . --yes", "status", "search greeting", "search greet --format human", "docs size", "files **",
    "config", "config set maxFiles 10", "projects", "logs", "setup --client cursor --yes",
    "setup --undo --yes", "doctor", "reindex --yes", "delete --yes",
):
    assert run(line.split()) == 0, line
"""


def test_a_console_that_lacks_characters(findspot: Program, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "größe.py").write_text('def naïve():\n    """日本 → ✓ greeting"""\n', encoding="utf-8")
    env = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    findspot.make_index(tmp_path)
    shown = findspot("search", "greeting", "--format", "human", env=env)
    assert shown.code == 0, shown.err
    assert "\\u65e5\\u672c \\u2192 \\u2713 greeting" in shown.out


def test_no_file_is_read_in_the_systems_own_encoding(findspot: Program, tmp_path: Path) -> None:
    """Python can warn of every file that is opened without saying how; here that is an error."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text("def greet():\n    return 'greeting'\n")
    (tmp_path / "a.md").write_text("# Size\n")
    own = {k: v for k, v in os.environ.items() if not k.startswith("FINDSPOT_")}
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", EVERYTHING],
        env=own | {"FINDSPOT_HOME": str(findspot.home), "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "EncodingWarning" not in done.stderr
