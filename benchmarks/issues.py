"""Real issues: are the files and functions that the fix changed among the first of the answer?

python -m benchmarks.issues index --sets FOLDER --mirrors FOLDER --cache FOLDER [--repo OWNER/NAME]
python -m benchmarks.issues ask --sets FOLDER --cache FOLDER [--repo OWNER/NAME] [--detail]
                                [--save NAME] [--against NAME] [--shuffled]
python -m benchmarks.issues time --sets FOLDER --project FOLDER

`index` writes one index per commit of `issues_dev`, of the whole repository with the shipped defaults, and
the messages of all commits before. `--shuffled` shuffles these among the commits: a control.
`ask` asks each issue's text at the commit before its fix. Accuracy is strict, as published: at k, every
changed file (function) is among the first k distinct files (functions). BM25 over whole files runs beside
it. It does not see tests, which are never wanted: that favours it. `time` asks a project about the
shortest issues of 450 to 600 words, and prints how long each takes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.ancestors import Ancestors, store_commits
from benchmarks.metrics import Place, all_within, any_within, lines_shown, paired_bootstrap, ranks
from benchmarks.sets import RESULTS, commit
from findspot import Engine, Query
from findspot.core.git import changed_together, current_commit
from findspot.core.model import Corpus, GroupBy, Hit, Results
from findspot.embed.provider_registry import open_embedder
from findspot.graph import Graph, Node
from findspot.graph.source_view import TYPE_KINDS
from findspot.rank.roles import Role, role_of
from findspot.research.changes import LineRange, parse_diff, touched
from findspot.research.research_view import flat
from findspot.search.hybrid import search
from findspot.serve.search_answers import fitted_values
from findspot.store.snapshot import Snapshot
from findspot.store.sqlite_store import SqliteStore
from findspot.text.tokens import tokens

FUNCTIONS = frozenset({"function", "method", "constructor"})
OUTER = TYPE_KINDS
NONE: frozenset[str] = frozenset()
HITS = 50
"""Hits that are read to see ten files and ten functions."""
FILES_AT = (1, 3, 5, 10)
FUNCTIONS_AT = (5, 10)
TOKENS = 4_000
LONG_WORDS = range(450, 601)
LONG_ISSUES = 12
K1, B = 1.2, 0.75

Row = dict[str, Any]
Ask = Callable[[Query], Results]


@dataclass(frozen=True)
class Issue:
    """The text of an issue, with what its fix changed."""

    id: str
    part: str
    repo: str
    commit: str
    text: str
    patch: str
    lines: tuple[Place, ...]
    tests: tuple[str, ...] = ()
    """Files that the fix changed, too."""

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(place.path for place in self.lines))


def read_issues(sets: Path, repos: Sequence[str] | None) -> dict[str, list[Issue]]:
    """Return the issues by repository."""
    found: dict[str, list[Issue]] = defaultdict(list)
    for line in (sets / "queries" / "issues_dev.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        lines = tuple(Place(r["path"], r["start_line"], r["end_line"]) for r in row["relevant"])
        if not repos or row["repo"] in repos:
            about = row["id"], row["set"], row["repo"], row["commit"], row["query"], row["patch"]
            found[row["repo"]].append(Issue(*about, lines, tuple(row.get("tests") or ())))
    return dict(sorted(found.items()))


def index_folder(indexes: Path, repo: str, commit: str) -> Path:
    return indexes / "homes" / repo.replace("/", "+") / commit[:12]


def history_folder(indexes: Path, repo: str) -> Path:
    return indexes / "histories" / repo.replace("/", "+")


def index(options: argparse.Namespace) -> None:
    for repo, issues in read_issues(options.sets, options.repo).items():
        mirror = options.mirrors / repo.replace("/", "+") / "repo"
        if not mirror.is_dir():
            sys.stderr.write(f"{repo}: no mirror\n")
            continue
        tree = options.cache / "trees" / repo.replace("/", "+")
        if not tree.exists():
            clone = ["git", "clone", "--quiet", "--shared", "--no-checkout", str(mirror), str(tree)]
            subprocess.run(clone, check=True)
        in_order = sorted({issue.commit for issue in issues}, key=partial(committed_at, mirror))
        index_commits(tree, {commit: index_folder(options.cache, repo, commit) for commit in in_order})
        store_commits(tree, in_order, history_folder(options.cache, repo))
        sys.stderr.write(f"{repo}: {len(in_order)} commits\n")


def committed_at(mirror: Path, commit: str) -> int:
    show = ["git", "--git-dir", str(mirror), "show", "-s", "--format=%ct", commit]
    return int(subprocess.run(show, capture_output=True, check=True).stdout)


def index_commits(tree: Path, folders: Mapping[str, Path]) -> None:
    """Update one index from commit to commit, and copy each state into the commit's folder."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        engine = Engine({})
        project = engine.project(tree)
        for commit, folder in folders.items():
            if (folder / "ok").exists():
                continue
            checkout = ["git", "-C", str(tree), "checkout", "--quiet", "--force", "--detach", commit]
            subprocess.run(checkout, check=False, capture_output=True)  # a mirror may lack large files
            assert current_commit(tree) == commit
            project.update()
            shutil.rmtree(folder, ignore_errors=True)
            commits = shutil.ignore_patterns("history.sqlite*")  # beside it, and of more than its ancestors
            shutil.copytree(Path(home) / "indexes", folder / "indexes", ignore=commits)
            (folder / "ok").touch()
        engine.close()


