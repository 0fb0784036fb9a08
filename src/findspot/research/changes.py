"""What a diff changes: files, the definitions that its lines touch, and definitions that are gone."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from findspot.core.errors import InvalidArgumentError
from findspot.core.git import diff_from, find_commit, hunk_of, untracked
from findspot.core.languages import language_of, row
from findspot.graph import Node
from findspot.graph.source_view import TYPE_KINDS
from findspot.history.commit_log import defined_in
from findspot.research.research_view import ResearchView

DEFAULT_REVISION = "HEAD"
_LINE_CHARS = 200
MOST_FILES = 300
"""Changed files whose definitions are compared; a diff of more is a merge or generated."""

_TYPE = re.compile(r"\b(?:class|struct|enum|interface|trait|protocol|object|record|type|impl)\b")
_SPACE = re.compile(r"\b(?:namespace|module|defmodule|mod)\b")

LineRange = tuple[int, int]
"""First and last line. Where nothing stands on one side, the last is before the first."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a diff, with its changed lines before and after."""

    path: str
    old: tuple[LineRange, ...] = ()
    new: tuple[LineRange, ...] = ()
    text: str = ""
    """The lines that were removed and added."""
    before: str = ""
    """The lines that were removed."""
    added: bool = False
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What changed, as far as the index and the older version tell."""

    files: tuple[FileChange, ...] = ()
    nodes: tuple[Node, ...] = ()
    """Definitions of the index that the diff touches; of lines outside of any, the file."""
    gone: tuple[Node, ...] = ()
    """Definitions of the older version that the file does not have any more."""
    left_out: int = 0
    """Changed files that were not compared."""
    base: str = "HEAD"

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.files)


def read_change(view: ResearchView, since: str | None) -> Change:
    """Return what differs between a revision and the working tree."""
    root = view.reader.disk.roots.project
    commit = find_commit(root, since or DEFAULT_REVISION, "The diff", "Name a symbol or a file instead.")
    diff, others = diff_from(root, commit), untracked(root)
    if diff is None or others is None:
        raise InvalidArgumentError(f"git could not say what changed since '{since}'.")
    paths = (unicodedata.normalize("NFC", path) for path in others.split("\0") if path)
    added = [FileChange(path, ((1, 0),), ((1, sys.maxsize),), added=True) for path in paths]
    return _change_of(view, [*parse_diff(diff), *added], since or DEFAULT_REVISION, applied=True)


def pasted_change(view: ResearchView, diff: str, base: str = DEFAULT_REVISION) -> Change:
    """Return what a diff changes that somebody pasted, whether or not the index has it already."""
    return _change_of(view, parse_diff(diff), base, applied=False)


def _change_of(view: ResearchView, files: Sequence[FileChange], base: str, *, applied: bool) -> Change:
    """Return what a diff changes; where it may not be applied yet, the index may have its old lines."""
    nodes: dict[str, Node] = {}
    gone: list[Node] = []
    for file in files[:MOST_FILES]:
        first = next((first for first, last in file.old if last >= first), None)
        removed = file.before.partition("\n")[0].strip()
        is_new = applied or first is None or view.cite(file.path, first).text != removed[:_LINE_CHARS]
        lines = file.new if is_new else file.old
        current = view.definitions(file.path)
        nodes |= {node.id: node for node in touched(current, lines, view.graph.node(file.path))}
        if is_new and row(language_of(file.path)).grammar:
            gone += _gone(view, file, current)
    return Change(tuple(files), tuple(nodes.values()), tuple(gone), max(0, len(files) - MOST_FILES), base)


def _gone(view: ResearchView, file: FileChange, current: Sequence[Node]) -> Iterator[Node]:
    """Yield what the removed lines define at the top or in a type, and the file does not define any more.

    A name without a type around it may be a member that is defined outside of its type, as in Go and C++.
    """
    known = {_tail(node.qualified) for node in current} | {node.name for node in current}
    removed = iter(file.before.split("\n"))
    for (first, last), (at, _) in zip(file.old, file.new, strict=True):
        around = (node for node in current if node.start_line < at <= node.end_line + 1)
        inside = [(_indent(view.text_of(n, 1)), n.qualified, n.kind in TYPE_KINDS) for n in around]
        lines = zip(range(first, last + 1), removed, strict=False)
        defined = _defined(file.path, lines, inside)
        yield from (node for node in defined if _tail(node.qualified) not in known)


def _defined(
    path: str, lines: Iterable[tuple[int, str]], inside: list[tuple[int, str, bool]]
) -> Iterator[Node]:
    """Yield what lines define; `inside` is what is around them: indentation, name, whether it is a type."""
    for number, line in lines:
        name = defined_in(line)
        before = line.partition(name)[0] if name else ""
        if name is None or _SPACE.search(before):
            continue
        inside = [outer for outer in inside if outer[0] < _indent(line)]
        _, holder, holds_members = inside[-1] if inside else (0, "", True)
        qualified = f"{holder}.{name}" if holder else name
        is_type = _TYPE.search(before) is not None
        inside.append((_indent(line), qualified, is_type))
        if holds_members:
            kind = "class" if is_type else "method" if holder else "function"
            yield Node(path, number, number, name, qualified, kind, f"{path}#{qualified}")


def _tail(qualified: str) -> str:
    """Return a name with what encloses it at once: files write the rest in several ways."""
    return ".".join(qualified.split(".")[-2:])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def touched(nodes: Sequence[Node], lines: Sequence[LineRange], file: Node | None) -> list[Node]:
    """Return the innermost definitions of changed lines; the file where no line lies in one."""
    end = max((node.end_line for node in nodes), default=0)
    innermost: list[Node | None] = [None] * (end + 2)
    for node in sorted(nodes, key=lambda n: (n.start_line, -n.end_line, len(n.qualified))):
        innermost[node.start_line : node.end_line + 1] = [node] * (node.end_line + 1 - node.start_line)
    found: dict[str, Node] = {}
    for first, last in lines:
        if last >= first:
            hit = innermost[first : last + 1]
        else:  # between two lines: what encloses both
            around = (node for node in nodes if node.start_line <= last and node.end_line >= first)
            hit = [max(around, key=lambda n: (n.start_line, -n.end_line), default=None)]
        found |= {node.id: node for node in hit if node is not None}
    return list(found.values()) or ([file] if file is not None and lines else [])


def parse_diff(text: str) -> list[FileChange]:
    """Return the files of a unified diff, with or without lines of context."""
    files = []
    for section in re.split(r"(?m)^diff --git .*\n|^(?=--- \S.*\n\+\+\+ \S)", text)[1:]:
        head, mark, hunks = section.partition("\n@@ ")
        names = dict(re.findall(r"(?m)^(---|\+\+\+) (.*)$", head))
        before, after = _path(names.get("---", "")), _path(names.get("+++", ""))
        path = after or before
        if path is None:
            continue
        old, new, changed, gone = _read_hunks(f"@@ {hunks}" if mark else "")
        texts = "\n".join(changed), "\n".join(gone)
        spelled = unicodedata.normalize("NFC", path)
        files.append(FileChange(spelled, tuple(old), tuple(new), *texts, before is None, after is None))
    return files


def _read_hunks(hunks: str) -> tuple[list[LineRange], list[LineRange], list[str], list[str]]:
    """Return the changed lines before and after, the texts of both, and those of the removed ones."""
    old: list[LineRange] = []
    new: list[LineRange] = []
    changed: list[str] = []
    gone: list[str] = []
    lines = iter(hunks.split("\n"))
    for hunk in filter(None, map(hunk_of, lines)):
        at = [hunk.old + (not hunk.removed), hunk.new + (not hunk.added)]
        end = [at[0] + hunk.removed, at[1] + hunk.added]
        is_run = False
        while at[0] < end[0] or at[1] < end[1]:
            line = next(lines, "")
            if line[:1] not in ("-", "+"):
                if line[:1] != "\\":  # no newline at the end of the file
                    at, is_run = [at[0] + 1, at[1] + 1], False
                continue
            if not is_run:
                old.append((at[0], at[0] - 1))
                new.append((at[1], at[1] - 1))
                is_run = True
            side = line[0] == "+"
            ranges = new if side else old
            ranges[-1] = (ranges[-1][0], at[side])
            at[side] += 1
            changed.append(line[1:])
            gone += [] if side else [line[1:]]
    return old, new, changed, gone


def _path(name: str) -> str | None:
    """Return a path of a diff without its prefix and quotes; None for the side that has no such file."""
    name = name.split("\t", maxsplit=1)[0]
    if name.startswith('"') and name.endswith('"'):
        escaped = name[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape")
        name = escaped.encode("latin-1").decode("utf-8", "surrogateescape")
    if name[:2] in ("a/", "b/"):
        return name[2:]
    return name if name not in ("", "/dev/null") else None
