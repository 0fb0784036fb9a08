"""Queries that nobody should type, and states of an index that a searcher should hear of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import pytest

from findspot import Project, Query
from findspot.core.errors import (
    DocsIndexNotFoundError,
    IndexNotFoundError,
    InvalidArgumentError,
    InvalidPatternError,
    ModelMismatchError,
)
from findspot.core.model import Corpus, IndexState, Mode
from findspot.research.findings import Aim, Inquiry
from findspot.research.task_signals import Request
from shop_project import FILES, paths, shop

MakeProject = Callable[..., Project]

ODD = {
    "100 kB": "where is the login of customers checked " * 2_600,
    "control characters": "pass\x00word\x1b[31m hash\x07\u202e",
    "only punctuation": "?!... ((( *** --- ~~~ ¿§",
    "unbalanced quotes": "\"password 'hash “stored (",
    "right to left": "سجل الدخول כניסה למערכת",
    "a whole file": (FILES / "service/auth/passwords.py").read_text(),
    "injection": "'; DROP TABLE chunks; -- ${jndi:ldap://x} <b> ../../etc/passwd +must -not f:x^9 [* TO *]",
    "lone surrogate": "password \ud800 hash",
    "one letter": "x",
    "emoji": "🔐 🧺",
    "only stop words": "how is it that this was",
    "a number": "42",
    "a very long word": "a" * 5_000,
    "newlines": "\n\npassword\n\n\nhash\n\n",
    "glob": "**/*.py",
    "null-like": "None",
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.SEMANTIC, Mode.KEYWORD])
@pytest.mark.parametrize("corpus", list(Corpus))
def test_odd_queries_are_answered(kind: str, mode: Mode, corpus: Corpus) -> None:
    results = shop().search(Query(ODD[kind], mode=mode, corpus=corpus, explain=True))
    assert all(0 <= hit.score <= 1 for hit in results.hits)


NO_PATTERNS = {
    "100 kB": "",
    "control characters": "",
    "only punctuation": "Wrong at character 1: repetition operator missing expression.",
    "unbalanced quotes": "Wrong at character 25: unclosed group.",
    "a whole file": "Wrong: repetition quantifier expects a valid decimal.",
    "injection": "Wrong at character 28: repetition quantifier expects a valid decimal.",
    "lone surrogate": "",
    "a very long word": "",
    "newlines": 'Wrong: the literal "\\n" is not allowed in a regex.',
    "glob": "Wrong at character 1: repetition operator missing expression.",
}
"""Odd queries that are no patterns, with what a user is told to put right."""


@pytest.mark.parametrize("kind", NO_PATTERNS)
def test_odd_patterns_are_refused(kind: str) -> None:
    with pytest.raises(InvalidPatternError) as refused:
        paths(ODD[kind], mode=Mode.REGEX)
    assert refused.value.hint == NO_PATTERNS[kind]
    assert refused.value.code == "INVALID_PATTERN"


@pytest.mark.parametrize("kind", sorted(ODD.keys() - NO_PATTERNS.keys()))
def test_other_odd_patterns_find_the_lines_that_match(kind: str) -> None:
    code = [path for path in shop().files()[0] if not path.endswith(".md")]
    texts = {path: (FILES / path).read_text() for path in code}
    matching = {path for path, text in texts.items() if re.search(ODD[kind], text)}
    assert set(paths(ODD[kind], mode=Mode.REGEX, limit=1_000)) == matching
    assert (kind in ("one letter", "null-like")) == bool(matching)


@pytest.mark.parametrize("text", ["", "   ", "\n\t ", "\x00\x01", "\u202e\u200b\ufeff"])
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.SEMANTIC, Mode.KEYWORD])
def test_an_empty_query_is_refused(text: str, mode: Mode) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^Query cannot be empty$"):
        paths(text, mode=mode)


def test_a_query_without_words_finds_nothing_and_says_so() -> None:
    results = shop().search(Query(ODD["only punctuation"], mode=Mode.KEYWORD))
    assert results.hits == ()
    assert results.warning == "The query has no words to search for."


def test_control_characters_do_not_change_the_answer() -> None:
    clean = paths("password hash")
    assert paths("password\x1b hash\u202e\x07") == clean


@pytest.mark.parametrize(
    "path", ["service/auth/passwords.py", "worker/backoff.go", "web/src/format/money.ts"]
)
def test_a_whole_file_finds_itself(path: str) -> None:
    assert paths((FILES / path).read_text())[0] == path


class TestStates:
    def test_no_index(self, make_project: MakeProject) -> None:
        project = make_project({"a.py": "x = 1\n"})
        for mode in (Mode.HYBRID, Mode.REGEX):
            with pytest.raises(IndexNotFoundError):
                project.search(Query("x", mode=mode))

    def test_no_documentation(self, make_project: MakeProject) -> None:
        project = make_project({"a.py": "x = 1\n"})
        project.update()
        for mode in (Mode.HYBRID, Mode.REGEX):
            with pytest.raises(DocsIndexNotFoundError) as caught:
                project.search(Query("x", corpus=Corpus.DOCS, mode=mode))
        assert caught.value.code == "DOCS_INDEX_NOT_FOUND"

    @pytest.mark.parametrize("files", [{}, {"README.md": "# Only words\n\nNothing to run.\n"}])
    @pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.REGEX])
    def test_no_code_is_told(self, make_project: MakeProject, files: Mapping[str, str], mode: Mode) -> None:
        project = make_project(files)
        project.update()
        results = project.search(Query("anything", mode=mode))
        elsewhere = ", but 1 file of documentation: use search_docs (`findspot docs`)" if files else ""
        assert (results.hits, results.warning) == ((), f"The index holds no code{elsewhere}.")

    def test_documentation_alone_is_asked_about_code(self, make_project: MakeProject) -> None:
        project = make_project({"README.md": "# Tea\n\nHow to brew it.\n"})
        project.update()
        assert not project.search(Query("how is the tea brewed once the kettle is hot and nobody looks")).hits
        for aim in (Aim.CALLERS, Aim.IMPACT, Aim.IMPORTERS, Aim.TESTS):
            found = project.research(Inquiry(relation=aim, symbol="brew"))
            assert found.summary.startswith("No definition named brew in the index")
        assert project.context(Request("TypeError: brew() takes no kettle")).regions == ()

    def test_an_index_still_being_built_says_how_far_it_is(self, make_project: MakeProject) -> None:
        project = make_project({"a.py": "def alpha():\n    return 1\n"})
        project.update()
        queries = (Query("alpha"), Query("alpha", mode=Mode.REGEX), Query("alpha", path_filter="b.py"))
        with project.store.writer() as writer:
            writer.set_meta(build="incomplete", done="3", total="8")
            writer.commit()
            for query in queries:
                warning = project.search(query).warning
                assert str(warning).startswith("The index is still being built: 3 of 8 files.")
        for query in queries:  # nobody builds it any more
            warning = project.search(query).warning
            assert str(warning).startswith("Indexing was interrupted: only 1 of 8 files are indexed so far.")
        assert project.status(check_disk=False).state is IndexState.INCOMPLETE

    def test_another_model_is_refused(self, make_project: MakeProject) -> None:
        project = make_project({"a.py": "def alpha():\n    return 1\n"})
        project.update()
        with project.store.writer() as writer:
            writer.set_meta(model="other-model@1/64")
            writer.commit()
        for mode in (Mode.HYBRID, Mode.SEMANTIC):
            with pytest.raises(ModelMismatchError) as caught:
                project.search(Query("alpha", mode=mode))
        assert "other-model@1/64" in caught.value.user_message
        assert "reindex" in caught.value.hint
        for mode in (Mode.KEYWORD, Mode.REGEX):  # vectors have no part in them
            assert project.search(Query("alpha", mode=mode)).hits[0].path == "a.py"


def test_answers_can_be_written_as_json() -> None:
    json.dumps([hit.why for hit in shop().search(Query("order", explain=True)).hits])


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("hash_password", "strong"),
        ("hashPassword", "strong"),
        ("hash_password2", "likely"),
        ("hashPasswords", "likely"),
    ],
)
def test_what_is_found_for_a_name_that_is_nowhere_is_not_strong(name: str, label: str) -> None:
    """It is something else, however near: `HTTP2Adapter` is not `HTTPAdapter`."""
    first = shop().search(Query(name)).hits[0]
    assert (first.symbol or "").endswith("hash_password")
    assert first.strength == label
