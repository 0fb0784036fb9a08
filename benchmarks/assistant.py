"""Three ways to find code without a model: ripgrep, `findspot grep`, or a search, each with reading.

python -m benchmarks.assistant QUESTIONS --mirrors FOLDER [--cache FOLDER] [--json FILE]
python -m benchmarks.assistant --sets FOLDER --mirrors FOLDER [--questions N] [--seed N]

`QUESTIONS` is a file about behaviour, as in `benchmarks.behaviour`; with `--sets`, a sample of short
questions is asked. Fixed policies look until every key place has been read: three of its lines, or half of a
shorter one; of a file without lines, any three. They know at once when they have seen enough, pay for each
call's own text and all of its output, four characters per token, and stop after 15 reads or 30,000 tokens.

- ripgrep: one call prints the 20 files with the most distinct words of the question (`rg -il` for each word,
  sorted and counted; stop words left out, each word by its stem). File after file, one call lists the
  matching lines (at most 40), and one reads the 60 lines where the words are densest; then the next densest.
- grep: one call of `findspot grep -i` with the same words and `--about` the question; then 60 lines around
  each group of matches, in the order of the answer.
- search: one call of `search_code` with the question alone. Ranges that the answer names without showing
  them are read in its order, 60 lines each; then the same call with the next `offset`.

Success is the share of questions of which every key place was read. A policy that fails is charged with what
it spent.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.behaviour import checkout
from benchmarks.economy import SETS, search_tool
from benchmarks.mcp_answers import LEAST_LINES, Project, serving, source_lines
from benchmarks.metrics import Place
from benchmarks.sets import HERE, by_checkout, load
from benchmarks.start import OURS, Server
from findspot.search.token_budget import token_count
from findspot.text.tokens import STOP_WORDS, stem, word_parts, words

MOST_READS = 15
MOST_TOKENS = 30_000
WINDOW = 60
LISTED_FILES = 20
LISTED_LINES = 40
LEAST_CHARS = 3
PROGRAMS = Path(sys.executable).parent

_GROUP = re.compile(r"(?P<path>\S[^:\n]*):(?P<line>\d+)")
"""How `findspot grep --about` begins a group of matches."""
_MATCH = re.compile(r"  (?P<line>\d+): ")

Row = dict[str, Any]


class StopSearch(Exception):  # noqa: N818
    """Everything was seen, or the policy may not go on."""


@dataclass
class Search:
    """A question, what a policy has spent on it, and which lines it has read."""

    folder: Path
    query: str
    wanted: Sequence[Sequence[Place]]
    """Places that all have to be read; of those that are alternatives, one."""
    tool: str = "search_code"
    calls: int = 0
    reads: int = 0
    tokens: int = 0
    lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @property
    def solved(self) -> bool:
        return all(any(map(self._is_read, places)) for places in self.wanted)

    def _is_read(self, place: Place) -> bool:
        seen = self.lines.get(place.path, set())
        if place.start is None or place.end is None:
            return len(seen) >= min(LEAST_LINES, len(source_lines(self.folder / place.path)))
        size = place.end - place.start + 1
        return sum(place.start <= n <= place.end for n in seen) >= min(LEAST_LINES, (size + 1) // 2)

    def spend(self, call: str, output: str, seen: Iterable[tuple[str, int]] = ()) -> None:
        """Charge a call and its output, and note the lines that it showed."""
        self.calls += 1
        self.tokens += token_count(call) + token_count(output)
        for path, line in seen:
            self.lines[path].add(line)
        if self.solved or self.reads >= MOST_READS or self.tokens >= MOST_TOKENS:
            raise StopSearch

    def open(self, path: str, start: int) -> None:
        """Read a window of a file."""
        text = (self.folder / path).read_text("utf-8", "replace").split("\n")
        self.reads += 1
        start = max(1, min(start, len(text) - WINDOW + 1))
        shown = text[start - 1 : start - 1 + WINDOW]
        seen = ((path, number) for number in range(start, start + len(shown)))
        self.spend(f"read {path}:{start}-{start + len(shown) - 1}", "\n".join(shown), seen)


def question_words(query: str) -> list[str]:
    """Return the distinct stems of a question's words and of the parts of its identifiers."""
    every = [part for word in words(query) for part in (word.lower(), *word_parts(word))]
    kept = [word for word in every if len(word) >= LEAST_CHARS and word not in STOP_WORDS]
    return list(dict.fromkeys(map(stem, kept)))


