"""Every name that the index shows can be asked about, however it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

from contents import MakeProject, indexed_project
from findspot import Corpus, Findings, Inquiry, Project, Query
from findspot.graph import Graph, Outline
from findspot.research.findings import Aim

FIXTURES = Path(__file__).parents[2] / "fixtures" / "languages"
ASKED = (Aim.CALLERS, Aim.CALLEES, Aim.USES, Aim.IMPACT, Aim.TESTS, Aim.SUPERTYPES)

ODD = {
    "lib/oban/job.ex": "defmodule Oban.Job do\n  def new(args), do: args\nend\n",
    "lib/worker.ex": "defmodule Worker do\n  def run(args), do: Oban.Job.new(args)\nend\n",
    "src/headers.js": (
        "export class Headers {\n"
        "  [Symbol.iterator]() { return this.all(); }\n"
        "  all() { return []; }\n"
        "}\n"
        "export const icons = { '*.svg': () => 1, 'a.b': () => 2 };\n"
    ),
    "test/throw.test.js": (
        "import { Headers } from '../src/headers.js';\n\n"
        "describe('ctx.throw(status, err)', () => {\n"
        "  it('should throw the error and set .status', () => { new Headers().all(); });\n"
        "  it('GET /users/1, twice:2', () => { new Headers().all(); });\n"
        "  it('waits ... and ends.', () => { new Headers().all(); });\n"
        "  it(' with spaces ', () => { new Headers().all(); });\n"
        "});\n"
        "test('lib/throw.js', () => {});\n"
        "test('ends()', () => {});\n"
    ),
    "totals.cpp": (
        "namespace Catch {\n"
        "    void Other::note() {\n" + "        count( passed, failed, skipped );\n" * 12 + "    }\n\n"
        "    Counts& Counts::operator+=( Counts const& other ) {\n"
        + "        passed += other.passed;\n"
        * 8
        + "        return *this;\n    }\n\n"
        "    long Counts::total() const {\n        return passed;\n    }\n\n"
        "    bool Counts::allOk() const {\n        return failed == 0;\n    }\n"
        "}\n"
    ),
    "format.hpp": (
        "template <> struct formatter<std::filesystem::path, char> {\n  int format() { return 1; }\n};\n"
    ),
    "app/sessions.rb": (
        "class Devise::SessionsController\n"
        "  def create\n    all_signed_out?\n  end\n\n"
        "  def all_signed_out?\n    true\n  end\n"
        "end\n"
    ),
    ".github/workflows/test.yml": "on: push\njobs:\n"
    + "".join(f"  job_{n}:\n    runs-on: linux\n" for n in range(200)),
    "models/schema.yml": "version: 2\n\nmodels:\n"
    + "".join(f"  - name: orders_{n}\n    description: x\n" for n in range(200)),
    "docs/guide.md": "# Guide\n\nHello.\n\n## Getting started, quickly\n\n"
    + "Run it and wait for it.\n" * 200,
    "bin/run": "#!/bin/bash\nmain() {\n  echo hi\n}\nmain\n",
    "Makefile": "all: build\n\nbuild:\n\techo done\n",
}


def asked(project: Project, aim: Aim, name: str, **more: str) -> Findings:
    return project.research(Inquiry(relation=aim, symbol=name, **more))


def shown(project: Project) -> Iterator[str]:
    """Yield the names that outlines, search and the index's own tables show."""
    with project.reader() as reader:
        graph, paths = Graph(reader.snapshot), [file.path for file in reader.snapshot.files.files]
        for path in paths:
            yield from (name for outline in graph.outline(path) for name in outlined(outline))
        chunks = [chunk for path in paths for chunk in reader.snapshot.chunks.of_file(path)]
    for chunk in chunks:
        yield from chunk.symbols
        if chunk.breadcrumb:
            yield chunk.breadcrumb.replace(" > ", ".")
    words = dict.fromkeys(name for chunk in chunks for name in (*chunk.symbols, chunk.breadcrumb) if name)
    for word in (*words, *(Path(path).stem for path in paths)):
        for corpus in (Corpus.CODE, Corpus.DOCS):
            hits = project.search(Query(word, corpus=corpus)).hits
            yield from (name for hit in hits for name in (hit.symbol, *hit.symbols) if name)


def outlined(outline: Outline) -> Iterator[str]:
    yield outline.node.qualified
    yield outline.node.id
    for child in outline.children:
        yield from outlined(child)


