"""What an assistant, a developer and a pull request get when they ask what comes next."""

from __future__ import annotations

import json

from program import Program
from trust.conftest import MakeFolder, Serve, run_git

FILES = {
    "bank/rates.py": "def rate_of(country):\n    return RATES.get(country, 1.0)\n\n\nRATES = {'DK': 7.4}\n",
    "bank/transfer.py": (
        "from bank.rates import rate_of\n\n\n"
        "def send_abroad(amount, country):\n"
        '    """Convert an amount and send it to another country."""\n'
        "    return amount * rate_of(country)\n"
    ),
    "tests/test_transfer.py": (
        "from bank.transfer import send_abroad\n\n\n"
        "def test_send():\n    assert send_abroad(1, 'DK') == 7.4\n"
    ),
}


def test_context_over_mcp(serve: Serve, findspot: Program, make: MakeFolder) -> None:
    project = make(FILES, git=True)
    findspot.make_index(project)
    pipe = serve(project)
    result = pipe.call("code_context", signal="sending an amount to another country converts it wrongly")
    values = result["structuredContent"]
    first = values["regions"][0]
    assert (first["symbol"], first["reason"]) == ("send_abroad", "change here")
    assert "return amount * rate_of(country)" in first["text"]
    assert "test" in {region["reason"] for region in values["regions"]}
    assert result["content"][0]["text"].startswith("Begin at send_abroad (bank/transfer.py:4)")
    place = pipe.values("code_context", path="bank/rates.py", line=2)
    assert ("send_abroad", "is relied on by") in [(r["symbol"], r["reason"]) for r in place["regions"]]
    off = pipe.values("code_context", signal="how do I bake sourdough bread")
    assert (off["nothingFits"], off["regions"]) == (True, [])
    refused = pipe.call("code_context")
    assert refused["isError"] is True
    assert "Give a signal, a diff or a path." in refused["content"][0]["text"]


def test_context_and_review_on_the_command_line(findspot: Program, make: MakeFolder) -> None:
    project = make(FILES, git=True)
    findspot.make_index(project)
    run_git(project, "checkout", "-q", "-b", "main-line")
    run_git(project, "branch", "-f", "base")
    rates = project / "bank/rates.py"
    rates.write_text(rates.read_text().replace("1.0", "0.0"))
    shown = findspot("context", "worktree", cwd=project)
    assert shown.code == 0
    assert "1 changed file: rate_of." in shown.out
    assert "bank/transfer.py:4-6  send_abroad" in shown.out
    run_git(project, "commit", "-q", "-a", "-m", "Refuse unknown countries")
    review = findspot("review", "base..HEAD", cwd=project)
    assert review.out.splitlines()[0] == "1 changed file: rate_of."
    assert "### Is relied on by" in review.out
    assert "- `bank/transfer.py:4-6` send_abroad" in review.out
    values = json.loads(findspot("review", "base", "--json", cwd=project).out)
    assert values["signal"] == "diff"
    assert findspot("review", "nowhere..HEAD", cwd=project).code == 2
    assert findspot("review", "HEAD..base", cwd=project).code == 2
    assert findspot("context", cwd=project).code == 2


def test_tabs_and_ends_of_lines_are_shown_as_a_terminal_has_them(findspot: Program, make: MakeFolder) -> None:
    go, python = "package a\n\nfunc ship() {\n\tpack()\n}\n", "def load():\r\n    return 1\r\n"
    project = make({"a.go": go, "b.py": python})
    findspot.make_index(project)
    assert "\n        pack()\n" in findspot("context", "a.go:3", cwd=project).out
    assert "\n        return 1\n" in findspot("context", "b.py:1", cwd=project).out
