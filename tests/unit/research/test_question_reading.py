"""Questions read for their relation."""

from __future__ import annotations

import pytest

from findspot.research.findings import Aim, Focus
from findspot.research.question_parser import ParsedQuestion, read_question


@pytest.mark.parametrize(
    ("question", "aim", "name"),
    [
        ("what calls authenticate()", Aim.CALLERS, "authenticate"),
        ("What calls the method `Session.open`?", Aim.CALLERS, "Session.open"),
        ("who calls Auth::login", Aim.CALLERS, "Auth::login"),
        ("which functions call parse_header.", Aim.CALLERS, "parse_header"),
        ("callers of save", Aim.CALLERS, "save"),
        ("where is render() called?", Aim.CALLERS, "render"),
        ("show the call chain for Database.query", Aim.CALLERS, "Database.query"),
        ("what does authenticate() call?", Aim.CALLEES, "authenticate"),
        ("callees of main", Aim.CALLEES, "main"),
        ("everything called by handle", Aim.CALLEES, "handle"),
        ("all implementations of Authenticatable", Aim.IMPLEMENTATIONS, "Authenticatable"),
        ("which types conform to Codable", Aim.IMPLEMENTATIONS, "Codable"),
        ("what implements the interface Store", Aim.IMPLEMENTATIONS, "Store"),
        ("subclasses of Handler", Aim.IMPLEMENTATIONS, "Handler"),
        ("all classes that inherit from Base", Aim.IMPLEMENTATIONS, "Base"),
        ("what does Admin inherit from", Aim.SUPERTYPES, "Admin"),
        ("base classes of Admin", Aim.SUPERTYPES, "Admin"),
        ("what imports app/auth/login.py?", Aim.IMPORTERS, "app/auth/login.py"),
        ("what depends on app.storage", Aim.IMPORTERS, "app.storage"),
        ("dependents of billing", Aim.IMPORTERS, "billing"),
        ("what does app/main.py depend on", Aim.IMPORTS, "app/main.py"),
        ("dependencies of billing", Aim.IMPORTS, "billing"),
        ("which functions does save depend on", Aim.CALLEES, "save"),
        ("which functions depend on save_all", Aim.USES, "save_all"),
        ("downstream calls of save_all", Aim.CALLEES, "save_all"),
        ("what is downstream of Store.save", Aim.CALLEES, "Store.save"),
        ("upstream of Store.save", Aim.CALLERS, "Store.save"),
        ("where is MAX_SIZE used", Aim.USES, "MAX_SIZE"),
        ("references to Token", Aim.USES, "Token"),
    ],
)
def test_a_relation_and_its_name(question: str, aim: Aim, name: str) -> None:
    assert read_question(question) == ParsedQuestion(aim, name)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("how does a request reach the database?", "request", "database"),
        ("path from Server.handle to Database.query", "Server.handle", "Database.query"),
        ("flow from `login()` into `save()`", "login", "save"),
        ("from main to render", "main", "render"),
        ("how do events get to the user interface", "events", "user interface"),
    ],
)
def test_a_way_and_its_ends(question: str, start: str, end: str) -> None:
    assert read_question(question) == ParsedQuestion(Aim.PATH, start, end)


@pytest.mark.parametrize(
    ("question", "focus"),
    [
        ("give me an overview of the architecture", Focus.ARCHITECTURE),
        ("what are the entry points", Focus.ARCHITECTURE),
        ("dependency graph of the modules", Focus.DEPENDENCIES),
        ("which design patterns are used here", Focus.PATTERNS),
        ("how are passwords verified", None),
        ("what calls it", None),
        ("", None),
    ],
)
def test_neither(question: str, focus: Focus | None) -> None:
    assert read_question(question) == ParsedQuestion(Aim.OPEN, focus=focus)


def test_a_long_text_is_read_quickly() -> None:
    assert read_question("show " * 20_000).aim is Aim.OPEN
    assert read_question("how does " + "a " * 20_000).aim is Aim.OPEN
