"""Search what a project depends on: each package is indexed when it is first asked about, once per version.

The indexes lie below the home folder and are shared by all projects. Nothing in a package is believed: its
own configuration is not read, and nothing of it is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from findspot.core.caller import ENVIRONMENT
from findspot.core.errors import FileNotIndexedError, IndexBusyError, InvalidArgumentError
from findspot.core.files import folder_bytes, make_private_dir, read_below, remove_folder
from findspot.core.model import Corpus, Query, Results
from findspot.core.paths import SCHEME, home_folder, stat_of
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.dependencies.npm_packages import built_files
from findspot.dependencies.package import NPM, PYPI, Dependency, normalised
from findspot.dependencies.project_dependencies import list_dependencies
from findspot.dependencies.python_packages import top_names
from findspot.embed.provider_registry import OpenEmbedder
from findspot.indexer import Indexer, is_complete
from findspot.search.freshness import Disk
from findspot.search.merging import first_page, merge
from findspot.search.reader import IndexReader
from findspot.text.snippet import listed

ALL = "*"

_INSTALL = (
    "Install the project's packages (Findspot looks into `.venv`, `node_modules` and the like, and into the "
    "active environment); `findspot deps` lists what is missing."
)
_OTHERS_S, _LOOK_S = 20.0, 0.1
"""How long another process that indexes the same package is waited for, and how often it is looked at."""
_FEW = 3
_MOST_OPENED = 8
"""Packages that are opened, and indexed, to follow one name."""

_LIST_S = 60.0
"""How long the list of a project's dependencies is taken as it was read, while these stay as they are:"""
_TELLING = (
    "pyproject.toml", "requirements.txt", "uv.lock", "poetry.lock", "package.json", "package-lock.json",
    "pnpm-lock.yaml", "yarn.lock", ".venv", "venv", "node_modules",
)  # fmt: skip


