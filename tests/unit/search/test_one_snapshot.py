"""One snapshot per question: search, research and the graph of one call read the same generation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from contents import MakeProject
from findspot import Project, Query
from findspot.core.model import Assistance
from findspot.research.findings import Aim, Focus, Inquiry
from findspot.store.snapshot import Snapshot
from findspot.sync.changed_paths import DirtyFiles

FILLER = "".join(f"def helper_{n}():\n    return {n}\n\n\n" for n in range(7))
BEFORE = {
    "billing.py": f'def charge_card(card):\n    """Charge a card."""\n    return card\n\n\n{FILLER}',
    "app.py": "from billing import charge_card\n\n\ndef pay(card):\n    return charge_card(card)\n",
}
AFTER = FILLER + (
    'def refund_zebra_invoice(invoice):\n    """Refund the invoice of a zebra."""\n    return invoice\n'
)
QUESTION = "how is a zebra invoice refunded"

Ask = Callable[[Project], object]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[[Project], list[int]]:
    """Return a function that counts the snapshots of a project's store, by their generation."""

    def count(project: Project) -> list[int]:
        generations: list[int] = []
        snapshot = project.store.snapshot

        @contextlib.contextmanager
        def counted() -> Iterator[Snapshot]:
            with snapshot() as found:
                generations.append(found.generation)
                yield found

        monkeypatch.setattr(project.store, "snapshot", counted)
        return generations

    return count


@pytest.mark.parametrize(
    "ask",
    [
        lambda project: project.search(Query(QUESTION)),
        lambda project: project.search(Query("charge card"), Assistance(expand=True, synthesize=True)),
        lambda project: project.research(QUESTION),
        lambda project: project.research("how does pay reach charge_card"),
        lambda project: project.research(Inquiry(relation=Aim.CALLERS, symbol="charge_card")),
        lambda project: project.research("how is it built", focus=Focus.ARCHITECTURE),
        lambda project: project.research("repeated shapes", focus=Focus.PATTERNS),
        lambda project: project.files("*.py"),
        lambda project: project.skipped(),
        lambda project: project.status(),
    ],
)
def test_each_question_opens_one_snapshot(
    make_project: MakeProject, opened: Callable[[Project], list[int]], ask: Ask
) -> None:
    """code-review B5: research opened one for the graph, and its search another."""
    project = make_project(BEFORE)
    project.update()
    generations = opened(project)
    ask(project)
    assert len(generations) == 1


def edit_under_lazy(make_project: MakeProject) -> Project:
    """Return a project whose edited file waits for the next question, as its watcher noted."""
    project = make_project(BEFORE, indexingStrategy="lazy")
    project.update()
    (project.root / "billing.py").write_text(AFTER)
    DirtyFiles(project.store.folder, keep=True).add({"billing.py"})
    return project


def test_the_first_research_after_an_edit_is_right(make_project: MakeProject) -> None:
    """code-review B5: hits of the new generation were looked up among definitions of the old one."""
    project = edit_under_lazy(make_project)
    found = project.research(QUESTION)
    assert found.nodes[0].name == "refund_zebra_invoice"
    assert found.nodes[0].start_line == AFTER[: AFTER.index("def refund")].count("\n") + 1
    assert "charge_card" not in found.summary
    assert found.warning is None


def test_what_waits_is_indexed_before_the_snapshot_is_opened(
    make_project: MakeProject, opened: Callable[[Project], list[int]]
) -> None:
    project = edit_under_lazy(make_project)
    with project.store.snapshot() as before:
        generation = before.generation
    generations = opened(project)
    project.search(Query(QUESTION), Assistance(expand=True))
    assert generations[-1] > generation
    assert len(set(generations)) == 1


def test_research_looks_hits_up_as_they_were_indexed(make_project: MakeProject) -> None:
    """Lines of the file on disk belong to other definitions in an index that is older than the file."""
    functions = "".join(f"def step_{n}():\n    return {n}\n\n\n" for n in range(9))
    project = make_project({"work.py": functions})
    project.update()
    (project.root / "work.py").write_text("import os\n" * 4 + functions)
    found = project.research("step_5 return 5")
    assert found.nodes[0].name == "step_5"
    assert found.warning == "Changed since indexed; lines may have moved: work.py."


def test_a_reader_knows_which_files_it_lacks(make_project: MakeProject) -> None:
    project = make_project(BEFORE)
    project.update()
    (project.root / "new.py").write_text("def late(): ...\n")
    (project.root / "app.py").write_text("def pay(): ...\n")
    with project.reader() as reader:
        lacking = [path for path in ("new.py", "app.py", "billing.py", "gone.py") if reader.lacks(path)]
    assert lacking == ["new.py", "app.py"]
