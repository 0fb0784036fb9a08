"""Answers of an index whose files changed since: gaps are filled, totals and warnings stay true."""

from __future__ import annotations

import pytest

from contents import MakeProject
from findspot import Project, Query
from findspot.core.model import Mode


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    """Thirty files that hold one word, indexed."""
    project = make_project({f"f{n:02}.py": f"def pump_{n:02}():\n    return 'pump {n}'\n" for n in range(30)})
    project.update()
    return project


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD, Mode.REGEX])
def test_deleted_files_leave_no_gaps(project: Project, mode: Mode) -> None:
    query = Query("pump", mode=mode, limit=10)
    before = [hit.path for hit in project.search(query).hits]
    everything = [hit.path for hit in project.search(Query("pump", mode=mode, limit=50)).hits]
    assert (len(before), len(everything)) == (10, 30)
    for path in before[:4]:
        (project.root / path).unlink()
    after = project.search(query)
    assert [hit.path for hit in after.hits] == everything[4:14]
    assert after.total == 26
    assert after.warning is None


def test_files_that_are_gone_are_not_listed(project: Project) -> None:
    (project.root / "f03.py").unlink()
    assert project.files("f0[0-4].py")[0] == ["f00.py", "f01.py", "f02.py", "f04.py"]


def test_a_changed_file_is_shown_as_it_is_and_named(project: Project) -> None:
    path = project.root / "f07.py"
    path.write_text("# a line before it\n" + path.read_text())
    results = project.search(Query("pump_07", limit=3))
    (hit,) = [hit for hit in results.hits if hit.path == "f07.py"]
    assert (hit.span.start, hit.text.split("\n")[0]) == (2, "def pump_07():")
    assert results.warning == "Changed since indexed, so shown as they are now: f07.py."
    path.write_text("nothing of it\n")
    results = project.search(Query("pump_07", limit=3))
    assert "f07.py" not in [hit.path for hit in results.hits]
    assert results.warning is None
