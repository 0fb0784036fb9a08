"""The one tokenizer, and what keyword search is given of a chunk."""

from __future__ import annotations

import re
import unicodedata

import pytest

from findspot.text.tokens import keyword_text, parts, path_text, stem, tokens, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer_v2", ["httpserver_v2", "http", "serv", "v2"]),
        ("getUserName", ["getusername", "get", "user", "nam"]),
        ("snake_case", ["snake_case", "snak", "cas"]),
        ("plain", ["plain"]),
        ("utf8", ["utf8"]),
        ("__init__", ["init"]),
        ("_", []),
        ("", []),
        ("検索 поиск", ["検索", "поиск"]),
        ("검색어를", ["검색", "색어", "어를"]),
        ("日本語のテキスト", ["日本", "本語", "語の", "のテ", "テキ", "キス", "スト"]),
        ("git提交历史", ["git", "提交", "交历", "历史"]),
        ("日" * 100, ["日日"] * 99),
        ("हिन्दी 파일", ["हिन्दी", "파일"]),
        ("URLs", ["urls", "url"]),
        ("getURLsOf IDs", ["geturlsof", "get", "url", "of", "ids", "id"]),
        ("чей", ["чей"]),
        ("a.b->c", ["a", "b", "c"]),
        ("x" * 65, []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "family",
    [
        ("validate", "validates", "validated", "validator", "validation", "validating"),
        ("format", "formats", "formatter", "formatting", "formatted"),
        ("load", "loads", "loader", "loading"),
        ("query", "queries"),
        ("name", "names", "naming", "named"),
    ],
)
def test_words_of_one_family_share_a_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize("word", ["class", "user", "run", "key", "as", "http"])
def test_a_stem_does_not_eat_the_word(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    ("word", "plain"), [("été", "ete"), ("Straße", "strasse"), ("café", "cafe"), ("größer", "grosser")]
)
def test_a_word_is_found_with_and_without_accents(word: str, plain: str) -> None:
    """documents B4, G: `café` became `caf` and `é`."""
    assert tokens(word)[0] == plain
    assert tokens(unicodedata.normalize("NFD", word)) == tokens(word) == tokens(plain)


def test_parts_leave_compounds_out() -> None:
    assert parts("HTTPServer snake_case") == ["http", "server", "snake", "case"]
    assert words("HTTPServer, snake_case!") == ["HTTPServer", "snake_case"]


@pytest.mark.parametrize(
    "text",
    [
        "def __init__(self, _): return _x__ + __ # 1.5e3",
        "tab\tnull\x00unit\x1fdel\x7fend",
        "naïve — “quoted” café_au_lait\n_private = été2",
        "日本語 mixed日本_x\u3000wide\u2028line\u0301mark",
        "lone\ud800surrogate",
    ],
)
def test_words_are_runs_of_letters_digits_and_underscores(text: str) -> None:
    marks_apart = re.compile(r"_*[^\W_][\w\u0300-\u036f]*")
    assert words(text) == marks_apart.findall(text)


def test_a_path_counts_its_name_twice_and_its_last_folders() -> None:
    assert path_text("a/b/c/d/user_store.test.py") == "user_store user_store b c d"
    assert path_text("Makefile") == "Makefile Makefile"
    assert path_text(".gitignore") == ".gitignore .gitignore"


def test_keywords_of_a_chunk_are_its_place_its_capsule_and_its_text() -> None:
    found = keyword_text("src/cart.py", "Cart.total", "from decimal import Decimal", "return 0").split(" ")
    assert {"cart", "src", "total", "decimal", "return", "0"} <= set(found)
    assert found.count("cart") == 3
