"""Lines longer than a chunk may be: pieces that end at sentences, words or characters, and read back."""

from __future__ import annotations

import pytest

from findspot.chunk.dispatch import CHARACTER, SYNTAX, chunk_file
from findspot.chunk.splitting import PIECE_CHARS
from findspot.core.model import Chunk, ChunkType, Corpus, Hit, SourceFile, Span
from findspot.search.definitions import joined
from findspot.search.freshness import located
from findspot.store.records import StoredChunk

SENTENCE = "Refunds of the monthly plan are paid within nine days of the request. "
PARAGRAPH = SENTENCE * 60


def chunks(
    text: str, path: str = "docs/guide.md", language: str = "markdown", strategy: str = SYNTAX
) -> list[Chunk]:
    corpus = Corpus.DOCS if language == "markdown" else Corpus.CODE
    file = SourceFile(path, corpus, language, len(text), 0)
    return [c for c in chunk_file(file, text, strategy).chunks if c.chunk_type is not ChunkType.SYMBOLS]


def stored(found: list[Chunk]) -> list[StoredChunk]:
    return [
        StoredChunk(
            number=number,
            path=chunk.path,
            language=chunk.language,
            start_line=chunk.span.start,
            end_line=chunk.span.end,
            chunk_type=chunk.chunk_type,
            kind=chunk.kind,
            text=chunk.text,
            symbols=(),
            signature=None,
            breadcrumb=None,
            doc_comment=None,
            tags=(),
        )
        for number, chunk in enumerate(found)
    ]


def test_prose_is_cut_after_sentences_and_keeps_its_heading() -> None:
    title, heading, *found = chunks(f"# Guide\n\n## Refunds\n\n{PARAGRAPH}\n")
    assert (title.text, heading.text) == ("# Guide", "## Refunds")
    assert len(found) > 2
    assert {piece.breadcrumb for piece in found} == {"Guide > Refunds"}
    assert all(piece.text.endswith(". ") for piece in found)
    assert all(len(piece.text) <= PIECE_CHARS for piece in found)
    assert [piece.span for piece in found] == [Span(5, 5)] * len(found)


def test_code_is_cut_between_words_then_characters() -> None:
    found = chunks(f"total = {'value + ' * 600}1\n", "a.py", "python")
    assert all(piece.text.endswith(" ") for piece in found[:-1])
    found = chunks("x" * 5_000, "a.txt.zzz", "text")
    assert [len(piece.text) for piece in found] == [1_250] * 4


def test_a_line_that_fits_a_chunk_is_never_cut() -> None:
    assert len(chunks("word " * 400)) == 1


@pytest.mark.parametrize(
    ("path", "language", "most"), [("a.py", "python", 4_000), ("a.md", "markdown", 8_000)]
)
def test_the_character_splitter_cuts_lines_to_its_own_sizes(path: str, language: str, most: int) -> None:
    line = SENTENCE * 4_300
    assert len(line) > 300_000
    found = chunks(line, path, language, CHARACTER)
    assert max(len(piece.text) for piece in found) <= most
    assert min(len(piece.text) for piece in found) > most // 2
    assert "".join(piece.text for piece in found) == line


def test_symbols_go_to_the_piece_that_names_them() -> None:
    body = "; ".join(["total += 1"] * 300)
    text = f"function first() {{ {body} }} function second() {{ {body} }}\nlet x = 1\n"
    found = chunks(text, "a.js", "javascript")
    holding = {symbol.name: piece.text for piece in found for symbol in piece.symbols}
    assert "function first" in holding["first"]
    assert "function second" in holding["second"]


def test_neighbouring_pieces_are_joined_into_their_line() -> None:
    found = stored(chunks(f"# Guide\n\n{PARAGRAPH}\n\n## More\n\n{'word ' * 100}\n"))
    assert joined(found[:-1]) == f"# Guide\n\n{PARAGRAPH}"
    assert joined(found[1:3]) == found[1].text + found[2].text


def test_a_piece_is_found_again_in_a_line_that_moved_or_changed_elsewhere() -> None:
    piece = chunks(PARAGRAPH)[1]
    hit = Hit("docs/guide.md", piece.span, piece.text, 1.0, "section", "markdown", focus=1, focus_column=7)
    for lines in (["new", PARAGRAPH], ["new", "An edit. " + PARAGRAPH]):
        moved = located(hit, lines)
        assert moved is not None
        assert (moved.span, moved.text, moved.focus) == (Span(2, 2), piece.text, 2)
    assert located(hit, ["new", PARAGRAPH.replace("nine", "ten")]) is None
