"""Regular expressions over the indexed files, through the bundled ripgrep.

Its engine takes time linear in the text whatever the pattern, so no pattern can hang a search;
a time limit guards against sheer size.
"""

from __future__ import annotations

import os
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Hit, Query, Results, Span
from findspot.core.platforms import NO_WINDOW
from findspot.core.roots import Roots
from findspot.search.filters import allowed_files, nothing_to_search
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.text.ripgrep import SIZE_LIMITS, check_pattern, refusal, ripgrep_binary

MAX_MATCHING_LINES = 10_000
TIMEOUT_S = 10.0

_PATHS_A_RUN = 500
"""Paths handed over on one command line: far below what any system allows."""

_OPTIONS = (
    "--no-config", "--no-ignore", "--hidden", "--no-messages", "--color=never",
    "--with-filename", "--no-heading", "--line-number", "--column", "--null",
    "--text", "--crlf",  # the index has decided what is text, and `$` means the end of a line
    "--threads=1",  # files in the order given, so that stopping early always stops at the same place
    *SIZE_LIMITS,
)  # fmt: skip


class Line(NamedTuple):
    """A matching line, and the column of its first match."""

    path: str
    number: int
    text: str
    column: int


def search_regex(snapshot: Snapshot, root: Path | Roots, query: Query) -> Results:
    """Chunks that hold a matching line, in order of path and line."""
    started = time.perf_counter()
    root = Roots.of(root)
    check_pattern(query.text)
    paths = [file.path for file in allowed_files(snapshot, query).files]
    warning = None if paths else nothing_to_search(snapshot, query)
    found = list(islice(_matching_lines(root, query.text, _regular(root, paths)), MAX_MATCHING_LINES + 1))
    if len(found) > MAX_MATCHING_LINES:
        found.pop()
        warning = f"Stopped after {MAX_MATCHING_LINES:,} matching lines."
    hits: list[Hit] = []
    for path, lines in groupby(found, key=lambda line: line[0]):
        if _is_inside(root, path):
            hits.extend(_hits(snapshot, path, list(lines)))
    return Results(
        query=query.text,
        mode=query.mode,
        hits=tuple(hits[query.offset : query.offset + query.limit]),
        total=len(hits),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warning=warning,
    )


def _matching_lines(roots: Roots, pattern: str, paths: Sequence[str]) -> Iterator[Line]:
    """The matching lines of all files, in order of path and line."""
    deadline = time.monotonic() + TIMEOUT_S
    for folder, held in groupby(paths, key=lambda path: roots.holding(path)[0]):
        listed = list(held)
        prefix = listed[0].removesuffix(roots.holding(listed[0])[1])
        for first in range(0, len(listed), _PATHS_A_RUN):
            part = [f"./{path.removeprefix(prefix)}" for path in listed[first : first + _PATHS_A_RUN]]
            for output in _ripgrep(folder, [f"--regexp={pattern}", "--", *part], deadline, pattern):
                path, _, rest = output.partition(b"\0")
                number, column, text = rest.split(b":", 2)
                inside = os.fsdecode(path).removeprefix("./")
                yield _line(prefix + inside, int(number), text.rstrip(b"\r\n"), int(column) - 1)


def _ripgrep(root: Path, arguments: Sequence[str], deadline: float, pattern: str) -> Iterator[bytes]:
    """What one run prints, line by line; it is stopped when nobody reads on, or when time is up."""
    with subprocess.Popen(
        [ripgrep_binary(), *_OPTIONS, *arguments],
        cwd=root,
        stdin=subprocess.DEVNULL,
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

        timer = threading.Timer(max(0.1, deadline - time.monotonic()), stop)
        timer.start()
        try:
            yield from process.stdout
            complaint = process.stderr.read()
            process.wait()
        finally:
            timer.cancel()
            process.kill()
    if late.is_set():
        raise InvalidArgumentError(
            f"The pattern took longer than {TIMEOUT_S:.0f} s.",
            hint="Make it more specific, or limit the files with path_filter.",
        )
    if process.returncode > 1 and b"regex" in complaint:
        raise refusal(pattern, complaint.decode("utf-8", "replace"))


def _line(path: str, number: int, line: bytes, at: int) -> Line:
    """A line decoded as the indexed text was read: UTF-8, else Latin-1; `at` is a byte of it."""
    try:
        return Line(path, number, line.decode("utf-8"), len(line[:at].decode("utf-8")))
    except UnicodeDecodeError:
        return Line(path, number, line.decode("latin-1"), at)


def _regular(root: Roots, paths: Sequence[str]) -> list[str]:
    """Those that are files still: ripgrep would follow a link, and wait for a pipe."""
    inside: dict[str, bool] = {}
    kept = []
    for path in paths:
        folder = path.rpartition("/")[0]
        if folder not in inside:
            inside[folder] = _is_inside(root, folder)
        if inside[folder] and _is_file(root / path):
            kept.append(path)
    return kept


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _is_inside(roots: Roots, path: str) -> bool:
    """Whether no link has come, since the file was indexed, to lead elsewhere."""
    folder, inside = roots.holding(path)
    real = os.path.realpath(folder)
    return os.path.realpath(folder / inside) == (os.path.join(real, inside) if inside else real)  # noqa: PTH118


def _hits(snapshot: Snapshot, path: str, lines: Sequence[Line]) -> list[Hit]:
    """The chunks around the matching lines; a line that the index does not know stands alone."""
    chunks = [chunk for chunk in snapshot.chunks_of(path) if chunk.kind != "outline"]
    hits: dict[int, Hit] = {}
    for line in lines:
        held = _holding(chunks, line)
        number, hit = (held[0].number, _chunk_hit(*held, line.number)) if held else (-line.number, None)
        hits.setdefault(number, hit or _line_hit(line))
    return list(hits.values())


def _holding(chunks: Sequence[StoredChunk], line: Line) -> tuple[StoredChunk, int] | None:
    """The chunk that holds the match, and its column there; None if the index has another line.

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
    return Hit(
        line.path,
        Span(line.number, line.number),
        line.text,
        1.0,
        "line",
        "text",
        focus=line.number,
        focus_column=line.column,
    )
