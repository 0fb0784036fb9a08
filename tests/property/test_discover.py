"""What holds of any tree: nothing outside is opened, nothing is forgotten, walk and classify agree."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contents import files_wanted
from findspot.core.model import Skip, SkipReason, SourceFile
from findspot.core.settings import DiscoverSettings
from findspot.discover.root_folder import nfc, read_file, spelled_out
from findspot.discover.walk import classify, walk

steady = settings(derandomize=True, max_examples=80)

# fmt: off
NAMES = st.sampled_from([
    "a", "b", "ab", "A.py", "b.py", "c.md", "d.png", ".env", "X.KEY", "build", "lib", ".gitignore", ".git",
    ".findspotignore", "x.min.js", "..x", "e\u0301.py", "\u00e9.py", "z\u200b.py", ".e\u200bnv", "\udcff.py",
    "requirements.txt", "caf\u00e9",
])
# fmt: on
RULES = [
    "a",
    "b/",
    "*.py",
    "/a",
    "a/b",
    "**/b.py",
    "!b.py",
    "!a",
    "lib/**",
    "a/**/b",
    "*",
    "!*/",
    "?.py",
    "[a-b]",
]
PATTERNS = st.lists(st.sampled_from(RULES), max_size=4)
KINDS = st.sampled_from(["file", "file", "file", "folder", "link out", "link to file", "link up", "fifo"])
TREES = st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=4), KINDS, PATTERNS), max_size=14)
POLICIES = st.builds(
    files_wanted,
    include=st.sampled_from([("**/*",), ("*.py",), ("a/**", "*.md")]),
    exclude=st.sampled_from([(), ("lib",), ("**/b/**", "A.py")]),
    index_docs=st.booleans(),
    respect_gitignore=st.booleans(),
    max_file_bytes=st.sampled_from([5, 1000]),
)
Tree = list[tuple[list[str], str, list[str]]]


@contextlib.contextmanager
def made(tree: Tree) -> Iterator[tuple[Path, Path]]:
    """The tree on disk, and a folder outside it to which its links lead."""
    base = Path(tempfile.mkdtemp(prefix="findspot-"))
    root, outside = base / "root", base / "outside"
    (outside / "a" / "b").mkdir(parents=True)
    root.mkdir()
    for name in ("secret.py", "a/b.py", "a/b/b.py", ".gitignore"):
        (outside / name).parent.mkdir(exist_ok=True)
        with contextlib.suppress(IsADirectoryError):
            (outside / name).write_text("*.py\n")
    for parts, kind, patterns in tree:
        with contextlib.suppress(OSError):  # a name that is taken by something else
            make(root.joinpath(*parts), kind, patterns, outside)
    try:
        yield root, outside
    finally:
        shutil.rmtree(base)


def make(path: Path, kind: str, patterns: list[str], outside: Path) -> None:
    parent = path.parent
    if os.path.realpath(parent) != str(parent):
        return  # would write through a link
    parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "link out":
        path.symlink_to(outside)
    elif kind == "link to file":
        path.symlink_to(outside / "secret.py")
    elif kind == "link up":
        path.symlink_to("..")
    elif kind == "fifo":
        os.mkfifo(path)
    elif not path.is_symlink() and not path.exists():
        path.write_text("\n".join(patterns))


def files_on_disk(root: Path) -> list[str]:
    """Every entry that is no folder, as the disk spells it."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found += [str(Path(folder, name).relative_to(root)) for name in names + links]
    return found


def reported(root: Path, path: str) -> str:
    """How the walk spells a path: what has a twin in NFC is escaped, and so is what cannot be seen."""
    spelled: list[str] = []
    here = root
    for part in path.split("/"):
        has_twin = nfc(part) != part and os.path.lexists(here / nfc(part))
        spelled.append(ascii(part)[1:-1] if has_twin else spelled_out(nfc(part)))
        here = here / part
    return "/".join(spelled)


def is_shadowed(root: Path, path: str) -> bool:
    return nfc(reported(root, path)) != "/".join(spelled_out(nfc(part)) for part in path.split("/"))


