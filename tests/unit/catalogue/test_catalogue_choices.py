"""Choices of a catalogue: which model reads, and which file wins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.server_registry import read_build_record, write_build_record
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
        write_build_record(home, path, type(record)(record.files, "http:elsewhere"))
        mine, opened = self.open(root, home, "local:static")
        assert mine.search("read a file", MEANING).tools
        assert set(opened) == {"http:elsewhere"}


def test_the_index_of_a_user_alone(tmp_path: Path, root: Path, write: Write) -> None:
    own = Catalogue(None, tmp_path / "findspot", open_embedder)
    assert (own.project_index, own.paths) == (None, [own.user_index])
    index(own, write("tools.json", TOOLS), user_wide=True)
    assert own.search("read").tools
    at_home = Catalogue(Path.home(), tmp_path / "findspot", open_embedder)
    assert at_home.paths == [own.user_index]
