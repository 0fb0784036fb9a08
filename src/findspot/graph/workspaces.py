"""Where JavaScript modules that are not relative live: packages of the project, and paths of tsconfig."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from findspot.graph.sources import Sources

_CONFIGS = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r",(\s*[}\]])")


class Workspaces:
    """The `package.json` and `tsconfig.json` files of a project, read when first needed."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def places(self, folder: str, module: str) -> Iterator[str]:
        """Paths, without suffix, where a module may be; the likeliest first."""
        for base, pattern, targets in self._aliases:
            if base and folder != base and not folder.startswith(f"{base}/"):
                continue
            head, star, tail = pattern.partition("*")
            if module == pattern or (star and module.startswith(head) and module.endswith(tail)):
                middle = module[len(head) : len(module) - len(tail)]
                for target in targets:
                    yield posixpath.normpath(posixpath.join(base, target.replace("*", middle)))
        for name, place in self._packages:
            if module == name:
                for entry in self._entries(place):
                    yield posixpath.normpath(posixpath.join(place, entry))
            elif module.startswith(f"{name}/"):
                below = module[len(name) + 1 :]
                yield posixpath.join(place, "src", below)
                yield posixpath.join(place, below)

    def _entries(self, place: str) -> Iterator[str]:
        """The source of a package first: what `main` names is mostly built, and not in the project."""
        yield from ("src/index", "index", "src/main", "lib/index", "src")
        written = _read(self._sources.text(posixpath.join(place, "package.json")))
        for key in ("source", "module", "main", "types"):
            if isinstance(written.get(key), str):
                yield written[key]

    @cached_property
    def _packages(self) -> list[tuple[str, str]]:
        """Name and folder of every package, longest name first."""
        found = []
        for path in self._named(("package.json",)):
            name = _read(self._sources.text(path)).get("name")
            if isinstance(name, str) and name:
                found.append((name, posixpath.dirname(path)))
        return sorted(found, key=lambda pair: (-len(pair[0]), pair))

    @cached_property
    def _aliases(self) -> list[tuple[str, str, list[str]]]:
        """Folder of a configuration, pattern, and the places below that folder; innermost first."""
        found: list[tuple[str, str, list[str]]] = []
        for path in self._named(_CONFIGS):
            options = _read(self._sources.text(path)).get("compilerOptions")
            if not isinstance(options, dict):
                continue
            folder, base = posixpath.dirname(path), str(options.get("baseUrl", "."))
            paths = options.get("paths")
            for pattern, targets in paths.items() if isinstance(paths, dict) else ():
                if isinstance(targets, list):
                    found.append((folder, pattern, [posixpath.join(base, str(target)) for target in targets]))
            if "baseUrl" in options:
                found.append((folder, "*", [posixpath.join(base, "*")]))
        return sorted(found, key=lambda item: (-item[0].count("/"), item[1] == "*", item[0], -len(item[1])))

    def _named(self, names: tuple[str, ...]) -> list[str]:
        return [file.path for file in self._sources.files.files if file.path.rpartition("/")[2] in names]


def _read(text: str) -> dict[str, Any]:
    """JSON with comments and trailing commas; nothing where it is neither."""
    bare = _TRAILING.sub(r"\1", _COMMENT.sub(lambda match: match[1] or "", text))
    try:
        value = json.loads(bare)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
