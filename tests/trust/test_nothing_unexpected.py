"""Whatever a user types, and whatever is broken around a command, it ends with a sentence and its code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from program import Program
from trust.conftest import MakeFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has neither /dev/full nor /proc")

SCRIPT = Path(__file__).parents[1] / "hostile_commands.py"
DOCUMENTED = (0, 1, 2, 3, 4, 130)


@pytest.mark.parametrize("values", [1, pytest.param(8, marks=pytest.mark.nightly)])
def test_bad_values_and_circumstances(
    values: int, findspot: Program, make: MakeFolder, tmp_path: Path
) -> None:
    """first-impression 3: no trace and nothing unexpected, in every command; exit codes as documented.

    Each parameter gets so many bad values, others than the one before; at night it gets all of them.
    """
    root = make({"pyproject.toml": "", "a.py": "def function_1():\n    return 1\n", "b.md": "# function_1\n"})
    findspot.make_index(root)
    own = {"FINDSPOT_HOME": str(findspot.home), "HOME": str(tmp_path / "user"), "BROWSER": "true"}
    ran = subprocess.run(
        [sys.executable, SCRIPT, str(values)],
        check=False,
        cwd=root,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-3_000:]
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(lines) > 400
    for line in lines:
        shown = f"{line['out']}{line['err']}"
        assert line["code"] in DOCUMENTED, str(line)[:3_000]
        assert "unexpected" not in shown, str(line)[:3_000]
        assert "Traceback" not in shown, str(line)[:3_000]
        assert "\x1b[2J" not in shown
        no_match = line["words"][0] == "grep" and line["code"] == 1  # as grep itself: no word, and a status
        quiet = no_match or line["in"] in ("closed streams", "full output")
        assert line["code"] in (0, 130) or quiet or shown
    assert {line["in"] for line in lines} >= {"closed streams", "full output", "folder gone", "bad value"}
    full = [line for line in lines if line["in"] == "full output" and line["words"][0] == "search"]
    assert all("The answer cannot be written: No space left on device." in line["err"] for line in full)


def test_a_group_without_a_command_shows_its_help(findspot: Program) -> None:
    for group in ("store", "tools", "chunks", "documents"):
        shown = findspot(group)
        assert (shown.code, shown.out) == (2, "")
        assert f"Usage: findspot {group} [OPTIONS] COMMAND [ARGS]..." in shown.err.splitlines()
        assert "Commands:" in shown.err.splitlines()
        assert "\\n" not in shown.err


def test_streams_that_are_closed_or_full(findspot: Program, make: MakeFolder) -> None:
    """Real streams: Python's own end flushes them once more."""
    root = make({"pyproject.toml": "", "a.py": "def function_1():\n    return 1\n"})
    findspot.make_index(root)
    environment = os.environ | {"FINDSPOT_HOME": str(findspot.home)}
    program = Path(sys.executable).with_name("findspot")
    for redirected, code, error in (
        (">&-", 0, "1 result\n"),
        ("<&- >&- 2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
        (">/dev/full", 1, "error: The answer cannot be written: No space left on device.\n"),
        ("--json >/dev/full", 1, "error: The answer cannot be written: No space left on device.\n"),
        ("--project missing --json >/dev/full 2>&1", 1, ""),
    ):
        ran = subprocess.run(
            ["sh", "-c", f'"$0" search function_1 {redirected}', program],
            check=False,
            cwd=root,
            env=environment,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert (ran.returncode, ran.stderr) == (code, error), redirected
