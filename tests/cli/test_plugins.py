"""The plugins for assistants: manifests in the documented formats, and parts that fit this version."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from findspot import __version__
from findspot.core.settings import PROJECT_TOOLSET
from findspot.serve.mcp.tools import all_tools

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "findspot"
GEMINI = ROOT / "plugins" / "gemini"
TOOLS = {tool.name for tool in all_tools().offered([PROJECT_TOOLSET])}

ABOUT = "name version description author homepage repository license keywords"
MANIFESTS = {
    ".claude-plugin/marketplace.json": "name owner metadata plugins",
    ".cursor-plugin/marketplace.json": "name owner metadata plugins",
    ".agents/plugins/marketplace.json": "name interface plugins",
    "plugins/findspot/.claude-plugin/plugin.json": ABOUT,
    "plugins/findspot/.codex-plugin/plugin.json": f"{ABOUT} skills hooks interface",
    "plugins/findspot/.cursor-plugin/plugin.json": f"{ABOUT} displayName skills agents rules hooks",
    "plugins/findspot/.github/plugin/plugin.json": f"{ABOUT} skills agents hooks",
    "plugins/findspot/hooks/hooks.json": "hooks",
    "plugins/findspot/hooks/cursor.json": "hooks version",
    "plugins/findspot/hooks/copilot.json": "hooks version",
    "plugins/gemini/gemini-extension.json": "name version description contextFileName",
    "plugins/gemini/hooks/hooks.json": "hooks",
}
"""Each manifest, and the keys that its client documents."""


def load(name: str) -> dict[str, Any]:
    value = json.loads((ROOT / name).read_text("utf-8"))
    assert isinstance(value, dict)
    return value


def test_each_manifest_has_the_documented_keys() -> None:
    """first-impression M3: the formats of Claude Code, Codex, Cursor, Copilot CLI and Gemini CLI."""
    folders = (ROOT / "plugins", *(ROOT / name for name in (".claude-plugin", ".cursor-plugin", ".agents")))
    found = {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.json")}
    assert found == set(MANIFESTS)
    for name, keys in MANIFESTS.items():
        manifest = load(name)
        assert set(manifest) <= set(keys.split()), name
        assert re.fullmatch(r"[a-z0-9-]{1,64}", manifest.get("name", "findspot")), name
        for path in (manifest.get(key) for key in ("skills", "agents", "rules", "hooks")):
            assert not isinstance(path, str) or path.startswith("./") or ".github" in name, (name, path)


def test_each_hook_is_run_after_the_tools_of_its_client() -> None:
    events = {"hooks": "PostToolUse", "cursor": "postToolUse", "copilot": "postToolUse"}
    for name, event in events.items():
        (entry,) = load(f"plugins/findspot/hooks/{name}.json")["hooks"][event]
        assert "remind" in json.dumps(entry), name
    (entry,) = load("plugins/gemini/hooks/hooks.json")["hooks"]["AfterTool"]
    assert entry["hooks"][0]["type"] == "command"


def test_what_a_manifest_names_exists() -> None:
    for name in MANIFESTS:
        manifest = load(name)
        if name.endswith("plugin.json") or "extension" in name:
            root = GEMINI if "gemini" in name else PLUGIN
            assert manifest["version"] == __version__, name
            for key in ("skills", "agents", "rules", "hooks", "contextFileName"):
                assert not isinstance(manifest.get(key), str) or (root / manifest[key]).exists(), (name, key)
        for entry in manifest.get("plugins", ()):
            source = entry["source"]["path"] if isinstance(entry["source"], dict) else entry["source"]
            assert (ROOT / source).resolve() == PLUGIN
            assert entry["name"] == "findspot"


def test_no_plugin_brings_the_server() -> None:
    """Claude Code defers the tools of plugins' servers, and Copilot CLI prefers them to the user's own."""
    assert not [path for folder in (PLUGIN, GEMINI) for path in folder.rglob("*mcp.json")]
    assert not [name for name in MANIFESTS if "mcpServers" in load(name)]


def front_matter(path: Path) -> tuple[dict[str, Any], str]:
    _, head, body = path.read_text("utf-8").split("---\n", 2)
    values = yaml.safe_load(head)
    assert isinstance(values, dict)
    return values, body


AGENTS = {
    PLUGIN / "agents/code-finder.md": "mcp__findspot__",
    PLUGIN / "copilot/agents/code-finder.agent.md": "findspot/",
    GEMINI / "agents/code-finder.md": "mcp_findspot_",
}


def test_the_search_agent_names_its_tools() -> None:
    """first-impression M3: a sub-agent with a list of tools sees only those that it names."""
    bodies = set()
    for path, prefix in AGENTS.items():
        values, body = front_matter(path)
        listed = values["tools"]
        names = [name.strip() for name in listed.split(",")] if isinstance(listed, str) else listed
        ours = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
        assert {"search_code", "code_research", "search_docs", "search_by_path"} <= ours <= TOOLS
        assert values["name"] == "code-finder"
        bodies.add(body)
    assert len(bodies) == 1


def test_the_skill_and_the_rules_speak_of_tools_that_exist() -> None:
    skill = PLUGIN / "skills/findspot-search/SKILL.md"
    values, body = front_matter(skill)
    assert values["name"] == skill.parent.name
    assert len(values["description"]) <= 1024
    assert {"search_code", "code_research", "search_docs", "search_by_path", "index_codebase"} <= TOOLS
    assert all(f"`{name}`" in body for name in ("search_code", "code_research", "search_docs"))
    rule, text = front_matter(PLUGIN / "rules/findspot.mdc")
    assert rule["alwaysApply"] is True
    assert text.strip() == (GEMINI / "GEMINI.md").read_text("utf-8").strip()


def commands() -> list[str]:
    shell = load("plugins/findspot/hooks/hooks.json")["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
    copilot = load("plugins/findspot/hooks/copilot.json")["hooks"]["postToolUse"][0]["bash"]
    gemini = load("plugins/gemini/hooks/hooks.json")["hooks"]["AfterTool"][0]["hooks"][0]["command"]
    return sorted({shell, copilot, gemini})


@pytest.mark.skipif(sys.platform == "win32", reason="Claude Code runs hooks in a POSIX shell")
def test_the_hook_reminds_once_and_is_silent_without_findspot(tmp_path: Path) -> None:
    payload = {"session_id": "s", "hook_event_name": "PostToolUse", "tool_input": {"command": "rg retry"}}
    (command,) = commands()

    def run(path: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"FINDSPOT_HOME": str(tmp_path), "PATH": path}
        given = json.dumps(payload)
        return subprocess.run(
            ["/bin/sh", "-c", command], input=given, env=environment, capture_output=True, encoding="utf-8",
            timeout=60, check=True,
        )  # fmt: skip

    missing = run(str(tmp_path))
    assert (missing.stdout, missing.stderr) == ("", "")
    here = f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin"
    assert "search_code" in json.loads(run(here).stdout)["hookSpecificOutput"]["additionalContext"]
    assert run(here).stdout == ""
