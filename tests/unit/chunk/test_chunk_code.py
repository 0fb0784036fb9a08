"""Code: pieces, names, capsules, imports, outlines and tags."""

from __future__ import annotations

import pytest

from findspot.chunk import grammars
from findspot.chunk.dispatch import UNPARSED, chunk_file
from findspot.chunk.grammars import (
    NAME_BYTES,
    READ_BYTES,
    ParseTimeoutError,
    grammar_for,
)
from findspot.chunk.pieces import frontmatter_tags, is_test_path
from findspot.chunk.splitting import SourceLines
from findspot.chunk.symbols import strip_markers
from findspot.core.model import Chunk, ChunkType, Corpus, SkipReason, SourceFile


def chunks(text: str, language: str = "python", path: str = "src/a.py") -> list[Chunk]:
    file = SourceFile(path, Corpus.CODE, language, len(text), 0)
    return [chunk for chunk in chunk_file(file, text).chunks if chunk.chunk_type is not ChunkType.SYMBOLS]


def outline(text: str, language: str = "python") -> Chunk:
    return chunk_file(SourceFile("src/a.py", Corpus.CODE, language, len(text), 0), text).chunks[-1]


def function(name: str, size: int, indent: str = "") -> str:
    body = "".join(f"{indent}    value_{n} = call({n})\n" for n in range(size // 25))
    return f"{indent}def {name}(self):\n{body}"


def test_small_neighbours_share_a_chunk_and_a_sizeable_one_stands_alone() -> None:
    text = "\n".join(
        [function("one", 100), function("two", 100), function("large", 500), function("three", 100)]
    )
    names = [[symbol.name for symbol in chunk.symbols] for chunk in chunks(text)]
    assert names == [["one", "two"], ["large"], ["three"]]


def test_decorators_and_comments_stay_with_their_definition() -> None:
    large = function("one", 500)
    text = (
        f"{large}\n\n# What two does,\n# in two lines.\n@cached\n@traced(\n    1,\n)\n{function('two', 500)}"
    )
    second = chunks(text)[1]
    assert second.text.startswith("# What two does,")
    assert second.doc_comment == "What two does,\nin two lines."
    assert second.signature == "def two(self)"


def test_a_comment_after_a_blank_line_is_no_doc_comment() -> None:
    (chunk,) = chunks("# About the file.\n\ndef one():\n    pass\n")
    assert chunk.doc_comment is None


def test_a_large_class_is_cut_at_its_methods() -> None:
    methods = "\n".join(function(f"method_{n}", 600, "    ") for n in range(4))
    text = f"class Outer(Base):\n    '''About it.'''\n\n    limit = 1\n    size: int = 2\n\n{methods}"
    header, *rest = chunks(text)
    assert (header.kind, header.breadcrumb, header.doc_comment) == ("class", "Outer", "About it.")
    assert [symbol.name for symbol in header.symbols][:3] == ["Outer", "limit", "size"]
    assert [chunk.breadcrumb for chunk in rest][-1] == "Outer > method_3"
    assert {chunk.kind for chunk in rest} == {"method"}
    assert all(chunk.context == "class Outer(Base)" for chunk in rest)


def test_a_cut_falls_between_statements() -> None:
    call = "    call(\n" + "        argument,\n" * 20 + "    )\n"
    pieces = chunks("def huge():\n" + call * 20)
    assert all(piece.text.split("\n")[0] in ("def huge():", "    call(") for piece in pieces)


def test_only_used_imports_are_in_the_capsule() -> None:
    text = (
        "import os\nimport collections.abc\nimport json as js\n"
        "from a.b.c import something_with_a_long_name\n"
        "from a.b import (\n    First,\n    Second as Other,\n)\n\n\n"
        + function("one", 500)
        + "    js.dumps(Other)\n    first = 'First_'\n"
    )
    assert chunks(text)[1].context == "import json as js\nfrom a.b import ( First, Second as Other, )"


def test_constants_are_data_and_imports_are_imports() -> None:
    constants = "".join(f"NAME_{n} = '{'x' * 60}'\n" for n in range(12))
    first, second = chunks("".join(f"import module_number_{n}\n" for n in range(40)) + "\n" + constants)
    assert (first.kind, first.chunk_type) == ("import", ChunkType.DEFINITIONS)
    assert (second.kind, second.chunk_type) == ("constant", ChunkType.DATA)


def test_the_outline_lists_what_a_file_defines() -> None:
    header = 'package auth\n\nimport "fmt"\n\n'
    body = "type Handler struct {\n\tname string\n}\n\nfunc (h *Handler) Run() {}\n"
    result = outline(header + body, "go")
    assert result.kind == "outline"
    assert result.text == (
        "Package: auth\n\nImports: 1 package\n\nTypes:\n  - Handler (struct) (lines 5-7)\n\n"
        "Functions:\n  - Handler.Run (method) (line 9)"
    )
    assert result.tags[:3] == ("code", "go", "symbols")


def test_a_long_outline_is_capped_and_says_so() -> None:
    result = outline("\n".join(f"def function_number_{n}(): pass" for n in range(400)))
    assert len(result.text) <= 4_000
    assert result.text.endswith("more")


def test_a_file_that_defines_nothing_has_no_outline() -> None:
    result = chunk_file(SourceFile("a.py", Corpus.CODE, "python", 0, 0), "print(1)\n")
    assert [chunk.kind for chunk in result.chunks] == ["block"]


def test_a_definition_in_the_docs_corpus_is_documentation() -> None:
    result = chunk_file(SourceFile("docs/a.py", Corpus.DOCS, "python", 0, 0), "def one():\n    pass\n")
    assert {chunk.chunk_type for chunk in result.chunks} == {ChunkType.DOCUMENTATION}


@pytest.mark.parametrize(
    ("comment", "prose"),
    [
        ("/**\n * One.\n *\n * Two.\n */", "One.\n\nTwo."),
        ("/// One.\n/// Two.", "One.\nTwo."),
        ("# One.\n#  Two.", "One.\nTwo."),
        ("#: One.\n#: Two.", "One.\nTwo."),
        ("-- | One.\n-- Two.", "One.\nTwo."),
        ("--[[ One.\nTwo. ]]", "One.\nTwo."),
        ("/// <summary>One.</summary>", "One."),
        ('  @doc """\n  One.\n  """', "One."),
        ("{- | One. -}", "One."),
    ],
)
def test_comment_markers_are_stripped(comment: str, prose: str) -> None:
    assert strip_markers(comment) == prose


def test_tags_tell_place_language_and_nature() -> None:
    (chunk,) = chunks("# Code generated by a tool. DO NOT EDIT.\nx = 1\n", path="Pkg/tests/test_x.py")
    assert chunk.tags == ("code", "python", "data", "pkg", "tests", "test", "generated")


def test_frontmatter_and_hashtags_are_tags_of_documents() -> None:
    text = "---\ntags: [Design, 'two words']\n---\n# A title\n\nSee #auth, #3 and C#.\n"
    file = SourceFile("docs/a.md", Corpus.DOCS, "markdown", 0, 0)
    (chunk,) = chunk_file(file, text).chunks
    assert chunk.tags == ("documentation", "markdown", "docs", "design", "two words", "auth")
    listed = SourceLines("---\ntags:\n  - one\n  - two\ntitle: x\n---\n")
    assert frontmatter_tags(listed) == ["one", "two"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True),
        ("src/test_a.py", True),
        ("src/a_test.go", True),
        ("src/a.spec.ts", True),
        ("src/DepotTest.java", True),
        ("src/contest.py", False),
        ("src/latest/a.py", False),
        ("src/testing_ground.py", False),
    ],
)
def test_test_paths(path: str, expected: bool) -> None:
    assert is_test_path(path) is expected


