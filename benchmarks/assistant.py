"""Two ways to find code, on the same 200 questions: ripgrep and reading, Findspot and reading.

python -m benchmarks.assistant --sets FOLDER --mirrors FOLDER [--questions N] [--seed N] [--view VIEW]
                               [--save NAME] [--json FILE]

No model takes part. Fixed policies look until every wanted passage of the question has been seen. All count
a call's own text and all of its output, at four characters per token, and stop after 15 reads or 30,000
tokens. A passage has been seen when three lines of it, in a row, have been read; where a set wants a file
without lines, any three of that file do. The policies know at once when they have seen enough, and each looks
at the same folder. What it costs to describe the tools to a model is not counted.

**ripgrep**

1. The words of the question, without stop words and words of fewer than three letters. Identifiers give their
   parts, too. Each word is searched by its stem ("registered" is searched as "regist"), in any case.
2. One call prints the 20 files with the most distinct words, with their numbers (of equal ones, those with
   more matching lines first): `rg -il` for each word, sorted and counted. A word in a path counts, too.
3. File after file, one call lists the matching lines (at most 40), and one reads the 60 lines around those
   where the words are densest. Then the next densest lines, file after file, until all have been read.

**ripgrep, ideal** knows the densest lines without listing them, which no plain call does.

**Findspot** asks the server with the question as it is.

1. One call of `search_code` (`search_docs` for documentation) with no argument but the query. The whole
   answer is read, in one view (`--view`; see `benchmarks.mcp_answers`).
2. Ranges that the answer names without showing them are read in the order of the answer, 60 lines around each
   range's middle, or from its start if it is longer.
3. Then the same call with the next `offset`, and so on.

Success is the share of questions of which every wanted passage was seen. A policy that fails is charged with
what it spent. The saving is of the summed tokens, over all questions and over those that both policies
solved.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.economy import SETS, options, prefix_of, rounded, save, search_tool
from benchmarks.mcp_answers import (
    LEAST_LINES,
    VIEWS,
    Passage,
    Project,
    end_of_run,
    serving,
    source_lines,
)
from benchmarks.metrics import Place
from benchmarks.sets import Case, by_checkout, load
from findspot.search.token_budget import token_count
from findspot.text.tokens import STOP_WORDS, stem, word_parts, words

MOST_READS = 15
MOST_TOKENS = 30_000
POLICIES = ("ripgrep", "ripgrep_ideal", "findspot")
WINDOW = 60
LISTED_FILES = 20
LISTED_LINES = 40
LEAST_CHARS = 3
RIPGREP = shutil.which("rg", path=str(Path(sys.executable).parent)) or shutil.which("rg") or "rg"


class StopSearch(Exception):  # noqa: N818
    """Everything was seen, or the policy may not go on."""


@dataclass
class Search:
    """What a policy has spent and what it still looks for."""

    folder: Path
    targets: list[Place]
    prefix: str
    calls: int = 0
    reads: int = 0
    tokens: int = 0
    first_tokens: int | None = None
    """Tokens until the first wanted passage was seen."""
    read: set[tuple[str, int]] = field(default_factory=set)
    _wanted: int = 0

    def __post_init__(self) -> None:
        self._wanted = len(self.targets)

    @property
    def solved(self) -> bool:
        return not self.targets

    def spend(self, call: str, output: str) -> None:
        """Charge a call and its output."""
        self.calls += 1
        self.tokens += token_count(call) + token_count(output)

    def see(self, path: str, lines: set[int], *, shown: bool = False) -> None:
        """Note lines that were read; they count if they are enough in a row, or known to be."""
        source = source_lines(self.folder / path)
        needed = min(LEAST_LINES, sum(map(bool, source)))
        if not shown and end_of_run(lines, source, needed) is None:
            return
        whole = self.prefix + path
        self.targets = [target for target in self.targets if not _covered(target, whole, lines)]
        if self.first_tokens is None and len(self.targets) < self._wanted:
            self.first_tokens = self.tokens

    def check(self) -> None:
        """Stop if the search is over."""
        if self.solved or self.reads >= MOST_READS or self.tokens >= MOST_TOKENS:
            raise StopSearch

    def open(self, path: str, start: int) -> None:
        """Read a window of a file."""
        text = (self.folder / path).read_text("utf-8", "replace").split("\n")
        self.reads += 1
        start = max(1, min(start, len(text) - WINDOW + 1))
        shown = text[start - 1 : start - 1 + WINDOW]
        self.spend(f"read {path}:{start}-{start + len(shown) - 1}", "\n".join(shown))
        numbers = set(range(start, start + len(shown)))
        self.read |= {(path, number) for number in numbers}
        self.see(path, numbers)
        self.check()

    def list_lines(self, path: str, sought: list[str], numbers: list[int]) -> None:
        """List the matching lines of a file."""
        text = (self.folder / path).read_text("utf-8", "replace").split("\n")
        listed = "\n".join(f"{number}:{text[number - 1]}" for number in numbers)
        self.spend(f"rg -in '{'|'.join(sought)}' {path} | head -{LISTED_LINES}", listed)
        self.see(path, set(numbers))
        self.check()


def _covered(target: Place, path: str, lines: set[int]) -> bool:
    if path != target.path or not lines:
        return False
    return target.start is None or target.end is None or any(target.start <= n <= target.end for n in lines)


def question_words(query: str) -> list[str]:
    """Return the distinct stems of a question's words and of the parts of its identifiers."""
    every = [part for word in words(query) for part in (word.lower(), *word_parts(word))]
    kept = [word for word in every if len(word) >= LEAST_CHARS and word not in STOP_WORDS]
    return list(dict.fromkeys(map(stem, kept)))