@steady
@given(TREES, POLICIES)
def test_every_file_is_admitted_and_readable_or_covered_by_a_skip(
    tree: Tree, policy: DiscoverSettings
) -> None:
    with made(tree) as (root, _):
        found = walk(root, policy)
        admitted = {file.path: file for file in found.files}
        skipped = {skip.path: skip for skip in found.skips}
        assert [file.path for file in found.files] == sorted(admitted)
        assert not skipped.keys() & admitted.keys()
        for file in found.files:
            data = read_file(root, file, 1000)
            assert not isinstance(data, Skip)
            assert len(data) == file.size
        for path in files_on_disk(root):
            name = reported(root, path)
            parts = name.split("/")
            above = {"./", *("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))}
            assert (name in admitted) + (name in skipped) + bool(above & skipped.keys()) == 1
            if is_shadowed(root, path):
                continue  # its name is the other's
            answer = classify(root, path, policy)
            if isinstance(answer, SourceFile):
                assert admitted[answer.path] == answer
            else:
                assert skipped[answer.path] == answer
                inside = answer.path.removesuffix("/") + "/"
                assert answer.path == "./" or (name + "/").startswith(inside)


class OpenWatch:
    """The kernel's own account of what is opened in some folders (inotify)."""

    IN_OPEN = 0x20

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._handle = libc.inotify_init1(os.O_NONBLOCK)
        assert self._handle >= 0
        for each in (folder, *folder.rglob("*")):
            assert libc.inotify_add_watch(self._handle, os.fsencode(each), self.IN_OPEN) >= 0

    def opened(self) -> bool:
        try:
            return bool(os.read(self._handle, 65536))
        except BlockingIOError:
            return False

    def close(self) -> None:
        os.close(self._handle)


@pytest.mark.skipif(sys.platform != "linux", reason="inotify tells of every opening")
@steady
@given(
    TREES, st.lists(NAMES | st.sampled_from(["..", ".", "", "secret.py", "outside"]), min_size=1, max_size=5)
)
def test_nothing_outside_the_root_is_opened(tree: Tree, wild: list[str]) -> None:
    with made(tree) as (root, outside), contextlib.closing(OpenWatch(outside)) as watch:
        paths = [
            *files_on_disk(root),
            "/".join(wild),
            "../outside/secret.py",
            *(f"{path}/secret.py" for path in files_on_disk(root)),
            *(f"{path}/a/b/b.py" for path in files_on_disk(root)),
        ]
        watch.opened()
        walk(root, files_wanted())
        for path in paths:
            answer = classify(root, path, files_wanted())
            file = answer if isinstance(answer, SourceFile) else SourceFile(path, "code", "", 0, 0)  # type: ignore[arg-type]
            read_file(root, file, 1000)
        assert not watch.opened()
        assert (outside / "secret.py").read_text()
        assert watch.opened(), "the watch itself must work"


GIT_NAMES = st.sampled_from(["a", "b", "ab", "ba", "a.b", "a b", "-a", "#a", "!b"])
GIT_PIECES = st.sampled_from(
    [
        "a", "b", "*", "**", "?", "/", "/", "[ab]", "[!a]", ".", "\\a", "\\ ", " ", "é", "**/", "/**", "#",
        "!", "[", "\\",
    ]
)  # fmt: skip
GIT_LINES = st.builds(
    lambda negated, pieces, slash: ("!" if negated else "") + "".join(pieces) + ("/" if slash else ""),
    st.booleans(),
    st.lists(GIT_PIECES, min_size=1, max_size=5),
    st.booleans(),
    # Where `**` touches other characters, git's answer depends on an optimisation of its own.
).filter(lambda line: all(part == "**" or "**" not in part for part in line.removeprefix("!").split("/")))
GIT_RULES = st.dictionaries(
    st.sampled_from([".gitignore", "a/.gitignore", "b/a/.gitignore", ".git/info/exclude"]),
    st.lists(GIT_LINES, min_size=1, max_size=4),
    max_size=3,
)


@settings(derandomize=True, max_examples=80)
@given(
    st.lists(st.lists(GIT_NAMES, min_size=1, max_size=4), min_size=1, max_size=12),
    GIT_RULES,
    st.integers(0, 3),
)
def test_ignore_files_mean_what_git_says(
    paths: list[list[str]], rules: dict[str, list[str]], tracked: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="findspot-") as folder:
        root = Path(folder)
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", "init", "-q", "--template="], cwd=root, env=environment, check=True)
        for parts in paths:
            with contextlib.suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                root.joinpath(*parts).parent.mkdir(parents=True, exist_ok=True)
                root.joinpath(*parts).touch()
        for name, lines in rules.items():
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("\n".join(lines) + "\n")
        added = [path for parts in paths[:tracked] if (path := root.joinpath(*parts)).is_file()]
        if added:
            command = ["git", "--literal-pathspecs", "add", "-f", "--", *map(str, added)]
            subprocess.run(command, cwd=root, env=environment, check=True)
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
        expected = {nfc(path) for path in listed.stdout.decode().split("\0") if path}
        found = walk(root, files_wanted())
        others = {skip.reason for skip in found.skips if skip.path != ".git/"} - {SkipReason.GITIGNORED}
        assert not others
        assert {file.path for file in found.files} == expected
        command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
        asked = "\0".join(found.folders[1:]).encode()
        done = subprocess.run(
            command, cwd=root, env=environment, input=asked, capture_output=True, check=False
        )
        # Ignored, but entered for tracked files: who names such a folder wants all of it.
        ignored = set(done.stdout.decode().split("\0"))
        for below in set(found.folders) - ignored:  # each by itself is governed as in the whole repository
            by_itself = {below + file.path for file in walk(root / below, files_wanted()).files}
            assert by_itself == {path for path in expected if path.startswith(below)}
