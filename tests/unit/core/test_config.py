"""Configuration: every key, the order of its sources, and what a repository may not decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from findspot.core.config import (
    check_value,
    home_folder,
    load_settings,
    set_value,
    starter_config,
    write_starter,
)
from findspot.core.keys import BY_NAME, KEYS

STRINGS = (["src/**", "*.py"], ("src/**", "*.py"), [5, {"a": 1}])
SWITCH = (False, False, ["maybe", 3])
NUMBER = (7, 7, [0, -1, "many", 1.5, True])
TEXT = ("something", "something", ["", 5])

CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "include": STRINGS,
    "exclude": STRINGS,
    "respectGitignore": SWITCH,
    "maxFileSize": ("2MB", 2 << 20, ["2GB", "MB", "0KB", 5, "1.5MB", "2mb"]),
    "maxFiles": NUMBER,
    "docPatterns": STRINGS,
    "indexDocs": SWITCH,
    "enhancedToolDescriptions": (True, True, ["maybe", 3]),
    "indexingStrategy": ("lazy", "lazy", ["never", 5]),
    "lazyIdleThreshold": NUMBER,
    "watch": SWITCH,
    "toolsets": (["project"], ("project",), [["everything"], [], 5]),
    "chunkingStrategy": ("character", "character", ["words"]),
    "embedding.provider": TEXT,
    "embedding.dtype": TEXT,
    "embedding.endpoint": TEXT,
    "embedding.model": TEXT,
    "embedding.command": TEXT,
    "llm.provider": ("openai", "openai", ["oracle", 5]),
    "llm.endpoint": TEXT,
    "llm.model": TEXT,
    "http.token": TEXT,
    "http.allowedHosts": STRINGS,
    "http.tokensFile": TEXT,
    "http.requestsPerSecond": NUMBER,
    "http.concurrentRequests": NUMBER,
    "workers": TEXT,
    "maxTokens": NUMBER,
    "store": ("lancedb", "lancedb", ["postgres"]),
    "storeUri": TEXT,
    "integrityIntervalHours": NUMBER,
    "secretScan": ("mask", "mask", ["sometimes"]),
    "roots": STRINGS,
    "defaultFormat": ("toon", "toon", ["xml"]),
    "structuredResults": ("slim", "slim", ["none"]),
    "documents.maxMemory": ("2MB", 2 << 20, ["2GB", 5]),
    "cortex.chunksDir": TEXT,
    "cortex.endpoint": TEXT,
    "cortex.dimensions": NUMBER,
}
"""Key → a valid value, what it means, and values that are not valid."""


class Places:
    """A home, a project and an index, and the settings in force among them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root, self.index = (
            folder / "home",
            folder / "project",
            folder / "home" / "indexes" / "x",
        )
        for place in (self.root, self.index):
            place.mkdir(parents=True)

    def write(self, place: str, content: Any) -> None:
        files = {
            "global": self.home / "config.json",
            "project": self.root / ".findspot.json",
            "index": self.index / "config.json",
        }
        text = content if isinstance(content, str) else json.dumps(content)
        files[place].write_text(text, encoding="utf-8")

    def load(self, flags: dict[str, Any] | None = None, **environment: str) -> Any:
        return load_settings(self.root, self.index, flags, {"FINDSPOT_HOME": str(self.home), **environment})


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def in_force(settings: Any, name: str) -> Any:
    key = BY_NAME[name]
    return getattr(getattr(settings, key.section), key.attribute)


def test_every_key_has_a_case() -> None:
    assert set(CASES) == set(BY_NAME)
    assert len(BY_NAME) == len(KEYS)


@pytest.mark.parametrize("name", CASES)
def test_a_valid_value_is_taken(places: Places, name: str) -> None:
    value, meaning, _ = CASES[name]
    places.write("global", {name: value})
    settings = places.load()
    assert settings.warnings == ()
    assert in_force(settings, name) == meaning
    assert settings.values[name] == value
    assert settings.sources == {name: str(places.home / "config.json")}


@pytest.mark.parametrize(("name", "value"), [(name, bad) for name, case in CASES.items() for bad in case[2]])
def test_an_invalid_value_gives_the_default_and_a_warning(places: Places, name: str, value: Any) -> None:
    places.write("global", {name: value})
    settings = places.load()
    assert in_force(settings, name) == in_force(load_settings(environ={}), name)
    assert settings.values[name] == BY_NAME[name].default
    assert len(settings.warnings) == 1
    assert f"'{name}' must be" in settings.warnings[0]
    assert name not in settings.sources


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_defaults_are_valid_and_need_no_warning(key: Any) -> None:
    check_value(key.name, key.default)
    assert load_settings(environ={}).warnings == ()


