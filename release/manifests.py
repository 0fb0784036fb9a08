"""Write what registries and desktop applications read about a release, from `pyproject.toml`.

python release/manifests.py               write server.json, the bundle's files, the versions of the plugins
python release/manifests.py --bundle DIR  also pack findspot-VERSION.mcpb into DIR
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BUNDLE = ROOT / "release" / "bundle"
SERVER = ROOT / "server.json"
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_PLUGINS = (
    "plugins/*/.*-plugin/plugin.json",
    "plugins/*/.github/plugin/plugin.json",
    "plugins/*/gemini-extension.json",
)
_STAMP = (1980, 1, 1, 0, 0, 0)
"""The time of every file in a bundle: the same content gives the same bytes."""


def project() -> dict[str, Any]:
    """Return the metadata of the project."""
    with (ROOT / "pyproject.toml").open("rb") as source:
        return dict(tomllib.load(source)["project"])


def server_name(about: dict[str, Any]) -> str:
    """Return the name in the MCP registry: the owner of the repository, then the repository."""
    owner, repository = about["urls"]["Source"].removeprefix("https://github.com/").split("/")
    return f"io.github.{owner}/{repository}"


def server_json(about: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of the MCP registry."""
    return {
        "$schema": SERVER_SCHEMA,
        "name": server_name(about),
        "title": "Findspot",
        "description": about["description"],
        "version": about["version"],
        "websiteUrl": about["urls"]["Documentation"],
        "repository": {"url": about["urls"]["Source"], "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": about["name"],
                "version": about["version"],
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "serve"}],
                "transport": {"type": "stdio"},
            }
        ],
    }


def bundle_manifest(about: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of the bundle that desktop applications install with one click."""
    return {
        "manifest_version": "0.4",
        "name": about["name"],
        "display_name": "Findspot",
        "version": about["version"],
        "description": about["description"],
        "long_description": "Indexes a folder on this machine and answers questions about its code and "
        "documentation with short passages. Nothing leaves the machine.",
        "author": {"name": about["authors"][0]["name"], "url": about["urls"]["Source"]},
        "repository": {"type": "git", "url": about["urls"]["Source"]},
        "homepage": about["urls"]["Homepage"],
        "documentation": about["urls"]["Documentation"],
        "support": about["urls"]["Issues"],
        "license": about["license"],
        "keywords": about["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "src/server.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run",
                    "--project",
                    "${__dirname}",
                    "${__dirname}/src/server.py",
                    "${user_config.project}",
                ],
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "project": {
                "type": "directory",
                "title": "Project",
                "description": "The folder to search. Other folders can be named in a question.",
                "required": True,
            }
        },
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": about["requires-python"]},
        },
    }


def bundle_pyproject(about: dict[str, Any]) -> str:
    """Return the project file by which uv installs this very version."""
    name, version = about["name"], about["version"]
    return f"""\
[project]
name = "{name}-bundle"
version = "{version}"
requires-python = "{about["requires-python"]}"
dependencies = ["{name}=={version}"]
"""


def files() -> dict[Path, str]:
    """Return every generated file with its content."""
    about = project()
    made = {
        SERVER: _json(server_json(about)),
        BUNDLE / "manifest.json": _json(bundle_manifest(about)),
        BUNDLE / "pyproject.toml": bundle_pyproject(about),
    }
    for manifest in (path for pattern in _PLUGINS for path in ROOT.glob(pattern)):
        text = manifest.read_text(encoding="utf-8")
        made[manifest] = re.sub(r'("version": )"[^"]*"', rf'\1"{about["version"]}"', text, count=1)
    return made


def pack(folder: Path) -> Path:
    """Write the bundle into a folder; returns its path."""
    target = folder / f"findspot-{project()['version']}.mcpb"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in BUNDLE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            archive.writestr(zipfile.ZipInfo(path.relative_to(BUNDLE).as_posix(), _STAMP), path.read_bytes())
    return target


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write what registries read about a release.")
    parser.add_argument("--bundle", type=Path, metavar="DIR", help="also pack the bundle into this folder")
    chosen = parser.parse_args()
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    if chosen.bundle:
        chosen.bundle.mkdir(parents=True, exist_ok=True)
        pack(chosen.bundle)
