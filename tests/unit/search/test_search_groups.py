"""Results per file and per definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from contents import MakeProject, indexed_project
from findspot import Corpus, GroupBy, InvalidArgumentError, Mode, Project, Query

STEPS = "\n".join(
    f"        step_{n} = weigh(parcel, {n})  # the parcel passes gate {n} of many" for n in range(150)
)
PARCELS = f"""\
import weights


class Depot:
    \"\"\"Where parcels wait.\"\"\"

    def sort_parcels(self, parcel):
{STEPS}

    def count(self):
        return 1


def label_parcel(parcel):
    return f"parcel {{parcel}}"


def unrelated(value):
    return value
"""
FILES = {
    "parcels.py": PARCELS,
    "labels.py": "def print_parcel_label(parcel):\n    return label_parcel(parcel)\n",
    "setup.py": "import parcels\n\nparcels.Depot().sort_parcels(None)\n",
    "docs/parcels.md": "# Parcels\n\nA parcel waits.\n",
}
PARCEL = Query("parcel gate", limit=50)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(tmp_path_factory.mktemp("groups"), FILES) as project:
        yield project


def test_one_result_per_file(project: Project) -> None:
    passages = project.search(PARCEL)
    files = project.search(replace(PARCEL, group_by=GroupBy.FILE))
    assert [hit.path for hit in files.hits] == list(dict.fromkeys(hit.path for hit in passages.hits))
    assert files.total == len(files.hits) < passages.total
    best = files.hits[0]
    assert (best.path, best.span, best.text) == tuple(
        getattr(passages.hits[0], name) for name in ("path", "span", "text")
    )
    assert 1 <= len(best.more) <= 3
    assert all("Depot" in place or "parcel" in place for place in best.more)
    assert files.hits[-1].more == ()


def test_pages_of_files_follow_each_other(project: Project) -> None:
    query = replace(PARCEL, group_by=GroupBy.FILE)
    pages = [project.search(replace(query, limit=1, offset=at)).hits[0].path for at in range(3)]
    assert pages == [hit.path for hit in project.search(query).hits]


def test_one_result_per_definition(project: Project) -> None:
    found = project.search(replace(PARCEL, group_by=GroupBy.SYMBOL))
    symbols = [hit.symbol for hit in found.hits if hit.definition]
    assert len(symbols) == len(set(symbols))
    by_name = {hit.symbol: hit for hit in found.hits}
    lines = PARCELS.split("\n")
    whole = by_name["Depot.sort_parcels"]
    assert whole.text == "\n".join(lines[whole.span.start - 1 : whole.span.end])
    assert (whole.text.split("\n")[0].strip(), whole.symbols) == (
        "def sort_parcels(self, parcel):",
        ("sort_parcels",),
    )
    assert whole.text.endswith("step_149 = weigh(parcel, 149)  # the parcel passes gate 149 of many")
    assert by_name["label_parcel"].text.startswith("def label_parcel(parcel):\n")
    assert "unrelated" not in by_name
    assert found.total == len(found.hits)


def test_a_passage_without_definitions_stays_after_definitions(project: Project) -> None:
    found = project.search(Query("sort_parcels", limit=50, group_by=GroupBy.SYMBOL)).hits
    assert found[0].symbol == "Depot.sort_parcels"
    (script,) = (hit for hit in found if hit.path == "setup.py")
    assert script.text == FILES["setup.py"].rstrip()


def test_a_piece_that_ranks_first_gives_its_whole_definition(project: Project) -> None:
    best = project.search(Query("step_100 weigh parcel 100", group_by=GroupBy.SYMBOL)).hits[0]
    assert best.symbol == "Depot.sort_parcels"
    assert best.focus is not None
    assert "step_100" in best.text.split("\n")[best.focus - best.span.start]


def test_matches_of_a_pattern_by_file(project: Project) -> None:
    found = project.search(Query("parcel", mode=Mode.REGEX, group_by=GroupBy.FILE))
    assert [hit.path for hit in found.hits] == ["labels.py", "parcels.py", "setup.py"]
    assert len(found.hits[1].more) == 3


def test_lines_elsewhere_are_left_out_of_a_file_that_changed(make_project: MakeProject) -> None:
    project = make_project(FILES)
    project.update()
    (project.root / "parcels.py").write_text("# new\n" + PARCELS)
    found = project.search(replace(PARCEL, group_by=GroupBy.FILE))
    assert next(hit for hit in found.hits if hit.path == "parcels.py").more == ()


@pytest.mark.parametrize(
    "query",
    [
        Query("parcel", corpus=Corpus.DOCS, group_by=GroupBy.FILE),
        Query("parcel", mode=Mode.REGEX, group_by=GroupBy.SYMBOL),
    ],
)
def test_groups_that_cannot_be_made_are_refused(project: Project, query: Query) -> None:
    with pytest.raises(InvalidArgumentError, match="group_by"):
        project.search(query)
