"""Which files of a Python project import which, by the rules of the language and nothing but `ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

LEFT_OUT = {".git", ".venv", "node_modules", "build", "dist"}
ROOTS = ("", "src", "lib")
"""Folders that modules are looked for in, after the one above the importing file's outermost package."""

MAX_HOPS = 8


def sources(root: Path) -> list[Path]:
    return sorted(p for p in root.rglob("*.py") if not LEFT_OUT & set(p.relative_to(root).parts))


class Module:
    """The top-level names of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        except SyntaxError:
            self.tree = ast.Module([], [])

    @cached_property
    def defined(self) -> set[str]:
        return {name for node in _top_level(self.tree) for name in _bound(node)}

    @cached_property
    def imported(self) -> dict[str, tuple[ast.ImportFrom, str]]:
        statements = [node for node in _top_level(self.tree) if isinstance(node, ast.ImportFrom)]
        return {alias.asname or alias.name: (node, alias.name) for node in statements for alias in node.names}

    @cached_property
    def starred(self) -> list[ast.ImportFrom]:
        return [node for name, (node, _) in self.imported.items() if name == "*"]


def _top_level(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements that run in the module, those under `if` and `try` as well."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.ExceptHandler):
            yield from _top_level(node)


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.With):
        stored = (each for each in ast.walk(node) if isinstance(each, ast.Name))
        yield from (each.id for each in stored if isinstance(each.ctx, ast.Store))


class Imports:
    """The imports of a project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {path: Module(path) for path in sources(root)}

    def rows(self) -> Iterator[dict[str, Any]]:
        for path, module in self.modules.items():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        file, around = self.find(alias.name, 0, path)
                        yield self._row(path, node.lineno, [file], around)
                elif isinstance(node, ast.ImportFrom):
                    yield self._from(path, node)

    def _from(self, path: Path, node: ast.ImportFrom) -> dict[str, Any]:
        targets: list[Path | None] = []
        others: list[Path] = []
        file, around = self.find(node.module or "", node.level, path)
        targets.append(file)
        others += around
        for alias in node.names:
            if alias.name != "*":
                chain = self._chain(path, node, alias.name, 0)
                targets += chain[-1:]
                others += chain[:-1]
        return self._row(path, node.lineno, targets, others)

    def _chain(self, path: Path, node: ast.ImportFrom, name: str, hops: int) -> list[Path]:
        """Return the files that a name is handed through, the one that defines it last."""
        file, _ = self.find(node.module or "", node.level, path)
        module = self.modules.get(file) if file is not None else None
        if module is not None and hops < MAX_HOPS:
            if name in module.defined:
                return [module.path]
            if name in module.imported:
                inner, original = module.imported[name]
                return [module.path, *self._chain(module.path, inner, original, hops + 1)]
            for star in module.starred:
                found = self._chain(module.path, star, name, hops + 1)
                if found:
                    return [module.path, *found]
        inside, _ = self.find(".".join(filter(None, (node.module, name))), node.level, path)
        return [inside] if inside is not None else []

    def find(self, name: str, level: int, path: Path) -> tuple[Path | None, list[Path]]:
        """Return the file of a module, and those of the packages around it."""
        for start in self._starts(level, path):
            parts = name.split(".") if name else []
            places = [start.joinpath(*parts[:count]) for count in range(0 if level else 1, len(parts) + 1)]
            files = [self._file(place) for place in places]
            if files and (files[-1] is not None or (len(files) > 1 and files[0] is not None)):
                return files[-1], [file for file in files[:-1] if file is not None]
        return None, []

    def _file(self, place: Path) -> Path | None:
        options = (place.with_name(f"{place.name}.py"), place / "__init__.py")
        return next((option for option in reversed(options) if option in self.modules), None)

    def _starts(self, level: int, path: Path) -> list[Path]:
        folder = path.parent
        if level:
            for _ in range(level - 1):
                folder = folder.parent
            return [folder]
        while folder / "__init__.py" in self.modules and folder != self.root:
            folder = folder.parent
        return [folder, *(self.root / each for each in ROOTS)]

    def _row(self, path: Path, line: int, targets: list[Path | None], others: list[Path]) -> dict[str, Any]:
        found = [{"path": each.relative_to(self.root).as_posix()} for each in targets if each is not None]
        rest = [{"path": each.relative_to(self.root).as_posix()} for each in others]
        where = path.relative_to(self.root).as_posix()
        return {"kind": "import", "path": where, "line": line, "targets": found, "others": rest}
