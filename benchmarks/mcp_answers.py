"""Answers of a real server, and when each line of code appears in them.

A client gives its model one of three views of an answer: the structured content as compact JSON, where there
is any ("structured"), the text ("text"), or the text and then the structured content ("both"). Links to
resources end every view. Tokens are counted by the project's own rule, four characters per token
(`findspot.search.token_budget.token_count`).

A passage *names* its file once its path has been read, and its lines once its range has been, too. It *shows*
lines whose source is in the view, if at least three of them follow each other (or all, where its range has
fewer). So a one-line entry (`path:start-end  symbol`), a signature alone or scattered lines that match name a
place and show nothing.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.metrics import Place
from benchmarks.sets import Case, materialise
from benchmarks.start import OURS, Server
from findspot.core.model import Strength
from findspot.search.token_budget import token_count

VIEWS = ("structured", "text", "both")
LEAST_LINES = 3
"""Lines in a row, at least, that show a passage longer than that; blank ones count for nothing."""

_COMPACT, _PLAIN = (",", ":"), (", ", ": ")
_ENTRY = re.compile(
    r"^\s*(?:#?\d+[.)]?\s+|[-*]\s+)?(?P<path>[^\s:][^:]*):(?P<start>\d+)(?:-(?P<end>\d+))?(?=\s|$)"
)
_NUMBERED = re.compile(r"^\s*\d+\s*[:|│→\t]\s?")


@dataclass
class Passage:
    """One entry of an answer; places in the view are counted in characters."""

    path: str
    start: int
    end: int
    label: str
    """What the entry says the passage is."""
    path_at: int
    named_at: int
    lines: dict[int, int] = field(default_factory=dict)
    """Each line of the file that is shown, with the place where it ends."""
    shown_at: int | None = None
    """Where the passage has shown enough lines to count."""

    def match(self, shown: list[tuple[str, int]], source: list[str]) -> None:
        """Find the lines of the file that the entry shows, in order."""
        position = self.start - 1
        for text, ends_at in shown:
            for candidate in (text.strip(), _NUMBERED.sub("", text).strip()):
                number = _index(source, candidate, position, self.end) if candidate else None
                if number is not None:
                    self.lines[number + 1] = ends_at
                    position = number + 1
                    break
        needed = min(LEAST_LINES, sum(map(bool, source[self.start - 1 : self.end])))
        number = end_of_run(self.lines, source, needed)
        if number is not None:
            self.shown_at = self.lines[number]

    def seen_at(self, target: Place, prefix: str = "") -> int | None:
        """Return where a wanted passage has been shown; a wanted file is shown by any of its passages."""
        if self.shown_at is None or prefix + self.path != target.path:
            return None
        if target.start is None or target.end is None:
            return self.shown_at
        wanted = [at for line, at in self.lines.items() if target.start <= line <= target.end]
        return max(self.shown_at, min(wanted)) if wanted else None

    def names_at(self, target: Place, prefix: str = "") -> int | None:
        """Return where a wanted file has been named and, where it has a range, some of its lines."""
        if prefix + self.path != target.path:
            return None
        if target.start is None or target.end is None:
            return self.path_at
        return self.named_at if self.start <= target.end and target.start <= self.end else None


def end_of_run(numbers: Iterable[int], source: list[str], length: int = LEAST_LINES) -> int | None:
    """Return the last of the first lines that follow each other, blank ones passed over."""
    run, previous = 0, 0
    for number in sorted(numbers):
        run = run + 1 if not any(source[previous : number - 1]) else 1
        if run == length:
            return number
        previous = number
    return None


def _index(source: list[str], line: str, first: int, end: int) -> int | None:
    return next((number for number in range(first, min(end, len(source))) if source[number] == line), None)


@dataclass(frozen=True)
class View:
    """What a model reads of an answer, and the passages in it."""

    text: str
    passages: tuple[Passage, ...]
    links: int
    """Tokens of the links to resources at its end."""

    @property
    def tokens(self) -> int:
        return token_count(self.text)


class Project:
    """A folder that a server answers about."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self._server = server

    def ask(self, tool: str, **arguments: Any) -> tuple[dict[str, Any], float]:
        """Return the result of a call that must succeed, and the seconds it took."""
        started = time.perf_counter()
        result = self._server.ask("tools/call", {"name": tool, "arguments": arguments})
        seconds = time.perf_counter() - started
        if result.get("isError", True):
            raise RuntimeError(f"{tool} {arguments}: {result}")
        return result, seconds

    def views(self, result: dict[str, Any]) -> dict[str, View]:
        """Return the three views of an answer."""
        texts = [part["text"] for part in result["content"] if part["type"] == "text"]
        links = [_dumps(part) for part in result["content"] if part["type"] == "resource_link"]
        text = "\n".join(texts)
        values = result.get("structuredContent")
        structured = text if values is None else _dumps(values)
        both = text if values is None else f"{text}\n{structured}"
        return {
            "structured": self._view(structured, links, ((structured, 0),)),
            "text": self._view(text, links, ((text, 0),)),
            "both": self._view(both, links, ((text, 0), (structured, len(text) + 1))),
        }

    def _view(self, text: str, links: list[str], parts: tuple[tuple[str, int], ...]) -> View:
        passages = [passage for part, offset in parts for passage in self._passages(part, offset)]
        whole = "\n".join((text, *links))
        return View(whole, tuple(passages), token_count(whole[len(text) :]))

    def _passages(self, text: str, offset: int) -> Iterator[Passage]:
        try:
            values = json.loads(text)
        except ValueError:
            yield from self._listed(text, offset)
            return
        yield from self._in_json(text, values, offset)

    def _in_json(self, text: str, values: dict[str, Any], offset: int) -> Iterator[Passage]:
        """Yield the results of a JSON answer."""
        separators = _COMPACT if _dumps(values) == text else _PLAIN
        begins = 0
        for result in values.get("results", ()):
            written = _dumps(result, separators)
            begins = text.index(written, begins)
            ends = _field_ends(result, written, offset + begins, separators)
            path_at, named_at = ends["path"], max(ends["path"], ends["startLine"], ends["endLine"])
            start, end = result["startLine"], result["endLine"]
            passage = Passage(result["path"], start, end, _label(result), path_at, named_at)
            shown, position = [], ends["text"] - len(_dumps(result["text"])) + 1
            for line in result["text"].split("\n"):
                position += len(_dumps(line)) - 2
                shown.append((line, max(position, path_at)))
                position += 2
            passage.match(shown, source_lines(self.folder / passage.path))
            yield passage

    def _listed(self, text: str, offset: int) -> Iterator[Passage]:
        """Yield the entries of a listing: a line that begins with `path:start-end`, then lines of source."""
        passage: Passage | None = None
        shown: list[tuple[str, int]] = []
        position = offset
        for line in text.split("\n"):
            position += len(line) + 1
            entry = _ENTRY.match(line)
            if entry and (self.folder / entry["path"]).is_file():
                if passage:
                    passage.match(shown, source_lines(self.folder / passage.path))
                    yield passage
                start = int(entry["start"])
                end, label = int(entry["end"] or start), _listed_label(line[entry.end() :].strip())
                named_at = position - len(line) - 1 + entry.end()
                passage, shown = Passage(entry["path"], start, end, label, named_at, named_at), []
            elif passage:
                shown.append((line, position - 1))
        if passage:
            passage.match(shown, source_lines(self.folder / passage.path))
            yield passage


