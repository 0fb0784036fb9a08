"""How far a search goes: names, definitions, files of one name, terms, patterns, and what is told beyond."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contents import MakeProject, indexed_project
from findspot import Project, Query
from findspot.core.errors import InvalidArgumentError, InvalidPatternError
from findspot.core.model import Corpus, Mode
from findspot.search.ripgrep import check_pattern, refusal
from shop_project import hits, paths, shop


def why(project: Project, text: str, signal: str, **options: object) -> dict[str, float]:
    """Return the files that a signal lifts, with how far."""
    results = project.search(Query(text, explain=True, limit=500, **options))  # type: ignore[arg-type]
    return {hit.path: hit.why[signal] for hit in results.hits if hit.why and signal in hit.why}


class TestPatterns:
    @pytest.mark.parametrize("pattern", ["x", "x" * 2_000, " x ", "é\U0001f510"])
    def test_what_may_be_tried(self, pattern: str) -> None:
        check_pattern(pattern)

    @pytest.mark.parametrize("pattern", ["x" * 2_001, "a\0", "a\ud800", "a\udfffb"])
    def test_what_no_program_can_be_given(self, pattern: str) -> None:
        with pytest.raises(InvalidPatternError) as error:
            check_pattern(pattern)
        assert "longer than 2000 characters" in error.value.developer_message

    @pytest.mark.parametrize(
        ("pattern", "hint"),
        [
            ("ab(cd", "Wrong at character 3: unclosed group."),
            ("(a)(b", "Wrong at character 4: unclosed group."),
            ("((a)", "Wrong at character 1: unclosed group."),
            (r"\((a", "Wrong at character 3: unclosed group."),
            ("[(](a", "Wrong at character 4: unclosed group."),
            ("[](](a", "Wrong at character 5: unclosed group."),
            ("a)", "Wrong at character 2: unopened group."),
            ("(a))b", "Wrong at character 4: unopened group."),
            ("a**(", "Wrong at character 4: unclosed group."),
            ("x{2,1}", "Wrong at character 2: invalid repetition count range, the start must be <= the end."),
            (r"ab\q", "Wrong at character 3: unrecognized escape sequence."),
        ],
    )
    def test_an_error_names_the_character(self, pattern: str, hint: str) -> None:
        with pytest.raises(InvalidPatternError) as error:
            paths(pattern, mode=Mode.REGEX)
        assert error.value.hint == hint

    def test_a_complaint_without_a_place(self) -> None:
        assert refusal("x", "rg: something else\n").hint == "Wrong: something else."
        assert refusal("x", "no such form").hint == ""
        assert refusal("x", " detail \n").developer_message.endswith("detail")


class TestRegexAnswers:
    def test_another_case_is_hinted_at(self) -> None:
        results = shop().search(Query("CHECKOUT_TOTAL|ConnectionPOOL", mode=Mode.REGEX))
        assert results.hits == ()
        assert str(results.warning).endswith("something does: begin with (?i).")
        assert shop().search(Query("zzz_nowhere", mode=Mode.REGEX)).warning is None
        assert hits("(?i)ConnectionPOOL", mode=Mode.REGEX)

    def test_ten_thousand_matching_lines_are_read(self, make_project: MakeProject) -> None:
        project = make_project({f"f{number:02}.txt.py": "needle = 1\n" * 500 for number in range(21)})
        project.update()
        results = project.search(Query("needle", mode=Mode.REGEX, limit=2_000))
        assert results.warning == "Stopped after 10,000 matching lines."
        assert [hit.path for hit in results.hits][-1] == "f19.txt.py"
        fewer = project.search(Query("needle", mode=Mode.REGEX, limit=2_000, exclude="f00*"))
        assert (fewer.warning, fewer.hits[-1].path) == (None, "f20.txt.py")

    def test_the_focus_is_the_column_of_the_match(self, make_project: MakeProject) -> None:
        project = make_project(
            {"a.py": "größe = 'ä needle'\n", "long.py": "x = '" + "y" * 5_000 + "needle'\n"}
        )
        project.update()
        found = project.search(Query("needle", mode=Mode.REGEX)).hits
        assert [(hit.path, hit.focus, hit.text[hit.focus_column :][:6]) for hit in found] == [
            ("a.py", 1, "needle"),
            ("long.py", 1, "needle"),
        ]


class TestFilters:
    def test_what_passes_in_the_other_corpus_is_told(self, make_project: MakeProject) -> None:
        project = make_project(
            {"a.py": "tea = 1\n", "b.md": "# Tea\n\nGreen.\n", "c.md": "# Tea\n\nBlack.\n"}
        )
        project.update()

        def told(corpus: Corpus = Corpus.CODE, **filters: object) -> str | None:
            return project.search(Query("tea", corpus=corpus, **filters)).warning  # type: ignore[arg-type]

        assert told(extensions=("md",)) == (
            "No code passes the filters, but 2 files of documentation: use search_docs (`findspot docs`)."
        )
        assert told(path_filter="b.md") == (
            "No code passes the filters, but 1 file of documentation: use search_docs (`findspot docs`)."
        )
        assert told(Corpus.DOCS, languages=("python",)) == (
            "No documentation passes the filters, but 1 file of code: use search_code (`findspot search`)."
        )
        assert told(exclude="**") == "No indexed file passes the filters."
        assert told(under="nowhere") == "No indexed file passes the filters."

    def test_a_revision_of_200_characters(self) -> None:
        for length, message in ((200, "needs a git repository"), (201, "must name a revision")):
            with pytest.raises(InvalidArgumentError, match=message):
                paths("order", changed_since="a" * length)


class TestQuestions:
    def test_a_long_query_is_cut_one_beyond_the_limit(self) -> None:
        words = "password hash " * 1_428
        fits, cut = words + "passwor!", words + "password!"
        assert (len(fits), len(cut)) == (20_000, 20_001)
        assert shop().search(Query(fits)).warning is None
        assert shop().search(Query(cut)).warning == "The query was cut to its first 20,000 characters."

    def test_a_place_has_the_chunks_that_touch_its_lines(self) -> None:
        path = "service/orders/cart.py"
        whole = {(hit.path, hit.span.start) for hit in hits("", similar_to=f"{path}:1-39", limit=100)}
        assert not [place for place in whole if place[0] == path]
        with pytest.raises(InvalidArgumentError, match=r"nothing at the lines 40-41 .* at the lines 1-39\."):
            hits("", similar_to=f"{path}:40-41")
        assert hits("", similar_to=f"{path}:39-41")

    def test_48_terms_are_looked_for(self, make_project: MakeProject) -> None:
        """Of a long text the rarest words count; the commonest are left out."""
        words = [f"{first}o{last}ub" for first in "bdfgklm" for last in "bdfgklm"][:48]
        common = {f"common_{n}.py": f"shared = {n}\n" for n in range(5)}
        project = make_project(common | {f"{word}.py": f"{word} = 1\n" for word in words})
        project.update()
        rare = {f"{word}.py" for word in words}
        for asked, found in ((words, rare), (words[1:], rare - {f"{words[0]}.py"} | common.keys())):
            query = Query(" ".join([*asked, "shared"]), mode=Mode.KEYWORD, limit=100)
            shown = {hit.path for hit in project.search(query).hits}
            assert {path for path in shown if path.startswith("common")} == found & common.keys()
            assert found - common.keys() == shown - common.keys()


def crowd() -> dict[str, str]:
    """Return many files that share names: `begin` in 50 of them, `finish` in 51, `util.py` in four."""
    files = {
        f"f{n:02}.py": f"def finish():\n    return {n}\n\n\nclass C{n}:\n    Model = {n}\n" for n in range(51)
    }
    for n in range(50):
        files[f"f{n:02}.py"] += f"\n\ndef begin():\n    return {n}\n"
    files |= {f"d{n}/util.py": f"x{n} = {n}\n" for n in range(4)}
    files |= {f"d{n}/help.py": f"y{n} = {n}\n" for n in range(3)}
    files |= {f"tests/test_{n}.py": "class Model:\n    pass\n" for n in range(3)}
    steps = (f"def step_{n}(x):\n" + f"    x += {n}\n" * 60 + "    return x\n\n\n" for n in range(3))
    files["model.py"] = "class Model:\n    pass\n"
    files["tests/test_till.py"] = "class LedgerTest:\n    def common(self):\n        return 1\n"
    files["till.py"] = "def open_till():\n    return 'the ledger of a till'\n"
    return files | {"job.py": "".join(steps)}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("crowded"), crowd()) as project:
        yield project


class TestNames:
    def test_a_name_with_more_than_fifty_definitions_tells_nothing(self, crowded: Project) -> None:
        assert len(why(crowded, "begin", "definition")) == 50
        assert why(crowded, "finish", "definition") == {}

    def test_of_many_definitions_fields_and_tests_are_left_out_first(self, crowded: Project) -> None:
        assert why(crowded, "Model", "definition") == {"model.py": 1.0}

    def test_a_file_name_that_more_than_three_have_points_at_none(self, crowded: Project) -> None:
        assert why(crowded, "help.py", "mentioned") == {f"d{n}/help.py": 0.3 for n in range(3)}
        assert why(crowded, "util.py", "mentioned") == {}
        for place in ("d1/util.py", "home/me/d1/util.py"):
            assert why(crowded, place, "mentioned") == {"d1/util.py": 0.3}

    @pytest.mark.parametrize("line", [1, 62, 130, 190])
    def test_a_line_of_a_trace_finds_its_chunk(self, crowded: Project, line: int) -> None:
        trace = f'Traceback (most recent call last):\n  File "job.py", line {line}, in x\nKeyError: o'
        first = crowded.search(Query(trace, limit=500)).hits
        assert any(hit.span.start <= line <= hit.span.end for hit in first if hit.path == "job.py")

    def test_a_class_of_tests_knows_the_name_it_tests(self, crowded: Project) -> None:
        assert why(crowded, "Ledger", "roleFactor")["tests/test_till.py"] == 1.0
        assert why(crowded, "till", "roleFactor")["tests/test_till.py"] == 0.5


@pytest.mark.parametrize("number", ["20880", "0xDEADBEEF", "2.10.3"])
def test_a_number_is_found_where_it_stands(make_project: MakeProject, number: str) -> None:
    files = {
        "meaning.py": "def merge(digest):\n    return digest.total + digest.count\n",
        "port.py": f'DEFAULT = "{number}"\n',
    }
    project = make_project(files)
    project.update()
    assert project.search(Query(number)).hits[0].path == "port.py"
