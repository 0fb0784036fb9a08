"""`findspot setup` shows no secrets of the files it changes, and undo leaves what is the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from program import Program

TOKEN = "ghp_" + "9fKq2LxZ7vB4nM8sT1wY6cR3dH5jA0eUgPoI"
VSCODE = f"""{{
  // my servers
  "servers": {{
    "github": {{
      "url": "https://example.com/mcp",
      "headers": {{"Authorization": "Bearer {TOKEN}", "X-Team-Key": "swordfish"}}
    }}
  }}
}}
"""
CODEX = 'model = "gpt-5"\n\n[mcp_servers.docs.env]\nDOCS_TOKEN = "open-sesame"\n'
PROFILE = '# profile for work, never delete: see wiki\n[profiles.work]\nmodel = "o3"\n'


@pytest.fixture
def user(tmp_path: Path) -> dict[str, Path]:
    """The configurations of three clients in a home of their own."""
    home = tmp_path / "user"
    files = {
        "vscode": home / ".config/Code/User/mcp.json",
        "codex": home / ".codex/config.toml",
        "zed": home / ".config/zed/settings.json",
    }
    for path in files.values():
        path.parent.mkdir(parents=True)
    files["vscode"].write_text(VSCODE)
    files["codex"].write_text(CODEX)
    files["zed"].write_text('{\n  "theme": "dark" // quiet\n}\n')
    return files | {"home": home}


def test_undo_takes_out_our_entry_and_nothing_else(findspot: Program, user: dict[str, Path]) -> None:
    """code-review B2: undo deleted the user's comments; first-impression A9: the diff showed tokens."""
    environment = {
        "HOME": str(user["home"]),
        "XDG_CONFIG_HOME": "",
        "CODEX_HOME": "",
        "PATH": "/usr/bin:/bin",
    }
    shown = findspot("setup", "--dry-run", env=environment)
    as_json = findspot("setup", "--dry-run", "--json", env=environment)
    for secret in (TOKEN, "swordfish", "open-sesame"):
        assert secret not in shown.out + shown.err + as_json.out
    assert '"Authorization": "****"' in shown.out
    assert "+[mcp_servers.findspot]" in shown.out
    assert findspot("setup", "--yes", env=environment).code == 0

    codex, vscode, zed = (user[name] for name in ("codex", "vscode", "zed"))
    assert "findspot" in codex.read_text()
    codex.write_text(codex.read_text() + PROFILE)
    remarked = vscode.read_text().replace('"servers": {', '"servers": { // mine', 1)
    vscode.write_text(remarked.replace('"project"\n', '"project" // inside\n'))
    zed.write_text(zed.read_text().replace("// quiet", "// loud"))
    undone = findspot("setup", "--undo", "--yes", env=environment)
    assert undone.code == 0, undone.err
    assert TOKEN not in undone.out + undone.err
    assert codex.read_text() == CODEX + PROFILE
    assert "findspot" not in vscode.read_text()
    for remark in ("// my servers", "// mine", "// inside", TOKEN):
        assert remark in vscode.read_text()
    assert zed.read_text() == '{\n  "theme": "dark" // loud\n}\n'
