"""Chunk files: answers within a number of tokens that say when their files are older than the project."""

from __future__ import annotations

import json

from program import Program

from .conftest import MakeFolder, Serve

HANDLER = "def login_handler(password):\n    # checks the password of a user\n" + "    check(password)\n" * 30


def test_an_answer_is_bounded_and_says_what_is_old(make: MakeFolder, findspot: Program, serve: Serve) -> None:
    """documents A9, A12, B4: deleted files were served, settings ignored silently, 18,000 characters sent."""
    files = {f"src/handler{n}.py": HANDLER.replace("login", f"login{n}") for n in range(12)}
    project = make({".git/HEAD": "", **files})
    assert findspot("chunks", "export", cwd=project).code == 0
    (project / "src/handler3.py").unlink()
    (project / ".cortex/config.yml").write_text("embedding: {endpoint: http://example.com/embed}\n")
    pipe = serve(project)
    answer = pipe.values("cortex_search", query="check the password of a user")
    assert len(json.dumps(answer)) <= 4 * 1_200
    assert answer["results"]
    assert "src/handler3.py" not in json.dumps(answer["results"])
    assert "gone, so left out: src/handler3.py" in answer["warning"]
    assert "To fit max_tokens" in answer["warning"]
    assert ".cortex/config.yml" in answer["warning"]
    more = pipe.values("cortex_search", query="check the password of a user", max_tokens=20_000, limit=100)
    assert len(more["results"]) > len(answer["results"])
