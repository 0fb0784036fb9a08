"""Recognise a signal: words, a diff, a place in a file, a trace or the output of tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from findspot.core.errors import FileNotIndexedError, InvalidArgumentError
from findspot.core.git import diff_from, find_commit
from findspot.core.model import storable
from findspot.graph import Node
from findspot.rank.reports import Report, read_report
from findspot.rank.traces import Frame
from findspot.research.changes import Change, pasted_change, read_change
from findspot.research.research_view import ResearchView

WORKTREE = "worktree"
_IS_DIFF = re.compile(r"^(?:diff --git |--- \S.*\n\+\+\+ \S)", re.MULTILINE)
_PLACE = re.compile(r"(\S+?\.\w+):(\d+)(?::\d+)?")
_OF_WORKTREE = re.compile(
    r"\b(?:my|current|uncommitted|these|unstaged) (?:\w+ )?(?:changes|edits|diff)\b|\bworking tree\b", re.I
)
_REVISION = re.compile(r"HEAD|\w[\w./-]*[~^][~^\d]*|\w\S*?\.{2,3}\w\S*")
_RANGE = re.compile(r"(?P<base>\w\S*?)(?P<dots>\.{2,3})(?P<head>\w\S*)")
_PASSED = re.compile(r"\d+ passed(?:, \d+ (?!failed|error)\w+)*(?: in [\d.]+ ?m?s)?")
_ENCODED = re.compile(r"\b(?=\S*\d)(?:(?=\S*[A-Z])(?=\S*[a-z])[\w+/]{20,}|[\da-fA-F-]{20,})=*")
_WORD = re.compile(r"[^\W\d_]{2}")
_SHORT = 120
"""Characters of a sentence that speaks of the uncommitted changes and of nothing else."""


class Kind(StrEnum):
    TEXT = "text"
    DIFF = "diff"
    PLACE = "place"
    TRACE = "trace"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for context about: a text, a diff (or `worktree`, or a revision), a file with a line."""

    signal: str = ""
    diff: str = ""
    path: str = ""
    line: int | None = None
    under: str | None = None
    """The folder that is asked about."""

    def __post_init__(self) -> None:
        for name in ("signal", "diff", "path"):
            object.__setattr__(self, name, storable(getattr(self, name) or ""))
        if not (self.signal.strip() or self.diff.strip() or self.path.strip()):
            raise InvalidArgumentError("Give a signal, a diff or a path.")
        if self.line is not None and (self.line < 1 or not self.path):
            raise InvalidArgumentError("'line' is a line of 'path', from 1.")


@dataclass(frozen=True, slots=True)
class Signal:
    kind: Kind
    text: str = ""
    change: Change | None = None
    at: tuple[Node, ...] = ()
    """Definitions that it points at: the place, or the frames of a trace, the innermost first."""


def read_signal(view: ResearchView, request: Request) -> Signal:
    """Return what a request is: a diff goes before a place, a place before words."""
    text = request.signal.strip()
    if diff := diff_of(request):
        return Signal(Kind.DIFF, text if request.diff else "", _change(view, diff))
    if request.path:
        return Signal(Kind.PLACE, text, at=(_node_at(view, request.path, request.line),))
    if place := _PLACE.fullmatch(text):
        return Signal(Kind.PLACE, at=(_node_at(view, place[1], int(place[2])),))
    if _REVISION.fullmatch(text):
        return Signal(Kind.DIFF, change=_change(view, text))
    report = read_report(text)
    if at := tuple(_frames(view, report)):
        return Signal(Kind.TRACE, text, at=at)
    return Signal(Kind.TEXT, "" if _is_noise(view, text, report) else text)


def _is_noise(view: ResearchView, text: str, report: Report) -> bool:
    """Return whether a text is tests that passed, encoded data, or traces through no file of the project."""
    if _PASSED.fullmatch(text.strip("=.% \n")) or not _WORD.search(_ENCODED.sub("", text)):
        return True
    words = report.prose or report.code or (report.title and report.title not in report.errors)
    paths = {frame.path for frame in report.frames if frame.path}
    return bool(paths) and not words and not any(map(view.path_named, paths))


def diff_of(request: Request) -> str:
    """Return the diff that a request is about: a unified one, `worktree` or a revision; else nothing."""
    text = request.signal.strip()
    diff = request.diff.strip() or (text if _IS_DIFF.search(text) else "")
    is_worktree = text == WORKTREE or (not diff and len(text) <= _SHORT and _OF_WORKTREE.search(text))
    return WORKTREE if is_worktree else diff


def _change(view: ResearchView, diff: str) -> Change:
    if diff == WORKTREE:
        return read_change(view, None)
    if not _IS_DIFF.search(diff):
        if "\n" in diff or " " in diff:
            raise InvalidArgumentError("'diff' is neither a unified diff nor 'worktree' nor a revision.")
        if not (ends := _RANGE.fullmatch(diff)):
            return read_change(view, diff)
        root, hint = view.reader.disk.roots.project, "Give a diff."
        base, head = (find_commit(root, ends[name], "The diff", hint) for name in ("base", "head"))
        diff = diff_from(root, f"{base}{ends['dots']}{head}") or ""
        return pasted_change(view, diff, base)
    change = pasted_change(view, diff)
    if not change.files:
        raise InvalidArgumentError("'diff' has no changed lines: give it with its '@@' and '+++' lines.")
    return change


def _node_at(view: ResearchView, path: str, line: int | None) -> Node:
    known = view.path_named(path)
    if known is None:
        raise FileNotIndexedError(path) if line is None else InvalidArgumentError(f"No indexed file {path}.")
    if line and not view.has_line(known, line):
        raise InvalidArgumentError(f"{known} has no line {line}.")
    node = view.node_at(known, line) if line else view.graph.node(known)
    return node or Node(known, line or 1, line or 1, known, known, "file", known)


def _frames(view: ResearchView, report: Report) -> list[Node]:
    """Return the definitions that traces pass through, the innermost first, and places that output names."""
    frames = [(f.path, f.line) for trace in _by_trace(report) for f in reversed(trace)]
    named = [(place.path, place.line) for place in report.places]
    found: dict[str, Node] = {}
    for path, line in (*frames, *named):
        known = view.path_named(path) if path and line else None
        node = view.node_at(known, line) if known and line else None
        if node is not None:
            found.setdefault(node.id, node)
    return list(found.values())


def _by_trace(report: Report) -> list[list[Frame]]:
    traces: dict[int, list[Frame]] = {}
    for frame in report.frames:
        traces.setdefault(frame.trace, []).append(frame)
    return [traces[number] for number in sorted(traces, reverse=True)]
