"""The plugins for assistants: manifests in the documented formats, and parts that fit this version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from findspot import __version__
from findspot.core.settings import PROJECT_TOOLSET
from findspot.serve.mcp.tools import all_tools

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "findspot"
GEMINI = ROOT / "plugins" / "gemini"
TOOLS = {tool.name for tool in all_tools().offered([PROJECT_TOOLSET])}

NAME = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64}
TEXT = {"type": "string", "minLength": 1, "maxLength": 1024}
VERSION = {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}
WITHIN = {"type": "string", "pattern": r"^\./[^/]"}
"""A path below the plugin, as Claude Code and Codex require it."""
RELATIVE = {"type": "string", "pattern": r"^(\./)?[a-z.]"}


def closed(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


AUTHOR = closed("name", name=TEXT, email=TEXT)
ABOUT = {
    "name": NAME,
    "version": VERSION,
    "description": TEXT,
    "author": AUTHOR,
    "homepage": TEXT,
    "repository": TEXT,
    "license": TEXT,
    "keywords": {"type": "array", "items": TEXT},
}


def listing(source: dict[str, Any], **entry: Any) -> dict[str, Any]:
    plugin = closed("name source", name=NAME, source=source, description=TEXT, category=TEXT, **entry)
    plugins = {"type": "array", "minItems": 1, "items": plugin}
    return closed(
        "name owner plugins",
        name=NAME,
        owner=AUTHOR,
        metadata=closed("description", description=TEXT),
        plugins=plugins,
    )


def hooks(event: str, entry: dict[str, Any], **others: Any) -> dict[str, Any]:
    events = {
        "type": "object",
        "required": [event],
        "additionalProperties": {"type": "array", "items": entry},
    }
    return closed(" ".join(("hooks", *others)), hooks=events, **others)


SECONDS = {"type": "integer", "minimum": 1, "maximum": 60}
COMMAND = {"type": {"const": "command"}, "command": TEXT, "timeout": {"type": "integer"}, "name": TEXT}
GROUP = closed(
    "matcher hooks", matcher=TEXT, hooks={"type": "array", "items": closed("type command", **COMMAND)}
)
CODEX_SOURCE = closed("source path", source={"const": "local"}, path=WITHIN)
CODEX_POLICY = closed(
    "installation authentication",
    installation={"enum": ["AVAILABLE", "INSTALLED_BY_DEFAULT", "NOT_AVAILABLE"]},
    authentication={"enum": ["ON_INSTALL", "ON_USE"]},
)
CODEX_ENTRY = closed(
    "name source policy category", name=NAME, source=CODEX_SOURCE, policy=CODEX_POLICY, category=TEXT
)
CODEX_INTERFACE = closed(
    "displayName shortDescription developerName category",
    displayName=TEXT,
    shortDescription=TEXT,
    longDescription=TEXT,
    developerName=TEXT,
    category=TEXT,
    capabilities={"type": "array", "items": {"enum": ["Interactive", "Read", "Write"]}},
    defaultPrompt={"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 128}},
)

SCHEMAS = {
    ".claude-plugin/marketplace.json": listing(WITHIN),
    ".cursor-plugin/marketplace.json": listing(RELATIVE),
    ".agents/plugins/marketplace.json": closed(
        "name plugins",
        name=NAME,
        interface=closed("displayName", displayName=TEXT),
        plugins={"type": "array", "minItems": 1, "items": CODEX_ENTRY},
    ),
    "plugins/findspot/.claude-plugin/plugin.json": closed("name", **ABOUT),
    "plugins/findspot/.codex-plugin/plugin.json": closed(
        "name version description", **ABOUT, skills=WITHIN, hooks=WITHIN, interface=CODEX_INTERFACE
    ),
    "plugins/findspot/.cursor-plugin/plugin.json": closed(
        "name", **ABOUT, displayName=TEXT, skills=WITHIN, agents=WITHIN, rules=WITHIN, hooks=WITHIN
    ),
    "plugins/findspot/.github/plugin/plugin.json": closed(
        "name", **ABOUT, skills=RELATIVE, agents=RELATIVE, hooks=RELATIVE
    ),
    "plugins/findspot/hooks/hooks.json": hooks("PostToolUse", GROUP),
    "plugins/findspot/hooks/cursor.json": hooks(
        "postToolUse", closed("command", command=TEXT, matcher=TEXT, timeout=SECONDS), version={"const": 1}
    ),
    "plugins/findspot/hooks/copilot.json": hooks(
        "postToolUse",
        closed("type bash", type={"const": "command"}, bash=TEXT, powershell=TEXT, timeoutSec=SECONDS),
        version={"const": 1},
    ),
    "plugins/gemini/gemini-extension.json": closed(
        "name version", name=NAME, version=VERSION, description=TEXT, contextFileName=TEXT
    ),
    "plugins/gemini/hooks/hooks.json": hooks("AfterTool", GROUP),
}


def load(name: str) -> dict[str, Any]:
    value = json.loads((ROOT / name).read_text("utf-8"))
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_manifest_has_the_documented_form(name: str) -> None:
    """first-impression M3: the formats of Claude Code, Codex, Cursor, Copilot CLI and Gemini CLI."""
    jsonschema.validate(load(name), SCHEMAS[name])


def test_there_is_a_schema_for_each_manifest() -> None:
    folders = (ROOT / "plugins", *(ROOT / name for name in (".claude-plugin", ".cursor-plugin", ".agents")))
    found = {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.json")}
    assert found == set(SCHEMAS)


def test_what_a_manifest_names_exists() -> None:
    for name in SCHEMAS:
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
    assert not [name for name in SCHEMAS if "mcpServers" in load(name)]


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
