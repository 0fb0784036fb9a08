"""What the pages show works: their Python runs, their commands are understood, their links lead somewhere."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pages import PAGES, ROOT, WRITTEN, anchors, blocks, findspot, name_of
from reference_pages import GENERATED, generated

from contents import write_files
from findspot.catalogue.known_clients import CLIENTS
from findspot.catalogue.server_sources import Entry, parse_config, read_entry
from findspot.core import errors
from findspot.core.config import ci_branch
from findspot.core.model import SkipReason
from findspot.core.settings import KEYS, TOOLSETS
from findspot.search.token_budget import token_count
from findspot.serve.cli.app import COMMANDS
from findspot.serve.cli.app import findspot as program
from findspot.serve.mcp.tool import Tool, wire_tool
from findspot.serve.mcp.tools import all_tools

SEPARATORS = ("|", "&&", "<")
MOST_PAGES, MOST_WORDS = 22, 25_000
MOST_CHANGELOG_LINES = 60
"""Per version: what users notice."""

OTHER_VARIABLES = {
    *("FINDSPOT_NATIVE", "FINDSPOT_HOME", "FINDSPOT_IN_PROCESS", "FINDSPOT_INPUT_ID", "FINDSPOT_TEST_STARTS"),
}
ERROR_CODES = {
    kind.code
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.FindspotError)
}

_INLINE = re.compile(r"`([^`\n]*\bfindspot [^`\n]+)`")
_SPOKEN = re.compile(r"(?<!from )(?<![\w/.-])findspot ((?:[a-z]+\b|--?[a-z])[^`\n|&;)]*)")
_INSTALLED = re.compile(r"pip3? install\s+(?:-\S+\s+)*['\"]?([\w.-]+)")

PROJECT = {
    "src/login.py": '''\
"""Signing in."""


def authenticate(name: str, password: str) -> bool:
    """Whether a password is that of a customer, by its hash."""
    # TODO(ana): wait after three failures
    return hash_password(password) == stored_hash(name)


def hash_password(password: str) -> str:
    """Hash a password, slowly."""
    return password[::-1]


def stored_hash(name: str) -> str:
    return hash_password(name)


def sign_in(name: str, password: str) -> str:
    return "welcome" if authenticate(name, password) else "no"
''',
    "src/cart.py": '''\
class Cart:
    """What a customer is about to buy."""

    def __init__(self) -> None:
        self.prices: list[int] = []

    def total(self) -> int:
        return sum(self.prices)


def checkout(cart: Cart) -> int:
    return cart.total()
''',
    "docs/guide.md": "# Guide\n\n## Installation\n\nUnpack it, and run the installation program.\n",
}
TOOLS = '[{"name": "send_message", "description": "Send a message.", "inputSchema": {"type": "object"}}]'


def test_python_runs(tmp_path: Path) -> None:
    """The blocks of a page are one program, which supposes an index and a catalogue."""
    for name in ("project", "new-project"):
        write_files(tmp_path / "path" / "to" / name, PROJECT)
    (tmp_path / "tools.json").write_text(TOOLS)
    for command in ("index path/to/project", "tools index tools.json --no-embeddings"):
        findspot(tmp_path, tmp_path / "home", *command.split())
    programs = {page: source for page in PAGES if (source := "\n".join(blocks(page, "python")))}
    for page, source in programs.items():
        (tmp_path / f"{page.stem}_page.py").write_text(source, "utf-8")
    one_after_the_other = "import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path); print('END')"
    done = subprocess.run(
        [sys.executable, "-c", one_after_the_other, *(f"{page.stem}_page.py" for page in programs)],
        cwd=tmp_path,
        env=os.environ | {"FINDSPOT_HOME": str(tmp_path / "home"), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for source, said in zip(programs.values(), done.stdout.split("END\n"), strict=False):
        assert said or "print(" not in source


def shown_commands(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of every `findspot` that a shell block or a table of recipes runs."""
    lines = "".join(blocks(page, "bash")).splitlines()
    if page.name in ("cheatsheet.md", "cookbook.md"):
        rows = "".join(re.findall(r"^\|.*\n", page.read_text("utf-8"), re.MULTILINE))
        lines += [code.replace("\\|", "|") for code in _INLINE.findall(rows)]
    for line in lines:
        for _, run_by in itertools.groupby(shlex.split(line, comments=True), SEPARATORS.__contains__):
            program_name, *words = run_by
            if program_name == "findspot":
                yield words


def command_of(words: list[str]) -> tuple[click.Command, click.Context, list[str]]:
    """Return the command that some words name, with its context and its own arguments."""
    command, context = program, click.Context(program)
    while words and isinstance(command, click.Group) and re.fullmatch(r"[a-z][a-z-]*|.* .*", words[0]):
        _, inner, words = command.resolve_command(context, words)
        assert inner is not None
        context, command = click.Context(inner, parent=context, **inner.context_settings), inner
    return command, context, words


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_understood(page: Path) -> None:
    """Whole lines are read as the program would read them; of any other, command and options exist."""
    for words in shown_commands(page):
        command, context, rest = command_of(words)
        command.parse_args(context, rest)
    text = page.read_text("utf-8")
    for line in _SPOKEN.findall(text.split("\n## ")[1] if page.name == "CHANGELOG.md" else text):
        command, context, _ = command_of(line.split())
        known = {name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
        assert set(re.findall(r"(?<=\s)--[a-z][a-z-]*", f" {line}")) <= known, line


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "json")], ids=name_of)
def test_json_can_be_read(page: Path) -> None:
    for block in blocks(page, "json"):
        assert json.loads(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for path, heading in re.findall(
        r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)", page.read_text("utf-8")
    ):
        target = page.parent / path if path else page
        assert target.exists() or target.name in GENERATED, path
        assert not heading or heading in anchors(target), f"{path}#{heading}"


