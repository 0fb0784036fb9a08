"""Ask for the public API of installed packages by what it does, and count where the right definition comes.

The questions are the first sentences of doc comments, without the name of what they describe:

    python -m benchmarks.dependencies PROJECT [--packages 30] [--questions 300]

PROJECT is a folder with installed packages, such as this repository with its `.venv`. Direct dependencies
come first, by name, with ten questions each. Nothing here was used to choose how packages are searched.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from findspot import Engine, Query
from findspot.chunk.capsule import doc_comment
from findspot.chunk.splitting import SourceLines
from findspot.core.model import Corpus, Hit
from findspot.core.paths import SCHEME
from findspot.dependencies.package import Dependency
from findspot.dependencies.package_modules import read_definitions, stored_text
from findspot.project import Project

_SENTENCE = re.compile(r"^(.+?)(?:[.:]\s|[.:]?\n\n|$)", re.DOTALL)
_MARKUP = re.compile(r"[`*]+|:\w+:|\{@\w+ |[{}]")
_LEAST_WORDS, _MOST_WORDS = 5, 30
_SEED = 23


class Asked(NamedTuple):
    """A question, and the definition that answers it."""

    text: str
    path: str
    line: int
    name: str


def main() -> None:
    """Print how often the right definition is among the first, and what the first question costs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", type=Path)
    parser.add_argument("--packages", type=int, default=30)
    parser.add_argument("--questions", type=int, default=300)
    given = parser.parse_args()
    project = Engine().project(given.project)
    start = time.perf_counter()
    listed = project.packages.listed()
    sys.stdout.write(f"{len(listed)} dependencies listed in {time.perf_counter() - start:.2f} s\n")
    usable = [each for each in listed if each.folder is not None and each.folder.is_dir()]
    ranks: list[int] = []
    foreign = 0
    asked_of = 0
    for package in sorted(usable, key=lambda each: (not each.direct, each.name)):
        questions = _questions(project, package, given.questions // given.packages)
        if not questions:
            continue
        asked_of += 1
        found = [_rank(project, package, question) for question in questions]
        ranks += [rank for rank, _ in found]
        foreign += sum(count for _, count in found)
        first = sum(0 < rank <= 5 for rank, _ in found)
        sys.stderr.write(f"  {package.label}: {first} of {len(found)}\n")
        if asked_of == given.packages:
            break
    for most in (1, 3, 5, 10):
        sys.stdout.write(
            f"right definition in the first {most}: {sum(0 < r <= most for r in ranks) / len(ranks):.3f}\n"
        )
    sys.stdout.write(
        f"{len(ranks)} questions about {asked_of} packages; hits that are not of the package: {foreign}\n"
    )


def _rank(project: Project, package: Dependency, question: Asked) -> tuple[int, int]:
    hits = project.search(Query(question.text, dependency=package.label, limit=10)).hits
    prefix = f"{SCHEME}{package.label}/"
    foreign = sum(not hit.path.startswith(prefix) for hit in hits)
    places = (number for number, hit in enumerate(hits, 1) if _is_right(hit, prefix, question))
    return next(places, 0), foreign


def _is_right(hit: Hit, prefix: str, question: Asked) -> bool:
    """Return whether a hit shows the line that defines what is asked for."""
    same_file = hit.path == f"{prefix}{question.path}"
    return same_file and hit.span.start <= question.line <= hit.span.end


def _questions(project: Project, package: Dependency, most: int) -> list[Asked]:
    found = list(_documented(project, package))
    random.Random(f"{_SEED}{package.name}").shuffle(found)
    unique = {question.text: question for question in found}
    return list(unique.values())[:most] if len(unique) >= most else []


def _documented(project: Project, package: Dependency) -> Iterator[Asked]:
    project.search(Query(package.name, dependency=package.label, limit=1))  # now it has an index
    index, _ = project.packages.holding(f"{SCHEME}{package.label}/")
    with index.store.snapshot() as snapshot:
        for file in snapshot.files.files:
            if file.corpus != Corpus.CODE:
                continue
            text = stored_text(snapshot, file.path)
            lines = SourceLines(text)
            for definition, source in read_definitions(file.language, text):
                names = [each.name for each in (definition, *definition.enclosing())]
                comment = doc_comment(definition, source, lines)
                if comment and not any(name.startswith("_") for name in names):
                    question = _question(comment, names)
                    if question:
                        yield Asked(question, file.path, definition.row + 1, definition.name)


def _question(comment: str, names: list[str]) -> str:
    """Return the first sentence of a comment without the names of what it describes."""
    sentence = _SENTENCE.match(comment)
    text = " ".join(_MARKUP.sub(" ", sentence[1] if sentence else "").split())
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", text, flags=re.IGNORECASE)
    words = text.split()
    return " ".join(words) if _LEAST_WORDS <= len(words) <= _MOST_WORDS else ""


if __name__ == "__main__":
    main()
