"""`findspot setup` through the real program, on configuration files as clients and people leave them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from findspot.catalogue.known_clients import BY_NAME, Machine
from findspot.catalogue.server_sources import named, parse_config, value_at
from findspot.core.errors import InvalidArgumentError
from findspot.serve.cli.setup_command import command_in, with_server
from program import TIMEOUT_S, Outcome, Program

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = {
    path.stem: path.read_bytes() for name in ("setup", "clients") for path in (FIXTURES / name).iterdir()
}
"""Configurations as clients and people leave them."""


EXTRAS = {
    "claude-code": {"type": "stdio", "alwaysLoad": True},
    "vscode": {"type": "stdio"},
    "copilot": {"type": "stdio", "tools": ["*"], "deferTools": "never"},
    "opencode": {"type": "local", "enabled": True},
    "kilo": {"type": "local", "enabled": True},
    "continue": {"name": "findspot"},
    "goose": {
        "type": "stdio",
        "name": "Findspot",
        "description": "Find code and documentation by meaning",
        "enabled": True,
        "envs": {},
        "timeout": 300,
    },
}
"""What an entry says beside its command."""


class Desk:
    """A user's home folder, and the program run from it."""

    def __init__(self, program: Program, home: Path) -> None:
        self.program, self.home = program, home
        home.mkdir()
        self.env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": "", "CODEX_HOME": ""}
        self.env |= {"CLAUDE_CONFIG_DIR": "", "COPILOT_HOME": ""}
        self.machine = Machine(home=home, environ=self.env)

    def __call__(self, *arguments: str | Path, **others: object) -> Outcome:
        return self.program("setup", *arguments, env=self.env, **others)

    def path(self, name: str) -> Path:
        return BY_NAME[name].locations(self.machine)[0]

    def fill(self, *names: str) -> None:
        for name in names or FILES:
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.path(name).write_bytes(FILES[name])

    def contents(self) -> dict[str, bytes]:
        found = (path for path in self.home.rglob("*") if path.is_file())
        return {str(path.relative_to(self.home)): path.read_bytes() for path in found}


@pytest.fixture
def desk(findspot: Program, tmp_path: Path) -> Desk:
    return Desk(findspot, tmp_path / "user")


def servers(name: str, data: bytes) -> dict[str, object]:
    text = data.decode("utf-8-sig")
    client = BY_NAME[name]
    return named(value_at(parse_config(text, client.format), client.keys))


def toolsets_in(desk: Desk, name: str) -> str:
    arguments = command_in(servers(name, desk.path(name).read_bytes())["findspot"])
    return str(arguments[arguments.index("--toolsets") + 1])


def test_every_client_is_set_up_and_restored_byte_for_byte(desk: Desk) -> None:
    desk.fill()
    before = desk.contents()
    done = desk("--yes", "--json")
    assert done.code == 0, done.err
    assert {step["client"]: step["action"] for step in done.json["steps"]} == dict.fromkeys(FILES, "change")
    for name in FILES:
        entry = servers(name, desk.path(name).read_bytes())["findspot"]
        program, *arguments = command_in(entry)
        assert arguments[-3:] == ["serve", "--toolsets", "project"]
        assert Path(program).is_absolute()
        assert os.access(program, os.X_OK)
        extras = {key: value for key, value in entry.items() if key not in ("command", "cmd", "args")}
        assert extras == EXTRAS.get(name, {})
    after = desk.contents()
    again = desk("--yes", "--json")
    assert {step["action"] for step in again.json["steps"]} == {"unchanged"}
    assert desk.contents() == after
    undone = desk("--undo", "--yes")
    assert undone.code == 0, undone.err
    assert f"Restored {len(FILES)} files." in undone.out
    assert desk.contents() == before


def test_the_command_that_is_written_answers(desk: Desk) -> None:
    desk.fill("cursor")
    assert desk("--yes").code == 0
    entry = servers("cursor", desk.path("cursor").read_bytes())["findspot"]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(request) + "\n",
        env=os.environ | desk.env | {"FINDSPOT_HOME": str(desk.program.home)},
        cwd=desk.home,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "findspot"


def test_it_shows_what_it_would_write_and_writes_nothing(desk: Desk) -> None:
    desk.fill("vscode", "codex")
    before = desk.contents()
    shown = desk("--dry-run")
    assert shown.code == 0
    assert f"VS Code would change: {desk.path('vscode')}" in shown.out
    assert '+        "findspot": {' in shown.out
    assert "+[mcp_servers.findspot]" in shown.out
    assert "Cursor" not in shown.out
    assert desk.contents() == before
    assert not desk.program.home.exists()


