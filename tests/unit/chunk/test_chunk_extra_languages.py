"""The grammars of the extra `languages`, installed for these tests only: the defaults go without."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.chunk.dispatch import chunk_file
from findspot.chunk.grammars import grammar_for
from findspot.core.languages import LANGUAGES
from findspot.core.model import Corpus, SourceFile

ROOT = Path(__file__).parents[3]
EXTRA = {entry.name: entry.grammar for entry in LANGUAGES if entry.extra}

SAMPLES = {
    "sql": (
        (
            "-- People.\nCREATE TABLE app.users (id int primary key);\n\nCREATE VIEW names AS SELECT 1;\n"
            "CREATE INDEX by_id ON users (id);\n"
            "CREATE FUNCTION one() RETURNS int AS $$ SELECT 1 $$ LANGUAGE sql;\n"
        ),
        ["users:table", "names:view", "by_id:index", "one:function"],
    ),
    "terraform": (
        'resource "aws_s3_bucket" "logs" {\n  bucket = "x"\n}\n\nvariable "name" {}\n\nmodule "net" {\n}\n',
        ["logs:resource", "name:variable", "net:module"],
    ),
    "powershell": (
        "function Get-Parcel {\n  1\n}\nclass Depot {\n}\n",
        ["Get-Parcel:function", "Depot:class"],
    ),
    "make": ("LIMIT = 1\n\nall: build\n\techo done\n", ["LIMIT:constant", "all:target"]),
}


def symbols(language: str, text: str) -> list[str]:
    chunks = chunk_file(SourceFile("src/a", Corpus.CODE, language, len(text), 0), text).chunks
    assert chunks[0].span.start == 1
    return [f"{symbol.name}:{symbol.kind}" for chunk in chunks for symbol in chunk.symbols]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels that the extra names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    folder = tmp_path_factory.mktemp("wheels")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*install, *extras["languages"]], check=True, timeout=300)
    return folder


@pytest.fixture
def extra(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The wheels for one test."""
    monkeypatch.syspath_prepend(wheels)
    grammar_for.cache_clear()
    yield
    grammar_for.cache_clear()
    for module in EXTRA.values():
        monkeypatch.delitem(sys.modules, str(module), raising=False)


@pytest.mark.programs
@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("language", EXTRA)
def test_definitions(language: str) -> None:
    text, expected = SAMPLES[language]
    assert symbols(language, text) == expected


@pytest.mark.parametrize("language", EXTRA)
def test_without_the_extra_the_text_is_split_plainly(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, str(EXTRA[language]), None)
    grammar_for.cache_clear()
    assert symbols(language, SAMPLES[language][0]) == []
    grammar_for.cache_clear()