def test_a_parser_that_stalls_is_stopped() -> None:
    text = "x = [" + "1,\n" * 40_000  # C's error recovery takes quadratic time on it
    grammar = grammar_for("c")
    assert grammar is not None
    assert len(text) > READ_BYTES
    with pytest.raises(ParseTimeoutError):
        grammar.parse(text.encode())


@pytest.mark.parametrize("language", ["python", "javascript", "c"])
@pytest.mark.parametrize("token", ["(\n", "{\n"])
def test_a_tree_that_queries_would_take_minutes_for_is_refused(language: str, token: str) -> None:
    grammar = grammar_for(language)
    assert grammar is not None
    with pytest.raises(ParseTimeoutError):
        grammar.parse((token * 75_000).encode())
    assert {chunk.kind for chunk in chunks(token * 75_000, language)} == {"block"}


def test_without_a_parser_code_is_plain_and_says_so() -> None:
    text = function("total", 600)
    file = SourceFile("a.py", Corpus.CODE, "python", len(text), 0)
    found = chunk_file(file, text, UNPARSED)
    assert {chunk.symbols for chunk in found.chunks} == {()}
    assert found.skip is not None
    assert found.skip.reason is SkipReason.WORKER_TIMEOUT
    prose = SourceFile("a.md", Corpus.DOCS, "markdown", len(text), 0)
    assert chunk_file(prose, text, UNPARSED) == chunk_file(prose, text)


