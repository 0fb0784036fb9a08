# mypy: disable-error-code="import-not-found"
"""Tune the distilled table so that a question lies near the code that answers it.

Symmetric cross-entropy in the batch; runs of one package in it are the hard negatives. With
teacher vectors (teacher.py), the batch's similarities are also drawn towards MiniLM's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as nn

from findspot.embed.static_model import WordPieces
from tokenise import CACHE, id_sets, load_pairs

SEED = 20261115
TEMPERATURE = 0.05
TEACHER_TEMPERATURE = 0.03
RUN = 64
"""Pairs of one package that lie together in a batch."""

QUERY_DROPOUT, TEXT_DROPOUT = 0.1, 0.3
"""The share of tokens left out at each step: a text must be found by any part of it."""

ASKED_SHARE = 0.5
"""How often a pair's second question, phrased as people type (questions.py), takes the place of the
first: worth 0.02 on typed questions, and nothing to the rest."""


class Bags:
    """Texts as bags of ids on a device; a batch is cut out without Python loops."""

    def __init__(self, flat: NDArray[np.int32], starts: NDArray[np.int64], device: str) -> None:
        self.flat = torch.from_numpy(flat.astype(np.int64)).to(device)
        self.starts = torch.from_numpy(starts).to(device)

    def batch(self, rows: Any, dropout: float) -> tuple[Any, Any]:
        """Ids end to end, and the offset of each row."""
        begin, end = self.starts[rows], self.starts[rows + 1]
        counts = end - begin
        owner = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
        first = torch.cumsum(counts, 0) - counts
        where = torch.arange(len(owner), device=rows.device) - first[owner] + begin[owner]
        if dropout:
            kept = torch.rand(len(where), device=rows.device) >= dropout
            where, owner = where[kept], owner[kept]
        sizes = torch.bincount(owner, minlength=len(rows))
        return self.flat[where], torch.cumsum(sizes, 0) - sizes


def order(packages: NDArray[np.int64], chosen: np.random.Generator, batch: int) -> NDArray[np.int64]:
    """A shuffled epoch of whole batches in which runs of one package stay together."""
    rows = chosen.permutation(len(packages))
    rows = rows[np.argsort(packages[rows], kind="stable")]
    runs = [rows[at : at + RUN] for at in range(0, len(rows), RUN)]
    chosen.shuffle(runs)
    return np.concatenate(runs)[: len(rows) // batch * batch]


def contrast(queries: Any, texts: Any, same: Any) -> Any:
    """Each question must find its text among the batch's, and each text its question."""
    again = same[:, None] == same[None]
    again.fill_diagonal_(False)  # a text that two questions ask for is no rival of itself
    scores = (queries @ texts.T / TEMPERATURE).masked_fill(again, -1e4)
    labels = torch.arange(len(scores), device=scores.device)
    return (nn.cross_entropy(scores, labels) + nn.cross_entropy(scores.T, labels)) / 2


def follow(queries: Any, texts: Any, teacher_queries: Any, teacher_texts: Any) -> Any:
    """How far the batch's similarities are from the teacher's, both ways."""
    ours = queries @ texts.T / TEMPERATURE
    theirs = teacher_queries @ teacher_texts.T / TEACHER_TEMPERATURE
    return (
        sum(
            nn.kl_div(
                nn.log_softmax(mine, 1), nn.log_softmax(their, 1), reduction="batchmean", log_target=True
            )
            for mine, their in ((ours, theirs), (ours.T, theirs.T))
        )
        / 2
    )


@dataclass
class Data:
    """Everything that is the same for every run."""

    vocabulary: list[str]
    table: NDArray[np.float32]
    queries: Bags
    """The first question of each pair, then the second of each."""
    texts: Bags
    same: Any
    """A number for each text, equal where texts are."""
    packages: NDArray[np.int64]
    teacher: list[Any]


