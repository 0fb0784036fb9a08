"""Where clients are on each system, and which command starts Findspot for each way to install it.

Of clients whose files lie alike, one is named.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from findspot.catalogue.known_clients import BY_NAME, CLIENTS, Machine
from findspot.serve.cli.setup_command import Python, decode, serve_command
from findspot.text.jsonc import MalformedError

ROO = "User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
PLACES = {
    "linux": {
        "claude-code": ".claude.json",
        "claude-desktop": ".config/Claude/claude_desktop_config.json",
        "codex": ".codex/config.toml",
        "zed": ".config/zed/settings.json",
        "cline": ".cline/data/settings/cline_mcp_settings.json",
        "roo": f".config/Code/{ROO}",
        "jetbrains": ".junie/mcp/mcp.json",
        "goose": ".config/goose/config.yaml",
    },
    "darwin": {
        "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
        "zed": ".config/zed/settings.json",
        "roo": f"Library/Application Support/Code/{ROO}",
    },
    "win32": {
        "claude-desktop": "AppData/Roaming/Claude/claude_desktop_config.json",
        "windsurf": ".codeium/windsurf/mcp_config.json",
        "roo": f"AppData/Roaming/Code/{ROO}",
        "goose": "AppData/Roaming/Block/goose/config/config.yaml",
    },
}


@pytest.mark.parametrize(
    ("platform", "name", "place"), [(p, n, place) for p, row in PLACES.items() for n, place in row.items()]
)
def test_each_client_has_its_place(tmp_path: Path, platform: str, name: str, place: str) -> None:
    machine = Machine(platform, tmp_path, {})
    client = BY_NAME[name]
    assert client.locations(machine)[0] == tmp_path / place
    assert client.configs(machine) == []
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("")
    assert client.configs(machine) == [tmp_path / place]


def test_the_outermost_folder_of_a_client_is_enough_but_not_the_home_folder(tmp_path: Path) -> None:
    for folder in (".cursor", ".junie", ".cline", f".config/Cursor/{ROO}"):
        (tmp_path / folder).mkdir(parents=True)
    found = [client.name for client in CLIENTS if client.configs(Machine("linux", tmp_path, {}))]
    assert found == ["cursor", "cline", "roo", "jetbrains"]


def test_the_spelling_of_a_file_that_exists_is_taken(tmp_path: Path) -> None:
    machine = Machine("linux", tmp_path, {})
    for client, name in (("opencode", "opencode"), ("kilo", "kilo"), ("amp", "settings")):
        folder = tmp_path / ".config" / client
        folder.mkdir(parents=True)
        assert BY_NAME[client].configs(machine) == [folder / f"{name}.json"]
        (folder / f"{name}.jsonc").touch()
        assert BY_NAME[client].configs(machine) == [folder / f"{name}.jsonc"]


def test_cline_in_an_editor_keeps_its_older_file(tmp_path: Path) -> None:
    older = (
        tmp_path / ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
    )
    older.parent.mkdir(parents=True)
    older.write_text("{}")
    assert BY_NAME["cline"].configs(Machine("linux", tmp_path, {})) == [older]


def test_a_program_on_the_path_is_enough(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.touch(0o755)
    machine = Machine("linux", tmp_path, {"PATH": str(program.parent)})
    assert BY_NAME["codex"].configs(machine) == [tmp_path / ".codex" / "config.toml"]


def test_variables_move_the_places(tmp_path: Path) -> None:
    moved = {
        name: str(tmp_path / name)
        for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA")
    }
    linux = Machine("linux", tmp_path, moved)
    assert BY_NAME["codex"].locations(linux) == [tmp_path / "CODEX_HOME" / "config.toml"]
    assert BY_NAME["claude-code"].locations(linux) == [tmp_path / "CLAUDE_CONFIG_DIR" / ".claude.json"]
    assert BY_NAME["zed"].locations(linux) == [tmp_path / "XDG_CONFIG_HOME" / "zed" / "settings.json"]
    windows = Machine("win32", tmp_path, moved)
    assert BY_NAME["zed"].locations(windows) == [tmp_path / "APPDATA" / "Zed" / "settings.json"]


def test_claude_desktop_as_a_windows_package_reads_its_own_folder(tmp_path: Path) -> None:
    own = tmp_path / "AppData/Local/Packages/Claude_abc123/LocalCache/Roaming/Claude"
    own.mkdir(parents=True)
    (tmp_path / "AppData/Roaming/Claude").mkdir(parents=True)
    machine = Machine("win32", tmp_path, {})
    assert BY_NAME["claude-desktop"].configs(machine) == [own / "claude_desktop_config.json"]


def test_every_edition_of_an_editor_is_found(tmp_path: Path) -> None:
    for edition in ("Code", "Code - Insiders"):
        (tmp_path / ".config" / edition / "User").mkdir(parents=True)
    found = BY_NAME["vscode"].configs(Machine("linux", tmp_path, {}))
    assert [path.parts[-3] for path in found] == ["Code", "Code - Insiders"]


def python(prefix: Path, path: str = "", script: str = "findspot") -> Python:
    scripts = prefix / "bin"
    scripts.mkdir(parents=True, exist_ok=True)
    if script:
        (scripts / script).touch(0o755)
    return Python(prefix, str(scripts / "python"), scripts, {"PATH": path}, "")


class TestCommand:
    def test_another_findspot_on_the_path_is_not_taken(self, tmp_path: Path) -> None:
        other = tmp_path / "other" / "findspot"
        other.parent.mkdir()
        other.touch(0o755)
        here = python(tmp_path / "venv", str(other.parent))
        assert serve_command(here) == [str(here.scripts / "findspot"), "serve"]

    def test_uvx_leaves_nothing_to_point_at(self, tmp_path: Path) -> None:
        here = python(tmp_path / "uv" / "archive-v0" / "Xy", str(tmp_path))
        assert serve_command(here) == ["uvx", "findspot", "serve"]
        (tmp_path / "uvx").touch(0o755)
        assert serve_command(here) == [str(tmp_path / "uvx"), "findspot", "serve"]

    def test_what_came_from_elsewhere_is_fetched_from_there(self, tmp_path: Path) -> None:
        here = replace(python(tmp_path / "archive-v0" / "Xy"), origin="file:///d/findspot.whl")
        assert serve_command(here) == ["uvx", "--from", "file:///d/findspot.whl", "findspot", "serve"]

    def test_pipx_run_neither(self, tmp_path: Path) -> None:
        here = python(tmp_path / ".cache" / "pipx" / "0f")
        assert serve_command(here) == ["pipx", "run", "findspot", "serve"]

    def test_on_windows_the_script_is_a_program(self, tmp_path: Path) -> None:
        here = python(tmp_path, script="findspot.exe")
        assert serve_command(here) == [str(here.scripts / "findspot.exe"), "serve"]

    def test_without_a_script_the_module_is_run(self, tmp_path: Path) -> None:
        here = python(tmp_path, script="")
        assert serve_command(here) == [here.executable, "-P", "-m", "findspot", "serve"]


def test_other_encodings_are_refused() -> None:
    with pytest.raises(MalformedError, match="line 2: this is not UTF-8"):
        decode("a\nü".encode("latin-1"))
    assert decode("\ufeff{}".encode()) == "{}"
