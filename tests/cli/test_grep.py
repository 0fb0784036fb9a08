"""`findspot grep`: ripgrep's options and exit codes, over what is indexed and what is not yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from program import InThisProcess, Program

Make = Callable[..., Path]

MAIL = '''"""Mail."""


def send_mail(to):
    return connect(to)


def retry(to):
    # send_mail may fail
    return send_mail(to)
'''
FILES = {
    "src/mail.py": MAIL,
    "tests/test_mail.py": "from mail import send_mail\n\n\ndef test_send_mail():\n    assert send_mail(1)\n",
    "notes.txt": "\tSend_Mail is old\r\nthe end\r\n",
}


@pytest.fixture
def project(findspot: Program, make_project: Make) -> Program:
    return InThisProcess(home=findspot.home, cwd=make_project(**FILES))


def test_matches_are_found_without_an_index(project: Program) -> None:
    found = project("grep", "send_mail")
    assert found.code == 0
    assert found.out.splitlines()[:4] == [
        "src/mail.py:4:def send_mail(to):",
        "src/mail.py:9:    # send_mail may fail",
        "src/mail.py:10:    return send_mail(to)",
        "tests/test_mail.py:1:from mail import send_mail",
    ]
    assert not (project.home / "indexes").exists()


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["-i", "send_mail", "notes.txt"], ["notes.txt:1:\tSend_Mail is old"]),
        (["-c", "send_mail"], ["src/mail.py:3", "tests/test_mail.py:3"]),
        (["-l", "send_mail", "src", "notes.txt"], ["src/mail.py"]),
        (["-o", "-N", r"con\w+"], ["src/mail.py:connect"]),
        (["-F", "(1)"], ["tests/test_mail.py:5:    assert send_mail(1)"]),
        (["-w", "mail", "-t", "py"], ["tests/test_mail.py:1:from mail import send_mail"]),
        (["-m", "1", "send_mail", "-g", "!tests/**"], ["src/mail.py:4:def send_mail(to):"]),
        (["-x", "the end"], ["notes.txt:2:the end"]),
        (["-v", "-g", "*.txt", "old"], ["notes.txt:2:the end"]),
        (
            ["-e", "connect", "-e", "fail"],
            ["src/mail.py:5:    return connect(to)", "src/mail.py:9:    # send_mail may fail"],
        ),
        (
            ["-A1", "connect|def retry"],
            ["src/mail.py:5:    return connect(to)", "src/mail.py-6-", "--",
             "src/mail.py:8:def retry(to):", "src/mail.py-9-    # send_mail may fail"],
        ),
        (
            ["-B1", "-rEHs", "--color=always", "--hidden", "connect|the end"],
            ["notes.txt-1-\tSend_Mail is old", "notes.txt:2:the end", "--",
             "src/mail.py-4-def send_mail(to):", "src/mail.py:5:    return connect(to)"],
        ),
        (["-P", r"con(?=nect)", "-o"], ["src/mail.py:5:con"]),
    ],
)  # fmt: skip
def test_options_are_those_of_ripgrep(project: Program, arguments: list[str], printed: list[str]) -> None:
    found = project("grep", *arguments)
    assert (found.code, found.out.splitlines()) == (0, printed)


def test_exit_codes_are_those_of_ripgrep(project: Program) -> None:
    assert project("grep", "nothing_like_it").code == 1
    assert project("grep", "-q", "connect").code == 0
    wrong = project("grep", "(")
    assert (wrong.code, wrong.out) == (2, "")
    assert "unclosed group" in wrong.err
    assert project("grep").code == 2
    assert project("grep", "x", "..").code == 2
    assert project("grep", "x", "-t", "nosuchtype").code == 2


def test_matches_by_meaning_and_by_function_tests_last(project: Program) -> None:
    found = project("grep", "send_mail", "--about", "try again when mail fails")
    heads = [line for line in found.out.splitlines() if not line.startswith(" ")]
    assert heads[:2] == ["src/mail.py:8  retry", "src/mail.py:4  send_mail"]
    assert [line.split(":")[0] for line in heads[2:]] == ["tests/test_mail.py"] * 2
    assert "  10: return send_mail(to)" in found.out


def test_what_fits_the_question_goes_before_a_definition_that_does_not(
    findspot: Program, make_project: Make
) -> None:
    far = {f"src/part{n}.py": f"def upload_{n}():\n    return send_retry({n})\n" for n in range(9)}
    root = make_project(**far, **{"src/zoo.py": "def send_retry(n):\n    return n\n"})
    project = InThisProcess(home=findspot.home, cwd=root)
    asked = ["grep", "send_retry", "--about", "upload_3"]
    assert project(*asked, "-l").out.splitlines()[0] == "src/part3.py"
    assert project(*asked, "-c").out.splitlines()[0] == "src/part3.py:1"
    assert project(*asked, "--json").json["matches"][0]["path"] == "src/part3.py"
    assert project(*asked).out.startswith("src/part3.py:1  upload_3\n")


def test_nothing_that_was_named_is_left_out_in_silence(project: Program) -> None:
    root = project.cwd
    (root / ".gitignore").write_text("unseen/\n*.tmp\n")
    (root / "unseen").mkdir()
    for path in ("unseen/in.py", "own.tmp", "app.log"):
        (root / path).write_text("needle\n")
    (root / "large.txt").write_text("x" * 79 + "\n" + ("y" * 79 + "\n") * 20_000 + "needle\n")
    (root / "data").write_bytes(b"needle\0\1\2")
    (root / ".env").write_text("KEY=needle\n")
    assert project("grep", "needle").code == 1
    for path in ("unseen/in.py", "own.tmp", "app.log", "large.txt"):
        found = project("grep", "-c", "needle", path)
        assert (found.code, found.out) == (0, f"{path}:1\n"), found.err
    assert project("grep", "-l", "needle", "unseen").out == "unseen/in.py\n"
    assert "large.txt" in project("grep", "-ul", "needle").out
    for path, why in {"nosuchdir": "No such file", "data": "binary", ".env": "denied"}.items():
        found = project("grep", "needle", path, "own.tmp")
        assert (found.code, found.out) == (2, "own.tmp:1:needle\n")
        assert found.err.startswith(f"{path}: ")
        assert why in found.err
        assert project("grep", "-s", "needle", path).err == ""


def test_as_much_of_a_long_line_is_shown_as_is_read(project: Program) -> None:
    (project.cwd / "app.min.js").write_text(
        "/* Widgets */\n" + "t(e);" * 20_000 + "needle" + "n(r);" * 20_000
    )
    shown = project("grep", "-B", "1", "needle").out.splitlines()
    assert shown[0] == "app.min.js-1-/* Widgets */"
    assert "e);needlen(r)" in shown[1]
    assert shown[1].endswith(" [part of 200,006 characters]")
    assert len(shown[1]) < 2_100
    assert len(project("grep", "Widgets", "-A", "1").out) < 2_200


def test_secrets_are_neither_shown_nor_guessed(project: Program) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    (project.cwd / "deploy.py").write_text(f'TOKEN = "{token}"\nother = 1\n')
    for _ in range(2):
        shown = project("grep", "TOKEN|other", "deploy.py")
        assert len(shown.out.splitlines()) == 2
        assert token not in shown.out
        assert project("grep", "ghp_a1B2", "deploy.py").code == 1
        project.make_index(project.cwd)


def test_a_file_that_changed_since_it_was_indexed(project: Program) -> None:
    project.make_index(project.cwd)
    (project.cwd / "src" / "mail.py").write_text("send_mail = None\n")
    (project.cwd / "new.py").write_text("import send_mail\n")
    found = project("grep", "--json", "send_mail", "src", "new.py").json
    assert [(match["path"], match["line"]) for match in found["matches"]] == [
        ("new.py", 1),
        ("src/mail.py", 1),
    ]