def load(options: argparse.Namespace) -> Data:
    """Pairs as bags of ids, the distilled table, and the teacher's vectors where there are any."""
    pairs = load_pairs(options.pairs)
    with np.load(options.start) as saved:
        vocabulary, table = [str(entry) for entry in saved["vocabulary"]], saved["table"]
    pieces = WordPieces(vocabulary)
    asked = [pair["query"] for pair in pairs] + [pair.get("asked") or pair["query"] for pair in pairs]
    queries = Bags(*id_sets(asked, pieces), options.device)
    texts = Bags(*id_sets([pair["text"] for pair in pairs], pieces), options.device)
    names = {name: row for row, name in enumerate(sorted({pair["package"] for pair in pairs}))}
    packages = np.array([names[pair["package"]] for pair in pairs])
    numbers: dict[str, int] = {}
    same = torch.tensor([numbers.setdefault(pair["text"], len(numbers)) for pair in pairs])
    teacher: list[Any] = []
    if options.teacher:
        first, second, answers = (torch.from_numpy(side) for side in np.load(options.teacher))
        teacher = [torch.cat((first, second)).to(options.device), answers.to(options.device)]
    return Data(vocabulary, table, queries, texts, same.to(options.device), packages, teacher)


def tune(data: Data, options: argparse.Namespace) -> NDArray[np.float32]:
    """One run from the distilled table; the same options give the same table on a CPU."""
    torch.manual_seed(SEED)
    chosen = np.random.default_rng(SEED)
    weight = torch.nn.Parameter(torch.from_numpy(data.table.astype(np.float32)).to(options.device))
    optimiser = torch.optim.Adam([weight], lr=options.rate)
    steps = options.epochs * (len(data.packages) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, options.rate, total_steps=steps, pct_start=0.05)
    began = time.monotonic()
    for epoch in range(options.epochs):
        losses = []
        rows = torch.from_numpy(order(data.packages, chosen, options.batch)).to(options.device)
        for at in range(0, len(rows), options.batch):
            loss = step_loss(data, weight, rows[at : at + options.batch], options.follow)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.detach())
        report = {
            "epoch": epoch,
            "loss": float(torch.stack(losses).mean()),
            "seconds": time.monotonic() - began,
        }
        sys.stderr.write(json.dumps(report) + "\n")
    trained: NDArray[np.float32] = weight.detach().cpu().numpy()
    return trained


def step_loss(data: Data, weight: Any, rows: Any, follow_weight: float) -> Any:
    """The loss of one batch of pairs."""
    second = torch.rand(len(rows), device=rows.device) < ASKED_SHARE
    asking = rows + len(data.packages) * second
    asks = pooled(data.queries, asking, QUERY_DROPOUT, weight)
    answers = pooled(data.texts, rows, TEXT_DROPOUT, weight)
    loss = contrast(asks, answers, data.same[rows])
    if data.teacher and follow_weight:
        teacher_asks, teacher_answers = data.teacher[0][asking].float(), data.teacher[1][rows].float()
        loss = loss + follow_weight * follow(asks, answers, teacher_asks, teacher_answers)
    return loss


def pooled(bags: Bags, rows: Any, dropout: float, weight: Any) -> Any:
    """Unit vectors of a batch of texts."""
    ids, offsets = bags.batch(rows, dropout)
    return nn.normalize(nn.embedding_bag(ids, weight, offsets, mode="sum"), dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, default=CACHE / "pairs.jsonl")
    parser.add_argument("--start", type=Path, default=CACHE / "distilled.npz")
    parser.add_argument("--teacher", type=Path, help="from teacher.py; without it there is no KL term")
    parser.add_argument("--out", type=Path, default=CACHE / "trained.npz")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--follow", type=float, default=4.0, help="weight of the KL term")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = load(options)
    np.savez(options.out, table=tune(data, options), vocabulary=np.array(data.vocabulary))


if __name__ == "__main__":
    main()
