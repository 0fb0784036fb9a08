"""Download the listed packages, extract pairs from those we may learn from, keep the good ones.

collect.py download                      packages of sources.txt → .cache/
collect.py extract --guard EVALUATION    .cache/ → .cache/pairs/*.jsonl
collect.py select                        .cache/pairs/ → .cache/pairs.jsonl, sources.tsv
collect.py check --guard EVALUATION      .cache/pairs.jsonl against the guard → .cache/refused.jsonl;
                                         select again to leave those out
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

from archives import Package, packages
from extract import MAX_TEXT_CHARS, SUFFIXES, Pair, first_paragraph, pairs_of
from guard import Guard
from questions import question

HERE = Path(__file__).parent
CACHE = HERE / ".cache"

MAX_PAIRS_A_PACKAGE = 4000
"""So that no project's habits become the model's; a package's pairs are sampled by hash."""

KIND_LIMIT = {"name": 0.15, "named": 0.3, "test": 0.1, "comment": 0.2}
"""The most that weaker kinds may add, as a share of a package's limit."""

USES_OF_A_TEXT = 2
"""A function may be asked for by its comment and by its name, not more often."""


# --- download ----------------------------------------------------------------------------------


def sources() -> Iterator[tuple[str, str]]:
    """Ecosystem and name of each listed package."""
    for line in (HERE / "sources.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            ecosystem, _, name = line.partition(" ")
            yield ecosystem, name


def download(guard: Guard, jobs: int) -> None:
    """Fetch what is not there yet; a package that cannot be had is left out."""
    _private_apt(CACHE / "apt")
    with ProcessPoolExecutor(jobs) as pool:
        wanted = [source for source in sources() if not guard.refuses_package(source[1])]
        list(pool.map(_download_one, wanted, chunksize=4))


def _download_one(source: tuple[str, str]) -> None:
    ecosystem, name = source
    folder = CACHE / ecosystem if ecosystem == "deb" else CACHE / ecosystem / name.replace("/", "__")
    if any(folder.glob(f"{name}_*.deb" if ecosystem == "deb" else "*")):
        return
    folder.mkdir(parents=True, exist_ok=True)
    commands = {
        "pypi": ["pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", ".", name],
        "npm": ["npm", "pack", "--silent", "--ignore-scripts", name],
        "deb": ["apt-get", "download", "-qq", name],
        "debsrc": ["apt-get", "source", "-qq", "--download-only", name],
    }
    environment = (
        {**os.environ, "APT_CONFIG": str(CACHE / "apt" / "apt.conf")} if ecosystem == "debsrc" else None
    )
    subprocess.run(
        commands[ecosystem], cwd=folder, env=environment, capture_output=True, check=False, timeout=300
    )


def _private_apt(folder: Path) -> None:
    """An apt state of our own that reads the machine's archives as source packages."""
    for part in ("parts", "state/lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for listed in Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = re.sub(r"^Types: deb$", "Types: deb-src", listed.read_text("utf-8"), flags=re.M)
        (folder / "parts" / listed.name).write_text(text, "utf-8")
    (folder / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{folder}/parts";\n'
        f'Dir::State "{folder}/state";\nDir::State::status "/var/lib/dpkg/status";\n'
        f'Dir::Cache "{folder}/cache";\nAPT::Sandbox::User "root";\n',
        "utf-8",
    )
    environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, capture_output=True, check=False)


# --- extract -----------------------------------------------------------------------------------


def extract(guard: Guard, jobs: int) -> None:
    """One JSON Lines file a package, so that a run can be taken up again."""
    (CACHE / "pairs").mkdir(parents=True, exist_ok=True)
    _GUARDS.append(guard)
    allowed = (package for package in packages(CACHE) if not guard.refuses_package(package.name))
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        list(pool.map(_extract_guarded, allowed, chunksize=2))


_GUARDS: list[Guard] = []
"""The guard of this run, which worker processes inherit: it is too large to be sent with each package."""


def _extract_guarded(package: Package) -> None:
    extract_package(_GUARDS[0], package)


def extract_package(guard: Guard, package: Package) -> None:
    """The pairs of one package that pass the guard, sampled to the limit."""
    target = CACHE / "pairs" / f"{package.ecosystem}__{package.name.replace('/', '__')}.jsonl"
    if target.exists():
        return
    found = [pair for pair in _package_pairs(guard, package) if len(pair.query) <= 2 * len(pair.text)]
    kept = sample(found)
    about = {
        "ecosystem": package.ecosystem,
        "package": package.name,
        "version": package.version,
        "licence": package.licence,
    }
    rows = [
        json.dumps({"kind": pair.kind, "language": pair.language, "query": pair.query, "text": pair.text})
        for pair in kept
        if not guard.refuses_text(pair.text, pair.raw) and not guard.refuses_sentences(pair.query)
    ]
    target.write_text("\n".join([json.dumps({**about, "pairs": len(rows)}), *rows]) + "\n", "utf-8")


def _package_pairs(guard: Guard, package: Package) -> Iterator[Pair]:
    readme = package.description
    for path, text in package.files(frozenset(SUFFIXES)):
        if guard.refuses_path(path):
            continue
        if not readme and path.lower() in ("readme.md", "readme.rst"):
            readme = text
        yield from pairs_of(path, text)
    yield from _summaries(package, readme)


def _summaries(package: Package, readme: str) -> Iterator[Pair]:
    """What a package says of itself in a line asks for what it says at length."""
    summary = first_paragraph(package.summary)
    if summary and len(readme) > 200:
        yield Pair("summary", "markdown", summary, readme[:1000])
    if package.description:
        yield from pairs_of("README.md", package.description)


def sample(pairs: list[Pair], limit: int = MAX_PAIRS_A_PACKAGE) -> list[Pair]:
    """At most `limit` pairs, weaker kinds within their share; which ones is decided by their hash."""
    kept: list[Pair] = []
    counts: Counter[str] = Counter()
    for pair in sorted(
        pairs,
        key=lambda pair: blake2b((pair.query + pair.text).encode("utf-8", "replace"), digest_size=8).digest(),
    ):
        counts[pair.kind] += 1
        if counts[pair.kind] <= limit * KIND_LIMIT.get(pair.kind, 1.0):
            kept.append(pair)
    return kept[:limit]


# --- select ------------------------------------------------------------------------------------


def select() -> None:
    """Drop repeated questions and repeated texts over all packages; write pairs and their sources."""
    queries: Counter[str] = Counter()
    texts: Counter[bytes] = Counter()
    seen: set[tuple[str, bytes]] = set()
    listing: list[str] = []
    kinds: Counter[str] = Counter()
    refused = set(_refused())
    with (CACHE / "pairs.jsonl").open("w", encoding="utf-8") as out:
        for file in sorted((CACHE / "pairs").glob("*.jsonl")):
            lines = file.read_text("utf-8").splitlines()
            about, kept = json.loads(lines[0]), 0
            for line in lines[1:]:
                row = json.loads(line)
                row["text"] = row["text"][:MAX_TEXT_CHARS]
                if (row["query"], row["text"]) in refused:
                    continue
                query = " ".join(re.findall(r"\w+", row["query"].lower()))
                text = blake2b(
                    " ".join(row["text"].split()).encode("utf-8", "replace"), digest_size=8
                ).digest()
                queries[query] += 1
                if queries[query] > 2 or texts[text] >= USES_OF_A_TEXT or (query, text) in seen:
                    continue
                texts[text] += 1
                seen.add((query, text))
                row["asked"] = question(row["kind"], row["language"], row["query"])
                kept += 1
                kinds[f"{row['kind']}/{row['language']}"] += 1
                out.write(json.dumps({**row, "package": f"{about['ecosystem']}/{about['package']}"}) + "\n")
            if kept:
                listing.append(
                    "\t".join(
                        [about["ecosystem"], about["package"], about["version"], about["licence"], str(kept)]
                    )
                )
    (HERE / "sources.tsv").write_text(
        "ecosystem\tpackage\tversion\tlicence\tpairs\n" + "\n".join(listing) + "\n", "utf-8"
    )
    (CACHE / "counts.json").write_text(json.dumps(kinds, indent=1), "utf-8")


def _refused() -> Iterator[tuple[str, str]]:
    """Question and text of the pairs that the last check refused, which are left out from then on."""
    path = CACHE / "refused.jsonl"
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        pair = json.loads(line)
        yield pair["query"], pair["text"][:MAX_TEXT_CHARS]


def check(guard: Guard) -> None:
    """Hold the selected pairs against the guard once more, and write down those that it refuses."""
    refused: Counter[str] = Counter()
    total = 0
    with (CACHE / "pairs.jsonl").open(encoding="utf-8") as pairs, (CACHE / "refused.jsonl").open("a") as out:
        for line in pairs:
            pair = json.loads(line)
            total += 1
            if guard.refuses_text(pair["text"]) or guard.refuses_sentences(pair["query"]):
                refused[pair["package"]] += 1
                out.write(line)
    sys.stdout.write(f"{refused.total():,} of {total:,} pairs are refused\n")
    for package, count in refused.most_common(20):
        sys.stdout.write(f"{count:8,}  {package}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["download", "extract", "select", "check"])
    parser.add_argument("--guard", type=Path, help="the evaluation folder that nothing may come from")
    parser.add_argument("--mirrors", type=Path, help="git directories of the evaluation's repositories")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.stage == "select":
        select()
        return
    if options.guard is None:
        parser.error("--guard is needed: what is evaluated must be known to be left out")
    guard = Guard.load(options.guard, options.mirrors)
    if options.stage == "download":
        download(guard, options.jobs)
    elif options.stage == "check":
        check(guard)
    else:
        extract(guard, options.jobs)


if __name__ == "__main__":
    main()
