"""Query sets, the files they are asked about, and where figures are kept.

The sets are not part of this repository: a folder with `queries/*.jsonl` and `corpora/*.jsonl`
is given by an option. Repositories come from a folder of git mirrors (`owner+name/repo`,
`owner/name.git` …) or are cloned.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import subprocess
import tarfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.metrics import Place

HERE = Path(__file__).parent
RESULTS = HERE / "results"
NEVER = math.inf
CORPORA = {
    "code_cosqa": "cosqa",
    "code_anthropic": "anthropic_code",
    "docs_anthropic": "anthropic_docs",
}


@dataclass(frozen=True)
class Case:
    """One query with its wanted places, as paths from the folder that is indexed."""

    set: str
    group: str
    commit: str
    root: str
    language: str
    category: str
    query: str
    targets: tuple[Place, ...]


def load(folder: Path, name: str) -> list[Case]:
    cases = []
    for line in (folder / "queries" / f"{name}.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        targets = tuple(
            Place(target["path"], target.get("start_line"), target.get("end_line"))
            for target in item["relevant"]
        )
        cases.append(
            Case(
                set=name,
                group=item.get("repo") or name,
                commit=item.get("commit") or "",
                root=item.get("root") or "",
                language=item.get("language") or "",
                category=item.get("category") or "",
                query=item["query"],
                targets=targets,
            )
        )
    return cases


def by_checkout(cases: list[Case]) -> dict[tuple[str, str, str], list[Case]]:
    grouped: dict[tuple[str, str, str], list[Case]] = defaultdict(list)
    for case in cases:
        grouped[case.group, case.commit, case.root].append(case)
    return grouped


def materialise(case: Case, sets: Path, mirrors: Path | None, cache: Path) -> Path:
    """A folder with the files that a case is asked about."""
    if case.set in CORPORA:
        return _write_corpus(sets / "corpora" / f"{CORPORA[case.set]}.jsonl", cache / CORPORA[case.set])
    target = cache / case.group.replace("/", "+") / case.commit
    done = target.with_suffix(".done")
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        _extract(_mirror(case.group, mirrors, cache), case.commit, target)
        done.touch()
    return target


def _write_corpus(source: Path, target: Path) -> Path:
    if not target.exists():
        for line in source.read_text("utf-8").splitlines():
            item = json.loads(line)
            path = target / item["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(item["text"], "utf-8")
    return target


def _mirror(repository: str, mirrors: Path | None, cache: Path) -> Path:
    owner, _, name = repository.partition("/")
    if mirrors:
        for candidate in (f"{owner}+{name}/repo", f"{owner}+{name}", f"{owner}/{name}.git", f"{name}.git"):
            if (mirrors / candidate / "HEAD").exists():
                return mirrors / candidate
    clone = cache / "clones" / f"{owner}+{name}.git"
    if not clone.exists():
        address = f"https://github.com/{repository}.git"
        subprocess.run(["git", "clone", "--quiet", "--bare", address, str(clone)], check=True)
    return clone


def _extract(mirror: Path, commit: str, target: Path) -> None:
    """Write a commit's files; blobs that a shallow mirror lacks are left out."""
    git = ["git", f"--git-dir={mirror}"]
    archive = subprocess.run([*git, "archive", commit], capture_output=True, check=False)
    if archive.returncode == 0:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(target, filter="data")
        return
    listing = subprocess.run([*git, "ls-tree", "-rz", commit], capture_output=True, check=True).stdout
    for entry in filter(None, listing.split(b"\0")):
        about, _, path = entry.partition(b"\t")
        mode, kind, blob = about.split()
        content = subprocess.run([*git, "cat-file", "blob", blob.decode()], capture_output=True, check=False)
        if kind == b"blob" and mode != b"120000" and content.returncode == 0:
            file = target / path.decode("utf-8", "replace")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.stdout)


def commit() -> str:
    """Return the commit that is measured."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()


def rounded(value: Any) -> Any:
    """Return nested figures as results/ keeps them."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    if value == NEVER:
        return None
    return round(value, 4) if isinstance(value, float) else value


def save(figures: dict[str, Any], name: str) -> None:
    """Write figures to results/."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(rounded({"commit": commit(), **figures}), indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")


def options(description: str | None) -> argparse.ArgumentParser:
    """Return the options that all measurements of answers take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=Path, required=True, help="folder with queries/ and corpora/")
    parser.add_argument("--mirrors", type=Path, help="folder of git mirrors; without it, clones are made")
    parser.add_argument(
        "--cache", type=Path, default=HERE / ".cache", help="where checkouts and indexes are kept"
    )
    parser.add_argument("--save", metavar="NAME", help="keep the figures as results/NAME.json")
    return parser
