"""Choices of a catalogue: which model reads, and which file wins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.consent import read_build_record, write_build_record
from findspot.catalogue.tool_record import SearchMode, ToolSearchOptions
from findspot.embed.embedder import Embedder
from findspot.embed.provider_registry import open_embedder

from .conftest import TOOLS, Write, index

Open = Callable[[], Catalogue]
MEANING = ToolSearchOptions(SearchMode.EMBEDDING)


class TestModels:
    """An index file may come from somebody else: it never chooses a service for the user."""

    @pytest.fixture
    def foreign(self, catalogue: Catalogue) -> Catalogue:
        """A catalogue whose file names a provider that nobody here chose."""
        path = catalogue.project_index
        assert path is not None
        path.write_text(path.read_text().replace('"local:static"', '"http:elsewhere"'))
        return catalogue

    def open(self, root: Path, home: Path, provider: str) -> tuple[Catalogue, list[str]]:
        opened: list[str] = []

        def embedder(name: str) -> Embedder:
            opened.append(name)
            return open_embedder("local:static")

        return Catalogue(root, home, embedder, lambda: provider), opened

    def test_the_provider_of_the_settings_is_used(
        self, foreign: Catalogue, root: Path, tmp_path: Path
    ) -> None:
        mine, opened = self.open(root, tmp_path / "findspot", "http:elsewhere")
        assert mine.search("read a file", MEANING).tools
        assert set(opened) == {"http:elsewhere"}

    def test_so_is_the_one_that_the_index_was_built_with(
        self, foreign: Catalogue, root: Path, tmp_path: Path
    ) -> None:
        home, path = tmp_path / "findspot", foreign.project_index
        assert path is not None
        record = read_build_record(home, path)
        write_build_record(home, path, type(record)(record.files, False, "http:elsewhere"))
        mine, opened = self.open(root, home, "local:static")
        assert mine.search("read a file", MEANING).tools
        assert set(opened) == {"http:elsewhere"}

    def test_words_need_no_model(self, catalogue: Catalogue, root: Path, tmp_path: Path) -> None:
        opened, asked = self.open(root, tmp_path / "findspot", "local:static")
        assert opened.search("read", ToolSearchOptions(SearchMode.BM25)).tools
        assert opened.search("read", ToolSearchOptions(SearchMode.REGEX)).tools
        assert asked == []
        opened.search("read a file", MEANING)
        assert set(asked) == {"local:static"}


def test_the_index_of_a_user_alone(tmp_path: Path, root: Path, write: Write) -> None:
    own = Catalogue(None, tmp_path / "findspot", open_embedder)
    assert (own.project_index, own.paths) == (None, [own.user_index])
    index(own, write("tools.json", TOOLS), user_wide=True)
    assert own.search("read").tools
    at_home = Catalogue(Path.home(), tmp_path / "findspot", open_embedder)
    assert at_home.paths == [own.user_index]


def test_patterns_over_other_scripts(open_catalogue: Open, write: Write) -> None:
    opened = open_catalogue()
    tools = [{"name": "größe", "server": ""}, {"name": "size", "description": "ÜBER", "server": ""}]
    index(opened, write("t.json", tools), provider=None)

    def found(pattern: str) -> list[str]:
        return [tool.name for tool in opened.search(pattern, ToolSearchOptions(SearchMode.REGEX)).tools]

    assert found("über") == ["size"]
    assert found("GRÖSSE|GRÖẞE") == ["größe"]
    assert found(r"gr\w+e") == ["größe"]
    assert found(r"\p{Lu}BER") == ["size"]