def test_variables_and_error_codes_exist() -> None:
    """A code is what stands beside the word, or is spelled like one of ours."""
    known = {key.variable for key in KEYS} | OTHER_VARIABLES
    for page in PAGES:
        text = page.read_text("utf-8")
        assert set(re.findall(r"\b(?:FINDSPOT|CORTEX)_[A-Z0-9_]*[A-Z0-9]\b", text)) <= known, page.name
        kinds = "NOT_FOUND|MISMATCH|CORRUPT|BUSY|ERROR|FAILED|FULL"
        assert set(re.findall(rf"`([A-Z]+(?:_[A-Z]+)*_(?:{kinds}))`", text)) <= ERROR_CODES, page.name


def test_a_page_explains_every_error_and_every_reason_to_skip_a_file() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    assert [word for word in (*ERROR_CODES, *SkipReason) if word not in text] == []


@pytest.mark.parametrize(
    ("page", "headings"),
    [
        ("clients.md", [client.title for client in CLIENTS]),
        ("commands.md", list(COMMANDS)),
        ("tools.md", [tool.name for tool in all_tools()]),
    ],
)
def test_reference_pages_name_everything(page: str, headings: list[str]) -> None:
    said = re.findall(r"^## (.+)$", generated(page), re.MULTILINE)
    assert said == headings
    assert "|  |" not in generated(page)  # every option and argument is explained


def test_the_page_of_settings_names_every_one() -> None:
    said = re.findall(r"^\| `([\w.]+)` \| .+ \| `\w+` \| .+ \|$", generated("configuration.md"), re.MULTILINE)
    assert sorted(said) == sorted(key.name for key in KEYS)


def test_reference_pages_are_not_committed() -> None:
    """They are made when the site is built, so that a new option changes no page in the repository."""
    tracked = subprocess.run(
        ["git", "ls-files", "docs"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {f"docs/{name}" for name in GENERATED} & set(tracked.stdout.split())


def remote_entries() -> dict[str, str]:
    """The entries for a team's server by the client's title."""
    page = (ROOT / "docs" / "teams.md").read_text("utf-8")
    section = page.split("### Connect assistants")[1].split("\n### ")[0]
    return dict(re.findall(r"^\| (.+?) \| `(\{.+?\})`", section, re.MULTILINE))


def test_every_client_is_connected_to_a_server_or_needs_a_bridge() -> None:
    bridged = {"Claude Desktop", "JetBrains Junie"}
    assert remote_entries().keys() == {client.title for client in CLIENTS} - bridged


@pytest.mark.parametrize("title", remote_entries())
def test_an_entry_for_a_server_has_its_address_and_the_token(title: str) -> None:
    """Findspot reads the entries of clients, too: what the page shows means the same to it."""
    (kind,) = (client.format for client in CLIENTS if client.title == title)
    text = remote_entries()[title]
    entry = read_entry(parse_config(f"x = {text}", kind)["x"] if kind == "toml" else parse_config(text, kind))
    assert isinstance(entry, Entry)
    assert entry.url == "https://findspot.example.com/mcp"
    assert re.fullmatch(r"Bearer (TOKEN|\S*(TEAM_TOKEN|findspot-token)\S*)", entry.headers["Authorization"])
    assert not entry.disabled


def test_the_variables_that_name_a_branch() -> None:
    page = (ROOT / "docs" / "teams.md").read_text("utf-8")
    section = page.split("variables that is set:")[1].split("\n###")[0]
    named = re.findall(r"`([A-Z_]+)`", section)
    assert len(named) == len(set(named)) == 9
    for position, name in enumerate(named):
        assert ci_branch(dict.fromkeys(named[position:], "later") | {name: "this"}) == "this"


def test_the_page_of_the_tools_has_their_annotations() -> None:
    """documents A12: the page called `search_create_index` idempotent, and the wire did not."""
    rows = generated("tools.md").splitlines()
    shown = {row.split("`")[1] for row in rows if row.endswith("| not idempotent |")}
    told = [tool for tool in all_tools() if not tool.annotations["idempotentHint"]]
    assert shown == {tool.name for tool in told if not tool.annotations["destructiveHint"]}
    assert "search_create_index" in shown


def test_nobody_is_told_to_install_a_strangers_package() -> None:
    """code-review B3: an error and a page named packages of unknown people for model weights."""
    texts = [*PAGES, *(ROOT / "src").rglob("*.py")]
    named = {name for path in texts for name in _INSTALLED.findall(path.read_text("utf-8"))}
    assert named <= {".", "findspot"}


def test_the_pages_stay_few_and_short() -> None:
    """41 pages said the same things several times."""
    assert len(WRITTEN) <= MOST_PAGES
    assert sum(len(page.read_text("utf-8").split()) for page in WRITTEN) <= MOST_WORDS
    _, *versions = (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## ")
    assert re.match(r"Unreleased\n|\d+\.\d+\.\d+ \((unreleased|[\d-]+)\)\n", versions[0])
    assert [text.splitlines()[0] for text in versions if text.count("\n") > MOST_CHANGELOG_LINES] == []


def tool_tokens(tool: Tool) -> int:
    """The tokens of a tool as a model sees it."""
    sent = wire_tool(tool, enhanced=False)
    return token_count(sent.model_dump_json(by_alias=True, include={"name", "description", "input_schema"}))


def test_a_page_says_what_the_tools_cost() -> None:
    page = " ".join((ROOT / "docs" / "quickstart.md").read_text("utf-8").split())
    for toolset in TOOLSETS:
        cost = sum(tool_tokens(tool) for tool in all_tools().offered((toolset,)))
        assert f"`{toolset}` {round(cost, -2):,}" in page
