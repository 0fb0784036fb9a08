"""Answers that do not lie: before they go out, the files of hits are compared with the disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from findspot.core.files import content_hash
from findspot.core.model import Corpus, Hit, Skip, SkipReason, SourceFile, Span, Stamp
from findspot.core.paths import Roots, is_secret_path
from findspot.discover.file_content import readable_text
from findspot.discover.root_folder import read_file
from findspot.store.records import StoredFile
from findspot.store.snapshot import Snapshot
from findspot.text.snippet import listed
from findspot.text.tokens import LONG_LINE_CHARS, holds

_MIN_ANCHOR_CHARS = 4
"""A line shorter than this, such as a bracket, does not tell a place."""

_MOST_NAMED = 3


Listed = StoredFile | SourceFile
"""A file of the index, or one that is not in it yet."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Hits as the disk has them now, and the files that the index is behind with."""

    hits: tuple[Hit, ...]
    indexed: tuple[Hit, ...]
    """The same hits as the index has them."""
    dropped: int
    stale: frozenset[str]

    @property
    def warning(self) -> str | None:
        shown = sorted({hit.path for hit in self.hits} & self.stale)
        if not shown:
            return None
        return f"Changed since indexed, so shown as they are now: {listed(shown, _MOST_NAMED)}."


class Disk:
    """The files of one project as they may be shown."""

    def __init__(self, root: Path | Roots, max_bytes: int, secret_scan: str) -> None:
        self.roots = root if isinstance(root, Roots) else Roots(root)
        self._max_bytes = max_bytes
        self._secret_scan = secret_scan

    def has(self, path: str) -> bool:
        """Return whether a file of that path is there, whatever it holds by now."""
        return os.path.lexists(self.roots / path)

    def lines_if_changed(self, file: StoredFile) -> list[str] | Skip | None:
        """Return none for a file that is as indexed; else its lines, or why it has none."""
        if self.looks_the_same(file):
            return None
        data = self._read(file)
        if isinstance(data, Skip):
            return data
        return None if content_hash(data) == file.sha256 else self._lines(file, data)

    def lines(self, file: Listed) -> list[str] | Skip:
        """Return a file's lines as they may be shown now, read without following a link."""
        data = self._read(file)
        return data if isinstance(data, Skip) else self._lines(file, data)

    def _read(self, file: Listed) -> bytes | Skip:
        if is_secret_path(file.path):  # an index that somebody else built may name any file
            return Skip(file.path, SkipReason.DENIED)
        wanted = SourceFile(file.path, Corpus(file.corpus), file.language, file.size, file.mtime_ns)
        return read_file(self.roots.project, wanted, self._max_bytes)

    def _lines(self, file: Listed, data: bytes) -> list[str] | Skip:
        text = readable_text(file.path, data, self._secret_scan)
        return text if isinstance(text, Skip) else text.split("\n")

    def looks_the_same(self, file: Listed) -> bool:
        """Return whether a file's size and times are those of the indexed one."""
        try:
            info = os.lstat("/".join(map(str, self.roots.holding(file.path))))
        except (OSError, ValueError):
            return False
        return stat.S_ISREG(info.st_mode) and Stamp.of(info).still(file.stamp)


class IndexedText(Disk):
    """In place of the files of a project that are not here: the texts that its index holds."""

    def __init__(self, roots: Roots, snapshot: Snapshot) -> None:
        self.roots = roots
        self._snapshot = snapshot

    def has(self, path: str) -> bool:
        return self._snapshot.files.find(path) is not None

    def looks_the_same(self, file: Listed) -> bool:
        return False

    def lines_if_changed(self, file: StoredFile) -> list[str] | Skip | None:
        return None

    def lines(self, file: Listed) -> list[str]:
        """Return a file's lines as its chunks hold them: what no chunk holds is blank."""
        lines: dict[int, str] = {}
        cut = 0  # the number of a line that is too long for one chunk
        for chunk in self._snapshot.chunks.of_file(file.path):
            if chunk.kind != "outline":
                for number, text in enumerate(chunk.text.split("\n"), chunk.start_line):
                    lines[number] = lines.get(number, "") + text if number == cut else text
                cut = chunk.end_line
        return [lines.get(number, "") for number in range(1, max(lines, default=0) + 1)]


def check(hits: Iterable[Hit], find: Callable[[str], StoredFile | None], disk: Disk) -> Checked:
    """Return hits of deleted files left out, those of changed files read again where they are now."""
    now: dict[str, list[str] | Skip | None] = {}
    pairs: list[tuple[Hit, Hit]] = []
    dropped = 0
    for hit in hits:
        file = find(hit.path)
        if file and hit.path not in now:
            now[hit.path] = disk.lines_if_changed(file)
        lines = now.get(hit.path)
        current = hit if lines is None else None if isinstance(lines, Skip) else located(hit, lines)
        if current is None:
            dropped += 1
        else:
            pairs.append((current, hit))
    return Checked(
        tuple(current for current, _ in pairs),
        tuple(indexed for _, indexed in pairs),
        dropped,
        frozenset(path for path, lines in now.items() if lines is not None),
    )


def changed_since_indexed(files: Iterable[StoredFile], disk: Disk) -> str | None:
    """Return what to tell of an answer whose files may be others by now: its lines are those of the index."""
    stale = [file.path for file in files if disk.lines_if_changed(file) is not None]
    return f"Changed since indexed; lines may have moved: {listed(stale, _MOST_NAMED)}." if stale else None


def located(hit: Hit, lines: list[str]) -> Hit | None:
    """Return the hit where its text, or at least its best line, is now; None when neither is there."""
    before = hit.text.split("\n")
    size, first = len(before), hit.span.start - 1
    same = [at for at in _places(lines, before[0]) if holds(lines, Span(at + 1, at + size), hit.text)]
    if same:
        return _moved(hit, min(same, key=lambda at: abs(at - first)), lines, size)
    offset = (hit.focus - hit.span.start) if hit.focus else 0
    anchor = before[offset] if 0 <= offset < size else before[0]
    if len(anchor.strip()) < _MIN_ANCHOR_CHARS:
        offset, anchor = max(enumerate(before), key=lambda line: len(line[1].strip()))
    near = _places(lines, anchor) if anchor.strip() else []
    if not near:
        return None
    at = min(near, key=lambda at: abs(at - offset - first))
    return _moved(hit, max(0, at - offset), lines, size)


def _places(lines: list[str], line: str) -> list[int]:
    """Return the lines that are this one, or hold it as a piece where they are long."""
    return [at for at, other in enumerate(lines) if other == line or (_is_long(other) and line in other)]


def _is_long(line: str) -> bool:
    return len(line) > LONG_LINE_CHARS


def _moved(hit: Hit, at: int, lines: list[str], size: int) -> Hit:
    text = lines[at : at + size]
    piece = hit.text.rpartition("\n")[2]
    if len(text) == size and _is_long(text[-1]) and piece in text[-1]:
        text[-1] = piece
    by, last = at + 1 - hit.span.start, at + len(text)

    def moved(line: int) -> int:
        return min(line + by, last)

    about = hit.definition
    if "\n".join(text) != hit.text:  # what it says of itself may be another thing by now
        hit = replace(hit, doc_comment=None, signature=None, overview=None)
    return replace(
        hit,
        span=Span(at + 1, last),
        more=(),
        text="\n".join(text),
        focus=moved(hit.focus) if hit.focus else hit.focus,
        declared=moved(hit.declared) if hit.declared else hit.declared,
        definition=Span(moved(about.start), moved(about.end)) if about else None,
    )
