"""Answers about history: commits as text for people and assistants, and as values for programs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.git import object_named
from findspot.core.languages import language_of
from findspot.core.utc_time import day_of
from findspot.graph import Graph
from findspot.history.project_history import Commits, FoundCommit, ProjectHistory
from findspot.project import Project
from findspot.search.token_budget import token_count
from findspot.serve.search_answers import encoded
from findspot.serve.shapes import Shape, known
from findspot.text.snippet import cut
from findspot.workspace import Asked, Workspace, is_workspace

_PLACE = re.compile(r"(.+?)(?::(\d+)(?:-(\d+))?)?")
_HASH_CHARS = 10
_MOST_FILES = 6
_MOST_NAMES = 4
_MOST_REMOVED = 6
_MOST_SENTENCE_CHARS = 300


Read = Callable[[ProjectHistory], None]
"""Waits until the commits are read: what shaped a place that is there, git says at once."""


def ask_history(
    asked: Asked, text: str, limit: int, offset: int = 0, *, read: Read = lambda _: None
) -> Commits:
    """Return the commits that answer a question, or those that shaped the place that a text names."""
    if not text.strip():
        raise InvalidArgumentError("Query cannot be empty", hint="Ask why or when, or name a file.")
    if is_workspace(asked):
        return _of_members(asked, text, limit, offset, read)
    project = asked.only()
    place = _place_named(project, text)
    if place is None:
        read(project.history)
        place = _place_named(project, text, gone=True)
    if place is not None:
        commits = project.history.of_lines(*place, offset + limit)
        return replace(commits, found=commits.found[offset:])
    return project.history.search(text, limit, offset)


def _of_members(workspace: Workspace, text: str, limit: int, offset: int, read: Read) -> Commits:
    """Return the commits of all members that fit best; a path that leads into one is asked of that one."""
    if len(text.split()) == 1 and (held := workspace.holding(text)):
        name, text = held
        workspace = replace(workspace, members={name: workspace.members[name]})

    def ask(name: str, project: Project) -> Commits:
        commits = ask_history(project, text, offset + limit, read=read)
        return replace(commits, found=tuple(_of_member(name, each) for each in commits.found))

    answers, left_out = workspace.ask(ask)
    of_places = {name: commits for name, commits in answers.items() if commits.is_of_place}
    answers = of_places or answers
    found = sorted((each for commits in answers.values() for each in commits.found), key=lambda e: -e.score)
    return Commits(
        text,
        tuple(found[offset : offset + limit]),
        sum(commits.elapsed_ms for commits in answers.values()),
        " ".join(dict.fromkeys(filter(None, [left_out, *(c.warning for c in answers.values())]))) or None,
    )


def _of_member(name: str, found: FoundCommit) -> FoundCommit:
    changes = [replace(each, path=f"{name}/{each.path}") for each in found.commit.changes]
    return replace(found, project=name, commit=replace(found.commit, changes=changes))


def _place_named(
    project: Project, text: str, *, gone: bool = False
) -> tuple[str, tuple[int, int] | None] | None:
    """Return the file and lines that a text names: as a path, or as a symbol; None for any other text.

    A path may be a folder, may have been deleted (`gone`), and may be the end of one that only one file has.
    """
    named = _PLACE.fullmatch(text)
    if named is None:
        return None
    lines = (int(named[2]), int(named[3] or named[2])) if named[2] else None
    with contextlib.suppress(FindspotError, OSError, ValueError):  # a question is no path
        path = project.roots.relative(named[1])
        if (project.root / path).exists() or (gone and _was_there(project, path)):
            return path, lines
    if len(text.split()) != 1:
        return None
    with project.reader() as reader:
        ends = [file.path for file in reader.snapshot.files.files if file.path.endswith(f"/{named[1]}")]
        if len(ends) == 1:
            return ends[0], lines
        found = Graph(reader.snapshot).find(text)
    if found:
        return found[0].path, (found[0].start_line, found[0].end_line)
    is_path = any((lines, "/" in text, language_of(text) != "text"))
    if gone and is_path and project.history.commits is not None:
        hint = "Name a path from the root of the project, or ask in words."
        raise InvalidArgumentError(f"No file {named[1]} is or was in this project.", hint=hint)
    return None


def _was_there(project: Project, path: str) -> bool:
    """Return whether a commit changed a file, or brought it with all others."""
    commits = project.history.commits
    return bool(commits and (commits.knows_path(path) or object_named(project.root, f"HEAD:./{path}")))


def commits_answer(commits: Commits, max_tokens: int) -> tuple[str, dict[str, Any]]:
    """Return the text and the values, each within a number of tokens: the last commits are left out."""
    count = len(commits.found)
    while True:
        text, values = commits_text(commits, count), commits_object(commits, count)
        if not count or max(token_count(text), token_count(encoded(values))) <= max_tokens:
            return text, values
        count -= 1


def commits_text(commits: Commits, count: int | None = None) -> str:
    shown = commits.found[:count]
    lines = [line for found in shown for line in _lines(found)] or ["No commit fits."]
    if left := len(commits.found) - len(shown):
        lines.append(f"({left} more left out: raise max_tokens, or narrow the question.)")
    return "\n".join([*lines, *filter(None, [commits.warning])])


def _lines(found: FoundCommit) -> list[str]:
    commit = found.commit
    owner = f"{found.project}: " if found.project else ""
    lines = [f"{owner}{day_of(commit.time)} {commit.hash[:_HASH_CHARS]}  {commit.subject}  ({commit.author})"]
    if found.sentence:
        lines.append(f"    {cut(found.sentence, _MOST_SENTENCE_CHARS)}")
    changed = []
    for each in commit.changes[:_MOST_FILES]:
        names = each.names[:_MOST_NAMES] + ["…"] * (len(each.names) > _MOST_NAMES)
        changed.append(f"{each.path} ({', '.join(names)})" if names else each.path)
    if changed:
        more = len(commit.changes) - len(changed)
        lines.append(f"    changed {', '.join(changed)}{f', and {more} more' if more else ''}")
    if commit.removed:
        lines.append(f"    removed {', '.join(commit.removed[:_MOST_REMOVED])}")
    return lines


COMMIT = Shape(
    {
        "project?": str,
        "commit=commit.hash author=commit.author subject=commit.subject": str,
        "date=commit.time": day_of,
        "sentence?": str,
        "changed?": [{"path": str, "definitions": [str]}],
        "removed?": [str],
        "score?": float,
    }
)


def commits_object(commits: Commits, count: int | None = None) -> dict[str, Any]:
    return {
        "query": commits.query,
        "where": "history",
        "results": list(map(_object, commits.found[:count])),
        "totalResults": len(commits.found),
        "searchTimeMs": round(commits.elapsed_ms, 1),
        **known(warning=commits.warning),
    }


def _object(found: FoundCommit) -> dict[str, Any]:
    changes, removed = found.commit.changes[:_MOST_FILES], found.commit.removed[:_MOST_REMOVED]
    changed = [{"path": each.path, "definitions": each.names[:_MOST_NAMES]} for each in changes]
    sentence = cut(found.sentence, _MOST_SENTENCE_CHARS)
    return COMMIT(found, sentence=sentence, changed=changed, removed=removed)
