"""How good a ranked answer is. The same definitions for every set and every system."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

TOKEN_BUDGETS = (500, 1_000, 2_000, 4_000)
TOP = 10

Ranks = Sequence[int | None]
"""The rank of each wanted file or function in an answer; None where the answer does not have it."""


class Place(NamedTuple):
    """A returned passage or a wanted one; without lines it is the whole file."""

    path: str
    start: int | None = None
    end: int | None = None


def covers(hit: Place, target: Place) -> bool:
    if not same_file(hit.path, target.path):
        return False
    if target.start is None or target.end is None or hit.start is None or hit.end is None:
        return True
    return hit.start <= target.end and target.start <= hit.end


def same_file(a: str, b: str) -> bool:
    return a == b or a.endswith("/" + b) or b.endswith("/" + a)


def ndcg(ranks: Sequence[int], wanted: int) -> float:
    gained = sum(1 / math.log2(rank + 1) for rank in set(ranks) if rank <= TOP)
    best = sum(1 / math.log2(place + 2) for place in range(min(TOP, wanted)))
    return gained / best if best else 0.0


def score(
    hits: Sequence[Place], targets: Sequence[Place], within: Mapping[int, Sequence[Place]]
) -> dict[str, float]:
    """All figures of one query; `within` has the answer rendered for each number of tokens.

    `ndcg10` is as published for this benchmark: the rank of the first passage that covers each
    target, passages of a file not collapsed, binary gain. The others collapse files first.
    """
    published = [rank for target in targets if (rank := _rank(hits[:TOP], target))]
    files = _first_of_each_file(hits)
    wanted = _first_of_each_file([Place(target.path) for target in targets])
    ranks = [rank for target in wanted if (rank := _rank(files[:TOP], target))]
    figures = {
        "ndcg10": ndcg(published, len(targets)),
        "ndcg10_file": ndcg(ranks, len(wanted)),
        "mrr": 1 / min(ranks) if ranks else 0.0,
        "recall10": len(ranks) / len(wanted),
        "hit1": float(1 in ranks),
        "hit5": float(any(rank <= 5 for rank in ranks)),
        "hit10": float(bool(ranks)),
    }
    for budget, shown in within.items():
        found = sum(any(covers(hit, target) for hit in shown) for target in targets)
        figures[f"recall@{budget}t"] = found / len(targets)
    return figures


def _rank(hits: Sequence[Place], target: Place) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if covers(hit, target)), None)


def _first_of_each_file(places: Sequence[Place]) -> list[Place]:
    first: dict[str, Place] = {}
    for place in places:
        first.setdefault(place.path, place)
    return list(first.values())


def ranks(found: Sequence[str], wanted: Iterable[str]) -> Ranks:
    return [found.index(each) + 1 if each in found else None for each in wanted]


def all_within(found: Ranks, k: int) -> float:
    return float(all(rank is not None and rank <= k for rank in found))


def any_within(found: Ranks, k: int) -> float:
    return float(any(rank is not None and rank <= k for rank in found))


def lines_shown(shown: Iterable[Place], wanted: Iterable[Place]) -> tuple[bool, bool]:
    """Return whether all of the wanted lines are shown, and whether any is."""

    def lines(places: Iterable[Place]) -> set[tuple[str, int]]:
        return {(p.path, line) for p in places for line in range(p.start or 1, (p.end or 1) + 1)}

    seen, changed = lines(shown), lines(wanted)
    return changed <= seen, bool(changed & seen)


def mean(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    names = [name for name, value in rows[0].items() if isinstance(value, float)]
    return {name: sum(row[name] for row in rows) / len(rows) for name in names}


def paired_bootstrap(
    before: dict[str, list[float]], after: dict[str, list[float]], rounds: int = 2_000
) -> tuple[float, float, float]:
    """Mean difference and its 95 % interval, resampling groups (repositories) with their queries."""
    groups = sorted(before.keys() & after.keys())
    differences = {
        group: [b - a for a, b in zip(before[group], after[group], strict=True)] for group in groups
    }
    chosen = random.Random(0)
    means = []
    for _ in range(rounds):
        sample = [value for _ in groups for value in differences[chosen.choice(groups)]]
        means.append(sum(sample) / len(sample))
    means.sort()
    everything = [value for values in differences.values() for value in values]
    return sum(everything) / len(everything), means[rounds // 40], means[-rounds // 40]
