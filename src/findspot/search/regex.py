"""Regular expressions over the indexed files, through the bundled ripgrep.

Its engine takes time linear in the text whatever the pattern, so no pattern can hang a search;
a time limit guards against sheer size.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from findspot.core.errors import InvalidArgumentError
from findspot.core.model import Hit, Query, Results, Span
from findspot.search.filters import allowed_files
from findspot.store.records import StoredChunk
from findspot.store.snapshot import Snapshot
from findspot.text.ripgrep import SIZE_LIMITS, check_pattern, refusal, ripgrep_binary

MAX_MATCHING_LINES = 10_000
TIMEOUT_S = 10.0

_PATHS_A_RUN = 500
"""Paths handed over on one command line: far below what any system allows."""

_LIMITS = (*SIZE_LIMITS, f"--max-count={MAX_MATCHING_LINES}")


def search_regex(snapshot: Snapshot, root: Path, query: Query) -> Results:
    """Chunks that hold a matching line, in order of path and line."""
    started = time.perf_counter()
    check_pattern(query.text)
    paths = [file.path for file in allowed_files(snapshot, query)]
    hits: list[Hit] = []
    warning = None
    matches = 0
    for path, lines in _matching_lines(root, query.text, paths):
        matches += len(lines)
        hits.extend(_hits(snapshot, path, lines))
        if matches >= MAX_MATCHING_LINES:
            warning = f"Stopped after {MAX_MATCHING_LINES:,} matching lines."
            break
    return Results(
        query=query.text,
        mode=query.mode,
        hits=tuple(hits[query.offset : query.offset + query.limit]),
        total=len(hits),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        warning=warning,
    )


def _matching_lines(root: Path, pattern: str, paths: Sequence[str]) -> Iterator[tuple[str, dict[int, str]]]:
    """Each file with its matching lines, in order of path."""
    deadline = time.monotonic() + TIMEOUT_S
    for first in range(0, len(paths), _PATHS_A_RUN):
        part = paths[first : first + _PATHS_A_RUN]
        found: dict[str, dict[int, str]] = {}
        for line in _ripgrep(root, pattern, part, deadline):
            event = json.loads(line)
            if event["type"] == "match":
                data = event["data"]
                path = data["path"].get("text", "").removeprefix("./")
                found.setdefault(path, {})[data["line_number"]] = data["lines"].get("text", "").rstrip("\r\n")
        yield from sorted(found.items())


def _ripgrep(root: Path, pattern: str, paths: Sequence[str], deadline: float) -> list[bytes]:
    command = [ripgrep_binary(), "--json", "--no-config", "--no-ignore", "--hidden", "--no-messages", *_LIMITS]
    try:
        done = subprocess.run(
            [*command, "--regexp", pattern, "--", *(f"./{path}" for path in paths)],
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(0.1, deadline - time.monotonic()),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidArgumentError(
            f"The pattern took longer than {TIMEOUT_S:.0f} s.",
            hint="Make it more specific, or limit the files with path_filter.",
        ) from None
    if done.returncode > 1 and b"regex" in done.stderr:
        raise refusal(pattern, done.stderr.decode("utf-8", "replace"))
    return done.stdout.splitlines()


def _hits(snapshot: Snapshot, path: str, lines: dict[int, str]) -> list[Hit]:
    """The chunks around the matching lines; a line that the index does not know stands alone."""
    chunks = [chunk for chunk in snapshot.chunks_of(path) if chunk.kind != "outline"]
    hits: dict[tuple[int, int], Hit] = {}
    for number, line in lines.items():
        chunk = next((c for c in chunks if c.start_line <= number <= c.end_line), None)
        fresh = chunk and chunk.text.split("\n")[number - chunk.start_line].rstrip("\r") == line
        hit = _chunk_hit(chunk, number) if chunk and fresh else _line_hit(path, number, line)
        hits.setdefault((hit.span.start, hit.span.end), hit)
    return list(hits.values())


def _chunk_hit(chunk: StoredChunk, focus: int) -> Hit:
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
    )


def _line_hit(path: str, number: int, line: str) -> Hit:
    return Hit(path, Span(number, number), line, 1.0, "line", "text", focus=number)
