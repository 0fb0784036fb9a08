"""Nothing that matches a rule is in an index, an answer, an export or a log."""

from __future__ import annotations

import contextlib
import json
import random
import string
from pathlib import Path

import pytest
from benchmarks.secret_shapes import draw

from contents import contents
from findspot import Project
from program import Program
from trust.conftest import MakeFolder, Serve, run_git

_chance = random.Random(4)
_LEAST_CHARS = 10


def drawn(size: int) -> str:
    return "".join(_chance.choices(string.ascii_letters + string.digits, k=size))


TOKENS = ["ghp_" + drawn(36) for _ in range(12)]
KEY_LINES = [drawn(64) for _ in range(6)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----"])
ASSIGNED = [drawn(32) for _ in range(4)]
LATER = "ghp_" + drawn(36)
"""Written into a file that is indexed already."""

CODE = f'''"""Log in, for example with {TOKENS[0]}."""

import os  # {TOKENS[1]}

DEFAULT_TOKEN = "{TOKENS[2]}"


class Login:
    """Holds `{TOKENS[3]}`."""

    def log_in(self, token: str = "{TOKENS[4]}", *, url="https://app:{ASSIGNED[0]}@db.corp.io/x") -> str:
        """Log in with a token, such as {TOKENS[5]}."""
        headers = {{"Authorization": "Bearer {ASSIGNED[1]}"}}
        return send("{TOKENS[6]}", headers, os.environ["{TOKENS[7]}"])


def send(token, headers, name):
    return Login().log_in("{TOKENS[8]}")


def {TOKENS[9]}():
    return send("", {{}}, "")
'''
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": ["import client\n", f'client.log_in(api_key="{ASSIGNED[2]}")\n']},
            {"cell_type": "markdown", "source": f"# Log in\n\n`X_KEY={ASSIGNED[3]}`\n"},
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
    },
    indent=1,
)
FILES = {
    "src/login.py": CODE,
    "src/keys.ts": f"export const key = `{KEY}`;\nexport function sign() {{ return key; }}\n",
    "docs/login.md": f"# Log in\n\nUse `{TOKENS[10]}`.\n\n## Keys\n\n```\n{KEY}\n```\n",
    "notebooks/login.ipynb": NOTEBOOK,
    "config/app.yml": f"login:\n  url: https://x.io/?token={TOKENS[11]}\n",
    "config/.env": f"API_KEY={ASSIGNED[0]}\n",
}
EXAMPLES = draw(random.Random(2))
VALUES = {
    *TOKENS, *KEY_LINES, *ASSIGNED, LATER,
    *(example.values[-1] for example in EXAMPLES if len(example.values[-1]) >= _LEAST_CHARS),
}  # fmt: skip


def found(text: str | bytes) -> set[str]:
    """Return the secrets that can be read in a text, or in the bytes of a file."""
    if isinstance(text, str):
        return {value for value in VALUES if value in text}
    return {value for value in VALUES if value.encode() in text}


def found_in_files(folder: Path) -> dict[str, set[str]]:
    leaked = {}
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # SQLite removes its own in the end
            leaked[str(path)] = found(path.read_bytes())
    return {path: values for path, values in leaked.items() if values}


def test_no_secret_is_in_an_index_an_answer_an_export_or_a_log(
    findspot: Program,
    make: MakeFolder,
    serve: Serve,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = {f"kinds/k{number}/{example.path}": example.text for number, example in enumerate(EXAMPLES)}
    project = make(FILES | kinds, git=True)
    pipe = serve(project)
    answers = [pipe.call("index_codebase", path=str(project))]
    status = pipe.values("get_index_status")
    assert status["skipped"]["masked"] > 200
    assert "secret" not in status["skipped"]
    listed = pipe.values("search_by_path", pattern="{src,docs,notebooks,config}/**")["matches"]
    assert set(listed) == set(FILES) - {"config/.env"}

    questions = [
        "log in with a token",
        "log_in",
        "authorization bearer",
        "DEFAULT_TOKEN",
        "private key",
        "env",
    ]
    patterns = ["ghp_", "log_in", "KEY", "token", r"\w{20,}", *(value[:8] for value in (*TOKENS, *ASSIGNED))]
    (project / "src/login.py").write_text(f"{CODE}\n\ndef log_out():\n    return '{LATER}'\n")
    for question in questions:
        answers += [
            pipe.call("search_code", query=question, limit=50),
            pipe.call("search_code", query=question, limit=50, mode="keyword", format="json", explain=True),
            pipe.call("search_docs", query=question, limit=50),
            pipe.call("code_research", query=question),
        ]
    answers += [pipe.call("search_code", query=pattern, limit=50, mode="regex") for pattern in patterns]
    for relation in ("callers", "callees", "uses", "tests", "impact"):
        answers.append(pipe.call("code_research", relation=relation, symbol="log_in"))
    for focus in ("architecture", "dependencies", "patterns", "flow"):
        answers.append(pipe.call("code_research", query="how does one log in", focus=focus))
    answers.append(pipe.call("reindex_file", path=str(project / "src/login.py")))
    answers.append(pipe.call("search_code", query="log_out"))
    for path in ("src/login.py", "src/keys.ts", "docs/login.md", "notebooks/login.ipynb"):
        answers.append(pipe.result("resources/read", {"uri": (project / path).as_uri()}))
    assert "log_out" in json.dumps(answers)
    assert found(json.dumps(answers)) == set()

    assert findspot("chunks", "export", cwd=project).code == 0
    answers = [pipe.call("cortex_search", query=question, limit=50) for question in questions]
    assert found(json.dumps(answers)) == set()
    assert not found_in_files(project / ".cortex")

    published = tmp_path / "published"
    for command in (
        *(("search", question, "--json") for question in questions[:2]),
        *(("search", pattern, "--mode", "regex") for pattern in patterns[:2]),
        ("docs", "log in", "--format", "human"),
        ("research", "how does one log in"),
        ("impact", "log_in"),
        ("status", "--skipped"),
        ("files", "**"),
        ("activity",),
        ("logs",),
        ("doctor",),
    ):
        done = findspot(*command, cwd=project)
        assert done.code in (0, 1), (command, done.err)
        assert found(done.out + done.err) <= found(" ".join(map(str, command))), command
    run_git(project, "add", "-A")
    run_git(project, "commit", "-q", "-m", "more")
    assert findspot("publish", published, cwd=project).code == 0

    documents = make({path: text for path, text in FILES.items() if "config" not in path}, "notes")
    assert findspot("documents", "create", "notes").code == 0
    assert findspot("documents", "add", documents, "--index", "notes").code == 0
    assert found(findspot("documents", "search", "log", "--index", "notes").out) == set()

    pipe.close_input()
    assert not found_in_files(published)
    assert not found_in_files(findspot.home)
    monkeypatch.setenv("FINDSPOT_HOME", str(findspot.home))
    opened = Project(project)
    assert found(repr(contents(opened.store))) == set()  # what is compressed in the files
    opened.close()
