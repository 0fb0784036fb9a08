"""Rust: modules by path in crates, members of a type in implementations."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from findspot.graph.languages.language import Language, ModuleFinder

_RUST_ENDS = (".rs", "/mod.rs", "/lib.rs", "/main.rs")
_RUST_ROOTS = ("main.rs", "lib.rs", "mod.rs")
_RUST_PACKAGE = re.compile(r"^\[package\][^\[]*?^name\s*=\s*\"([^\"]+)\"", re.MULTILINE | re.DOTALL)


class RustModules(ModuleFinder):
    """Finds the file of a module path."""

    def files(self, path: str, module: str) -> Iterator[str]:
        if module.startswith("/"):
            yield from self.first(module[1:], _RUST_ENDS)
            return
        parts = module.split("::")
        here = (
            posixpath.dirname(path) if posixpath.basename(path) in _RUST_ROOTS else path.removesuffix(".rs")
        )
        crate = path[: path.rfind("src/") + 3] if "src/" in path else posixpath.dirname(path)
        if parts[0] == "crate":
            starts, parts = [crate], parts[1:]
        elif parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                here = posixpath.dirname(here) if parts[0] == "super" else here
                parts = parts[1:]
            starts = [here]
        elif parts[0] in self._crates:
            starts, parts = [posixpath.join(self._crates[parts[0]], "src")], parts[1:]
        else:
            starts = [here, posixpath.dirname(here), crate]
        for start in starts:
            files = list(self.first("/".join([start, *parts]).strip("/"), _RUST_ENDS))
            if files:
                yield from files
                return

    @property
    def _crates(self) -> dict[str, str]:
        return self.project.once("crates", self._find_crates)

    def _find_crates(self) -> dict[str, str]:
        """Return the folder of each crate of the project by the name that code uses."""
        found = {}
        for path in sorted(self.paths):
            if posixpath.basename(path) == "Cargo.toml":
                name = _RUST_PACKAGE.search(self.project.text(path))
                if name is not None:
                    found[name[1].replace("-", "_")] = posixpath.dirname(path)
        return found


_RUST_METHODS = """
abs and_then append as_bytes as_mut as_mut_ptr as_ptr as_ref as_slice as_str borrow borrow_mut bytes capacity
chars checked_add checked_sub chunks clear clone cloned cmp contains_key copied copy_from_slice dedup deref
deref_mut drain drop entry enumerate eq err expect extend extend_from_slice fetch_add fmt get_mut hash
insert_with into into_iter is_empty is_err is_none is_ok is_some iter iter_mut lines load map_err ne ok
or_default or_else or_insert partial_cmp peek pop position pow push push_str read recv repeat reserve resize
retain rev rfind saturating_sub set_len sort_by sort_by_key split_at spawn starts_with store swap to_bytes
to_lowercase to_owned to_string to_vec trim truncate try_from try_into unwrap_or unwrap_or_default
unwrap_or_else windows wrapping_add write
"""


class Rust(Language):
    """Rust."""

    common_methods = frozenset(_RUST_METHODS.split())
    family = "rust"
    finder = RustModules
    satellites = True
    constructors = frozenset({"new"})

    def module_scope(self, path: str) -> str:
        return path

    def module_roots(self, name: str) -> bool:
        return name in ("crate", "super")
