"""The leakage guard: nothing that a model is measured on may be in what it learns from.

Three nets. By name: a repository of the evaluation is refused in any packaging, and copies of it
inside other packages by their folders. By content: a pair whose code shares a few consecutive
lines with an evaluation file is dropped, whatever it is called; with mirrors of the evaluation's
repositories, with any of their files. By sentence: a pair that holds a sentence of a tool's
description is dropped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mirrors import mirror_of, texts_of

FILE_SHINGLE_LINES = 5
FUNCTION_SHINGLE_LINES = 3
"""For sets whose files are single functions, where five lines may be all there is."""

FUNCTION_SETS = {"cosqa"}
MIN_LINE_CHARS = 4
"""Shorter lines (`}`, `);`) are no evidence and would only hide a copy with other braces."""

SUB_PACKAGES = {
    "rails/rails": ("active", "action", "railties", "rails"),
    "laravel/framework": ("illuminate", "laravel"),
    "serde-rs/serde": ("serde",),
    "tokio-rs/tokio": ("tokio",),
    "tokio-rs/axum": ("axum",),
    "trpc/trpc": ("trpc",),
    "vitest-dev/vitest": ("vitest",),
    "phoenixframework/phoenix": ("phoenix",),
    "abseil/abseil-cpp": ("abseil",),
    "nlohmann/json": ("nlohmann",),
    "fmtlib/fmt": ("fmtlib",),
    "FasterXML/jackson-databind": ("jackson",),
    "JamesNK/Newtonsoft.Json": ("newtonsoft",),
    "Kotlin/kotlinx.coroutines": ("kotlinx",),
    "google/gson": ("gson",),
    "reduxjs/redux": ("redux", "reduxjs"),
    "curl/curl": ("curl",),
    "psf/requests": ("requests",),
    "apache/commons-lang": ("commons-lang",),
    "scikit-learn/scikit-learn": ("scikit-learn", "sklearn"),
    "rack/rack": ("rack",),
    "typelevel/cats": ("typelevel",),
}
"""Names under which parts of a repository are packaged: a package starting with one is refused."""

_PACKAGING = re.compile(
    r"^(golang-(github-|gopkg-|golang-)?|librust-|libghc-|ruby-|php-|lua-|node-|python3?-|haskell-|elixir-|lib)"
)
_SUFFIX = re.compile(r"(-dev|-java|-js|-lang)$|[-.]?\d+(\.\d+)*$")


def bare_name(package: str) -> str:
    """A package's name without what the packaging adds: `golang-github-x-y-dev` → `x-y`."""
    name = package.lower().replace("_", "-").lstrip("@").replace("/", "-")
    name = _PACKAGING.sub("", name)
    previous = ""
    while name != previous:
        previous, name = name, _SUFFIX.sub("", name)
    return name


def lines_of(text: str) -> list[str]:
    """The lines that count, white space evened out."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if len(line) >= MIN_LINE_CHARS]


def shingles(text: str, size: int) -> set[bytes]:
    """Hashes of every `size` consecutive lines; a shorter text is one shingle."""
    lines = lines_of(text)
    if not lines:
        return set()
    windows = [lines] if len(lines) < size else [lines[at : at + size] for at in range(len(lines) - size + 1)]
    return {hashlib.blake2b("\n".join(window).encode(), digest_size=8).digest() for window in windows}


_DOCSTRING = re.compile(r'[rRuU]{0,2}("""|\'\'\')(.*?)\1', re.DOTALL)


def without_docstrings(text: str) -> str:
    """Python source without triple-quoted text: pairs hold code in that form."""
    return _DOCSTRING.sub("", text)


MIN_SENTENCE_WORDS = 6
"""Shorter sentences (`Returns the current user.`) are anybody's."""

_SENTENCE_END = re.compile(r"[.!?:;]\s|\n")
_WORD = re.compile(r"[a-z0-9]+")


def sentences(text: str) -> set[str]:
    """The sentences and lines that say enough to be recognised, by their words alone."""
    found = (_WORD.findall(part) for part in _SENTENCE_END.split(text.lower()))
    return {" ".join(words) for words in found if len(words) >= MIN_SENTENCE_WORDS}


