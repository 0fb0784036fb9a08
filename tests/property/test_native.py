"""The compiled part: whatever it is given, it returns what the same functions in Python return."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.core.platforms import native
from findspot.store.word_counts import count_words_in_python

compiled = native()
if compiled is None:
    pytest.skip("the compiled part is not installed", allow_module_level=True)

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
