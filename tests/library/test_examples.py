"""The library as its users meet it: short examples, each of which is documentation that runs."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import write_files
from findspot import Engine, FindspotError
from findspot.core.model import IndexState
from findspot.index_folders import delete_orphans, find_orphans


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    files = {
        "src/cart.py": "class Cart:\n    def total(self):\n        return 0\n",
        "src/tax.py": "def tax(amount):\n    return amount * 0.2\n",
        "README.md": "# Shop\n\nHow to run the shop.\n",
        "logo.png": b"\x89PNG\r\n",
    }
    write_files(root, files)
    return root


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


def test_index_a_project_and_look_at_it(engine: Engine, folder: Path) -> None:
    project = engine.project(folder)
    report = project.update()
    assert report.created
    assert report.total_files == 3

    status = project.status()
    assert status.state is IndexState.READY
    assert status.query_ready
    assert (status.total_files, status.total_docs) == (3, 1)
    assert status.languages == {"python": 2, "markdown": 1}
    assert status.skipped == {"binary": 1}
    assert status.pending_changes == 0


def test_an_update_does_only_what_changed(engine: Engine, folder: Path) -> None:
    project = engine.project(folder)
    project.update()
    (folder / "src" / "tax.py").write_text("def tax(amount):\n    return amount * 0.25\n")
    (folder / "src" / "cart.py").unlink()
    assert project.status().pending_changes == 2
    report = project.update()
    assert (report.files_indexed, report.files_removed, report.files_unchanged) == (1, 1, 1)
    assert project.status().pending_changes == 0


def test_find_the_project_around_a_folder(engine: Engine, folder: Path) -> None:
    engine.project(folder).update()
    assert engine.detect(folder / "src").root == folder


def test_list_projects_and_clean_up_after_those_that_are_gone(
    engine: Engine, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("a = 1\n")
    for root in (folder, other):
        engine.project(root).update()
    assert {status.project_path for _, status in engine.projects()} == {str(folder), str(other)}
    assert delete_orphans(engine.settings.home) == []

    (other / "a.py").unlink()
    other.rmdir()
    assert [status.project_path for _, status in engine.projects()] == [str(folder)]
    (orphan,) = find_orphans(engine.settings.home)
    assert orphan.size > 0
    assert orphan.project == other
    assert delete_orphans(engine.settings.home) == [orphan]
    assert not orphan.folder.exists()
    assert engine.project(folder).files()[1] == 3


def test_listing_projects_leaves_none_of_them_open(engine: Engine, folder: Path, home: Path) -> None:
    engine.project(folder).update()
    engine.close()
    opened = Path("/proc/self/fd")
    if not opened.is_dir():
        pytest.skip("needs /proc")
    assert len(engine.projects()) == 1
    targets = [str(fd.resolve()) for fd in opened.iterdir()]
    assert [target for target in targets if target.startswith(str(home))] == []


SCRIPT = """
from findspot import Engine
engine = Engine()
project = engine.project(r"{folder}")
print(project.update().total_files)
print(project.files("**/*.py"))
engine.close()
"""


def test_a_plain_script_needs_no_main_guard(home: Path, folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=folder))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "3\n(['src/cart.py', 'src/tax.py'], 2)\n"
    assert done.stderr == ""


def test_several_threads_share_one_engine(engine: Engine, folder: Path) -> None:
    project = engine.project(folder)
    project.update()
    busy, wrong = [], []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            start.wait()
            for _ in range(3):
                assert engine.project(folder) is project
                assert project.files()[1] >= 3
                assert project.status().total_files >= 3
                if number < 2:
                    (folder / f"more{number}.py").write_text(f"x = {number}\n")
                    project.update()
        except FindspotError as error:
            (busy if error.code == "INDEX_BUSY" else wrong).append(error)
        except Exception as error:  # noqa: BLE001  shown by the test
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    project.update()
    assert project.files()[1] == 5
