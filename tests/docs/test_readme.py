"""The README is short and right: the program still says what it and the first steps show."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.newcomer import readme_commands
from pages import ROOT, consoles, findspot, matches, run_line

from findspot.catalogue.known_clients import CLIENTS

README = ROOT / "README.md"
FIRST_STEPS = ROOT / "docs" / "quickstart.md"
MOST_WORDS = 700

RIGHT = {
    "search how is a file recognised as binary": r"\A *1  \S+/file_content\.py:\S+  likely  _is_binary",
    'grep -i gitignore --about "which files are ignored"': r"^src/findspot/discover/walk.py:\d+  ",
    "docs how do I undo setup": r"\A *1  docs/quickstart\.md:\S+  strong  .*Undo",
    "callers find_secrets": r"src/findspot/discover/file_content\.py\n  \d+  _scanned: found = find_secrets",
    "tests find_secrets": r"notice a change: tests/unit/discover/test_secrets\.py",
    "research how does readable_text reach find_secrets": r"readable_text → _scanned → find_secrets",
    "status --skipped": r"(?m)^binary +docs/pictures/\S+\.png",
    "doctor": r"(?m)^ok +model: ",
    "callees readable_text": r"\n  \d+  content_skip: return content_skip",
    "implementations Tool": r"tools/cortex\.py\n  \d+  _CortexTool: class _CortexTool",
    "impact find_secrets": r"_scanned calls find_secrets: found = find_secrets\(text\)",
    "importers src/findspot/discover/secrets.py": r"\nsrc/findspot/discover/file_content\.py\n",
    "files 'docs/*.md'": r"(?m)^docs/teams\.md$",
    "index": r"(?m)^  holds +\d+ code files",
}
"""What the answer of each command in the README and the first steps has in it."""
INTERACTIVE = {"setup", "setup --undo", "ui", "serve", '"where is the csrf token compared"'}
"""Commands that ask, go on, or are about another project: `tests/cli` and `make newcomer` run them."""


def script(name: str) -> ModuleType:
    """Load a script of the documentation, or of the root."""
    path = ROOT / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHOWN = ("src/", "docs/", "tests/unit/discover/", "plugins/")
"""What answers are about; the rest of the repository more than doubles the index."""


@pytest.fixture(scope="module", params=["part", pytest.param("whole", marks=pytest.mark.nightly)])
def repository(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tracked files: what ranks first depends on all of them."""
    folder = tmp_path_factory.mktemp("clone") / "findspot"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in tracked.stdout.split("\0"):
        is_shown = request.param == "whole" or "/" not in name or name.startswith(SHOWN)
        if is_shown and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def home(repository: Path) -> Path:
    return repository.parent / "home"


@pytest.fixture(scope="module")
def indexed(repository: Path, home: Path) -> str:
    """What indexing it says."""
    done = findspot(repository, home, "index", ".")
    return done.out + done.err


def test_it_is_short() -> None:
    """first-impression A2: it had 1,653 words."""
    assert len(README.read_text("utf-8").split()) <= MOST_WORDS


def test_it_counts_the_assistants() -> None:
    assert f"[{len(CLIENTS)} assistants](docs/quickstart.md#5-connect-an-assistant)" in README.read_text(
        "utf-8"
    )


def test_every_claim_links_to_its_measurement() -> None:
    """first-impression A1."""
    claims = README.read_text("utf-8").partition("## What makes it different")[2].partition("\n## ")[0]
    for claim in claims.strip().split("\n* "):
        assert re.search(r"\[(?:Measured|Details)\]\((?:benchmarks|docs)/", claim), claim


def test_a_newcomer_runs_its_commands() -> None:
    """`make newcomer` takes them from the page, in this order."""
    clone, install, setup = readme_commands()
    assert clone.startswith("git clone … findspot")
    assert install in ("uv tool install ./findspot", "python -m pip install ./findspot")
    assert setup == "findspot setup"


def shown_commands() -> list[str]:
    """Return the arguments of every `findspot` in the README and in the steps before setup, each once."""
    steps = FIRST_STEPS.read_text("utf-8").partition("\n## 2. ")[2].partition("\n## 5. ")[0]
    text = README.read_text("utf-8") + steps
    lines = "".join(re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)).splitlines()
    commands = [line.partition("#")[0].strip() for line in lines]
    commands += re.findall(r"`(findspot [^`]+)`", text)
    return list(dict.fromkeys(c.removeprefix("findspot ") for c in commands if c.startswith("findspot ")))


def test_every_command_is_right(repository: Path, home: Path, indexed: str) -> None:
    """first-impression B4: commands of the README answered wrongly, or nothing, on this repository."""
    assert "holds" in indexed
    checked = [command for command in shown_commands() if command not in INTERACTIVE]
    assert sorted(checked) == sorted(RIGHT), "say in RIGHT what each command should find"
    for command in checked:
        shown = findspot(repository, home, *shlex.split(command)).out
        assert re.search(RIGHT[command], shown), f"{command}\n{shown}"
        assert "weak" not in shown.partition("\n")[0]


def test_the_first_steps_say_what_the_program_says(repository: Path, home: Path, indexed: str) -> None:
    for line, shown in consoles(FIRST_STEPS):
        output = run_line(line, repository, home)
        assert matches(shown, output), f"$ {line}\n{output}"


def test_the_exchange_is_what_a_server_answers(repository: Path, home: Path, indexed: str) -> None:
    """first-impression M11: a page shows an assistant that uses it."""
    exchange = script("docs/exchange.py")
    page = exchange.PAGE.read_text("utf-8")
    said = exchange.recorded(page)
    assert exchange.with_exchange(page, said) == page
    answer = exchange.exchange(asyncio.run(exchange.ask(repository, home)))
    *lines, total = _without_numbers(answer).strip().splitlines()[:-1]
    assert _without_numbers(said).strip().splitlines()[:-2] == lines, "run `python docs/exchange.py`"
    assert "more results" in total
    tokens = [int(re.findall(r"([\d,]+) tokens", text)[0].replace(",", "")) for text in (said, answer)]
    assert abs(tokens[0] - tokens[1]) <= 0.2 * tokens[1]


class TestDescription:
    """The description of the package, on the page of an index."""

    def test_links_and_pictures_are_absolute(self) -> None:
        """first-impression A14: relative links and pictures would be dead there."""
        build = script("hatch_build.py")
        text = build.with_absolute_links(README.read_text("utf-8"), "https://host.example/it", "v1.0")
        assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []
        assert "](https://host.example/it/raw/v1.0/docs/pictures/search-light.png)" in text
        assert "](https://host.example/it/blob/v1.0/benchmarks/README.md#real-issues)" in text

    def test_it_names_the_released_package(self) -> None:
        build = script("hatch_build.py")
        page = README.read_text("utf-8")
        assert "\nuv tool install findspot " not in re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
        text = build.released(page)
        assert "\nuv tool install findspot " in re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
        assert "git clone" not in text
        assert build.released(text) == text


def _without_numbers(text: str) -> str:
    return re.sub(r":\d[\d-]*", ":0", text)
