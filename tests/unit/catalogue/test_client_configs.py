"""Every client's configuration in its real format: which servers it names, and with which values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.known_clients import Machine, project_files, user_files
from findspot.catalogue.server_sources import (
    MissingVariableError,
    ServerSpec,
    expand,
    find_configurations,
    input_variable,
    read_sources,
    server_table,
    without_literals,
)
from findspot.core.errors import InvalidArgumentError

from .conftest import Write, entry, index

Put = Callable[[str, str], Path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "findspot"))
    return tmp_path


@pytest.fixture
def put(home: Path) -> Put:
    def written(name: str, text: str) -> Path:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return written


def read(path: Path, project: Path | None = None) -> dict[str, ServerSpec]:
    return {spec.name: spec for spec in read_sources([path], project=project).servers}


CLAUDE_DESKTOP = """{
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/files"]},
    "findspot": {"command": "/usr/local/bin/findspot", "args": ["serve"]}
  },
  "globalShortcut": ""
}"""

CURSOR = """{
  "mcpServers": {
    "web": {"command": "node", "args": ["${workspaceFolder}/server.js"], "envFile": "${workspaceFolder}/.env",
            "env": {"KEY": "${env:API_KEY}", "HERE": "${workspaceFolderBasename}${/}x"}},
    "remote": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:API_KEY}"}}
  }
}"""

WINDSURF = """{
  "mcpServers": {
    "figma": {"serverUrl": "https://figma.example/mcp", "disabledTools": ["delete_file"]},
    "off": {"command": "npx", "args": ["x"], "disabled": true}
  }
}"""

VSCODE = """// The servers of this workspace
{
  "inputs": [
    {"type": "promptString", "id": "api-key", "description": "Perplexity API key", "password": true},
    {"type": "pickString", "id": "region", "options": ["eu", {"label": "America", "value": "us"}],
     "default": "eu"},
  ],
  "servers": {
    /* streamable HTTP */
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/"},
    "perplexity": {
      "type": "stdio",
      "command": "npx", // comes with node
      "args": ["-y", "server-perplexity-ask", "--home", "${userHome}", "--region", "${input:region}"],
      "env": {"PERPLEXITY_API_KEY": "${input:api-key}"},
    },
  },
}"""

VSCODE_SETTINGS = """{
  // editor
  "editor.fontSize": 14,
  "mcp": {"inputs": [{"id": "token", "type": "promptString"}],
          "servers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}},
}"""

COPILOT = """{"mcpServers": {
  "all": {"type": "local", "command": "npx", "args": ["a"], "tools": ["*"]},
  "few": {"type": "sse", "url": "https://example.com/sse", "tools": ["read", "list"]}
}}"""

CODEX = """model = "o3"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
env_vars = ["LOCAL_TOKEN"]

[mcp_servers.context7.env]
MY_ENV_VAR = "MY_ENV_VALUE"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }
env_http_headers = { "X-Token" = "OTHER" }
disabled_tools = ["screenshot"]

