"""Cases from doc comments: the first sentence → the function that it describes, its own lines hidden.

The form is that of `commits.py`, with `hidden` (`path`, `start_line`, `end_line`): the lines of the comment
itself, which must not be searched. Each repository is read at the state of its newest commit case.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from commits import CACHE, Case, collect_all, git, is_production, run_git
from extract import first_paragraph
from findspot.chunk.grammars import ParseTimeoutError, TreeTooCostlyError, grammar_for
from findspot.chunk.splitting import SourceLines
from findspot.chunk.symbols import Definition, end_row, read_symbols
from findspot.core.languages import language_of
from messages import telling_words, words
from mirrors import texts

MAX_CASES = 20
MAX_FILES = 150
FILES_AT_ONCE = 30
PER_FILE = 2
SENTENCE_WORDS = range(5, 41)
MIN_TELLING_WORDS = 3
MIN_BODY_LINES = 4

_MARK = re.compile(r"^\s*(?:/\*+!?|\*+/|\*+|//+!?|\#+|--+[|^]?|;+|\{-\s*\|?|-\})\s?|\s*(?:\*+/|-\})\s*$")
_QUOTES = re.compile(r"^[rRuUbBfF]*(?:\"\"\"|'''|\"|')|(?:\"\"\"|'''|\"|')$")
_SUMMARY_TAG = re.compile(r"</?summary>|^\s*@(?:brief|description|desc)\s+", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`<\[(])")


class Documented(NamedTuple):
    """A function and the comment that describes it, as first and last lines."""

    sentence: str
    comment: tuple[int, int]
    function: tuple[int, int]


def first_sentence(comment: str, name: str = "") -> str:
    """Return the first sentence of a doc comment; empty where it is no prose or says too little.

    A `name` at its start, as Go has it, is left out: a question would not know it.
    """
    lines = [_MARK.sub("", line) for line in _QUOTES.sub("", comment.strip()).splitlines()]
    sentence = _SENTENCE_END.split(first_paragraph(_SUMMARY_TAG.sub("", "\n".join(lines))))[0]
    sentence = sentence.removeprefix(f"{name} " if name else "")
    tells = len(words(sentence)) in SENTENCE_WORDS and len(telling_words(sentence)) >= MIN_TELLING_WORDS
    return sentence if tells else ""


def documented(path: str, text: str) -> Iterator[Documented]:
    """Yield the functions of a file that have a doc comment which says something."""
    grammar = grammar_for(language_of(path))
    if grammar is None:
        return
    source, lines = text.encode("utf-8", "surrogatepass"), SourceLines(text)
    try:
        root = grammar.parse(source).root_node
        definitions, _ = grammar.matches(root)
        symbols = read_symbols(grammar, definitions, source, lines)
    except (ParseTimeoutError, TreeTooCostlyError):
        return
    for definition in symbols.definitions:
        rows = comment_rows(definition) if definition.kind in ("function", "method") else None
        if rows is None:
            continue
        sentence = first_sentence(lines.slice(*rows), definition.name if grammar.language == "go" else "")
        start = max(rows[1] + 1, definition.first) if rows[0] < definition.row else definition.first
        inside = rows[1] - rows[0] + 1 if rows[0] > definition.row else 0
        if sentence and definition.last - start - inside >= MIN_BODY_LINES:
            yield Documented(sentence, (rows[0] + 1, rows[1] + 1), (start + 1, definition.last + 1))


def comment_rows(definition: Definition) -> tuple[int, int] | None:
    """Return the rows of a definition's doc string, else of the comment above it."""
    if definition.doc is not None:
        return definition.doc.start_point[0], end_row(definition.doc)
    if definition.comment_rows:
        return definition.comment_rows[0][0], definition.comment_rows[-1][1]
    return None


def cases_of(mirror: Path, repository: str) -> list[Case]:
    """Return the cases of one repository: at most a few per file, files in an order that is fixed."""
    newest = CACHE / "commits" / f"{mirror.parent.name}.jsonl"
    first = newest.read_text("utf-8").partition("\n")[0] if newest.exists() else ""
    if not first:
        return []
    commit = json.loads(first)["commit"]
    sentences: set[str] = set()
    cases: list[Case] = []
    for path, text in files_of(mirror, commit, repository):
        fresh = (found for found in documented(path, text) if found.sentence.lower() not in sentences)
        for found in islice(fresh, PER_FILE):
            sentences.add(found.sentence.lower())
            cases.append(case_of(repository, commit, path, found))
        if len(cases) >= MAX_CASES:
            break
    return cases[:MAX_CASES]


def case_of(repository: str, commit: str, path: str, found: Documented) -> Case:
    """Return one case as it is written."""
    return {
        "id": f"{commit}:{path}:{found.function[0]}",
        "repo": repository,
        "commit": commit,
        "kind": "docstring",
        "language": language_of(path),
        "query": found.sentence,
        "relevant": [{"path": path, "start_line": found.function[0], "end_line": found.function[1]}],
        "hidden": {"path": path, "start_line": found.comment[0], "end_line": found.comment[1]},
        "tests": [],
    }


def files_of(mirror: Path, commit: str, repository: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of some production files, in an order that the repository's name decides."""
    listing = git(mirror, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "replace")
    paths = [path for path in listing.split("\0") if path and is_production(path)]
    paths.sort(key=lambda path: hashlib.sha256(f"{repository}:{path}".encode()).digest())
    for first in range(0, min(len(paths), MAX_FILES), FILES_AT_ONCE):
        some = paths[first : first + FILES_AT_ONCE]
        asked = "".join(f"{commit}:{path}\n" for path in some).encode()
        _, answer = run_git(mirror, ["cat-file", "--batch"], asked)
        yield from ((path, text) for path, text in zip(some, texts(answer), strict=False) if text)


if __name__ == "__main__":
    collect_all("docstrings", cases_of, __doc__)
