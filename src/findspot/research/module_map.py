"""The project from afar: its modules and folders, what imports what, its layers and where it begins."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from findspot.core.model import Corpus
from findspot.graph import Graph
from findspot.rank.roles import Role, is_data, role_of
from findspot.store.records import StoredFile
from findspot.store.snapshot import Snapshot

_MAIN_NAMES = frozenset({"main", "Main", "__main__"})
MOST_ENTRIES = 12
_FACES = frozenset({"__init__.py", "mod.rs", "lib.rs", "index.js", "index.ts", "index.mjs"})
"""Files that show others of their folder to the outside."""

_DOCS = re.compile(r"(?:^|/)docs?/")
"""Folders whose code builds documentation, and is no part of the program."""

_FIXTURES = re.compile(r"(?:^|/)(?:fixtures?|testdata|test_data|snapshots|__snapshots__)/")
_COPIES = frozenset({Role.GENERATED, Role.VENDORED, Role.TRANSLATION, Role.DATA})
"""What takes space in a project and is no code of it."""

ENOUGH_MODULES = 12
"""A map of fewer shows the parts of a folder that holds most of the files: a flat package has no folders."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """One module imports another, so often; the first place where it does."""

    source: str
    target: str
    count: int
    path: str
    line: int
    late: bool = False
    """Whether all of these imports stand inside of functions, and run when those are called."""


@dataclass(frozen=True, slots=True)
class ModuleMap:
    """Modules in layers, the ones that nobody imports first; imports inside of functions make no layers."""

    files: Mapping[str, tuple[str, ...]]
    """Module → its files."""
    dependences: tuple[Dependence, ...]
    layers: tuple[tuple[str, ...], ...]
    cycles: tuple[tuple[str, ...], ...]
    """Modules that need each other to be loaded, directly or by way of others."""


@dataclass(slots=True)
class Part:
    """A folder or a file directly below a folder, with all that is below it."""

    path: str
    is_folder: bool
    files: int = 0
    chunks: int = 0
    code: int = 0
    """Chunks of code: neither data nor prose, fixtures or copies of other projects."""
    languages: Counter[str] = field(default_factory=Counter)
    """Language → its chunks."""
    inside: Counter[str] = field(default_factory=Counter)
    """What is directly below → its chunks of code; all of its chunks where there is no code at all."""


Imports = Mapping[tuple[str, str], int]
"""How often one file imports another."""


@dataclass(slots=True)
class _AllImports:
    counts: Imports | None = None


def map_folder(snapshot: Snapshot, under: str) -> tuple[str, list[Part]]:
    """Return a folder and its parts, the largest first; a folder of nothing but a folder is passed over."""
    files = snapshot.files.files
    at, parts = under.strip("/"), _parts(files, under.strip("/"))
    while len(parts) == 1 and (only := next(iter(parts.values()))).is_folder:
        at, parts = only.path, _parts(files, only.path)
    return at, sorted(parts.values(), key=lambda part: (-part.code, -part.chunks, part.path))


def folder_imports(snapshot: Snapshot, at: str) -> Counter[tuple[str, str]]:
    """Return how often the parts of a folder import each other; an empty name is what lies outside."""
    known = snapshot.memo(_AllImports)
    if known.counts is None:
        known.counts = Graph(snapshot).dependencies()
    return _imports_between_groups(known.counts, lambda path: _part_of(path, at) or "")


def _parts(files: Iterable[StoredFile], at: str) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    below = [file for file in files if _part_of(file.path, at) is not None]
    has_code = any(map(_code_chunks, below))
    for file in below:
        path = _part_of(file.path, at)
        if path is None:
            continue
        part = parts.setdefault(path, Part(path, is_folder=path != file.path))
        part.files += 1
        part.chunks += file.chunks
        code = _code_chunks(file)
        part.code += code
        part.languages[file.language] += file.chunks
        if part.is_folder:
            part.inside[file.path[len(path) + 1 :].partition("/")[0]] += code if has_code else file.chunks
    return parts


def _code_chunks(file: StoredFile) -> int:
    """Return how many chunks of a file are code that somebody wrote for this project."""
    if file.corpus != Corpus.CODE or is_data(file.language) or _FIXTURES.search(file.path):
        return 0
    return 0 if role_of(file.path) in _COPIES else file.chunks


def _part_of(path: str, at: str) -> str | None:
    """Return the folder or file directly below `at` that holds a path; None for one elsewhere."""
    before = f"{at}/" if at else ""
    if not path.startswith(before):
        return None
    return before + path[len(before) :].partition("/")[0]


def _imports_between_groups(pairs: Imports, group: Callable[[str], str]) -> Counter[tuple[str, str]]:
    """Return how often groups of files import each other; imports within a group do not count."""
    counts: Counter[tuple[str, str]] = Counter()
    for (source, target), count in pairs.items():
        ends = (group(source), group(target))
        if ends[0] != ends[1]:
            counts[ends] += count
    return counts


def code_files(snapshot: Snapshot) -> list[str]:
    return [file.path for file in snapshot.files.files if file.corpus == Corpus.CODE]


@dataclass(frozen=True, slots=True)
class ProjectImports:
    """The imports between the files of a program; those for type checkers alone do not count."""

    counts: Imports
    when_loaded: frozenset[tuple[str, str]]
    """The pairs of files of which one loads the other, in contrast to imports inside of functions."""


def imports_between(graph: Graph, paths: Iterable[str]) -> ProjectImports:
    """Return the imports among these files, without tests, examples and what builds documentation."""
    kept = {path for path in paths if role_of(path) is Role.SOURCE and not _DOCS.search(path)}
    counts = {pair: n for pair, n in graph.dependencies().items() if kept.issuperset(pair)}
    loaded = frozenset(graph.dependencies(when_loaded=True)).intersection(counts)
    return ProjectImports(counts, loaded)


def module_map(graph: Graph, imports: ProjectImports, parts: int) -> ModuleMap:
    """Return the modules of importing files: folders so many parts below what all share, or single files."""
    pairs = imports.counts
    module = _modules(sorted({path for pair in pairs for path in pair}), parts)
    files: dict[str, list[str]] = {}
    for path, name in module.items():
        files.setdefault(name, []).append(path)
    counts = _imports_between_groups(pairs, module.__getitem__)
    loaded = {(module[source], module[target]) for source, target in imports.when_loaded}
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for source, target in sorted(pairs):
        first.setdefault((module[source], module[target]), (source, target))
    dependences = tuple(
        _dependence(graph, pair, counts[pair], first[pair], late=pair not in loaded)
        for pair in sorted(counts)
    )
    layers, cycles = layered(sorted(files), [(d.source, d.target) for d in dependences if not d.late])
    return ModuleMap({name: tuple(found) for name, found in files.items()}, dependences, layers, cycles)


def _dependence(
    graph: Graph, pair: tuple[str, str], count: int, first: tuple[str, str], *, late: bool
) -> Dependence:
    edges = (edge for edge in graph.imports_of(first[0]) if edge.target.path == first[1])
    return Dependence(*pair, count, first[0], next((edge.line for edge in edges), 1), late)


def _modules(paths: Sequence[str], parts: int) -> dict[str, str]:
    """Return the module of each file; a folder that holds most of the files is shown by its parts."""
    shared = _shared_folder(paths)
    module = {path: _module(path, shared, parts) for path in paths}
    while True:
        sizes = Counter(module.values())
        name, size = max(sizes.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if len(sizes) >= ENOUGH_MODULES or size * 2 <= len(paths) or size < 2:
            return module
        module |= {path: _module(path, name, 1) for path in paths if module[path] == name}


def _shared_folder(paths: Sequence[str]) -> str:
    folders = [posixpath.dirname(path) for path in paths]
    return posixpath.commonpath(folders) if folders and all(folders) else ""


def _module(path: str, shared: str, parts: int) -> str:
    """Return the module of a file: a folder, or the file itself next to the folders."""
    below = posixpath.relpath(path, shared) if shared else path
    folder = posixpath.dirname(below).split("/")[:parts]
    return posixpath.join(shared, *folder) if folder != [""] else path


def layered(
    names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """Layers such that dependence only leads downwards, but for the cycles, which share a layer."""
    onward: dict[str, set[str]] = {name: set() for name in names}
    for source, target in edges:
        onward[source].add(target)
    reached = {name: _reached(name, onward) for name in names}
    level = dict.fromkeys(names, 0)
    for upper in sorted(names, key=lambda name: -len(reached[name])):  # what depends on others before those
        for lower in reached[upper]:
            level[lower] = max(level[lower], level[upper] + (upper not in reached[lower]))
    layers: dict[int, list[str]] = {}
    for name in names:
        layers.setdefault(level[name], []).append(name)
    cyclic = (tuple(other for other in sorted(reached[name]) if name in reached[other]) for name in names)
    cycles = tuple(dict.fromkeys(cycle for cycle in cyclic if len(cycle) > 1))
    return tuple(tuple(layers[depth]) for depth in sorted(layers)), cycles


def _reached(name: str, onward: Mapping[str, set[str]]) -> set[str]:
    """Return what a name depends on, directly or by way of others; itself too."""
    found, waiting = {name}, [name]
    while waiting:
        further = onward[waiting.pop()] - found
        found |= further
        waiting += further
    return found


def entry_points(graph: Graph, imports: ProjectImports) -> list[str]:
    """Return the ids of where a program begins.

    Functions called main, files that run as a package, the face of the package and the files beside it that
    only import; without any of these, all files that only import.
    """
    pairs = imports.counts
    importing, imported = {source for source, _ in pairs}, {target for _, target in pairs}
    named = [node for name in sorted(_MAIN_NAMES) for node in graph.find(name)]
    mains = [n.id for n in named if role_of(n.path) is Role.SOURCE and "." not in n.qualified]
    only = sorted(importing - imported - {node.partition("#")[0] for node in mains})
    runs = [path for path in only if posixpath.basename(path).startswith("__main__.")]
    top = _shared_folder(sorted(importing | imported))
    beside = [path for path in sorted(importing) if posixpath.dirname(path) == top]
    faces = [path for path in beside if posixpath.basename(path) in _FACES]
    known = [*mains, *runs, *faces, *(path for path in beside if path in only)]
    rest = [path for path in only if posixpath.basename(path) not in _FACES]
    return list(dict.fromkeys(known or rest))[:MOST_ENTRIES]
