"""Random damages to an index: no wrong answer, no raw exception, and all healed by the next update.

    python -m benchmarks.damage [--count 500] [--seed 1]

Each case copies a whole index, damages one file of it (bits, pages, its length, or all of it), asks in a
fresh process state, and updates. It prints how many damages there were of each kind and what came of them.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot import FindspotError, Project, Query
from findspot.core.model import Corpus, Mode
from findspot.embed.provider_registry import OpenModels
from findspot.graph import Graph
from findspot.indexing.workers import SparePool

PAGE = 4096
NOT_DAMAGED = {"writer.lock", "watcher.lock", "config.json"}
"""Locks hold nothing, and `config.json` is the user's."""

Damage = Callable[[bytearray, random.Random], bytearray | None]


def flip_a_bit(data: bytearray, chance: random.Random) -> bytearray:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return data


def flip_many_bits(data: bytearray, chance: random.Random) -> bytearray:
    for _ in range(20):
        flip_a_bit(data, chance)
    return data


def zero_a_page(data: bytearray, chance: random.Random) -> bytearray:
    at = _page(data, chance)
    return data[:at] + bytes(len(data[at : at + PAGE])) + data[at + PAGE :]


def fill_a_page(data: bytearray, chance: random.Random) -> bytearray:
    at = _page(data, chance)
    return data[:at] + chance.randbytes(len(data[at : at + PAGE])) + data[at + PAGE :]


def swap_two_pages(data: bytearray, chance: random.Random) -> bytearray:
    one, other = _page(data, chance), _page(data, chance)
    size = min(PAGE, len(data) - max(one, other))
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    return data


def cut_short(data: bytearray, chance: random.Random) -> bytearray:
    return data[: chance.randrange(len(data))]


def lengthen(data: bytearray, chance: random.Random) -> bytearray:
    return data + chance.randbytes(chance.randrange(1, PAGE))


def remove(data: bytearray, chance: random.Random) -> None:
    return None


DAMAGES: tuple[Damage, ...] = (
    flip_a_bit, flip_a_bit, flip_many_bits, zero_a_page, fill_a_page, swap_two_pages, cut_short, lengthen,
    remove,
)  # fmt: skip