def test_it_asks_first(desk: Desk) -> None:
    desk.fill("cursor")
    before = desk.contents()
    refused = desk()
    assert refused.code == 2
    assert "Pass --yes" in refused.err
    run = desk.program.on_terminal
    answers = {"Write 1 file? [y/N]": "n\n"}
    declined = run("setup", answers=answers, env=desk.env)
    assert declined.code == 1
    assert desk.contents() == before
    answers = {"Write 1 file? [y/N]": "y\n"}
    agreed = run("setup", answers=answers, env=desk.env)
    assert agreed.code == 0
    assert toolsets_in(desk, "cursor") == "project"


def test_each_assistant_can_be_chosen(desk: Desk) -> None:
    """first-impression 4: one yes was for all files."""
    desk.fill("cursor", "claude-code", "codex")
    kept = desk.path("cursor").read_bytes()
    answers = {
        "Write 3 files? [y/N, c to choose]": "c\n",
        f"Claude Code: write {desk.path('claude-code')}? [y/N]": "y\n",
        f"Cursor: write {desk.path('cursor')}? [y/N]": "n\n",
        f"Codex: write {desk.path('codex')}? [y/N]": "y\n",
    }
    done = desk.program.on_terminal("setup", answers=answers, env=desk.env)
    assert done.code == 0, done.err
    assert desk.path("cursor").read_bytes() == kept
    assert (toolsets_in(desk, "claude-code"), toolsets_in(desk, "codex")) == ("project", "project")
    assert "Cursor: done" not in done.out
    none = desk.program.on_terminal(
        "setup", "--toolsets", "all", answers={"Write 3 files? [y/N, c to choose]": "\n"}, env=desk.env
    )
    assert none.code == 1
    assert toolsets_in(desk, "codex") == "project"


def test_plugins_are_offered_where_a_client_has_them(desk: Desk) -> None:
    """first-impression 4: the plugin is what makes an assistant prefer Findspot."""
    desk.fill("claude-code", "vscode")
    done = desk("--yes")
    assert "  Claude Code: claude plugin marketplace add https://" in done.err
    assert " && claude plugin install findspot@findspot" in done.err
    assert "  VS Code:" not in done.err


def test_toolsets_are_chosen_once(desk: Desk) -> None:
    desk.fill("cursor", "claude-code")
    assert desk("--yes", "--client", "cursor", "--toolsets", "project,documents").code == 0
    done = desk("--yes")
    assert done.err.rstrip().endswith("run `findspot setup --toolsets all`.")
    assert (toolsets_in(desk, "cursor"), toolsets_in(desk, "claude-code")) == ("project,documents", "project")
    claude = desk.path("claude-code")
    claude.write_bytes(claude.read_bytes().replace(b'"alwaysLoad": true', b'"alwaysLoad": false'))
    before = desk.contents()
    again = desk.program.on_terminal("setup", answers={}, env=desk.env)
    assert again.code == 0, again.err
    assert desk.contents() == before, "neither a question nor a change"
    assert desk("--yes", "--toolsets", "all").code == 0
    assert (toolsets_in(desk, "cursor"), toolsets_in(desk, "claude-code")) == ("all", "all")
    wrong = desk("--yes", "--toolsets", "everything")
    assert wrong.code == 2
    assert "Known: project, cortex, documents, catalogue, all." in wrong.err


def test_toolsets_of_the_users_settings_are_left_to_them(desk: Desk) -> None:
    assert desk.program("config", "set", "--global", "toolsets", "documents", env=desk.env).code == 0
    desk.fill("cursor")
    assert desk("--yes").code == 0
    assert servers("cursor", desk.path("cursor").read_bytes())["findspot"]["args"][-1] == "serve"


def test_a_file_that_changes_while_the_user_thinks_is_left_alone(desk: Desk) -> None:
    desk.fill("cursor")
    change = with_server(BY_NAME["cursor"], desk.path("cursor"), ["findspot", "serve"])
    desk.path("cursor").write_bytes(b'{"mcpServers": {"new": {}}}')
    with pytest.raises(InvalidArgumentError, match="has changed since it was read"):
        change.write()
    assert desk.path("cursor").read_bytes() == b'{"mcpServers": {"new": {}}}'