def denied(project: Project, aims: Iterable[Aim] | None = None) -> dict[str, str]:
    """Return what is said of shown names that are not known: of each name, by the next of the relations."""
    findings = {
        (name, aim): asked(project, aim, name)
        for name, next_aim in zip(dict.fromkeys(shown(project)), cycle(ASKED), strict=False)
        for aim in aims or [next_aim]
    }
    return {f"{aim} {name}": found.summary for (name, aim), found in findings.items() if found.unknown}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("odd"), ODD) as project:
        yield project


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_no_name_of_a_language_is_denied(make_project: MakeProject, path: Path) -> None:
    project = make_project({f"src/{path.name}": path.read_bytes(), "README.md": "# Read me\n\nText.\n"})
    project.update()
    assert denied(project) == {}


def test_no_odd_name_is_denied(odd: Project) -> None:
    assert denied(odd, ASKED) == {}


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("Headers.[Symbol.iterator]", ["src/headers.js:2"]),
        ("icons.*.svg", ["src/headers.js:5"]),
        ("ctx.throw(status, err)", ["test/throw.test.js:3"]),
        ("ctx.throw(status, err).should throw the error and set .status", ["test/throw.test.js:4"]),
        ("should throw the error and set .status", ["test/throw.test.js:4"]),
        ("ctx.throw(status, err).GET /users/1, twice:2", ["test/throw.test.js:5"]),
        ("lib/throw.js", ["test/throw.test.js:9"]),
        ("ends()", ["test/throw.test.js:10"]),
        ("Catch.Counts.total", ["totals.cpp:29"]),
        ("Counts.Catch.total", ["totals.cpp:29"]),
        ("Devise::SessionsController.all_signed_out?", ["app/sessions.rb:6"]),
        ("SessionsController.all_signed_out?", ["app/sessions.rb:6"]),
    ],
)
def test_a_shown_name_is_the_definition_that_it_is_shown_for(
    odd: Project, name: str, places: list[str]
) -> None:
    with odd.reader() as reader:
        found = Graph(reader.snapshot).find(name)
    assert [f"{node.path}:{node.start_line}" for node in found] == places


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Oban.Job", "Oban.Job (lib/oban/job.ex:1) is found by its name alone: 1 line with its name"),
        ("models", "models (models/schema.yml:54) is found by its name alone: 1 line"),
        ("Guide.Getting started, quickly", "Getting started, quickly (docs/guide.md:5) is found by its name"),
    ],
)
def test_what_the_graph_does_not_have_is_found_by_its_name(odd: Project, name: str, said: str) -> None:
    found, path = asked(odd, Aim.CALLERS, name), asked(odd, Aim.PATH, name, to="Headers.all")
    assert found.summary.startswith(said)
    assert ". The graph does not read " in found.summary
    assert "is found by its name alone: what it refers to is not known." in path.summary
    assert not path.unknown


def test_a_list_of_lines_that_was_cut_says_so(make_project: MakeProject) -> None:
    uses = "\n".join(f"f{n} = decode x{n}" for n in range(30))
    project = make_project({"Decode.hs": "module Decode where\n\ndecode x = x\n", "Use.hs": f"{uses}\n"})
    project.update()
    found = asked(project, Aim.CALLERS, "decode")
    assert "at least 20 lines with its name" in found.summary


def test_a_name_is_shown_with_what_is_around_it_in_its_order(odd: Project) -> None:
    hits = odd.search(Query("total")).hits
    assert "Catch.Counts.total" in [hit.symbol for hit in hits]


@pytest.mark.parametrize(
    "name", ["Bank.Job.cancel", "Headers.[Symbol.species]", "Guide.Nothing", "should throw"]
)
def test_a_name_that_nothing_has_is_denied(odd: Project, name: str) -> None:
    assert all(asked(odd, aim, name).unknown for aim in ASKED)


def test_functions_come_before_tests_with_their_name_for_a_title(make_project: MakeProject) -> None:
    project = make_project(
        {
            "auth.js": "export class Auth {\n  login() { return 1; }\n}\n",
            "auth.test.js": (
                "import { Auth } from './auth.js';\ntest('login', () => { new Auth().login(); });\n"
            ),
        }
    )
    project.update()
    found = asked(project, Aim.CALLERS, "login")
    assert found.summary.startswith("Auth.login (auth.js:2)")


def test_a_question_in_words_is_not_about_a_key_or_a_section(odd: Project) -> None:
    assert "is found by its name alone" not in odd.research("what uses jobs").summary
