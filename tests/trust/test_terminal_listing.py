"""A first question makes the index that it needs."""

from __future__ import annotations

import sys

import pytest

from program import TIMEOUT_S, Program
from trust.conftest import MakeFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")


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


def test_of_two_first_questions_at_once_each_gets_its_answer(findspot: Program, make: MakeFolder) -> None:
    """One process makes the index; the other answers from it, and does not say that there is none."""
    parts = {f"part{number}.py": f"def part_{number}(value):\n    return value\n" for number in range(300)}
    root = make(parts | {"pyproject.toml": "", "greet.py": "def greet(name):\n    return name\n"})
    asked = [findspot.start("greet a name", cwd=root) for _ in range(2)]
    for process in asked:
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
        assert out.lstrip().startswith("1  greet.py:1-2  ")


def test_a_question_on_a_terminal_asks_nothing_but_in_a_home_folder(
    findspot: Program, make: MakeFolder
) -> None:
    root = make({"pyproject.toml": "", "greet.py": "def greet(name):\n    return name\n"})
    asked = findspot.on_terminal("search", "greet", cwd=root, answers={}, whole=True)
    assert (asked.code, "greet.py" in asked.err, "[y/N]" in asked.err) == (0, True, False)
    assert findspot("delete", "--yes", cwd=root).code == 0
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