def _output(folder: Path, program: str, *arguments: str) -> str:
    done = subprocess.run([PROGRAMS / program, *arguments], cwd=folder, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


def ripgrep(search: Search, project: Project) -> None:
    """Count words by file, then list and read the files that hold the most."""
    sought = question_words(search.query)
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for word in sought:
        options = "-n", "-i", "-F", "--no-heading", "--sort=path"
        listing = _output(project.folder, "rg", *options, "-e", word, ".")
        for line in listing.split("\n")[:-1]:
            path, number, _ = line.split(":", 2)
            found[path.removeprefix("./")][int(number)].add(word)
    distinct = {path: len(set().union(*lines.values())) for path, lines in found.items()}
    ranked = sorted(found, key=lambda path: (-distinct[path], -len(found[path]), path))[:LISTED_FILES]
    pipeline = f"for w in {' '.join(sought)}; do rg -il $w; done | sort | uniq -c | sort -rn | head -20"
    search.spend(pipeline, "\n".join(f"{distinct[path]} {path}" for path in ranked))
    windows = {path: list(_windows(found[path])) for path in ranked}
    for turn in range(MOST_READS):
        for path in ranked:
            if turn == 0:
                listed = sorted(found[path])[:LISTED_LINES]
                text = (project.folder / path).read_text("utf-8", "replace").split("\n")
                output = "\n".join(f"{number}:{text[number - 1]}" for number in listed)
                search.spend(f"rg -in '{'|'.join(sought)}' {path} | head -{LISTED_LINES}", output,
                             ((path, number) for number in listed))  # fmt: skip
            if turn < len(windows[path]):
                search.open(path, windows[path][turn] - WINDOW // 2)


def _windows(lines: dict[int, set[str]]) -> Iterator[int]:
    """Yield the middles of windows that hold all matching lines, those with the most distinct words first."""
    left = sorted(lines)
    while left:
        groups = [[n for n in left[at : at + WINDOW] if n < first + WINDOW] for at, first in enumerate(left)]
        inside = max(groups, key=lambda group: len(set().union(*(lines[n] for n in group))))
        yield (inside[0] + inside[-1]) // 2
        left = [number for number in left if not inside[0] <= number <= inside[-1]]


def grep(search: Search, project: Project) -> None:
    """Let `findspot grep` order the matches of the same words, then read around them."""
    pattern = "|".join(question_words(search.query))
    output = _output(project.folder, "findspot", "grep", "-i", pattern, "--about", search.query)
    path = ""
    groups: list[tuple[str, int]] = []
    seen: list[tuple[str, int]] = []
    for line in output.split("\n"):
        if match := _MATCH.match(line):
            seen.append((path, int(match["line"])))
        elif group := _GROUP.match(line):
            path = group["path"]
            groups.append((path, int(group["line"])))
    search.spend(f"findspot grep -i '{pattern}' --about '{search.query}'", output, seen)
    for place in groups:
        search.open(*place)


def search(search: Search, project: Project) -> None:
    """Ask the server, and read what its answers name without showing it."""
    offset = 0
    while True:
        arguments: Row = {"query": search.query} | ({"offset": offset} if offset else {})
        result, _ = project.ask(search.tool, **arguments)
        answer = project.views(result)["structured"]
        seen = [(passage.path, line) for passage in answer.passages for line in passage.lines]
        search.spend(f"{search.tool} {json.dumps(arguments, ensure_ascii=False)}", answer.text, seen)
        for passage in answer.passages:
            inside = range(passage.start, passage.end + 1)
            if search.lines[passage.path].isdisjoint(inside):
                middle = (passage.start + passage.end) // 2 - WINDOW // 2
                search.open(passage.path, passage.start if len(inside) > WINDOW else middle)
        if not (results := result["structuredContent"]["results"]):
            raise StopSearch
        offset += len(results)


POLICIES: dict[str, Callable[[Search, Project], None]] = {"ripgrep": ripgrep, "grep": grep, "search": search}


def run(project: Project, query: str, wanted: Sequence[Sequence[Place]], tool: str) -> Row:
    """Return what each policy spends on a question."""
    row: Row = {"query": query}
    for name, policy in POLICIES.items():
        spent = Search(project.folder, query, wanted, tool)
        with contextlib.suppress(StopSearch):
            policy(spent, project)
        row[name] = {"solved": spent.solved, "calls": spent.calls, "tokens": spent.tokens}
    return row


def about_behaviour(args: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each question of a file about behaviour."""
    by_repository: dict[str, list[Row]] = defaultdict(list)
    for line in args.file.read_text("utf-8").splitlines():
        question = json.loads(line)
        by_repository[question["repo"]].append(question)
    for repository, questions in by_repository.items():
        name = repository.replace("/", "+")
        mirror = args.mirrors / name / "repo"
        folder = checkout(mirror, questions[0]["commit"], args.cache / "behaviour" / name).resolve()
        server = Server(OURS, args.cache / "home", cwd=folder)
        try:
            project = Project(folder, server)
            project.ask("index_codebase", path=str(folder))
            for question in questions:
                yield run(project, question["query"], _key_places(question), "search_code")
        finally:
            server.close()


def _key_places(question: Row) -> list[list[Place]]:
    key = [gold for gold in question["gold"] if gold["key"]]
    either = [gold for gold in key if gold.get("alternative")]
    groups = [[gold] for gold in key if not gold.get("alternative")] + ([either] if either else [])
    return [[Place(gold["path"], gold["start_line"], gold["end_line"]) for gold in group] for group in groups]


def short_questions(args: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each of a sample of the sets' questions; paths are below the folder that is asked."""
    cases = [case for name in SETS for case in load(args.sets, name)]
    chosen = random.Random(args.seed).sample(cases, min(args.questions, len(cases)))
    for group in by_checkout(chosen).values():
        with serving(group[0], args.sets, args.mirrors, args.cache) as project:
            for case in group:
                prefix = f"{case.root}/" if case.root else ""
                wanted = [[place._replace(path=place.path.removeprefix(prefix))] for place in case.targets]
                yield run(project, case.query, wanted, search_tool(case))


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield success and costs of the policies, and what the others save against ripgrep."""
    for name in POLICIES:
        own = [row[name] for row in rows]
        both = [row for row in rows if row[name]["solved"] and row["ripgrep"]["solved"]]
        spent, grepped = (sum(row[policy]["tokens"] for row in both) for policy in (name, "ripgrep"))
        yield (
            f"{name:8} success {sum(row['solved'] for row in own) / len(own):.3f}  "
            f"calls {statistics.median(row['calls'] for row in own):g}  "
            f"tokens {statistics.median(row['tokens'] for row in own):,.0f} (median) "
            f"{statistics.mean(row['tokens'] for row in own):,.0f} (mean)  "
            f"fewer than ripgrep where both solve ({len(both)}): {1 - spent / (grepped or 1):.0%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?", metavar="QUESTIONS")
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=HERE / ".cache")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every row to this file")
    args = parser.parse_args()
    if (args.file is None) == (args.sets is None):
        parser.error("give a file of questions, or --sets")
    args.cache = args.cache.resolve()
    os.environ["FINDSPOT_HOME"] = str(args.cache / "home")  # for `findspot grep`: the server's index
    os.environ["FINDSPOT_IN_PROCESS"] = "1"
    rows = list(about_behaviour(args) if args.file else short_questions(args))
    sys.stdout.write("\n".join((f"{len(rows)} questions", *summary(rows))) + "\n")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
