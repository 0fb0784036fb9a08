"""Which definition of a passage an answer is named after, and how it is described."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from findspot import Project
from findspot.core.model import Query, Span, Symbol
from findspot.search.definitions import (
    Described,
    PassageText,
    QueryTerms,
    QueryWords,
    describe,
    header_overview,
)
from findspot.store.records import StoredChunk

ERRORS = dedent(
    '''\
    class RemoteProtocolError(ProtocolError):
        """
        The protocol was violated by the server.

        For example, returning malformed HTTP.
        """


    # Raised by the client alone.
    class TooManyRedirects(RequestError):
        """Too many redirects."""

        limit = 20


    def raise_for(
        response: Response,
        limit: int = 20,
    ) -> None:
        raise TooManyRedirects
    '''
).rstrip()

SYMBOLS = (
    Symbol("RemoteProtocolError", "class", 101),
    Symbol("TooManyRedirects", "class", 110),
    Symbol("limit", "field", 113),
    Symbol("raise_for", "function", 116),
)


def chunk(text: str, breadcrumb: str | None, *, start: int = 101, kind: str = "class") -> StoredChunk:
    return StoredChunk(
        number=1,
        path="errors.py",
        language="python",
        start_line=start,
        end_line=start + text.count("\n"),
        chunk_type="definitions",
        kind=kind,
        text=text,
        symbols=tuple(symbol.name for symbol in SYMBOLS),
        signature="class RemoteProtocolError(ProtocolError)",
        breadcrumb=breadcrumb,
        doc_comment="The protocol was violated by the server.",
        tags=(),
    )


def described(*names: str, words: str = "", text: str = ERRORS) -> Described | None:
    stored = chunk(text, "RemoteProtocolError")
    lines = text.split("\n")
    held = QueryWords.in_text("\n".join(lines), QueryTerms(dict.fromkeys(words.split(), 1.0)))
    return describe(PassageText.of([stored], SYMBOLS), stored, lines, names=names, words=held)


TOO_MANY = {
    "span": Span(109, 113),
    "line": 110,
    "kind": "class",
    "breadcrumb": "TooManyRedirects",
    "signature": "class TooManyRedirects(RequestError)",
    "doc_comment": "Raised by the client alone.",
}
ITS_OWN = {"breadcrumb": "RemoteProtocolError", "span": Span(101, 106)}
RAISE_FOR = "def raise_for( response: Response, limit: int = 20, ) -> None"


@pytest.mark.parametrize(
    ("name", "words", "shown"),
    [
        ("TooManyRedirects", "", TOO_MANY),
        ("toomanyredirects", "", {"breadcrumb": "TooManyRedirects"}),  # where no spelling is the same
        # A name is known by those around it, and a long signature is one line.
        ("limit", "", {"breadcrumb": "TooManyRedirects > limit", "kind": "field", "span": Span(113, 113)}),
        ("raise_for", "", {"signature": RAISE_FOR}),
        # What the chunk is stored under is described as stored.
        ("RemoteProtocolError", "", ITS_OWN | {"doc_comment": "The protocol was violated by the server."}),
        # Without a name the words decide, and without either it is the chunk's own.
        ("", "malformed http", ITS_OWN),
        ("", "redirect many", {"breadcrumb": "TooManyRedirects"}),
        ("", "nothing here", ITS_OWN),
    ],
)
def test_which_definition_an_answer_is_named_after(name: str, words: str, shown: dict[str, object]) -> None:
    found = described(*filter(None, [name]), words=words)
    assert found is not None
    assert {field: getattr(found, field) for field in shown} == shown


def test_only_comments_and_decorators_belong_to_what_follows_them() -> None:
    text = 'class Heron:\n    """Stands.\n    """\n    def stand(self):\n        pass\n'
    text += "#endif\ndef fly():\n    pass"
    stored = chunk(text, "Heron", start=1)
    symbols = (Symbol("Heron", "class", 1), Symbol("stand", "method", 4), Symbol("fly", "function", 7))
    lines = text.split("\n")
    words = QueryWords.in_text("\n".join(lines), QueryTerms({}))
    passage = PassageText.of([stored], symbols)
    stand = describe(passage, stored, lines, names=("stand",), words=words)
    fly = describe(passage, stored, lines, names=("fly",), words=words)
    assert stand is not None
    assert (stand.span, stand.doc_comment) == (Span(4, 6), None)
    assert fly is not None
    assert fly.span == Span(7, 8)


def test_a_header_is_shown_by_its_description_and_what_the_file_defines() -> None:
    licence = "# Copyright (c) 2020\n# MIT licence\n\n"
    header = f'{licence}"""Locks that go with\ntheir process."""\n\nimport os\nimport sys\n'
    outline = "Imports: 2 packages\n\nTypes:\n  - Lock (class) (lines 12-40)"
    assert header_overview(header, outline) == (
        '"""Locks that go with\ntheir process."""\nTypes:\n  - Lock (class) (lines 12-40)'
    )


def test_a_qualified_name_and_a_traced_line_choose_among_namesakes(
    make_project: Callable[..., Project],
) -> None:
    loads = "".join(
        f"class {name}:\n    def load(self):\n        return 1\n\n\n" for name in ("Alpha", "Beta")
    )
    project = make_project({"a.py": loads})
    project.update()
    for text in ("Beta.load", "Beta::load", 'ValueError: no value\n  File "a.py", line 8, in load\n'):
        first = project.search(Query(text)).hits[0]
        assert (first.breadcrumb, first.definition) == ("Beta > load", Span(7, 8))
    assert project.search(Query("Alpha.load")).hits[0].breadcrumb == "Alpha > load"
