"""What a query says as a request for a tool."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.search_modes import MAX_QUERY_CHARS, MAX_SENTENCES, everyday_synonyms, read_request
from findspot.catalogue.tool_record import SearchMode, ToolSearchOptions

from .conftest import Write, index

MODES = (SearchMode.BM25, SearchMode.HYBRID)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("open /srv/txt/paper_list.bib", "open bib file path"),
        ("save it as plan.xlsx, please", "save it as excel spreadsheet file path , please"),
        (r"what is in C:\data\2024?", "what is in file path ?"),
        ("list ~/music", "list file path"),
        (
            "see https://example.org/a/b.html and/or call me",
            "see https://example.org/a/b.html and/or call me",
        ),
        ("a middleware of Next.js", "a middleware of Next.js"),
        ("./deck.PPTX", "powerpoint presentation file path"),
        ("a/b.zip", "a/b.zip"),
    ],
)
def test_a_path_says_what_kind_of_file_is_meant(query: str, text: str) -> None:
    assert read_request(query).text == text


@pytest.mark.parametrize(
    ("query", "sentences"),
    [
        ("find a plumber nearby", ()),
        ("one two. three four five", ("three four five",)),
        ("find a plumber then book a visit", ("find a plumber", "book a visit")),
        ("find a plumber; and book a visit!", ("find a plumber;", "and book a visit!")),
        ("Find a plumber nearby, and book it for me.\nThanks!", ("Find a plumber nearby", "book it for me.")),
        ("do the thing. " * 40, ("do the thing.",) * MAX_SENTENCES),
    ],
)
def test_a_request_of_several_sentences_is_also_read_by_the_sentence(
    query: str, sentences: tuple[str, ...]
) -> None:
    assert read_request(query).sentences == sentences


@pytest.mark.parametrize("unit", ["/", "-", "a/", "@/", ". ", "\t", "a-", "\\"])
def test_no_query_hangs(unit: str) -> None:
    request = read_request((unit * MAX_QUERY_CHARS)[:MAX_QUERY_CHARS])
    assert len(request.text) <= MAX_QUERY_CHARS
    assert len(request.sentences) <= MAX_SENTENCES


def test_a_request_is_also_read_in_the_words_of_tools() -> None:
    assert read_request("make a folder").in_tools_words == "make a folder create directory"
    assert read_request("zqxjk").in_tools_words == ""
    synonyms = everyday_synonyms()
    assert {"add", "insert", "append"} < synonyms["writ"]
    assert all(word not in others for word, others in synonyms.items())


def test_hybrid_takes_another_verb_for_the_same_act(
    open_catalogue: Callable[[], Catalogue], write: Write
) -> None:
    tools = [
        {"name": "copy_note", "description": "Duplicate a note."},
        {"name": "add_note", "description": "Put a line at its end."},
        {"name": "note_size", "description": "Count the lines of a note."},
    ]
    opened = open_catalogue()
    index(opened, write("t.json", tools))
    best = {mode: opened.search("write a note", ToolSearchOptions(mode)).tools[0].name for mode in MODES}
    assert best == {SearchMode.BM25: "t__copy_note", SearchMode.HYBRID: "t__add_note"}