[mcp_servers.off]
command = "x"
enabled = false
"""

GEMINI = """{
  "theme": "dark", "tools": {"sandbox": false},
  "mcpServers": {
    "py": {"command": "python", "args": ["-m", "srv"], "cwd": "./tools", "env": {"KEY": "$MY_KEY"},
           "timeout": 15000, "includeTools": ["a", "b"], "excludeTools": ["b"]},
    "web": {"httpUrl": "http://localhost:3000/mcp", "headers": {"A": "Bearer ${MY_KEY}"}}
  }
}"""

ZED = """{
  "context_servers": {
    // custom, as written today
    "one": {"source": "custom", "command": "npx", "args": ["x"], "env": {"A": "1"}},
    "older": {"command": {"path": "uvx", "args": ["y"], "env": {"B": "2"}}, "settings": {}},
    "remote": {"url": "https://example.com/mcp", "headers": {"X": "y"}},
    "extension": {"source": "extension", "settings": {"key": "v"}},
    "off": {"enabled": false, "command": "z"}
  },
}"""


def test_claude_desktop(put: Put) -> None:
    servers = read(put(".config/Claude/claude_desktop_config.json", CLAUDE_DESKTOP))
    assert servers.keys() == {"filesystem"}, "Findspot's own entry is left out"
    assert servers["filesystem"].args[1:] == ("@modelcontextprotocol/server-filesystem", "/srv/files")


def test_cursor(put: Put, home: Path) -> None:
    path = put("site/.cursor/mcp.json", CURSOR)
    sources = read_sources([path], project=Path("/elsewhere"))
    assert sources.notes[0].endswith("'web' names an envFile, which is not read; name its variables in env")
    servers = {spec.name: spec for spec in sources.servers}
    web = servers["web"]
    assert web.args == (f"{home}/site/server.js",), "the workspace is the project of the file"
    assert web.expanded({"API_KEY": "k"}).env == {"KEY": "k", "HERE": "site/x"}
    assert servers["remote"].expanded({"API_KEY": "k"}).headers == {"Authorization": "Bearer k"}


def test_the_users_own_cursor_file_means_the_project_at_hand(put: Put, home: Path) -> None:
    path = put(".cursor/mcp.json", CURSOR)
    assert read(path, Path("/p"))["web"].args == ("/p/server.js",)
    assert read(path)["web"].expanded({"API_KEY": "k"}).args == (f"{home}/server.js",)


def test_windsurf(put: Put) -> None:
    sources = read_sources([put(".codeium/windsurf/mcp_config.json", WINDSURF)])
    (figma,) = sources.servers
    assert figma.url == "https://figma.example/mcp"
    assert not figma.offers("delete_file")
    assert figma.offers("get_file")
    assert sources.notes[0].endswith("server 'off' is disabled")


def test_vscode_with_comments_and_inputs(put: Put, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = {spec.name: spec for spec in read_sources([put("site/.vscode/mcp.json", VSCODE)]).servers}
    assert servers["github"].url == "https://api.githubcopilot.com/mcp/"
    ask = servers["perplexity"]
    assert ask.args[3] == str(home)
    with pytest.raises(MissingVariableError, match=r"the input region has no value.*FINDSPOT_INPUT_REGION"):
        ask.expanded()
    monkeypatch.setenv(input_variable("api-key"), "hunter2")
    monkeypatch.setenv(input_variable("region"), "us")
    assert ask.expanded().args[5] == "us"
    assert ask.expanded().env == {"PERPLEXITY_API_KEY": "hunter2"}


def test_vscode_settings(put: Put) -> None:
    path = put(".config/Code/User/settings.json", VSCODE_SETTINGS)
    assert read(path)["time"].args == ("mcp-server-time",)
    flat = put("flat.json", '{"mcp.servers": {"a": {"command": "x"}}}')
    assert read(flat).keys() == {"a"}


def test_copilot(put: Put) -> None:
    servers = read(put(".copilot/mcp-config.json", COPILOT))
    assert servers["all"].offers("anything")
    assert servers["few"].sse
    assert servers["few"].offers("read")
    assert not servers["few"].offers("write")


def test_codex(put: Put) -> None:
    sources = read_sources([put(".codex/config.toml", CODEX)])
    servers = {spec.name: spec for spec in sources.servers}
    assert servers.keys() == {"context7", "figma"}
    environ = {"FIGMA_OAUTH_TOKEN": "t", "OTHER": "o", "LOCAL_TOKEN": "l"}
    assert servers["context7"].expanded(environ).env == {"MY_ENV_VAR": "MY_ENV_VALUE", "LOCAL_TOKEN": "l"}
    assert servers["context7"].expanded({}).env["LOCAL_TOKEN"] == ""
    assert servers["figma"].expanded(environ).headers == {
        "X-Figma-Region": "us-east-1", "X-Token": "o", "Authorization": "Bearer t",
    }  # fmt: skip
    assert not servers["figma"].offers("screenshot")
    assert any(note.endswith("server 'off' is disabled") for note in sources.notes)


def test_gemini(put: Put) -> None:
    servers = read(put(".gemini/settings.json", GEMINI))
    py = servers["py"]
    assert (py.env, py.cwd) == ({"KEY": "${MY_KEY}"}, "./tools")
    assert [tool for tool in "abc" if py.offers(tool)] == ["a"]
    assert servers["web"].expanded({"MY_KEY": "k"}).headers == {"A": "Bearer k"}


def test_zed(put: Put) -> None:
    sources = read_sources([put(".config/zed/settings.json", ZED)])
    servers = {spec.name: spec for spec in sources.servers}
    assert servers.keys() == {"one", "older", "remote"}
    assert (servers["older"].command, servers["older"].args) == ("uvx", ("y",))
    assert servers["older"].env == {"B": "2"}
    notes = " ".join(sources.notes)
    assert "'extension' is run by its client itself" in notes


def test_clients_with_keys_of_their_own(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """first-impression M4: opencode, Kilo Code, Amp, Goose, Continue, Cline and Qwen Code."""
    monkeypatch.setenv("NOTES_TOKEN", "secret")
    opencode = read(put(".config/opencode/opencode.jsonc", fixture("opencode.jsonc")))
    assert opencode["context7"].url == "https://mcp.context7.com/mcp"
    assert opencode["context7"].headers == {"CONTEXT7_API_KEY": "${CONTEXT7_API_KEY}"}
    disabled = fixture("opencode.jsonc")
    notes = read(put(".config/opencode/opencode.jsonc", disabled.replace("false", "true")))["notes"]
    assert (notes.command, notes.args) == ("npx", ("-y", "notes-mcp"))
    assert notes.expanded().env == {"NOTES_TOKEN": "secret"}
    kilo = read(put(".config/kilo/kilo.jsonc", fixture("kilo.jsonc")))
    assert kilo["my-local-server"].args == ("/path/to/server.js",)
    amp = read(put(".config/amp/settings.json", fixture("amp.json")))
    assert amp["playwright"].args[-1] == "--headless"
    goose = read_sources([put(".config/goose/config.yaml", fixture("goose.yaml"))])
    assert [(spec.name, spec.command) for spec in goose.servers] == [("github", "npx")]
    assert goose.servers[0].env == {"GITHUB_PERSONAL_ACCESS_TOKEN": "not-a-real-token"}
    assert goose.notes[0].endswith("server 'developer' is run by its client itself")
    assert read(put(".continue/config.yaml", fixture("continue.yaml")))["Browser search"].command == "npx"
    assert read(put(".cline/data/settings/c.json", fixture("cline.json")))["local-server"].command == "node"
    qwen = read(put(".qwen/settings.json", fixture("qwen.json")))
    assert qwen["httpServer"].headers == {"Authorization": "Bearer ${QWEN_TOKEN}"}


@pytest.mark.parametrize("values", [{"mcp": {"allowed": ["a"]}}, {"extensions": {"a": {"enabled": True}}}])
def test_keys_that_others_use_too_name_no_servers(values: dict[str, Any]) -> None:
    assert server_table(values, None) is None


def fixture(name: str) -> str:
    return (Path(__file__).parents[2] / "fixtures" / "clients" / name).read_text("utf-8")


class TestClaudeCode:
    @pytest.fixture
    def path(self, put: Put, home: Path) -> Path:
        value = {
            "numStartups": 3,
            "mcpServers": {"everywhere": {"type": "stdio", "command": "x", "args": [], "env": {}}},
            "projects": {
                str(home / "site"): {"mcpServers": {"here": {"type": "stdio", "command": "./y"}}},
                str(home / "none"): {"mcpServers": {}},
                "odd": 3,
            },
        }
        return put(".claude.json", json.dumps(value))

    def test_a_project_has_its_own_servers(self, path: Path, home: Path) -> None:
        sources = read_sources([path], project=home / "site")
        assert [spec.name for spec in sources.servers] == ["here"]
        assert sources.servers[0].working_folder == home / "site"
        assert "servers of all projects are left out here" in sources.notes[0]

    @pytest.mark.parametrize("project", [None, "none", "other"])
    def test_others_have_those_of_all_projects(self, path: Path, home: Path, project: str | None) -> None:
        sources = read_sources([path], project=project and home / project)  # type: ignore[arg-type]
        assert [spec.name for spec in sources.servers] == ["everywhere"]
        assert sources.notes == ()


@pytest.mark.parametrize(
    ("name", "given", "is_ours"),
    [
        ("findspot", {"url": "http://127.0.0.1:8000/mcp"}, True),
        ("search", {"command": "/home/me/.local/bin/findspot", "args": ["serve"]}, True),
        ("search", {"command": "C:\\\\bin\\\\findspot.exe", "args": ["gateway"]}, True),
        ("search", {"command": "uvx", "args": ["--from", "x", "findspot", "serve"]}, True),
        ("search", {"command": "/usr/bin/python3", "args": ["-P", "-m", "findspot", "serve"]}, True),
        ("search", {"command": "npx", "args": ["findspot"]}, False),
        ("search", {"command": "python", "args": ["-m", "other", "findspot"]}, False),
    ],
)
def test_findspot_never_starts_itself(put: Put, name: str, given: Any, is_ours: bool) -> None:
    servers = read(put("mcp.json", json.dumps({"mcpServers": {name: given}})))
    assert (servers == {}) == is_ours


@pytest.mark.parametrize(
    "odd",
    [
        {"command": "x", "env": [], "args": "one two", "headers": 3, "cwd": {}, "tools": "x"},
        {"command": ["x", "one two"], "env": None, "args": {}},
        {"command": {"path": "x", "args": ["one two"], "env": 3}},
    ],
)
def test_odd_fields_give_no_traceback(put: Put, odd: Any) -> None:
    spec = read(put("mcp.json", json.dumps({"mcpServers": {"a": odd}})))["a"]
    assert (spec.command, spec.args, spec.env, spec.headers) == ("x", ("one two",), {}, {})


@pytest.mark.parametrize(("kind", "text"), [("toml", "[a\n"), ("json", '{\n// c\n"a": }')])
def test_a_broken_file_is_named_with_its_line(put: Put, kind: str, text: str) -> None:
    path = put(f"config.{kind}", text)
    line = 1 if kind == "toml" else 3
    message = rf"config\.{kind} is not valid {kind.upper()} at line {line}"
    with pytest.raises(InvalidArgumentError, match=message):
        read_sources([path])


def test_variables_only_a_client_knows(tmp_path: Path) -> None:
    for text in ("${command:pick}", "${config:a.b}"):
        with pytest.raises(MissingVariableError, match="only its client knows"):
            expand(text, {})
    assert expand("${A:-x} ${env:B} $C ${D-E}", {"B": "b", "D-E": "d"}) == "x b $C d"


def test_where_files_are_looked_for(put: Put, home: Path) -> None:
    own = [".please/mcp.json", ".claude.json", ".config/Code/User/settings.json", ".codex/config.toml"]
    for name in own:
        put(name, "")
    assert user_files(Machine("linux", home, {})) == [home / name for name in own]
    of_project = [".please/mcp.local.json", ".please/mcp.json", ".vscode/settings.json", ".codex/config.toml"]
    for name in of_project:
        put(f"site/{name}", "")
    assert project_files(home / "site") == [home / "site" / name for name in of_project]


def test_configurations_without_servers_are_passed_over(put: Put, home: Path) -> None:
    machine, work = Machine("linux", home, {}), home / "site"
    put("site/.vscode/settings.json", '{"editor.fontSize": 14}')
    put("site/.mcp.json", CLAUDE_DESKTOP)
    put("site/.cursor/mcp.json", '{"mcpServers": {"findspot": {"command": "findspot"}}}')
    broken = put("site/.codex/config.toml", "[a\n")
    own = put(".codex/config.toml", CODEX)
    claude = put(".claude.json", json.dumps({"mcpServers": {"all": {"command": "x"}}}))
    found, notes = find_configurations(work, machine)
    assert found == [work / ".mcp.json"]
    assert notes == [f"{broken} is not valid TOML at line 1."]
    assert find_configurations(None, machine) == ([claude, own], [])
    put(".claude.json", json.dumps({"projects": {str(work): {"mcpServers": {"here": {"command": "x"}}}}}))
    assert find_configurations(work, machine)[0] == [work / ".mcp.json", claude]
    assert find_configurations(None, machine) == ([own], [])


def test_tools_that_a_client_leaves_out_are_not_indexed(
    open_catalogue: Callable[[], Catalogue], write: Write
) -> None:
    """documents-chunks-tools B2: what a client's configuration disables stays disabled."""
    opened = open_catalogue()
    config = {"mcpServers": {"notes": entry("notes", disabledTools=["write_note"])}}
    index(opened, write("mcp.json", config))
    names = opened.tools().names
    assert "notes__read_note" in names
    assert "notes__write_note" not in names


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("github__x", "ends a server's name"),
        ("github_", "ends a server's name"),
        ("a\nb: npx other", "cannot be seen"),
        ("git\u200bhub", "cannot be seen"),
        ("\u202egithub", "cannot be seen"),
        ("github ", "cannot be seen"),
        ("", "cannot be seen"),
        ("x" * 101, "more than 100 characters"),
        ("io.github.some/My server_1", None),
    ],
)
def test_a_name_that_could_pass_for_another_is_refused(put: Put, name: str, problem: str | None) -> None:
    sources = read_sources([put(".mcp.json", json.dumps({"mcpServers": {name: {"command": "run"}}}))])
    assert [spec.name for spec in sources.servers] == ([] if problem else [name])
    assert problem is None or problem in sources.notes[0]
    assert "\n" not in "".join(sources.notes)


def test_only_references_of_a_value_are_shown() -> None:
    assert without_literals("Bearer ${env:TOKEN}") == "…${env:TOKEN}"
    assert without_literals("${A}${B:-secret}x") == "${A}${B:-…}…"
    assert without_literals("${A:-}") == "${A}"
    assert without_literals("secret") == "…"
    assert without_literals("") == ""
