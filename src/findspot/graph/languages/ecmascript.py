"""JavaScript and TypeScript: relative files, packages of the project, and paths of tsconfig."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from findspot.graph.languages.language import Language, ModuleFinder, lasting
from findspot.text import jsonc

_SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts")
_ENDS = ("", *_SUFFIXES, *(f"/index{suffix}" for suffix in _SUFFIXES))
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""TypeScript imports name what its files are compiled to."""

_CONFIGS = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json")


class EcmascriptModules(ModuleFinder):
    """Finds modules; `package.json` and `tsconfig.json` files are read when first needed."""

    def files(self, path: str, module: str) -> Iterator[str]:
        folder = posixpath.dirname(path)
        stems = [module[1:]] if module.startswith("/") else self._stems(folder, module)
        for stem in stems:
            files = list(self._file(stem))
            if files:
                yield from files
                return

    def _file(self, stem: str) -> Iterator[str]:
        base, suffix = posixpath.splitext(stem)
        for compiled in _COMPILED.get(suffix, ()):
            if base + compiled in self.paths:
                yield base + compiled
                return
        ends = _ENDS if stem else tuple(end.lstrip("/") for end in _ENDS if end.startswith("/"))
        found = list(self.first(stem, ends))
        if not found and posixpath.join(stem, "package.json") in self.paths:
            entries = (posixpath.normpath(posixpath.join(stem, entry)) for entry in self._entries(stem))
            found = next((files for entry in entries if (files := list(self.first(entry, _ENDS)))), [])
        yield from found

    def _stems(self, folder: str, module: str) -> Iterator[str]:
        """Yield paths, without suffix, where a module may be; the likeliest first."""
        for base, pattern, targets in self._aliases:
            if base and folder != base and not folder.startswith(f"{base}/"):
                continue
            head, star, tail = pattern.partition("*")
            if module == pattern or (star and module.startswith(head) and module.endswith(tail)):
                middle = module[len(head) : len(module) - len(tail)]
                for target in targets:
                    yield posixpath.normpath(posixpath.join(base, target.replace("*", middle)))
        for name, package in self._packages:
            if module == name:
                for entry in self._entries(package):
                    yield posixpath.normpath(posixpath.join(package, entry))
            elif module.startswith(f"{name}/"):
                below = module[len(name) + 1 :]
                yield posixpath.join(package, "src", below)
                yield posixpath.join(package, below)

    def _entries(self, package: str) -> Iterator[str]:
        """Yield the source first: what `main` names is mostly built, and not in the project."""
        yield from ("src/index", "index", "src/main", "lib/index", "src")
        written = _read_jsonc(self.project.text(posixpath.join(package, "package.json")))
        for key in ("source", "module", "main", "types"):
            if isinstance(written.get(key), str):
                yield written[key]

    @lasting
    def _packages(self) -> list[tuple[str, str]]:
        """Name and folder of every package, longest name first."""
        packages = []
        for path in self._named(("package.json",)):
            name = _read_jsonc(self.project.text(path)).get("name")
            if isinstance(name, str) and name:
                packages.append((name, posixpath.dirname(path)))
        return sorted(packages, key=lambda pair: (-len(pair[0]), pair))

    @lasting
    def _aliases(self) -> list[tuple[str, str, list[str]]]:
        """Folder of a configuration, pattern, and the targets below that folder; innermost first."""
        aliases: list[tuple[str, str, list[str]]] = []
        for path in self._named(_CONFIGS):
            options = _read_jsonc(self.project.text(path)).get("compilerOptions")
            if not isinstance(options, dict):
                continue
            folder, base = posixpath.dirname(path), str(options.get("baseUrl", "."))
            paths = options.get("paths")
            for pattern, targets in paths.items() if isinstance(paths, dict) else ():
                if isinstance(targets, list):
                    aliases.append(
                        (folder, pattern, [posixpath.join(base, str(target)) for target in targets])
                    )
            if "baseUrl" in options:
                aliases.append((folder, "*", [posixpath.join(base, "*")]))
        return sorted(aliases, key=lambda item: (-item[0].count("/"), item[1] == "*", item[0], -len(item[1])))

    def _named(self, names: tuple[str, ...]) -> list[str]:
        return sorted(path for path in self.paths if path.rpartition("/")[2] in names)


def _read_jsonc(text: str) -> dict[str, Any]:
    """Return the object of JSON with comments and trailing commas; an empty one for anything else."""
    try:
        node = jsonc.parse(text)
    except jsonc.MalformedError:
        return {}
    return node.value if node and isinstance(node.value, dict) else {}


class TypeScript(Language):
    """TypeScript and TSX."""

    family = "js"
    finder = EcmascriptModules
    constructors = frozenset({"constructor"})
    exports_default = True
    objects_are_types = True
    constructors_have_type_names = False
    titled_tests = True
    satellites = True


class JavaScript(TypeScript):
    """JavaScript, where functions make types and a CommonJS module has names for itself."""

    functions_make_types = True
    own_module_names = frozenset({"exports", "module"})
