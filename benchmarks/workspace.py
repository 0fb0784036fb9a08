"""Ask many generated projects as one workspace: first answer, p50 and p95 of a question, and memory.

`python -m benchmarks.workspace --members 50 --files 300`. Members differ in their words, so that each
question has its answer in one of them.

With `--sets`, `--mirrors` and `--cache` the repositories of code_semble are one workspace, questions
unchanged, beside each alone: NDCG@10, and whether the right member is among three results.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.metrics import Place, mean, score
from benchmarks.sets import by_checkout, load, materialise
from findspot import Engine, Hit, Query

_QUESTIONS = 40


def make_member(root: Path, number: int, files: int) -> None:
    """Write a repository whose functions are about a topic of their own."""
    words = random.Random(number)
    for index in range(files):
        folder = root / f"part{index % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        verb, noun = words.choice(_VERBS), words.choice(_NOUNS)
        text = f"def {verb}_{noun}_{number}_{index}(value):\n    # {verb} the {noun} of member {number}\n"
        (folder / f"{noun}{index}.py").write_text(text + f"    return value + {index}\n" * 3)
    subprocess.run(["git", "init", "-q", root], check=True)


_VERBS = ("read", "write", "open", "close", "merge", "split", "count", "parse", "store", "send")
_NOUNS = (
    "invoice",
    "session",
    "ticket",
    "harbour",
    "planet",
    "recipe",
    "kernel",
    "bridge",
    "forest",
    "violin",
)


def ask_as_one(given: argparse.Namespace) -> None:
    """Ask each question of code_semble alone in its repository, and of all repositories at once."""
    os.environ["FINDSPOT_HOME"] = str(given.cache / "workspace-home")
    engine, roots, rows = Engine(), {}, []
    checkouts = by_checkout(load(given.sets, "code_semble"))
    for checkout, cases in checkouts.items():
        roots[checkout] = materialise(cases[0], given.sets, given.mirrors, given.cache) / checkout[2]
        engine.project(roots[checkout]).update()
    workspace = engine.gathered(given.cache, roots.values())
    assert workspace is not None
    names = {root: name for name, root in workspace.members.items()}
    for checkout, cases in checkouts.items():
        name, prefix = names[roots[checkout].resolve()], checkout[2]
        alone = engine.project(roots[checkout])
        for case in cases:
            query = Query(case.query, limit=10)
            found = workspace.search(query).hits
            merged = [_place(f"{hit.project}/{prefix}", hit, name) for hit in found]
            single = [_place(prefix, hit) for hit in alone.search(query).hits]
            wanted = [target._replace(path=f"{name}/{target.path}") for target in case.targets]
            right = {"member@3": float(any(hit.project == name for hit in found[:3]))}
            apart = {"alone": score(single, case.targets, {})["ndcg10"]}
            as_one = {"as one": score(merged, wanted, {})["ndcg10"]}
            rows.append((case.group, {**as_one, **apart, **right}))
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for group, row in rows:
        groups[group].append(row)
    overall = mean([mean(members) for members in groups.values()])
    sys.stdout.write(f"{len(rows)} questions, {len(groups)} repositories: {overall}\n")


def _place(prefix: str, hit: Hit, member: str = "") -> Place:
    path = hit.path.removeprefix(f"{hit.project}/") if member else hit.path
    return Place("/".join(filter(None, (*prefix.split("/"), path))), hit.span.start, hit.span.end)


def main() -> None:
    """Make the members, index them, and print the figures with the load of the machine."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--members", type=int, default=50)
    options.add_argument("--files", type=int, default=300)
    options.add_argument("--sets", type=Path)
    options.add_argument("--mirrors", type=Path)
    options.add_argument("--cache", type=Path, default=Path("benchmarks/.cache"))
    given, output = options.parse_args(), sys.stdout
    if given.sets:
        ask_as_one(given)
        return
    with tempfile.TemporaryDirectory() as place:
        os.environ["FINDSPOT_HOME"] = f"{place}/home"
        for number in range(given.members):
            make_member(Path(place) / "all" / f"member{number}", number, given.files)
        engine = Engine()
        workspace = engine.workspace(f"{place}/all")
        assert workspace is not None
        began = time.perf_counter()
        workspace.update()
        output.write(f"indexed in {time.perf_counter() - began:.1f} s\n")
        engine.close()
        engine = Engine()
        workspace = engine.workspace(f"{place}/all")
        assert workspace is not None
        times: list[float] = []
        for number in range(_QUESTIONS):
            verb, noun = _VERBS[number % 10], _NOUNS[number // 10 % 10]
            began = time.perf_counter()
            workspace.search(Query(f"{verb} the {noun} of member {number % given.members}", related=True))
            times.append((time.perf_counter() - began) * 1000)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        later = sorted(times[1:])
        p95 = later[int(len(later) * 0.95)]
        output.write(f"first answer {times[0]:.0f} ms, p50 {statistics.median(later):.0f} ms, ")
        output.write(f"p95 {p95:.0f} ms, {memory:.0f} MB, load {os.getloadavg()[0]:.1f}\n")
        engine.close()


if __name__ == "__main__":
    main()
