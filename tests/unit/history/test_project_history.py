"""The history of a project: what is read of real repositories, kept current, and found."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from findspot import Engine, Project, Query
from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Progress
from findspot.core.progress import CancelToken
from findspot.history.commit_log import Commit, cleaned, commit_ids, defined_in, read_commits
from findspot.history.commit_store import FILE_NAME
from findspot.history.project_history import FEW_NEW, TURNS, ProjectHistory
from findspot.serve.history_answers import ask_history
from findspot.workspace import projects_of
from repositories import Repository

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

FETCH = "def fetch(url):\n    return get(url, timeout=10)\n\n\ndef legacy_fetch(url):\n    return get(url)\n"
RETRIED = "def fetch(url):\n    return get(url, timeout=30)\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four commits: a start, one beside it, a changed limit and a removal, and a merge."""
    repository = Repository(tmp_path_factory.mktemp("made"))
    repository.commit("Begin", client=FETCH)
    repository.commit("Wait longer for slow mirrors\n\nThe mirror in Oslo needs 25 seconds.", client=RETRIED)
    repository.git("checkout", "-q", "-b", "side", "HEAD~1")
    repository.commit("Describe the shop", notes="NOTES = 1\n")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge the notes", "side")
    return repository.root


@pytest.fixture
def repository(made: Path, tmp_path: Path) -> Repository:
    """A copy, for a test that may change it."""
    return Repository(shutil.copytree(made, tmp_path / "shop"))


@pytest.fixture
def project(
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Project:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    project = Project(repository.root)
    project.update()
    project.history.wait(CancelToken(), lambda _: None)
    assert not capfd.readouterr().out  # it belongs to the protocol
    return project


def subjects(project: Project, question: str) -> list[str]:
    return [found.commit.subject for found in project.history.search(question).found]


def by_subject(repository: Repository) -> dict[str, Commit]:
    return {each.subject: each for each in read_commits(repository.root, commit_ids(repository.root))}


def test_a_commit_says_what_it_changed_and_took_out(repository: Repository) -> None:
    commit = by_subject(repository)["Wait longer for slow mirrors"]
    assert commit.author == "Ada"
    assert [(file.path, file.names) for file in commit.changes] == [("client.py", ["fetch", "legacy_fetch"])]
    assert commit.removed == ["legacy_fetch"]


def test_a_merge_and_a_first_commit_have_only_their_message(repository: Repository) -> None:
    commits = by_subject(repository)
    assert not commits["Merge the notes"].changes
    assert not commits["Begin"].changes


def test_secrets_and_addresses_of_people_are_not_stored(repository: Repository, project: Project) -> None:
    repository.commit(f"Use a token\n\nIt is {SECRET}, ask bob@example.org.\n\nCo-authored-by: Eve <e@x.org>")
    repository.commit("Set it", settings=f'TOKEN = "{SECRET}"\n')
    repository.commit("Take it out", settings='TOKEN = ""\n')
    found = project.history.search("use a token").found[0].commit
    assert SECRET not in found.body
    assert "@" not in found.body
    database = (project.store.folder / FILE_NAME).read_bytes()
    assert SECRET.lower().encode() not in database.lower()
    assert b"example.org" not in database


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("why do we wait 30 seconds for a mirror", "Wait longer for slow mirrors"),
        ("when was legacy_fetch removed", "Wait longer for slow mirrors"),
        ("description of the shop", "Describe the shop"),
    ],
)
def test_a_question_finds_the_commit_that_answers(project: Project, question: str, subject: str) -> None:
    assert subjects(project, question)[0] == subject


def test_new_commits_rewritten_ones_and_other_branches_count_at_once(
    repository: Repository, project: Project
) -> None:
    repository.commit("Cache prices", prices="PRICES = {}\n")
    assert subjects(project, "cache prices")[0] == "Cache prices"
    repository.git("commit", "-q", "--amend", "-m", "Remember prices")
    assert "Cache prices" not in subjects(project, "cache prices")
    repository.git("checkout", "-q", "side")
    assert set(subjects(project, "prices mirrors notes shop")) == {"Begin", "Describe the shop"}


def test_many_commits_are_read_by_a_worker_in_its_turn(repository: Repository, project: Project) -> None:
    for number in range(FEW_NEW + 5):
        repository.commit(f"Step {number}", client=f"STEP = {number}\n")
    with TURNS, TURNS:  # of other projects
        assert "Not all commits are read yet" in str(project.history.search("step 3").warning)
        project.history.close()
    assert "Not all commits are read yet" in str(project.history.search("step 3").warning)
    seen: list[Progress] = []
    project.history.wait(CancelToken(), seen.append)
    assert project.history.search("step 3").warning is None
    assert "Step 3" in subjects(project, "step 3")


