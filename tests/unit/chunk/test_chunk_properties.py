"""What holds for every text: chunks are the file's own lines, none is lost, nothing is raised."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.chunk.dispatch import CHARACTER, MAX_CHUNKS, SYNTAX, chunk_file, split_by_language
from findspot.chunk.splitting import SourceLines
from findspot.core.languages import LANGUAGES, language_of, row
from findspot.core.model import ChunkedFile, ChunkType, Corpus, SkipReason, SourceFile
from findspot.text.tokens import LONG_LINE_CHARS, holds

FIXTURES = Path(__file__).parents[2] / "fixtures" / "languages"
SOURCES = {language_of(path.name): path.read_text("utf-8") for path in sorted(FIXTURES.iterdir())}
NAMES = [language.name for language in LANGUAGES]

DOCS_CHARS = 8_000
CODE_CHARS = {SYNTAX: 2_000, CHARACTER: 4_000}

ODD = [
    "\x00",
    "\ud800",
    "\r\n",
    "\f",
    "\x85",
    "\u2028",
    "\t",
    '"""',
    "/*",
    "```\n",
    "---\n",
    "# A\n",
    "}\n",
    "é",
]


def chunk(language: str, text: str, strategy: str = SYNTAX, path: str = "src/sample") -> ChunkedFile:
    corpus = Corpus.DOCS if row(language).docs else Corpus.CODE
    return chunk_file(SourceFile(path, corpus, language, len(text), 0), text, strategy)


def check_long_lines(lines: list[str], result: ChunkedFile) -> None:
    """Assert that the pieces of a long line, in order, are that line; blanks may be left out."""
    pieces: dict[int, str] = {}
    for piece in result.chunks:
        if piece.chunk_type is not ChunkType.SYMBOLS and len(lines[piece.span.end - 1]) > LONG_LINE_CHARS:
            pieces[piece.span.end] = pieces.get(piece.span.end, "") + piece.text.rpartition("\n")[2]
    for number, text in pieces.items():
        if result.skip is None:
            assert text.split() == lines[number - 1].split()


def check(language: str, text: str, strategy: str = SYNTAX) -> ChunkedFile:
    """Assert the invariants that have no exception, and that no splitter had to be rescued."""
    if strategy == SYNTAX and text.strip():
        split_by_language(SourceFile("src/sample", Corpus.CODE, language, 0, 0), SourceLines(text))
    result = chunk(language, text, strategy)
    lines = text.split("\n")
    covered: set[int] = set()
    previous = 0
    for piece in result.chunks:
        if piece.chunk_type is ChunkType.SYMBOLS:
            continue
        first, last = piece.span.start, piece.span.end
        assert 1 <= first <= last <= len(lines)
        assert holds(lines, piece.span, piece.text)
        assert len(piece.text) <= (DOCS_CHARS if row(language).docs else CODE_CHARS[strategy])
        assert all(first <= symbol.line <= last for symbol in piece.symbols)
        if strategy == SYNTAX:
            assert last == previous or covered.isdisjoint(range(first, last + 1))
        assert last != previous or first == last
        previous = last
        covered.update(range(first, last + 1))
    check_long_lines(lines, result)
    if result.skip is None:
        wanted = {number for number, line in enumerate(lines, 1) if line.strip()}
        assert wanted <= covered
    assert result == chunk(language, text, strategy)
    return result


@st.composite
def mangled(draw: st.DrawFn) -> tuple[str, str]:
    """A language, and its fixture with lines moved, repeated, cut and sprinkled with odd characters."""
    language = draw(st.sampled_from(sorted(SOURCES)))
    lines = SOURCES[language].split("\n")
    text: list[str] = []
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(lines) - 1))
        part = lines[start : start + draw(st.integers(1, 40))]
        text.append(draw(st.sampled_from(["\n", "\r\n", "\n\n", " ", ""])).join(part))
        text.append(draw(st.sampled_from(["", "\n", *ODD])))
    whole = "".join(text)
    return language, whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole


@settings(derandomize=True, max_examples=100)
@given(mangled())
def test_mangled_source_keeps_the_invariants(sample: tuple[str, str]) -> None:
    check(*sample)


