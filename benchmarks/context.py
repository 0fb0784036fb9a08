"""Task context: how much of what a fix changed is among the regions of an answer.

python -m benchmarks.context --sets FOLDER --cache FOLDER [--repo OWNER/NAME] [--off-topic FILE]

The indexes are those of `python -m benchmarks.issues index`. Each issue's text is asked at the commit before
its fix. Functions: every changed one (Acc@k), or any, is among the first k functions to change. Lines: every
changed line is in the code of an answer of 2,000 and of 4,000 tokens, and which share is. Tests: the test
files that the fix changed are among the first ten for its patch. `--off-topic` asks each project the
questions of a file, one per line, that no project answers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.ancestors import Ancestors
from benchmarks.issues import (
    FUNCTIONS,
    Issue,
    changed_functions,
    history_folder,
    index_folder,
    read_issues,
)
from findspot.core.git import changed_together
from findspot.core.paths import Roots
from findspot.core.progress import CancelToken
from findspot.embed.provider_registry import open_embedder
from findspot.graph import Graph
from findspot.research.changes import pasted_change
from findspot.research.context import gather
from findspot.research.findings import Context, Reason
from findspot.research.graph_walks import Trail
from findspot.research.related_tests import rank_tests
from findspot.research.research_view import ResearchView
from findspot.research.task_signals import Request
from findspot.search.freshness import IndexedText
from findspot.search.reader import IndexReader
from findspot.serve.context_answers import context_object
from findspot.store.snapshot import Snapshot
from findspot.store.sqlite_store import SqliteStore

AT = (5, 10)
TOKENS = (2_000, 4_000)
TESTS = 10
Row = dict[str, Any]


def shown_lines(context: Context, tokens: int) -> set[tuple[str, int]]:
    """Return the lines whose code is in an answer of so many tokens; a cut end or gap is not shown."""
    lines = set()
    for region in context_object(context, tokens)["regions"]:
        line = region["startLine"]
        for text in region.get("text", "").split("\n"):
            gap = text.strip().removeprefix("…").strip()
            if text.startswith("…"):
                line = int(gap) if gap.isdigit() else line
                continue
            lines.add((region["path"], line))
            line += 1
    return lines


def ask(reader: IndexReader, issue: Issue) -> Row:
    """Return what the answer to an issue has of its fix."""
    graph = Graph(reader.snapshot)
    view = ResearchView(reader, Trail(graph))
    begun = time.perf_counter()
    context = gather(view, Request(issue.text))
    seconds = time.perf_counter() - begun
    first = [r.id for r in context.regions if r.reason is Reason.CHANGE and r.kind in FUNCTIONS]
    wanted = changed_functions(graph, issue)
    row: Row = {"seconds": seconds, "silent": not context.regions, "functions": len(wanted)}
    for k in AT:
        row[f"acc@{k}"] = set(wanted) <= set(first[:k])
        row[f"any@{k}"] = bool(set(wanted) & set(first[:k]))
    files = list(dict.fromkeys(region.path for region in context.regions))
    row["files@10"] = set(issue.files) <= set(files[:10])
    row["several"] = len(issue.files) > 1
    changed = {(p.path, n) for p in issue.lines for n in range(p.start or 1, (p.end or p.start or 1) + 1)}
    for tokens in TOKENS:
        named = list(dict.fromkeys(r["path"] for r in context_object(context, tokens)["regions"]))
        row[f"named@{tokens}"] = set(issue.files) <= set(named[:10])
        shown = shown_lines(context, tokens)
        row[f"lines@{tokens}"] = changed <= shown
        row[f"share@{tokens}"] = len(changed & shown) / max(1, len(changed))
    change = pasted_change(view, issue.patch)
    ranked = rank_tests(reader.snapshot, graph, change, reader.history(), CancelToken())
    row["tests"] = set(issue.tests) <= {test.path for test in ranked[:TESTS]} if issue.tests else None
    return row


def ask_all(options: argparse.Namespace, off_topic: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each issue whose commit is indexed, and one for each question about nothing."""
    for repo, issues in read_issues(options.sets, options.repo).items():
        for issue in issues:
            folder = index_folder(options.cache, repo, issue.commit)
            if not (folder / "ok").exists():
                continue
            store = SqliteStore(next((folder / "indexes").iterdir()), "project")
            with store.snapshot() as snapshot:
                reader = AtCommit.of(snapshot, store, options.cache, issue)
                yield ask(reader, issue) | {"repo": repo}
                for question in off_topic if issue is issues[0] else ():
                    found = gather(ResearchView(reader, Trail(Graph(snapshot))), Request(question))
                    yield {"off_topic": not found.regions}
            store.close()
        sys.stderr.write(f"{repo}: {len(issues)} issues\n")


class AtCommit(IndexReader):
    """A reader whose history ends at a commit: the clone holds the fix, too."""

    @classmethod
    def of(cls, snapshot: Snapshot, store: SqliteStore, cache: Path, issue: Issue) -> AtCommit:
        tree = cache / "trees" / issue.repo.replace("/", "+")
        text = IndexedText(Roots(tree), snapshot)
        commits = Ancestors(history_folder(cache, issue.repo), tree, issue.commit)
        reader = cls(snapshot, store, text, lambda: open_embedder("local:static"), commits=commits)
        object.__setattr__(reader, "history", partial(changed_together, tree, issue.commit))
        return reader


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the figures."""
    issues = [row for row in rows if "off_topic" not in row]
    with_functions = [row for row in issues if row["functions"]]
    yield f"{len(issues)} issues, load {os.getloadavg()[0]:.1f}"
    for key in (f"{kind}@{k}" for kind in ("acc", "any") for k in AT):
        yield f"functions {key}: {_share(row[key] for row in with_functions)}"
    for tokens in TOKENS:
        shares = statistics.mean([row[f"share@{tokens}"] for row in issues] or [0.0])
        every = _share(row[f"lines@{tokens}"] for row in issues)
        yield f"every changed line in {tokens}: {every}; share {shares:.3f}"
    yield f"several files, every file@10: {_share(r['files@10'] for r in issues if r['several'])}"
    for tokens in TOKENS:
        named = _share(r[f"named@{tokens}"] for r in issues if r["several"])
        yield f"several files, every file named in {tokens}: {named}"
    yield f"tests@10: {_share(r['tests'] for r in issues if r['tests'] is not None)}"
    yield f"silent: {_share(r['silent'] for r in issues)}"
    yield f"off topic silent: {_share(r['off_topic'] for r in rows if 'off_topic' in r)}"
    times = sorted(row["seconds"] for row in issues) or [0.0]
    yield f"p50 {1000 * times[len(times) // 2]:.0f} ms, p95 {1000 * times[int(len(times) * 0.95)]:.0f} ms"


def _share(values: Any) -> str:
    found = [bool(value) for value in values]
    return f"{sum(found) / len(found):.3f} of {len(found)}" if found else "–"


def main() -> None:
    """Ask, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--repo", action="append")
    parser.add_argument("--off-topic", type=Path)
    options = parser.parse_args()
    off_topic = options.off_topic.read_text().splitlines() if options.off_topic else []
    for line in report(list(ask_all(options, off_topic))):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
