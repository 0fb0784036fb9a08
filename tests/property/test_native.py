"""The compiled part: whatever it is given, it returns what the same functions in Python return."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import compiled_part
from findspot.store.vector_segments import Segment, scores_in_python
from findspot.store.word_counts import count_words_in_python

compiled = compiled_part()

any_text = st.text(st.characters(exclude_categories=()))
"""Any characters, also surrogates that have lost their other half."""

spaces = st.sampled_from(" \t\n\v\f\r\x1c\x1f\x85\xa0\u1680\u2000\u200a\u200b\u2028\u202f\u205f\u3000\x00")
tokens = st.one_of(st.sampled_from(["get", "user", "größe", "日本", "_", "\ud800"]), any_text)
token_texts = st.lists(st.one_of(tokens, spaces)).map("".join)


@given(st.lists(token_texts))
def test_words_are_counted_alike(texts: list[str]) -> None:
    assert compiled.count_words(texts) == count_words_in_python(texts)


def test_many_words_are_counted_alike() -> None:
    texts = [" ".join(f"w{n % most}" for n in range(6_000)) for most in (1, 7, 255, 256, 3_000, 6_000)]
    texts += ["x" * 1_000_000, "", " " * 1_000, "\0 \0 a\0b"]
    assert compiled.count_words(texts) == count_words_in_python(texts)


@pytest.mark.parametrize("wrong", [None, "text", (), [b"bytes"], ["text", None]])
def test_other_types_are_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        compiled.count_words(wrong)


@pytest.mark.parametrize(("wanted", "shown"), [("off", "None"), ("require", "_native"), ("", "_native")])
def test_a_variable_chooses(wanted: str, shown: str) -> None:
    code = "from findspot.core.platforms import native; print(native())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"FINDSPOT_NATIVE": wanted},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert shown in done.stdout


@given(st.integers(1, 300), st.integers(0, 20), st.data())
def test_rows_are_scored_alike(size: int, count: int, data: st.DataObject) -> None:
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = chance.integers(-128, 128, (count, size), np.int8)
    segment = Segment(np.arange(count), chance.random(count, np.float32), rows)
    query = chance.integers(-128, 128, size, np.int8)
    keep = np.flatnonzero(chance.random(count) < data.draw(st.floats(0, 1)))
    scores = np.empty(keep.size, np.float32)
    compiled.row_scores(rows, segment.scales, query, keep, scores)
    assert scores.tolist() == scores_in_python(segment, query, keep).tolist()


ROWS, SCALES, QUERY = np.zeros((3, 4), np.int8), np.zeros(3, np.float32), np.zeros(4, np.int8)


SHARED = """
import numpy as np
from findspot import _native
memory = np.zeros(3, np.int64)
rows, scales = np.ones((2, 4), np.int8), np.ones(2, np.float32)
_native.row_scores(rows, scales, rows[0], memory[:2], memory[1:2].view(np.float32))
print(memory[1:2].view(np.float32).tolist())
"""


def test_places_that_change_meanwhile_are_not_read_again() -> None:
    """Here the first score is written over the second place."""
    done = subprocess.run([sys.executable, "-c", SHARED], capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[4.0, 4.0]"), done.stderr


@pytest.mark.parametrize("keep", [[3], [-1], [0, 1, 2, 0, 3]])
def test_rows_that_are_not_there_are_refused(keep: list[int]) -> None:
    with pytest.raises(IndexError):
        compiled.row_scores(ROWS, SCALES, QUERY, np.array(keep), np.empty(len(keep), np.float32))


@pytest.mark.parametrize(
    ("scales", "query", "scores"),
    [(SCALES[:2], QUERY, 1), (SCALES, QUERY[:3], 1), (SCALES, QUERY[:0], 1), (SCALES, QUERY, 2)],
)
def test_arrays_of_different_lengths_are_refused(scales: object, query: object, scores: int) -> None:
    with pytest.raises(ValueError, match="different lengths"):
        compiled.row_scores(ROWS, scales, query, np.array([0]), np.empty(scores, np.float32))
