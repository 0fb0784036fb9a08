"""Words in the compiled part: their tokens, and the sums of their vectors, bit for bit as in Python."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compiled import compiled_part
from findspot.embed.embedder import Vectors
from findspot.embed.static_model import MODEL_FOLDER, PythonWordVectors, word_vectors
from findspot.text.tokens import token_text, token_text_in_python

compiled = compiled_part()

any_text = st.text(st.characters(exclude_categories=()))
"""Any characters, also surrogates that have lost their other half."""

spaces = st.sampled_from(" \t\n\v\f\r\x1c\x1f\x85\xa0\u1680\u2000\u200a\u200b\u2028\u202f\u205f\u3000\x00")
letters = st.sampled_from("abesSXYZ019_ßéÉ½²ªıİﬁ日本語กำहि\u0301\u3000—…。，ﷺ·'")
words = st.one_of(
    st.text(letters, max_size=12),
    st.sampled_from(["URLs", "HTTPServers2x", "validators", "mapped", "XYs", "XYst", "glasses", "__", "ies"]),
    st.text("aB_1", min_size=60, max_size=70),
    any_text,
)
written = st.lists(st.one_of(words, spaces, st.sampled_from('-./()"\n '))).map("".join)
several = st.lists(written, max_size=4).map(tuple)


@given(several)
@example(("x" * 1_000_000, "", "\0", "a\0b", "\ud800x"))
def test_tokens_are_alike(texts: tuple[str, ...]) -> None:
    assert token_text(texts) == token_text_in_python(texts)


def test_plain_words_have_the_same_tokens() -> None:
    """Every word that can be made of four letters of each kind, and every ending."""
    kinds = "aZs9_"
    made = [a + b + c + d + e for a in kinds for b in kinds for c in kinds for d in kinds for e in kinds]
    made += [f"{begin}{ending}" for begin in ("", "a", "ab", "abb", "mapp") for ending in ENDINGS]
    for word in made:
        assert token_text((word,)) == token_text_in_python((word,)), word


ENDINGS = (
    "ations", "ation", "ators", "ator", "ating", "ates", "ated", "ate", "ies", "ings", "ing", "ers", "ors",
    "er", "or", "ed", "es", "s", "e", "ss", "ees", "sses", "ingss",
)  # fmt: skip


def test_each_separator_is_one_in_python() -> None:
    """Beyond ASCII, the compiled part may split only where Python does; the rest it hands to Python whole."""
    handed: set[str] = set()

    def take(run: str) -> str:
        handed.add(run)
        return ""

    runs = compiled.TokenTexts(take, (), 3)
    compared = 0
    for first in range(0, 0x110000, 0x1000):
        texts = {f"ab{char}cd {char}": char for char in map(chr, range(first, first + 0x1000))}
        handed.clear()
        runs.join(tuple(texts))
        split = [
            text for text, char in texts.items() if char.isspace() or not handed.issuperset(text.split(" "))
        ]
        assert token_text(tuple(split)) == token_text_in_python(split)
        compared += len(split)
    assert compared >= 128 + len("\x85\xa0\u1680\u2028\u3000")


ENTRIES = (
    "a", "b", "##a", "##b", "##ab", "server", "url", "##s", "é", "##é", "日本", "語", "19", "a", "xy", "##1",
)  # fmt: skip
LAYOUT = np.dtype([("scale", "<f4"), ("vector", "i1", (5,))])
Both = tuple[PythonWordVectors, Any]


@pytest.fixture(scope="module")
def both() -> Both:
    """The vectors of a small vocabulary, in Python and compiled."""
    table = np.zeros(len(ENTRIES), LAYOUT)
    table["scale"] = np.linspace(0.01, 3.3, len(ENTRIES))
    table["vector"] = np.arange(-40, len(ENTRIES) * 5 - 40).reshape(-1, 5)
    vocabulary = "".join(f"{entry}\n" for entry in ENTRIES).encode()
    return PythonWordVectors(vocabulary, table), word_vectors(vocabulary, table)


@pytest.fixture(scope="module")
def shipped() -> Both:
    """The vectors of the model in the package."""
    vocabulary = (MODEL_FOLDER / "vocabulary.txt").read_bytes()
    table = np.load(MODEL_FOLDER / "vectors.npy")
    return PythonWordVectors(vocabulary, table), word_vectors(vocabulary, table)


def _sums(vectors: Any, texts: list[tuple[str, ...]], width: int) -> Vectors:
    rows = np.zeros((len(texts), width), np.float32)
    vectors.sum(texts, rows)
    return rows


@given(st.lists(several, max_size=4))
def test_small_sums_are_alike(both: Both, texts: list[tuple[str, ...]]) -> None:
    assert _sums(both[1], texts, 5).tobytes() == _sums(both[0], texts, 5).tobytes()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 10, 16, 17, 18, 25, 128, 129, 130, 257, 300, 9_000])
def test_sums_are_alike_bit_for_bit(shipped: Both, count: int) -> None:
    """Stored vectors depend on the order of additions, which changes with the number of pieces."""
    entries = (MODEL_FOLDER / "vocabulary.txt").read_text("utf-8").split()
    step = max(1, len(entries) // (count + 5))
    texts = [(" ".join(entries[start::step][:count]),) for start in range(5)]
    assert _sums(shipped[1], texts, 256).tobytes() == _sums(shipped[0], texts, 256).tobytes()


def test_it_forgets_words_when_there_are_too_many() -> None:
    texts = compiled.TokenTexts(lambda run: token_text_in_python((run,)), (), 3)
    for _ in range(2):
        assert texts.join((" ".join(f"w{n}é w{n}" for n in range(100)),)).split(" ")[-1] == "w99"


def test_what_python_raises_comes_through(both: Both) -> None:
    def fail(run: str) -> str:
        raise KeyError(run)

    with pytest.raises(KeyError, match="é"):
        compiled.TokenTexts(fail, (), 3).join(("plain é",))
    with pytest.raises(TypeError):
        compiled.TokenTexts(lambda _: None, (), 3).join(("é",))
    wrong: Any = ("text", None)
    with pytest.raises(TypeError):
        token_text(wrong)
    for texts in ([None], [(None,)], ["text"], ("text",)):
        with pytest.raises(TypeError):
            both[1].sum(texts, np.zeros((1, 5), np.float32))
    with pytest.raises(ValueError, match="one row per text"):
        both[1].sum([("text",)], np.zeros((2, 5), np.float32))


def test_a_cycle_is_collected() -> None:
    """What lends its memory is not cleared before the vectors are."""

    class Held:
        def parts(self, run: str) -> list[str]:
            return [run]

    held: Any = Held()
    vocabulary, table = memoryview(bytearray(b"a\n")), memoryview(bytearray(9))
    held.vectors = compiled.WordVectors(vocabulary, table, (9, 4, 0, 5), held.parts, 3)
    held.texts = compiled.TokenTexts(held.parts, (), 3)
    gone = weakref.ref(held)
    del held, vocabulary, table
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("layout", [(9, 5, 0, 5), (9, 4, 6, 5), (3, 0, 0, 5), (9, -1, 0, 5), (0, 0, 0, 0)])
def test_a_layout_that_leads_out_of_the_table_is_refused(layout: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must hold a vector"):
        compiled.WordVectors(b"a\n", bytes(9), layout, list, 3)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("make", [word_vectors, PythonWordVectors])
def test_a_table_has_one_row_per_entry(make: Any, rows: int) -> None:
    with pytest.raises(ValueError, match=f"2 words but {rows} vectors"):
        make(b"a\r\nb", np.zeros(rows, LAYOUT))
