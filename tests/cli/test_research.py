"""`findspot research` and the verbs of the reference graph, as the program that people run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from program import InThisProcess, Program

FIXTURE = Path(__file__).parents[1] / "fixtures" / "research" / "python"
CALLERS = "sign_in_by_token (app/auth/login.py:20), LoginHandler.respond (app/http/handlers.py:20)"


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The research fixture, indexed by the program."""
    folder = tmp_path_factory.mktemp("accounts")
    program = InThisProcess(home=folder / "home", cwd=shutil.copytree(FIXTURE, folder / "accounts"))
    program.make_index(program.cwd)
    return program


class TestResearch:
    def test_a_report_to_read(self, ask: Program) -> None:
        found = ask("research", "what", "calls", "authenticate", "--depth", "1")
        assert found.code == 0
        assert found.out.splitlines()[:6] == [
            f"authenticate (app/auth/login.py:7) is called by 2: {CALLERS}.",
            "",
            "app/auth/login.py",
            "  22  sign_in_by_token: return authenticate(token, database)",
            "app/http/handlers.py",
            "  21  LoginHandler.respond: user = authenticate(request, self.database)",
        ]

    def test_no_index(self, ask: Program, tmp_path: Path) -> None:
        assert ask("research", "x", "--no-update", "--project", str(tmp_path)).code == 3


class TestVerbs:
    def test_callers_by_hop(self, ask: Program) -> None:
        assert ask("callers", "authenticate", "--depth", "2").out.splitlines()[2:] == [
            "app/auth/login.py",
            "  22  sign_in_by_token: return authenticate(token, database)",
            "app/http/handlers.py",
            "  21  LoginHandler.respond: user = authenticate(request, self.database)",
            "",
            "Hop 2",
            "app/mail/sender.py",
            "  13  resend → sign_in_by_token: return sign_in_by_token(token, database)",
            "app/http/server.py",
            "  16  Server.handle → LoginHandler.respond: return self.login.respond(path)",
            "",
            "Chains (→ calls)",
            "  resend → sign_in_by_token → authenticate",
            "  Server.handle → LoginHandler.respond → authenticate",
        ]

    @pytest.mark.parametrize("name", ["app/auth/login.py", "app.auth.login"])
    def test_importers(self, ask: Program, name: str) -> None:
        assert ask("importers", name).out.splitlines() == [
            "app/auth/login.py is imported by 2: app/http/handlers.py, app/mail/sender.py.",
            "",
            "app/http/handlers.py",
            "  3  from app.auth.login import authenticate, sign_out",
            "app/mail/sender.py",
            "  3  from app.auth.login import sign_in_by_token",
        ]

    def test_a_path_from_the_working_folder(self, ask: Program) -> None:
        found = ask("importers", "../auth/login.py", cwd=ask.cwd / "app" / "http")
        assert found.out.startswith("app/auth/login.py is imported by 2: ")
        long = "n" * 300  # more than a file's name may have
        assert ask("callers", long).err == f"No definition named {long} in the index.\n"

    def test_what_nothing_calls_is_told(self, ask: Program) -> None:
        found = ask("callers", "resend")
        assert found.code == 0
        assert "No caller in this project." in found.out

    @pytest.mark.parametrize(
        "verb", ["callers", "callees", "implementations", "importers", "impact", "tests"]
    )
    def test_an_unknown_name_is_an_error(self, ask: Program, verb: str) -> None:
        found = ask(verb, "nothing_here")
        assert found.code == 1
        assert found.err == "No definition named nothing_here in the index.\n"
        assert ask(verb, "app/nosuch.py").err == "No indexed file app/nosuch.py.\n"
        found = ask(verb, "nothing_here", "--json")
        assert found.code == 1
        assert json.loads(found.out)["nodes"] == []
