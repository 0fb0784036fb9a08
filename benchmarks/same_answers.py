"""Whether an updated index answers like a rebuilt one, after hundreds of random edits.

    python -m benchmarks.same_answers PROJECT [--edits N] [--batch N] [--seed N]

A copy of the project is edited at random: files are added, changed, deleted, renamed, reverted and
copied. After each batch the index is updated. At the end, twenty questions of all kinds are asked of
the updated index and of one built from nothing. An answer is the same if it has the same hits in the
same order, with the same lines and scores. Beside that, the processor time per update is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from findspot import Engine, FindspotError, Project
from findspot.core.model import Corpus, GroupBy, Mode, Query

Answers = dict[str, Any]
Answer = Callable[[Project], Any]

_NAME = re.compile(r"^\s*(?:def|class|func|fn|function|interface|struct)\s+(\w{4,})", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]{4,}")
_DIGITS = 6
"""Of a score: differences beyond are differences of rounding."""

_ENDINGS = frozenset({".py", ".js", ".ts", ".tsx", ".go", ".rs", ".java", ".c", ".h", ".rb", ".md", ".rst"})
_TIMES = frozenset({"elapsed_ms", "elapsed_s", "seconds"})


class Edits:
    """Changes files of a project at random; the same seed makes the same changes."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self._chance = random.Random(seed)
        paths = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix in _ENDINGS)
        self._first = {str(path.relative_to(root)): path.read_bytes() for path in paths}
        self._now = dict(self._first)
        self._clock = 1_600_000_000

    @property
    def files(self) -> Mapping[str, bytes]:
        """The files as they are, by path."""
        return self._now

    def make(self, count: int) -> None:
        """Make some edits."""
        for _ in range(count):
            self._chance.choice(
                [self._change, self._change, self._add, self._delete, self._rename, self._revert, self._copy]
            )()

    def _any(self) -> str:
        return self._chance.choice(sorted(self._now))

    def _lines(self) -> list[bytes]:
        return self._first[self._chance.choice(sorted(self._first))].splitlines(keepends=True)

    def _write(self, path: str, data: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        self._clock += 10
        os.utime(target, (self._clock, self._clock))
        self._now[path] = data

    def _change(self) -> None:
        """Replace some lines of a file by lines of another."""
        path = self._any()
        lines, others = self._now[path].splitlines(keepends=True), self._lines()
        at, start = self._chance.randint(0, len(lines)), self._chance.randint(0, len(others))
        lines[at : at + self._chance.randint(0, 12)] = others[start : start + self._chance.randint(1, 30)]
        self._write(path, b"".join(lines))

    def _add(self) -> None:
        folder, suffix = Path(self._any()).parent, Path(self._any()).suffix
        name = f"{self._chance.choice(['cache', 'entry', 'reader', 'item'])}_{self._chance.randint(0, 99)}"
        self._write(str(folder / f"{name}{suffix}"), b"".join(self._lines()[: self._chance.randint(5, 80)]))

    def _delete(self) -> None:
        if len(self._now) > len(self._first) // 2:
            path = self._any()
            (self.root / path).unlink()
            del self._now[path]

    def _rename(self) -> None:
        path = self._any()
        other = str(
            Path(path).with_name(f"{Path(path).stem}_{self._chance.randint(0, 9)}{Path(path).suffix}")
        )
        data = self._now.pop(path)
        (self.root / path).unlink()
        self._write(other, data)

    def _revert(self) -> None:
        path = self._chance.choice(sorted(self._first))
        self._write(path, self._first[path])

    def _copy(self) -> None:
        """Copy a file as it is: its chunks tie with those of the original."""
        path = self._any()
        self._write(str(Path(path).with_name(f"copy_of_{Path(path).name}")), self._now[path])


def questions(files: Mapping[str, bytes], seed: int = 0) -> dict[str, Answer]:
    """Return twenty questions of mixed kinds about some files."""
    chance = random.Random(seed)
    texts = {path: data.decode("utf-8", "replace") for path, data in sorted(files.items())}
    code = {path: text for path, text in texts.items() if not path.endswith((".md", ".rst"))}
    names = sorted({name for text in code.values() for name in _NAME.findall(text)})
    long = sorted(path for path, text in code.items() if text.count("\n") > 20) or sorted(code)
    words = _WORD.findall(" ".join(texts.values()))
    name = [chance.choice(names) for _ in range(7)]
    some = [" ".join(chance.sample(words, 5)) for _ in range(7)]
    report = f"Crash in {name[5]}\n\n{chance.choice(list(code.values()))[:1500]}\n\n{' '.join(some)}"
    place = f"{chance.choice(long)}:1-20"
    folder = str(Path(chance.choice(long)).parent)
    return {
        "question": _search(Query(f"where is {some[0]} handled")),
        "words": _search(Query(some[1])),
        "one word": _search(Query("return", limit=20)),
        "symbol": _search(Query(name[0])),
        "name in a sentence": _search(Query(f"how does {name[1]} work")),
        "related": _search(Query(name[2], related=True)),
        "semantic": _search(Query(some[2], mode=Mode.SEMANTIC)),
        "keyword": _search(Query(some[3], mode=Mode.KEYWORD)),
        "keyword, many": _search(Query(some[4], mode=Mode.KEYWORD, limit=50)),
        "docs": _search(Query(f"how to {some[5]}", corpus=Corpus.DOCS)),
        "report": _search(Query(report)),
        "stack trace": _search(
            Query(f'{some[6]}\n  File "{chance.choice(long)}", line 9, in {name[3]}\n' * 3)
        ),
        "similar": _search(Query("", similar_to=place)),
        "regex": _search(Query(r"def \w+_\w+\(", mode=Mode.REGEX, limit=40)),
        "by file": _search(Query(some[0], group_by=GroupBy.FILE)),
        "by definition": _search(Query(some[1], group_by=GroupBy.SYMBOL)),
        "one folder": _search(Query(some[3], under=None if folder == "." else folder)),
        "callers": _research(f"what calls {name[4]}"),
        "impact": _research(f"what breaks if I change {name[5]}"),
        "open": _research(f"how does {name[6]} relate to {name[0]}"),
    }


def _search(query: Query) -> Answer:
    def ask(project: Project) -> Any:
        results = project.search(query)
        return [results.total, results.nothing_fits, *map(_plain, results.hits)]

    return ask


def _plain(hit: Any) -> Any:
    constants = [(each.path, each.line) for each in (*hit.constants, *hit.callers)]
    return (
        hit.path, hit.span.start, hit.span.end, round(hit.score, _DIGITS), round(hit.relative, _DIGITS),
        hit.symbols, hit.more, constants,
    )  # fmt: skip


def _research(question: str) -> Answer:
    return lambda project: _without_times(asdict(project.research(question)))


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if key not in _TIMES}
    if isinstance(value, (list, tuple)):
        return [_without_times(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    return round(value, _DIGITS) if isinstance(value, float) else value


def answers(project: Project, asked: Mapping[str, Answer]) -> Answers:
    """Ask a project all questions; a refusal is an answer too."""
    found: Answers = {}
    for name, ask in asked.items():
        try:
            found[name] = ask(project)
        except FindspotError as error:
            found[name] = error.user_message
    return found


def differences(some: Answers, others: Answers) -> list[str]:
    """Return the questions with different answers, each with the first difference."""
    return [
        f"{name}: {_first_difference(some[name], others[name])}"
        for name in some
        if some[name] != others[name]
    ]


def _first_difference(one: Any, other: Any) -> str:
    if isinstance(one, list) and isinstance(other, list):
        for place, (left, right) in enumerate(zip(one, other, strict=False)):
            if left != right:
                return f"at {place}: {left} / {right}"
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one:
            if one[key] != other.get(key):
                return f"{key} {_first_difference(one[key], other.get(key))}"
    return f"{str(one)[:300]} / {str(other)[:300]}"


@contextmanager
def opened(root: Path, home: Path) -> Iterator[Project]:
    """Open a project whose index is in a home of its own."""
    before = os.environ.get("FINDSPOT_HOME")
    os.environ["FINDSPOT_HOME"] = str(home)
    try:
        with closing(Engine()) as engine:
            yield engine.project(root)
    finally:
        if before is None:
            del os.environ["FINDSPOT_HOME"]
        else:
            os.environ["FINDSPOT_HOME"] = before


def rebuilt_answers(root: Path, home: Path, asked: Mapping[str, Answer]) -> Answers:
    """Return what an index answers that is built from nothing."""
    shutil.rmtree(home, ignore_errors=True)
    with opened(root, home) as project:
        project.update(allow_large=True)
        return answers(project, asked)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("project", type=Path)
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--batch", type=int, default=5, help="edits per update")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="findspot-same-") as place:
        root = Path(place, "project")
        shutil.copytree(options.project, root, ignore=shutil.ignore_patterns(".git", ".venv", "node_modules"))
        edits = Edits(root, options.seed)
        with opened(root, Path(place, "home")) as project:
            project.update(allow_large=True)
            start, updates = _processor_time(), 0
            for done in range(0, options.edits, options.batch):
                edits.make(min(options.batch, options.edits - done))
                project.update(allow_large=True)
                updates += 1
            spent = (_processor_time() - start) / max(1, updates)
            asked = questions(edits.files, options.seed)
            updated = answers(project, asked)
        different = differences(updated, rebuilt_answers(root, Path(place, "rebuilt"), asked))
    sys.stdout.write(
        f"{options.edits} edits in {updates} updates, {1000 * spent:.0f} ms of processor time per update\n"
        f"{len(asked) - len(different)} of {len(asked)} answers are those of a rebuilt index\n"
    )
    for line in different:
        sys.stdout.write(f"  {line[:400]}\n")
    sys.exit(1 if different else 0)


def _processor_time() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