def files_of(ask: Ask, text: str) -> list[str]:
    """Return the distinct files of an answer, best first."""
    return [hit.path for hit in ask(Query(text, limit=HITS, group_by=GroupBy.FILE)).hits]


def functions_of(ask: Ask, text: str, graph: Graph, kinds: frozenset[str]) -> list[str]:
    """Return the ids of the distinct functions that an answer shows, best first."""
    hits = ask(Query(text, limit=HITS, group_by=GroupBy.SYMBOL)).hits
    shown = (touched(nodes_of(graph, hit.path, kinds), [_line(graph, hit)], None) for hit in hits)
    return list(dict.fromkeys(node.id for nodes in shown for node in nodes))


def _line(graph: Graph, hit: Hit) -> LineRange:
    """Return where what a hit is named after begins: its decorators and comments are not part of the node."""
    span = hit.definition or hit.span
    named = (node for node in nodes_of(graph, hit.path) if node.qualified == hit.symbol)
    begins = (n.start_line for n in named if n.start_line <= span.end and span.start <= n.end_line)
    line = next(begins, hit.focus or hit.span.start)
    return line, line


def nodes_of(graph: Graph, path: str, kinds: frozenset[str] | None = None) -> list[Node]:
    nodes = (node for outline in graph.outline(path) for node in flat(outline))
    return [node for node in nodes if kinds is None or node.kind in kinds]


def changed_functions(graph: Graph, issue: Issue, outer: frozenset[str] = NONE) -> list[str]:
    """Return the ids of the innermost functions around changed lines, or else those of kinds in `outer`."""
    ranges: dict[str, Sequence[LineRange]] = {file.path: file.old for file in parse_diff(issue.patch)}
    found: dict[str, None] = {}
    for path in issue.files:
        functions, others = nodes_of(graph, path, FUNCTIONS), nodes_of(graph, path, outer)
        renamed = [(place.start or 1, place.end or 1) for place in issue.lines if place.path == path]
        for lines in ranges.get(path, renamed):
            nodes = touched(functions, [lines], None) or touched(others, [lines], None)
            found |= dict.fromkeys(node.id for node in nodes)
    return list(found)


class WholeFiles:
    """BM25 over whole files; what a file holds is counted once per content."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def rank(self, snapshot: Snapshot, text: str) -> list[str]:
        documents = {}
        for file in snapshot.files.files:
            if file.corpus == Corpus.CODE and role_of(file.path) is not Role.TEST:
                if file.sha256 not in self._counts:
                    chunks = snapshot.chunks.of_file(file.path)
                    own = (tokens(chunk.text) for chunk in chunks if chunk.kind != "outline")
                    self._counts[file.sha256] = Counter(token for part in own for token in part)
                documents[file.path] = self._counts[file.sha256]
        return bm25(documents, Counter(tokens(text)))


def bm25(documents: Mapping[str, Counter[str]], query: Counter[str]) -> list[str]:
    """Return the names of the documents that hold a word of the query, best first."""
    sizes = {name: words.total() for name, words in documents.items()}
    average = sum(sizes.values()) / max(1, len(sizes))
    scores: dict[str, float] = defaultdict(float)
    for word, asked in query.items():
        holding = [name for name, words in documents.items() if word in words]
        rarity = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for name in holding:
            count = documents[name][word]
            damping = K1 * (1 - B + B * sizes[name] / average)
            scores[name] += asked * rarity * count * (K1 + 1) / (count + damping)
    return sorted(scores, key=lambda name: (-scores[name], name))


def ask_issue(snapshot: Snapshot, issue: Issue, whole_files: WholeFiles, answer_to: Ask) -> Row:
    """Return the ranks of what an issue's fix changed, and what the default answer costs and shows."""
    ask: Ask = cache(answer_to)
    graph = Graph(snapshot)
    held = {file.path for file in snapshot.files.files if file.corpus == Corpus.CODE}
    row: Row = {
        "id": issue.id,
        "repo": issue.repo,
        "part": issue.part,
        "files": ranks(files_of(ask, issue.text), issue.files),
        "bm25": ranks(whole_files.rank(snapshot, issue.text), issue.files),
        "not_held": sum(path not in held for path in issue.files),
    }
    for key, outer in (("functions", NONE), ("definitions", OUTER)):
        found = functions_of(ask, issue.text, graph, FUNCTIONS | outer)
        row[key] = ranks(found, changed_functions(graph, issue, outer))
    wall, cpu = time.perf_counter(), time.process_time()
    results = answer_to(Query(issue.text))
    row["cpu"], row["wall"] = time.process_time() - cpu, time.perf_counter() - wall
    answer = fitted_values(results, Corpus.CODE, TOKENS)["results"]
    shown = [Place(hit["path"], hit["startLine"], hit["endLine"]) for hit in answer]
    return row | {"lines": lines_shown(shown, issue.lines)}


