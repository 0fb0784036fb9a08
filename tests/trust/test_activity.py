"""What assistants ask is recorded on this machine, for its owner only, unless that is turned off."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from e2e.harness import PATIENCE_S
from program import Program
from trust.conftest import MakeFolder, Serve

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FILES = {
    "pyproject.toml": "[project]\n",
    "prices.py": 'def price_of(article):\n    """The price of one article."""\n    return 3\n',
}


def test_questions_are_recorded_with_their_answers(
    findspot: Program, home: Path, make: MakeFolder, serve: Serve
) -> None:
    """`first-impression M7`: nobody could see whether assistants use it, or whether it helps."""
    project = make(FILES)
    findspot.make_index(project)
    pipe = serve(project)
    pipe.values("search_code", query=f"price of an article, with {TOKEN}")
    pipe.values("search_by_path", pattern="*.py")
    pipe.call("search_code", query="")
    pipe.close_input()
    pipe.process.wait(timeout=PATIENCE_S)
    assert findspot("search", "price", "--project", str(project)).code == 0

    recorded = findspot("activity", "--json").json
    newest, refused, by_path, first = recorded["activity"]
    assert newest["client"] == "command line"
    assert refused["outcome"] == "INVALID_ARGUMENT"
    assert (by_path["tool"], by_path["question"], by_path["found"]) == ("search_by_path", "*.py", 1)
    assert first["question"] == f"price of an article, with {'*' * len(TOKEN)}"
    assert first["answers"][0] == "prices.py:1"
    assert (first["project"], first["outcome"]) == (str(project), "ok")
    assert first["tokens"] > 0
    assert recorded["summary"]["questions"] == 4
    assert len(findspot("activity", "--client", first["client"], "--json").json["activity"]) == 3
    shown = findspot("activity", "-n", "1").out
    assert "price" in shown
    assert "prices.py:2" in shown
    stored = b"".join(path.read_bytes() for path in home.glob("activity.sqlite*"))
    assert TOKEN.encode() not in stored
    assert b"return 3" not in stored, "no source text"
    if os.name != "nt":
        assert {stat.S_IMODE(path.stat().st_mode) for path in home.glob("*.sqlite*")} == {0o600}

    stats = findspot("stats", "--json").json
    assert {item["surface"]: item["searches"] for item in stats["usage"]} == {
        "assistant": 1,
        "command line": 1,
    }

    assert findspot("activity", "--clear").out == "Nothing has been asked yet.\n"
    assert b"price of an article" not in b"".join(path.read_bytes() for path in home.glob("activity.sqlite*"))


def test_one_setting_turns_all_records_off(
    findspot: Program, home: Path, make: MakeFolder, serve: Serve
) -> None:
    project = make(FILES | {".findspot.json": '{"activity": true}'})
    assert findspot("config", "set", "--global", "activity", "false").code == 0
    findspot.make_index(project)
    assert findspot("search", "price", "--project", str(project)).code == 0
    pipe = serve(project)
    pipe.values("search_code", query="price of an article")
    pipe.close_input()
    pipe.process.wait(timeout=PATIENCE_S)
    assert not list(home.glob("*.sqlite*"))
    assert "Recording is off" in findspot("activity").err
    assert findspot("activity", "--json").json["recording"] is False
