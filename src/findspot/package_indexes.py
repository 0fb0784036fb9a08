"""Search what a project depends on: each package is indexed when it is first asked about, once per version.

The indexes lie below the home folder and are shared by all projects. Nothing in a package is believed: its
own configuration is not read, and nothing of it is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from findspot.core.config import home_folder
from findspot.core.errors import FileNotIndexedError, IndexBusyError, InvalidArgumentError
from findspot.core.files import folder_bytes, make_private_dir, read_below, remove_folder, stat_of
from findspot.core.model import Corpus, Hit, Query, Results, Strength
from findspot.core.paths import DOCUMENT_SETS
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.dependencies.package import NPM, PYPI, SCHEME, Dependency, normalised
from findspot.embed.provider_registry import OpenEmbedder
from findspot.indexer import Indexer
from findspot.search.freshness import Disk
from findspot.search.reader import IndexReader, QueryModels
from findspot.store.index_meta import COMPLETE
from findspot.store.snapshot import Snapshot
from findspot.store.stores import local_store

ALL = "*"

MAX_PACKAGE_FILES = 20_000
MAX_PACKAGES = 300
MAX_BYTES = 4_000_000_000
UNUSED_DAYS = 60

_LEFT_OUT = (
    "**/tests/**", "**/test/**", "**/__tests__/**", "**/testing/fixtures/**", "**/*.test.*", "**/*.spec.*",
    "**/_vendor/**", "**/vendor/**", "**/vendored/**", "**/third_party/**", "**/node_modules/**",
    "**/*.map", "**/benchmarks/**",
)  # fmt: skip
"""Tests, copies of other packages, and what builds write."""

_USED = "used"
"""A file whose time says when an index was last asked."""

_INSTALL = (
    "Install the project's packages (Findspot looks into `.venv`, `node_modules` and the like, and into the "
    "active environment); `findspot deps --missing` lists what is missing."
)
_HASHED_BYTES = 2_000_000
_OTHERS_S, _LOOK_S = 20.0, 0.1
"""How long another process that indexes the same package is waited for, and how often it is looked at."""
_FEW = 3
_MOST_SUGGESTED = 5
"""Packages that are asked where the project itself has no answer."""

_MOST_OPENED = 8
"""Packages that are opened, and indexed, to follow one name."""

_WORDS = re.compile(r"[\w@/.-]+")

_LIST_S = 60.0
"""How long the list of a project's dependencies is taken as it was read, while these stay as they are:"""
_TELLING = (
    "pyproject.toml", "requirements.txt", "uv.lock", "poetry.lock", "package.json", "package-lock.json",
    "pnpm-lock.yaml", "yarn.lock", "go.mod", "Cargo.lock", "pom.xml", "build.gradle", "gradle.lockfile",
    "composer.lock", "Gemfile.lock", ".venv", "venv", "node_modules", "vendor",
)  # fmt: skip


