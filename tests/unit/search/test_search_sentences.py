"""Questions in whole sentences, over a small real project: ranked by what was fitted, not by names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from contents import indexed_project
from findspot import Project, Query
from findspot.core.model import IncludeTests, Strength
from findspot.search.question_ranking import load_weights
from findspot.search.token_budget import MOST_DECIDING_CHARS, PLACES, fit

MakeProject = Callable[..., Project]

QUESTION = (
    "when a worker stops answering, what makes the pool give its unfinished jobs to another one in time?"
)

POOL = b"""class Pool:
    def hand_out(self, jobs):
        for worker, job in zip(self.idle, jobs):
            worker.send(job)

    def sweep(self, now):
        # A worker whose last sign of life is too old loses its unfinished jobs to others.
        for worker in self.workers:
            if now - worker.last_beat > LIMIT:
                self.queue.extend(worker.unfinished)
                worker.unfinished.clear()


LIMIT = 30
"""
TEST = b"""def test_when_a_worker_stops_answering_the_pool_gives_its_unfinished_jobs_to_another_one_in_time():
    pool = Pool()
    worker = pool.worker_that_stops_answering()
    assert pool.unfinished_jobs_of_another_one(worker)
"""
PAINT = b"""def paint(canvas, colour):
    for line in canvas.lines:
        line.fill(colour)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with indexed_project(
        tmp_path_factory.mktemp("sentences"),
        {"jobs/pool.py": POOL, "tests/test_pool.py": TEST, "ui/paint.py": PAINT},
    ) as project:
        yield project


def test_code_comes_before_the_test_that_repeats_the_question(project: Project) -> None:
    assert project.search(Query(QUESTION)).hits[0].path == "jobs/pool.py"


def test_a_test_comes_first_where_tests_are_wanted(project: Project) -> None:
    wanted = Query(QUESTION, include_tests=IncludeTests.YES)
    assert project.search(wanted).hits[0].path == "tests/test_pool.py"


def test_a_question_about_something_else_fits_nothing(project: Project) -> None:
    asked = "which tax rate applies to an invoice when the customer moved to another country during the year?"
    results = project.search(Query(asked))
    assert results.nothing_fits
    assert {hit.strength for hit in results.hits} == {Strength.WEAK}


def test_an_explanation_names_the_signals_that_counted(project: Project) -> None:
    why = project.search(Query(QUESTION, explain=True)).hits[0].why
    assert why is not None
    assert (
        {"chance", "meaning"}
        <= why.keys()
        <= {*load_weights().weights, "chance", "belongs", "sameFileFactor"}
    )


def test_a_name_in_a_sentence_leads_to_its_definition(project: Project) -> None:
    asked = "what does `paint` do with all the lines of a canvas when the colour that it is given is unknown?"
    assert project.search(Query(asked)).hits[0].path == "ui/paint.py"


def test_where_no_place_is_sure_six_show_their_deciding_lines(project: Project) -> None:
    found = project.search(Query(QUESTION)).hits[0]
    text = "\n".join(f"line {number} of a long function" for number in range(200))
    weak = [replace(found, text=text, definition=None, score=0.1, path=f"{at}.py") for at in range(8)]
    shown = fit(weak, 20_000, lambda hit, code: len(hit.text) + 100)
    assert shown.with_code == PLACES
    assert all(100 < len(hit.text) <= MOST_DECIDING_CHARS + 100 for hit in shown.hits[:PLACES])
    assert all("\n" not in hit.text for hit in shown.hits[PLACES:])