def ask_all(options: argparse.Namespace) -> Iterator[Row]:
    embedder = open_embedder("local:static")
    for repo, issues in read_issues(options.sets, options.repo).items():
        whole_files = WholeFiles()
        for issue in issues:
            folder = index_folder(options.cache, repo, issue.commit)
            if not (folder / "ok").exists():
                sys.stdout.write(f"not indexed: {issue.id}\n")
                continue
            store = SqliteStore(next((folder / "indexes").iterdir()), "project")
            # Only what is reachable from the commit: the clone holds the fix, too.
            tree = options.cache / "trees" / repo.replace("/", "+")
            history = partial(changed_together, tree, issue.commit)
            seed = 1 if options.shuffled else None
            commits = Ancestors(history_folder(options.cache, repo), tree, issue.commit, seed)
            with store.snapshot() as snapshot:
                answer_to = partial(search, snapshot, embedder, history=history, commits=commits)
                yield ask_issue(snapshot, issue, whole_files, answer_to)
            store.close()
        sys.stderr.write(f"{repo}: {len(issues)} issues\n")


GROUPS: dict[str, Callable[[Row], bool]] = {
    "Python, one file": lambda row: row["part"] == "swe" and len(row["files"]) == 1,
    "Python": lambda row: row["part"] == "swe",
    "Multilingual": lambda row: row["part"] == "multi",
    "all": lambda row: True,
    "all, several files": lambda row: len(row["files"]) > 1,
}


def share(values: Iterable[float]) -> str:
    listed = list(values)
    return f"{statistics.fmean(listed):.3f}" if listed else "–"


def figures(rows: Sequence[Row], key: str, at: Sequence[int]) -> str:
    """Return two cells: the shares of rows with all, and with any, of the wanted within each k."""
    cells = ([share(within(row[key], k) for row in rows) for k in at] for within in (all_within, any_within))
    return " | ".join(map(" / ".join, cells))


