"""The long tail of languages, where the `languages` extra is installed."""

from __future__ import annotations

import pytest

from findspot.chunk.dispatch import chunk_file
from findspot.chunk.grammars import grammar_for
from findspot.core.languages import LANGUAGES
from findspot.core.model import Corpus, SourceFile

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
    "proto": (
        (
            'syntax = "proto3";\npackage a.b;\n\n// A parcel.\nmessage Parcel {\n'
            "  enum Size { SMALL = 0; }\n}\n\n"
            "service Depot {\n  rpc Put(Parcel) returns (Parcel);\n}\n"
        ),
        ["Parcel:struct", "Size:enum", "Depot:interface", "Put:method"],
    ),
    "graphql": (
        (
            "type Parcel implements Item { id: Int }\ninterface Item { id: Int }\nenum Size { SMALL }\n"
            "query Find { parcel }\nfragment Short on Parcel { id }\nscalar Date\n"
        ),
        ["Parcel:type", "Item:interface", "Size:enum", "Find:function", "Short:function", "Date:type"],
    ),
    "dart": (
        (
            "/// A parcel.\nclass Parcel<T> extends Item {\n  Parcel();\n  void put(int a) { go(); }\n}\n\n"
            "enum Size { small }\nmixin Sealed {}\n\nvoid go() {}\n"
        ),
        ["Parcel:class", "Parcel:constructor", "put:method", "Size:enum", "Sealed:mixin", "go:function"],
    ),
    "r": ("# Adds.\nadd <- function(a, b) {\n  a + b\n}\n", ["add:function"]),
    "powershell": (
        "function Get-Parcel {\n  1\n}\nclass Depot {\n}\n",
        ["Get-Parcel:function", "Depot:class"],
    ),
    "make": ("LIMIT = 1\n\nall: build\n\techo done\n", ["LIMIT:constant", "all:target"]),
}


def symbols(language: str, text: str) -> list[str]:
    chunks = chunk_file(SourceFile("src/a", Corpus.CODE, language, len(text), 0), text).chunks
    return [f"{symbol.name}:{symbol.kind}" for chunk in chunks for symbol in chunk.symbols]


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_of_the_long_tail(language: str) -> None:
    pytest.importorskip("tree_sitter_language_pack")
    text, expected = SAMPLES[language]
    assert symbols(language, text) == expected


def test_every_named_grammar_is_in_the_pack() -> None:
    pytest.importorskip("tree_sitter_language_pack")
    missing = [entry.name for entry in LANGUAGES if entry.pack and grammar_for(entry.name) is None]
    assert missing == []


@pytest.mark.parametrize("language", SAMPLES)
def test_without_the_pack_the_text_is_split_all_the_same(language: str) -> None:
    text, _ = SAMPLES[language]
    chunks = chunk_file(SourceFile("src/a", Corpus.CODE, language, len(text), 0), text).chunks
    assert chunks
    assert chunks[0].span.start == 1
