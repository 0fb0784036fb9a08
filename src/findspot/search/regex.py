"""Regular expressions over the indexed files, through the bundled ripgrep.

Its engine takes time linear in the text whatever the pattern, so no pattern can hang a search;
a time limit guards against sheer size.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path
from typing import IO, NamedTuple

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import GroupBy, Hit, Query, Results, Skip, Span
from findspot.core.paths import Roots
from findspot.core.platforms import NO_WINDOW
from findspot.search.freshness import Disk, Listed
from findspot.search.hits import by_file
from findspot.search.query_filters import allowed_files, nothing_to_search
from findspot.search.ripgrep import SIZE_LIMITS, check_pattern, refusal, ripgrep_binary
from findspot.store.records import StoredChunk, StoredFile
from findspot.store.snapshot import Snapshot
from findspot.text.tokens import LONG_LINE_CHARS

MAX_MATCHING_LINES = 10_000
TIMEOUT_S = 10.0

_PATHS_PER_RUN = 500
"""Paths handed over on one command line: far below what any system allows."""

_OPTIONS = (
    "--no-config", "--no-ignore", "--hidden", "--no-messages", "--color=never",
    "--with-filename", "--no-heading", "--line-number", "--column", "--null",
    "--text", "--crlf",  # the index has decided what is text, and `$` means the end of a line
    "--threads=1",  # files in the order given, so that stopping early always stops at the same place
    *SIZE_LIMITS,
)  # fmt: skip

_CASE_HINT = "Nothing matches as it is written, but without regard to case something does: begin with (?i)."


class Line(NamedTuple):
    """A matching line, and the column of its first match."""

    path: str
    number: int
    text: str
    column: int

    def shown(self) -> tuple[str, int]:
        """Return the line, or as much of a minified one as fits into an answer, and the column in it."""
        start = max(0, min(self.column - 200, len(self.text) - LONG_LINE_CHARS))
        return self.text[start : start + LONG_LINE_CHARS], self.column - start


def search_regex(snapshot: Snapshot, disk: Disk, query: Query) -> Results:
    """Return the chunks that hold a matching line, in order of path and line.

    ripgrep follows links, and a link may be made at any moment. So what it prints is only a hint: an answer
    shows text of the index, or a line that was read again in the careful way. Of a file with secrets,
    ripgrep sees the masked text alone; otherwise patterns could guess a secret character by character.
    """
    started = time.perf_counter()
    check_pattern(query.text)
    files = allowed_files(snapshot, query).files
    warning = None if files else nothing_to_search(snapshot, query)
    search = PatternSearch(disk, files, frozenset(snapshot.skips.files_read()))
    found = search.first_lines(query.text, MAX_MATCHING_LINES + 1)
    if len(found) > MAX_MATCHING_LINES:
        found.pop()
        warning = f"Stopped after {MAX_MATCHING_LINES:,} matching lines."
    hits: list[Hit] = []
    for path, lines in groupby(found, key=lambda line: line[0]):
        hits.extend(_hits(snapshot, disk, path, list(lines)))
    if query.group_by is GroupBy.FILE:
        hits = by_file(hits)
    if not hits and files and any(map(str.isalpha, query.text)):
        with contextlib.suppress(InvalidArgumentError):  # it took too long, or is too large with that
            if search.first_lines(f"(?i:{query.text})", 1):
                warning = _CASE_HINT
    return Results(
        query=query.text,
        mode=query.mode,
        hits=tuple(hits[query.offset : query.offset + query.limit]),
        total=len(hits),
        offset=query.offset,
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warning=warning,
    )


class PatternSearch:
    """The files of one search: those that ripgrep may read itself, and those whose text it is given."""

    def __init__(self, disk: Disk, files: Sequence[Listed], partial: Set[str]) -> None:
        """`partial` are the paths of files of which the index does not hold all, or nothing."""
        self._disk = disk
        self._order = {file.path: place for place, file in enumerate(files)}
        self._as_indexed = _as_indexed(disk, [file for file in files if file.path not in partial])
        whole = frozenset(self._as_indexed)
        self._others = [file for file in files if file.path not in whole]

    def first_lines(
        self, pattern: str, count: int, options: Sequence[str] = (), seconds: float = TIMEOUT_S
    ) -> list[Line]:
        """Return the first matching lines, in order of path and line; `options` are ripgrep's."""
        asked = _Asked(pattern, options, time.monotonic() + seconds)
        found = [
            *islice(_lines_on_disk(self._disk.roots, asked, self._as_indexed), count),
            *islice(_lines_given(self._disk, asked, self._others), count),
        ]
        return sorted(found, key=lambda line: (self._order[line.path], line.number))[:count]


