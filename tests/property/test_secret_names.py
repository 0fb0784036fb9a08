"""A rule that is tried only at the words of its names finds what it finds everywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from findspot.discover.secrets import matches_at_words, rules

WORDS = ("key", "token", "secret", "passw", "passphrase", "pwd", "credential")
VALUE = "q7Gx2LmZ9t" + "Rk4VbN8sWc1"
NAMES = ["api", "encryption", "private", "secret", "next", "page", "token", "TOKEN", "Passphrase", "passwd"]
MARKS = ["_", "-", "=", ":", " = ", "=>", '"', "'", "\n", " ", "base64:", "value=", ",", "\\"]
ODD = ["pwd", "credentials", "key", "KEY", VALUE, VALUE * 2, "İ", "ſecret", "é"]
part = st.sampled_from([*NAMES, *MARKS, *ODD])
line = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "x", "İ", "next_", "my"]),
    st.sampled_from(["api_key", "encryption-key", "token", "Passphrase", "SECRET_KEY_BASE", "pwd"]),
    st.sampled_from([" = ", ":", "=>", '"] = ', " "]),
    st.sampled_from(["", '"', "'"]),
    st.sampled_from([f"{VALUE}{end}" for end in ('"', "'", "\n", ";", "", "é")]),
)


@given(st.lists(st.one_of(part, line), max_size=14).map("".join), st.integers(0, 30), st.integers(0, 30))
def test_names_are_found_at_their_words(text: str, first: int, cut: int) -> None:
    (rule,) = (rule for rule in rules() if rule.id == "assigned-secret")
    start, end = min(first, len(text)), max(first, len(text) - cut)
    end = min(end, len(text))
    everywhere = [match.span() for match in rule.pattern.finditer(text, start, end)]
    assert [match.span() for match in matches_at_words(rule.pattern, WORDS, text, start, end)] == everywhere
