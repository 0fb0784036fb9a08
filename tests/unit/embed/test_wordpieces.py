"""Words to vocabulary entries."""

from __future__ import annotations

import pytest

from findspot.embed.static_model import WordPieces

VOCABULARY = ["server", "http", "em", "##bed", "##be", "##d", "##ding", "embed", "utf", "##8"]


@pytest.mark.parametrize(
    ("word", "entries"),
    [
        ("HTTPServer", ["http", "server"]),
        ("http_server", ["http", "server"]),
        ("embed", ["embed"]),
        ("Embedding", ["embed", "##ding"]),
        ("embd", ["em", "##d"]),
        ("utf8", ["utf", "##8"]),
        ("zzz", []),
        ("zserver", []),
        ("", []),
    ],
)
def test_the_longest_known_pieces_are_taken(word: str, entries: list[str]) -> None:
    assert [VOCABULARY[id_] for id_ in WordPieces(VOCABULARY)[word]] == entries
