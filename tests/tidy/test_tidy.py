"""What the product says about itself is true, and stays small, light and tidy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import click
import pytest

from findspot.serve.cli.app import COMMANDS
from findspot.serve.cli.app import findspot as program

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="other compilers warn of more")
@pytest.mark.skipif(
    not shutil.which("gcc") and os.environ.get("FINDSPOT_NATIVE") != "require", reason="gcc is not installed"
)
def test_the_compiled_part_is_free_of_warnings(tmp_path: Path) -> None:
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-DPy_LIMITED_API=0x030b0000"]
    sources = sorted(map(str, (ROOT / "src" / "native").glob("*.c")))
    command = ["gcc", "-c", *flags, f"-I{sysconfig.get_path('include')}", *sources]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_help() -> None:
    context = click.Context(program)
    commands = {name: program.get_command(context, name) for name in COMMANDS}
    assert [name for name, command in commands.items() if not (command and command.help)] == []


def test_no_paths_or_hosts_of_one_machine() -> None:
    elsewhere = re.compile(
        r"/wor[k]/|/far[m]/|/root/|/Users/[a-z]|(?:extra-)?index-url|artifactory|\bregistry\.[a-z-]+\.(?:com|org|net|io)\b"
    )
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    for path in (ROOT / name for name in listed.stdout.split("\0") if (ROOT / name).is_file()):
        if path.suffix in (".txt", ".bin", ".zst", ".gz", ".sqlite") or path == Path(__file__):
            continue
        found = elsewhere.search(path.read_text("utf-8", "ignore"))
        assert not found, f"{path.relative_to(ROOT)}: {found[0] if found else ''}"


def test_no_test_measures_time() -> None:
    """Speed belongs in benchmarks; a deadline that only ends a wait is fine."""
    measured = re.compile(r"perf_counter|process_time|thread_time|assert time\.\w+\(\) - \w+ < [\d.]")
    for path in (ROOT / "tests").rglob("*.py"):
        if path != Path(__file__):
            assert not measured.search(path.read_text()), path


def loaded_after(statement: str) -> set[str]:
    """The packages that a fresh interpreter has imported after a statement."""
    code = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split("\n")[-2].split())


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import findspot", "numpy mcp click sqlite3"),
        ("import findspot.engine", "mcp click tree_sitter pydantic toon_format"),
        ("from findspot.serve.cli.app import run\nrun(['--help'])", "numpy mcp tree_sitter pydantic"),
        ("import findspot.resident.sessions", "tree_sitter lancedb onnxruntime toon_format"),
        (
            "import findspot.core.model, findspot.rank.signals, findspot.text.tokens",
            "numpy mcp click tree_sitter",
        ),
    ],
)
def test_what_is_heavy_is_loaded_when_it_is_used(statement: str, heavy: str) -> None:
    assert not loaded_after(statement) & set(heavy.split())


def test_the_door_needs_the_standard_library_alone() -> None:
    loaded = loaded_after("import findspot.door.pipe, findspot.door.command")
    assert loaded - loaded_after("") - {"findspot"} <= sys.stdlib_module_names
    assert not loaded & {"pathlib", "asyncio", "subprocess", "typing", "dataclasses", "inspect"}