@pytest.mark.parametrize("options", [("--depth", "2"), ("--filter=blob:none",), ("--filter=tree:0",)])
def test_a_clone_that_has_not_everything_answers_from_what_it_has(
    repository: Repository, tmp_path: Path, options: tuple[str, ...]
) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    source = f"file://{repository.root}"
    subprocess.run(("git", "clone", "-q", "--no-checkout", *options, source, str(clone)), check=True)
    before = sorted(path.name for path in (clone / ".git").rglob("*.pack"))
    commits = read_commits(clone, commit_ids(clone))
    assert "Merge the notes" in {commit.subject for commit in commits}
    assert sorted(path.name for path in (clone / ".git").rglob("*.pack")) == before  # nothing was fetched
    if options[0] == "--depth":
        told = ProjectHistory(clone, tmp_path, pytest.fail).of_lines(".", None).warning
        assert "This clone is shallow" in (told or "")


def test_no_program_of_the_repository_is_run(repository: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    for name in ("diff.external", "diff.py.command", "diff.py.textconv", "core.fsmonitor", "gpg.program"):
        repository.git("config", name, str(program))
    repository.git("config", "log.showSignature", "true")
    (repository.root / ".gitattributes").write_text("*.py diff=py\n")
    assert len(read_commits(repository.root, commit_ids(repository.root))) == 4
    assert not mark.exists()


def test_no_setting_of_the_repository_changes_what_is_read(repository: Repository) -> None:
    before = by_subject(repository)
    repository.git("config", "diff.interHunkContext", "10")
    repository.git("config", "diff.orderFile", "missing")
    repository.git("config", "diff.submodule", "log")
    assert by_subject(repository) == before


def test_a_file_named_head_hides_no_commit(repository: Repository, project: Project) -> None:
    (repository.root / "HEAD").write_text("x")
    repository.commit("Add a file with an odd name")
    assert "Add a file with an odd name" in subjects(project, "odd name")


@pytest.mark.parametrize(
    "text",
    ["Eve<e@corp.com>", "'b@corp.com'", "mailto:x@corp.com", "[k@corp.com]", "o'hara@corp.com", "a@b.org."],
)
def test_addresses_are_left_out_however_they_are_written(text: str) -> None:
    assert "@" not in cleaned(text)


def test_versions_of_packages_stay() -> None:
    assert cleaned("Bump lodash@4.17.20 to 4.17.21") == "Bump lodash@4.17.20 to 4.17.21"


def test_branches_that_were_left_do_not_hide_commits(repository: Repository, project: Project) -> None:
    repository.git("checkout", "-q", "-b", "noise")
    for number in range(FEW_NEW - 5):
        repository.commit(f"Retry with backoff and jitter {number}")
    assert subjects(project, "retry backoff jitter")
    repository.git("checkout", "-q", "main")
    repository.commit("Calm down\n\nRetry with backoff.")
    assert subjects(project, "retry backoff jitter")[0] == "Calm down"


def test_a_time_that_no_calendar_has(repository: Repository) -> None:
    repository.git("commit", "-q", "--allow-empty", "-m", "Later", "--date", "@99999999999 +0000")
    assert all(0 <= commit.time < 10**12 for commit in by_subject(repository).values())


@pytest.mark.parametrize("lines", [(0, 0), (4, 2)])
def test_lines_that_are_none(project: Project, lines: tuple[int, int]) -> None:
    with pytest.raises(InvalidArgumentError, match="not a range of lines"):
        project.history.of_lines("client.py", lines)


def test_a_line_that_is_not_committed(repository: Repository, project: Project) -> None:
    (repository.root / "client.py").write_text("# new\n" + RETRIED)
    with pytest.raises(InvalidArgumentError, match="Not committed yet: line 1"):
        project.history.of_lines("client.py", (1, 1))
    assert len(project.history.of_lines("client.py", (1, 3)).found) == 2


def test_a_long_question_is_no_path(project: Project) -> None:
    assert not ask_history(project, f"why {'x' * 5_000}", 5).warning


def test_a_path_with_a_blank(repository: Repository, project: Project) -> None:
    (repository.root / "two words.md").write_text("# Two\n")
    repository.commit("Name two words")
    found = ask_history(project, "two words.md:1", 5).found
    assert [each.commit.subject for each in found] == ["Name two words"]


def test_lines_are_followed_through_moves_and_edits(repository: Repository, project: Project) -> None:
    repository.git("mv", "client.py", "web.py")
    repository.commit("Move the client")
    (repository.root / "web.py").write_text("# one\n# two\n" + RETRIED)  # not committed
    found = [each.commit.subject for each in project.history.of_lines("web.py", (4, 4)).found]
    assert found == ["Wait longer for slow mirrors", "Begin"]  # a move changes no line
    assert [each.commit.subject for each in project.history.of_lines("notes.py", None).found] == [
        "Describe the shop"
    ]
    with pytest.raises(InvalidArgumentError):
        project.history.of_lines("missing.py", (1, 2))


def test_without_git_the_answer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(tmp_path))
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("A = 1\n")
    project = Project(tmp_path / "plain")
    project.update()
    for text in ("why", "a.py:1"):
        answer = ask_history(project, text, 5)
        assert not answer.found
        assert "no commit here" in str(answer.warning)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    async def run(self):", "run"),
        ("func (s *Server) Serve(l net.Listener) error {", "Serve"),
        ("pub(crate) fn new(x: u8) -> Self {", "new"),
        ("export default function useCart() {", "useCart"),
        ("  public static int total(int a) {", "total"),
        ("void Cart::add(int item) {", "add"),
        ("static void *alloc(size_t n)", "alloc"),
        ("TIMEOUT_S = 30", "TIMEOUT_S"),
        ("    return total(x)", None),
        ("  if (total(x)) {", None),
        ("# class of problems", None),
        ("total(a, b)", None),
    ],
)
def test_a_line_that_defines_something_says_what(line: str, name: str | None) -> None:
    assert defined_in(line) == name


