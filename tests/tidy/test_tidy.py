"""What the product says about itself is true, and stays small, light and tidy."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import click
import pytest

from findspot.core import errors
from findspot.core.model import SkipReason
from findspot.core.settings import KEYS
from findspot.serve.cli.app import COMMANDS
from findspot.serve.cli.app import findspot as program

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "findspot"
GENERATED = {
    line.removeprefix("/docs/")
    for line in (ROOT / ".gitignore").read_text().splitlines()
    if line.startswith("/docs/")
}
"""Pages that `make docs` writes."""
PAGES = [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED)]

COMMAND = re.compile(r"(?<!from )(?<![\w/.-])findspot ((?:[a-z]+\b|--?[a-z])[^`\n|&;)]*)")
VARIABLE = re.compile(r"\b(?:FINDSPOT|CORTEX)_[A-Z0-9_]*[A-Z0-9]\b")
OTHER_VARIABLES = {
    "FINDSPOT_NATIVE",
    "FINDSPOT_HOME",
    "FINDSPOT_IN_PROCESS",
    "FINDSPOT_INPUT_ID",
    "FINDSPOT_TEST_STARTS",
}


@cache
def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def error_codes() -> set[str]:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    return {kind.code for kind in classes if issubclass(kind, errors.FindspotError)}


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


class TestSurface:
    def test_the_library_page_names_what_it_exports(self) -> None:
        page = (ROOT / "docs" / "library.md").read_text()
        for name in ("Engine", "Query", "FindspotError"):
            assert name in page

    def test_every_module_says_what_it_is(self) -> None:
        for path in SOURCE.rglob("*.py"):
            text = path.read_text()
            assert not text.strip() or text.startswith('"""'), path

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_has_help(self, name: str) -> None:
        command = program.get_command(click.Context(program), name)
        assert command is not None
        assert command.help


def spoken_commands() -> list[tuple[str, str]]:
    """Every command line that a page shows, with the page; of the changelog, the newest version counts."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for line in COMMAND.findall(text.split("\n## ")[1] if page.name == "CHANGELOG.md" else text):
            found.append((page.name, line.strip()))
    return found


class TestPages:
    @pytest.mark.parametrize(("page", "line"), spoken_commands())
    def test_commands_and_options_exist(self, page: str, line: str) -> None:
        command: click.Command = program
        context = click.Context(program)
        for word in line.split():
            if (
                isinstance(command, click.Group)
                and not word.startswith("-")
                and word.replace("-", "_").isidentifier()
            ):
                inner = command.get_command(context, word)
                assert inner is not None, f"{page}: `findspot {line}`: no command {word}"
                command = inner
        options = {
            name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
        }
        options |= {"--help", "-h"}
        for word in re.findall(r"(?<=\s)--[a-z][a-z-]*", " " + line):
            assert word in options, f"{page}: `findspot {line}`: no option {word}"

    def test_environment_variables_exist(self) -> None:
        known = {key.variable for key in KEYS} | OTHER_VARIABLES
        for page in PAGES:
            assert set(VARIABLE.findall(page.read_text())) <= known, page.name

    def test_error_codes_exist(self) -> None:
        """A code is what stands beside the word, or is spelled like one of ours."""
        for page in PAGES:
            for code in re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", page.read_text()):
                if code.endswith(
                    ("_NOT_FOUND", "_MISMATCH", "_CORRUPT", "_BUSY", "_ERROR", "_FAILED", "_FULL")
                ):
                    assert code in error_codes(), f"{page.name}: {code}"

    @pytest.mark.parametrize("name", ["errors.md", "troubleshooting.md"])
    def test_a_page_of_errors_names_them_all(self, name: str) -> None:
        page = ROOT / "docs" / name
        if not page.exists():
            pytest.skip("no such page")
        text = page.read_text()
        missing = [code for code in error_codes() if code not in text]
        missing += [reason for reason in SkipReason if reason not in text]
        assert not missing

    def test_links_between_pages_lead_somewhere(self) -> None:
        for page in PAGES:
            for target in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]+)", page.read_text()):
                known = (page.parent / target).exists() or target in GENERATED
                assert known, f"{page.name}: {target}"

    def test_the_changelog_has_a_place_for_what_comes_next(self) -> None:
        text = (ROOT / "CHANGELOG.md").read_text()
        assert re.search(r"^## (Unreleased|\d+\.\d+\.\d+ \((unreleased|[\d-]+)\))$", text, re.MULTILINE)


class TestTree:
    def test_no_paths_or_hosts_of_one_machine(self) -> None:
        elsewhere = re.compile(
            r"/wor[k]/|/far[m]/|/root/|/Users/[a-z]|(?:extra-)?index-url|artifactory|\bregistry\.[a-z-]+\.(?:com|org|net|io)\b"
        )
        for path in tracked():
            if path.suffix in (".txt", ".bin", ".zst", ".gz", ".sqlite") or path == Path(__file__):
                continue
            found = elsewhere.search(path.read_text("utf-8", "ignore"))
            assert not found, f"{path.relative_to(ROOT)}: {found[0] if found else ''}"

    def test_no_test_measures_time(self) -> None:
        """Speed belongs in benchmarks; a deadline that only ends a wait is fine."""
        measured = re.compile(r"perf_counter|process_time|thread_time|assert time\.\w+\(\) - \w+ < [\d.]")
        for path in (ROOT / "tests").rglob("*.py"):
            if path != Path(__file__):
                assert not measured.search(path.read_text()), path

    def test_no_leftovers(self) -> None:
        left = re.compile(r"\b(?:FIXME|XXX)\b|\bbreakpoint\(\)")
        for path in SOURCE.rglob("*.py"):
            assert not left.search(path.read_text()), path


def loaded_after(statement: str) -> set[str]:
    """The packages that a fresh interpreter has imported after a statement."""
    code = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split("\n")[-2].split())


class TestWeight:
    def test_import_findspot_is_light(self) -> None:
        assert not loaded_after("import findspot") & {"numpy", "mcp", "click", "sqlite3"}

    def test_the_engine_needs_no_protocol_nor_parsers(self) -> None:
        loaded = loaded_after("import findspot.engine")
        assert not loaded & {"mcp", "click", "tree_sitter", "pydantic", "toon_format"}

    def test_the_door_needs_the_standard_library_alone(self) -> None:
        loaded = loaded_after("import findspot.door.pipe, findspot.door.command")
        assert loaded - loaded_after("") - {"findspot"} <= sys.stdlib_module_names
        assert not loaded & {"pathlib", "asyncio", "subprocess", "typing", "dataclasses", "inspect"}

    def test_help_is_light(self) -> None:
        statement = "from findspot.serve.cli.app import run\nrun(['--help'])"
        assert not loaded_after(statement) & {"numpy", "mcp", "tree_sitter", "pydantic"}

    def test_a_server_loads_what_few_projects_need_when_one_does(self) -> None:
        loaded = loaded_after("import findspot.resident.sessions")
        assert not loaded & {"tree_sitter", "lancedb", "onnxruntime", "toon_format"}

    @pytest.mark.parametrize("name", ["findspot.core.model", "findspot.rank.signals", "findspot.text.tokens"])
    def test_the_inner_layers_need_nothing(self, name: str) -> None:
        importlib.import_module(name)
        assert not loaded_after(f"import {name}") & {"numpy", "mcp", "click", "tree_sitter"}
