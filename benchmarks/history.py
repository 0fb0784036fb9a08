"""Questions about past changes: is the commit that answers among the first five?

    python -m benchmarks.history MIRRORS WORK

MIRRORS has bare repositories as OWNER+NAME/repo, WORK keeps their histories. `queries/history.jsonl` has 100
questions about ten projects, written from the commits by somebody who did not know the ranking. The model
was fitted on them: the figure with projects left out is in the README.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from findspot.embed.provider_registry import open_embedder
from findspot.history.commit_store import CommitStore
from findspot.history.commit_worker import bring_up_to_date
from findspot.history.project_history import ProjectHistory

QUESTIONS = Path(__file__).parent / "queries" / "history.jsonl"


def main(mirrors: Path, work: Path) -> None:
    model = open_embedder("local:static")
    found: dict[str, list[bool]] = defaultdict(list)
    taken: list[float] = []
    for line in QUESTIONS.read_text("utf-8").splitlines():
        asked = json.loads(line)
        name = asked["repo"].replace("/", "+")
        root, folder = mirrors / name / "repo", work / name
        folder.mkdir(parents=True, exist_ok=True)
        bring_up_to_date(root, CommitStore(folder))
        history = ProjectHistory(root, folder, lambda: model)
        history.search(asked["question"])  # loads the vectors
        answer = history.search(asked["question"], 5)
        taken.append(answer.elapsed_ms)
        is_right = any(each.commit.hash in asked["commits"] for each in answer.found)
        for group in ("all", asked["kind"]):
            found[group].append(is_right)
    for group, right in found.items():
        sys.stdout.write(f"{group}: {sum(right) / len(right):.3f} of {len(right)}\n")
    sys.stdout.write(f"p95 {sorted(taken)[int(len(taken) * 0.95)]:.0f} ms\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