def test_a_path_may_be_deleted_a_folder_or_the_end_of_one(repository: Repository, project: Project) -> None:
    (repository.root / "deep").mkdir()
    repository.commit("Move in", **{"deep/cart": "CART = 1\n"})
    repository.git("rm", "-q", "notes.py")
    repository.git("commit", "-q", "-m", "Describe it elsewhere")
    project.update()
    waited = []

    def read(history: ProjectHistory) -> None:
        history.update_soon()
        history.wait(CancelToken(), lambda _: None)
        waited.append(path)

    asked = {}
    for path in ("deep", "cart.py", "CART", "notes.py"):
        asked[path] = [f.commit.subject for f in ask_history(project, path, 5, read=read).found]
    assert waited == ["notes.py"]  # git says at once what shaped a place that is there
    assert asked["notes.py"] == ["Describe it elsewhere", "Describe the shop"]
    assert asked["deep"] == asked["cart.py"] == asked["CART"] == ["Move in"]
    for missing in ("nosuch.py", "nosuch/folder", "nosuch.py:1-3"):
        with pytest.raises(InvalidArgumentError, match="is or was in this project"):
            ask_history(project, missing, 5)


def test_a_path_into_a_member_is_asked_of_that_one(repository: Repository, project: Project) -> None:
    other = Repository(repository.root.parent / "till")
    other.commit("Open the till", client=FETCH)
    other.commit("Close the till", client=RETRIED)
    with contextlib.closing(Engine()) as engine:
        workspace = engine.workspace(repository.root.parent)
        assert workspace is not None
        workspace.update()
        for each in projects_of(workspace).values():
            each.history.wait(CancelToken(), lambda _: None)
        for path in ("till/client.py:1-2", "./till/client.py:1-2", f"{other.root}/client.py:1-2"):
            found = ask_history(workspace, path, 5).found
            assert {each.project for each in found} == {"till"}


@pytest.mark.parametrize("question", ["zzqqxx", "why was the mortgage rate raised"])
def test_nothing_fits_where_no_commit_has_the_words(project: Project, question: str) -> None:
    assert not subjects(project, question)


def test_a_question_for_an_end_prefers_what_removes(repository: Repository, project: Project) -> None:
    repository.commit("Speak of legacy mirrors in the manual", manual="MIRRORS = 1\n")
    repository.commit("Remove legacy mirrors", manual="MIRRORS = 0\n")
    assert subjects(project, "when did legacy mirrors go away")[0] == "Remove legacy mirrors"


def test_a_damaged_history_leaves_search_whole(project: Project) -> None:
    (project.store.folder / FILE_NAME).write_bytes(b"no database" * 100)
    sentence = "how long does the shop wait for an answer of a slow mirror before it gives up"
    assert project.search(Query(sentence)).hits
    first = project.history.search("slow mirrors")
    assert first.found or "Not all commits are read yet" in (first.warning or "")
    project.history.wait(CancelToken(), lambda _: None)
    assert subjects(project, "slow mirrors")[0] == "Wait longer for slow mirrors"


def test_a_hit_tells_its_last_change_and_what_led_to_it(repository: Repository, project: Project) -> None:
    twice = "\n\n".join(f"class {name}:\n    def send(self):\n        return '{name}'\n" for name in "AB")
    repository.commit("Send", sender=twice)
    repository.commit("Send more", sender=twice.replace("'B'", "2"))
    project.update()
    project.history.wait(CancelToken(), lambda _: None)
    first, *others = project.search(Query("fetch", related=True)).hits
    assert first.path == "client.py"
    assert first.last_change.split(" ", 2)[2] == "Wait longer for slow mirrors"
    assert not any(hit.last_change for hit in others)
    asked = project.search(Query("how long does the shop wait for slow mirrors")).hits[0]
    assert asked.path == "client.py"
    assert asked.via.partition(" ")[2] == '"Wait longer for slow mirrors"'
    unclear = project.search(Query("send", related=True)).hits[0]
    assert (unclear.path, unclear.last_change) == ("sender.py", "")
