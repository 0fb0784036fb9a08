"""What a project takes from a package: from the module and names of an import to the definition."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import Any

from findspot.chunk.capsule import doc_comment, signature
from findspot.chunk.splitting import SourceLines
from findspot.dependencies.package import GO, NPM, PYPI, Dependency, Manifests, table
from findspot.dependencies.public_names import read_definitions, stored_text
from findspot.graph import Graph, Node
from findspot.store.snapshot import Snapshot

_ECOSYSTEMS = {"python": PYPI, "javascript": NPM, "typescript": NPM, "tsx": NPM, "go": GO}
"""By language."""

_ENTRY_KEYS = ("types", "typings", "module", "main", "import", "require", "default", "node")
_ENDINGS = (
    "",
    ".d.ts",
    ".d.cts",
    ".d.mts",
    ".ts",
    ".tsx",
    ".js",
    ".mjs",
    ".cjs",
    "/index.d.ts",
    "/index.ts",
    "/index.js",
)
_BUILT_ENDINGS = (".d.ts", ".d.mts", ".d.cts", ".mjs", ".cjs", ".js", ".ts")
_FIRST_LINE_CHARS = 120


def providing(packages: Sequence[Dependency], language: str, module: str) -> list[Dependency]:
    """Return the installed packages that may define a module: the one it belongs to, then its types."""
    ecosystem = _ECOSYSTEMS.get(language)
    found = [each for each in packages if each.ecosystem == ecosystem and each.folder is not None]
    if ecosystem == PYPI:
        top = module.partition(".")[0]
        return [each for each in found if each.folder and each.folder.stem == top][:1]
    fitting = [each for each in found if f"{module}/".startswith(f"{each.name}/")]
    best = sorted(fitting, key=lambda each: (-len(each.name), not each.direct))[:1]
    types = f"@types/{module.removeprefix('@').replace('/', '__', module.startswith('@'))}/"
    return best + [each for each in found if types.startswith(f"{each.name}/") and each.name[:7] == "@types/"]


def describe_symbol(
    package: Dependency, snapshot: Snapshot, language: str, module: str, names: Sequence[str]
) -> tuple[Node, str] | None:
    """Return the definition of a chain of names, and its signature with the first line of its comment."""
    graph = Graph(snapshot)
    paths = frozenset(file.path for file in snapshot.files.files)
    for count in range(len(names)):  # the first names may be modules inside of the module
        inner = ".".join((module, *names[:count])) if package.ecosystem == PYPI else module
        for path in dict.fromkeys(_module_files(package, language, inner, paths)):
            node = graph.exported(path, names[count:])
            if node is not None:
                return node, _shown(snapshot, node)
        if package.ecosystem != PYPI:
            break
    return None


def _module_files(package: Dependency, language: str, module: str, paths: frozenset[str]) -> Iterator[str]:
    """Yield the files that a module may be, the likeliest first."""
    if package.ecosystem == PYPI:
        place = module.replace(".", "/")
        endings = ("/__init__.py", ".py", "/__init__.pyi", ".pyi")
        yield from (place + ending for ending in endings if place + ending in paths)
    elif package.ecosystem == GO:
        folder = module.removeprefix(package.name).strip("/")
        yield from sorted(path for path in paths if posixpath.dirname(path) == folder)
    elif package.folder is not None:
        name = package.name.removeprefix("@types/")
        inside = module.removeprefix(package.name).removeprefix(name).strip("/")
        manifest = Manifests(package.folder).json("package.json")
        for entry in _entries(manifest, inside):
            yield from (path for path in _sources_of(entry) if path in paths)


def _entries(manifest: dict[str, Any], inside: str) -> Iterator[str]:
    """Yield what a package's manifest says a module is, then what its name says."""
    exports = manifest.get("exports")
    key = f"./{inside}" if inside else "."
    if isinstance(exports, dict):
        yield from _targets(exports.get(key, {} if inside else exports))
    elif isinstance(exports, str) and not inside:
        yield exports
    if not inside:
        yield from (manifest[name] for name in _ENTRY_KEYS if isinstance(manifest.get(name), str))
    yield from (f"{base}{ending}" for base in _bases(inside) for ending in _ENDINGS)


def _bases(inside: str) -> tuple[str, ...]:
    return (inside, f"src/{inside}", f"lib/{inside}", f"dist/{inside}") if inside else ("index", "src/index")


def _targets(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the files of a conditional export, those with types first."""
    if isinstance(value, str):
        yield value
    elif depth < 5:
        given = table(value)
        for name in (*(key for key in _ENTRY_KEYS if key in given), *given):
            yield from _targets(given[name], depth + 1)


def _sources_of(entry: str) -> Iterator[str]:
    """Yield a file of a package, and the source that it was built from."""
    path = posixpath.normpath(entry)
    yield path
    stem = next((path.removesuffix(ending) for ending in _BUILT_ENDINGS if path.endswith(ending)), path)
    folder, _, rest = stem.partition("/")
    for base in (stem, f"src/{rest}" if rest and folder in ("dist", "lib", "build") else f"src/{stem}"):
        yield from (base + ending for ending in (".d.ts", ".d.cts", ".d.mts", ".ts", ".tsx", ".js"))


def _shown(snapshot: Snapshot, node: Node) -> str:
    file = snapshot.files.find(node.path)
    text = stored_text(snapshot, node.path)
    for definition, source in read_definitions(file.language, text) if file is not None else ():
        if definition.row + 1 == node.start_line and definition.name == node.name:
            comment = doc_comment(definition, source, SourceLines(text)) or ""
            first = comment.strip().partition("\n")[0][:_FIRST_LINE_CHARS]
            return " — ".join(filter(None, (signature(definition, source), first)))
    return ""
