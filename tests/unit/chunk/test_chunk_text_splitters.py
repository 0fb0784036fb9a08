"""Lines, plain text, prose, data and notebooks."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from findspot.chunk.dispatch import CHARACTER, chunk_file
from findspot.chunk.prose import find_fences, find_headings
from findspot.chunk.splitting import SourceLines, pack
from findspot.core.model import Chunk, ChunkType, Corpus, SourceFile, Span


def chunks(path: str, language: str, text: str, corpus: Corpus = Corpus.CODE) -> tuple[Chunk, ...]:
    return chunk_file(SourceFile(path, corpus, language, len(text), 0), text).chunks


def docs(text: str, language: str = "markdown") -> tuple[Chunk, ...]:
    return chunks("docs/guide.md", language, text, Corpus.DOCS)


def test_packing_gives_even_pieces_without_a_short_tail() -> None:
    lines = SourceLines("\n".join(["x" * 99] * 25))
    assert pack([(row, row) for row in range(25)], lines) == [(0, 12), (13, 24)]
    tail = SourceLines("\n".join(["x" * 99] * 20 + ["y"]))
    assert pack([(row, row) for row in range(21)], tail)[-1][1] == 20
    assert all(last > first for first, last in pack([(row, row) for row in range(21)], tail))


def test_plain_text_is_split_at_paragraphs() -> None:
    paragraph = "\n".join(["some words of prose"] * 20)
    result = chunks("a.zzz", "text", "\n\n".join([paragraph] * 6))
    assert [chunk.text for chunk in result] == ["\n\n".join([paragraph] * 3)] * 2
    assert {chunk.chunk_type for chunk in result} == {ChunkType.DEFINITIONS}


def test_the_character_splitter_overlaps_its_windows() -> None:
    text = "\n\n".join(f"{n:03} " + "x" * 395 for n in range(30))
    file = SourceFile("a.py", Corpus.CODE, "python", len(text), 0)
    result = chunk_file(file, text, CHARACTER).chunks
    assert all(len(chunk.text) <= 4_000 for chunk in result)
    for before, after in pairwise(result):
        assert after.span.start <= before.span.end
        assert before.span.start < after.span.start
    prose = chunk_file(SourceFile("a.md", Corpus.DOCS, "markdown", 0, 0), text, CHARACTER).chunks
    assert 4_000 < len(prose[0].text) <= 8_000


def test_sections_carry_their_heading_path() -> None:
    body = "word " * 60
    text = f"# Guide\n\n{body}\n\n## Install\n\n{body}\n\n### Linux\n\n{body}\n\n## Use\n\n{body}\n"
    result = docs(text)
    assert [chunk.breadcrumb for chunk in result] == [
        "Guide",
        "Guide > Install",
        "Guide > Install > Linux",
        "Guide > Use",
    ]
    assert {(chunk.kind, chunk.chunk_type, chunk.symbols) for chunk in result} == {
        ("section", ChunkType.DOCUMENTATION, ())
    }


def test_a_bare_title_joins_its_first_section() -> None:
    result = docs("# Guide\n\n## Install\n\n" + "word " * 60)
    assert [(chunk.span, chunk.breadcrumb) for chunk in result] == [(Span(1, 5), "Guide")]


def test_a_fence_is_kept_whole_and_hides_headings() -> None:
    fence = "```sh\n" + "# not a heading\n" * 100 + "```"
    result = docs(f"# Guide\n\n{'word ' * 250}\n\n{fence}\n\n{'word ' * 250}\n")
    assert any(fence in chunk.text for chunk in result)
    assert {chunk.breadcrumb for chunk in result} == {"Guide"}


def test_a_fence_above_the_maximum_is_cut() -> None:
    """docs/how-it-works.md names both sizes."""
    line = "a line of output\n"
    result = docs("# Guide\n\n```\n" + line * 700 + "```\n")
    assert 5_900 < max(len(chunk.text) for chunk in result) <= 6_000
    whole = docs(f"# Guide\n\n{'word ' * 300}\n\n```\n{line * 465}```\n")
    assert max(len(chunk.text) for chunk in whole) > 7_900


def test_hashtags_are_words_of_prose() -> None:
    """documents A12: code in fences, directives and colours became tags."""
    text = (
        "# Title\n\nOn #brewing and #Facade, in #fff, #cae6f6 and #AABBCC; `#code` #include <x>\n\n"
        "```c\n #inside\n #define X\n```\n\n#after\n"
    )
    (chunk,) = docs(text)
    assert chunk.tags == ("documentation", "markdown", "docs", "brewing", "facade", "after")


def test_large_sections_are_cut_at_paragraphs() -> None:
    paragraph = "word " * 80
    result = docs("# Guide\n\n" + "\n\n".join([paragraph] * 12))
    assert all(len(chunk.text) <= 2_000 for chunk in result)
    assert len(result) > 2


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("markdown", "A\n===\nB\n---\n", [(0, 1, "A"), (2, 2, "B")]),
        ("markdown", "# A #\r\n##\n#no\n", [(0, 1, "A"), (1, 2, "")]),
        ("markdown", "- item\n---\n\n| a |\n---\n", []),
        ("markdown", "---\ntitle: x\n---\n# A\n", [(3, 1, "A")]),
        ("rst", "=====\nTitle\n=====\n\nPart\n----\n\nDeep\n~~~~\n\nPart 2\n------\n",
         [(0, 1, "Title"), (4, 2, "Part"), (7, 3, "Deep"), (10, 2, "Part 2")]),
        ("text", "Title\n=====\n\na - b\n", [(0, 1, "Title")]),
        ("asciidoc", "= A\n\n== B\n", [(0, 1, "A"), (2, 2, "B")]),
        ("rdoc", "= A\n\n==B\n", [(0, 1, "A"), (2, 2, "B")]),
        ("org", "* A\n** B\n", [(0, 1, "A"), (1, 2, "B")]),
        ("latex", "\\section{A}\n\\subsection*{B}\n", [(0, 3, "A"), (1, 4, "B")]),
    ],
)  # fmt: skip
def test_headings_of_each_notation(language: str, text: str, expected: list[tuple[int, int, str]]) -> None:
    lines = SourceLines(text)
    found = find_headings(lines, language, find_fences(lines))
    assert [(heading.row, heading.level, heading.title) for heading in found] == expected


def test_a_fence_closes_only_with_its_own_mark() -> None:
    assert find_fences(SourceLines("````\n```\na\n````\n~~~ x\nb")) == [(0, 3), (4, 5)]


def test_data_is_cut_at_top_level_keys() -> None:
    block = "".join(f"  key{n}: {'v' * 40}\n" for n in range(15))
    result = chunks("a.yaml", "yaml", f"# first\nalpha:\n{block}beta:\n{block}gamma: 1\n")
    assert [chunk.breadcrumb for chunk in result] == ["alpha", None]
    assert result[0].text.startswith("# first\nalpha:")
    assert result[1].text.startswith("beta:")
    assert {(chunk.kind, chunk.chunk_type) for chunk in result} == {("data", ChunkType.DATA)}


def test_large_entries_are_cut_at_their_own_keys() -> None:
    value = {"outer": {f"inner{n}": {"x": "v" * 300, "y": n} for n in range(12)}, "last": 1}
    result = chunks("a.json", "json", json.dumps(value, indent=2))
    assert all(len(chunk.text) <= 2_000 for chunk in result)
    assert result[0].breadcrumb == "outer"
    assert all(chunk.text.lstrip().startswith(('"inner', "{")) for chunk in result)


def test_toml_is_cut_at_tables() -> None:
    table = "".join(f'key{n} = "{"v" * 40}"\n' for n in range(15))
    result = chunks("a.toml", "toml", f"name = 1\n[tool.one]\n{table}\n# two\n[[tool.two]]\n{table}")
    assert [chunk.text.split("\n")[0] for chunk in result] == ["name = 1", "# two"]
    assert [chunk.breadcrumb for chunk in result] == [None, "tool.two"]


def notebook(indent: int | None) -> str:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Study\n", "Some prose.\n"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["import math\n", "math.pi\n"]},
    ]
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": "R"}}}, indent=indent)


def test_a_notebook_is_cut_by_cell() -> None:
    result = chunks("a.ipynb", "notebook", notebook(1))
    cells = [chunk for chunk in result if chunk.kind != "data"]
    assert [(cell.kind, cell.language, cell.breadcrumb) for cell in cells] == [
        ("section", "markdown", "Study"),
        ("cell", "r", None),
    ]
    assert '"import math' in cells[1].text


def test_a_notebook_on_one_line_is_plain() -> None:
    result = chunks("a.ipynb", "notebook", notebook(None))
    assert [chunk.kind for chunk in result] == ["block"]
