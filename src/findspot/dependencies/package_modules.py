"""The modules of an indexed package: which files they are, and their text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from findspot.dependencies.package import NPM, PYPI, Dependency, Manifests, normalised, table
from findspot.dependencies.python_packages import top_names
from findspot.graph import Graph
from findspot.store.snapshot import Snapshot

_ECOSYSTEMS = {"python": PYPI, "javascript": NPM, "typescript": NPM, "tsx": NPM}
"""By language, of packages that a project takes from others."""

GO, CARGO, MAVEN = "go", "cargo", "maven"
_PROVIDED = _ECOSYSTEMS | {"go": GO, "rust": CARGO, "java": MAVEN, "kotlin": MAVEN}
"""By language, of packages that the members of a workspace are."""

_ENTRY_KEYS = ("types", "typings", "module", "main", "import", "require", "default", "node")
_ENDINGS = (
    "", ".d.ts", ".d.cts", ".d.mts", ".ts", ".tsx", ".js", ".mjs", ".cjs", "/index.d.ts", "/index.ts",
    "/index.js",
)  # fmt: skip
_GO_MODULE = re.compile(r"^module[ \t]+(\S+)", re.MULTILINE)
_BUILT_ENDINGS = (".d.ts", ".d.mts", ".d.cts", ".mjs", ".cjs", ".js", ".ts")


class PackageFiles:
    """One package, and the files that its index holds."""

    def __init__(self, package: Dependency, snapshot: Snapshot) -> None:
        self.package = package
        self.snapshot = snapshot
        self.paths = frozenset(file.path for file in snapshot.files.files)
        self._texts: dict[str, str] = {}

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.snapshot)

    def text(self, path: str) -> str:
        """Return the text of a file as it was indexed."""
        if path not in self._texts:
            self._texts[path] = stored_text(self.snapshot, path)
        return self._texts[path]

    def module_files(self, module: str) -> list[str]:
        """Return the files that a module may be, the likeliest first."""
        return list(dict.fromkeys(self._module_files(module)))

    def _module_files(self, module: str) -> Iterator[str]:
        package, paths = self.package, self.paths
        if package.ecosystem == PYPI:
            stem = module.replace(".", "/")
            ends = ("/__init__.py", ".py", "/__init__.pyi", ".pyi")
            places = (f"{base}{stem}{end}" for base in ("", "src/") for end in ends)
            yield from (place for place in places if place in paths)
        elif package.ecosystem == GO and f"{module}/".startswith(f"{package.name}/"):
            folder = module.removeprefix(package.name).strip("/")
            yield from sorted(path for path in paths if posixpath.dirname(path) == folder)
        elif package.ecosystem == CARGO:
            yield from paths.intersection(_of_crate(package.name, module))
        elif package.ecosystem == MAVEN:
            folder = f"/{module.replace('.', '/')}"
            yield from filter(lambda path: f"/{posixpath.dirname(path)}".endswith(folder), sorted(paths))
        elif package.ecosystem == NPM and package.folder is not None:
            name = package.name.removeprefix("@types/")
            inside = module.removeprefix(package.name).removeprefix(name).strip("/")
            manifest = Manifests(package.folder).json("package.json")
            for entry in _entries(manifest, inside):
                yield from (path for path in _sources_of(entry) if path in paths)


def _of_crate(name: str, module: str) -> tuple[str, ...]:
    """Return the files that a module of Rust may be, where it is one of the crate."""
    crate, _, inside = module.replace("::", "/").partition("/")
    is_own = crate == name.replace("-", "_")
    return (f"src/{inside or 'lib'}.rs", f"src/{inside}/mod.rs") if is_own else ()


OpenPackages = Callable[[str], Iterator[PackageFiles]]
"""Open the packages that may define a module."""


def providing(packages: Sequence[Dependency], language: str, module: str) -> list[Dependency]:
    """Return the installed packages that may define a module: its types, then the one it belongs to."""
    ecosystem = _ECOSYSTEMS.get(language)
    found = [each for each in packages if each.ecosystem == ecosystem and each.folder is not None]
    if ecosystem == PYPI:
        top = module.partition(".")[0]
        named = [each for each in found if each.folder and each.folder.stem == top]
        return (named or [each for each in found if each.folder and _has_beside(each, each.folder, top)])[:1]
    fitting = [each for each in found if f"{module}/".startswith(f"{each.name}/")]
    best = sorted(fitting, key=lambda each: (-len(each.name), not each.direct))[:1]
    types = f"@types/{module.removeprefix('@').replace('/', '__', module.startswith('@'))}/"
    return [each for each in found if each.name[:7] == "@types/" and types.startswith(f"{each.name}/")] + best


def provided_by(root: Path, snapshot: Snapshot, language: str) -> PackageFiles | None:
    """Return a project as the package that its own manifest makes of it, for imports of a language."""
    manifests, ecosystem = Manifests(root), _PROVIDED.get(language)
    readers: dict[str, Callable[[], dict[str, Any]]] = {
        PYPI: lambda: table(manifests.toml("pyproject.toml").get("project")),
        NPM: lambda: manifests.json("package.json"),
        CARGO: lambda: table(manifests.toml("Cargo.toml").get("package")),
        MAVEN: lambda: {"name": root.name if manifests.text("pom.xml") else ""},
        GO: lambda: {"name": "".join(_GO_MODULE.findall(manifests.text("go.mod"))[:1])},
    }
    about = readers[ecosystem]() if ecosystem else {}
    name, version = (str(about.get(key) or "") for key in ("name", "version"))
    return (
        PackageFiles(Dependency(ecosystem, name, version, True, root), snapshot)
        if ecosystem and name
        else None
    )


def absent(packages: Sequence[Dependency], language: str, module: str) -> Dependency | None:
    """Return the dependency that a module belongs to by its name, if it cannot be read."""
    for each in packages:
        if each.folder is not None or each.ecosystem != _ECOSYSTEMS.get(language):
            continue
        if each.ecosystem == PYPI and normalised(each.name) == normalised(module.partition(".")[0]):
            return each
        if each.ecosystem != PYPI and f"{module}/".startswith(f"{each.name}/"):
            return each
    return None


def _has_beside(package: Dependency, folder: Path, top: str) -> bool:
    """Return whether a Python package has a folder of another name, such as `pkg_resources`."""
    return (folder.parent / top).is_dir() and top in top_names(package.name, folder)


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
        yield from (base + ending for ending in _ENDINGS)


def stored_text(snapshot: Snapshot, path: str) -> str:
    """Return the text of a file from its chunks: the package itself may be gone."""
    lines: dict[int, str] = {}
    for chunk in snapshot.chunks.of_file(path):
        if chunk.kind != "outline":
            lines.update(enumerate(chunk.text.split("\n"), chunk.start_line))
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1)) + "\n"
