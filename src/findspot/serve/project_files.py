"""The files of a project that a question is about: a folder, a glob, the lines of one file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from findspot.core.errors import FileNotIndexedError, InvalidArgumentError, InvalidPatternError
from findspot.core.model import Corpus, IndexReport, Skip, SourceFile
from findspot.core.paths import SCHEME
from findspot.discover.checkouts import find_root
from findspot.discover.file_content import readable_text
from findspot.discover.root_folder import read_file
from findspot.discover.walk import look
from findspot.project import Project
from findspot.search.freshness import IndexedText
from findspot.search.reader import IndexReader
from findspot.serve.shapes import STATUS
from findspot.workspace import Asked, Workspace, inner_glob, is_workspace

MAX_LINES = 20_000
"""More than anyone reads in a page, and what a browser still lays out at once."""


def folder_in(project: Project, folder: Path) -> str | None:
    """Return a folder as the index spells it; None for the root itself and for what is not inside."""
    if folder == project.root or not folder.is_relative_to(project.root):
        return None
    return project.roots.spelled(folder) or folder.relative_to(project.root).as_posix()


def ownership_note(project: Project) -> str:
    """Return what a question about changing the index of a reader adds; empty for a project that is none."""
    shared = project.index.shared
    if shared is None or shared.address.startswith(str(shared.folder)):  # an imported one, which goes with it
        return ""
    return f" This is your own index; the published one at {shared.address} stays."


def rebuild_question(project: Project) -> str:
    return f"This will rebuild the entire index. Continue?{ownership_note(project)}"


def delete_question(project: Project) -> str:
    return f"Delete the index for this project? This cannot be undone.{ownership_note(project)}"


def package_around(project: Project, here: Path) -> str | None:
    """Return the package of a project that a folder belongs to: the nearest one with a marker of its own."""
    nearest = find_root(here)
    return folder_in(project, nearest) if nearest else None


def covers(project: Project, under: str) -> bool:
    """Return whether the files of a folder are part of a project's index, or will be once it is updated."""
    walked = look(project.root, under, project.settings.discover)
    return bool(walked.files) or not walked.skips


def enclosing_note(project: Project, under: str) -> str:
    return f"{project.roots / under} is part of the index of {project.root}, which was brought up to date."


def limit_note(asked: Asked, under: str, way_out: str) -> str:
    """Say that a question is about one folder, and how to ask about all of the project."""
    return (
        f"This folder is part of the index of {asked.root}: searches look only below '{under}', "
        f"and paths are relative to {asked.roots.project}. {way_out} to search all of it."
    )


def refuse_empty(asked: Asked, report: IndexReport) -> None:
    """Refuse a folder without a file to index that nothing marks as a project: it was the wrong one."""
    if report.total_files or not report.created or find_root(asked.root) is not None:
        return
    left_out = len(asked.only().skipped())
    asked.only().delete()
    others = f"All {left_out:,} files in it are left out" if left_out else "It is empty"
    raise InvalidArgumentError(
        f"There is nothing to index in {asked.root}. {others}.",
        hint="Name the folder of a project, or one that holds repositories.",
    )


def asked_status(asked: Asked) -> dict[str, Any]:
    """Return the status of a project, or of a workspace with each of its members."""
    around = {"workspace": str(asked.folder)} if isinstance(asked, Workspace) else {}
    values = STATUS(asked.status()) | around
    if is_workspace(asked):
        statuses = asked.statuses(check_disk=False)
        values["members"] = [{"name": name, **STATUS(each)} for name, each in statuses.items()]
    return values


def described(asked: Asked) -> str:
    """Return what is asked, in words."""
    return f"the {len(asked.members)} projects of this workspace" if is_workspace(asked) else "this project"


def find_files(asked: Asked, under: str | None, pattern: str) -> tuple[list[str], str | None]:
    """Return the indexed paths below a folder that match a glob, in order, and what to know about them."""
    if is_workspace(asked):
        answers, left_out = asked.ask(lambda name, each: find_files(each, under, inner_glob(name, pattern)))
        paths = [f"{name}/{path}" for name, (found, _) in answers.items() for path in found]
        hints = [hint for _, hint in answers.values() if hint and not paths][:1]
        return paths, " ".join(filter(None, [left_out, *hints])) or None
    with asked.only().reader() as reader:
        paths = _files_in(reader, under, pattern)
        hint = None if paths else _pattern_hint(reader, under, pattern) or reader.left_out(pattern)
        return paths, " ".join(filter(None, [reader.warning_about(()), hint])) or None


def _files_in(reader: IndexReader, under: str | None, pattern: str) -> list[str]:
    paths = reader.files(pattern)
    return paths if under is None else [path for path in paths if path.startswith(f"{under}/")]


def _pattern_hint(reader: IndexReader, under: str | None, pattern: str) -> str | None:
    """Say which glob to use where one that matches nothing names a folder, or leaves out what is above."""
    bare = pattern.removeprefix("./").strip("/")
    for other, why in (
        (f"{bare}/**", f"'{pattern}' is a folder"),
        (f"**/{bare}/**", f"'{pattern}' is a folder"),
        (f"**/{bare}", "A pattern with a slash begins at the project's root"),
    ):
        with contextlib.suppress(InvalidPatternError):  # it is too long with what is added
            if count := len(_files_in(reader, under, other)):
                return f"{why}: '{other}' matches {count:,} {'file' if count == 1 else 'files'}."
    return None


def source_object(project: Project, given: str) -> dict[str, Any]:
    """Return a file for the page: its lines, up to a bound."""
    path = given if given.startswith(SCHEME) else project.roots.relative(given)
    language, lines = source_lines(project, path)
    return {
        "path": path,
        "location": str(_location(project, path)),
        "language": language,
        "totalLines": len(lines),
        "lines": lines[:MAX_LINES],
    }


def _location(project: Project, path: str) -> Path:
    """Return where an indexed path is on disk; one of a package lies outside of the project."""
    if path.startswith(SCHEME):
        index, inside = project.packages.holding(path)
        return index.roots / inside
    return project.roots / path


def source_lines(project: Project, path: str) -> tuple[str | None, list[str]]:
    """Return the language and lines of an indexed file as it is on disk now, with secrets masked as in the
    index.
    """
    index, inside = project.packages.holding(path) if path.startswith(SCHEME) else (project.index, path)
    with index.store.snapshot() as snapshot:
        file = snapshot.files.find(inside)
        if file is None:
            raise FileNotIndexedError(path)
        if index.store.read_only:
            return file.language, IndexedText(index.roots, snapshot).lines(file)
    settings = index.settings.discover
    source = SourceFile(file.path, Corpus(file.corpus), file.language, file.size, file.mtime_ns)
    data = read_file(index.root, source, settings.max_file_bytes)
    text = data if isinstance(data, Skip) else readable_text(path, data, settings.secret_scan)
    if isinstance(text, Skip):
        raise FileNotIndexedError(path, f"It cannot be shown: {text.reason.replace('_', ' ')}.")
    return file.language, text.split("\n")
