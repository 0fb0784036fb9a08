"""Questions about how a behaviour comes about: the places that answer them, in whole repositories.

python -m benchmarks.behaviour QUESTIONS --mirrors FOLDER [--cache FOLDER] [--keywords] [--short]
                               [--json FILE]

`QUESTIONS` is a file of JSON lines: `repo`, `commit`, `kind`, `query` and `gold`, places with `path`,
`start_line`, `end_line`, `key` and `alternative`; with `--short`, `short` is asked instead of `query`. Each
repository is checked out with its history, indexed and asked through `findspot serve`.

- file@k: the file of a key place is among the first k files of the results
- place@k: one of the first k results overlaps the lines of a key place
- shown: the default answer holds three lines (or half) of a key place; all: of every key place, where one of
  several alternatives suffices; both in the view of clients that read the structured content
- strong and likely: how often a first result that is called so is right, by place and by file
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.mcp_answers import Project, View
from benchmarks.sets import HERE
from benchmarks.start import OURS, Server

FIRST = (1, 3, 5, 10)
MOST = 100
"""Results that ranks are looked for in: the most that a call returns."""

Question = dict[str, Any]
Row = dict[str, Any]


def checkout(mirror: Path, commit: str, target: Path) -> Path:
    """Return a work tree of a commit with the commits before it; blobs that the mirror lacks are left out."""
    if not (target / ".git").exists():
        subprocess.run(["git", "clone", "-q", "-s", "-n", str(mirror), str(target)], check=True)
        git = ["git", "-C", str(target)]
        subprocess.run([*git, "update-ref", "--no-deref", "HEAD", commit], check=True)
        subprocess.run([*git, "read-tree", commit], check=True)
        subprocess.run([*git, "checkout-index", "-a", "-f", "-q"], check=False, capture_output=True)
    return target


def results_of(project: Project, query: str, mode: str | None) -> list[Row]:
    """Return the ranked results of a question, with all their fields."""
    chosen = {"mode": mode} if mode else {}
    result, _ = project.ask(
        "search_code", query=query, limit=MOST, format="json", max_tokens=200_000, **chosen
    )
    found: list[Row] = result["structuredContent"]["results"]
    return found


def overlaps(place: Row, path: str, start: int, end: int) -> bool:
    return bool(place["path"] == path and place["start_line"] <= end and start <= place["end_line"])


def is_shown(view: View, place: Row) -> bool:
    """Return whether a view holds three lines of a place, or half of it."""
    lines = {
        line
        for passage in view.passages
        if passage.path == place["path"]
        for line in passage.lines
        if place["start_line"] <= line <= place["end_line"]
    }
    size = place["end_line"] - place["start_line"] + 1
    enough: bool = len(lines) >= min(3, (size + 1) // 2)
    return enough


def measure(project: Project, question: Question, mode: str | None) -> Row:
    """Ask one question, for its ranks and for the default answer."""
    key = [place for place in question["gold"] if place["key"]]
    ranked = results_of(project, question["query"], mode)
    right = [
        any(overlaps(place, hit["path"], hit["startLine"], hit["endLine"]) for place in key) for hit in ranked
    ]
    paths = list(dict.fromkeys(hit["path"] for hit in ranked))
    files = {place["path"] for place in key}
    chosen = {"mode": mode} if mode else {}
    answer, seconds = project.ask("search_code", query=question["query"], **chosen)
    view = project.views(answer)["structured"]
    shown = [is_shown(view, place) for place in key]
    either = [seen for seen, place in zip(shown, key, strict=True) if place.get("alternative")]
    needed = [seen for seen, place in zip(shown, key, strict=True) if not place.get("alternative")]
    if either:
        needed.append(any(either))
    first = answer["structuredContent"]["results"][:1]
    row: Row = {
        "repo": question["repo"],
        "kind": question["kind"],
        "query": question["query"],
        "shown": any(shown),
        "all": all(needed),
        "tokens": view.tokens,
        "ms": seconds * 1000,
        "strength": first[0]["strength"] if first else "none",
    }
    for count in FIRST:
        row[f"place@{count}"] = any(right[:count])
        row[f"file@{count}"] = not files.isdisjoint(paths[:count])
    return row


def ask_repository(questions: Sequence[Question], args: argparse.Namespace) -> list[Row]:
    """Return the rows of one repository's questions."""
    name = questions[0]["repo"].replace("/", "+")
    mirror = args.mirrors / name / "repo"
    folder = checkout(mirror, questions[0]["commit"], args.cache / "behaviour" / name).resolve()
    server = Server(OURS, args.cache / "home", cwd=folder)
    try:
        project = Project(folder, server)
        project.ask("index_codebase", path=str(folder))
        return [measure(project, question, "keyword" if args.keywords else None) for question in questions]
    finally:
        server.close()


def summary(rows: Sequence[Row]) -> str:
    """Return the figures of some questions on one line."""

    def mean(name: str) -> str:
        return f"{sum(row[name] for row in rows) / len(rows):.3f}"

    ranks = "  ".join(
        f"{what} " + " ".join(mean(f"{what}@{count}") for count in FIRST) for what in ("file", "place")
    )
    tokens = sum(row["tokens"] for row in rows) / len(rows)
    return f"{ranks}  shown {mean('shown')}  all {mean('all')}  {tokens:,.0f} tokens"


def labels(rows: Iterable[Row]) -> list[str]:
    """Return how often each word of confidence is right about the first result."""
    by_label = defaultdict(list)
    for row in rows:
        by_label[row["strength"]].append(row)
    return [
        f"{label}: {len(each)}, right place {sum(row['place@1'] for row in each) / len(each):.2f}, "
        f"right file {sum(row['file@1'] for row in each) / len(each):.2f}"
        for label, each in sorted(by_label.items())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", type=Path)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=HERE / ".cache")
    parser.add_argument("--keywords", action="store_true", help="ask by keywords alone")
    parser.add_argument("--short", action="store_true", help="ask the short form of each question")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every row to this file")
    args = parser.parse_args()
    by_repository: dict[str, list[Question]] = defaultdict(list)
    for line in args.questions.read_text("utf-8").splitlines():
        question = json.loads(line)
        question["query"] = question["short"] if args.short else question["query"]
        by_repository[question["repo"]].append(question)
    rows: list[Row] = []
    for name, questions in by_repository.items():
        found = ask_repository(questions, args)
        sys.stdout.write(f"{name:28} {summary(found)}\n")
        sys.stdout.flush()
        rows += found
    for kind in dict.fromkeys(row["kind"] for row in rows):
        sys.stdout.write(f"{kind:28} {summary([row for row in rows if row['kind'] == kind])}\n")
    times = sorted(row["ms"] for row in rows)
    sys.stdout.write(f"{'all':28} {summary(rows)}\n")
    sys.stdout.write("\n".join(labels(rows)))
    sys.stdout.write(f"\nmedian {times[len(times) // 2]:.1f} ms, load {os.getloadavg()[0]:.1f}\n")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
