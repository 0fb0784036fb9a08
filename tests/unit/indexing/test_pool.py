"""Worker processes that crash, hang, print or never start.

What goes wrong is made to go wrong for real: a `sitecustomize` module on the workers' path adds
an audit hook, which sees each file as it is opened.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from findspot.core.errors import CancelledError, FindspotError
from findspot.core.model import Corpus, SkipReason, SourceFile
from findspot.core.progress import CancelToken
from findspot.indexing.workers import (
    Indexed,
    Job,
    Outcome,
    Rejected,
    Setup,
    Unchanged,
    WorkerPool,
    worker_count,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

HOOK = """
import os, signal, sys, time
def hook(event, args):
    if event == "open" and isinstance(args[0], str):
        name = args[0].rpartition("/")[2]
        {action}
sys.addaudithook(hook)
"""


@pytest.fixture
def on_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have the workers run a statement for each `name` they open."""

    def install(action: str, also: str = "") -> None:
        folder = tmp_path / "hook"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(HOOK.format(action=action) + also)
        monkeypatch.syspath_prepend(str(folder))

    return install


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    threads, children = set(threading.enumerate()), children_now()
    yield
    assert set(threading.enumerate()) <= threads
    assert children_now() <= children


def children_now() -> set[int]:
    """The processes this one has started; those of other tests may come and go meanwhile."""
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True) as ps:
        pairs = [tuple(map(int, line.split())) for line in ps.communicate()[0].splitlines()]
    return {pid for pid, parent in pairs if parent == os.getpid() and pid != ps.pid}


def jobs(root: Path, *names: str, keys: int = 0) -> list[Job]:
    made = []
    for name in names:
        (root / name).write_text(f"def {name.partition('.')[0]}():\n    return 1\n")
        known = frozenset(number.to_bytes(16, "big") for number in range(keys))
        made.append(Job(SourceFile(name, Corpus.CODE, "python", 30, 1), None, known))
    return made


def run(root: Path, work: list[Job], size: int = 1, **limits: float) -> dict[str, Outcome]:
    pool = WorkerPool(setup(root), size, **limits)
    try:
        return {path_of(outcome): outcome for outcome in pool.run(iter(work), CancelToken())}
    finally:
        pool.close()


def setup(root: Path) -> Setup:
    return Setup(root, "local:static", "syntax", 1 << 20)


def path_of(outcome: Outcome) -> str:
    return outcome.record.file.path if isinstance(outcome, Indexed) else outcome.file.path


def reasons(outcomes: dict[str, Outcome]) -> dict[str, SkipReason]:
    return {path: item.skip.reason for path, item in outcomes.items() if isinstance(item, Rejected)}


def test_one_worker_answers_in_order(root: Path) -> None:
    names = [f"f{number:02}.py" for number in range(40)]
    outcomes = run(root, jobs(root, *names))
    assert list(outcomes) == names
    assert all(isinstance(outcome, Indexed) for outcome in outcomes.values())


def test_workers_go_on_while_the_indexing_process_commits(
    root: Path, on_open: Callable[[str], None], tmp_path: Path
) -> None:
    """Speed and scale: they stood still, as they had too little at hand."""
    (tmp_path / "seen").mkdir()
    on_open(f"if name[0] == 'f' and name.endswith('.py'): os.mkdir({str(tmp_path)!r} + '/seen/' + name)")
    pool = WorkerPool(setup(root), 1)
    outcomes = pool.run(iter(jobs(root, *(f"f{number:03}.py" for number in range(300)))), CancelToken())
    next(outcomes)
    while len(list((tmp_path / "seen").iterdir())) < 200:  # for ever, if it had to ask for them
        threading.Event().wait(0.01)
    assert len(list(outcomes)) == 299
    pool.close()


def test_what_has_not_changed_is_not_cut_again(root: Path) -> None:
    (first,) = run(root, jobs(root, "a.py")).values()
    assert isinstance(first, Indexed)
    keys = frozenset(row[-3] for row in first.record.rows.chunks)
    same, moved = Job(first.record.file, first.record.sha256, keys), Job(first.record.file, "other", keys)
    pool = WorkerPool(setup(root), 1)
    outcomes = list(pool.run([same, moved], CancelToken()))
    pool.close()
    assert outcomes[0] == Unchanged(first.record.file)
    assert isinstance(outcomes[1], Indexed)
    assert all(row[-1] is None for row in outcomes[1].record.rows.chunks)