class _Asked(NamedTuple):
    pattern: str
    options: Sequence[str]
    deadline: float


def _lines_on_disk(roots: Roots, asked: _Asked, paths: Sequence[str]) -> Iterator[Line]:
    """Yield the matching lines that ripgrep sees at some paths, in order of path and line."""
    for folder, held in groupby(paths, key=lambda path: roots.holding(path)[0]):
        listed = list(held)
        prefix = listed[0].removesuffix(roots.holding(listed[0])[1])
        for first in range(0, len(listed), _PATHS_PER_RUN):
            part = [f"./{path.removeprefix(prefix)}" for path in listed[first : first + _PATHS_PER_RUN]]
            for output in _ripgrep(["--", *part], asked, folder=folder):
                path, _, rest = output.partition(b"\0")
                inside = os.fsdecode(path).removeprefix("./")
                yield _line(prefix + inside, *_numbers(asked, rest))


def _lines_given(disk: Disk, asked: _Asked, files: Sequence[Listed]) -> Iterator[Line]:
    """Yield the matching lines of files as they may be shown, which are fed to ripgrep as one text."""
    if not files:
        return
    firsts: list[int] = []
    """The number of the first line of each file in that text."""
    paths: list[str] = []

    def feed(target: IO[bytes]) -> None:
        number = 1
        for file in files:
            lines = disk.lines(file)
            if isinstance(lines, Skip):
                continue
            lines = lines if lines[-1] else lines[:-1]  # the last line ends with a newline
            paths.append(file.path)
            firsts.append(number)
            number += len(lines)
            target.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))

    for output in _ripgrep(["-"], asked, feed=feed):
        number, text, column = _numbers(asked, output.partition(b"\0")[2])
        at = bisect_right(firsts, number) - 1
        yield _line(paths[at], number - firsts[at] + 1, text, column)


def _numbers(asked: _Asked, output: bytes) -> tuple[int, bytes, int]:
    """Take apart the number of a line, the column of its match, if it has one, and its text."""
    number, _, rest = output.partition(b":")
    column, _, text = (b"1", b"", rest) if "--invert-match" in asked.options else rest.partition(b":")
    return int(number), text.rstrip(b"\r\n"), int(column) - 1