@dataclass
class FileMatches:
    """The words of a question in one file, by line, and in its path."""

    in_path: set[str] = field(default_factory=set)
    lines: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def words(self) -> set[str]:
        return self.in_path.union(*self.lines.values())

    def windows(self) -> list[int]:
        """Return the middles of windows, those with the most distinct words first, that hold all matches."""
        left = sorted(self.lines)
        middles: list[int] = []
        while left and len(middles) < MOST_READS:
            inside = max(
                self._groups(left), key=lambda group: len(set().union(*(self.lines[n] for n in group)))
            )
            middles.append((inside[0] + inside[-1]) // 2)
            left = [number for number in left if not inside[0] <= number <= inside[-1]]
        return middles or [1]

    @staticmethod
    def _groups(numbers: list[int]) -> Iterator[list[int]]:
        """Yield the lines within a window from each line on."""
        end = 0
        for position, start in enumerate(numbers):
            while end < len(numbers) and numbers[end] < start + WINDOW:
                end += 1
            yield numbers[position:end]


def grep_policy(search: Search, query: str, *, ideal: bool) -> None:
    """Run a ripgrep policy to its end."""
    sought = question_words(query)
    matches = find_words(search.folder, sought)
    distinct = {path: len(matches[path].words) for path in matches}
    ranked = sorted(matches, key=lambda path: (-distinct[path], -len(matches[path].lines), path))
    ranked = ranked[:LISTED_FILES]
    windows = {path: matches[path].windows() for path in ranked}
    pipeline = f"for w in {' '.join(sought)}; do rg -il $w; done | sort | uniq -c | sort -rn | head -20"
    search.spend(pipeline, "\n".join(f"{distinct[path]} {path}" for path in ranked))
    search.check()
    for turn in range(MOST_READS):
        for path in ranked:
            if turn == 0 and not ideal:
                search.list_lines(path, sought, sorted(matches[path].lines)[:LISTED_LINES])
            if turn < len(windows[path]):
                search.open(path, windows[path][turn] - WINDOW // 2)


def find_words(folder: Path, sought: list[str]) -> dict[str, FileMatches]:
    """Return the files that hold any of the words."""
    found: dict[str, FileMatches] = defaultdict(FileMatches)
    listed = _ripgrep(folder, "--files")
    for word in sought:
        for path in listed:
            if word in path.lower():
                found[path].in_path.add(word)
        for line in _ripgrep(folder, "-n", "-i", "-F", "--no-heading", "-e", word, "."):
            path, number, _ = line.split(":", 2)
            found[path.removeprefix("./")].lines[int(number)].add(word)
    return found


def _ripgrep(folder: Path, *arguments: str) -> list[str]:
    command = [RIPGREP, "--color=never", "--sort=path", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace").split("\n")[:-1]


def findspot_policy(search: Search, project: Project, case: Case, view: str) -> None:
    """Run the Findspot policy to its end."""
    offset = 0
    while True:
        arguments: dict[str, Any] = {"query": case.query} | ({"offset": offset} if offset else {})
        result, _ = project.ask(search_tool(case), **arguments)
        answer = project.views(result)[view]
        search.spend(f"{search_tool(case)} {json.dumps(arguments, ensure_ascii=False)}", answer.text)
        for passage in answer.passages:
            if passage.shown_at is not None:
                search.read |= {(passage.path, number) for number in passage.lines}
                search.see(passage.path, set(passage.lines), shown=True)
        search.check()
        for passage in answer.passages:
            if not any((passage.path, n) in search.read for n in range(passage.start, passage.end + 1)):
                search.open(passage.path, _start(passage))
        if not (results := result["structuredContent"]["results"]):
            raise StopSearch
        offset += len(results)


def _start(passage: Passage) -> int:
    length = passage.end - passage.start + 1
    return passage.start if length > WINDOW else (passage.start + passage.end) // 2 - WINDOW // 2


def run(project: Project, case: Case, view: str) -> Iterator[dict[str, Any]]:
    """Yield what each policy spends on a question."""
    for policy in POLICIES:
        search = Search(project.folder, list(case.targets), prefix_of(case))
        try:
            if policy == "findspot":
                findspot_policy(search, project, case, view)
            else:
                grep_policy(search, case.query, ideal=policy == "ripgrep_ideal")
        except StopSearch:
            pass
        yield {
            "set": case.set,
            "group": case.group,
            "query": case.query,
            "policy": policy,
            "solved": search.solved,
            "calls": search.calls,
            "tokens": search.tokens,
            "first_tokens": search.first_tokens,
        }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return success and costs of the policies, and what Findspot saves against each of the others."""
    by_policy = {policy: [row for row in rows if row["policy"] == policy] for policy in POLICIES}
    found: dict[str, Any] = {"questions": len(by_policy["findspot"])}
    for policy, own in by_policy.items():
        found[policy] = {
            "success": sum(row["solved"] for row in own) / len(own),
            "any_seen": sum(row["first_tokens"] is not None for row in own) / len(own),
            "calls_median": statistics.median(row["calls"] for row in own),
            "calls_mean": statistics.mean(row["calls"] for row in own),
            "tokens_median": statistics.median(row["tokens"] for row in own),
            "tokens_mean": statistics.mean(row["tokens"] for row in own),
        }
    for policy in POLICIES[:-1]:
        pairs = list(zip(by_policy[policy], by_policy["findspot"], strict=True))
        found[f"against_{policy}"] = {
            "all": _saving(pairs),
            "both_solve": _saving([pair for pair in pairs if pair[0]["solved"] and pair[1]["solved"]]),
            "solved_by_findspot_only": sum(ours["solved"] and not grep["solved"] for grep, ours in pairs),
            "solved_by_ripgrep_only": sum(grep["solved"] and not ours["solved"] for grep, ours in pairs),
        }
    return found


def _saving(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, float]:
    grep, ours = ([row["tokens"] for row in side] for side in zip(*pairs, strict=True))
    return {
        "questions": len(pairs),
        "saving": 1 - sum(ours) / sum(grep),
        "saving_of_medians": 1 - statistics.median(ours) / statistics.median(grep),
        "findspot_median": statistics.median(ours),
        "ripgrep_median": statistics.median(grep),
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--view", choices=VIEWS, default="structured", help="how the client shows answers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one row per question and policy")
    args = parser.parse_args()
    cases = [case for name in SETS for case in load(args.sets, name)]
    chosen = random.Random(args.seed).sample(cases, args.questions)
    rows: list[dict[str, Any]] = []
    for group in by_checkout(chosen).values():
        with serving(group[0], args.sets, args.mirrors, args.cache) as project:
            for case in group:
                rows += run(project, case, args.view)
    found = {"seed": args.seed, "view": args.view, **summary(rows)}
    sys.stdout.write(json.dumps(rounded(found), indent=1) + "\n")
    if args.json:
        args.json.write_text(json.dumps(rounded(rows), indent=1) + "\n")
    if args.save:
        save(found, args.save)


if __name__ == "__main__":
    main()
