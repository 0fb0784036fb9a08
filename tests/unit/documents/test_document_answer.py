"""Highlights."""

from __future__ import annotations

from findspot.documents.document_record import Tokenizer, highlights


def of(content: str, *tokens: str) -> tuple[str, ...]:
    return highlights(content, [token.split() for token in tokens], Tokenizer())


def test_thirty_characters_on_each_side_with_marks_where_it_is_cut() -> None:
    content = "x" * 50 + " needle " + "y" * 50
    assert of(content, "needle") == ("..." + "x" * 29 + " needle " + "y" * 29 + "...",)


def test_no_marks_at_the_ends() -> None:
    assert of("Python for machine learning", "machine") == ("Python for machine learning",)


def test_at_most_three_and_what_is_shown_already_gets_no_other() -> None:
    content = " ".join(f"needle{number}" for number in range(60))
    found = of(content, *(f"needle{number}" for number in range(60)))
    assert len(found) == 3
    assert [part.strip(".") in content for part in found] == [True] * 3
    assert of("a needle beside a needle", "needle") == ("a needle beside a needle",)


def test_whole_tokens_only() -> None:
    assert of("needles and a needlework", "needle") == ()
    assert of("Needle", "needle") == ("Needle",)


def test_a_phrase_is_shown_where_all_of_it_stands() -> None:
    """documents C: places were shown where only one of its words stands."""
    content = "green paint. " * 20 + "Green, tea leaves. " + "evergreen tea " * 20
    (found,) = of(content, "green tea")
    assert "Green, tea leaves" in found
    assert of("evergreen tea, green teas", "green tea") == ()


def test_characters_stay_in_their_places() -> None:
    assert of("İ" * 100 + " needle " + "İ" * 100, "needle") == (f"...{'İ' * 29} needle {'İ' * 29}...",)