def test_a_named_client_gets_its_first_file(desk: Desk) -> None:
    done = desk("--client", "zed", "--client", "codex", "--yes")
    assert done.code == 0, done.err
    assert "findspot" in servers("zed", desk.path("zed").read_bytes())
    assert "findspot" in servers("codex", desk.path("codex").read_bytes())
    assert not desk.path("cursor").exists()
    assert desk("--undo", "--client", "zed", "--yes").code == 0
    assert not desk.path("zed").exists()
    assert desk.path("codex").exists()
    assert desk("--client", "emacs").code == 2


def test_nobody_to_set_up(desk: Desk) -> None:
    done = desk("--yes", "--json")
    assert done.code == 2
    assert "--client NAME" in done.err
    assert desk.contents() == {}
    assert "There is nothing to undo." in desk("--undo", "--yes").out


def test_a_malformed_file_is_left_alone(desk: Desk) -> None:
    name, broken, line = "cursor", b'{\n  "mcpServers": {\n    "a": {}\n    "b": {}\n  }\n}\n', "line 4"
    desk.fill("gemini")
    desk.path(name).parent.mkdir(parents=True)
    desk.path(name).write_bytes(broken)
    done = desk("--yes")
    assert done.code == 1
    assert str(desk.path(name)) in done.err
    assert line in done.err
    assert "was not touched" in done.err
    assert "Left alone: " in done.err.splitlines()[-1]
    assert "Gemini CLI: done." in done.out
    assert desk.path(name).read_bytes() == broken
    assert "findspot" in servers("gemini", desk.path("gemini").read_bytes()), "the others are set up"


@pytest.mark.parametrize("new", [{}, {"new": {"command": "y"}}])
def test_an_entry_of_ones_own_comes_back(desk: Desk, new: dict[str, object]) -> None:
    """Also to a file that others have changed since."""
    own = {"command": "mine", "env": {"A": "b"}}
    desk.fill("cursor")
    desk.path("cursor").write_text(json.dumps({"mcpServers": {"findspot": own}}))
    assert desk("--yes").code == 0
    changed = json.loads(desk.path("cursor").read_bytes())
    entry = changed["mcpServers"]["findspot"]
    assert entry["env"] == {"A": "b"}
    assert entry["command"] != "mine"
    if new:
        desk.path("cursor").write_text(json.dumps({"mcpServers": changed["mcpServers"] | new}))
    assert desk("--undo", "--yes").code == 0
    assert json.loads(desk.path("cursor").read_bytes()) == {"mcpServers": new | {"findspot": own}}


def test_undo_takes_findspot_out_however_often_the_file_was_rewritten(desk: Desk) -> None:
    desk.fill("cursor")
    before = {"mcpServers": {"fs": {"command": "npx"}}}
    desk.path("cursor").write_text(json.dumps(before))
    assert desk("--yes").code == 0
    for number in range(2):
        rewritten = json.loads(desk.path("cursor").read_bytes()) | {"starts": number}
        desk.path("cursor").write_text(json.dumps(rewritten))
        again = desk("--yes", "--json", "--toolsets", ("all", "project")[number])
        assert again.json["steps"][0]["action"] == "change", "an outdated command is replaced"
    assert desk("--undo", "--yes").code == 0
    assert json.loads(desk.path("cursor").read_bytes()) == before | {"starts": 1}


def test_undo_restores_everything_though_nobody_reads_what_it_says(desk: Desk) -> None:
    desk.fill()
    before = desk.contents()
    assert desk("--yes").code == 0
    command = [sys.executable, "-m", "findspot", "setup", "--undo", "--yes"]
    environment = os.environ | desk.env | {"FINDSPOT_HOME": str(desk.program.home)}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command, stdout=writer, env=environment, cwd=desk.home, timeout=TIMEOUT_S, check=False
    )
    os.close(writer)
    assert done.returncode == 0
    assert desk.contents() == before


def test_links_and_permissions_stay(desk: Desk, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_bytes(FILES["cursor"])
    dotfiles.chmod(0o640)
    desk.path("cursor").parent.mkdir(parents=True)
    desk.path("cursor").symlink_to(dotfiles)
    assert desk("--yes").code == 0
    assert desk.path("cursor").is_symlink()
    assert dotfiles.stat().st_mode & 0o777 == 0o640
    assert "findspot" in servers("cursor", dotfiles.read_bytes())
    assert desk("--undo", "--yes").code == 0
    assert desk.path("cursor").is_symlink()
    assert dotfiles.read_bytes() == FILES["cursor"]
