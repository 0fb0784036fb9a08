"""On a terminal the best answer comes first and has a number; a first index says what to ask it."""

from __future__ import annotations

import re
import shlex
import stat
import sys
from pathlib import Path

import pytest

from program import Program
from trust.conftest import MakeFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")

MANY = "\n\n".join(f"def step_{number}(value):\n    return value + {number}\n" for number in range(80))
CLIENT = "def use_client():\n    return 1\n\n\n" + MANY + "\n\nclass Client:\n    name = 1\n"
FILES = {"pyproject.toml": "", "client.py": CLIENT, "client names.py": "class ClientName:\n    pass\n"}
HEADING = re.compile(r"^ *(\d+)  (.+?):(\d+)-(\d+)  (strong|likely|weak)  ", re.MULTILINE)


@pytest.fixture
def project(findspot: Program, make: MakeFolder) -> Path:
    root = make(FILES)
    assert findspot("index", cwd=root).code == 0
    return root


def writing(path: Path, body: str) -> str:
    """A program with that shell script."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_ranks_are_numbered_and_open_uses_the_numbers(
    findspot: Program, project: Path, tmp_path: Path
) -> None:
    """first-impression B3: the listing keeps the order of the ranks, and `--open N` opens number N."""
    ranked = findspot("search", "client", "--json", cwd=project).json["results"]
    seen = tmp_path / "seen"
    editor = writing(tmp_path / "editor", f'echo "$@" > "{seen}"')
    shown = findspot("search", "client", "--open", "2", cwd=project, env={"EDITOR": editor})
    assert shown.code == 0, shown.err
    listed = [(int(number), path, int(start)) for number, path, start, _, _ in HEADING.findall(shown.out)]
    assert listed == [(rank, hit["path"], hit["startLine"]) for rank, hit in enumerate(ranked, 1)]
    assert len(listed) > 2
    assert "%" not in shown.out
    assert seen.read_text().strip().endswith(str(project / ranked[1]["path"]))
    beyond = findspot("search", "client", "--offset", "1", "--open", "1", cwd=project, env={"EDITOR": editor})
    assert beyond.code == 2
    assert f"There is no result 1: the results are 2 to {len(ranked)}." in beyond.err


def test_notes_follow_the_pager_and_links_reach_only_a_terminal(
    findspot: Program, project: Path, tmp_path: Path
) -> None:
    """first-impression B9, M9: the count comes after the pager ends; paths are links where links work."""
    pager = {"PAGER": writing(tmp_path / "pager", "cat; echo PAGER-ENDED")}
    shown = findspot.on_terminal("search", "client", answers={}, whole=True, cwd=project, env=pager).err
    assert " results" in shown.partition("PAGER-ENDED")[2]
    assert "\x1b]8;" not in shown  # a pager that may not pass links on

    direct = findspot.on_terminal("search", "client", answers={}, whole=True, cwd=project).err
    link = re.search(r"\x1b\]8;;(file://[^\x1b]*)\x1b\\", direct)
    assert link is not None
    assert link[1].endswith(("/client.py", "/client%20names.py"))
    kitty = {"TERM": "xterm-kitty"}
    lines = findspot.on_terminal("search", "Client", answers={}, whole=True, cwd=project, env=kitty).err
    assert re.search(r"\x1b\]8;;file://[^\x1b]*/client\.py#\d+\x1b\\", lines)

    plain = findspot.on_terminal(
        "search", "client", answers={}, whole=True, cwd=project, env={"NO_COLOR": "1"}
    ).err
    assert "\x1b" not in plain + findspot("search", "client", cwd=project).out


def test_a_question_makes_the_index_that_it_needs(findspot: Program, make: MakeFolder) -> None:
    """The first answer needs no step before it; a pipe is told on standard error what happens."""
    root = make({"pyproject.toml": "", "greet.py": "def greet(name):\n    return name\n"})
    told = findspot("search", "greet", "--no-update", cwd=root)
    assert (told.code, told.out) == (3, "")
    piped = findspot("greet a name", cwd=root)  # one argument with a space is a question
    assert piped.code == 0
    assert piped.out.startswith("1  greet.py:1-2  ")
    assert piped.err.startswith(f"{root} has no index yet: it is indexed first.\n")
    assert findspot("status", "--json", cwd=root).json["status"] == "ready"
    again = findspot("greet a name", cwd=root)
    assert (again.out, "no index" in again.err) == (piped.out, False)


def test_a_question_on_a_terminal_asks_nothing(findspot: Program, make: MakeFolder) -> None:
    root = make({"pyproject.toml": "", "greet.py": "def greet(name):\n    return name\n"})
    asked = findspot.on_terminal("search", "greet", cwd=root, answers={}, whole=True)
    assert asked.code == 0
    assert "greet.py" in asked.err
    assert "[y/N]" not in asked.err


def test_a_question_in_a_home_folder_asks_first(findspot: Program, make: MakeFolder) -> None:
    root = make({"pyproject.toml": "", "greet.py": "def greet(name):\n    return name\n"})
    for home in (root, root / "below"):
        home.mkdir(exist_ok=True)
        refused = findspot("search", "greet", cwd=root, env={"HOME": str(home), "USERPROFILE": str(home)})
        assert refused.code == 2
        assert "home folder. Index all of it?" in refused.err
        assert "Pass --yes to `findspot index`." in refused.err


def test_the_files_with_the_words_of_a_question_are_indexed_first(make: MakeFolder) -> None:
    """An answer from a part of the project is right where that part has its words."""
    from findspot.search.likely_files import likely_files

    files = {f"part{number}.py": "def nothing():\n    pass\n" for number in range(40)}
    held = {"billing.py": "def send_invoice():\n    pass\n", "tests/test_billing.py": "send_invoice\n"}
    root = make(files | held)
    assert likely_files(root, "where is an invoice sent") == ["billing.py", "tests/test_billing.py"]
    assert likely_files(root, "where is it") == []


def test_a_first_index_suggests_questions_that_it_answers(findspot: Program, make: MakeFolder) -> None:
    """first-impression A3: two commands made from the project's own names; both give a good answer."""
    about = '"""Send the monthly invoice to a customer by mail."""'
    sender = f"def send_invoice(customer):\n    {about}\n    return customer\n"
    users = {
        f"{name}.py": f"from sender import send_invoice\n\n\ndef {name}(who):\n    return send_invoice(who)\n"
        for name in ("billing", "renewal", "refunds")
    }
    root = make({"pyproject.toml": "", "sender.py": sender, **users})
    first = findspot("index", root)  # from elsewhere: the commands name the project
    commands = re.findall(r"^(?:  ask)? +findspot (.+)$", first.out, re.MULTILINE)
    search, callers = map(shlex.split, commands)
    assert search[:2] == ["search", "how does send_invoice work"]
    assert callers[:2] == ["callers", "send_invoice"]
    best = findspot(*search).out.splitlines()[0]
    assert re.match(r"1  sender\.py:\d+-\d+  (strong|likely)  send_invoice", best)
    assert all(f"  {name}: " in findspot(*callers).out for name in ("billing", "renewal", "refunds"))
    again = findspot("index", root)
    assert "findspot search" not in again.out