def test_a_file_of_one_long_line_is_not_parsed() -> None:
    pieces = chunks("x = [" + "1, " * 60_000, "c")  # minutes, if it were
    assert {piece.kind for piece in pieces} == {"block"}


def test_source_larger_than_one_read_is_parsed_whole() -> None:
    text = "\n".join(function(f"größe_{n}", 600) for n in range(60))
    names = [symbol.name for chunk in chunks(text) for symbol in chunk.symbols]
    assert len(text) > 3 * READ_BYTES
    assert names == [f"größe_{n}" for n in range(60)]


def test_texts_of_a_parsed_source_are_read_whole_and_without_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    long = b"l" * (3 * NAME_BYTES)
    source = b"\n".join([b"const " + long + b" = 1"] + [b"const a = 1"] * READ_BYTES)
    grammar = grammar_for("javascript")
    assert grammar is not None
    tree = grammar.parse(source)
    monkeypatch.setattr(grammars, "time", None)  # a late clock would end no text, and the reader would wait
    name = tree.root_node.children[0].named_children[0].child_by_field_name("name")
    assert name is not None
    assert name.text == long


def test_a_function_inside_a_call_keeps_its_own_lines() -> None:
    text = "run(function () {\n  start();\n  function inner() {\n    stop();\n  }\n});\n"
    assert "inner (function) (lines 3-5)" in outline(text, "javascript").text


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("export default class {\n  run() {}\n}", ["default (class)", "default.run (method)"]),
        ("export default () => 1;", ["default (function)"]),
        ("module.exports = class X extends Y {\n  run() {}\n};", ["X (class)", "X.run (method)"]),
        ("module.exports = function () {};", ["default (function)"]),
        ("module.exports = {\n  run() {},\n};", ["default (constant)", "default.run (method)"]),
        ("const X = class Y {\n  run() {}\n};", ["X (class)", "X.run (method)"]),
        ("exports.X = class {\n  run() {}\n};", ["X (class)", "X.run (method)"]),
        ("app.use(function logger() {});", ["logger (function)"]),
        ("const proto = module.exports = {\n  run() {},\n};", ["proto (constant)", "proto.run (method)"]),
    ],
)
def test_what_a_module_exports_is_defined(text: str, listed: list[str]) -> None:
    shown = [
        line.strip(" -").rpartition(" (line")[0] for line in outline(text, "javascript").text.split("\n")
    ]
    assert sorted(name for name in shown if name) == sorted(listed)
