"""JavaScript: `package.json` and `node_modules`, in the layouts of npm, pnpm and Yarn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from findspot.dependencies.package import (
    NOT_INSTALLED,
    NPM,
    Dependency,
    Manifests,
    matching_folders,
    real_folders,
    stored,
    strings,
    table,
)

_SECTIONS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_MOST_FOLDERS = 50_000


def npm_packages(manifests: Manifests) -> list[Dependency]:
    members = [".", *_workspaces(manifests)]
    wanted: dict[str, None] = {}
    own: set[str] = set()
    for member in members:
        manifest = manifests.json(f"{member}/package.json".removeprefix("./"))
        own.add(str(manifest.get("name", "")))
        for section in _SECTIONS:
            wanted.update(dict.fromkeys(table(manifest.get(section))))
    if not wanted:
        return []
    installed = _installed(manifests.root, members)
    found: dict[tuple[str, str], Dependency] = {}
    outermost: set[str] = set()
    for name, version, folder in installed:
        if name not in own:  # of several versions the project itself gets the outermost
            direct = name in wanted and name not in outermost
            found.setdefault((name, version), Dependency(NPM, name, version, direct, folder))
            outermost.add(name)
    present = {name for name, _ in found}
    for name in wanted:
        if name not in present and name not in own:
            found[name, ""] = Dependency(NPM, name, "", True, missing=_reason(manifests.root))
    return list(found.values())


def _reason(root: Path) -> str:
    if (root / ".pnp.cjs").is_file():
        return "Yarn keeps it in an archive"
    return NOT_INSTALLED


def _workspaces(manifests: Manifests) -> Iterator[str]:
    """Yield the folders of the workspaces, relative to the project."""
    given: Any = manifests.json("package.json").get("workspaces")
    patterns = strings(table(given).get("packages")) if isinstance(given, dict) else strings(given)
    for line in manifests.text("pnpm-workspace.yaml").splitlines():
        mark, _, pattern = line.strip().partition("-")
        if not mark and pattern:
            patterns.append(pattern.strip().strip("'\""))
    for pattern in patterns:
        for folder in matching_folders(manifests.root, pattern):
            if manifests.text(f"{folder}/package.json"):
                yield folder


def _installed(root: Path, members: list[str]) -> Iterator[tuple[str, str, Path]]:
    """Yield name, version and real folder of what lies in `node_modules`, the outermost first."""
    base = root.resolve()
    stores = [
        folder
        for member in members
        for folder in real_folders(root / member / "node_modules")
        if folder.is_relative_to(base)
    ]
    pending = [*stores]
    seen: set[Path] = set()
    while pending and len(seen) < _MOST_FOLDERS:
        modules = pending.pop(0)
        for entry in _packages_in(modules):
            real = stored(entry, stores)
            if real is None or real in seen:
                continue
            seen.add(real)
            manifest = Manifests(real).json("package.json")
            name, version = manifest.get("name"), manifest.get("version")
            if isinstance(name, str) and isinstance(version, str):
                yield name, version, real
            if (real / "node_modules").is_dir():
                pending.append(real / "node_modules")
        for inner in _names(modules / ".pnpm"):
            if (modules / ".pnpm" / inner / "node_modules").is_dir():
                pending.append(modules / ".pnpm" / inner / "node_modules")


def _packages_in(modules: Path) -> Iterator[Path]:
    for name in _names(modules):
        if name.startswith("@"):
            yield from (modules / name / inner for inner in _names(modules / name))
        elif not name.startswith("."):
            yield modules / name


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


_BUILT = ("umd/**", "cjs/**", "dist/cjs/**")
_FORMATS = {".d.cts": (".d.ts",), ".d.mts": (".d.ts",), ".cjs": (".js", ".mjs"), ".mjs": (".js",)}
"""Endings of files that are left out where the same one with another ending is there."""


def built_files(package: Path) -> list[str]:
    """Return patterns of what builds wrote: the same code once more, in other formats."""
    if any((package / "src").glob("**/*.ts")):  # everything else is made from it
        others = [entry.name for entry in package.iterdir() if entry.is_dir()]
        names = [name for name in others if name not in ("src", "docs")]
        return [*(f"{name}/**" for name in names), "*.js", "*.cjs", "*.mjs", "*.d.ts", "*.d.cts", "*.d.mts"]
    paths = {path.relative_to(package).as_posix() for path in package.glob("**/*") if path.is_file()}
    return [*(_BUILT if any(path.endswith(".js") for path in paths) else ()), *_twins(paths)]


def _twins(paths: set[str]) -> Iterator[str]:
    """Yield the files that are there with another ending as well."""
    for path in sorted(paths):
        for ending, others in _FORMATS.items():
            if path.endswith(ending) and any(path.removesuffix(ending) + other in paths for other in others):
                yield path
                break