def test_a_crash_costs_the_file_it_was_at(root: Path, on_open: Callable[[str], None], tmp_path: Path) -> None:
    """At the second try: the first time memory may have been short, or the parser is to blame."""
    on_open(
        f"seen = {str(tmp_path)!r} + '/seen-' + name\n"
        "        kill = {'killed': signal.SIGKILL, 'crashed': signal.SIGSEGV, 'late': signal.SIGPROF}\n"
        "        kind = kill.get(name.removesuffix('.py').removesuffix('_once'))\n"
        "        if kind and not ('_once' in name and os.path.exists(seen)):\n"
        "            os.close(os.open(seen, os.O_CREAT)); os.kill(os.getpid(), kind)"
    )
    names = [f"f{number:02}.py" for number in range(30)]
    bad = ["killed.py", "killed_once.py", "crashed.py", "crashed_once.py", "late_once.py"]
    outcomes = run(root, jobs(root, *names[:10], *bad, *names[10:]), size=2)
    assert sorted(outcomes) == sorted([*bad, *names])
    lost = {path: item.skip for path, item in outcomes.items() if isinstance(item, Rejected)}
    assert {path: skip.detail for path, skip in lost.items()} == {
        "killed.py": "the system killed two worker processes",
        "crashed.py": "reading this file crashed two worker processes",
    }
    assert {skip.reason for skip in lost.values()} == {SkipReason.WORKER_CRASHED}
    unparsed = {path: item.skip for path, item in outcomes.items() if isinstance(item, Indexed) and item.skip}
    assert set(unparsed) == {"crashed_once.py", "late_once.py"}
    assert "cut as plain text" in unparsed["crashed_once.py"].detail


def test_an_error_in_a_worker_costs_the_file_and_not_the_worker(
    root: Path, on_open: Callable[[str], None], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    on_open(
        f"if name in ('a.py', 'c.py'): open({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\n"
        "        if name == 'b.py': raise ValueError('of the parser')"
    )
    outcomes = run(root, jobs(root, "a.py", "b.py", "c.py"))
    assert reasons(outcomes) == {"b.py": SkipReason.WORKER_CRASHED}
    assert len(set(pids.read_text().split())) == 1


def test_a_hang_with_the_pipe_full_is_noticed(root: Path, on_open: Callable[[str], None]) -> None:
    """What is known of the files waiting is far more than a pipe holds."""
    on_open("if name == 'f00.py': os.kill(os.getpid(), signal.SIGSTOP)")
    names = [f"f{number:02}.py" for number in range(32)]
    outcomes = run(root, jobs(root, *names, keys=2_000), blocked_s=5.0)
    assert reasons(outcomes) == {"f00.py": SkipReason.WORKER_TIMEOUT}
    assert sorted(outcomes) == names


def test_a_worker_ends_by_itself_when_its_time_is_up(root: Path, on_open: Callable[[str], None]) -> None:
    on_open(
        "if name == 'b.py':\n"
        "            signal.setitimer(signal.ITIMER_PROF, 0.05)\n"
        "            while True: pass"
    )
    outcomes = run(root, jobs(root, "a.py", "b.py", "c.py"))
    assert reasons(outcomes) == {"b.py": SkipReason.WORKER_TIMEOUT}


def test_cancelling_ends_a_run_at_once(root: Path, on_open: Callable[[str], None]) -> None:
    on_open("if name == 'f20.py': signal.pause()")
    cancel = CancelToken()
    pool = WorkerPool(setup(root), 1)
    outcomes = pool.run(iter(jobs(root, *(f"f{number:02}.py" for number in range(60)))), cancel)
    for _ in range(20):
        next(outcomes)
    cancel.cancel()
    with pytest.raises(CancelledError):
        list(outcomes)  # the file that is waited for never comes
    pool.close()


def test_workers_that_cannot_start_are_no_fault_of_the_files(
    root: Path, on_open: Callable[..., None]
) -> None:
    on_open("pass", "sys.stderr.write('there is no disk left'); os._exit(3)")
    with pytest.raises(FindspotError, match="could not be started: there is no disk left"):
        run(root, jobs(root, "a.py", "b.py"))


def test_one_failed_start_is_made_good(root: Path, on_open: Callable[..., None], tmp_path: Path) -> None:
    mark = tmp_path / "once"
    on_open("pass", f"\ntry: os.mkdir({str(mark)!r})\nexcept FileExistsError: pass\nelse: os._exit(3)")
    outcomes = run(root, jobs(root, "a.py", "b.py"))
    assert [type(outcome) for outcome in outcomes.values()] == [Indexed, Indexed]


def test_what_others_print_does_not_get_into_the_answers(root: Path, on_open: Callable[..., None]) -> None:
    on_open(
        "print('opened', name, flush=True); os.write(1, b'straight to the descriptor')",
        "print('hello from a start-up file', end='', flush=True)\nos.write(1, b'no new line at the end')",
    )
    outcomes = run(root, jobs(root, "a.py", "b.py"))
    assert [type(outcome) for outcome in outcomes.values()] == [Indexed, Indexed]


def test_modules_of_the_project_are_not_imported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even when this process was started with the project as its first import path."""
    work = jobs(root, "pickle.py", "numpy.py", "findspot.py")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(str(root))
    assert all(isinstance(outcome, Indexed) for outcome in run(root, work).values())


def test_as_many_workers_as_there_is_work_for() -> None:
    assert worker_count(1, 100) == 1
    assert worker_count(16, 1_000) == 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert worker_count(10_000, 1 << 30) == cores
