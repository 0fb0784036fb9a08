"""Secrets stay where they are, whichever way a file comes in and wherever a text goes out."""

from __future__ import annotations

import os
import random
import signal
import stat
import string
import sys
from pathlib import Path

import pytest

from e2e.harness import PATIENCE_S, until
from program import Program
from trust.conftest import MakeFolder, Serve

_chance = random.Random(15)


def drawn(size: int) -> str:
    return "".join(_chance.choices(string.ascii_letters + string.digits, k=size))


PASSWORD = drawn(14)
TOKEN = "ghp_" + drawn(36)
AWS_KEY = "AKIA" + "".join(_chance.choices(string.ascii_uppercase + "234567", k=16))
AWS_SECRET = drawn(40)

CREDENTIAL_FILES = {
    ".netrc": f"machine internal login me password {PASSWORD}\n",
    "deploy/prod.env": f"DB_PASSWORD={PASSWORD}\n",
    "config/secrets.yml": f"password: {PASSWORD}\n",
    "terraform.tfstate": f'{{"password": "{PASSWORD}"}}\n',
    ".kube/config": f"password: {PASSWORD}\n",
}
MASKED_FILES = {
    "token.py": f"TOKEN = '{TOKEN}'\n",
    "db.py": f"URL = 'postgresql://app:{PASSWORD}@db.corp.io/app'\n",
    "aws.ini": f"aws_secret_access_key = {AWS_SECRET}\n",
}
OPEN_FILES = {
    "app.py": "def password_of(user):\n    return vault.read(user)\n",
    "credentials.py": "class Credentials:\n    password = None\n",
    "docs/setup.md": "Put your password into .netrc, and your token into GITHUB_TOKEN.\n",
}
VALUES = (PASSWORD, TOKEN, AWS_KEY, AWS_SECRET)


def quotes(text: str) -> list[str]:
    return [value for value in VALUES if value in text]


def test_documents_come_in_by_the_same_rules(findspot: Program, make: MakeFolder) -> None:
    """documents A3, security 9: `documents add` had no deny list, no scan and no ignore files."""
    ignored = {".gitignore": "private/\n", "private/diary.md": f"canary {PASSWORD}\n"}
    keys = {".ssh/id_rsa": f"{PASSWORD}\n", "node_modules/x/index.js": "canary\n"}
    latin = {"latin.md": "Der Kaffee im café.\n".encode("latin-1")}
    folder = make(CREDENTIAL_FILES | MASKED_FILES | OPEN_FILES | ignored | keys | latin, "notes", git=True)
    assert findspot("documents", "create", "notes").code == 0
    added = findspot("documents", "add", folder, "--index", "notes", "--json").json
    assert sorted(one["doc_id"] for one in added["documents"]) == sorted(
        [*OPEN_FILES, *MASKED_FILES, ".gitignore", "latin.md"]
    )
    left_out = {Path(one["path"]).relative_to(folder).as_posix(): one["reason"] for one in added["skipped"]}
    assert left_out[".netrc"] == "never indexed"
    assert left_out["private"] == "ignored by .gitignore: private/"
    found = findspot("documents", "search", "café", "--index", "notes", "--json").json
    assert [one["doc_id"] for one in found["results"]] == ["latin.md"]
    for words in ("TOKEN", "URL"):
        shown = findspot("documents", "search", words, "--index", "notes").out
        assert "***" in shown
        assert quotes(shown) == []
    for scan, name in (("mask", ".netrc"), ("skip", "token.py")):
        environment = {"FINDSPOT_SECRET_SCAN": scan}
        refused = findspot("documents", "add", folder / name, "--index", "notes", env=environment)
        assert refused.code != 0
        assert "was not added" in refused.err
        assert quotes(refused.err) == []


def test_what_is_shown_of_configurations_has_no_secrets(findspot: Program, make: MakeFolder) -> None:
    """security 19, first-impression A9: set-up's diff and `config` showed tokens."""
    user = make({
        ".cursor/mcp.json": (
            '{\n  "mcpServers": {\n    "y": {\n'
            f'      "headers": {{"Authorization": "Bearer {TOKEN}"}}, "url": "https://example.com"\n    }},\n'
            f'    "x": {{"command": "x", "args": ["--token", "{PASSWORD}"],\n'
            f'      "env": {{"API_KEY": "{PASSWORD}", "GH": "{TOKEN}"}}}}\n  }}\n}}\n'
        ),
        ".codex/config.toml": f'model = "o3"\n\n[mcp_servers.docs.env]\nDOCS_TOKEN = "{PASSWORD}"\n',
    }, "user")  # fmt: skip
    plain = {"HOME": str(user), "USERPROFILE": str(user), "CODEX_HOME": ""}
    setup = ("setup", "--client", "cursor", "--client", "codex", "--dry-run")
    shown = findspot(*setup, env=plain)
    assert shown.code == 0
    assert '"findspot"' in shown.out
    assert '"Authorization": "****"' in shown.out
    assert "DOCS_TOKEN" in shown.out
    in_json = findspot(*setup, "--json", env=plain)
    assert quotes(shown.out + in_json.out) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux starts a browser by xdg-open")
def test_the_browser_is_started_without_the_token_of_the_page(
    findspot: Program, make: MakeFolder, home: Path, tmp_path: Path
) -> None:
    """security 19: `ui` put its token on a command line, which everybody on the machine can read.

    The browser of the project itself is not the one that is started (security 1).
    """
    project = make(OPEN_FILES, git=True)
    noted = tmp_path / "noted"
    browser = make({}, "bin") / "xdg-open"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {noted}.part && mv {noted}.part {noted}\n')
    browser.chmod(0o755)
    (project / "xdg-open").write_text(f"#!/bin/sh\necho trapped > {noted}\n")
    (project / "xdg-open").chmod(0o755)
    environment = {
        "PATH": os.pathsep.join(["", ".", str(browser.parent), os.environ["PATH"]]),
        "DISPLAY": ":0",
    }
    master, slave = os.openpty()
    with findspot.start("ui", "--port", "0", cwd=project, env=environment, stdout=slave) as page:
        os.close(slave)
        try:
            with os.fdopen(master) as terminal:
                address = terminal.readline().split()[-1]
                until(noted.exists)
            token = address.split("/")[3]
            arguments = noted.read_text()
            assert len(token) > 20
            assert token not in arguments
            file = Path(arguments)
            assert address in file.read_text()
            for path in (file, file.parent, home):
                assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
        finally:
            page.send_signal(signal.SIGTERM)
            page.communicate(timeout=PATIENCE_S)
    assert not file.exists()
    for path in home.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes(), path


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_others_cannot_look_into_the_home(
    findspot: Program, make: MakeFolder, serve: Serve, home: Path
) -> None:
    """security 19, search-mcp B11: commands and libraries made entries that others could read."""
    project = make(OPEN_FILES, git=True)
    serve(project).call("index_codebase", path=str(project))
    assert findspot("documents", "create", "notes").code == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for entry in home.rglob("*"):
        assert not stat.S_IMODE(entry.lstat().st_mode) & 0o077, entry
    home.chmod(0o755)
    (home / "indexes").chmod(0o755)
    assert findspot("projects").code == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "indexes").stat().st_mode) == 0o700
