"""Constants, callers and callees that come with the best hits."""

from __future__ import annotations

import pytest

from contents import MakeProject
from findspot import CodeReference, Project, Query

FILES = {
    "src/pool.py": (
        "from limits import SHARED_LIMIT\n\n"
        "FILE_TIMEOUT_S = 60.0\n"
        "UNUSED_S = 1.0\n\n\n"
        "def wait_for_worker(worker):\n"
        '    """Wait until a worker has answered."""\n'
        "    worker.wait(FILE_TIMEOUT_S, SHARED_LIMIT)\n\n\n"
        "def run_all(workers):\n"
        "    for worker in workers:\n"
        "        wait_for_worker(worker)\n"
    ),
    "src/limits.py": "SHARED_LIMIT = 8\n",
    "src/app.py": "from pool import wait_for_worker\n\n\ndef main(worker):\n    wait_for_worker(worker)\n",
    "tests/test_pool.py": (
        "from pool import wait_for_worker\n\n\ndef test_it(worker):\n    wait_for_worker(worker)\n"
    ),
}


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    project = make_project(FILES)
    project.update()
    return project


def test_the_best_hit_has_constants_and_callers(project: Project) -> None:
    best = project.search(Query("wait_for_worker", related=True)).hits[0]
    assert best.symbol == "wait_for_worker"
    assert [(each.text, each.path) for each in best.constants] == [
        ("FILE_TIMEOUT_S = 60.0", "src/pool.py"),
        ("SHARED_LIMIT = 8", "src/limits.py"),
    ]
    assert best.callers == (
        CodeReference("src/pool.py", 14, "wait_for_worker(worker)"),
        CodeReference("src/app.py", 5, "wait_for_worker(worker)"),
        CodeReference("tests/test_pool.py", 5, "wait_for_worker(worker)"),
    )


def test_the_best_hits_name_what_they_call(project: Project) -> None:
    called = (CodeReference("src/pool.py", 7, "wait_for_worker", "wait_for_worker"),)
    for caller in ("run_all", "main"):
        best = project.search(Query(caller, related=True)).hits[0]
        assert (best.symbol, best.callees) == (caller, called)


def test_callees_are_those_of_the_definition_that_no_other_shares(make_project: MakeProject) -> None:
    project = make_project(
        {
            "src/mail.py": (
                "from smtp import deliver, sign\n\n\n"
                "class Box:\n"
                "    def send_mail(self, text):\n"
                "        self.check(text)\n"
                "        other.check(text)\n"
                "        deliver(sign(text))\n"
                "        open(text)\n\n"
                "    def check(self, text):\n"
                "        return seal(text)\n\n"
                "    def open(self, text):\n"
                "        return text\n\n\n"
                "class Letter:\n"
                "    def check(self, text):\n"
                "        return text\n"
            ),
            "src/smtp.py": "".join(
                f"def {name}(text):\n    pass\n\n\n" for name in ("deliver", "sign", "seal")
            ),
            "src/other.py": "def sign(text):\n    pass\n",
        }
    )
    project.update()
    best = project.search(Query("send_mail", related=True)).hits[0]
    assert [(each.text, each.path) for each in best.callees] == [
        ("check", "src/mail.py"),
        ("deliver", "src/smtp.py"),
    ]


def test_nothing_is_looked_up_unasked(project: Project) -> None:
    best = project.search(Query("wait_for_worker")).hits[0]
    assert (best.constants, best.callers, best.callees) == ((), (), ())


def test_files_that_changed_since_are_left_out(project: Project) -> None:
    (project.root / "src/limits.py").write_text("\n\nSHARED_LIMIT = 9\n")
    (project.root / "src/app.py").write_text("pass\n")
    best = project.search(Query("wait_for_worker", related=True)).hits[0]
    assert [each.path for each in best.constants] == ["src/pool.py"]
    assert {each.path for each in best.callers} == {"src/pool.py", "tests/test_pool.py"}


def test_each_of_two_definitions_has_its_own_callers(project: Project) -> None:
    (project.root / "src/other.py").write_text(
        "def wait_for_worker():\n    pass\n\n\ndef rest():\n    wait_for_worker()\n"
    )
    project.update()
    hits = project.search(Query("wait_for_worker", related=True, path_filter="src/other.py")).hits
    assert hits[0].callers == (CodeReference("src/other.py", 6, "wait_for_worker()"),)


def test_code_that_calls_comes_before_tests_though_it_is_less_sure(make_project: MakeProject) -> None:
    project = make_project(
        {
            "src/step.py": "class Step:\n    def unapply(self):\n        return 1\n",
            "src/run.py": "def undo(steps):\n    for step in steps:\n        step.unapply()\n",
            "tests/test_step.py": "from step import Step\n\n\ndef test_it():\n    Step().unapply()\n",
        }
    )
    project.update()
    best = project.search(Query("Step.unapply", related=True)).hits[0]
    assert [(each.path, each.text) for each in best.callers] == [
        ("src/run.py", "step.unapply()  (not certain)"),
        ("tests/test_step.py", "Step().unapply()"),
    ]


def test_calls_and_words_that_only_look_alike_are_not_shown(make_project: MakeProject) -> None:
    project = make_project(
        {
            "src/mail.py": (
                "import smtp\n\n\n"
                "def send_mail(text):\n"
                '    """Send it; see LIMIT."""\n'
                "    # LIMIT is another thing\n"
                "    return smtp.send_mail(text)\n"
            ),
            "src/other.js": "const LIMIT = 3;\n",
            "lib/user.py": "import smtp\n\n\ndef use(box):\n    smtp.send_mail(1)\n    box.send_mail(2)\n",
        }
    )
    project.update()
    best = project.search(Query("send_mail", related=True)).hits[0]
    assert best.path == "src/mail.py"
    assert (best.constants, best.callers) == ((), ())