def _page(data: bytearray, chance: random.Random) -> int:
    return chance.randrange(-(-len(data) // PAGE)) * PAGE


@dataclass
class Counts:
    """What came of the damages."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    harmless: int = 0
    """Answered as before: repaired on the way, or not part of any answer."""
    noticed: int = 0
    """Refused with INDEX_CORRUPT or INDEX_NOT_FOUND until the next update."""
    wrong: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    unhealed: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(self.kinds.items()))
        lines = [
            f"{self.cases} damages ({kinds})",
            f"answered as before: {self.harmless}",
            f"noticed, and refused until the next update: {self.noticed}",
            f"wrong answers: {len(self.wrong)}",
            f"raw exceptions: {len(self.raw)}",
            f"not healed by the next update: {len(self.unhealed)}",
        ]
        return "\n".join([*lines, *self.wrong, *self.raw, *self.unhealed])

    @property
    def good(self) -> bool:
        return not (self.wrong or self.raw or self.unhealed)


class Bench:
    """A small project with a whole index, whose folder is damaged and put back for each case."""

    def __init__(self, folder: Path, modules: int = 24) -> None:
        self._root = folder / "project"
        self._whole = folder / "whole"
        self._models, self._workers = OpenModels(), SparePool()
        self._root.mkdir(parents=True)
        for name, text in _sources(modules):
            (self._root / name).parent.mkdir(parents=True, exist_ok=True)
            (self._root / name).write_text(text)
        project = self._open()
        project.update()
        self._index = project.store.folder
        self.expected = self._answers(project)
        project.close()
        shutil.copytree(self._index, self._whole)

    def run(self, count: int, seed: int) -> Counts:
        """Damage the index so many times, each with its own seed."""
        counts = Counts()
        for number in range(seed, seed + count):
            self._try(random.Random(number), number, counts)
        return counts

    def close(self) -> None:
        self._workers.close()
        self._models.close()

    def _open(self) -> Project:
        project = Project(self._root, embedder=self._models)
        project.index.workers = self._workers  # starting a worker per case would be most of the time
        return project

    def _try(self, chance: random.Random, number: int, counts: Counts) -> None:
        shutil.rmtree(self._index)
        shutil.copytree(self._whole, self._index)
        damage, path = chance.choice(DAMAGES), chance.choice(self._files())
        self._damage(damage, path, chance)
        case = f"case {number}: {damage.__name__} in {path.relative_to(self._index)}"
        counts.cases += 1
        counts.kinds[damage.__name__] += 1
        project = self._open()
        try:
            found = self._outcome(project)
            if isinstance(found, str):
                counts.raw.append(f"{case}: {found}")
            elif found is None:
                counts.noticed += 1
            elif found == self.expected:
                counts.harmless += 1
            else:
                counts.wrong.append(f"{case}: {_difference(found, self.expected)}")
        finally:
            project.index.workers = SparePool()
            project.close()
        self._heal(case, counts)

    def _heal(self, case: str, counts: Counts) -> None:
        project = self._open()
        try:
            project.update()
            if self._answers(project) != self.expected:
                counts.unhealed.append(f"{case}: other answers")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            counts.unhealed.append(f"{case}: {type(error).__name__}: {error}")
        finally:
            project.index.workers = SparePool()
            project.close()

    def _files(self) -> list[Path]:
        """The files of the index, each as likely as its part: a database has one, keywords have many."""
        files = [path for path in sorted(self._index.rglob("*")) if path.is_file() and path.stat().st_size]
        files = [path for path in files if path.name not in NOT_DAMAGED and path.suffix != ".lock"]
        database = [path for path in files if path.suffix == ".sqlite"]
        return files + database * len(files)

    def _damage(self, damage: Damage, path: Path, chance: random.Random) -> None:
        """Change the file, and leave no trace of it in its time of writing, as a bad disk would."""
        info = path.stat()
        damaged = damage(bytearray(path.read_bytes()), chance)
        if damaged is None:
            path.unlink()
            return
        path.write_bytes(damaged)
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))

    def _outcome(self, project: Project) -> list[Any] | str | None:
        """The answers; None where they are refused; the name of an exception that is not ours."""
        try:
            return self._answers(project)
        except FindspotError as error:
            return None if error.code in ("INDEX_CORRUPT", "INDEX_NOT_FOUND") else error.developer_message
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            return f"{type(error).__name__}: {error}"

    def _answers(self, project: Project) -> list[Any]:
        found: list[Any] = [project.files(), [(s.path, s.reason) for s in project.skipped()]]
        for text in ("handle_order_7", "how is an order cancelled", "discount rate", "ledger"):
            found += [project.search(Query(text, mode=mode)).hits for mode in (Mode.HYBRID, Mode.REGEX)]
            found.append(project.search(Query(text, corpus=Corpus.DOCS)).hits)
        with project.reader() as reader:
            graph = Graph(reader.snapshot)
            for name in ("handle_order_3", "shared_helper"):
                nodes = graph.find(name)
                found.append([str(edge) for node in nodes for edge in graph.callers(node)])
        status = project.status(check_disk=False)
        found += [status.total_files, status.total_chunks, status.languages]
        return found


def _difference(found: list[Any], expected: list[Any]) -> str:
    return next(f"{one} != {other}"[:300] for one, other in zip(found, expected, strict=True) if one != other)


def _sources(modules: int) -> list[tuple[str, str]]:
    files = [("pkg/shared.py", "def shared_helper(value):\n    return value + 1\n")]
    for n in range(modules):
        functions = "".join(
            f"def handle_order_{n}_{k}(order):\n"
            f'    """Apply the discount rate {k} to an order of customer {n}."""\n'
            f"    ledger = shared_helper(order.total * {k + 1})\n"
            f"    if order.cancelled:\n        return ledger - {n}\n    return ledger\n\n\n"
            for k in range(8)
        )
        entry = f"def handle_order_{n}(order):\n    return handle_order_{n}_1(order)\n"
        files.append((f"pkg/orders{n}.py", f"from pkg.shared import shared_helper\n\n\n{functions}{entry}"))
    for n in range(6):
        text = f"# Orders {n}\n\nHow an order of kind {n} is cancelled, and who keeps the ledger.\n"
        files.append((f"docs/page{n}.md", text))
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ["FINDSPOT_HOME"] = str(Path(place, "home"))
        bench = Bench(Path(place))
        counts = bench.run(given.count, given.seed)
        bench.close()
    print(counts)  # noqa: T201
    sys.exit(0 if counts.good else 1)


if __name__ == "__main__":
    main()