def _ripgrep(
    sources: Sequence[str],
    asked: _Asked,
    *,
    folder: Path | None = None,
    feed: Callable[[IO[bytes]], None] | None = None,
) -> Iterator[bytes]:
    """Yield what one run prints, line by line; stop it when nobody reads on, or when time is up."""
    with subprocess.Popen(
        [ripgrep_binary(), *_OPTIONS, *asked.options, f"--regexp={asked.pattern}", *sources],
        cwd=folder,
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        creationflags=NO_WINDOW,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(max(0.1, asked.deadline - time.monotonic()), stop)
        timer.start()
        feeder = threading.Thread(target=_fed, args=(process.stdin, feed), daemon=True)
        feeder.start()
        try:
            yield from process.stdout
            complaint = process.stderr.read()
            process.wait()
        finally:
            timer.cancel()
            process.kill()
            feeder.join()
    if late.is_set():
        raise InvalidArgumentError(
            f"The pattern took longer than {TIMEOUT_S:.0f} s.",
            hint="Make it more specific, or limit the files with path_filter.",
        )
    if process.returncode > 1 and (b"regex" in complaint or b"PCRE2" in complaint):
        raise refusal(asked.pattern, complaint.decode("utf-8", "replace"))


def _fed(target: IO[bytes] | None, feed: Callable[[IO[bytes]], None] | None) -> None:
    """Write a run's input, in a thread of its own; a run that was stopped reads no more."""
    if target and feed:
        with contextlib.suppress(OSError), target:
            feed(target)


def _line(path: str, number: int, line: bytes, at: int) -> Line:
    """Return a line decoded as the indexed text was read: UTF-8, else Latin-1; `at` is a byte of it."""
    try:
        return Line(path, number, line.decode("utf-8"), len(line[:at].decode("utf-8")))
    except UnicodeDecodeError:
        return Line(path, number, line.decode("latin-1"), at)


def _as_indexed(disk: Disk, files: Sequence[Listed]) -> list[str]:
    """Return the paths whose files are as indexed: ripgrep would follow a link, and wait for a pipe."""
    inside: dict[str, bool] = {}
    same = []
    for file in files:
        folder = file.path.rpartition("/")[0]
        if folder not in inside:
            inside[folder] = _is_inside(disk.roots, folder)
        if inside[folder] and disk.looks_the_same(file):
            same.append(file.path)
    return same


def _is_inside(roots: Roots, path: str) -> bool:
    """Tell whether no link has come, since the file was indexed, to lead elsewhere."""
    folder, inside = roots.holding(path)
    try:
        real = os.path.realpath(folder)
        return os.path.realpath(folder / inside) == (os.path.join(real, inside) if inside else real)  # noqa: PTH118
    except OSError:  # a link that became a file between two looks
        return False


def _hits(snapshot: Snapshot, disk: Disk, path: str, lines: Sequence[Line]) -> list[Hit]:
    """Return the chunks around the matching lines; a line unknown to the index is a hit of its own."""
    chunks = [chunk for chunk in snapshot.chunks.of_file(path) if chunk.kind != "outline"]
    hits: dict[int, Hit] = {}
    matching: dict[int, list[int]] = {}
    unknown: list[Line] = []
    for line in lines:
        if held := _holding(chunks, line):
            hits.setdefault(held[0].number, _chunk_hit(*held, line.number))
            matching.setdefault(held[0].number, []).append(line.number)
        else:
            unknown.append(line)
    whole = [replace(hit, lines=tuple(matching[number])) for number, hit in hits.items()]
    alone = [_line_hit(line) for line in _on_disk(snapshot.files.find(path), disk, unknown)]
    return sorted([*whole, *alone], key=lambda hit: (hit.span.start, hit.span.end))


def _on_disk(file: StoredFile | None, disk: Disk, lines: Sequence[Line]) -> list[Line]:
    """Return the lines that the project's file holds at their places, read without following a link."""
    now = disk.lines(file) if file and lines else []
    if isinstance(now, Skip):
        return []
    return [line for line in lines if now[line.number - 1 : line.number] in ([line.text], [line.text + "\r"])]


def _holding(chunks: Sequence[StoredChunk], line: Line) -> tuple[StoredChunk, int] | None:
    """Return the chunk that holds the match, and its column there; None if the index has another line.

    Of a line that was cut, it is the piece in which the match begins.
    """
    around = [chunk for chunk in chunks if chunk.start_line <= line.number <= chunk.end_line]
    pieces = [chunk for chunk in around if chunk.end_line == around[0].end_line]
    if not pieces:
        return None
    texts = [chunk.text.split("\n")[line.number - chunk.start_line] for chunk in pieces]
    if "".join(texts).rstrip("\r") != line.text:
        return None
    column = line.column
    for chunk, text in zip(pieces[:-1], texts, strict=False):
        if column < len(text):
            return chunk, column
        column -= len(text)
    return pieces[-1], column


def _chunk_hit(chunk: StoredChunk, column: int, focus: int) -> Hit:
    return Hit(
        path=chunk.path,
        span=Span(chunk.start_line, chunk.end_line),
        text=chunk.text,
        score=1.0,
        kind=chunk.kind,
        language=chunk.language,
        symbols=chunk.symbols,
        signature=chunk.signature,
        breadcrumb=chunk.breadcrumb,
        doc_comment=chunk.doc_comment,
        focus=focus,
        focus_column=column,
    )


def _line_hit(line: Line) -> Hit:
    text, column = line.shown()
    return Hit(
        line.path,
        Span(line.number, line.number),
        text,
        1.0,
        "line",
        "text",
        focus=line.number,
        focus_column=column,
        lines=(line.number,),
    )