def report(rows: Sequence[Row], *, by_repository: bool = False) -> Iterator[str]:
    """Yield the tables, as Markdown, and what goes with them."""
    chosen = {name: own for name, group in GROUPS.items() if (own := [row for row in rows if group(row)])}
    for row in rows if by_repository else ():
        chosen.setdefault(row["repo"], []).append(row)
    yield "| files | issues | | Acc@1 / 3 / 5 / 10 | any@1 / 3 / 5 / 10 |\n|---|---|---|---|---|"
    for name, own in chosen.items():
        yield f"| {name} | {len(own)} | Findspot | {figures(own, 'files', FILES_AT)} |"
        yield f"| | | BM25 | {figures(own, 'bm25', FILES_AT)} |"
        ceiling = (share(len(row["files"]) <= k for row in own) for k in FILES_AT)
        yield f"| | | ceiling | {' / '.join(ceiling)} | |"
    yield "\n| definitions | | issues | Acc@5 / 10 | any@5 / 10 |\n|---|---|---|---|---|"
    for name, own in chosen.items():
        for key in ("functions", "definitions"):
            some = [row for row in own if row[key]]
            yield f"| {name} | {key} | {len(some)} | {figures(some, key, FUNCTIONS_AT)} |"
    yield ""
    for name, own in ((name, chosen[name]) for name in GROUPS if name in chosen):
        every, part = (share(row["lines"][place] for row in own) for place in (0, 1))
        yield f"{name}: Acc@5 against BM25 {difference(own, own, 'bm25', 'files', 5)}"
        yield f"  changed lines within {TOKENS:,} tokens: all {every}, any {part}"
    yield f"changed files that the index does not hold as code: {sum(row['not_held'] for row in rows)}"
    for clock in ("cpu", "wall"):
        spent = sorted(1000 * row[clock] for row in rows)
        p95 = spent[len(spent) * 95 // 100]
        yield f"{clock} per query: median {statistics.median(spent):.0f} ms, p95 {p95:.0f} ms"


def difference(before: Sequence[Row], after: Sequence[Row], old: str, new: str, k: int) -> str:
    """Return how strict accuracy differs between two lists of the same issues, with its interval."""
    paired: tuple[dict[str, list[float]], dict[str, list[float]]] = defaultdict(list), defaultdict(list)
    for one, other in zip(before, after, strict=True):
        paired[0][other["repo"]].append(all_within(one[old], k))
        paired[1][other["repo"]].append(all_within(other[new], k))
    change, low, high = paired_bootstrap(*paired)
    return f"{change:+.3f} ({low:+.3f} … {high:+.3f})"


def compare(rows: Sequence[Row], earlier: Mapping[str, Row]) -> Iterator[str]:
    """Yield how an earlier run of the same issues differs."""
    for name, group in GROUPS.items():
        own = [row for row in rows if group(row) and row["id"] in earlier]
        for key, k in (("files", 1), ("files", 5), ("functions", 10)):
            after = [row for row in own if row[key]]
            if after:
                before = [earlier[row["id"]] for row in after]
                yield f"{name}: {key} Acc@{k} against before {difference(before, after, key, key, k)}"


def save(rows: Sequence[Row], path: Path) -> None:
    """Write the ranks, one line per issue."""
    stored = ("files", "functions", "definitions", "bm25", "lines")
    lines = (f'  "{row["id"]}": {json.dumps({key: row[key] for key in stored})}' for row in rows)
    path.write_text(f'{{"commit": "{commit()}", "issues": {{\n' + ",\n".join(lines) + "\n}}\n")


def ask_and_report(options: argparse.Namespace) -> None:
    rows = list(ask_all(options))
    out = sys.stdout.write
    out("\n".join(report(rows, by_repository=options.detail)) + "\n")
    if options.against:
        earlier = json.loads((RESULTS / f"{options.against}.json").read_text())["issues"]
        out("\n".join(compare(rows, earlier)) + "\n")
    if options.save:
        save(rows, RESULTS / f"{options.save}.json")


def time_long_issues(options: argparse.Namespace) -> None:
    """Index a project in a home of its own, and time long issues, each asked for the second time."""
    issues = [issue for each in read_issues(options.sets, None).values() for issue in each]
    texts = sorted((i.text for i in issues if len(i.text.split()) in LONG_WORDS), key=len)[:LONG_ISSUES]
    with tempfile.TemporaryDirectory() as home:
        os.environ["FINDSPOT_HOME"] = home
        engine = Engine()
        project = engine.project(options.project)
        files = project.update(allow_large=True).total_files
        taken = []
        for text in (*texts, *texts):
            started = time.perf_counter()
            project.search(Query(text))
            taken.append((time.perf_counter() - started) * 1000)
        engine.close()
    warm = sorted(taken[len(texts) :])
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    sys.stdout.write(f"{files} files, load {load}; ms: {' '.join(f'{each:.0f}' for each in warm)}; ")
    sys.stdout.write(f"median {statistics.median(warm):.0f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("step", choices=("index", "ask", "time"))
    parser.add_argument("--sets", type=Path, required=True, help="folder with queries/issues_dev.jsonl")
    parser.add_argument("--mirrors", type=Path, help="folder of git mirrors (index)")
    parser.add_argument("--cache", type=Path, help="folder of the indexes (index, ask)")
    parser.add_argument("--project", type=Path, help="folder of the project to ask (time)")
    parser.add_argument("--repo", action="append", help="a repository (repeatable); default: all")
    parser.add_argument("--detail", action="store_true", help="also by repository (ask)")
    parser.add_argument("--shuffled", action="store_true", help="messages shuffled among commits (ask)")
    parser.add_argument("--save", metavar="NAME", help="keep the ranks as results/NAME.json (ask)")
    parser.add_argument("--against", metavar="NAME", help="compare with results/NAME.json (ask)")
    options = parser.parse_args()
    steps = {
        "index": (index, ("cache", "mirrors")),
        "ask": (ask_and_report, ("cache",)),
        "time": (time_long_issues, ("project",)),
    }
    step, needed = steps[options.step]
    for name in needed:
        if getattr(options, name) is None:
            parser.error(f"{options.step} needs --{name}")
    step(options)


if __name__ == "__main__":
    main()