@dataclass
class Guard:
    """What must not be learned from."""

    repositories: set[str] = field(default_factory=set)
    file_shingles: set[bytes] = field(default_factory=set)
    function_shingles: set[bytes] = field(default_factory=set)
    descriptions: set[str] = field(default_factory=set)
    commits: dict[str, set[str]] = field(default_factory=dict)
    """Repository → the commits that questions are asked about."""

    @classmethod
    def load(cls, folder: Path, mirrors: Path | None = None) -> Guard:
        """From an evaluation folder: what is excluded, queries, corpora and catalogues of tools.

        With `mirrors`, a folder of git directories, also every file of the repositories asked about.
        """
        guard = cls.of_names(folder)
        for catalogue in sorted((folder / "catalogues").glob("*.jsonl")):
            for line in catalogue.read_text("utf-8").splitlines():
                guard.descriptions |= sentences(json.loads(line).get("description") or "")
        if mirrors is not None:
            guard.watch_mirrors(mirrors)
        for corpus in sorted((folder / "corpora").glob("*.jsonl")):
            for line in corpus.read_text("utf-8").splitlines():
                guard.watch(json.loads(line)["text"], function=corpus.stem in FUNCTION_SETS)
        return guard

    @classmethod
    def of_names(cls, folder: Path) -> Guard:
        """Return a guard that only knows the repositories of an evaluation folder."""
        guard = cls()
        guard.refuse((folder / "excluded-from-training.txt").read_text("utf-8").split())
        for queries in sorted((folder / "queries").glob("*.jsonl")):
            for line in queries.read_text("utf-8").splitlines():
                row = json.loads(line)
                guard.refuse(row[key] for key in ("repo", "source_repo") if row.get(key))
                if row.get("repo") and row.get("commit"):
                    guard.commits.setdefault(row["repo"], set()).add(row["commit"])
        return guard

    def refuse(self, repositories: Iterable[str]) -> None:
        self.repositories.update(name for name in repositories if not name.startswith("corpora/"))

    def watch(self, text: str, *, function: bool) -> None:
        """Remember an evaluation file."""
        for form in (text, without_docstrings(text)):
            if function:
                self.function_shingles |= shingles(form, FUNCTION_SHINGLE_LINES)
            else:
                self.file_shingles |= shingles(form, FILE_SHINGLE_LINES)

    def watch_mirrors(self, mirrors: Path) -> None:
        """Remember every file of the repositories that there is a mirror of."""
        for repository, commits in sorted(self.commits.items()):
            mirror = mirror_of(repository, mirrors)
            for text in texts_of(mirror, commits) if mirror else ():
                self.watch(text, function=False)

    def refuses_package(self, package: str) -> bool:
        """Whether a package is, or is a part of, an evaluation repository."""
        name = bare_name(package)
        for repository in self.repositories:
            owner, _, project = repository.lower().partition("/")
            project = bare_name(project)
            if name in (project, f"{owner}-{project}") or name.startswith(f"{owner}-{project}-"):
                return True
            for part in SUB_PACKAGES.get(repository, ()):
                if (
                    name == part
                    or name.startswith(part + "-")
                    or (part in ("active", "action") and name.startswith(part))
                ):
                    return True
        return False

    def refuses_repository(self, repository: str) -> bool:
        """Whether `owner/name` is an evaluation repository, a fork of one, or one under another owner."""
        name = repository.lower().rpartition("/")[2]
        names = {refused.lower().rpartition("/")[2] for refused in self.repositories}
        return name in names or self.refuses_package(name)

    def refuses_path(self, path: str) -> bool:
        """Whether a file lies in a folder that is a copy of an evaluation repository."""
        lowered = f"/{path.lower()}"
        return any(f"/{repository.lower()}/" in lowered for repository in self.repositories)

    def refuses_text(self, *texts: str) -> bool:
        """Whether any form of a piece shares lines with an evaluation file, or a tool's description."""
        return any(
            not self.file_shingles.isdisjoint(shingles(text, FILE_SHINGLE_LINES))
            or not self.function_shingles.isdisjoint(shingles(text, FUNCTION_SHINGLE_LINES))
            or self.refuses_sentences(text)
            for text in texts
        )

    def refuses_sentences(self, text: str) -> bool:
        """Whether a text holds a sentence of a tool's description."""
        return not self.descriptions.isdisjoint(sentences(text))