@settings(derandomize=True, max_examples=100)
@given(
    st.sampled_from(NAMES),
    st.lists(
        st.one_of(
            st.text(max_size=80),
            st.sampled_from(
                [*ODD, "\n", "\n\n", "key: value\n", "[table]\n", "  - item\n", "Title\n=====\n"]
            ),
        ),
        max_size=60,
    ).map("".join),
)
def test_any_text_in_any_language_keeps_the_invariants(language: str, text: str) -> None:
    check(language, text)


@settings(derandomize=True, max_examples=60)
@given(st.lists(st.text(alphabet="ab \n", max_size=900), max_size=40).map("\n".join), st.booleans())
def test_the_character_splitter_keeps_the_invariants(text: str, docs: bool) -> None:
    result = check("markdown" if docs else "python", text, CHARACTER)
    limit = 8_000 if docs else 4_000
    assert all(len(piece.text) <= limit for piece in result.chunks)


@pytest.mark.parametrize("language", NAMES)
def test_every_language_survives_awkward_files(language: str) -> None:
    for text in ("", "\n", " \n\t\n\f", "\x00", "\ud800\n", "a", "\r\n\r\n", "﻿x\r\ny\r\n", "(" * 500):
        check(language, text)


@pytest.mark.parametrize("language", ["python", "javascript", "json", "markdown", "text", "notebook", "c"])
def test_one_line_of_a_megabyte_is_cut(language: str) -> None:
    text = "x = [" + "1, " * 350_000 + "]"
    result = check(language, text)
    assert 500 < len(result.chunks) <= MAX_CHUNKS
    result = check(language, text, CHARACTER)
    assert result.skip is None


def long_line(part: str, size: int) -> str:
    """Return a line of a size that repeats a part; drawn letter by letter, a line would take long."""
    return (part * size)[:size]


@settings(derandomize=True, max_examples=60)
@given(
    st.sampled_from(["python", "json", "markdown", "text", "javascript", "yaml"]),
    st.lists(
        st.one_of(
            st.builds(
                long_line, st.text(alphabet="ab. (\r", min_size=1, max_size=60), st.integers(2_100, 9_000)
            ),
            st.sampled_from(["# A", "", "def f():", "    x = 1", "word " * 60, " " * 5_000, "y" * 4_001]),
        ),
        max_size=6,
    ).map("\n".join),
    st.sampled_from([SYNTAX, CHARACTER]),
)
def test_long_lines_keep_the_invariants(language: str, text: str, strategy: str) -> None:
    check(language, text, strategy)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "x = " + "(" * 10_000 + ")" * 10_000),
        ("python", "\n".join(" " * depth + "if x:" for depth in range(2_000))),
        ("javascript", "function f() {\n" * 10_000 + "}\n" * 10_000),
        ("javascript", "a(" * 10_000 + ")" * 10_000),
        ("java", "class A {\n" * 10_000 + "}\n" * 10_000),
        ("json", "[\n" * 10_000 + "]\n" * 10_000),
        ("notebook", '{"cells": [\n' + "[" * 10_000 + "]" * 10_000 + "]}"),
        ("cpp", "namespace a { " * 10_000),
        ("yaml", "\n".join(" " * depth + "a:" for depth in range(1_000))),
    ],
    ids=lambda value: value if len(value) < 20 else "nested",
)
def test_deep_nesting_is_no_failure(language: str, text: str) -> None:
    check(language, text)


def test_chunks_past_the_limit_become_a_skip_that_counts_lines() -> None:
    text = "\n".join(f"def function_{n}():\n    return '{'x' * 310}'\n" for n in range(1_500))
    result = check("python", text)
    assert len(result.chunks) == MAX_CHUNKS
    assert result.chunks[-1].chunk_type is ChunkType.SYMBOLS
    assert result.skip is not None
    assert result.skip.reason is SkipReason.CHUNK_LIMIT
    last = result.chunks[-2].span.end
    assert f"the last {text.count(chr(10)) - last:,} of" in result.skip.detail


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_windows_line_ends_change_neither_spans_nor_names(language: str) -> None:
    unix, windows = (
        chunk(language, SOURCES[language]),
        chunk(language, SOURCES[language].replace("\n", "\r\n")),
    )
    named = {symbol.name for piece in unix.chunks for symbol in piece.symbols}
    assert {symbol.name for piece in windows.chunks for symbol in piece.symbols} == named
    check(language, SOURCES[language].replace("\n", "\r\n"))
