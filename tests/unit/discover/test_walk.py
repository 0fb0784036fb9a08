"""Walking a project, and asking about one path of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from contents import files_wanted
from contents import write_files as write
from findspot.core.errors import InvalidPatternError, SystemLimitError
from findspot.core.model import Corpus, Skip, SkipReason, SourceFile
from findspot.discover.ignore import MAX_IGNORE_BYTES, MAX_RULES
from findspot.discover.walk import Discovery, classify, left_out_notes, walk
from trust.conftest import run_git as git


def make(root: Path, paths: str) -> None:
    """Make empty files."""
    write(root, dict.fromkeys(paths.split(), ""))


def admitted(found: Discovery) -> list[str]:
    return [file.path for file in found.files]


def reasons(found: Discovery) -> dict[str, SkipReason]:
    return {skip.path: skip.reason for skip in found.skips}


def test_files_are_described_and_sorted(tmp_path: Path) -> None:
    write(tmp_path, {"b/x.py": "x = 1\n", "b-a.py": "", "README.md": "# hi\n", "b.py": "y"})
    found = walk(tmp_path, files_wanted())
    assert admitted(found) == ["README.md", "b-a.py", "b.py", "b/x.py"]
    info = (tmp_path / "b/x.py").stat()
    assert found.files[3] == SourceFile(
        "b/x.py", Corpus.CODE, "python", 6, info.st_mtime_ns, ctime_ns=info.st_ctime_ns, inode=info.st_ino
    )
    assert found.files[0].corpus is Corpus.DOCS
    assert found.skips == []


def test_the_inclusion_order(tmp_path: Path) -> None:
    # Each file has the faults of its line and of all lines below it; the first decides.
    expected = {
        "deny.pem": SkipReason.DENIED,
        "excl.png": SkipReason.EXCLUDED,
        "ign.png": SkipReason.GITIGNORED,
        "bin.png": SkipReason.BINARY,
        "big.py": SkipReason.TOO_LARGE,
        "other.go": SkipReason.NOT_INCLUDED,
        "doc.md": SkipReason.DOCS_DISABLED,
    }
    write(tmp_path, {name: "x" * (1 if name in ("other.go", "doc.md") else 99) for name in expected})
    write(tmp_path, {".gitignore": "deny.pem\nexcl.png\nign.png\n", "good.py": "x"})
    policy = files_wanted(
        include=("*.py", "*.md"), exclude=("deny.pem", "excl.png"), index_docs=False, max_file_bytes=50
    )
    found = walk(tmp_path, policy)
    assert admitted(found) == ["good.py"]
    assert reasons(found) == {".gitignore": SkipReason.NOT_INCLUDED, **expected}


def test_folders_left_out_are_one_skip_and_not_entered(tmp_path: Path) -> None:
    make(tmp_path, "node_modules/a/b.js x/gen/a.py data/a.py ig/deep/a.py")
    write(tmp_path, {".gitignore": "ig/\n"})
    found = walk(tmp_path, files_wanted(exclude=("gen", "data/**")))
    assert admitted(found) == [".gitignore"]
    assert reasons(found) == {
        "node_modules/": SkipReason.DENIED,
        "x/gen/": SkipReason.EXCLUDED,
        "data/": SkipReason.EXCLUDED,
        "ig/": SkipReason.GITIGNORED,
    }
    assert found.skips[1].detail == ".gitignore: ig/"


def test_nothing_brings_a_denied_file_back(tmp_path: Path) -> None:
    write(tmp_path, {".env": "K=1", ".findspotignore": "!.env\n!dist/\n", "dist/a.js": "", ".ENV.prod": ""})
    found = walk(tmp_path, files_wanted(include=("**/*", ".env"), respect_gitignore=False))
    assert set(reasons(found).values()) == {SkipReason.DENIED}
    assert admitted(found) == [".findspotignore"]


def test_the_home_is_never_walked(tmp_path: Path, home: Path) -> None:
    """Else an index would index itself, and every run would change the next."""
    write(home, {"indexes/x/config.json": "{}", "models/a.txt": "x", "notes.md": "mine"})
    write(tmp_path / "src", {"a.py": "x = 1"})
    around = walk(tmp_path, files_wanted(respect_gitignore=False))
    assert admitted(around) == ["src/a.py"]
    assert around.skips == [Skip("findspot-home/", SkipReason.DENIED, "Findspot keeps its indexes there")]
    assert classify(tmp_path, "findspot-home/notes.md", files_wanted()) == around.skips[0]
    assert admitted(walk(home, files_wanted())) == ["notes.md"]
    assert reasons(walk(home / "indexes", files_wanted())) == {"./": SkipReason.DENIED}


def test_ignore_files_nest_and_ours_leaves_out_more(tmp_path: Path) -> None:
    make(
        tmp_path, "a.gen.py top.py kept.gen.py secret/x.py sub/b.gen.py sub/c.gen.py sub/local.py sub/top.py"
    )
    write(
        tmp_path,
        {
            ".gitignore": "*.gen.py\n/top.py\nkept.gen.py\n",
            ".findspotignore": "!kept.gen.py\nsecret/\nlocal.*\n!local.py\n",
            "sub/.gitignore": "!b.gen.py\nlocal.py\n",
            "sub/top.py": "",
            "local.py": "",
        },
    )
    found = walk(tmp_path, files_wanted(include=("*.py",)))
    assert admitted(found) == ["local.py", "sub/b.gen.py", "sub/top.py"]
    without_git = walk(tmp_path, files_wanted(include=("*.py",), respect_gitignore=False))
    assert "a.gen.py" in admitted(without_git)
    assert reasons(without_git)["secret/"] is SkipReason.GITIGNORED


def test_submodules_are_projects_of_their_own(tmp_path: Path) -> None:
    library, project = tmp_path / "library", tmp_path / "project"
    for folder in (library, project):
        folder.mkdir()
        git(folder, "init", "-q")
    write(library, {"lib.py": ""})
    git(library, "add", ".")
    git(library, "commit", "-qm", "one")
    write(project, {"main.py": ""})
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "third/lib")
    write(
        project, {".git/info/exclude": "mine/\n!b.py\n", ".gitignore": "b.py\n", "mine/a.py": "", "b.py": ""}
    )
    found = walk(project, files_wanted())
    assert admitted(found) == [".gitignore", ".gitmodules", "main.py"]
    assert reasons(found)["mine/"] is reasons(found)["b.py"] is SkipReason.GITIGNORED
    assert "mine/a.py" in admitted(walk(project, files_wanted(respect_gitignore=False)))
    assert reasons(found)["third/lib/"] is SkipReason.REPOSITORY
    assert classify(project, "third/lib/lib.py", files_wanted()) in found.skips
    assert found.notes == []
    assert admitted(walk(project / "third/lib", files_wanted())) == ["lib.py"]


def test_the_data_of_a_bare_repository_is_no_source(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", ".bare")
    write(tmp_path, {".git": "gitdir: ./.bare\n", "a.py": "", "other/HEAD": "", "other/b.py": ""})
    found = walk(tmp_path, files_wanted())
    assert admitted(found) == ["a.py", "other/HEAD", "other/b.py"]
    assert reasons(found)[".bare/"] is SkipReason.DENIED


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_any_entry_named_git_makes_a_project(tmp_path: Path, kind: str) -> None:
    write(tmp_path, {"a.py": "", "inner/b.py": "", "inner/deep/c.py": ""})
    marker = tmp_path / "inner/.git"
    if kind == "file":
        marker.write_text("gitdir: elsewhere\n")
    elif kind == "folder":
        marker.mkdir()
    else:
        marker.symlink_to(tmp_path / "gone")
    found = walk(tmp_path, files_wanted())
    assert admitted(found) == ["a.py"]
    assert reasons(found) == {"inner/": SkipReason.REPOSITORY}
    assert found.folders == ["", "inner/"]  # watched, to notice that the marker goes away
    assert classify(tmp_path, "inner/deep/c.py", files_wanted()) == found.skips[0]
    assert admitted(walk(tmp_path / "inner", files_wanted())) == ["b.py", "deep/c.py"]


def test_only_the_named_folders_are_read_whatever_they_are_called(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "build/b.py": "", "other/c.py": ""})
    settings = files_wanted(top_names=("build",))
    assert admitted(walk(tmp_path, settings)) == ["build/b.py"]
    assert isinstance(classify(tmp_path, "other/c.py", settings), Skip)
    assert isinstance(classify(tmp_path, "build/b.py", settings), SourceFile)


def test_links_and_what_is_no_file_are_left_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    write(tmp_path, {"outside/secret.py": "", "outside/rules": "*.py\n", "root/a.py": ""})
    (root / "file.py").symlink_to(outside / "secret.py")
    (root / "folder").symlink_to(outside)
    (root / "dangling.py").symlink_to("nowhere")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "socket.py"))
        found = walk(root, files_wanted())
    assert admitted(found) == ["a.py"]
    links = dict.fromkeys(("file.py", "folder", "dangling.py", "loop"), SkipReason.SYMLINK)
    assert reasons(found) == links | dict.fromkeys(("pipe.py", "socket.py"), SkipReason.NOT_REGULAR)


def test_a_folder_is_left_out_whose_ignore_file_cannot_be_used(tmp_path: Path) -> None:
    """security 9: rules that cannot be known leave more out, never less."""
    names = ("fifo", "folder", "link", "large", "many", "long")
    write(tmp_path, {"a.py": "", **{f"{name}/b.py": "" for name in names}})
    os.mkfifo(tmp_path / "fifo/.gitignore")
    (tmp_path / "folder/.findspotignore").mkdir()
    (tmp_path / "link/.gitignore").symlink_to("/etc/hosts")
    (tmp_path / "large/.gitignore").write_text("#" * (MAX_IGNORE_BYTES + 1))
    (tmp_path / "many/.gitignore").write_text("x\n" * (MAX_RULES + 1))
    (tmp_path / "long/.gitignore").write_text("x" * 1_001)
    found = walk(tmp_path, files_wanted())
    assert admitted(found) == ["a.py"]
    assert reasons(found) == {f"{name}/": SkipReason.IGNORE_FILE for name in names}
    details = {skip.path: skip.detail for skip in found.skips}
    assert details["fifo/"] == "fifo/.gitignore: it cannot be read (not a regular file)"
    assert details["link/"] == "link/.gitignore: it cannot be read (symbolic link)"
    assert details["many/"].startswith("many/.gitignore: with it, more than 3,000 rules")
    for skip in found.skips:
        assert classify(tmp_path, f"{skip.path}b.py", files_wanted()) == skip
    assert left_out_notes(found.skips)[-1].startswith("many/ is left out because of an ignore file.")
    assert "link/b.py" in admitted(walk(tmp_path, files_wanted(respect_gitignore=False)))


def test_rules_of_all_ignore_files_above_count(tmp_path: Path) -> None:
    half = "".join(f"*x{n}*\n" for n in range(MAX_RULES // 2 + 1))
    write(tmp_path, {".gitignore": half, "sub/a.py": "", "sub/.gitignore": half, "other/b.py": ""})
    found = walk(tmp_path, files_wanted(include=("*.py",)))
    assert admitted(found) == ["other/b.py"]
    assert reasons(found)["sub/"] is SkipReason.IGNORE_FILE


def test_rules_beyond_one_batch_are_ranked_like_the_others(tmp_path: Path) -> None:
    rules = [f"x{n}*.py" for n in range(100)]
    write(tmp_path, {f"x{n}_.py": "" for n in (0, 50, 99)})
    write(tmp_path, {".findspotignore": "\n".join([*rules, "!x5?_.py", *rules[10:40], "!x9*_.py"])})
    assert admitted(walk(tmp_path, files_wanted(include=("*.py",)))) == ["x50_.py", "x99_.py"]


def test_depth_is_limited(tmp_path: Path) -> None:
    deep = "/".join(f"d{number}" for number in range(1, 22))
    make(tmp_path, f"{deep}/low.py {deep.rpartition('/')[0]}/high.py")
    where = os.open(tmp_path / deep, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=where)
        inner = os.open("d", os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = inner
    os.close(where)
    found = walk(tmp_path, files_wanted())
    assert [path.count("/") for path in admitted(found)] == [20]
    assert reasons(found) == {deep + "/": SkipReason.TOO_DEEP}
    subprocess.run(["rm", "-rf", str(tmp_path / "d1")], check=True)


def test_names_that_pretend_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {".e\u200bnv": "", "a\u202egpj.py": "", "node\u2060_modules/x.py": "", "good.py": ""})
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.py")).touch()
    (tmp_path / "z\u200d").mkdir()
    found = walk(tmp_path, files_wanted())
    assert admitted(found) == ["good.py"]
    assert reasons(found) == {
        ".e\\u200bnv": SkipReason.DENIED,
        "node\\u2060_modules/": SkipReason.DENIED,
        "a\\u202egpj.py": SkipReason.UNSAFE_NAME,
        "caf\\udce9.py": SkipReason.UNSAFE_NAME,
        "z\\u200d/": SkipReason.UNSAFE_NAME,
    }
    for skip in found.skips:
        skip.path.encode()


def test_paths_are_composed_whatever_the_disk_holds(tmp_path: Path) -> None:
    write(tmp_path, {"cafe\u0301/e\u0301.py": "1", "u\u0308.py": "22", "\u00fc.py": "333"})
    found = walk(tmp_path, files_wanted())
    assert [(file.path, file.size) for file in found.files] == [("caf\u00e9/\u00e9.py", 1), ("\u00fc.py", 3)]
    assert reasons(found) == {"u\\u0308.py": SkipReason.UNSAFE_NAME}
    assert classify(tmp_path, "caf\u00e9/\u00e9.py", files_wanted()) == found.files[0]
    assert classify(tmp_path, "cafe\u0301/e\u0301.py", files_wanted()) == found.files[0]


def test_check_is_called_for_folders_and_files_and_may_stop_the_walk(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.py": "", "a/y.py": ""})
    calls: list[int] = []
    walk(tmp_path, files_wanted(), lambda: calls.append(1))
    assert len(calls) == 5

    def check() -> None:
        calls.pop()
        if not calls:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walk(tmp_path, files_wanted(), check)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_no_folder_stays_open(tmp_path: Path) -> None:
    write(tmp_path, {"a/b/x.py": "", ".gitignore": "y\n"})

    def stop() -> None:
        raise KeyboardInterrupt

    before = len(list(Path("/proc/self/fd").iterdir()))
    walk(tmp_path, files_wanted())
    classify(tmp_path, "a/b/x.py", files_wanted())
    with pytest.raises(KeyboardInterrupt):
        walk(tmp_path, files_wanted(), stop)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_out_of_descriptors_stops_the_walk_and_leaves_nothing_out(tmp_path: Path) -> None:
    import resource

    write(tmp_path, {"a/b/c/d/x.py": "", "a/b/c/d/.gitignore": "y\n"})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    with contextlib.ExitStack() as taken:
        for _ in range(highest):  # fill the gaps, so that the limit is exact
            if (handle := os.dup(0)) > highest:
                os.close(handle)
                break
            taken.callback(os.close, handle)
        try:
            for room in range(1, 6):
                resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + room, hard))
                with pytest.raises(SystemLimitError):
                    walk(tmp_path, files_wanted())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert admitted(walk(tmp_path, files_wanted())) == ["a/b/c/d/.gitignore", "a/b/c/d/x.py"]


def test_a_bad_pattern_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidPatternError):
        walk(tmp_path, files_wanted(exclude=("[a",)))


def test_classify(tmp_path: Path) -> None:
    make(tmp_path, "src/a.py src/build/x.py")
    (tmp_path / "src/link").symlink_to("/etc")
    assert isinstance(classify(tmp_path, "src/a.py", files_wanted()), SourceFile)
    outside = ("../a.py", "/etc/passwd", "src//a.py", "a\0.py", "")
    for skip in (
        *(Skip(path, SkipReason.VANISHED) for path in ("src/gone.py", "gone/a.py", "src/a.py/x")),
        *(Skip(path, SkipReason.UNSAFE_NAME, "not a path inside the project") for path in outside),
        Skip("src", SkipReason.NOT_REGULAR, "a folder"),
    ):
        assert classify(tmp_path, skip.path, files_wanted()) == skip
    assert classify(tmp_path, "src/build/x.py", files_wanted()) == Skip("src/build/", SkipReason.DENIED)
    assert classify(tmp_path, "src/link/x.py", files_wanted()) == Skip("src/link", SkipReason.SYMLINK)


@contextlib.contextmanager
def unprivileged_folder() -> Iterator[Path]:
    """A folder in which permissions count, even when the tests run as root."""
    root = Path(tempfile.mkdtemp(prefix="findspot-"))
    try:
        yield root
    finally:
        os.seteuid(os.getuid())
        for folder, _, _ in os.walk(root):
            Path(folder).chmod(0o755)
        shutil.rmtree(root)


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_an_unreadable_folder_is_a_skip_and_the_walk_goes_on() -> None:
    with unprivileged_folder() as root:
        write(root, {"closed/a.py": "", "open/b.py": "", "open/.gitignore": "b.py\n"})
        (root / "closed").chmod(0)
        (root / "open/.gitignore").chmod(0)
        root.chmod(0o755)
        if os.getuid() == 0:
            os.seteuid(65534)
        found = walk(root, files_wanted())
        one = classify(root, "closed/a.py", files_wanted())
    assert admitted(found) == []
    assert one == Skip("closed/", SkipReason.UNREADABLE, "Permission denied")
    unusable = "open/.gitignore: it cannot be read (Permission denied)"
    assert found.skips == [one, Skip("open/", SkipReason.IGNORE_FILE, unusable)]