@cache
def source_lines(path: Path) -> list[str]:
    """Return the stripped lines of a file; of none, nothing."""
    if not path.is_file():
        return []
    return [line.strip() for line in path.read_text("utf-8", "replace").split("\n")]


def _dumps(value: Any, separators: tuple[str, str] = _COMPACT) -> str:
    return json.dumps(value, ensure_ascii=False, separators=separators)


def _field_ends(
    result: dict[str, Any], written: str, offset: int, separators: tuple[str, str]
) -> dict[str, int]:
    """Return where the fields of a result end in the view."""
    pairs = {name: _dumps({name: value}, separators)[1:-1] for name, value in result.items()}
    return {name: offset + written.index(pair) + len(pair) for name, pair in pairs.items()}


def _label(result: dict[str, Any]) -> str:
    """Return the symbol that a structured result names as its own."""
    label = result.get("symbol") or result.get("name") or result.get("breadcrumb") or result.get("signature")
    return str(label or "")


def _listed_label(said: str) -> str:
    """Return the symbol of an entry of a listing, which stands first after its range."""
    fields = [field for field in re.split(r"\s{2,}", said) if not field.endswith("%")]
    return fields[0] if fields and fields[0] not in set(Strength) else ""


@contextmanager
def serving(case: Case, sets: Path, mirrors: Path | None, cache: Path) -> Iterator[Project]:
    """Serve the folder that a case is asked about; its index is made once and kept beside the checkouts."""
    folder = (materialise(case, sets, mirrors, cache) / case.root).resolve()
    server = Server(OURS, cache / "home", cwd=folder)
    project = Project(folder, server)
    try:
        project.ask("index_codebase", path=str(folder))
        yield project
    finally:
        server.close()