class PackageIndexes:
    """The packages of one project, as they can be searched. Safe to use from several threads."""

    def __init__(self, root: Path, open_embedder: OpenEmbedder) -> None:
        self._root = root
        self._open_embedder = open_embedder
        self._guard = threading.Lock()
        self._open: dict[Path, Indexer] = {}

    def search(
        self,
        query: Query,
        wanted: str,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> Results:
        """Answer a query from the packages that `wanted` names; paths of hits begin with `dep://`."""
        packages, first = self.choose(wanted), first_page(query)
        asked = [self._search(package, first, progress, cancel or CancelToken()) for package in packages]
        answers = [answer for answer in asked if answer is not None]
        warnings = [answer.warning for answer in answers]
        warnings += [_skipped(self.listed())] if wanted == ALL else []
        return merge(query, answers, warnings)

    def indexed(self) -> set[str]:
        """Return the labels of the dependencies whose version has an index."""
        folders = (home_folder() / "dependencies").glob("*/*")
        known = {(folder.parent.name, folder.name.rpartition("-")[0]) for folder in folders}
        return {each.label for each in self.listed() if (each.ecosystem, versioned_name(each)) in known}

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
        """Return the dependencies of the project."""
        active = ENVIRONMENT.get("VIRTUAL_ENV"), ENVIRONMENT.get("CONDA_PREFIX")
        stamps: tuple[object, ...] = active  # of whoever asks: one process answers many clients
        stamps += tuple(info.st_mtime_ns for name in _TELLING if (info := stat_of(f"{self._root}/{name}")))
        return _listed(self._root, stamps, time.monotonic() // _LIST_S)

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
        """Return where the package of a module defines a chain of names, with its signature.

        Of a package that cannot be read, return its name and the reason.
        """
        from findspot.dependencies.external_symbols import find_symbol  # which need the graph
        from findspot.dependencies.package_modules import PackageFiles, absent, providing

        opened: dict[str, PackageFiles] = {}
        with contextlib.ExitStack() as stack:

            def open_packages(wanted: str) -> Iterator[PackageFiles]:
                for package in providing(self.listed(), language, wanted):
                    if package.label not in opened and len(opened) < _MOST_OPENED:
                        index = self._index(package)
                        self._build(index, ignore_progress, CancelToken())
                        note_use(index.store.folder)
                        snapshot = stack.enter_context(index.store.snapshot())
                        opened[package.label] = PackageFiles(package, snapshot)
                    if package.label in opened:
                        yield opened[package.label]

            found = find_symbol(open_packages, module, names) if names else None
        if found is not None:
            return str(found)
        missing = absent(self.listed(), language, module)
        return f"{missing.label}: {missing.missing}" if missing is not None and names else None

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
        note_use(index.store.folder)
        settings = index.settings
        disk = Disk(index.roots, settings.discover.max_file_bytes, settings.discover.secret_scan)
        with index.store.snapshot() as snapshot:
            if query.corpus is Corpus.DOCS and Corpus.DOCS not in snapshot.files.counts():
                return None
            reader = IndexReader(snapshot, index.store, disk, lambda: index.open_embedder(settings))
            results = reader.search(_inside(query, package))
        prefix = f"{SCHEME}{package.label}/"
        return replace(results, hits=tuple(replace(hit, path=prefix + hit.path) for hit in results.hits))

    def _build(self, index: Indexer, progress: ProgressSink, cancel: CancelToken) -> None:
        if is_complete(index.store):
            return
        try:
            # Nobody asks who calls what inside of a package, and the first question waits.
            run = index.run(asked=True, allow_large=True, edges=False, progress=progress, cancel=cancel)
            index.apply(run)
        except IndexBusyError:  # another process indexes it
            deadline = time.monotonic() + _OTHERS_S
            while not is_complete(index.store) and time.monotonic() < deadline:
                cancel.check()
                cancel.wait(_LOOK_S)
        remove_unused(home_folder(), keep=index.store.folder)

    def _index(self, package: Dependency) -> Indexer:
        assert package.folder is not None
        content = _content(package.folder, time.monotonic() // _LIST_S)
        folder = index_of(home_folder(), package, content)
        with self._guard:
            if folder not in self._open:
                root, options = package_root(package)
                make_private_dir(folder.parent)
                self._open[folder] = Indexer(root, options, self._open_embedder, folder=folder)
            return self._open[folder]


@lru_cache(maxsize=32)
def _listed(root: Path, _stamps: tuple[object, ...], _when: float) -> list[Dependency]:
    return list_dependencies(root)


@lru_cache(maxsize=1_000)
def _content(package: Path, _when: float) -> str:
    """Return a hash of a package's files: two that differ never share an index."""
    return content_of(package)


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


def _skipped(dependencies: Sequence[Dependency]) -> str | None:
    """Return which of the project's own packages `*` leaves out."""
    names = [each.name for each in dependencies if each.direct and not each.folder]
    if not names:
        return None
    return f"Not searched, because not on this machine: {listed(names, _FEW)}. `findspot deps` says why."


def _unknown(wanted: str, listed: Sequence[Dependency]) -> InvalidArgumentError:
    import difflib

    name, _, version = wanted[1:].rpartition("@")
    others = [each for each in listed if name and _is_meant(each, wanted[0] + name)]
    if others:
        found = " and ".join(dict.fromkeys(each.version or "an unknown version" for each in others))
        return InvalidArgumentError(
            f"The project has {others[0].name} {found}, not {version}.",
            hint=f"Search '{wanted[0] + name}'.",
        )
    names = {each.name.lower(): each.name for each in listed}
    near = difflib.get_close_matches(wanted.rpartition("@")[0].lower() or wanted.lower(), names, _FEW)
    hint = f"Did you mean {' or '.join(names[each] for each in near)}?" if near else None
    return InvalidArgumentError(
        f"The project depends on no package '{wanted}'.", hint=hint or "`findspot deps` lists those it has."
    )


def _inside(query: Query, package: Dependency) -> Query:
    """Return a query as the package's own index understands it."""
    prefix = f"{SCHEME}{package.label}/"
    similar = query.similar_to
    if similar is not None and similar.startswith(prefix):
        similar = similar.removeprefix(prefix)
    return replace(query, similar_to=similar, under=None, changed_since=None, related=False)


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

_HASHED_BYTES = 2_000_000


def index_of(home: Path, package: Dependency, content: str) -> Path:
    """Return where the index of a package lies: by ecosystem, name, version and content."""
    key = hashlib.sha256(f"{package.label}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return home / "dependencies" / package.ecosystem / f"{versioned_name(package)}-{key}"


def versioned_name(package: Dependency) -> str:
    return f"{spelled(package.name)}@{spelled(package.version)}"


def spelled(name: str) -> str:
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


def package_root(package: Dependency) -> tuple[Path, dict[str, object]]:
    """Return the folder that holds the files of a package, and the settings that choose them."""
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
        return package.folder, options
    site = package.folder.parent
    if package.folder.is_file():
        options |= {"include": [package.folder.name], "exclude": ["*/**", *_LEFT_OUT]}
    else:
        options["roots"] = top_names(package.name, package.folder)
    return site, options


def note_use(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / _USED).touch()


def _last_use(folder: Path) -> float:
    try:
        return (folder / _USED).stat().st_mtime
    except OSError:
        return folder.stat().st_mtime
