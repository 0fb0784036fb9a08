"""Questions made from doc comments."""

from __future__ import annotations

import pytest

from findspot.research.suggested_questions import question_about


@pytest.mark.parametrize(
    ("doc_comment", "question"),
    [
        ("Render a template by its name.", "how to render a template by its name"),
        ("greet adds one or more commands to this parent.", "how to add one or more commands to this parent"),
        ("Applies the\nlast migration first. Then others.", "how to apply the last migration first"),
        ("Matches each path to its rule\n\n@param path", "how to match each path to its rule"),
        ("Parse the query string into pairs, then sort", "how to parse the query string into pairs"),
        (
            "Create the session of a user from the cookie that the browser sent with the request",
            "how to create the session of a user from the cookie",
        ),
    ],
)
def test_a_sentence_that_begins_with_a_verb(doc_comment: str, question: str) -> None:
    assert question_about("greet", doc_comment) == question


@pytest.mark.parametrize(
    "doc_comment",
    [
        "",
        "greet",
        "The response object that is used by default",
        "Send it",
        "Close the",
        "Open $(rm -rf ~) the file of the user",
        "Open `date` for all of the files",
        'Open the big door" ; true "of the house',
        "Read \x1b[31m the red lines of it",
    ],
)
def test_others_make_no_question(doc_comment: str) -> None:
    assert question_about("greet", doc_comment) is None