def test_each_source_wins_over_the_one_before(places: Places) -> None:
    steps: list[tuple[str, int]] = []

    def now() -> tuple[str, int]:
        settings = places.load()
        return settings.sources.get("maxFiles", "default"), settings.discover.max_files

    steps.append(now())
    for number, place in enumerate(("global", "project", "index"), 1):
        places.write(place, {"maxFiles": number})
        steps.append(now())
    assert steps == [
        ("default", 50_000),
        (str(places.home / "config.json"), 1),
        (".findspot.json", 2),
        (str(places.index / "config.json"), 3),
    ]
    assert places.load(FINDSPOT_MAX_FILES="4").discover.max_files == 4
    flagged = places.load({"maxFiles": 5}, FINDSPOT_MAX_FILES="4")
    assert (flagged.discover.max_files, flagged.sources["maxFiles"]) == (5, "flags")


@pytest.mark.parametrize("name", [key.name for key in KEYS if key.local_only])
def test_a_repository_cannot_decide_where_text_goes(places: Places, name: str) -> None:
    places.write("project", {name: CASES[name][0]})
    settings = places.load()
    assert settings.values[name] == BY_NAME[name].default
    assert settings.warnings == (
        f".findspot.json: '{name}' can only be set in your own configuration; ignored",
    )


def test_what_may_send_text_away_or_move_data_is_local_only() -> None:
    local = {key.name for key in KEYS if key.local_only}
    assert {name for name in BY_NAME if name.startswith(("embedding.", "llm.", "store"))} <= local


def test_the_starter_file_hides_nothing(places: Places) -> None:
    write_starter(places.index)
    places.write("global", {"maxFiles": 9, "indexDocs": False})
    settings = places.load()
    assert settings.warnings == ()
    assert (settings.discover.max_files, settings.discover.index_docs) == (9, False)


def test_the_starter_file_is_written_once(places: Places) -> None:
    write_starter(places.index)
    content = json.loads((places.index / "config.json").read_text())
    assert content == starter_config()
    assert {"_comment", "_hardcodedExcludes", "_availableOptions"} < set(content)
    places.write("index", {"maxFiles": 3})
    write_starter(places.index)
    assert places.load().discover.max_files == 3


def test_unknown_keys_are_named_and_comments_are_not(places: Places) -> None:
    places.write("global", {"colour": "red", "_comment": "mine"})
    assert places.load().warnings == (f"{places.home / 'config.json'}: unknown key 'colour' is ignored",)


@pytest.mark.parametrize("content", ["{broken", "[1, 2]", '"text"', "", "\x00"])
def test_a_file_that_is_no_object_is_a_warning(places: Places, content: str) -> None:
    places.write("project", content)
    settings = places.load()
    assert len(settings.warnings) == 1
    assert settings.sources == {}


def test_sections_may_be_nested_or_dotted(places: Places) -> None:
    places.write("global", {"embedding": {"provider": "http"}, "llm.model": "m"})
    settings = places.load()
    assert (settings.embed.provider, settings.llm.model) == ("http", "m")


@pytest.mark.parametrize(
    ("variable", "text", "name", "meaning"),
    [
        ("FINDSPOT_MAX_FILE_SIZE", "2MB", "maxFileSize", 2 << 20),
        ("FINDSPOT_INDEX_DOCS", "no", "indexDocs", False),
        ("FINDSPOT_EXCLUDE", "*.js, *.css", "exclude", ("*.js", "*.css")),
        ("FINDSPOT_EMBEDDING_PROVIDER", "http", "embedding.provider", "http"),
    ],
)
def test_the_environment_spells_values_as_text(
    places: Places, variable: str, text: str, name: str, meaning: Any
) -> None:
    settings = places.load(**{variable: text})
    assert in_force(settings, name) == meaning
    assert settings.sources[name] == "environment"


def test_home_can_be_moved(tmp_path: Path) -> None:
    assert home_folder({"FINDSPOT_HOME": str(tmp_path)}) == tmp_path
    assert home_folder({}) == Path.home() / ".mcp" / "search"


def test_set_value_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.json"
    set_value(file, "maxFiles", 5)
    set_value(file, "embedding.provider", "http")
    set_value(file, "embedding.model", "m")
    assert json.loads(file.read_text()) == {"maxFiles": 5, "embedding": {"provider": "http", "model": "m"}}


@pytest.mark.parametrize(
    ("before", "name", "value"),
    [
        ("{}", "colour", "red"),
        ("{}", "maxFiles", 0),
        ("[]", "maxFiles", 5),
        ("{broken", "maxFiles", 5),
        ('{"embedding": 3}', "embedding.model", "m"),
    ],
)
def test_set_value_refuses_and_leaves_the_file(tmp_path: Path, before: str, name: str, value: Any) -> None:
    file = tmp_path / "config.json"
    file.write_text(before)
    with pytest.raises(ValueError):
        set_value(file, name, value)
    assert file.read_text() == before