class PackageIndexes:
    """The packages of one project, as they can be searched. Safe to use from several threads."""

    def __init__(self, root: Path, open_embedder: OpenEmbedder) -> None:
        self._root = root
        self._open_embedder = open_embedder
        self._guard = threading.Lock()
        self._listed: tuple[float, tuple[int, ...], list[Dependency]] | None = None
        self._open: dict[Path, Indexer] = {}
        self._asked: dict[str, Dependency] = {}
        """The packages that were searched, the last one at the end."""
        self._contents: dict[Path, tuple[float, str]] = {}

    def search(
        self,
        query: Query,
        wanted: str,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> Results:
        """Answer a query from the packages that `wanted` names; paths of hits begin with `dep://`."""
        packages = self.choose(wanted)
        asked = [self._search(package, query, progress, cancel or CancelToken()) for package in packages]
        answers = [answer for answer in asked if answer is not None]
        hits = sorted((hit for answer in answers for hit in answer.hits), key=lambda hit: -hit.score)
        warnings = dict.fromkeys(answer.warning for answer in answers if answer.warning)
        return Results(
            query.text,
            query.mode,
            tuple(hits[: query.limit]),
            sum(answer.total for answer in answers),
            sum(answer.elapsed_ms for answer in answers),
            " ".join(warnings) or None,
            offset=query.offset,
            nothing_fits=all(answer.nothing_fits for answer in answers),
        )

    def suggest(self, query: Query) -> str | None:
        """Return a sentence about a direct dependency that fits where the project does not.

        Nothing is indexed for it: of packages that this process was not asked about, only the name counts.
        """
        words = set(_WORDS.findall(query.text.lower()))
        packages = [each for each in self.listed() if each.direct and each.folder]
        direct = {package.label for package in packages}
        for package in packages:
            if normalised(package.name) in words or package.name.lower() in words:
                return _suggestion(package)
        with self._guard:
            asked = list(self._asked.values())
        for package in asked[-_MOST_SUGGESTED:]:
            if package.label not in direct or not _is_complete(self._index(package)):
                continue
            answer = self._search(package, replace(query, limit=1, offset=0), ignore_progress, CancelToken())
            if answer is not None and answer.hits and answer.hits[0].strength is Strength.STRONG:
                return _suggestion(package)
        return None

    def choose(self, wanted: str) -> list[Dependency]:
        """Return the packages that a name means: `requests`, `requests@2.32.3`, `pypi/requests`, or `*`."""
        listed = self.listed()
        if wanted == ALL:
            named = [each for each in listed if each.direct]
        else:
            named = [each for each in listed if _is_meant(each, wanted)]
        found = [each for each in named if each.folder]
        if found:
            return found
        if not named:
            raise _unknown(wanted, listed)
        if wanted == ALL:
            count = f"None of the {len(named):,} packages" if len(named) > 1 else "The one package"
            raise InvalidArgumentError(f"{count} that the project names is installed.", hint=_INSTALL)
        raise InvalidArgumentError(f"{named[0].label} cannot be searched: {named[0].missing}.", hint=_INSTALL)

    def listed(self) -> list[Dependency]:
        """Return the dependencies of the project, and the documentation sets of the user."""
        from findspot.dependencies.document_sets import list_sets  # a server starts without them
        from findspot.dependencies.project_dependencies import list_dependencies

        with self._guard:
            known = self._listed
        telling = *(f"{self._root}/{name}" for name in _TELLING), str(home_folder() / DOCUMENT_SETS)
        stamps = tuple(info.st_mtime_ns for path in telling if (info := stat_of(path)))
        if known is None or known[1] != stamps or time.monotonic() - known[0] > _LIST_S:
            known = time.monotonic(), stamps, [*list_dependencies(self._root), *list_sets(home_folder())]
            with self._guard:
                self._listed = known
        return known[2]

    def holding(self, path: str) -> tuple[Indexer, str]:
        """Return the index that has a `dep://` path, and the path as it is spelled there."""
        inside = path.removeprefix(SCHEME)
        for package in self.listed():
            if package.folder is not None and inside.startswith(f"{package.label}/"):
                index = self._index(package)
                if index.store.exists:
                    return index, inside.removeprefix(f"{package.label}/")
        raise FileNotIndexedError(path)

    def describe(self, language: str, module: str, names: Sequence[str]) -> str | None:
        """Return where the package of a module defines a chain of names, with its signature."""
        from findspot.dependencies.external_symbols import find_symbol
        from findspot.dependencies.package_modules import PackageFiles, providing

        opened: dict[str, PackageFiles] = {}
        with contextlib.ExitStack() as stack:

            def open_packages(wanted: str) -> Iterator[PackageFiles]:
                for package in providing(self.listed(), language, wanted):
                    if package.label not in opened and len(opened) < _MOST_OPENED:
                        index = self._index(package)
                        self._build(index, ignore_progress, CancelToken())
                        _note_use(index.store.folder)
                        snapshot = stack.enter_context(index.store.snapshot())
                        opened[package.label] = PackageFiles(package, snapshot)
                    if package.label in opened:
                        yield opened[package.label]

            found = find_symbol(open_packages, module, names) if names else None
        return str(found) if found is not None else None

    @contextlib.contextmanager
    def version(self, name: str, version: str) -> Iterator[Snapshot]:
        """Open one version of a package: an installed one, or one that is still indexed."""
        installed = [each for each in self.listed() if _is_meant(each, f"{name}@{version}") and each.folder]
        if installed:
            index = self._index(installed[0])
            self._build(index, ignore_progress, CancelToken())
            with index.store.snapshot() as snapshot:
                yield snapshot
            return
        bare = name.rpartition("/")[2] if name.count("/") == 1 and name[0] != "@" else name
        known = sorted((home_folder() / "dependencies").glob(f"*/{_spelled(bare)}@*"))
        for folder in known:
            if folder.name.rpartition("-")[0].rpartition("@")[2] == version:
                with local_store(folder).snapshot() as snapshot:
                    yield snapshot
                return
        versions = sorted({folder.name.rpartition("-")[0].rpartition("@")[2] for folder in known})
        raise InvalidArgumentError(
            f"Version {version} of '{name}' is neither installed in this project nor indexed.",
            hint=f"Indexed: {', '.join(versions)}." if versions else "Search it once while it is installed.",
        )

    def close(self) -> None:
        """Close the indexes that were opened."""
        with self._guard:
            opened, self._open = list(self._open.values()), {}
        for index in opened:
            index.close()

    def _search(
        self, package: Dependency, query: Query, progress: ProgressSink, cancel: CancelToken
    ) -> Results | None:
        index = self._index(package)
        self._build(index, progress, cancel)
        if not index.store.exists:
            return None
        _note_use(index.store.folder)
        settings = index.settings
        models = QueryModels(lambda: index.open_embedder(settings), lambda: (None, None))
        disk = Disk(index.roots, settings.discover.max_file_bytes, settings.discover.secret_scan)
        with index.store.snapshot() as snapshot:
            if query.corpus is Corpus.DOCS and Corpus.DOCS not in snapshot.files.counts():
                return None
            results = IndexReader(snapshot, index.store, disk, models).search(_inside(query, package))
        return replace(results, hits=tuple(_outside(hit, package) for hit in results.hits))

    def _build(self, index: Indexer, progress: ProgressSink, cancel: CancelToken) -> None:
        if _is_complete(index):
            return
        try:
            index.apply(index.run(asked=True, allow_large=True, progress=progress, cancel=cancel))
        except IndexBusyError:  # another process indexes it
            deadline = time.monotonic() + _OTHERS_S
            while not _is_complete(index) and time.monotonic() < deadline:
                cancel.check()
                cancel.wait(_LOOK_S)
        remove_unused(home_folder(), keep=index.store.folder)

    def _index(self, package: Dependency) -> Indexer:
        folder = index_of(home_folder(), package, self._content(package))
        with self._guard:
            self._asked.pop(package.label, None)
            self._asked[package.label] = package
            if folder not in self._open:
                root, options = _place(package)
                make_private_dir(folder.parent)
                self._open[folder] = Indexer(root, options, self._open_embedder, folder=folder)
            return self._open[folder]

    def _content(self, package: Dependency) -> str:
        """Return a hash of a package's files: two that differ never share an index."""
        assert package.folder is not None
        with self._guard:
            known = self._contents.get(package.folder)
        if known is None or time.monotonic() - known[0] > _LIST_S:
            known = time.monotonic(), content_of(package.folder)
            with self._guard:
                self._contents[package.folder] = known
        return known[1]


def index_of(home: Path, package: Dependency, content: str) -> Path:
    """Return where the index of a package lies: by ecosystem, name, version and content."""
    key = hashlib.sha256(f"{package.label}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    name = f"{_spelled(package.name)}@{_spelled(package.version)}"
    return home / "dependencies" / package.ecosystem / f"{name}-{key}"


def _spelled(name: str) -> str:
    """Return a name as a part of a file name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "+" for c in name)[:80]


def content_of(package: Path) -> str:
    """Return a hash of the files of a package, large ones and those that Python compiled left out."""
    found = hashlib.sha256()
    for path in sorted(_files_of(package)) if package.is_dir() else [package]:
        with contextlib.suppress(OSError):
            data = read_below(path.parent, path.name, _HASHED_BYTES)
            found.update(f"{os.path.relpath(path, package)}\0".encode("utf-8", "surrogatepass"))
            found.update(hashlib.sha256(data).digest())
    return found.hexdigest()


def _files_of(package: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(package):
        folders[:] = [name for name in folders if name not in ("__pycache__", "node_modules")]
        yield from (Path(folder) / name for name in names)


def remove_unused(home: Path, keep: Path | None = None) -> list[Path]:
    """Delete the indexes of packages that were not asked for long, then the oldest beyond the limits."""
    folders = [f for f in (home / "dependencies").glob("*/*") if f.is_dir() and f != keep]
    by_use = sorted(folders, key=_last_use, reverse=True)
    oldest = time.time() - UNUSED_DAYS * 86_400
    for archive in (home / DOCUMENT_SETS).glob(".*/*"):
        if archive.stat().st_mtime < oldest:  # unpacked again if it is asked for
            remove_folder(archive)
    kept_bytes = folder_bytes(keep) if keep is not None and keep.is_dir() else 0
    removed = []
    for number, folder in enumerate(by_use, 2):
        size = folder_bytes(folder)
        if _last_use(folder) < oldest or number > MAX_PACKAGES or kept_bytes + size > MAX_BYTES:
            remove_folder(folder)
            removed.append(folder)
        else:
            kept_bytes += size
    return removed


def _place(package: Dependency) -> tuple[Path, dict[str, object]]:
    """Return the folder that holds the files of a package, and the settings that choose them."""
    from findspot.dependencies.document_sets import unpacked_sources
    from findspot.dependencies.npm_packages import built_files
    from findspot.dependencies.python_packages import top_names

    assert package.folder is not None
    options: dict[str, object] = {
        "exclude": list(_LEFT_OUT),
        "respectGitignore": False,
        "maxFiles": MAX_PACKAGE_FILES,
        "store": "default",
    }
    if package.ecosystem == NPM:
        options["exclude"] = [*_LEFT_OUT, *built_files(package.folder)]
    if package.ecosystem != PYPI:
        is_archive = package.folder.is_file()
        return unpacked_sources(home_folder(), package) if is_archive else package.folder, options
    site = package.folder.parent
    if package.folder.is_file():
        options |= {"include": [package.folder.name], "exclude": ["*/**", *_LEFT_OUT]}
    else:
        options["roots"] = top_names(package.name, package.folder)
    return site, options


def _is_meant(package: Dependency, wanted: str) -> bool:
    name, _, version = wanted.rpartition("@") if "@" in wanted[1:] else (wanted, "", "")
    if version and version != package.version:
        return False
    ecosystem, _, bare = name.partition("/")
    names = {normalised(package.name), package.name.lower()}
    return (
        name.lower() in names
        or normalised(name) in names
        or (ecosystem == package.ecosystem and (bare.lower() in names or normalised(bare) in names))
    )


def _suggestion(package: Dependency) -> str:
    return f"The dependency '{package.name}' may have it: search again with dependency \"{package.name}\"."


def _unknown(wanted: str, listed: Sequence[Dependency]) -> InvalidArgumentError:
    import difflib

    names = {each.name.lower(): each.name for each in listed}
    near = difflib.get_close_matches(wanted.rpartition("@")[0].lower() or wanted.lower(), names, _FEW)
    hint = f"Did you mean {' or '.join(names[each] for each in near)}?" if near else None
    return InvalidArgumentError(
        f"The project depends on no package '{wanted}'.", hint=hint or "`findspot deps` lists those it has."
    )


def _is_complete(index: Indexer) -> bool:
    return index.store.exists and index.store.meta().get("build") == COMPLETE


def _inside(query: Query, package: Dependency) -> Query:
    """Return a query as the package's own index understands it."""
    prefix = f"{SCHEME}{package.label}/"
    similar = query.similar_to
    if similar is not None and similar.startswith(prefix):
        similar = similar.removeprefix(prefix)
    return replace(query, similar_to=similar, under=None, changed_since=None, related=False)


def _outside(hit: Hit, package: Dependency) -> Hit:
    return replace(hit, path=f"{SCHEME}{package.label}/{hit.path}")


def _note_use(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / _USED).touch()


def _last_use(folder: Path) -> float:
    try:
        return (folder / _USED).stat().st_mtime
    except OSError:
        return folder.stat().st_mtime
