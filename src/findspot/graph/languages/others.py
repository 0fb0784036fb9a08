"""C, C++, Rust, C#, PHP, Ruby and Swift: little is special about them but where their modules are."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cached_property

from findspot.graph.languages.language import Language, ModuleFinder, by_last_part


class ModulesByPath(ModuleFinder):
    """Finds a file beside the importing one, or the nearest whose path ends in what is named."""

    ends: tuple[str, ...] = ("",)

    def files(self, path: str, module: str) -> Iterator[str]:
        beside = list(self.first(module.lstrip("/"), ("", *self.ends)))
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
        return self.sources.once("paths_by_name", lambda: by_last_part(self.paths))


_LIBRARY = """
abort abs accept access alarm asctime assert atexit atof atoi atol bcmp bcopy bind bsearch bzero calloc ceil
chdir chmod clock close closedir connect cos dup dup2 exit exp fabs fclose fcntl fdopen feof ferror fflush
fgetc fgets fileno floor fmod fopen fork fprintf fputc fputs fread free freeaddrinfo freopen fscanf fseek
fseeko fstat fsync ftell ftello ftruncate fwrite getaddrinfo getc getchar getcwd getenv getnameinfo getopt
getpeername getpid getsockname getsockopt gettimeofday gmtime htonl htons inet_ntop inet_pton ioctl isalnum
isalpha isatty isdigit isfinite isinf islower isnan isprint isspace isupper isxdigit kill ldexp listen
localtime log log10 longjmp lseek malloc mbstowcs memchr memcmp memcpy memmove memset mkdir mktime mmap
munmap ntohl ntohs open opendir pclose perror pipe poll popen pow printf putc putchar puts qsort raise rand
random read readdir realloc recv recvfrom remove rename rewind rmdir round scanf select send sendto setbuf
setenv setjmp setlocale setsockopt setvbuf shutdown sigaction signal sin sleep snprintf socket socketpair
sprintf sqrt srand srandom sscanf stat strcasecmp strcat strchr strcmp strcpy strcspn strdup strerror
strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr strtod
strtof strtok strtok_r strtol strtoll strtoul strtoull system tan time tmpfile tolower toupper truncate
ungetc unlink usleep va_arg va_copy va_end va_start vfprintf vprintf vsnprintf vsprintf wait waitpid write
"""
_LIBRARY_NAMES = frozenset(_LIBRARY.split())


class C(Language):
    """C."""

    family = "c"
    finder = ModulesByPath
    shares = "project"
    defined_outside = True
    includes = True

    def is_library_name(self, name: str) -> bool:
        return name in _LIBRARY_NAMES


class Cpp(C):
    """C++."""

    bare_members = True
    satellites = True


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
        return self.sources.once("crates", self._find_crates)

    def _find_crates(self) -> dict[str, str]:
        """Return the folder of each crate of the project by the name that code uses."""
        found = {}
        for path in sorted(self.paths):
            if posixpath.basename(path) == "Cargo.toml":
                name = _RUST_PACKAGE.search(self.sources.text(path))
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
_RUST_CONTAINER_METHODS = """
iter iter_mut into_iter rev filter skip take cloned copied by_ref values values_mut drain
"""
_RUST_ELEMENT_METHODS = "first last next pop get get_mut peek find nth max min last_mut"


class Rust(Language):
    """Rust."""

    common_methods = frozenset(_RUST_METHODS.split())
    container_methods = frozenset(_RUST_CONTAINER_METHODS.split())
    element_methods = frozenset(_RUST_ELEMENT_METHODS.split())
    parameters_are_types = True
    item_type = "Item"

    family = "rust"
    finder = RustModules
    satellites = True
    constructors = frozenset({"new"})

    def module_scope(self, path: str) -> str:
        return path

    def module_roots(self, name: str) -> bool:
        return name in ("crate", "super")


class Php(Language):
    """PHP."""

    family = "php"
    partial = False
    shares = "package"
    imports_packages = True
    constructors = frozenset({"__construct"})
    own_type_names = Language.own_type_names | {"self"}


class Swift(Language):
    """Swift."""

    family = "swift"
    shares = "project"
    bare_members = True
    satellites = True
    constructors = frozenset({"init"})


class CSharp(Language):
    """C#."""

    family = "csharp"
    partial = False
    shares = "project"
    bare_members = True
    imports_packages = True
    imports_whole_packages = True
    own_type_names = frozenset()
    self_names = frozenset({"this"})
    parent_names = frozenset({"base"})
    attribute_suffix = "Attribute"


class RubyModules(ModulesByPath):
    """Finds required files."""

    ends = (".rb",)


_RUBY_METHODS = """
alive? between? block_given? call chomp class clear delete_if detect each each_key each_pair each_value
each_with_index each_with_object eql? equal? extend flatten freeze frozen? gsub gsub! include include? inject
inspect instance_of? is_a? key key? kind_of? lambda map! message method nil? empty? none? one? any? all? puts
raise rescue respond_to? reject! send shift size sort_by start_with? end_with? sub! sum tap to_a to_ary to_h
to_i to_proc to_str to_sym trace uniq unshift zero?
"""


class Ruby(Language):
    """Ruby."""

    common_methods = frozenset(_RUBY_METHODS.split())
    reopens = True
    family = "ruby"
    finder = RubyModules
    shares = "project"
    bare_members = True
    calls_bare = True
    constructors = frozenset({"initialize"})
    own_type_names = Language.own_type_names | {"new"}
    super_calls_same_method = True
    new_makes_instances = True
