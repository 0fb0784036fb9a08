"""Languages whose calls lead to the only definition of their name: nothing is read of what values are."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import cached_property

from findspot.graph.languages.language import Language, ModuleFinder, by_last_part


class ModulesByPath(ModuleFinder):
    """Finds a file beside the importing one, or the nearest whose path ends in what is named."""

    ends = ("", ".rb")

    def files(self, path: str, module: str) -> Iterator[str]:
        beside = list(self.first(module.lstrip("/"), self.ends))
        if beside:
            yield from beside
            return
        folder = posixpath.dirname(path)
        wanted = f"/{posixpath.basename(module)}" if module.startswith("/") else f"/{module}"
        endings = tuple(wanted + end for end in self.ends)
        named = {ending.rpartition("/")[2] for ending in endings}
        others = (other for name in named for other in self._by_name.get(name, ()))
        alike = [other for other in others if f"/{other}".endswith(endings)]
        yield from sorted(alike, key=lambda other: (-len(posixpath.commonprefix([other, folder])), other))[:1]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The files of the project by their names: looking through all for each import takes too long."""
        return self.project.once("paths_by_name", lambda: by_last_part(self.paths))


class RustModules(ModuleFinder):
    """Finds the file of a module path, below the folder of the crate."""

    def files(self, path: str, module: str) -> Iterator[str]:
        ends = (".rs", "/mod.rs", "/lib.rs", "/main.rs")
        folder, name = posixpath.split(path)
        here = folder if name in ("main.rs", "lib.rs", "mod.rs") else path.removesuffix(".rs")
        crate = path[: path.rfind("src/") + 3] if "src/" in path else folder
        starts = [here, posixpath.dirname(here), crate]
        parts = module.split("::")
        if module.startswith("/"):
            starts, parts = [""], [module[1:]]
        elif parts[0] == "crate":
            starts, parts = [crate], parts[1:]
        elif parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                here = posixpath.dirname(here) if parts[0] == "super" else here
                parts = parts[1:]
            starts = [here]
        found = (list(self.first("/".join([start, *parts]).strip("/"), ends)) for start in starts)
        yield from next(filter(None, found), ())


_LIBRARY_METHODS = """
abs alive? all? and_then any? append as_bytes as_mut as_mut_ptr as_ptr as_ref as_slice as_str between?
block_given? borrow borrow_mut bytes call capacity chars checked_add checked_sub chomp chunks class clear
clone cloned cmp contains_key copied copy_from_slice dedup delete_if deref deref_mut detect drain drop each
each_key each_pair each_value each_with_index each_with_object empty? end_with? entry enumerate eq eql? equal?
err expect extend extend_from_slice fetch_add flatten fmt freeze frozen? get_mut gsub gsub! hash include
include? inject insert_with inspect instance_of? into into_iter is_a? is_empty is_err is_none is_ok is_some
iter iter_mut key key? kind_of? lambda lines load map! map_err message method ne nil? none? ok one? or_default
or_else or_insert partial_cmp peek pop position pow push push_str puts raise read recv reject! repeat rescue
reserve resize respond_to? retain rev rfind saturating_sub send set_len shift size sort_by sort_by_key spawn
split_at start_with? starts_with store sub! sum swap tap to_a to_ary to_bytes to_h to_i to_lowercase to_owned
to_proc to_str to_string to_sym to_vec trace trim truncate try_from try_into uniq unshift unwrap_or
unwrap_or_default unwrap_or_else windows wrapping_add write zero?
"""


class ByName(Language):
    """A language whose files all see each other."""

    by_name = True
    shares = "project"
    bare_members = True
    satellites = True
    common_methods = frozenset(_LIBRARY_METHODS.split())


class C(ByName):
    """C and C++."""

    family = "c"
    finder = ModulesByPath


class Ruby(ByName):
    """Ruby."""

    family = "ruby"
    finder = ModulesByPath
    constructors = frozenset({"initialize"})


class Rust(ByName):
    """Rust."""

    family = "rust"
    finder = RustModules
    shares = "file"
    bare_members = False
    constructors = frozenset({"new"})

    def module_scope(self, path: str) -> str:
        return path


class Swift(ByName):
    """Swift."""

    family = "swift"
    constructors = frozenset({"init"})
