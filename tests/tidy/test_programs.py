"""Every program that the product starts is one of a written list, and none is found in a project."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "findspot"

STARTERS = {
    "catalogue/search_modes.py": "ripgrep_binary",
    "catalogue/transports.py": "resolved",
    "core/platforms.py": "python_command",
    "core/git.py": "program",  # the absolute path that find_program gave
    "door/command.py": "start",  # the pager or browser that `serve/cli/terminal.py` found
    "door/connection.py": "_start",  # this Python
    "embed/services.py": "resolved",
    "history/project_history.py": "python_command",  # reading 20,000 commits must not slow a server down
    "search/likely_files.py": "ripgrep_binary",
    "search/regex.py": "ripgrep_binary",
    "search/ripgrep.py": "ripgrep_binary",
}
"""Each module that starts a program, and what gives it the program's absolute path."""

OTHER_WAYS = {
    "create_subprocess_exec", "create_subprocess_shell", "execl", "execle", "execlp", "execlpe", "execv",
    "execve", "execvp", "execvpe", "forkpty", "getoutput", "getstatusoutput", "popen", "posix_spawn",
    "posix_spawnp", "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe",
    "startfile", "subprocess_shell", "system",
}  # fmt: skip
"""Ways to start a program that the product does without; `platform.system()` starts none."""

BY_NAME = {"click.launch", "click.edit", "webbrowser.open", "click.echo_via_pager"}
"""What looks for a program on the PATH, relative entries included."""


@cache
def texts() -> dict[str, str]:
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}


@cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Each call with its module and the dotted name that is called."""
    nodes = ((name, node) for name, text in texts().items() for node in ast.walk(ast.parse(text)))
    return [(name, dotted(node.func), node) for name, node in nodes if isinstance(node, ast.Call)]


def dotted(node: ast.expr) -> str:
    """The names that lead to an attribute, from the last one that is not the value of something else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


def test_only_listed_modules_start_programs() -> None:
    """security 1, 3: a new call of subprocess must say here how its program is found."""
    found = set()
    for name, called, node in calls():
        module, _, function = called.rpartition(".")
        is_run = module == "subprocess" and function in ("run", "Popen", "call", "check_call", "check_output")
        if is_run or function == "subprocess_exec":
            found.add(name)
            assert not any(keyword.arg == "shell" for keyword in node.keywords), name
        assert module == "platform" or function not in OTHER_WAYS, f"{name}: {called}"
        assert called not in BY_NAME or name == "serve/cli/terminal.py", f"{name}: {called}"
    assert found == set(STARTERS)


def test_each_of_them_finds_its_program_by_an_absolute_path() -> None:
    for name, way in STARTERS.items():
        text = texts()[name]
        assert f"{way}(" in text or f"{way} = find_program(" in text, name
        assert not re.search(r"^\s*from (subprocess|os) import", text, re.MULTILINE), (
            f"{name}: import the module"
        )


def test_python_is_started_without_its_working_folder() -> None:
    """security 1: `sys.executable` becomes a command in one place, with -P."""
    users = {name for name, text in texts().items() if "sys.executable" in text}
    shown = {"serve/cli/setup_command.py", "serve/cli/doctor.py"}
    assert users == {"core/platforms.py", "door/connection.py"} | shown
    assert '[sys.executable, "-P", "-m"' in texts()["door/connection.py"]
    assert '[sys.executable, "-P", *arguments]' in texts()["core/platforms.py"]
    for name, text in texts().items():
        for node in ast.walk(ast.parse(text)) if "executable" in text else ():
            if isinstance(node, ast.List | ast.Tuple) and "executable" in (spelled := ast.unparse(node)):
                assert "'-P'" in spelled or "'-I'" in spelled or "'-m'" not in spelled, f"{name}: {spelled}"


def test_git_is_run_in_one_module() -> None:
    """security 3: one place decides what git may do."""
    for name, called, node in calls():
        if called.startswith("subprocess.") and name != "core/git.py" and node.args:
            first = node.args[0]
            elements = first.elts if isinstance(first, ast.List | ast.Tuple) else []
            assert not (elements and isinstance(elements[0], ast.Constant)), f"{name}: a bare name"
    assert [name for name, text in texts().items() if 'find_program("git")' in text] == ["core/git.py"]
