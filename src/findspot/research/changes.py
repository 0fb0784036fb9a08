"""What a diff changes: files, the definitions that its lines touch, and definitions that are gone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from findspot.core.errors import InvalidArgumentError
from findspot.core.facts import Facts, unpack
from findspot.core.git import diff_from, find_commit, hunk_of, old_version, untracked
from findspot.core.languages import language_of, row
from findspot.core.model import Corpus
from findspot.core.paths import Roots
from findspot.core.platforms import NO_WINDOW, python_command, python_environment
from findspot.graph import Graph, Node
from findspot.graph.source_view import SourceView
from findspot.research.research_view import ResearchView, flat
from findspot.store.records import StoredFile

DEFAULT_REVISION = "HEAD"
_LINE_CHARS = 200
MOST_FILES = 300
"""Changed files whose definitions are compared; a diff of more is a merge or generated."""

_MOST_OLD_BYTES = 1 << 20
_OLD_SIDE_S = 20.0
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}

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


def read_change(graph: Graph, roots: Roots, since: str | None) -> Change:
    """Return what differs between a revision and the working tree."""
    files, old = _changes_below(roots.project, since or DEFAULT_REVISION)
    before = _views(old)
    nodes: dict[str, Node] = {}
    gone: list[Node] = []
    for file in files[:MOST_FILES]:
        current = [node for outline in graph.outline(file.path) for node in flat(outline)]
        whole = graph.node(file.path)
        nodes |= {node.id: node for node in touched(current, file.new, whole)}
        older = before[file.path].definitions if file.path in before else ()
        known = {node.id for node in current}
        gone += [each.node for each in older if each.id_of_node not in known]
    left_out = max(0, len(files) - MOST_FILES)
    return Change(tuple(files), tuple(nodes.values()), tuple(gone), left_out, since or DEFAULT_REVISION)


def pasted_change(view: ResearchView, text: str) -> Change:
    """Return what a diff changes that somebody pasted, whether or not the index has it already."""
    files = parse_diff(text)
    nodes: dict[str, Node] = {}
    for file in files[:MOST_FILES]:
        first = next((first for first, last in file.old if last >= first), None)
        removed = file.before.partition("\n")[0].strip()
        is_new = first is None or view.cite(file.path, first).text != removed[:_LINE_CHARS]
        whole = view.graph.node(file.path)
        lines = file.new if is_new else file.old
        nodes |= {node.id: node for node in touched(view.definitions(file.path), lines, whole)}
    return Change(tuple(files), tuple(nodes.values()), (), max(0, len(files) - MOST_FILES))


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
        name = _unquoted(name[1:-1])
    if name[:2] in ("a/", "b/"):
        return name[2:]
    return name if name not in ("", "/dev/null") else None


def _unquoted(name: str) -> str:
    def byte(found: re.Match[bytes]) -> bytes:
        escaped = found[1]
        return bytes([int(escaped, 8) & 0xFF]) if escaped.isdigit() else _ESCAPES.get(escaped, escaped)

    return _ESCAPE.sub(byte, name.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _changes_below(folder: Path, since: str) -> tuple[list[FileChange], dict[str, str]]:
    """Return the changed files of one root, and the older versions of those that are code."""
    commit = find_commit(folder, since, "The diff", "Name a symbol or a file instead.")
    diff, others = diff_from(folder, commit), untracked(folder)
    if diff is None or others is None:
        raise InvalidArgumentError(f"git could not say what changed since '{since}'.")
    files = parse_diff(diff)
    old = {}
    for file in files[:MOST_FILES]:
        if not file.added and row(language_of(file.path)).grammar:
            version = old_version(folder, commit, file.path)
            if version is not None and len(version) <= _MOST_OLD_BYTES:
                old[file.path] = version
    untracked_paths = (unicodedata.normalize("NFC", path) for path in others.split("\0") if path)
    files += [FileChange(path, new=((1, sys.maxsize),), added=True) for path in untracked_paths]
    return files, old


def _views(texts: Mapping[str, str]) -> dict[str, SourceView]:
    """Return what older versions of files define."""
    views = {}
    for path, facts in _facts_of(texts).items():
        stored = StoredFile(0, path, Corpus.CODE, language_of(path), 0, 0, "", 0)
        views[path] = SourceView(stored, facts)
    return views


_CODE = "from findspot.chunk.dispatch import print_facts; print_facts()"


def _facts_of(texts: Mapping[str, str]) -> dict[str, Facts]:
    """Return the facts of texts, read by another process: a parser that hangs or crashes costs the answer
    these facts, and nothing else.
    """
    if not texts:
        return {}
    try:
        done = subprocess.run(
            python_command("-c", _CODE),
            input=json.dumps(dict(texts)).encode(),
            capture_output=True,
            timeout=_OLD_SIDE_S,
            env=python_environment(),
            creationflags=NO_WINDOW,
            check=True,
        )
        return {path: unpack(bytes.fromhex(facts)) for path, facts in json.loads(done.stdout).items()}
    except (subprocess.SubprocessError, OSError, ValueError):
        return {}
